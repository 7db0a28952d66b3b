"""Record calls to the cassette of a test, and replay them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from llm_mock.cassettes import RecordMode, schema, storage
from llm_mock.cassettes.config import CassetteConfig
from llm_mock.cassettes.lookup import CallLookup, explain_miss
from llm_mock.cassettes.prompt_json import encode_attachments
from llm_mock.cassettes.recording import AsUser, Recording, format_call
from llm_mock.cassettes.redaction import redact_response
from llm_mock.cassettes.replay import RecordedReply
from llm_mock.core.diagnostics import explain_near_reply
from llm_mock.errors import CassetteMiss, LLMMockError
from llm_mock.support.redaction import KNOWN, Redactor
from llm_mock.support.text import format_path, shorten_name

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.mock import Mock
    from llm_mock.core.protocols import PassthroughCall
    from llm_mock.core.reply import Reply
    from llm_mock.core.request import Request
    from llm_mock.support.json_types import JSONObject


_NewOrKept = schema.RecordedCall | str
"""A call to write: a new one, or the text of one in the file."""


class Cassette:
    """The recorded calls of one test.

    Args:
        path: the file.
        mode: the record mode. `none` records nothing. `once` records all calls if the file does not
            exist yet. `new_episodes` records calls that are not in the file. `all` records all
            calls and replaces the same calls in the file. `rewrite` records all calls in a new
            file.
        config: the rules by which calls match.
        as_user: a context in which the keys of the user who runs the process can be looked up, to
            record.
        at_once: write each response as soon as it is complete, so that nothing is lost if the
            process is killed.

    Raises:
        InvalidFile: the file cannot be read, or is not a cassette; the message names the line.
        LLMMockError: the path cannot be used.
    """

    def __init__(
        self,
        path: Path,
        mode: RecordMode = "none",
        config: CassetteConfig | None = None,
        as_user: AsUser = nullcontext,
        at_once: bool = False,
    ) -> None:
        self.path: Path = path
        """The file of the cassette."""
        self.mode: RecordMode = mode
        """The record mode."""
        self.config = config or CassetteConfig()
        self._redactor = Redactor(self.config.redact, KNOWN)
        self._as_user = as_user
        self._at_once = at_once
        self._exists = _file_exists(path)
        if self._exists:
            # A damaged file is no problem if it is about to be replaced.
            self._content = storage.read_cassette(
                path, self.config.get_key, tolerant=mode == "rewrite"
            )
        else:
            self._content = storage.CassetteContent(storage.RecordedCalls(path))
        self.saved = 0
        """The number of recorded calls that were written."""
        self.left_alone: dict[str, str] = {}
        """The requests to hosts that are not intercepted, each with the setting to change."""
        self._recordings: list[Recording] = []
        self.on_replay: Callable[[schema.RecordedCall, Request], None] | None = None
        """Called with each recorded call that is replayed, and the request."""
        # Calls may come from several threads. Files are written outside of the first lock, so
        # that no call waits for the disk.
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._lookup = CallLookup(self._content.keys)

    def __repr__(self) -> str:
        number = len(self.calls)
        return f"<Cassette {self.path}: {number} calls, record mode {self.mode}>"

    @property
    def calls(self) -> Sequence[schema.RecordedCall]:
        """The calls in the file, then those that this run recorded so far."""
        recorded = [self._build_call(recording) for recording in self.recorded]
        # The calls of the file are parsed when they are read.
        if not recorded:
            return self._content.calls
        if not self.is_replaying:
            return recorded
        return [*self._content.calls, *recorded]

    @property
    def is_incomplete(self) -> bool:
        """True if the test that recorded the file failed, so that calls may be missing."""
        return self._content.incomplete

    @property
    def is_replaying(self) -> bool:
        """True if recorded calls are replayed."""
        return self.mode not in ("all", "rewrite")

    @property
    def is_recording(self) -> bool:
        """True if calls without a recorded response are made for real, and recorded."""
        if self.mode == "once":
            # If the recording test failed, the rest of its calls must still be recorded.
            return not self._exists or self._content.incomplete
        return self.mode != "none"

    @property
    def recorded(self) -> list[Recording]:
        """The calls that this run recorded, in order."""
        return [recording for recording in self._recordings if recording.response is not None]

    @property
    def replayed(self) -> int:
        """The number of recorded calls that were replayed so far."""
        return len(self._content.keys) - len(self._lookup.left)

    def unused(self) -> list[schema.RecordedCall]:
        """Return the recorded calls that were not replayed, in order."""
        if not self.is_replaying:
            return []
        return [self._content.calls[position] for position in self._lookup.left]

    def answer(self, mock: Mock, record: Call, request: Request) -> Reply | PassthroughCall:
        """Return the recorded reply to a call, or a recording if the call must be made for real.

        Args:
            mock: the mock that received the call; problems are reported to it.
            record: the call in the history of the mock.
            request: the call.

        Raises:
            CassetteMiss: the call is not in the cassette, and the mode does not record it.
        """
        __tracebackhide__ = True
        try:
            original = schema.RecordedRequest.from_request(request)
            cleaned = self._redact_request(original, self._redactor)
            keys = self._get_keys(original, cleaned)
        except Exception as error:  # The project's own function to normalize may raise anything.
            mock.note_problem(
                f"{format_call(record)} could not be looked up in the cassette: "
                f"{type(error).__name__}: {error}. "
                "Correct the function normalize of llm_mock_cassette_config."
            )
            raise
        try:
            with self._lock:
                position = self._find(keys, cleaned, request)
                if position is None and self.is_recording:
                    return self._start_recording(mock, record, request, cleaned)
            if position is None:
                content = self._content if self._exists else None
                message = explain_miss(self.path, cleaned, content, self.config)
                # Without a file, a configured reply may be the one that was meant.
                hint = "" if self._exists else explain_near_reply(mock, record)
                raise CassetteMiss("\n".join(filter(None, [message, hint])))
            call = self._content.calls[position]
            if self.on_replay is not None:
                self.on_replay(call, request)
            return self._build_reply(call.response, mock, record, request)
        except LLMMockError as error:
            # The application may catch the exception. The problem makes the test fail anyway.
            mock.note_problem(str(error))
            raise

    def note_left_alone(self, request: str, fix: str) -> None:
        """Note a call to a host that is not intercepted, and the setting to change to record it."""
        self.left_alone[request] = fix

    def _get_keys(
        self, original: schema.RecordedRequest, cleaned: schema.RecordedRequest
    ) -> list[str]:
        """Return the keys under which a call may have been recorded."""
        requests = [original]
        if cleaned is not original:
            # The recording machine may have known the same secrets as this one, or none of them.
            redactor = Redactor(self.config.redact)
            requests.append(cleaned)
            requests.append(self._redact_request(original, redactor))
        return [self.config.get_key(request) for request in requests]

    def _find(
        self, keys: list[str], cleaned: schema.RecordedRequest, request: Request
    ) -> int | None:
        """Return the position of the recorded call that matches a call, or None."""
        if not self.is_replaying:
            return None
        position = self._lookup.take_redacted(keys)
        if position is None and cleaned.turn > 1:
            converted = self._convert_history(cleaned, request)
            keys = [self.config.get_key(each) for each in converted]
            position = self._lookup.take_redacted(keys)
        return position

    def _start_recording(
        self,
        mock: Mock,
        record: Call,
        request: Request,
        cleaned: schema.RecordedRequest,
    ) -> Recording:
        if not self._recordings:
            # Before the call, which may cost money.
            storage.check_writable(self.path)
        encoded = {} if request.is_simple else encode_attachments(request)
        on_end = self._write_now if self._at_once else None
        recording = Recording(cleaned, request, mock, record, self._as_user, encoded, on_end)
        self._recordings.append(recording)
        return recording

    def _write_now(self, mock: Mock) -> None:
        try:
            self._write(self._get_successful_recordings(), incomplete=True)
        except LLMMockError as error:
            mock.note_problem(str(error))

    def forget_failed(self) -> None:
        """Drop recordings of calls that failed, or have not ended, before they are made again."""
        self._recordings = self._get_successful_recordings()

    def _get_successful_recordings(self) -> list[Recording]:
        return [
            recording
            for recording in self._recordings
            if recording.response is not None and recording.response.error is None
        ]

    def _build_reply(
        self,
        response: schema.RecordedResponse,
        mock: Mock,
        record: Call,
        request: Request,
    ) -> RecordedReply:
        def report_overrun(error: CassetteMiss) -> None:
            mock.note_problem(str(error))
            mock.record_failure(record, error)

        wants_json = record["kwargs"]["schema"] is not None
        encoded = {}
        if response.prompt_json is not None:
            encoded = encode_attachments(request)
        return RecordedReply(response, self._content.contents, wants_json, encoded, report_overrun)

    def _convert_history(
        self, recorded: schema.RecordedRequest, request: Request
    ) -> Iterator[schema.RecordedRequest]:
        """Yield the same call of a conversation as another library would have made it.

        A conversation of `llm` gets its history from the earlier calls, which are then in the
        cassette too. An SDK sends the whole history with each call.
        """
        if not recorded.messages:
            history = schema.get_history(request)
            with_history = recorded.model_copy(update={"messages": history})
            yield self._redact_request(with_history, self._redactor)
        elif self._holds_messages_of_model(recorded.messages):
            yield recorded.model_copy(update={"messages": []})

    def _holds_messages_of_model(self, messages: Sequence[JSONObject]) -> bool:
        """Return whether the cassette has everything that the model said in a conversation."""
        said: list[JSONObject] = []
        for message in messages:
            if message["role"] == "assistant":
                said += message["parts"]
        texts = set()
        tool_calls = []
        for call in self._content.calls:
            response = call.response
            texts.add(_join_texts(response.events))
            tool_calls += [(made.name, made.arguments) for made in response.tool_calls]
        for part in said:
            if part["type"] == "text" and part["text"] not in texts:
                return False
            if part["type"] == "tool_call":
                tool_call = part["name"], part["arguments"]
                if tool_call not in tool_calls:
                    return False
        return True

    def _redact_request(
        self, request: schema.RecordedRequest, redactor: Redactor
    ) -> schema.RecordedRequest:
        """Return a request without secrets: the same object if it has none."""
        original = request.to_json()
        cleaned = redactor.clean(original)
        if cleaned == original:
            return request
        return schema.RecordedRequest.model_validate(cleaned)

    def save(self, passed: bool) -> str | None:
        """Write the calls that were recorded, if there are any.

        Args:
            passed: whether the test passed. If it failed, a file is not replaced, and errors are
                not recorded.

        Returns:
            A message for the user, or None.

        Raises:
            LLMMockError: the file cannot be written; an existing file is unchanged.
        """
        for recording in self._recordings:
            recording.keep_so_far()
        recordings = self.recorded if passed else self._get_successful_recordings()
        if not recordings and not (passed and self._needs_write_without_calls()):
            return None
        if not passed and not self.is_replaying and self._exists:
            were = "call was" if len(recordings) == 1 else "calls were"
            return (
                f"The test failed, so the cassette {format_path(self.path)} is unchanged; "
                f"the {len(recordings)} recorded {were} not written."
            )
        self._write(recordings, incomplete=not passed)
        return self._describe_written(passed)

    def _describe_written(self, passed: bool) -> str | None:
        """Return the message about a file that was written; None if its test passed."""
        if passed:
            return None
        return (
            f"The test failed, so the cassette {format_path(self.path)} may lack calls, and is "
            "marked incomplete. Record the rest with --llm-mock-record once."
        )

    def _needs_write_without_calls(self) -> bool:
        if not self._exists:
            return False
        if self.mode == "rewrite":
            # The test no longer makes calls.
            return True
        # The mark `incomplete` must be removed.
        return self._content.incomplete and self.mode in ("once", "new_episodes")

    def _write(self, recordings: list[Recording], incomplete: bool) -> None:
        # An existing file is only replaced when the new one is complete.
        if incomplete and not self.is_replaying and self._exists:
            return
        with self._write_lock:
            recorded = [self._build_call(recording) for recording in recordings]
            calls = self._merge(recorded)
            contents = dict(self._content.contents)
            for recording in recordings:
                contents |= recording.contents
            storage.write_cassette(self.path, calls, contents, incomplete)
            self.saved = len(recordings)

    def describe_lost_calls(self) -> str | None:
        """Return the message for calls that were made for real but not recorded."""
        losses = [recording.loss for recording in self._recordings if recording.loss]
        return "\n".join(losses) or None

    def _build_call(self, recording: Recording) -> schema.RecordedCall:
        assert recording.response is not None
        response = redact_response(recording.response.to_json(), self._redactor)
        return schema.RecordedCall(
            # Redacted again, because more secrets may be known now than when the call began.
            request=self._redact_request(recording.request, self._redactor),
            response=schema.RecordedResponse.model_validate(response),
        )

    def _merge(self, recorded: Sequence[schema.RecordedCall]) -> list[_NewOrKept]:
        """Return the calls for the file: those that it keeps as text, and the new ones."""
        kept: list[_NewOrKept] = list(self._content.calls.texts)
        if self.is_replaying:
            return [*kept, *recorded]
        lookup = CallLookup(self._content.keys)
        renewed: list[_NewOrKept] = []
        for call in recorded:
            key = self.config.get_key(call.request)
            position = lookup.take(key)
            if position is None:
                kept.append(call)
                renewed.append(call)
            elif storage.has_same_response(self._content.calls[position], call):
                # The old text is kept, so that ids and dates do not change in version control.
                renewed.append(kept[position])
            else:
                kept[position] = call
                renewed.append(call)
        return renewed if self.mode == "rewrite" else kept


def _join_texts(events: Sequence[schema.RecordedEvent]) -> str:
    texts = [event.text for event in events if event.type == "text"]
    return "".join(texts)


def _file_exists(path: Path) -> bool:
    """Return whether a file exists; unlike `Path.exists`, raise if this is unknown."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LLMMockError(
            f"The cassette {shorten_name(format_path(path))} cannot be used: {reason}."
        ) from None
    return True
