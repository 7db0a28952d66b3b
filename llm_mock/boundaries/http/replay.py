"""Gives a recorded answer back as it came over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic_core import to_json

from llm_mock.boundaries.http.chunks import ResponseContext
from llm_mock.boundaries.http.protocols.responses_items import store_provider_response
from llm_mock.boundaries.http.readers.text_slots import RecordedChunks, TextSlots
from llm_mock.boundaries.http.routing import create_reader
from llm_mock.boundaries.http.wire import WireResponse, server_sent_event
from llm_mock.core.reply import Received, Reply

NAMED_EVENTS = ("messages", "responses")
"""The APIs whose events are named by their type."""


def replay_response(context: ResponseContext) -> WireResponse | None:
    """The response that was recorded; None where the answer came in another way, and is to be written anew.

    Raises:
        Exception: it is that there is none.
    """
    reply, request = context.answer.reply, context.request
    received = reply.over_http()
    if received is not None and received.api is None:
        return _response(received, received.body.encode())
    if reply.error is not None and not reply.chunks:
        raise reply.exception()
    if received is None or received.api != request.api or (received.streamed and not request.stream):
        return None
    if not received.streamed and request.stream and not isinstance(received.body, list):
        return None
    context.finish_reason()
    if request.api == "responses":
        store_provider_response(request, restore_body(reply))
    if not received.streamed:
        return _response(received, to_json(restore_body(reply)))
    headers = {"content-type": "text/event-stream; charset=utf-8", **received.headers}
    return WireResponse(200, list(headers.items()), _events(reply, received))


def restore_body(reply: Reply) -> Any:
    """The body of a recorded answer, with its texts in it; None where it did not come over HTTP."""
    received = reply.over_http()
    if received is None or received.api is None:
        return None
    texts, pieces = TextSlots(create_reader(received.api)), RecordedChunks(reply.chunks or ())
    if not received.streamed:
        return texts.restore(received.body, pieces)
    return [texts.restore(event, pieces) for event in received.body]


def read_finish_reason(reply: Reply) -> str | None:
    """Why a recorded answer ended, in the words of Chat Completions, where that is not as usual."""
    received = reply.over_http()
    if received is not None and received.api is not None:
        reader = create_reader(received.api)
        for body in received.body if received.streamed else [received.body]:
            for _ in reader.find_slots(body):
                pass
        return reader.finish_reason
    body = reply.response_json
    choices = body.get("choices") if isinstance(body, dict) else None
    said = (choices[0] if choices else body) or {}
    reason = said.get("finish_reason") if isinstance(said, dict) else None
    return reason if isinstance(reason, str) else None


def _response(received: Received, content: bytes) -> WireResponse:
    headers = {"content-type": "application/json", **received.headers, "content-length": str(len(content))}
    return WireResponse(received.status, list(headers.items()), content)


def _events(reply: Reply, received: Received) -> Iterator[bytes]:
    for event in restore_body(reply):
        named = received.api in NAMED_EVENTS and isinstance(event, dict)
        yield server_sent_event(event, event.get("type") if named else None)
    if received.unfinished:
        for _ in reply.stream(stream=True):
            pass  # raises at its end
    if reply.error is not None:
        raise reply.exception()
