"""The cassette of one test: finds recorded calls, records new ones."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from llm_mock.behaviour import provider_errors
from llm_mock.boundaries.llm import boundary
from llm_mock.cassettes import explain, schema, storage
from llm_mock.cassettes.config import CassetteConfig
from llm_mock.cassettes.miss import nearest
from llm_mock.cassettes.recording import AnswerCollector, PlayedAnswer, as_reply, play, request_of
from llm_mock.core.delivery import Delivery
from llm_mock.errors import CassetteMiss, LLMMockError, NotRecordable
from llm_mock.support.redaction import REDACTED_SECRET, default_redactor

if TYPE_CHECKING:
    import llm

    from llm_mock.core.answering import AnsweringMock
    from llm_mock.core.records import CallRecord
    from llm_mock.core.reply import Reply
    from llm_mock.support.redaction import Redactor

RecordMode = Literal["none", "once", "new_episodes", "all", "rewrite"]

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
        self._unused = self._positions()
        self._redacted = [key for key in self._unused if REDACTED_SECRET in key]

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
        if not self.replays:
            return []
        return [self.calls[position] for position in sorted(p for left in self._unused.values() for p in left)]

    def answer(self, mock: AnsweringMock, record: CallRecord, prompt: llm.Prompt, conversation: Any) -> Delivery:
        """Find the recorded answer to a call, or have it made for real and recorded.

        Raises:
            CassetteMiss: it was not recorded, and nothing may be recorded.
        """
        __tracebackhide__ = True
        try:
            asked = request_of(record, prompt, conversation)
            request = self._cleaned(asked)
            keys = self._key(asked), self._key(request)
        except Exception as error:  # such as one of the project's function that normalizes
            mock.note_problem(explain.call_not_comparable(record, error))
            raise
        with self._lock:
            position = self._take(*keys) if self.replays else None
        if position is not None:
            return _Replay(self.calls[position].response, self._content.contents, mock, record)
        if self.records:
            return _Recording(self, request, mock, record)
        message = self._explain_miss(request)
        mock.note_problem(message)
        raise CassetteMiss(message)

    def _take(self, key: str, cleaned: str) -> int | None:
        """The position of the next recorded call with a key, as it is or redacted.

        A secret that only the machine knew on which it was recorded may have been any text here.
        """
        redacted = (recorded for recorded in self._redacted if _fits(recorded, key))
        for found in chain((key, cleaned), redacted):
            if self._unused.get(found):
                return self._unused[found].popleft()
        return None

    def _positions(self) -> dict[str, deque[int]]:
        """Where the calls that the file holds stand, by their keys."""
        positions: dict[str, deque[int]] = {}
        for position, call in enumerate(self.calls):
            positions.setdefault(self._key(call.request), deque()).append(position)
        return positions

    def _cleaned(self, request: schema.Request) -> schema.Request:
        plain = request.plain()
        cleaned = self._redactor.clean(plain)
        return request if cleaned == plain else schema.Request.model_validate(cleaned)

    def _key(self, request: schema.Request) -> str:
        parts = [self.config.normalized(request.part(part)) for part in self.config.match]
        return json.dumps(parts, sort_keys=True, ensure_ascii=False)

    def _explain_miss(self, request: schema.Request) -> str:
        if not self._exists:
            return explain.no_cassette(self.path, request.plain())
        key = self._key(request)
        times = sum(self._key(call.request) == key for call in self.calls)
        if times:
            return explain.recording_used_up(self.path, request.plain(), times)
        difference = nearest(request, [call.request for call in self.calls], self.config)
        return explain.cassette_miss(self.path, request.plain(), len(self.calls), difference)

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
            What to tell whoever runs the test; None for nothing.

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
            return explain.cassette_kept(self.path, len(recorded))
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
        old = self._positions()
        kept, renewed = list(self.calls), []
        for call in recorded:
            if positions := old.get(self._key(call.request)):
                position = positions.popleft()
                call = kept[position] = storage.unless_volatile(self.calls[position], call)
            else:
                kept.append(call)
            renewed.append(call)
        return renewed if self.mode == "rewrite" else kept


def _fits(recorded: str, key: str) -> bool:
    """Whether a key is a recorded one with some text, inside one JSON string, in place of each redacted secret."""
    first, *others, last = recorded.split(REDACTED_SECRET)
    if not key.startswith(first):
        return False
    position = len(first)
    for piece in others:
        found = key.find(piece, position + 1)
        if found < 0 or '"' in key[position:found]:
            return False
        position = found + len(piece)
    rest = key[position:]
    return len(rest) > len(last) and rest.endswith(last) and '"' not in rest[: len(rest) - len(last)]


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
            self._mock.note_problem(explain.cannot_record(self._record, error))
            self._mock.not_delivered(self._record, error)
            raise
        self._recorded.snapshot = partial(self._keep_so_far, response)
        return chunks

    def _keep_so_far(self, response: Any) -> None:
        """Keep the answer as far as it was read: the application reads no further, or not in time."""
        if self._collector.empty:
            self._recorded.lost = explain.call_under_way(self._record)
        else:
            self._keep(response, GeneratorExit())

    def end(self, response: Any, error: BaseException | None) -> None:
        """Keep the answer, or the error."""
        self._recorded.snapshot = None
        try:
            self._keep(response, error)
        except LLMMockError as problem:
            self._mock.note_problem(explain.call_not_recordable(self._record, problem))
        answer = self._recorded.response
        if error is not None:
            self._mock.not_delivered(self._record, error)
        elif answer is not None:
            self._mock.delivered(self._record, PlayedAnswer(answer, self._recorded.contents))

    def _keep(self, response: Any, error: BaseException | None) -> None:
        unfinished = isinstance(error, GeneratorExit)
        if error is not None and not unfinished and not isinstance(error, Exception):
            self._recorded.lost = explain.call_cancelled(self._record, error)
            return
        described = None if error is None or unfinished else provider_errors.describe(error)
        if error is not None and not unfinished and described is None:
            raise NotRecordable(explain.error_not_recordable(error))
        answer, contents = self._collector.answer(response, described, unfinished)
        self._recorded.response, self._recorded.contents = answer, contents


class _Ending:
    """Ends a recording, however the stream ends."""

    def __init__(self, recording: _Recording, response: Any) -> None:
        self._recording, self._response = recording, response

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._recording.end(self._response, error)
