"""Responses with several different answers to one request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic_core import from_json

from llm_mock.boundaries.http.chunks import ResponseContext, collect_reply
from llm_mock.boundaries.http.streaming import choose_wait_type, encode_errors, start_stream
from llm_mock.boundaries.http.wire import (
    WireResponse,
    add_request_id,
    json_response,
    server_sent_event,
)
from llm_mock.core.events import Wait

if TYPE_CHECKING:
    from llm_mock.boundaries.http.protocols.protocol import WireProtocol
    from llm_mock.support.json_types import JSONObject

FIELDS = {"chat.completions": "choices", "generate_content": "candidates"}
"""The field of a response that contains the answers, by API."""


def build_candidates_response(protocol: WireProtocol, context: ResponseContext) -> WireResponse:
    """Return the response for a reply with candidates.

    Args:
        protocol: the API that is called.
        context: the call and its reply.
    """
    errors = protocol.provider.errors
    seconds = sum(context.answer.waits or ())
    contexts = _split_context(context)
    if any(candidate.is_special for candidate in context.answer.reply.candidates):
        # Imported late: few candidates have details.
        from llm_mock.boundaries.http.details.response import find_detailed_protocol

        protocol = find_detailed_protocol(protocol)
    if context.request.stream:
        chunks = _stream_candidates(protocol, contexts, seconds)
        events = encode_errors(protocol, context, chunks)
        response = start_stream(context.answer, events, protocol.provider.stream_type)
        return add_request_id(response, errors)
    body = _build_body(protocol, contexts)
    response = add_request_id(json_response(body), errors)
    if not seconds:
        return response
    return response._replace(delay=choose_wait_type(context.answer)(seconds))


def _split_context(context: ResponseContext) -> list[ResponseContext]:
    """Return a context for each candidate, which has the usage of the whole reply."""
    contexts = []
    for candidate in context.answer.reply.candidates:
        answer = context.answer._replace(reply=candidate, waits=None)
        own = ResponseContext(context.request, answer, context.mock)
        own.sends_usage = context.sends_usage
        own.usage_details = context.usage_details
        own.input_tokens = context.input_tokens
        own.model = context.model
        contexts.append(own)
    return contexts


def _build_body(protocol: WireProtocol, contexts: list[ResponseContext]) -> JSONObject:
    request = contexts[0].request
    field = FIELDS[request.api]
    body: JSONObject = {}
    choices = []
    for index, context in enumerate(contexts):
        body = protocol.build_body(context, collect_reply(context))
        # The body repeats each answer as often as the request asks for.
        choices.append({**body[field][0], "index": index})
    body[field] = choices
    if request.api == "chat.completions" and request.body.get("store"):
        from llm_mock.boundaries.http.stored_objects import store_completion

        store_completion(contexts[-1], body)
    # The record has the finish reason of the first answer.
    contexts[0].get_finish_reason()
    return body


def _stream_candidates(
    protocol: WireProtocol, contexts: list[ResponseContext], seconds: float
) -> Iterator[bytes | Wait]:
    """Yield the events of each answer, one answer after the other."""
    if seconds:
        yield Wait(seconds)
    last = len(contexts) - 1
    for index, context in enumerate(contexts):
        for chunk in protocol.stream(context):
            # A candidate has no waits of its own; see `_split_context`.
            assert isinstance(chunk, bytes)
            event = _choose_event(chunk, FIELDS[context.request.api], index, index == last)
            if index > 0:
                # As above. Set here and not at the end, as clients may stop reading before the end.
                contexts[0].get_finish_reason()
            if event is not None:
                yield event


def _choose_event(chunk: bytes, field: str, index: int, is_last: bool) -> bytes | None:
    """Return the event of one answer, or None if only the end of the last answer has it.

    Args:
        chunk: the event, repeated for each answer that is asked for.
        field: the field with the answers.
        index: the index of the answer.
        is_last: True for the last answer.
    """
    first_event = chunk.partition(b"\n\n")[0]
    data = first_event.removeprefix(b"data: ")
    event = None if data == b"[DONE]" else from_json(data)
    if event is None or not event.get(field):
        # The end of the stream, and the usage before it.
        return chunk if is_last else None
    event[field] = [{**event[field][0], "index": index}]
    if event.get("usage") and not is_last:
        del event["usage"]
    return server_sent_event(event)
