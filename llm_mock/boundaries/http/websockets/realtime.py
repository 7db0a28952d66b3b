"""OpenAI's Realtime API over a WebSocket, limited to text and tools.

A `response.create` becomes a request to the Responses API with the items of the conversation, and
the events of the response become Realtime events. Their order and fields come from
https://developers.openai.com/api/reference/resources/realtime and from recorded sessions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from llm_mock.boundaries.http.protocols.protocol import parse_json_body
from llm_mock.boundaries.http.websockets.events import (
    build_error_event,
    encode_event,
    parse_event,
    read_events,
)
from llm_mock.boundaries.http.wire import WireRequest, WireResponse
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.events import Wait
from llm_mock.support.json_types import JSONObject

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock

SUPPORTED = (
    "llm_mock supports only text in Realtime sessions: send text with conversation.item.create, "
    'and request it with "output_modalities": ["text"] in session.update or response.create.'
)
OBJECTS = "an array of objects"
FIELD_TYPES = {
    "audio": "an object",
    "input": OBJECTS,
    "tools": OBJECTS,
}
"""What a field of a session or a response must be."""
AUDIO_EVENTS = (
    "input_audio_buffer.append",
    "input_audio_buffer.clear",
    "input_audio_buffer.commit",
    "output_audio_buffer.clear",
    "conversation.item.truncate",
)
"""The client's events for audio."""
RESPONSE_FIELDS = ("instructions", "tools", "tool_choice", "max_output_tokens", "metadata")
"""The fields of a session or response that a Responses request also has."""
ITEM_FIELDS = ("type", "role", "content", "call_id", "name", "arguments", "output")
"""The fields of an item that a Responses item also has."""
MESSAGE = "message"
FUNCTION_CALL = "function_call"
TEXT_EVENTS = {
    "response.output_text.delta": "delta",
    "response.output_text.done": "text",
    "response.refusal.delta": "delta",
    "response.refusal.done": "refusal",
}
"""The events with a text, and the field with the text; Realtime has no refusals."""
STATUSES = {"response.completed": "completed", "response.incomplete": "incomplete"}
AUDIO_FORMAT = {"type": "audio/pcm", "rate": 24000}

_session_numbers = itertools.count(1)


class RealtimeTurn:
    """A message of the client that is answered with events, without a call to the model."""

    sent: WireRequest | None = None

    def __init__(self, *events: JSONObject) -> None:
        self._events = events

    def read_answer(self, response: WireResponse | None) -> Iterator[bytes | Wait]:
        """Yield the messages of the answer."""
        yield from map(encode_event, self._events)


