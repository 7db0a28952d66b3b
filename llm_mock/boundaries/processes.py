"""Share replies and calls between a test and the processes that it starts, through a folder."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from llm_mock.boundaries import FOLDER_VARIABLE
from llm_mock.boundaries.serialization import serialize
from llm_mock.core.call import restore_call
from llm_mock.core.keys import PassedKey
from llm_mock.core.model_names import ANY_MODEL
from llm_mock.core.reply import Reply
from llm_mock.core.script import QueuedReply, Script, StandingReply
from llm_mock.core.settings import Settings
from llm_mock.errors import InvalidReply, LLMMockError, ReplyNotSent
from llm_mock.support.files import write_atomically
from llm_mock.support.json_types import JSONObject
from llm_mock.support.temporary_folders import TemporaryFolder

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.mock import Mock
    from llm_mock.core.request import Request


class SharedConfiguration(NamedTuple):
    """The configuration that a test sends to the processes that it starts."""

    levels: list[tuple[Script, Settings]]
    """The script and the settings of the test's mock, followed by those of its parents."""
    details: bool
    """True if a report shows the details of calls."""
    has_cassette: bool
    """True if the test's calls are recorded or replayed."""


class SharedFolder:
    """The shared folder, as seen by one process.

    The folder has three kinds of files. `script` is the serialized configuration. `used-P-N` marks
    the Nth use of the queued reply at position P. `sent-PID` has the reports of a process, one JSON
    object per line.

    Args:
        folder: the path of the folder.
        mine: True in the process of the test, which receives the reports of the others.
        configured: in another process, the content of `script` at the start of that process.
    """

    def __init__(self, folder: Path, mine: bool = False, configured: bytes = b"") -> None:
        self.folder = folder
        self.mine = mine
        self._configured = configured
        self._temporary: TemporaryFolder | None = None
        self._positions: dict[Path, int] = {}
        self._version = (0, 0)
        self._calls: list[Call] = []
        self._notes: list[tuple[str, str]] = []

    @classmethod
    def create(cls) -> SharedFolder:
        """Create a folder that is removed with this object or at the end of the process."""
        __tracebackhide__ = True
        temporary = TemporaryFolder("shared")
        folder = cls(temporary.path, mine=True)
        folder._temporary = temporary
        return folder

    def get_environment(self) -> dict[str, str]:
        """Return the environment variables of a process that uses the folder."""
        return {FOLDER_VARIABLE: str(self.folder)}

    def remove(self) -> None:
        """Remove the folder at the end of the test; later reports of its processes are lost."""
        if self.mine and self._temporary is not None:
            self._temporary.remove()

    def share(self, mock: Mock) -> None:
        """Write the configuration of a mock and its parents."""
        __tracebackhide__ = True
        levels = []
        level: Mock | None = mock
        while level is not None:
            levels.append((level.configurator.replies, level.settings))
            level = level.parent
        mock.configurator.replies.share_uses(self)
        details = mock.history.log is not None and mock.history.log.detailed
        configured = SharedConfiguration(levels, details, mock.cassette is not None)
        # Other processes must never read a partial file, and the folder is gone after the test.
        with contextlib.suppress(FileNotFoundError):
            write_atomically(self.folder / "script", serialize(configured), durable=False)

    def read_configuration(self) -> SharedConfiguration:
        """Return the latest configuration.

        If this process cannot read it, every call raises an error with the reason.

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
        except Exception as error:  # of any type, as pickle runs code of the project
            script = Script()
            unreadable = ReplyNotSent(
                "The replies that the test configured cannot be read in this process: "
                f"{type(error).__name__}: {error}."
            )
            script.side_effect = StandingReply(ANY_MODEL, None, Reply(error=unreadable), None)
            return SharedConfiguration([(script, Settings())], details=False, has_cassette=False)
        configured.levels[0][0].uses = self
        return configured

    def get_version(self) -> tuple[int, int]:
        """Return a value that changes with each `share`, until the test is over."""
        with contextlib.suppress(FileNotFoundError):
            status = (self.folder / "script").stat()
            # The inode, too, as two writes may have the same timestamp.
            self._version = (status.st_mtime_ns, status.st_ino)
        return self._version

    def use(self, reply: QueuedReply) -> bool:
        """Count one use of a queued reply; return False if other processes have used it up."""
        for number in range(reply.times):
            with contextlib.suppress(FileExistsError):
                path = self.folder / f"used-{reply.position}-{number}"
                # `O_EXCL`: only one process can create the file, so no reply is used twice.
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                return True
        return False

    def count_uses(self, reply: QueuedReply) -> int:
        """Return the number of times that all processes together used a queued reply."""
        return sum(1 for _ in self.folder.glob(f"used-{reply.position}-*"))

    def send_call(self, call: Call) -> None:
        """Report a call, answered or failed, to the process of the test."""
        key = call["key"] and call["key"].digest
        self._send({"call": call, "key": key, "described": call.describe_request()})

    def send_note(self, kind: str, message: str) -> None:
        """Report a note to the process of the test: a `problem`, a `refusal` or `not mocked`."""
        self._send({"note": [kind, message]})

    def _send(self, line: JSONObject) -> None:
        if self.mine:
            return
        path = self.folder / f"sent-{os.getpid()}"
        with contextlib.suppress(OSError):  # the test is over, and the folder is gone
            file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
            # One unbuffered write per line, so that a crash of the process loses nothing.
            os.write(file, json.dumps(line).encode() + b"\n")
            os.close(file)

    def receive_calls(self) -> list[Call]:
        """Return the calls that other processes reported since the last call of this method."""
        self._read()
        received, self._calls = self._calls, []
        return received

    def receive_notes(self) -> list[tuple[str, str]]:
        """Return the new notes of other processes, each as a kind and a message."""
        received, self._notes = self._notes, []
        return received

    def _read(self) -> None:
        for path in sorted(self.folder.glob("sent-*")):
            for line in self._read_new_lines(path):
                if "call" in line:
                    key = line["key"] and PassedKey.from_digest(line["key"])
                    call = {**line["call"], "key": key}
                    self._calls.append(restore_call(call, line["described"]))
                else:
                    kind, message = line["note"]
                    self._notes.append((kind, message))
        # Sort by time, as each process has its own file.
        self._calls.sort(key=lambda call: call["timestamp"])

    def _read_new_lines(self, path: Path) -> Iterator[JSONObject]:
        start = self._positions.get(path, 0)
        with path.open("rb") as file:
            file.seek(start)
            text = file.read()
        # Half a line is still being written, or its process was killed.
        length = text.rfind(b"\n") + 1
        self._positions[path] = start + length
        for line in text[:length].splitlines():
            yield json.loads(line)


class CassetteInOtherProcess:
    """A stand-in for the test's cassette in a process that the test started.

    It refuses each call without a configured reply, as processes cannot write a cassette together.
    """

    mode = "none"

    def answer(self, mock: Mock, record: Call, request: Request) -> Reply:
        """Refuse a call, and fail the test."""
        __tracebackhide__ = True
        message = (
            f"The model {record['model_id']!r} was called in a process that the test started. A "
            "cassette records and replays the calls of the test's own process only: configure a "
            "reply for this call, or test the process in a test without a cassette."
        )
        mock.note_problem(message)
        raise LLMMockError(message)

    def note_left_alone(self, request: str, fix: str) -> None:
        """Ignore a call to a host that is left alone, as this process does not record calls."""


def check_sendable(script: Script) -> None:
    """Raise if a configured reply cannot be sent to another process.

    Raises:
        InvalidReply: a reply cannot be sent; the message names the first one.
    """
    __tracebackhide__ = True
    for reply in script.get_configured():
        try:
            # Loaded, too, as some exceptions can be pickled but not unpickled.
            pickle.loads(pickle.dumps(reply))
        except Exception as error:
            raise InvalidReply(
                f"This reply cannot be sent to another process: {reply.text()} "
                f"({type(error).__name__}: {error}). Use text or data, or define the function, the "
                "matcher or the exception class at the top level of a module."
            ) from None
