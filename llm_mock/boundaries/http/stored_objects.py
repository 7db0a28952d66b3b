"""The objects that OpenAI stores: responses, conversations and chat completions.

They are in `Mock.stored_objects`, so that they are removed at the end of the test.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.support.json_types import JSONObject

if TYPE_CHECKING:
    from llm_mock.boundaries.http.chunks import ResponseContext
    from llm_mock.core.mock import Mock

UNFINISHED = ("queued", "in_progress")
"""The states of a response in the background before it is finished, in their order."""


class StoredConversation:
    """A conversation of the Responses API.

    Args:
        mock: the mock that will store it.
        metadata: its metadata.
        items: its first items.
    """

    def __init__(self, mock: Mock, metadata: object, items: object) -> None:
        self.id = f"conv_mock_{mock.history.get_id_prefix()}{mock.stored_count + 1}"
        self.created_at = int(time.time())
        self.metadata = metadata or {}
        self.items: list[JSONObject] = []
        self.add(items)

    def add(self, items: object) -> list[JSONObject]:
        """Add the items of an input or an output, and return them in the stored form."""
        added = list(complete_items(items, f"{self.id}_{len(self.items)}"))
        self.items += added
        return added

    def describe(self) -> JSONObject:
        """Return the conversation as JSON values."""
        return {
            "id": self.id,
            "object": "conversation",
            "created_at": self.created_at,
            "metadata": self.metadata,
        }


class BackgroundResponse:
    """The state of a response that is generated in the background.

    Each retrieval advances it to the next state, so that a test need not wait.
    """

    def __init__(self) -> None:
        self._seen = 0
        self.is_cancelled = False

    def get_status(self) -> str | None:
        """Return the current state; None for a finished response."""
        if self.is_cancelled:
            return "cancelled"
        return UNFINISHED[self._seen] if self._seen < len(UNFINISHED) else None

    def advance(self) -> None:
        """Advance to the next state."""
        self._seen += 1


def get_object_id(value: str | JSONObject) -> str:
    """Return the id in a field that contains an id, or an object with an id."""
    return str(value.get("id") if isinstance(value, dict) else value)


def build_not_found_error(kind: str, object_id: str) -> WireError:
    """Return OpenAI's error for an id that does not exist."""
    return WireError(404, f"{kind} with id '{object_id}' not found.")


def get_conversation(value: str | JSONObject, mock: Mock) -> StoredConversation:
    """Return a conversation.

    Args:
        value: its id, or an object with it.
        mock: the mock that stores it.

    Raises:
        WireError: it does not exist.
    """
    conversation_id = get_object_id(value)
    conversation = mock.stored_objects.get(conversation_id)
    if not isinstance(conversation, StoredConversation):
        raise build_not_found_error("Conversation", conversation_id)
    return conversation


def continue_conversation(value: str | JSONObject, mock: Mock) -> StoredConversation:
    """Return the conversation of a request.

    If a cassette answers, the provider may have created the conversation; it is then stored here.

    Args:
        value: its id, or an object with it.
        mock: the mock that stores it.

    Raises:
        WireError: it does not exist.
    """
    conversation_id = get_object_id(value)
    if mock.cassette is not None and conversation_id not in mock.stored_objects:
        conversation = StoredConversation(mock, None, None)
        conversation.id = conversation_id
        mock.store_object(conversation_id, conversation)
    return get_conversation(conversation_id, mock)


def extend_conversation(mock: Mock, request_body: JSONObject, response: JSONObject) -> None:
    """Add the input and the output of a response to its conversation."""
    conversation = continue_conversation(request_body["conversation"], mock)
    conversation.add(request_body.get("input"))
    conversation.add(response["output"])


def start_in_background(mock: Mock | None, response: JSONObject) -> JSONObject:
    """Return a finished response in the state `queued`; later retrievals finish it."""
    if mock is not None:
        # The response itself is stored under its own id.
        mock.store_object(f"background {response['id']}", BackgroundResponse())
    return show_unfinished(response, "queued")


def show_unfinished(response: JSONObject, status: str) -> JSONObject:
    """Return a finished response in the form that it has before its end."""
    unfinished: JSONObject = {
        "status": status,
        "output": [],
        "usage": None,
        "incomplete_details": None,
    }
    return {**response, **unfinished}


def get_response(response_id: str, mock: Mock) -> tuple[Any, JSONObject, JSONObject]:
    """Return the messages before a response, the response, and the body of its request.

    Raises:
        WireError: it does not exist.
    """
    stored = mock.stored_objects.get(response_id)
    if not isinstance(stored, tuple):
        raise build_not_found_error("Response", response_id)
    return stored


def get_background(response_id: str, mock: Mock) -> BackgroundResponse | None:
    """Return the state of a response that is generated in the background; None for others."""
    state = mock.stored_objects.get(f"background {response_id}")
    return state if isinstance(state, BackgroundResponse) else None


def list_input_items(response_id: str, mock: Mock) -> list[JSONObject]:
    """Return the input items of a response, including the items of earlier responses.

    Raises:
        WireError: it does not exist.
    """
    _, response, request_body = get_response(response_id, mock)
    items: list[JSONObject] = []
    previous_id = response.get("previous_response_id")
    if previous_id and isinstance(mock.stored_objects.get(previous_id), tuple):
        items += list_items_of_response(previous_id, mock)
    items += complete_items(request_body.get("input"), response_id)
    return items


def list_items_of_response(response_id: str, mock: Mock) -> list[JSONObject]:
    """Return the input items and the output items of a response.

    Raises:
        WireError: it does not exist.
    """
    return [*list_input_items(response_id, mock), *get_response(response_id, mock)[1]["output"]]


def complete_items(items: object, owner: str) -> Iterator[JSONObject]:
    """Yield the items of an input in the stored form: with an id, a type and parts.

    Args:
        items: a text or a list of items.
        owner: the id of the object that contains them, for their ids.
    """
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    for number, item in enumerate(items if isinstance(items, list) else (), start=1):
        if not isinstance(item, dict):
            continue
        kind = item.get("type") or "message"
        completed = {"id": f"{kind}_{owner}_{number}", "type": kind, "status": "completed", **item}
        if kind == "reasoning":
            # Reasoning of an earlier response has no status.
            completed.pop("status")
        if isinstance(item.get("content"), str):
            completed["content"] = [_build_part(item)]
        yield completed


def _build_part(item: JSONObject) -> JSONObject:
    """Return the only part of a message whose content is a text."""
    if item.get("role") != "assistant":
        return {"type": "input_text", "text": item["content"]}
    return {"type": "output_text", "text": item["content"], "annotations": [], "logprobs": []}


def store_completion(context: ResponseContext, body: JSONObject) -> None:
    """Store a chat completion."""
    if context.mock is not None:
        metadata = context.request.body.get("metadata") or {}
        completion = {**body, "metadata": metadata}
        stored = [completion, context.request.body.get("messages")]
        context.mock.store_object(str(body["id"]), stored)


def get_completion(completion_id: str, mock: Mock) -> list[Any]:
    """Return a chat completion and the messages of its request.

    Raises:
        WireError: it does not exist.
    """
    stored = mock.stored_objects.get(completion_id)
    if not isinstance(stored, list):
        raise build_not_found_error("Chat completion", completion_id)
    return stored


def list_completions(mock: Mock) -> list[JSONObject]:
    """Return all stored chat completions, oldest first."""
    stored = list(mock.stored_objects.values())
    return [each[0] for each in stored if isinstance(each, list)]