class RealtimeSocket:
    """`WebSocket …/realtime`: a session with its conversation.

    Args:
        handshake: the request that opened the connection, with an empty body.
        get_mock: returns the mock that notes a refusal; None if nothing is mocked.
    """

    def __init__(self, handshake: WireRequest, get_mock: Callable[[], Mock | None]) -> None:
        self._get_mock = get_mock
        path = handshake.path.removesuffix("/realtime") + "/responses"
        self.request = handshake._replace(path=path, query="")
        self.number = next(_session_numbers)
        query = parse_qs(handshake.query)
        # Azure's name of the model.
        models = query.get("model") or query.get("deployment") or [""]
        self.session: JSONObject = {
            "type": "realtime",
            "object": "realtime.session",
            "id": f"sess_mock_{self.number}",
            "model": models[0],
            "output_modalities": ["audio"],
            "instructions": "",
            "tools": [],
            "tool_choice": "auto",
            "max_output_tokens": "inf",
            "tracing": None,
            "truncation": "auto",
            "prompt": None,
            "audio": {
                "input": {"format": AUDIO_FORMAT, "transcription": None, "turn_detection": None},
                "output": {"format": AUDIO_FORMAT, "voice": "marin", "speed": 1.0},
            },
            "include": None,
        }
        self.items: list[JSONObject] = []
        """The items of the conversation."""
        self._event_numbers = itertools.count(1)
        self._id_numbers = itertools.count(1)
        self._handlers: dict[str, Callable[[JSONObject], RealtimeTurn]] = {
            "session.update": self._update_session,
            "conversation.item.create": self._create_item,
            "conversation.item.retrieve": self._retrieve_item,
            "conversation.item.delete": self._delete_item,
            "response.create": self._create_response,
            "response.cancel": self._cancel_response,
        }

    def greet(self) -> list[bytes]:
        """Return the first messages of the provider."""
        created = self.make_event("session.created", session=self.session)
        return [encode_event(created)]

    def begin_turn(self, message: bytes) -> RealtimeTurn:
        """Read a message of the client."""
        try:
            event = parse_json_body(message)
        except WireError as malformed:
            return self._build_error_turn({}, malformed.message, "invalid_json")
        kind = str(event.get("type"))
        if kind in AUDIO_EVENTS:
            return self._refuse(event, f"{kind} is an audio event, which is not supported.")
        handler = self._handlers.get(kind)
        if handler is None:
            text = f"Invalid value: {kind!r}. Supported values are: {sorted(self._handlers)}."
            return self._build_error_turn(event, text, "invalid_value", "type")
        return handler(event)

    def refuse_turn(self, text: str) -> RealtimeTurn:
        """Return the turn for a message that the mock refuses."""
        return self._build_error_turn({}, text)

    def make_event(self, kind: str, **fields: object) -> JSONObject:
        """Return an event with a new id."""
        number = next(self._event_numbers)
        return {
            "type": kind,
            "event_id": f"event_mock_{number}",
            **fields,
        }

    def make_id(self, prefix: str) -> str:
        """Return an id that is unique among all sessions."""
        number = next(self._id_numbers)
        return f"{prefix}_mock_rt{self.number}_{number}"

    def get_last_item_id(self) -> str | None:
        """Return the id of the last item of the conversation; None if it is empty."""
        return str(self.items[-1]["id"]) if self.items else None

    # Events of the client

    def _update_session(self, event: JSONObject) -> RealtimeTurn:
        given = event.get("session")
        if not isinstance(given, dict):
            text = "Missing required parameter: 'session'."
            return self._build_error_turn(event, text, "missing_required_parameter", "session")
        if given.get("type") == "transcription":
            return self._refuse(event, "A transcription session is not supported.")
        refused = self._check_types(event, "session", given)
        if refused is not None:
            return refused
        given_audio = given.get("audio") or {}
        audio = {**self.session["audio"], **given_audio}
        self.session = {**self.session, **given, "audio": audio}
        updated = self.make_event("session.updated", session=self.session)
        return RealtimeTurn(updated)

    def _create_item(self, event: JSONObject) -> RealtimeTurn:
        given = event.get("item")
        if not isinstance(given, dict):
            text = "Missing required parameter: 'item'."
            return self._build_error_turn(event, text, "missing_required_parameter", "item")
        if _has_audio(given):
            return self._refuse(event, "The item has audio, which is not supported.")
        item_id = given.get("id") or self.make_id("item")
        item = {"id": item_id, "status": "completed", **given}
        index = self._find_position(event.get("previous_item_id"))
        if index is None:
            text = f"Item with item_id not found: {event['previous_item_id']}"
            return self._build_error_turn(event, text, "item_not_found", "previous_item_id")
        previous = self.items[index - 1]["id"] if index else None
        self.items.insert(index, item)
        fields = {"previous_item_id": previous, "item": item}
        added = self.make_event("conversation.item.added", **fields)
        done = self.make_event("conversation.item.done", **fields)
        return RealtimeTurn(added, done)

    def _find_position(self, previous_id: object) -> int | None:
        """Return the index after an item; None if the item does not exist."""
        if previous_id is None:
            return len(self.items)
        if previous_id == "root":
            return 0
        index = self.find_item(previous_id)
        return None if index is None else index + 1

    def find_item(self, item_id: object) -> int | None:
        """Return the index of an item of the conversation; None if it does not exist."""
        ids = [item["id"] for item in self.items]
        return ids.index(item_id) if item_id in ids else None

    def _retrieve_item(self, event: JSONObject) -> RealtimeTurn:
        index = self.find_item(event.get("item_id"))
        if index is None:
            return self._build_unknown_item_turn(event)
        return RealtimeTurn(self.make_event("conversation.item.retrieved", item=self.items[index]))

    def _delete_item(self, event: JSONObject) -> RealtimeTurn:
        index = self.find_item(event.get("item_id"))
        if index is None:
            return self._build_unknown_item_turn(event)
        item = self.items.pop(index)
        deleted = self.make_event("conversation.item.deleted", item_id=item["id"])
        return RealtimeTurn(deleted)

    def _create_response(self, event: JSONObject) -> RealtimeTurn:
        given = event.get("response")
        settings = given if isinstance(given, dict) else {}
        refused = self._check_types(event, "response", settings)
        if refused is not None:
            return refused
        default = self.session["output_modalities"]
        modalities = settings.get("output_modalities") or default
        if modalities != ["text"]:
            return self._refuse(event, f"A response with {modalities} is not supported.")
        items = settings.get("input")
        if items is None:
            items = self.items
        if any(_has_audio(item) for item in items):
            return self._refuse(event, "The input has audio, which is not supported.")
        return ResponseTurn(self, event, settings, items)

    def _cancel_response(self, event: JSONObject) -> RealtimeTurn:
        # Each response is complete before the next message is read.
        text = "Cancellation failed: no active response found"
        return self._build_error_turn(event, text, "response_cancel_not_active")

    # Errors

    def _refuse(self, event: JSONObject, problem: str) -> RealtimeTurn:
        """Refuse an event that the mock does not support, and let the test fail."""
        text = f"{problem} {SUPPORTED}"
        mock = self._get_mock()
        if mock is not None:
            mock.note_refusal(text)
        return self._build_error_turn(event, text, "unsupported_by_llm_mock")

    def _build_unknown_item_turn(self, event: JSONObject) -> RealtimeTurn:
        text = f"Item with item_id not found: {event.get('item_id')}"
        return self._build_error_turn(event, text, "item_not_found", "item_id")

    def _check_types(
        self,
        event: JSONObject,
        key: str,
        settings: JSONObject,
    ) -> RealtimeTurn | None:
        """Return the turn for a field of a session or a response that has another type."""
        for name, expected in FIELD_TYPES.items():
            value = settings.get(name)
            objects = value if expected == OBJECTS else [value]
            is_right = isinstance(objects, list) and all(isinstance(each, dict) for each in objects)
            if value is not None and not is_right:
                param = f"{key}.{name}"
                text = f"Invalid type for '{param}': expected {expected}."
                return self._build_error_turn(event, text, "invalid_type", param)
        return None

    def _build_error_turn(
        self, event: JSONObject, text: str, code: str | None = None, param: str | None = None
    ) -> RealtimeTurn:
        details = {
            "type": "invalid_request_error",
            "code": code,
            "message": text,
            "param": param,
        }
        error = self.build_error(event, details)
        return RealtimeTurn(error)

    def build_error(self, event: JSONObject, details: JSONObject) -> JSONObject:
        """Return an error event, which contains the id of the client's invalid event."""
        error = {**details, "event_id": event.get("event_id")}
        return self.make_event("error", error=error)


