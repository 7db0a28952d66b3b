"""The items of OpenAI's Responses API, and the conversations that it stores."""

from __future__ import annotations

import copy
import weakref

from llm_mock.boundaries.http.chunks import ResponseContext, ToolCallText
from llm_mock.boundaries.http.errors import WireError
from llm_mock.boundaries.http.protocols.protocol import (
    join_text,
    make_base64_part,
    make_text_part,
    make_url_part,
    parse_json_or_text,
    parse_parts,
)
from llm_mock.boundaries.http.request import (
    HTTPRequest,
    Message,
    make_tool_call_part,
    make_tool_result_part,
)
from llm_mock.core.context import current_mock
from llm_mock.support.json_types import JSONObject

INCOMPLETE_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""The reasons of an incomplete response, by the finish reasons of Chat Completions."""
URL_FIELDS = {
    "input_image": ("image_url", "file_id"),
    # Data goes first: it is all that the model gets, whatever else names the file.
    "input_file": ("file_data", "file_url", "file_id"),
}
"""The fields of a part that may have its URL, in order of preference."""
NO_INPUT_DETAILS = {"cached_tokens": 0, "cache_write_tokens": 0}
StoredResponse = tuple[list[Message], list[JSONObject]]
"""The conversation before a response, and the response's output items."""

# Keyed by the mock, so that a test sees only its own responses and nothing outlives them.
_stored: weakref.WeakKeyDictionary[object, dict[str, StoredResponse]]
_stored = weakref.WeakKeyDictionary()
"""The stored responses of each mock by their ids, for `previous_response_id`."""


def load_conversation(response_id: str | None) -> list[Message]:
    """Return the conversation up to a stored response; empty without an id.

    Raises:
        WireError: no response with this id is stored.
    """
    if not response_id:
        return []
    stored = _stored.get(current_mock(), {}).get(response_id)
    if stored is None:
        message = f"Previous response with id '{response_id}' not found."
        raise WireError(400, message, code="previous_response_not_found")
    messages, output = stored
    return [*messages, *parse_items(output)]


def store_provider_response(request: HTTPRequest, data: object) -> None:
    """Store a response of the provider, so that later requests can refer to it.

    Args:
        request: the request.
        data: the response: its body, one event of its stream, or a list of all events.
    """
    for body in data if isinstance(data, list) else [data]:
        response = body.get("response", body) if isinstance(body, dict) else None
        if not isinstance(response, dict) or response.get("object") != "response":
            continue
        if response.get("output"):
            items = [item for item in response["output"] if isinstance(item, dict)]
            # A copy, because the recording replaces the texts of the original by placeholders.
            items = copy.deepcopy(items)
            _store(str(response.get("id")), request.conversation(), items)


def _store(response_id: str, conversation: list[Message], output: list[JSONObject]) -> None:
    mock = current_mock()
    responses = _stored.setdefault(mock, {})
    responses[response_id] = conversation, output
    # No more responses are kept than calls: a server that runs for days must not grow.
    limit = None if mock is None else mock.history.limit
    if limit is not None and len(responses) > limit:
        responses.pop(next(iter(responses)), None)


def make_response_id(context: ResponseContext) -> str:
    """Return the id of a response."""
    return f"resp_mock_{context.number}"


def parse_items(items: list[JSONObject]) -> list[Message]:
    """Parse the items of a conversation; those of an unknown type are left out."""
    messages = []
    for item in items:
        message = _parse_item(item)
        if message is not None:
            messages.append(message)
    return messages


def _parse_item(item: JSONObject) -> Message | None:
    kind = item.get("type") or "message"
    if kind == "message":
        parts = parse_parts(item.get("content"), _parse_part)
        return {"role": str(item.get("role")), "parts": parts}
    if kind in ("function_call", "custom_tool_call"):
        arguments = parse_json_or_text(item.get("arguments", item.get("input")))
        name = str(item.get("name"))
        call = make_tool_call_part(name, arguments, item.get("call_id"))
        return {"role": "assistant", "parts": [call]}
    if kind in ("function_call_output", "custom_tool_call_output"):
        output = item.get("output")
        if not isinstance(output, str):
            output = join_text(parse_parts(output, _parse_part))
        return {"role": "tool", "parts": [make_tool_result_part(output, item.get("call_id"))]}
    return None


