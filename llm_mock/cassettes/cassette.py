"""The cassette of one test: finds recorded calls, records new ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_mock.cassettes import schema, storage
from llm_mock.cassettes.config import CassetteConfig
from llm_mock.cassettes.lookup import Lookup, explain_miss
from llm_mock.cassettes.prompt_json import encoded_attachments
from llm_mock.cassettes.record_modes import RecordMode
from llm_mock.cassettes.recording import AsUser, Recording, call_text
from llm_mock.cassettes.redaction import redacted_response
from llm_mock.cassettes.replay import RecordedReply
from llm_mock.errors import CassetteMiss, LLMMockError
from llm_mock.support.redaction import KNOWN, Redactor
from llm_mock.support.text import shorten_name, shown_path

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock
    from llm_mock.core.protocols import PassthroughCall
    from llm_mock.core.records import CallRecord
    from llm_mock.core.reply import Reply
    from llm_mock.core.request import Request


class Cassette:
    """The recorded calls of one test.

    Args:
        path: the file.
        mode: what is recorded: `none` nothing; `once` everything if there is no file yet; `new_episodes` what the file
            does not hold; `all` everything, in place of what the file holds for the same call; `rewrite` everything,
            in a new file.
        config: how calls are found.
        as_user: within it the keys of the person who runs the process can be looked up, to record.
        at_once: write each answer as soon as it is whole, so that nothing is lost where the process is killed.

    Raises:
        InvalidFile: the file cannot be read, or is no cassette; the message names the line.
        LLMMockError: there can be no such file.
    """

    def __init__(
        self,
        path: Path,
        mode: RecordMode = "none",
        config: CassetteConfig | None = None,
        as_user: AsUser = nullcontext,
        at_once: bool = False,
    ) -> None:
        self.path = path
        self.mode = mode
        self.config = config or CassetteConfig()
        self._redactor = Redactor(self.config.redact, KNOWN)
        self._as_user, self._at_once = as_user, at_once
        self._exists = _exists(path)
        self._content = storage.Content(storage.Calls(path))
        if self._exists:
            self._content = storage.read(path, self.config.key, tolerant=mode == "rewrite")
        self.saved = 0
        """How many recorded calls were written."""
        self._recorded: list[Recording] = []
        self._checked = False
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._lookup = Lookup(self._content.keys)

    def __repr__(self) -> str:
        return f"<Cassette {self.path}: {len(self.calls)} calls, record mode {self.mode}>"

    @property
    def calls(self) -> Sequence[schema.Call]:
        """The calls that the file holds, in order."""
        return self._content.calls

    @property
    def replays(self) -> bool:
        """Whether recorded calls are replayed."""
        return self.mode not in ("all", "rewrite")

    @property
    def records(self) -> bool:
        """Whether calls that were not recorded are made for real, and recorded."""
        begun = self._exists and not self._content.incomplete
        return self.mode != "none" and (self.mode != "once" or not begun)

    @property
    def recorded(self) -> list[Recording]:
        """The calls that were recorded by this run, in order."""
        return [call for call in self._recorded if call.response is not None]

    @property
    def replayed(self) -> int:
        """How many recorded calls were replayed so far."""
        return len(self._content.keys) - len(self._lookup.left)

    def unused(self) -> list[schema.Call]:
        """The recorded calls that nobody asked for, in order."""
        return [self.calls[position] for position in self._lookup.left] if self.replays else []

    def answer(self, mock: Mock, record: CallRecord, request: Request) -> Reply | PassthroughCall:
        """Find the recorded answer to a call, or have it made for real and recorded.

        Raises:
            CassetteMiss: it was not recorded, and nothing may be recorded.
        """
        __tracebackhide__ = True
        try:
            asked = schema.Request.of(request)
            cleaned = self._cleaned(asked)
            keys = [self.config.key(way) for way in self._ways(asked, cleaned)]
        except Exception as error:  # such as one of the project's function that normalizes
            mock.note_problem(
                f"{call_text(record)} could not be looked up in the cassette: {type(error).__name__}: {error}. "
                "Is the function normalize of llm_mock_cassette_config right?"
            )
            raise
        try:
            with self._lock:
                position = self._lookup.take_redacted(keys) if self.replays else None
                if position is None and self.replays and cleaned.turn > 1:
                    position = self._lookup.take_redacted(
                        [self.config.key(way) for way in self._told_otherwise(cleaned, request)]
                    )
                if position is None and self.records:
                    if not self._checked:
                        storage.check_writable(self.path)
                    self._checked = True
                    encoded = encoded_attachments(request)
                    recording = Recording(cleaned, mock, record, self._as_user, encoded, self._ended)
                    self._recorded.append(recording)
                    return recording
            if position is None:
                held = self._content if self._exists else None
                raise CassetteMiss(explain_miss(self.path, cleaned, held, self.config))
            return self._replayed(self.calls[position].response, mock, record, request)
        except LLMMockError as error:
            mock.note_problem(str(error))
            raise

    def _ended(self, mock: Mock) -> None:
        """The answer to a call is whole."""
        if self._at_once:
            try:
                self._write(self._without_errors(), incomplete=True)
            except LLMMockError as error:
                mock.note_problem(str(error))

    def forget_failed(self) -> None:
        """Forget calls that failed, or are still under way: they are to be made again."""
        self._recorded = self._without_errors()

    def _without_errors(self) -> list[Recording]:
        return [call for call in self.recorded if call.response and call.response.error is None]

    def _replayed(self, response: schema.Response, mock: Mock, record: CallRecord, request: Request) -> RecordedReply:
        def overrun(error: CassetteMiss) -> None:
            mock.note_problem(str(error))
            mock.not_recorded(record, error)

        wants_json = record["kwargs"]["schema"] is not None
        encoded = {} if response.prompt_json is None else encoded_attachments(request)
        return RecordedReply(response, self._content.contents, wants_json, encoded, overrun)

    def _ways(self, asked: schema.Request, cleaned: schema.Request) -> list[schema.Request]:
        """How a call may have been recorded: as it is, by this machine, by one that knows none of its secrets."""
        if cleaned is asked:
            return [asked]
        return [asked, cleaned, self._cleaned(asked, Redactor(self.config.redact))]

    def _told_otherwise(self, asked: schema.Request, request: Request) -> Iterator[schema.Request]:
        """How the same call of a conversation may have been recorded through another library.

        `llm`'s conversations have their history from the calls before, which the cassette holds then; an SDK gives
        all of it with each call.
        """
        if not asked.messages:
            history = schema.whole_history(request)
            yield self._cleaned(asked.model_copy(update={"messages": history}))
        elif self._holds_what_was_said(asked.messages):
            yield asked.model_copy(update={"messages": []})

    def _holds_what_was_said(self, messages: Sequence[dict[str, Any]]) -> bool:
        """Whether all that the model said in a conversation are answers of this cassette."""
        said = [part for message in messages if message["role"] == "assistant" for part in message["parts"]]
        texts = {"".join(event.text for event in call.response.events if event.type == "text") for call in self.calls}
        tools = [(made.name, made.arguments) for call in self.calls for made in call.response.tool_calls]
        return all(
            part["text"] in texts if part["type"] == "text" else (part["name"], part["arguments"]) in tools
            for part in said
            if part["type"] in ("text", "tool_call")
        )

    def _cleaned(self, request: schema.Request, redactor: Redactor | None = None) -> schema.Request:
        plain = request.plain()
        cleaned = (redactor or self._redactor).clean(plain)
        return request if cleaned == plain else schema.Request.model_validate(cleaned)

    def save(self, passed: bool) -> str | None:
        """Write what was recorded, if anything was.

        Args:
            passed: whether the test did. If not, a file that would be replaced stays, and errors are not recorded.

        Returns:
            What to tell the user; None for nothing.

        Raises:
            LLMMockError: the file cannot be written; an old one is as it was.
        """
        for call in self._recorded:
            call.keep_so_far()
        recorded = self.recorded if passed else self._without_errors()
        is_whole_now = self._content.incomplete and self.replays and self.mode != "none"
        is_anew = self.mode == "rewrite" and self._exists
        if not recorded and not (passed and (is_whole_now or is_anew)):
            return None
        if not passed and not self.replays and self._exists:
            calls_were = "call was" if len(recorded) == 1 else "calls were"
            return (
                f"The test failed, so the cassette {shown_path(self.path)} stays as it was; the {len(recorded)} "
                f"recorded {calls_were} not written."
            )
        self._write(recorded, incomplete=not passed)
        return None

    def _write(self, recorded: list[Recording], incomplete: bool) -> None:
        if incomplete and not self.replays and self._exists:
            return  # what would be replaced stays until all is there
        with self._writing:
            calls = self._merged([self._as_call(call) for call in recorded])
            contents = dict(self._content.contents)
            for call in recorded:
                contents |= call.contents
            storage.write(self.path, calls, contents, incomplete)
            self.saved = len(recorded)

    def lost(self) -> str | None:
        """What to say of calls that were made for real, but cannot be kept."""
        return "\n".join(call.lost for call in self._recorded if call.lost) or None

    def _as_call(self, recorded: Recording) -> schema.Call:
        assert recorded.response is not None
        response = schema.Response.model_validate(redacted_response(recorded.response.plain(), self._redactor))
        return schema.Call(request=self._cleaned(recorded.request), response=response)

    def _merged(self, recorded: Sequence[schema.Call]) -> list[schema.Call | str]:
        kept: list[schema.Call | str] = list(self._content.calls.texts)
        if self.replays:
            return kept + list(recorded)
        old = Lookup(self._content.keys)
        renewed: list[schema.Call | str] = []
        for call in recorded:
            position = old.take(self.config.key(call.request))
            if position is None:
                kept.append(call)
            elif storage.is_same_answer(self.calls[position], call):
                renewed.append(kept[position])
                continue
            else:
                kept[position] = call
            renewed.append(call)
        return renewed if self.mode == "rewrite" else kept


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LLMMockError(f"The cassette {shorten_name(shown_path(path))} cannot be used: {reason}.") from None
    return True
