"""Takes in what a real model answers, for a cassette."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pydantic

from llm_mock.cassettes import exceptions, prompt_json, schema
from llm_mock.cassettes.replay import RecordedReply
from llm_mock.core.json_text import is_json
from llm_mock.core.tool_calls import further_attributes
from llm_mock.errors import LLMMockError, NotRecordable
from llm_mock.support.redaction import hide
from llm_mock.support.text import shorten

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock
    from llm_mock.core.protocols import AnswerMetadata
    from llm_mock.core.records import CallRecord

AsUser = Callable[[], AbstractContextManager[None]]


class Recording:
    """The recording of a call that is made for real, without the secrets in its request."""

    def __init__(
        self,
        request: schema.Request,
        mock: Mock,
        record: CallRecord,
        as_user: AsUser,
        encoded: Mapping[str, str],
        ended: Callable[[Mock], None] = lambda _: None,
    ) -> None:
        self.request = request
        self.response: schema.Response | None = None
        """What was answered, once that is known."""
        self.contents: dict[str, bytes] = {}
        """The content of the attachments that came with it, by its hash."""
        self.lost: str | None = None
        """Why the call cannot be kept, where that was not said yet."""
        self.as_user = as_user
        self._mock, self._record = mock, record
        self._encoded, self._tell_end = encoded, ended
        self._chunks: list[tuple[Any, dict[str, Any], str]] = []
        self._outcome: Callable[[], AnswerMetadata] | None = None
        self._ended = False

    def hide(self, *secrets: str | None) -> None:
        """Take values as secret."""
        hide(*(secret for secret in secrets if isinstance(secret, str)))

    def not_made(self, error: Exception) -> None:
        """The call cannot be made."""
        self._mock.note_problem(
            f"The call of {self._record['model_id']!r} could not be recorded: {type(error).__name__}: {error}\n"
            "Recording needs the plugin of the real model, and its key (`llm keys set`, or its environment variable); "
            "for an SDK, the environment variable in which that looks for its key."
        )
        self._mock.not_recorded(self._record, error)

    def watch(self, outcome: Callable[[], AnswerMetadata]) -> None:
        """The call is under way."""
        self._outcome = outcome

    def take(self, event: Any) -> None:
        """A piece of the answer came; `llm` may change it afterwards."""
        self._chunks.append((event, {}, event) if isinstance(event, str) else (event, _traits(event), event.chunk))

    def keep_so_far(self) -> None:
        """Keep an answer that is still on its way as far as it was read: the application reads no further, or late."""
        if self._outcome is None or self._ended:
            return
        if self._chunks:
            self._keep(GeneratorExit())
        else:
            self.lost = (
                f"{call_text(self._record)} was under way when the test ended, so it is not in the cassette. "
                "Have the test wait for it, or close a stream that it reads no further."
            )

    def end(self, error: BaseException | None) -> None:
        """Keep the answer, or the error."""
        self._ended = True
        self.lost = None
        try:
            self._keep(error)
        except LLMMockError as problem:
            asked = f"{self._record['model_id']!r} to {shorten(self._record['prompt'])}"
            self._mock.note_problem(f"The answer of {asked} cannot be recorded: {problem}")
        if error is not None:
            self._mock.not_recorded(self._record, error)
        elif self.response is not None:
            wants_json = self._record["kwargs"]["schema"] is not None
            self._mock.recorded(self._record, RecordedReply(self.response, self.contents, wants_json))
            self._tell_end(self._mock)

    def _keep(self, error: BaseException | None) -> None:
        unfinished = isinstance(error, GeneratorExit)
        raised = None if unfinished else error
        if raised is not None and not isinstance(raised, Exception):
            self.lost = (
                f"{call_text(self._record)} ended with {type(raised).__name__} while it was recorded, which a cassette "
                "cannot hold. For a model that is too slow use mock_llm_responses.set_latency()."
            )
            return
        described = None if raised is None else exceptions.describe(raised)
        if raised is not None and described is None:
            raise NotRecordable(
                f"it raised {type(raised).__module__}.{type(raised).__qualname__}, which cannot be raised again with "
                "the same content. Configure it in the test instead: mock_llm_responses.add(model, error)"
            )
        if self._outcome is not None:
            outcome = self._outcome()
            self.response = self._answer(outcome, described, unfinished)
            self.contents = {schema.digest(item.content): item.content for item in outcome.attachments if item.content}

    def _answer(self, outcome: AnswerMetadata, error: dict[str, Any] | None, unfinished: bool) -> schema.Response:
        chunks = [(traits | _completed(event, traits, text), text) for event, traits, text in self._chunks]
        try:
            sent, repeats = prompt_json.shortened(outcome.sent, outcome.sent_before, self._encoded)
            answer = schema.Response(
                events=[_event(traits, [text for _, text in run]) for traits, run in groupby(chunks, itemgetter(0))],
                tool_calls=[
                    schema.ToolCall(
                        name=call.name,
                        arguments=call.arguments,
                        tool_call_id=call.tool_call_id,
                        attributes=further_attributes(call),
                    )
                    for call in outcome.tool_calls
                ],
                attachments=[schema.Attachment.received(item) for item in outcome.attachments],
                usage=schema.Usage(**outcome.usage),
                resolved_model=outcome.resolved_model,
                json=copy.deepcopy(outcome.raw),
                prompt_json=sent,
                prompt_json_repeats=repeats,
                attributes={name: value for name, value in outcome.attributes.items() if is_json(value)},
                http=_http(outcome.http),
                error=error,
                unfinished=unfinished,
            )
            answer.plain()
        except (ValueError, pydantic.ValidationError) as problem:  # a serialization error is a ValueError
            lines = " ".join(line.strip() for line in str(problem).splitlines()[:3])
            raise NotRecordable(f"something of it is no JSON value ({lines})") from None
        return answer


def _http(described: dict[str, Any] | None) -> schema.HTTP | None:
    if described is None:
        return None
    return schema.HTTP(**{**described, "headers": exceptions.kept_headers(described["headers"])})


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


def _completed(event: Any, traits: dict[str, Any], text: str) -> dict[str, Any]:
    """What of a stream event the plugin changed after it was given; its number `llm` gives it."""
    if isinstance(event, str):
        return {}
    now, then = {**_traits(event), "chunk": event.chunk}, {**traits, "chunk": text}
    later = {name: value for name, value in now.items() if name != "part_index" and then.get(name) != value}
    return {"later": later} if later else {}


def _event(traits: dict[str, Any], texts: list[str]) -> schema.Event:
    return schema.Event(**traits, text="".join(texts), chunks=list(map(len, texts)) if len(texts) > 1 else [])


def call_text(record: CallRecord) -> str:
    """A call, as messages about its cassette name it."""
    return f"The call of {record['model_id']!r} with {shorten(record['prompt'])}"
