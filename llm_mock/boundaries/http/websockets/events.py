"""Convert the events of an HTTP response to WebSocket messages."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pydantic_core import from_json, to_json

from llm_mock.boundaries.http.errors import ConnectionFailure
from llm_mock.boundaries.http.wire import WireResponse
from llm_mock.core.events import Wait
from llm_mock.support.json_types import JSON, JSONObject

FINAL_EVENTS = ("response.completed", "response.incomplete", "response.failed", "error")
"""The types of events that end a response."""
BODY_HEADERS = ("content-type", "content-length", "content-encoding", "transfer-encoding")
"""The headers of an error that describe its body."""
DATA = b"data:"


def read_events(response: WireResponse) -> Iterator[bytes | Wait]:
    """Yield the data of the server-sent events of a response, and the waits between them.

    A chunk of the stream may end anywhere in an event.

    Raises:
        ConnectionFailure: the stream ends before its last event.
    """
    chunks = [response.body] if isinstance(response.body, bytes) else response.body
    rest = b""
    last = b""
    for chunk in chunks:
        if not isinstance(chunk, bytes):
            yield chunk
            continue
        *events, rest = (rest + chunk).split(b"\n\n")
        for event in events:
            # A broken event may have no data; a comment is not an event.
            data = _get_data(event) or event
            if not data.startswith(b":"):
                last = data
                yield data
    kind = parse_event(last).get("type")
    if kind not in FINAL_EVENTS:
        raise ConnectionFailure("dropped", "The connection closed within the response.")


def _get_data(event: bytes) -> bytes:
    lines = event.splitlines()
    return b"\n".join(line.removeprefix(DATA).strip() for line in lines if line.startswith(DATA))


def parse_event(data: bytes) -> JSONObject:
    """Return an event as JSON values; empty if it is not a JSON object."""
    try:
        event = from_json(data)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


def encode_event(event: JSONObject) -> bytes:
    """Return the message of an event."""
    return to_json(event)


def build_error_event(response: WireResponse) -> JSONObject:
    """Return the event for an error response.

    https://developers.openai.com/api/docs/guides/websocket-mode shows such events; the type in
    OpenAI's SDK is `ResponseWsError`.
    """
    assert isinstance(response.body, bytes)
    details: JSON
    try:
        details = json.loads(response.body)
    except ValueError:
        # The HTML page of a gateway.
        details = response.body.decode("utf-8", "replace")
    if isinstance(details, dict):
        details = details.get("error", details)
    if not isinstance(details, dict):
        details = {"type": "server_error", "code": None, "message": str(details), "param": None}
    headers = {name: value for name, value in response.headers if name not in BODY_HEADERS}
    if headers:
        details = {**details, "headers": headers}
    return {"type": "error", "status": response.status, "error": details}
