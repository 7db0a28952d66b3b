"""How a test and the processes that it starts share replies and calls: through a folder."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from llm_mock.boundaries import FOLDER_VARIABLE
from llm_mock.boundaries.serialization import serialize
from llm_mock.core.keys import PassedKey
from llm_mock.core.model_names import ANY_MODEL
from llm_mock.core.reply import Reply
from llm_mock.core.script import QueuedReply, Script, StandingReply
from llm_mock.core.settings import Settings
from llm_mock.errors import InvalidReply, LLMMockError, ReplyNotSent
from llm_mock.support.files import write_atomically
from llm_mock.support.temporary import TemporaryFolder

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock
    from llm_mock.core.records import CallRecord
    from llm_mock.core.request import Request


class SharedConfiguration(NamedTuple):
    """What a test configured, as it is sent to the processes that it starts."""

    levels: list[tuple[Script, Settings]]
    """Of its mock and of the parents of that."""
    details: bool
    """Whether a report wants the details of calls."""
    has_cassette: bool
    """Whether its calls are recorded or replayed."""


class SharedFolder:
    """The folder, seen from one process.

    `script` holds what is configured; it is replaced whole. `used-P-N` says that the queued reply at position P was
    used for the Nth time: only one process can create it. `sent-PID` holds what a process reports, a JSON object a
    line, written at once, so that a crash loses nothing.

    Args:
        folder: where it is.
        mine: whether this is the process of the test, which receives what the others send.
        configured: what was configured when this process started, where that is another one.
    """

    def __init__(self, folder: Path, mine: bool = False, configured: bytes = b"") -> None:
        self.folder = folder
        self.mine = mine
        self._configured = configured
        self._temporary: TemporaryFolder | None = None
        self._positions: dict[Path, int] = {}
        self._version = (0, 0)
        self._calls: list[CallRecord] = []
        self._notes: list[tuple[str, str]] = []

    @classmethod
    def create(cls) -> SharedFolder:
        """A new one, that is removed with the object or at the end of the process."""
        __tracebackhide__ = True
        temporary = TemporaryFolder("shared")
        folder = cls(temporary.path, mine=True)
        folder._temporary = temporary
        return folder

    def get_environment(self) -> dict[str, str]:
        """What a process needs in its environment to use the folder."""
        return {FOLDER_VARIABLE: str(self.folder)}

    def remove(self) -> None:
        """The test is over: its processes are told nothing any more, and what they report is lost."""
        if self.mine and self._temporary is not None:
            self._temporary.remove()

    def share(self, mock: Mock) -> None:
        """Write down what a mock and its parents have configured."""
        __tracebackhide__ = True
        levels = []
        level: Mock | None = mock
        while level is not None:
            levels.append((level.responses.script, level.settings))
            level = level.parent
        mock.responses.script.share_uses(self)
        details = mock.history.log is not None and mock.history.log.detailed
        configured = SharedConfiguration(levels, details, mock.cassette is not None)
        with contextlib.suppress(FileNotFoundError):  # the test is over
            write_atomically(self.folder / "script", serialize(configured), durable=False)

    def read_configuration(self) -> SharedConfiguration:
        """What was configured last. What cannot be read here is what every call raises.

        Raises:
            FileNotFoundError: the test was over before this process began.
        """
        try:
            content = (self.folder / "script").read_bytes()
        except FileNotFoundError:
            if not self._configured:
                raise
            content = self._configured
        try:
            configured: SharedConfiguration = pickle.loads(content)
        except Exception as error:
            script = Script()
            unreadable = ReplyNotSent(
                f"The replies that the test configured cannot be read in this process: {type(error).__name__}: {error}."
            )
            script.side_effect = StandingReply(ANY_MODEL, None, Reply(error=unreadable), None)
            return SharedConfiguration([(script, Settings())], details=False, has_cassette=False)
        configured.levels[0][0].uses = self
        return configured

    def get_version(self) -> tuple[int, int]:
        """What differs when `share` wrote anew; the same for ever once the test is over."""
        with contextlib.suppress(FileNotFoundError):
            status = (self.folder / "script").stat()
            self._version = (status.st_mtime_ns, status.st_ino)
        return self._version

    def use(self, reply: QueuedReply) -> bool:
        """Use a queued reply once more; False where other processes have used it up."""
        for number in range(reply.times):
            with contextlib.suppress(FileExistsError):
                path = self.folder / f"used-{reply.position}-{number}"
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                return True
        return False

    def count_uses(self, reply: QueuedReply) -> int:
        """How often all processes together used a queued reply."""
        return sum(1 for _ in self.folder.glob(f"used-{reply.position}-*"))

    def send_call(self, call: CallRecord) -> None:
        """Report a call that was answered, or that failed, to the process of the test."""
        self._send({"call": call, "key": call["key"] and call["key"].digest})

    def send_note(self, kind: str, message: str) -> None:
        """Report what was noticed to the process of the test: a `problem`, a `refusal` or a call `not mocked`."""
        self._send({"note": [kind, message]})

    def _send(self, line: dict[str, Any]) -> None:
        if self.mine:
            return
        with contextlib.suppress(OSError):  # the test is over
            file = os.open(
                self.folder / f"sent-{os.getpid()}", os.O_CREAT | os.O_APPEND | os.O_WRONLY
            )
            os.write(file, json.dumps(line).encode() + b"\n")
            os.close(file)

    def receive_calls(self) -> list[CallRecord]:
        """The calls that other processes reported since the last time."""
        self._read()
        received, self._calls = self._calls, []
        return received

    def receive_notes(self) -> list[tuple[str, str]]:
        """Return what other processes noticed since the last time: each a kind and a message."""
        received, self._notes = self._notes, []
        return received

    def _read(self) -> None:
        for path in sorted(self.folder.glob("sent-*")):
            if path.name != f"sent-{os.getpid()}":
                for line in self._new_lines(path):
                    if "call" in line:
                        key = line["key"] and PassedKey.from_digest(line["key"])
                        self._calls.append(line["call"] | {"key": key})
                    else:
                        kind, message = line["note"]
                        self._notes.append((kind, message))
        self._calls.sort(key=lambda call: call["timestamp"])

    def _new_lines(self, path: Path) -> Iterator[dict[str, Any]]:
        start = self._positions.get(path, 0)
        with path.open("rb") as file:
            file.seek(start)
            text = file.read()
        whole = (
            text.rfind(b"\n") + 1
        )  # the rest is being written, or its process was killed while it wrote
        self._positions[path] = start + whole
        for line in text[:whole].splitlines():
            yield json.loads(line)


class CassetteInOtherProcess:
    """What answers in a process that a test with a cassette started, where no reply fits."""

    mode = "none"

    def answer(self, mock: Mock, record: CallRecord, request: Request) -> Reply:
        """Refuse the call, which the test fails with."""
        __tracebackhide__ = True
        message = (
            f"The model {record['model_id']!r} was called in a process that the test started. A cassette records and "
            "replays the calls of the test's own process only: configure a reply for this call, or test the process "
            "in a test without a cassette."
        )
        mock.note_problem(message)
        raise LLMMockError(message)


def check_sendable(script: Script) -> None:
    """Raise that a configured reply cannot be sent to another process, where there is one."""
    __tracebackhide__ = True
    for reply in script.get_configured():
        try:
            pickle.loads(pickle.dumps(reply))
        except Exception as error:
            raise InvalidReply(
                f"This reply cannot be sent to another process: {reply.text()} ({type(error).__name__}: {error}). "
                "Text, data and exceptions can; a function or a matcher only if it can be imported by its name."
            ) from None
