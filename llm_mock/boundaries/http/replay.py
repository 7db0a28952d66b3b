"""Replay a recorded HTTP response unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic_core import to_json

from llm_mock.boundaries.http.chunks import ResponseContext
from llm_mock.boundaries.http.protocols.openai_responses import store_provider_response
from llm_mock.boundaries.http.readers.text_slots import RecordedChunks, TextSlots
from llm_mock.boundaries.http.request import HTTPRequest
from llm_mock.boundaries.http.routing import create_reader
from llm_mock.boundaries.http.wire import WireResponse
from llm_mock.core.reply import Received, Reply


def replay_response(context: ResponseContext) -> WireResponse | None:
    """Return the recorded response.

    Returns:
        The response; None if it must be rebuilt, because it was recorded from another API or from
        `llm`, or because only one of recording and request is streamed.

    Raises:
        Exception: the recorded error, if no part of the response came before it.
    """
    reply = context.answer.reply
    request = context.request
    received = reply.over_http()
    if received is not None and received.api is None:
        # An error response; no text was extracted from it.
        return _build_response(received, received.body.encode())
    if reply.error is not None and not reply.chunks:
        raise reply.exception()
    if received is None or not _has_requested_form(received, request):
        return None
    if not received.unfinished:
        # Sets the finish reason in the record of the call, as no protocol does it here.
        context.get_finish_reason()
    if request.api == "responses":
        store_provider_response(context.mock, request, restore_body(reply))
    if not received.streamed:
        return _build_response(received, to_json(restore_body(reply)))
    headers = {"content-type": "text/event-stream; charset=utf-8", **received.headers}
    return WireResponse(
        received.status, list(headers.items()), _build_events(reply, received, request)
    )


def _has_requested_form(received: Received, request: HTTPRequest) -> bool:
    if received.api != request.api:
        return False
    if not request.stream:
        return not received.streamed
    # Gemini sends a stream without events as one JSON list.
    return bool(received.streamed) or isinstance(received.body, list)


def restore_body(reply: Reply) -> Any:
    """Return the body of a recorded response with its texts; None if it did not come over HTTP."""
    received = reply.over_http()
    if received is None or received.api is None:
        return None
    slots = TextSlots(create_reader(received.api))
    chunks = RecordedChunks(reply.chunks or ())
    if not received.streamed:
        return slots.restore(received.body, chunks)
    return [slots.restore(event, chunks) for event in received.body]


def read_finish_reason(reply: Reply) -> str | None:
    """Return the finish reason of a recorded reply in the terms of Chat Completions.

    Returns None for the normal reason, and for an unknown one.
    """
    received = reply.over_http()
    if received is not None and received.api is not None:
        return _read_received_reason(received, received.api)
    # A reply that was recorded from `llm` may have the body that the `llm` plugin kept.
    body = reply.response_json
    if not isinstance(body, dict):
        return None
    choices = body.get("choices")
    choice = choices[0] if choices else body
    reason = choice.get("finish_reason") if isinstance(choice, dict) else None
    return reason if isinstance(reason, str) else None


def _read_received_reason(received: Received, api: str) -> str | None:
    reader = create_reader(api)
    bodies = received.body if received.streamed else [received.body]
    for body in bodies:
        # The reader reads the finish reason while it looks for texts.
        for _ in reader.find_slots(body):
            pass
    return reader.finish_reason


def _build_response(received: Received, content: bytes) -> WireResponse:
    headers = {
        "content-type": "application/json",
        **received.headers,
        # The length may differ from the recorded one, as the texts can be edited.
        "content-length": str(len(content)),
    }
    return WireResponse(received.status, list(headers.items()), content)


def _build_events(reply: Reply, received: Received, request: HTTPRequest) -> Iterator[bytes]:
    for event in restore_body(reply):
        yield request.encode_event(event)
    if received.unfinished:
        # The recording was interrupted: at its end, the reply raises the recorded error.
        for _ in reply.stream(stream=True):
            pass
    if reply.error is not None:
        raise reply.exception()
