"""OpenAI's Responses API over a WebSocket.

See https://developers.openai.com/api/docs/guides/websocket-mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.errors import refusal_headers
from llm_mock.boundaries.http.protocols.protocol import parse_json_body
from llm_mock.boundaries.http.providers.registry import get_descriptor
from llm_mock.boundaries.http.websockets.events import (
    build_error_event,
    encode_event,
    parse_event,
    read_events,
)
from llm_mock.boundaries.http.wire import WireRequest, WireResponse, error_response
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.events import Wait
from llm_mock.support.json_types import JSONObject

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock

SOCKET_FIELDS = ("type", "stream", "stream_id", "generate")
"""The fields of an event that a request over HTTP does not contain."""
STEERING_REFUSED = (
    "llm_mock does not support response.steer: each response is complete as soon as it begins. "
    "Send the input with response.create."
)


class ResponsesTurn:
    """A message of the client, and the events that answer it.

    Args:
        sent: the equivalent HTTP request; None if `events` are the answer.
        events: the answer.
        stream_id: the id of the stream, which each event repeats, or None.
    """

    def __init__(
        self,
        sent: WireRequest | None = None,
        events: list[JSONObject] | None = None,
        stream_id: str | None = None,
    ) -> None:
        self.sent = sent
        self._events = events or []
        self._stream_id = stream_id

    def read_answer(self, response: WireResponse | None) -> Iterator[bytes | Wait]:
        """Yield the messages of the answer, and the waits between them.

        Args:
            response: the response to `sent`; None without a request.

        Raises:
            ConnectionFailure: the connection fails.
        """
        if response is None:
            for event in self._events:
                yield encode_event(self._add_lane(event))
        elif response.status >= 400:
            yield encode_event(self._add_lane(build_error_event(response)))
        else:
            for data in read_events(response):
                yield data if isinstance(data, Wait) else self._add_lane_to_data(data)

    def _add_lane(self, event: JSONObject) -> JSONObject:
        return event if self._stream_id is None else {**event, "stream_id": self._stream_id}

    def _add_lane_to_data(self, data: bytes) -> bytes:
        if self._stream_id is None:
            return data
        event = parse_event(data)
        # A broken event is sent unchanged.
        return encode_event(self._add_lane(event)) if event else data


class ResponsesSocket:
    """`WebSocket …/responses`: each `response.create` is a request, answered as over HTTP.

    Args:
        provider: the provider, which determines the error format.
        handshake: the request that opened the connection, with an empty body.
        get_mock: returns the mock that notes a refusal; None if nothing is mocked.
    """

    def __init__(
        self, provider: str, handshake: WireRequest, get_mock: Callable[[], Mock | None]
    ) -> None:
        self._get_mock = get_mock
        self._provider = provider
        self._errors = get_descriptor(provider).errors
        self._handshake = handshake

    def greet(self) -> list[bytes]:
        """Return the first messages of the provider, of which there are none."""
        return []

    def begin_turn(self, message: bytes) -> ResponsesTurn:
        """Read a message of the client."""
        try:
            event = parse_json_body(message)
        except WireError as malformed:
            return self._build_error_turn(malformed)
        if event.get("type") == "response.steer":
            return ResponsesTurn(events=[self._refuse_steering(event)])
        lane = event.get("stream_id")
        stream_id = lane if isinstance(lane, str) else None
        violation = _find_violation(event)
        if violation is not None:
            return self._build_error_turn(violation, stream_id)
        body = {name: value for name, value in event.items() if name not in SOCKET_FIELDS}
        content = encode_event({**body, "stream": True})
        sent = self._handshake._replace(body=content)
        mock = self._get_mock()
        if mock is not None and _is_preparation(event):
            # Imported late: few clients prepare their requests.
            from llm_mock.boundaries.http.websockets.preparation import prepare_response

            events = prepare_response(sent, self._provider, mock)
            return ResponsesTurn(events=events, stream_id=stream_id)
        return ResponsesTurn(sent, stream_id=stream_id)

    def refuse_turn(self, text: str) -> ResponsesTurn:
        """Return the turn for a message that the mock refuses."""
        return self._build_error_turn(WireError(400, text, headers=refusal_headers(text)))

    def _build_error_turn(self, error: WireError, stream_id: str | None = None) -> ResponsesTurn:
        event = build_error_event(error_response(self._errors, error))
        return ResponsesTurn(events=[event], stream_id=stream_id)

    def _refuse_steering(self, event: JSONObject) -> JSONObject:
        """Return the event that refuses `response.steer`, and let the test fail."""
        mock = self._get_mock()
        if mock is not None:
            mock.note_refusal(STEERING_REFUSED)
        previous = event.get("previous_response_id")
        return {
            "type": "response.steer.failed",
            "sequence_number": 0,
            "steer": {"previous_response_id": previous, "input": event.get("input")},
            "error": {
                "type": "invalid_request_error",
                "code": "steering_not_supported",
                "message": STEERING_REFUSED,
            },
        }


def _is_preparation(event: JSONObject) -> bool:
    """Return True if the request asks for no output."""
    options = event.get("prompt_cache_options")
    # OpenAI's SDK says that `prewarm` overrides `generate`.
    is_prewarmed = isinstance(options, dict) and options.get("prewarm") is True
    return is_prewarmed or event.get("generate") is False


def _find_violation(event: JSONObject) -> WireError | None:
    """Return the error for an event without an equivalent HTTP request, or None."""
    kind = event.get("type")
    if kind != "response.create":
        text = f"Unsupported event type: {kind!r}; expected 'response.create'."
        return WireError(400, text, param="type", code="invalid_value")
    if event.get("background"):
        # The reference of the event says that the field is not supported here.
        text = "Background mode is not supported over WebSocket."
        return WireError(400, text, param="background", code="unsupported_parameter")
    return None