def _has_audio(item: JSONObject) -> bool:
    content = item.get("content")
    if not isinstance(content, list):
        return False
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if "audio" in str(kind):
            return True
    return False


class ResponseTurn(RealtimeTurn):
    """A `response.create` event, which the model answers.

    Args:
        socket: the session.
        event: the event of the client.
        settings: the settings of this response, which override those of the session.
        items: the items that the model gets.
    """

    def __init__(
        self,
        socket: RealtimeSocket,
        event: JSONObject,
        settings: JSONObject,
        items: list[JSONObject],
    ) -> None:
        super().__init__()
        self._socket = socket
        self._event = event
        self._settings = {**socket.session, "metadata": None, **settings}
        self._is_in_conversation = settings.get("conversation") != "none"
        self._output: list[JSONObject] = []
        """The items of the response."""
        self._response_id = ""
        self._tool_calls: dict[str, JSONObject] = {}
        """The tool calls by the ids of their items."""
        self.sent = socket.request._replace(body=encode_event(self._build_body(items)))

    def _build_body(self, items: list[JSONObject]) -> JSONObject:
        body: JSONObject = {"model": self._socket.session["model"], "stream": True}
        for name in RESPONSE_FIELDS:
            value = self._settings.get(name)
            if value and value not in ("inf", "auto"):
                body[name] = value
        if body.get("tools"):
            # Realtime has no strict tools, while Responses makes tools strict by default.
            body["tools"] = [_make_lenient(tool) for tool in body["tools"]]
        body["input"] = [self._convert_input(item) for item in items]
        return body

    def _convert_input(self, item: JSONObject) -> JSONObject:
        if item.get("type") == "item_reference":
            index = self._socket.find_item(item.get("id"))
            item = item if index is None else self._socket.items[index]
        return {name: item[name] for name in ITEM_FIELDS if name in item}

    def read_answer(self, response: WireResponse | None) -> Iterator[bytes | Wait]:
        """Yield the messages of the answer, and the waits between them."""
        assert response is not None
        if response.status >= 400:
            yield from map(encode_event, self._build_failure(response))
            return
        for data in read_events(response):
            if isinstance(data, Wait):
                yield data
                continue
            event = parse_event(data)
            if event:
                yield from map(encode_event, self._translate(event))
            else:
                # A broken event is sent unchanged.
                yield data

    def _build_failure(self, response: WireResponse) -> list[JSONObject]:
        details = build_error_event(response)["error"]
        details.pop("headers", None)
        if response.status < 429:
            return [self._socket.build_error(self._event, details)]
        # The request is valid, so the response starts.
        self._response_id = self._socket.make_id("resp")
        return [
            self._build_response("response.created", "in_progress"),
            self._build_failed(details),
        ]

    def _build_failed(self, details: JSONObject) -> JSONObject:
        error = {
            "type": details.get("type"),
            "code": details.get("code"),
            "message": details.get("message"),
        }
        status_details = {"type": "failed", "error": error}
        return self._build_response("response.done", "failed", status_details)

    def _build_response(
        self,
        kind: str,
        status: str,
        status_details: JSONObject | None = None,
        usage: JSONObject | None = None,
    ) -> JSONObject:
        settings = self._settings
        conversation_id = f"conv_mock_{self._socket.number}" if self._is_in_conversation else None
        response = {
            "object": "realtime.response",
            "id": self._response_id,
            "status": status,
            "status_details": status_details,
            "output": list(self._output),
            "conversation_id": conversation_id,
            "output_modalities": ["text"],
            "max_output_tokens": settings["max_output_tokens"],
            "audio": {"output": {"format": AUDIO_FORMAT, "voice": "marin"}},
            "usage": usage,
            "metadata": settings["metadata"],
        }
        return self._socket.make_event(kind, response=response)

    # Events of Responses

    def _translate(self, event: JSONObject) -> list[JSONObject]:
        """Convert an event of Responses to events of Realtime."""
        kind = str(event["type"])
        if kind == "response.created":
            self._response_id = event["response"]["id"]
            return [self._build_response(kind, "in_progress")]
        if kind in ("response.output_item.added", "response.output_item.done"):
            return self._translate_item(kind, event["item"])
        if kind in ("response.content_part.added", "response.content_part.done"):
            text = _get_text(event["part"])
            part = {"type": "text", "text": text}
            return [self._make_part_event(kind, event, part=part)]
        if kind in TEXT_EVENTS:
            value = event[TEXT_EVENTS[kind]]
            field = "delta" if kind.endswith("delta") else "text"
            name = kind.replace("refusal", "output_text")
            return [self._make_part_event(name, event, **{field: value})]
        if kind.startswith("response.function_call_arguments."):
            return [self._translate_arguments(kind, event)]
        return self._translate_end(kind, event)

    def _translate_item(self, kind: str, given: JSONObject) -> list[JSONObject]:
        if given["type"] not in (MESSAGE, FUNCTION_CALL):
            return []
        item = _convert_item(given)
        socket = self._socket
        fields = {"response_id": self._response_id, "item": item}
        if kind.endswith("added"):
            index = len(self._output)
            self._output.append(item)
            events = [socket.make_event(kind, output_index=index, **fields)]
            if self._is_in_conversation:
                previous = socket.get_last_item_id()
                socket.items.append(item)
                name = "conversation.item.added"
                events.append(socket.make_event(name, previous_item_id=previous, item=item))
            return events
        index = self._get_index(item["id"])
        started, self._output[index] = self._output[index], item
        events = []
        if self._is_in_conversation:
            position = socket.items.index(started)
            socket.items[position] = item
            previous = socket.items[position - 1]["id"] if position else None
            name = "conversation.item.done"
            events.append(socket.make_event(name, previous_item_id=previous, item=item))
        return [*events, socket.make_event(kind, output_index=index, **fields)]

    def _get_index(self, item_id: str) -> int:
        return [item["id"] for item in self._output].index(item_id)

    def _translate_arguments(self, kind: str, event: JSONObject) -> JSONObject:
        index = self._get_index(event["item_id"])
        call = self._output[index]
        fields = {
            "response_id": self._response_id,
            "item_id": event["item_id"],
            "output_index": index,
            "call_id": call["call_id"],
        }
        if kind.endswith("delta"):
            fields["delta"] = event["delta"]
        else:
            fields["name"] = call["name"]
            fields["arguments"] = event["arguments"]
        return self._socket.make_event(kind, **fields)

    def _make_part_event(self, kind: str, event: JSONObject, **fields: object) -> JSONObject:
        item_id = event["item_id"]
        place = {
            "response_id": self._response_id,
            "item_id": item_id,
            "output_index": self._get_index(item_id),
            "content_index": event["content_index"],
        }
        return self._socket.make_event(kind, **place, **fields)

    def _translate_end(self, kind: str, event: JSONObject) -> list[JSONObject]:
        if kind == "error":
            return [self._build_failed(event.get("error") or event)]
        if kind == "response.failed":
            return [self._build_failed(event["response"].get("error") or {})]
        status = STATUSES.get(kind)
        if status is None:
            # Such as `response.in_progress`, and the reasoning, which Realtime does not show.
            return []
        response = event["response"]
        incomplete = response.get("incomplete_details")
        details = {"type": status, **incomplete} if incomplete else None
        usage = _convert_usage(response.get("usage"))
        return [self._build_response("response.done", status, details, usage)]


