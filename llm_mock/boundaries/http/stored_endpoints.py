"""The endpoints of OpenAI that retrieve and change stored objects."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote

from llm_mock.boundaries.http.protocols.protocol import parse_json_body
from llm_mock.boundaries.http.request_rules.openai_errors import make_error, make_range_error
from llm_mock.boundaries.http.stored_objects import (
    UNFINISHED,
    BackgroundResponse,
    StoredConversation,
    build_not_found_error,
    complete_items,
    get_background,
    get_completion,
    get_conversation,
    get_response,
    list_completions,
    list_input_items,
    list_items_of_response,
    show_unfinished,
)
from llm_mock.boundaries.http.wire import (
    WireRequest,
    WireResponse,
    event_stream_response,
    json_response,
)
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.reply import Reply
from llm_mock.core.tokens import count_input_tokens, estimate_tokens
from llm_mock.support.json_types import JSONObject

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock

DEFAULT_PAGE, LARGEST_PAGE = 20, 100
"""The default and the maximum number of items on a page."""


def _retrieve_response(
    sent: WireRequest, mock: Mock, response_id: str
) -> JSONObject | WireResponse:
    _, response, _ = get_response(response_id, mock)
    background = get_background(response_id, mock)
    query = {name: values[-1] for name, values in parse_qs(sent.query).items()}
    if query.get("stream") == "true":
        return _stream_response(response, background, query.get("starting_after"))
    if background is None:
        return response
    background.advance()
    status = background.get_status()
    return response if status is None else show_unfinished(response, status)


def _stream_response(
    response: JSONObject, background: BackgroundResponse | None, starting_after: str | None
) -> WireResponse:
    """Return a stream of all events of a response, up to its end."""
    # Imported late: few programs retrieve streams.
    from llm_mock.boundaries.http.stored_stream import build_stored_events

    if background is not None and background.is_cancelled:
        response = show_unfinished(response, "cancelled")
    while background is not None and background.get_status() in UNFINISHED:
        background.advance()
    is_number = starting_after is not None and starting_after.isdecimal()
    number = int(starting_after or 0) if is_number else -1
    return event_stream_response(build_stored_events(response, number))


def _delete_response(sent: WireRequest, mock: Mock, response_id: str) -> JSONObject:
    get_response(response_id, mock)
    mock.stored_objects.pop(response_id, None)
    mock.stored_objects.pop(f"background {response_id}", None)
    return {"id": response_id, "object": "response", "deleted": True}


def _cancel_response(sent: WireRequest, mock: Mock, response_id: str) -> JSONObject:
    _, response, _ = get_response(response_id, mock)
    background = get_background(response_id, mock)
    if background is None:
        raise WireError(400, "Cannot cancel a synchronous response.")
    # A finished response does not change.
    if background.get_status() in UNFINISHED:
        background.is_cancelled = True
    status = background.get_status()
    return response if status is None else show_unfinished(response, status)


def _list_input_items(sent: WireRequest, mock: Mock, response_id: str) -> JSONObject:
    return _build_page(sent, list_input_items(response_id, mock), "desc")


def _compact_response(sent: WireRequest, mock: Mock) -> JSONObject:
    """Return the user messages of a conversation, and an item that represents the rest of it."""
    # Imported late: the module is loaded by a call to a model, or by a call to an endpoint.
    from llm_mock.boundaries.http.media_endpoints import EndpointCall
    from llm_mock.boundaries.http.protocols.openai_responses import parse_partial_request

    request = parse_partial_request(sent, mock)
    request.http_fields = {**(request.http_fields or {}), "api": f"{sent.method} {sent.path}"}
    call = EndpointCall(mock, request)
    previous_id = call.body.get("previous_response_id")
    items = list_items_of_response(previous_id, mock) if previous_id else []
    items += complete_items(call.body.get("input"), call.number)
    output = [item for item in items if item["type"] == "message" and item["role"] == "user"]
    summary = f"<compaction {call.number}>"
    compaction: JSONObject = {"id": f"cmp_mock_{call.number}", "type": "compaction"}
    output.append({**compaction, "encrypted_content": summary})
    input_tokens, output_tokens = count_input_tokens(request), estimate_tokens(len(summary))
    body: JSONObject = {
        "id": f"resp_mock_{call.number}",
        "object": "response.compaction",
        "created_at": int(time.time()),
        "output": output,
        "usage": {
            "input_tokens": input_tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input_tokens + output_tokens,
        },
    }
    call.complete(Reply(summary), json_response(body))
    return body


def _create_conversation(sent: WireRequest, mock: Mock) -> JSONObject:
    body = parse_json_body(sent.body) if sent.body else {}
    conversation = StoredConversation(mock, body.get("metadata"), body.get("items"))
    mock.store_object(conversation.id, conversation)
    return conversation.describe()


def _retrieve_conversation(sent: WireRequest, mock: Mock, conversation_id: str) -> JSONObject:
    return get_conversation(conversation_id, mock).describe()


def _update_conversation(sent: WireRequest, mock: Mock, conversation_id: str) -> JSONObject:
    conversation = get_conversation(conversation_id, mock)
    conversation.metadata = parse_json_body(sent.body).get("metadata") or {}
    return conversation.describe()


def _delete_conversation(sent: WireRequest, mock: Mock, conversation_id: str) -> JSONObject:
    get_conversation(conversation_id, mock)
    mock.stored_objects.pop(conversation_id, None)
    return {"id": conversation_id, "object": "conversation.deleted", "deleted": True}


def _list_items(sent: WireRequest, mock: Mock, conversation_id: str) -> JSONObject:
    return _build_page(sent, get_conversation(conversation_id, mock).items, "desc")


def _add_items(sent: WireRequest, mock: Mock, conversation_id: str) -> JSONObject:
    conversation = get_conversation(conversation_id, mock)
    added = conversation.add(parse_json_body(sent.body).get("items"))
    return _describe_page(added, has_more=False)


def _retrieve_item(sent: WireRequest, mock: Mock, conversation_id: str, item_id: str) -> JSONObject:
    for item in get_conversation(conversation_id, mock).items:
        if item["id"] == item_id:
            return item
    raise build_not_found_error("Item", item_id)


def _delete_item(sent: WireRequest, mock: Mock, conversation_id: str, item_id: str) -> JSONObject:
    item = _retrieve_item(sent, mock, conversation_id, item_id)
    conversation = get_conversation(conversation_id, mock)
    conversation.items.remove(item)
    return conversation.describe()


def _list_completions(sent: WireRequest, mock: Mock) -> JSONObject:
    model = parse_qs(sent.query).get("model")
    completions = list_completions(mock)
    if model:
        completions = [each for each in completions if each["model"] == model[0]]
    return _build_page(sent, completions, "asc")


def _retrieve_completion(sent: WireRequest, mock: Mock, completion_id: str) -> JSONObject:
    completion: JSONObject = get_completion(completion_id, mock)[0]
    return completion


def _update_completion(sent: WireRequest, mock: Mock, completion_id: str) -> JSONObject:
    completion = _retrieve_completion(sent, mock, completion_id)
    completion["metadata"] = parse_json_body(sent.body).get("metadata") or {}
    return completion


def _delete_completion(sent: WireRequest, mock: Mock, completion_id: str) -> JSONObject:
    get_completion(completion_id, mock)
    mock.stored_objects.pop(completion_id, None)
    return {"id": completion_id, "object": "chat.completion.deleted", "deleted": True}


def _list_messages(sent: WireRequest, mock: Mock, completion_id: str) -> JSONObject:
    messages = []
    for number, message in enumerate(get_completion(completion_id, mock)[1]):
        content = message.get("content")
        # As in OpenAI's example: the role is the request's, unlike in the SDK's type.
        stored: JSONObject = {"id": f"{completion_id}-{number}", "name": None, **message}
        stored["content_parts"] = None
        if isinstance(content, list):
            stored.update(content=None, content_parts=content)
        messages.append(stored)
    return _build_page(sent, messages, "asc")


def _build_page(sent: WireRequest, items: Sequence[JSONObject], order: str) -> JSONObject:
    """Return the requested page of items.

    Args:
        sent: the request.
        items: all items, the oldest first.
        order: the default order, `asc` or `desc`.
    """
    query = {name: values[-1] for name, values in parse_qs(sent.query).items()}
    ordered = list(items)
    if query.get("order", order) == "desc":
        ordered.reverse()
    ids = [str(item["id"]) for item in ordered]
    if query.get("after") in ids:
        ordered = ordered[ids.index(query["after"]) + 1 :]
    limit = _parse_limit(query.get("limit"))
    return _describe_page(ordered[:limit], has_more=len(ordered) > limit)


def _parse_limit(value: str | None) -> int:
    """Return the number of items on a page. It may be 0, which OpenAI's reference does not mention.

    https://github.com/BerriAI/litellm/pull/37198 compares it with OpenAI's API.

    Raises:
        WireError: the limit is not a number in the supported range.
    """
    if value is None:
        return DEFAULT_PAGE
    if not value.removeprefix("-").isdecimal():
        message = "Invalid type for 'limit': expected an integer, but got a string instead."
        raise make_error(message, "limit", "invalid_type")
    limit = int(value)
    if not 0 <= limit <= LARGEST_PAGE:
        raise make_range_error("limit", limit, 0, LARGEST_PAGE, is_integer=True)
    return limit


def _describe_page(items: Sequence[JSONObject], has_more: bool) -> JSONObject:
    return {
        "object": "list",
        "data": list(items),
        # Empty texts, as the SDK's types do not allow null.
        "first_id": items[0]["id"] if items else "",
        "last_id": items[-1]["id"] if items else "",
        "has_more": has_more,
    }


Handler = Callable[..., "JSONObject | WireResponse"]
_RESPONSE = r"/responses/([^/]+)"
_CONVERSATION = r"/conversations/([^/]+)"
_COMPLETION = r"/chat/completions/([^/]+)"
HANDLERS: tuple[tuple[str, re.Pattern[str], Handler], ...] = (
    ("GET", re.compile(_RESPONSE + "$"), _retrieve_response),
    ("DELETE", re.compile(_RESPONSE + "$"), _delete_response),
    ("POST", re.compile("/responses/compact$"), _compact_response),
    ("POST", re.compile(_RESPONSE + "/cancel$"), _cancel_response),
    ("GET", re.compile(_RESPONSE + "/input_items$"), _list_input_items),
    ("POST", re.compile("/conversations$"), _create_conversation),
    ("GET", re.compile(_CONVERSATION + "$"), _retrieve_conversation),
    ("POST", re.compile(_CONVERSATION + "$"), _update_conversation),
    ("DELETE", re.compile(_CONVERSATION + "$"), _delete_conversation),
    ("GET", re.compile(_CONVERSATION + "/items$"), _list_items),
    ("POST", re.compile(_CONVERSATION + "/items$"), _add_items),
    ("GET", re.compile(_CONVERSATION + "/items/([^/]+)$"), _retrieve_item),
    ("DELETE", re.compile(_CONVERSATION + "/items/([^/]+)$"), _delete_item),
    ("GET", re.compile("/chat/completions$"), _list_completions),
    ("GET", re.compile(_COMPLETION + "$"), _retrieve_completion),
    ("POST", re.compile(_COMPLETION + "$"), _update_completion),
    ("DELETE", re.compile(_COMPLETION + "$"), _delete_completion),
    ("GET", re.compile(_COMPLETION + "/messages$"), _list_messages),
)
"""The method, the path with the ids, and the handler of each endpoint."""


def answer_stored(sent: WireRequest, provider: str, mock: Mock) -> WireResponse | None:
    """Answer a request about a stored object; None for other requests.

    Raises:
        WireError: the object does not exist, or the request is invalid.
    """
    for method, path, handler in HANDLERS:
        match = path.search(sent.path) if sent.method == method else None
        if match is not None:
            ids = [unquote(group) for group in match.groups()]
            response = handler(sent, mock, *ids)
            return response if isinstance(response, WireResponse) else json_response(response)
    return None
