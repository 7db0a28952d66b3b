"""What a response of OpenAI's Responses API is made of."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterator
from typing import Any

from llm_mock.boundaries.http.chunks import ResponseContext, ToolCallText
from llm_mock.boundaries.http.errors import WireError
from llm_mock.boundaries.http.protocols.protocol import (
    base64_part,
    parse_json_or_text,
    parse_parts,
    text_part,
    url_part,
)
from llm_mock.boundaries.http.request import HTTPRequest, Message, tool_call_part, tool_result_part
from llm_mock.core.context import current_mock

INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Why a response is incomplete, for the words of Chat Completions."""
NO_TOKENS_OF_THE_CACHE = {"cached_tokens": 0, "cache_write_tokens": 0}

_stored: weakref.WeakKeyDictionary[Any, dict[str, tuple[list[Message], list[dict[str, Any]]]]]
_stored = weakref.WeakKeyDictionary()
"""Of each mock: the conversation before each response, and its output, for `previous_response_id`."""


def load_conversation(response_id: Any) -> list[Message]:
    """The conversation up to a response.

    Raises:
        WireError: there is no such response.
    """
    if not response_id:
        return []
    kept = _stored.get(current_mock(), {}).get(response_id)
    if kept is None:
        message = f"Previous response with id '{response_id}' not found."
        raise WireError(400, message, code="previous_response_not_found")
    messages, output = kept
    return [*messages, *parse_items(output)]


def store_response(context: ResponseContext, output: list[dict[str, Any]]) -> None:
    """Keep the conversation up to a response."""
    _store(response_id(context), context.request.conversation(), output)


def _store(response: str, conversation: list[Message], output: list[dict[str, Any]]) -> None:
    mock = current_mock()
    stored = _stored.setdefault(mock, {})
    stored[response] = conversation, output
    limit = None if mock is None else mock.history.limit
    if limit is not None and len(stored) > limit:
        stored.pop(next(iter(stored)), None)


def store_provider_response(request: HTTPRequest, answered: Any) -> None:
    """Keep the conversation up to a response that the provider gave: its body, or one or all events of its stream.

    The texts of these are taken out afterwards.
    """
    for body in answered if isinstance(answered, list) else [answered]:
        response = body.get("response", body) if isinstance(body, dict) else None
        if isinstance(response, dict) and response.get("object") == "response" and response.get("output"):
            items = copy.deepcopy([item for item in response["output"] if isinstance(item, dict)])
            _store(str(response.get("id")), request.conversation(), items)


def response_id(context: ResponseContext) -> str:
    """The id of a response."""
    return f"resp_mock_{context.number}"


def parse_items(items: list[dict[str, Any]]) -> list[Message]:
    """The messages that items of a conversation are; what is not known is not seen."""
    return [message for item in items for message in _read_item(item)]


def _read_item(item: dict[str, Any]) -> Iterator[Message]:
    kind = item.get("type") or "message"
    if kind == "message":
        yield {"role": str(item.get("role")), "parts": parse_parts(item.get("content"), _part)}
    elif kind in ("function_call", "custom_tool_call"):
        arguments = parse_json_or_text(item.get("arguments", item.get("input")))
        call = tool_call_part(str(item.get("name")), arguments, item.get("call_id"))
        yield {"role": "assistant", "parts": [call]}
    elif kind in ("function_call_output", "custom_tool_call_output"):
        output = item.get("output")
        text = output if isinstance(output, str) else join_text(parse_parts(output, _part))
        yield {"role": "tool", "parts": [tool_result_part(text, item.get("call_id"))]}


def join_text(parts: list[Message]) -> str:
    """The text in the parts of a message."""
    return "\n".join(part["text"] for part in parts if part["type"] == "text")


def get_item_text(item: dict[str, Any]) -> str:
    """The text of a message."""
    return join_text(parse_parts(item.get("content"), _part))


def _part(part: dict[str, Any]) -> Message | None:
    kind = part.get("type")
    if kind in ("input_text", "output_text", "text", "refusal"):
        return text_part(str(part.get("refusal" if kind == "refusal" else "text") or ""))
    if kind == "input_image":
        return url_part(str(part.get("image_url") or part.get("file_id") or ""))
    if kind == "input_file":
        return url_part(str(part.get("file_data") or part.get("file_url") or part.get("file_id") or ""))
    if kind == "input_audio":
        audio = part.get("input_audio") or {}
        return base64_part(str(audio.get("data") or ""), f"audio/{audio.get('format')}")
    return None


def message_item(context: ResponseContext, text: str) -> dict[str, Any]:
    """The message of an answer."""
    content = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {**empty_message_item(context), "status": "completed", "content": [content]}


def empty_message_item(context: ResponseContext) -> dict[str, Any]:
    """The same before its text."""
    head = {"id": f"msg_mock_{context.number}", "type": "message", "role": "assistant"}
    return {**head, "status": "in_progress", "content": []}


def reasoning_item(context: ResponseContext, text: str) -> dict[str, Any]:
    """The reasoning of an answer."""
    summary = [{"type": "summary_text", "text": text}] if text else []
    return {"id": f"rs_mock_{context.number}", "type": "reasoning", "summary": summary}


def function_call_item(call: ToolCallText, status: str = "completed") -> dict[str, Any]:
    """A tool call of an answer."""
    head = {"id": f"fc_{call.id}", "type": "function_call", "status": status}
    return {**head, "call_id": call.id, "name": call.name, "arguments": call.arguments}


def response_body(context: ResponseContext, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    """A response, under way (`in_progress`) or at its end."""
    body = context.request.body
    return {
        "id": response_id(context),
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


def finish_response(context: ResponseContext, output: list[dict[str, Any]]) -> dict[str, Any]:
    """A response at its end, which is kept for the next one of its conversation."""
    store_response(context, output)
    reason = context.finish_reason()
    body = response_body(context, "incomplete" if reason in INCOMPLETE else "completed", output)
    if reason in INCOMPLETE:
        body["incomplete_details"] = {"reason": INCOMPLETE[reason]}
    details = context.answer.reply.usage_details() or {}
    asked, answered = context.input_tokens, context.output_tokens
    body["usage"] = {
        "input_tokens": asked,
        "input_tokens_details": {**NO_TOKENS_OF_THE_CACHE, **(details.get("input_tokens_details") or {})},
        "output_tokens": answered,
        "output_tokens_details": {"reasoning_tokens": 0, **(details.get("output_tokens_details") or {})},
        "total_tokens": asked + answered,
    }
    return body