def _make_lenient(tool: JSONObject) -> JSONObject:
    return {**tool, "strict": False} if tool.get("type") == "function" else tool


def _convert_item(item: JSONObject) -> JSONObject:
    """Convert an item of Responses to an item of Realtime."""
    if item["type"] == FUNCTION_CALL:
        return {
            "id": item["id"],
            "type": item["type"],
            "status": item["status"],
            "name": item["name"],
            "call_id": item["call_id"],
            "arguments": item["arguments"],
        }
    content = []
    for part in item["content"]:
        text = _get_text(part)
        content.append({"type": "output_text", "text": text})
    return {
        "id": item["id"],
        "type": item["type"],
        "status": item["status"],
        "role": item["role"],
        "content": content,
    }


def _get_text(part: JSONObject) -> object:
    """Return the text of a part, which may be a refusal in Responses."""
    return part["refusal"] if part["type"] == "refusal" else part["text"]


def _convert_usage(usage: JSONObject | None) -> JSONObject | None:
    if usage is None:
        return None
    cached = (usage.get("input_tokens_details") or {}).get("cached_tokens", 0)
    no_media = {"audio_tokens": 0, "image_tokens": 0}
    return {
        "total_tokens": usage["total_tokens"],
        "input_tokens": usage["input_tokens"],
        "output_tokens": usage["output_tokens"],
        "input_token_details": {
            "text_tokens": usage["input_tokens"],
            **no_media,
            "cached_tokens": cached,
            "cached_tokens_details": {"text_tokens": cached, **no_media},
        },
        "output_token_details": {"text_tokens": usage["output_tokens"], "audio_tokens": 0},
    }
