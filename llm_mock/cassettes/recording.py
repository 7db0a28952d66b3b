"""Record the response of a real model for a cassette."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pydantic

from llm_mock.cassettes import exceptions, schema
from llm_mock.cassettes.prompt_json import shorten_prompt_json
from llm_mock.cassettes.replay import RecordedReply
from llm_mock.core.json_text import is_json
from llm_mock.core.tool_calls import get_further_attributes
from llm_mock.errors import LLMMockError, NotRecordable
from llm_mock.support.json_types import JSONObject
from llm_mock.support.redaction import hide
from llm_mock.support.text import shorten

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.mock import Mock
    from llm_mock.core.protocols import AnswerMetadata
    from llm_mock.core.request import Request

AsUser = Callable[[], AbstractContextManager[None]]
"""A context in which the keys of the user who runs the process can be looked up."""

EventFields = JSONObject
"""The fields of a stream event, without its text."""


_Chunk = tuple[Any, EventFields, str]
"""A chunk or event of a response, with its fields and its text as they came."""


class Recording:
    """A real call that is being recorded; implements `core.protocols.PassthroughCall`.

    Args:
        request: the call, without secrets.
        made: the call as it was made.
        mock: the mock that received the call; problems are reported to it.
        record: the call in the history of the mock.
        as_user: the context in which the real call finds its key.
        encoded: the attachments of the call in base64, by their placeholders in the cassette.
        on_end: called when the response is complete.
    """

    def __init__(
        self,
        request: schema.RecordedRequest,
        made: Request,
        mock: Mock,
        record: Call,
        as_user: AsUser,
        encoded: Mapping[str, str],
        on_end: Callable[[Mock], None] | None = None,
    ) -> None:
        self.request = request
        self.response: schema.RecordedResponse | None = None
        """The response, once it is known."""
        self.contents: dict[str, bytes] = {}
        """The contents of the attachments of the response, by hash."""
        self.loss: str | None = None
        """The reason why the call cannot be recorded, if it was not reported yet."""
        self.as_user = as_user
        self._made = made
        self._mock = mock
        self._record = record
        self._encoded = encoded
        self._on_end = on_end
        self._chunks: list[_Chunk] = []
        self._get_outcome: Callable[[], AnswerMetadata] | None = None
        self._finish_reason: str | None = None
        self._has_ended = False

    def hide(self, *secrets: str | None) -> None:
        """Redact these values from now on."""
        # A plugin may pass a key object of its own.
        texts = [secret for secret in secrets if isinstance(secret, str)]
        if texts:
            hide(*texts)

    def report_not_made(self, error: Exception, advice: str = "") -> None:
        """Report that the real call could not be started."""
        model = self._record["model_id"]
        problem = f"The call to {model!r} could not be recorded: {type(error).__name__}: {error}"
        self._mock.note_problem(f"{problem}\n{advice}".rstrip())
        self._mock.record_failure(self._record, error)

    def watch(self, outcome: Callable[[], AnswerMetadata]) -> None:
        """Start to record, with a function that returns the state of the response at any time."""
        self._get_outcome = outcome

    def take(self, event: Any) -> None:
        """Record a chunk or event of the response."""
        if isinstance(event, str):
            self._chunks.append((event, {}, event))
        else:
            # A copy of the fields, because a plugin may change the event afterwards.
            self._chunks.append((event, _copy_event_fields(event), event.chunk))

    def keep_so_far(self) -> None:
        """Record the part that the application read of a response that has not ended."""
        if self._get_outcome is None or self._has_ended:
            return
        if self._chunks:
            self._set_response(GeneratorExit())
        else:
            self.loss = (
                f"{format_call(self._record)} was not finished when the test ended, so it is not "
                "in the cassette. Make the test wait for the call, or close its stream."
            )

    def end(self, error: BaseException | None) -> None:
        """Record the complete response, or the error."""
        self._has_ended = True
        self.loss = None
        try:
            self._set_response(error)
        except LLMMockError as problem:
            prompt = shorten(self._record["prompt"])
            self._mock.note_problem(
                f"The response of {self._record['model_id']!r} to {prompt} cannot be recorded: "
                f"{problem}"
            )
        self._complete_record(error)

    def _complete_record(self, error: BaseException | None) -> None:
        """Record in the history what the application got, as a replay will do."""
        # For an error without any answer, the history is that of a mock that fails at once.
        if self.response is not None and (error is None or self._chunks):
            wants_json = self._record["kwargs"]["schema"] is not None
            reply = RecordedReply(self.response, self.contents, wants_json)
            self._mock.record_answer(self._record, reply, self._made)
        if error is None:
            self._complete_answer()
        elif not isinstance(error, GeneratorExit):
            self._mock.record_failure(self._record, error)

    def _complete_answer(self) -> None:
        """Record why a whole answer ended, and report its end."""
        if self._finish_reason is not None:
            self._record["finish_reason"] = self._finish_reason
        if self.response is not None and self._on_end is not None:
            self._on_end(self._mock)

    def _set_response(self, error: BaseException | None) -> None:
        # llm and the SDKs close the stream when the application stops reading.
        is_unfinished = isinstance(error, GeneratorExit)
        raised = None if is_unfinished else error
        if raised is not None and not isinstance(raised, Exception):
            self.loss = (
                f"{format_call(self._record)} ended with {type(raised).__name__} while it was "
                "recorded, which a cassette cannot store. To test a model that is too slow, use "
                "mock_llm_responses.set_latency()."
            )
            return
        description = None
        if raised is not None:
            description = exceptions.describe(raised)
            if description is None:
                name = f"{type(raised).__module__}.{type(raised).__qualname__}"
                raise NotRecordable(
                    f"it raised {name}, which cannot be raised again with the same content. "
                    "Configure it in the test instead: mock_llm_responses.add(model, error)"
                )
        if self._get_outcome is None:
            return
        outcome = self._get_outcome()
        self.response = self._build_response(outcome, description, is_unfinished)
        self._finish_reason = outcome.finish_reason
        for attachment in outcome.attachments:
            if attachment.content:
                digest = schema.hash_content(attachment.content)
                self.contents[digest] = attachment.content

    def _build_response(
        self, outcome: AnswerMetadata, error: JSONObject | None, is_unfinished: bool
    ) -> schema.RecordedResponse:
        sent: Any = None
        repeats: dict[str, int] = {}
        if outcome.sent is not None:
            sent, repeats = shorten_prompt_json(outcome.sent, outcome.sent_before, self._encoded)
        attributes = {name: value for name, value in outcome.attributes.items() if is_json(value)}
        try:
            response = schema.RecordedResponse(
                events=self._build_events(),
                tool_calls=[_build_tool_call(call) for call in outcome.tool_calls],
                attachments=[
                    schema.RecordedAttachment.from_received(attachment)
                    for attachment in outcome.attachments
                ],
                usage=schema.RecordedUsage(**outcome.usage),
                resolved_model=outcome.resolved_model,
                # Copied, because the library continues to use it.
                json=copy.deepcopy(outcome.raw),
                prompt_json=sent,
                prompt_json_repeats=repeats,
                attributes=attributes,
                http=_build_http(outcome.http),
                error=error,
                unfinished=is_unfinished,
            )
            # Checked now, because an error while the file is written would lose the other calls.
            response.to_json()
        except (ValueError, pydantic.ValidationError) as problem:
            # An error of pydantic on serialization is a ValueError as well.
            first_lines = str(problem).splitlines()[:3]
            reason = " ".join(line.strip() for line in first_lines)
            raise NotRecordable(f"a part of it is not a JSON value ({reason})") from None
        return response

    def _build_events(self) -> list[schema.RecordedEvent]:
        """Return an event for each run of chunks that differ only in their texts."""
        chunks = []
        for event, fields, text in self._chunks:
            later = _find_later_changes(event, fields, text)
            _check_event_fields({**fields, **later})
            all_fields = {**fields, "later": later} if later else fields
            chunks.append((all_fields, text))
        events = []
        for fields, run in groupby(chunks, itemgetter(0)):
            texts = [text for _, text in run]
            event = schema.RecordedEvent(**fields, text="".join(texts))
            if len(texts) > 1:
                event.chunks = [len(text) for text in texts]
            events.append(event)
        return events


def _build_tool_call(call: Any) -> schema.RecordedToolCall:
    return schema.RecordedToolCall(
        name=call.name,
        arguments=call.arguments,
        tool_call_id=call.tool_call_id,
        attributes=get_further_attributes(call),
    )


def _build_http(http: JSONObject | None) -> schema.RecordedHTTP | None:
    if http is None:
        return None
    headers = exceptions.select_headers(http["headers"])
    return schema.RecordedHTTP(**{**http, "headers": headers})


def _copy_event_fields(event: object) -> EventFields:
    """Return a copy of the fields of a stream event that are not at their default."""
    defaults = type(event)
    fields = {}
    for name, value in vars(event).items():
        if name != "chunk" and value != getattr(defaults, name, None):
            fields[name] = value
    return copy.deepcopy(fields)


def _check_event_fields(fields: EventFields) -> None:
    """Raise if a cassette cannot store the fields of a stream event.

    Raises:
        NotRecordable: a newer version of `llm` has fields that are unknown here.
    """
    unknown = sorted(fields.keys() - schema.RecordedEvent.model_fields.keys() - {"chunk"})
    if unknown:
        raise NotRecordable(
            f"its stream events have {', '.join(unknown)}, which cassettes of this version of "
            "pytest-llm-mock cannot store"
        )


def _find_later_changes(event: Any, fields: EventFields, text: str) -> EventFields:
    """Return the fields of a stream event that the plugin changed after it had yielded the event.

    Args:
        event: the event in its current state.
        fields: its original fields.
        text: its original text.
    """
    if isinstance(event, str):
        return {}
    now = {**_copy_event_fields(event), "chunk": event.chunk}
    before = {**fields, "chunk": text}
    changes = {}
    for name, value in now.items():
        # `llm` itself numbers the parts of a response, so replay gets the number from `llm`.
        if name != "part_index" and before.get(name) != value:
            changes[name] = value
    return changes


def format_call(record: Call) -> str:
    """Return the subject of a message about a recorded call."""
    return f"The call to {record['model_id']!r} with {shorten(record['prompt'])}"
