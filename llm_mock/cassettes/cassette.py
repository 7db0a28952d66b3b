"""The cassette of one test: finds recorded calls, records new ones."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.llm import boundary
from llm_mock.cassettes import exceptions, schema, storage
from llm_mock.cassettes.config import CassetteConfig
from llm_mock.cassettes.lookup import Lookup
from llm_mock.cassettes.miss import explain_miss
from llm_mock.cassettes.record_modes import RecordMode
from llm_mock.cassettes.recording import AnswerCollector, PlayedAnswer, as_reply, play, request_of
from llm_mock.core.delivery import Delivery
from llm_mock.errors import CassetteMiss, LLMMockError, NotRecordable
from llm_mock.support.redaction import default_redactor
from llm_mock.support.text import shorten, shown_path

if TYPE_CHECKING:
    import llm

    from llm_mock.core.answering import AnsweringMock
    from llm_mock.core.records import CallRecord
    from llm_mock.core.reply import Reply
    from llm_mock.support.redaction import Redactor

RealModel = Callable[["llm.Prompt", Any], tuple[Any, dict[str, Any]]]
"""Given a prompt and its response: the real model that is to execute it, and further arguments of `execute`."""


class _Recorded:
    """A call that was made by this run, at its place among them."""

    def __init__(self, request: schema.Request) -> None:
        self.request = request
        self.response: schema.Response | None = None
        self.contents: dict[str, bytes] = {}
        self.snapshot: Callable[[], None] | None = None
        """Keeps what has come so far, of an answer that is still on its way."""
        self.lost: str | None = None
        """Why the call cannot be kept, where that was not said yet."""


class Cassette:
    """The recorded calls of one test.

    Args:
        path: the file.
        mode: what is recorded: `none` nothing; `once` everything if there is no file yet; `new_episodes` what the file
            does not hold; `all` everything, in place of what the file holds for the same call; `rewrite` everything,
            in a new file.
        config: how calls are found.
        redactor: what never gets into the file.
        real_model: gives the real model for a prompt.

    Raises:
        InvalidFile: the file cannot be read, or is no cassette; the message names the line.
    """

    def __init__(
        self,
        path: Path,
        mode: RecordMode = "none",
        config: CassetteConfig | None = None,
        redactor: Redactor | None = None,
        real_model: RealModel | None = None,
    ) -> None:
        self.path = path
        self.mode = mode
        self.config = config or CassetteConfig()
        self._redactor = redactor or default_redactor(patterns=self.config.redact)
        self._real_model = real_model
        self._exists = path.exists()
        self._content = storage.read(path, tolerant=mode == "rewrite") if self._exists else storage.Content()
        self._recorded: list[_Recorded] = []
        self._lock = threading.Lock()
        self._lookup = Lookup(self.calls, self.config)

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
    def recorded(self) -> list[_Recorded]:
        """The calls that were recorded by this run, in order."""
        return [call for call in self._recorded if call.response is not None]

    def unused(self) -> list[schema.Call]:
        """The recorded calls that nobody asked for, in order."""
        return [self.calls[position] for position in self._lookup.left] if self.replays else []

    def answer(self, mock: AnsweringMock, record: CallRecord, prompt: llm.Prompt, conversation: Any) -> Delivery:
        """Find the recorded answer to a call, or have it made for real and recorded.

        Raises:
            CassetteMiss: it was not recorded, and nothing may be recorded.
        """
        __tracebackhide__ = True
        try:
            asked = request_of(record, prompt, conversation)
            request = self._cleaned(asked)
            keys = self.config.key(asked), self.config.key(request)
        except Exception as error:  # such as one of the project's function that normalizes
            mock.note_problem(
                f"{_described(record)} could not be looked up in the cassette: {type(error).__name__}: {error}. "
                "Is the function normalize of llm_mock_cassette_config right?"
            )
            raise
        with self._lock:
            position = self._lookup.take_redacted(*keys) if self.replays else None
        if position is not None:
            return _Replay(self.calls[position].response, self._content.contents, mock, record)
        if self.records:
            return _Recording(self, request, mock, record)
        held = [call.request for call in self.calls] if self._exists else None
        message = explain_miss(self.path, request, held, self.config)
        mock.note_problem(message)
        raise CassetteMiss(message)

    def _cleaned(self, request: schema.Request) -> schema.Request:
        plain = request.plain()
        cleaned = self._redactor.clean(plain)
        return request if cleaned == plain else schema.Request.model_validate(cleaned)

    def start(self, request: schema.Request) -> _Recorded:
        """Take the place of a call that is now made for real."""
        recorded = _Recorded(request)
        with self._lock:
            self._recorded.append(recorded)
        return recorded

    def real_model(self, prompt: llm.Prompt, response: Any) -> tuple[Any, dict[str, Any]]:
        """The real model that is to execute a prompt, and further arguments of its `execute`. Its key is a secret."""
        model, arguments = (self._real_model or boundary.real_model)(prompt, response)
        for key in (arguments.get("key"), getattr(model, "key", None)):
            if isinstance(key, str):
                self._redactor.hide(key)
        return model, arguments

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
            if call.snapshot is not None:
                call.snapshot()
        recorded = self.recorded
        if not passed:
            recorded = [call for call in recorded if call.response and call.response.error is None]
        if not recorded and not (self.mode == "rewrite" and self._exists and passed):
            return None
        if not passed and not self.replays and self._exists:
            calls_were = "call was" if len(recorded) == 1 else "calls were"
            return (
                f"The test failed, so the cassette {shown_path(self.path)} stays as it was; the {len(recorded)} "
                f"recorded {calls_were} not written."
            )
        calls = self._merged([self._as_call(call) for call in recorded])
        contents = {**self._content.contents, **{digest: c for call in recorded for digest, c in call.contents.items()}}
        storage.write(self.path, calls, contents, incomplete=not passed)
        return None

    def lost(self) -> str | None:
        """What to say of calls that were made for real, but cannot be kept."""
        return "\n".join(call.lost for call in self._recorded if call.lost) or None

    def _as_call(self, recorded: _Recorded) -> schema.Call:
        assert recorded.response is not None
        response = schema.Response.model_validate(self._redactor.clean(recorded.response.plain()))
        return schema.Call(request=self._cleaned(recorded.request), response=response)

    def _merged(self, recorded: Sequence[schema.Call]) -> list[schema.Call]:
        if self.replays:
            return [*self.calls, *recorded]
        old = Lookup(self.calls, self.config)
        kept, renewed = list(self.calls), []
        for call in recorded:
            if (position := old.take(self.config.key(call.request))) is not None:
                call = kept[position] = storage.unless_volatile(self.calls[position], call)
            else:
                kept.append(call)
            renewed.append(call)
        return renewed if self.mode == "rewrite" else kept


def _described(record: CallRecord) -> str:
    return f"The call of {record['model_id']!r} with {shorten(record['prompt'])}"


class _Replay(Delivery):
    """A recorded answer."""

    def __init__(
        self, response: schema.Response, contents: Mapping[str, bytes], mock: AnsweringMock, record: CallRecord
    ) -> None:
        self._response, self._contents, self._mock, self._record = response, contents, mock, record

    def deliver(self, response: Any) -> Iterator[Any]:
        __tracebackhide__ = True
        try:
            yield from play(self._response, self._contents, response)
        except Exception as error:
            if isinstance(error, LLMMockError):
                self._mock.note_problem(str(error))
            self._mock.not_delivered(self._record, error)
            raise
        self._mock.delivered(self._record, PlayedAnswer(self._response, self._contents))

    def as_reply(self) -> Reply:
        return as_reply(self._response, self._contents)


class _Recording(Delivery):
    """The answer of a real model, that is recorded."""

    def __init__(self, cassette: Cassette, request: schema.Request, mock: AnsweringMock, record: CallRecord) -> None:
        self._cassette, self._mock, self._record = cassette, mock, record
        self._recorded = cassette.start(request)
        self._collector = AnswerCollector()

    def deliver(self, response: Any) -> Iterator[Any]:
        chunks = self._execute(response)
        with _Ending(self, response):
            for chunk in chunks:
                self._collector.add(chunk)
                yield chunk

    async def deliver_async(self, response: Any) -> AsyncIterator[Any]:
        chunks = self._execute(response)
        with _Ending(self, response):
            async for chunk in chunks:
                self._collector.add(chunk)
                yield chunk

    def _execute(self, response: Any) -> Any:
        try:
            model, arguments = self._cassette.real_model(response.prompt, response)
            chunks = boundary.execute(model, response, arguments)
        except Exception as error:
            self._mock.note_problem(
                f"The call of {self._record['model_id']!r} could not be recorded: {type(error).__name__}: {error}\n"
                "Recording needs the plugin of the real model, and its key (`llm keys set`, or its environment "
                "variable)."
            )
            self._mock.not_delivered(self._record, error)
            raise
        self._recorded.snapshot = partial(self._keep_so_far, response)
        return chunks

    def _keep_so_far(self, response: Any) -> None:
        """Keep the answer as far as it was read: the application reads no further, or not in time."""
        if self._collector.empty:
            self._recorded.lost = (
                f"{_described(self._record)} was under way when the test ended, so it is not in the cassette. "
                "Have the test wait for it."
            )
        else:
            self._keep(response, GeneratorExit())

    def end(self, response: Any, error: BaseException | None) -> None:
        """Keep the answer, or the error."""
        self._recorded.snapshot = None
        try:
            self._keep(response, error)
        except LLMMockError as problem:
            asked = f"{self._record['model_id']!r} to {shorten(self._record['prompt'])}"
            self._mock.note_problem(f"The answer of {asked} cannot be recorded: {problem}")
        answer = self._recorded.response
        if error is not None:
            self._mock.not_delivered(self._record, error)
        elif answer is not None:
            self._mock.delivered(self._record, PlayedAnswer(answer, self._recorded.contents))

    def _keep(self, response: Any, error: BaseException | None) -> None:
        unfinished = isinstance(error, GeneratorExit)
        if error is not None and not unfinished and not isinstance(error, Exception):
            self._recorded.lost = (
                f"{_described(self._record)} ended with {type(error).__name__} while it was recorded, which a cassette "
                "cannot hold. For a model that is too slow use mock_llm_responses.set_latency()."
            )
            return
        described = None if error is None or unfinished else exceptions.describe(error)
        if error is not None and not unfinished and described is None:
            raise NotRecordable(
                f"it raised {type(error).__module__}.{type(error).__qualname__}, which cannot be raised again with the "
                "same content. Configure it in the test instead: mock_llm_responses.add(model, error)"
            )
        answer, contents = self._collector.answer(response, described, unfinished)
        self._recorded.response, self._recorded.contents = answer, contents


class _Ending:
    """Ends a recording, however the stream ends."""

    def __init__(self, recording: _Recording, response: Any) -> None:
        self._recording, self._response = recording, response

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._recording.end(self._response, error)