def get_item_text(item: JSONObject) -> str:
    """Return the text of a message item."""
    return join_text(parse_parts(item.get("content"), _parse_part))


def _parse_part(part: JSONObject) -> Message | None:
    """Parse a part of a message; None for an unknown type."""
    kind = part.get("type")
    if kind in ("input_text", "output_text", "text"):
        return make_text_part(str(part.get("text") or ""))
    if kind == "refusal":
        return make_text_part(str(part.get("refusal") or ""))
    if kind in URL_FIELDS:
        urls = (part.get(name) for name in URL_FIELDS[kind])
        first_url = next(filter(None, urls), "")
        return make_url_part(str(first_url))
    if kind == "input_audio":
        audio = part.get("input_audio") or {}
        data = str(audio.get("data") or "")
        return make_base64_part(data, f"audio/{audio.get('format')}")
    return None


def build_empty_message_item(context: ResponseContext) -> JSONObject:
    """Return the message item of a reply before its text."""
    # The id is the same in all events of the item, by which SDKs bring them together.
    return {
        "id": f"msg_mock_{context.number}",
        "type": "message",
        "role": "assistant",
        "status": "in_progress",
        "content": [],
    }


def build_message_item(context: ResponseContext, text: str) -> JSONObject:
    """Return the message item of a reply."""
    content = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {**build_empty_message_item(context), "status": "completed", "content": [content]}


def build_reasoning_item(context: ResponseContext, text: str) -> JSONObject:
    """Return the reasoning item of a reply."""
    summary = [{"type": "summary_text", "text": text}] if text else []
    return {"id": f"rs_mock_{context.number}", "type": "reasoning", "summary": summary}


def build_function_call_item(call: ToolCallText, status: str = "completed") -> JSONObject:
    """Return the item of a tool call."""
    return {
        "id": f"fc_{call.id}",
        "type": "function_call",
        "status": status,
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
    }


def build_response(context: ResponseContext, status: str, output: list[JSONObject]) -> JSONObject:
    """Return a response object without usage.

    Args:
        context: the call and its reply.
        status: `in_progress`, `completed` or `incomplete`.
        output: its items.
    """
    body = context.request.body
    # SDKs validate the whole object, which repeats the request's settings or their defaults.
    return {
        "id": make_response_id(context),
        "object": "response",
        "created_at": context.created,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "metadata": body.get("metadata") or {},
        "model": context.model,
        "output": output,
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": None, "summary": None, **(body.get("reasoning") or {})},
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "top_p": body.get("top_p", 1.0),
        "truncation": body.get("truncation") or "disabled",
        "usage": None,
    }


def finish_response(context: ResponseContext, output: list[JSONObject]) -> JSONObject:
    """Return a finished response, and store it for the next request of its conversation."""
    _store(make_response_id(context), context.request.conversation(), output)
    reason = context.get_finish_reason()
    if reason in INCOMPLETE_REASONS:
        body = build_response(context, "incomplete", output)
        body["incomplete_details"] = {"reason": INCOMPLETE_REASONS[reason]}
    else:
        body = build_response(context, "completed", output)
    body["usage"] = _build_usage(context)
    return body


def _build_usage(context: ResponseContext) -> JSONObject:
    details = context.answer.reply.usage_details() or {}
    input_details = details.get("input_tokens_details") or {}
    output_details = details.get("output_tokens_details") or {}
    return {
        "input_tokens": context.input_tokens,
        "input_tokens_details": {**NO_INPUT_DETAILS, **input_details},
        "output_tokens": context.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0, **output_details},
        "total_tokens": context.input_tokens + context.output_tokens,
    }
