"""Takes in what a real model answers, for a cassette."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pydantic

from llm_mock.cassettes import exceptions, schema
from llm_mock.cassettes.asked import digest
from llm_mock.cassettes.replay import RecordedReply
from llm_mock.core.protocols import Outcome
from llm_mock.errors import LLMMockError, NotRecordable
from llm_mock.support.text import shorten
from llm_mock.support.yaml_files import Inline

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock
    from llm_mock.core.records import CallRecord
    from llm_mock.support.redaction import Redactor

AsUser = Callable[[], AbstractContextManager[None]]


class Place:
    """The place of a call among those that were made by this run, with what came of it."""

    def __init__(self, request: schema.Request) -> None:
        self.request = request
        self.response: schema.Response | None = None
        self.contents: dict[str, bytes] = {}
        self.snapshot: Callable[[], None] | None = None
        """Keeps what has come so far, of an answer that is still on its way."""
        self.lost: str | None = None
        """Why the call cannot be kept, where that was not said yet."""


class Recording:
    """A call that is made for real and recorded; see `llm_mock.core.protocols.RealCall`.

    Args:
        place: the place of the call among those that were made.
        mock: the mock that records the call in its history.
        record: its record there.
        redactor: what never gets into the file.
        as_user: within it the keys of the person who runs the tests can be looked up.
    """

    def __init__(self, place: Place, mock: Mock, record: CallRecord, redactor: Redactor, as_user: AsUser) -> None:
        self.as_user = as_user
        self._place, self._mock, self._record, self._redactor = place, mock, record, redactor
        self._collector = AnswerCollector()
        self._outcome: Callable[[], Outcome] | None = None

    def hide(self, *secrets: str | None) -> None:
        """Take values as secret."""
        self._redactor.hide(*(secret for secret in secrets if isinstance(secret, str)))

    def not_made(self, error: Exception) -> None:
        """The call cannot be made."""
        self._mock.note_problem(
            f"The call of {self._record['model_id']!r} could not be recorded: {type(error).__name__}: {error}\n"
            "Recording needs the plugin of the real model, and its key (`llm keys set`, or its environment variable)."
        )
        self._mock.not_recorded(self._record, error)

    def watch(self, outcome: Callable[[], Outcome]) -> None:
        """The call is under way."""
        self._outcome = outcome
        self._place.snapshot = self._keep_so_far

    def take(self, event: Any) -> None:
        """A piece of the answer came."""
        self._collector.add(event)

    def _keep_so_far(self) -> None:
        """Keep the answer as far as it was read: the application reads no further, or not in time."""
        if self._collector.empty:
            self._place.lost = (
                f"{call_text(self._record)} was under way when the test ended, so it is not in the cassette. "
                "Have the test wait for it."
            )
        else:
            self._keep(GeneratorExit())

    def end(self, error: BaseException | None) -> None:
        """Keep the answer, or the error."""
        self._place.snapshot = None
        try:
            self._keep(error)
        except LLMMockError as problem:
            asked = f"{self._record['model_id']!r} to {shorten(self._record['prompt'])}"
            self._mock.note_problem(f"The answer of {asked} cannot be recorded: {problem}")
        answer = self._place.response
        if error is not None:
            self._mock.not_recorded(self._record, error)
        elif answer is not None:
            wants_json = self._record["kwargs"]["schema"] is not None
            self._mock.recorded(self._record, RecordedReply(answer, self._place.contents, wants_json))

    def _keep(self, error: BaseException | None) -> None:
        unfinished = isinstance(error, GeneratorExit)
        if error is not None and not unfinished and not isinstance(error, Exception):
            self._place.lost = (
                f"{call_text(self._record)} ended with {type(error).__name__} while it was recorded, which a cassette "
                "cannot hold. For a model that is too slow use mock_llm_responses.set_latency()."
            )
            return
        described = None if error is None or unfinished else exceptions.describe(error)
        if error is not None and not unfinished and described is None:
            raise NotRecordable(
                f"it raised {type(error).__module__}.{type(error).__qualname__}, which cannot be raised again with the "
                "same content. Configure it in the test instead: mock_llm_responses.add(model, error)"
            )
        if self._outcome is not None:
            answer = self._collector.answer(self._outcome(), described, unfinished)
            self._place.response, self._place.contents = answer


class AnswerCollector:
    """Collects what a real model answers, chunk by chunk."""

    def __init__(self) -> None:
        self._chunks: list[tuple[dict[str, Any], str]] = []

    @property
    def empty(self) -> bool:
        """Whether nothing came yet."""
        return not self._chunks

    def add(self, chunk: Any) -> None:
        """Take a chunk in, before `llm` changes it.

        Raises:
            NotRecordable: it is a stream event of a kind that a cassette has no place for.
        """
        traits = {} if isinstance(chunk, str) else _traits(chunk)
        text = chunk if isinstance(chunk, str) else chunk.chunk
        self._chunks.append((traits, text))

    def answer(
        self, outcome: Outcome, error: dict[str, Any] | None = None, unfinished: bool = False
    ) -> tuple[schema.Response, dict[str, bytes]]:
        """What was answered, and the content of the attachments that came with it, by its hash.

        Args:
            outcome: what is known of the answer beside its events.
            error: the description of what was raised.
            unfinished: the application stopped reading.

        Raises:
            NotRecordable: something of it is no JSON value.
        """
        contents = {digest(item.content): item.content for item in outcome.attachments if item.content}
        try:
            answer = schema.Response(
                events=[
                    _event(traits, [text for _, text in run]) for traits, run in groupby(self._chunks, lambda c: c[0])
                ],
                tool_calls=[_tool_call(call) for call in outcome.tool_calls],
                attachments=[_received(item) for item in outcome.attachments],
                usage=schema.Usage(**outcome.usage),
                resolved_model=outcome.resolved_model,
                json=outcome.raw,
                error=error,
                unfinished=unfinished,
            )
            answer.plain()
        except (ValueError, pydantic.ValidationError) as problem:  # a serialization error is a ValueError
            lines = " ".join(line.strip() for line in str(problem).splitlines()[:3])
            raise NotRecordable(f"something of it is no JSON value ({lines})") from None
        return answer, contents


def _traits(event: Any) -> dict[str, Any]:
    """What a stream event says beside its text."""
    kind = type(event)
    traits = {
        name: value for name, value in vars(event).items() if name != "chunk" and value != getattr(kind, name, None)
    }
    if unknown := sorted(traits.keys() - schema.Event.model_fields.keys()):
        version = "cassettes of this version of pytest-llm-mock"
        raise NotRecordable(f"its stream events have {', '.join(unknown)}, which {version} cannot hold")
    return copy.deepcopy(traits)


def _event(traits: Mapping[str, Any], texts: list[str]) -> schema.Event:
    lengths = Inline(map(len, texts)) if len(texts) > 1 else []
    return schema.Event(**traits, text="".join(texts), chunks=lengths)


def _tool_call(call: Any) -> schema.ToolCall:
    return schema.ToolCall(name=call.name, arguments=call.arguments, tool_call_id=call.tool_call_id)


def _received(attachment: Any) -> schema.Attachment:
    content = attachment.content
    if not content:
        return schema.Attachment(type=attachment.type, url=attachment.url)
    return schema.Attachment(type=attachment.type, url=attachment.url, sha256=digest(content), bytes=len(content))


def call_text(record: CallRecord) -> str:
    """A call, as messages about its cassette name it."""
    return f"The call of {record['model_id']!r} with {shorten(record['prompt'])}"
