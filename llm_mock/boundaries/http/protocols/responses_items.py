"""The response objects of OpenAI's Responses API, their items, and their storage."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.chunks import ResponseContext, ToolCallText
from llm_mock.boundaries.http.request import HTTPRequest, Message
from llm_mock.support.json_types import JSONObject

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock

INCOMPLETE_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""The reasons of an incomplete response, by the finish reasons of Chat Completions."""
NO_INPUT_DETAILS = {"cached_tokens": 0, "cache_write_tokens": 0}


def store_provider_response(mock: Mock | None, request: HTTPRequest, data: object) -> None:
    """Store a response of the provider, so that later requests can refer to it.

    Args:
        mock: the mock that stores it.
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
            _store(mock, str(response.get("id")), request.conversation, items)


def _store(
    mock: Mock | None, response_id: str, conversation: list[Message], output: list[JSONObject]
) -> None:
    """Store the conversation before a response, and the items of the response."""
    if mock is None:
        return
    responses = mock.stored_responses
    responses[response_id] = conversation, output
    # No more responses are kept than calls: a server that runs for days must not grow.
    limit = mock.history.limit
    if limit is not None and len(responses) > limit:
        responses.pop(next(iter(responses)), None)


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
        "id": f"resp_mock_{context.number}",
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


def finish_response(context: ResponseContext, output: list[JSONObject], reason: str) -> JSONObject:
    """Return a finished response, and store it for the next request of its conversation.

    Args:
        context: the call and its reply.
        output: the items.
        reason: the finish reason in the terms of Chat Completions.
    """
    _store(context.mock, f"resp_mock_{context.number}", context.request.conversation, output)
    if reason in INCOMPLETE_REASONS:
        body = build_response(context, "incomplete", output)
        body["incomplete_details"] = {"reason": INCOMPLETE_REASONS[reason]}
    else:
        body = build_response(context, "completed", output)
    body["usage"] = _build_usage(context)
    return body


def _build_usage(context: ResponseContext) -> JSONObject:
    details = context.usage_details
    input_details = details.get("input_tokens_details") or {}
    output_details = details.get("output_tokens_details") or {}
    return {
        "input_tokens": context.input_tokens,
        "input_tokens_details": {**NO_INPUT_DETAILS, **input_details},
        "output_tokens": context.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0, **output_details},
        "total_tokens": context.input_tokens + context.output_tokens,
    }
