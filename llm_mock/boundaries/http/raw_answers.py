"""Send replies that contain the provider's own JSON."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.protocols.openai_responses import store_provider_response
from llm_mock.boundaries.http.readers.text_slots import TextSlots
from llm_mock.boundaries.http.routing import create_reader
from llm_mock.boundaries.http.streaming import (
    choose_wait_type,
    encode_errors,
    start_stream,
)
from llm_mock.boundaries.http.wire import WireResponse, add_request_id, json_response
from llm_mock.core.events import Wait
from llm_mock.core.reply import UNSET, RawAnswer
from llm_mock.core.source_location import format_origin
from llm_mock.core.tokens import add_cached_tokens
from llm_mock.errors import InvalidReply

if TYPE_CHECKING:
    from llm_mock.boundaries.http.chunks import ResponseContext
    from llm_mock.boundaries.http.protocols.protocol import WireProtocol
    from llm_mock.support.json_types import JSON


def build_raw_response(protocol: WireProtocol, context: ResponseContext) -> WireResponse:
    """Return the response for a reply with a body or events.

    Args:
        protocol: the API that is called.
        context: the call and its reply.

    Raises:
        InvalidReply: the reply has no events for a streamed request, or no body for another one.
    """
    raw = context.answer.reply.raw
    assert raw is not None
    items = _choose_items(context, raw)
    _complete_record(context, items)
    if context.request.api == "responses":
        store_provider_response(context.mock, context.request, list(items))
    answer = context.answer
    errors = protocol.provider.errors
    if context.request.stream:
        events = encode_errors(protocol, context, _encode_events(context, items))
        response = start_stream(answer, events, protocol.provider.stream_type)
        return add_request_id(response, errors)
    response = add_request_id(json_response(items[0]), errors)
    seconds = sum(answer.waits or ())
    return response._replace(delay=choose_wait_type(answer)(seconds)) if seconds else response


def _choose_items(context: ResponseContext, raw: RawAnswer) -> Sequence[JSON]:
    """Return the events for a streamed request, or else a list with the body."""
    if context.request.stream:
        if raw.events is not None:
            return raw.events
        problem = "has a body, but the request streams: pass Reply(events=[…])"
    else:
        if raw.body is not UNSET:
            return [raw.body]
        problem = "has events, but the request does not stream: pass Reply(body=…)"
    location = None
    if context.mock is not None:
        configured = context.mock.history.answered_by.get(context.answer.record["number"])
        location = None if configured is None else configured.place
    origin = format_origin(location)
    message = f"The reply{origin} {problem}. You can pass both body and events."
    if context.mock is not None:
        context.mock.note_problem(message)
    raise InvalidReply(message)


def _encode_events(context: ResponseContext, items: Sequence[JSON]) -> Iterator[bytes | Wait]:
    waits = iter(context.answer.waits or ())
    for item in items:
        seconds = next(waits, 0.0)
        if seconds:
            yield Wait(seconds)
        yield context.request.encode_event(item)
    # A stream without events takes its time, too.
    rest = sum(waits)
    if rest:
        yield Wait(rest)


def _complete_record(context: ResponseContext, items: Sequence[JSON]) -> None:
    """Record the text, the usage and the finish reason, as far as they can be read."""
    reader = create_reader(context.request.api)
    slots = TextSlots(reader)
    text = ""
    # The test may send invalid JSON on purpose, so unreadable content is not an error here.
    with contextlib.suppress(Exception):
        for item in items:
            # A copy, as `extract` removes the texts.
            for chunk in slots.extract(copy.deepcopy(item)):
                if isinstance(chunk, str):
                    text += chunk
    record = context.answer.record
    if text:
        record["response"] = text
    if reader.finish_reason:
        record["finish_reason"] = reader.finish_reason
    usage = reader.usage
    if "input" in usage:
        details = usage.get("details")
        record["input_tokens"] = add_cached_tokens(usage["input"], details, context.request.api)
    if "output" in usage:
        record["output_tokens"] = usage["output"]
