"""Mistral's chat completions, a variant of OpenAI's. See https://docs.mistral.ai/api."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm_mock.boundaries.http.chunks import (
    CompleteReply,
    ResponseContext,
    ToolCallCollector,
    ToolCallText,
)
from llm_mock.boundaries.http.error_formats import MISTRAL, ErrorFormat
from llm_mock.boundaries.http.errors import WireError
from llm_mock.boundaries.http.protocols.openai_chat import OpenAIChat
from llm_mock.boundaries.http.request import HTTPRequest
from llm_mock.boundaries.http.wire import WireRequest, server_sent_event
from llm_mock.core.events import Wait

FINISH_REASONS = {"content_filter": "error"}


class MistralChat(OpenAIChat):
    """`POST …/chat/completions` of Mistral."""

    errors: ErrorFormat = MISTRAL

    def parse_request(self, sent: WireRequest) -> HTTPRequest:
        """Parse the body of a request."""
        request = super().parse_request(sent)
        # Otherwise it is OpenAI's, because the provider is derived from the API.
        request.provider = "mistral"
        return request

    def response_head(self, context: ResponseContext, kind: str) -> dict[str, Any]:
        """Return the first fields of a response."""
        return {**super().response_head(context, kind), "id": f"cmpl_mock_{context.number}"}

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> dict[str, Any]:
        """Return the body of a response that is not streamed."""
        content: Any = reply.text
        if reply.reasoning:
            content = [_thinking_part(reply.reasoning), {"type": "text", "text": reply.text}]
        message = {
            "role": "assistant",
            "content": content,
            # Null, where OpenAI leaves the field out.
            "tool_calls": _build_tool_calls(reply.tool_calls) or None,
            "prefix": False,
        }
        choice = {"index": 0, "message": message, "finish_reason": _finish_reason(context)}
        return {
            **self.response_head(context, "chat.completion"),
            "choices": [choice],
            "usage": _build_usage(context),
        }

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response."""
        head = self.response_head(context, "chat.completion.chunk")

        def encode(delta: dict[str, Any], finish_reason: str | None = None, **fields: Any) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
            return server_sent_event({**head, "choices": [choice], **fields})

        yield encode({"role": "assistant", "content": ""})
        calls = ToolCallCollector()
        for chunk in context.chunks(stream=True):
            if isinstance(chunk, Wait):
                yield chunk
            elif isinstance(chunk, str):
                yield encode({"content": chunk})
            elif chunk.type == "reasoning":
                yield encode({"content": [_thinking_part(chunk.chunk)]})
            else:
                calls.add(chunk)
        # Mistral does not stream arguments: all tool calls come in the last chunk, with the usage.
        delta: dict[str, Any] = {"content": ""}
        tool_calls = _build_tool_calls(calls.finish())
        if tool_calls:
            delta["tool_calls"] = tool_calls
        yield encode(delta, _finish_reason(context), usage=_build_usage(context))
        yield server_sent_event("[DONE]")

    def unknown_model_error(self, model_id: str) -> WireError:
        """Return the provider's error for a model that does not exist."""
        return WireError(400, f"Invalid model: {model_id}", type="invalid_model", code="1500")


PROTOCOL = MistralChat()


def _build_usage(context: ResponseContext) -> dict[str, int]:
    return {
        "prompt_tokens": context.input_tokens,
        "completion_tokens": context.output_tokens,
        "total_tokens": context.input_tokens + context.output_tokens,
    }


def _finish_reason(context: ResponseContext) -> str:
    reason = context.finish_reason()
    return FINISH_REASONS.get(reason, reason)


def _thinking_part(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def _build_tool_calls(calls: list[ToolCallText]) -> list[dict[str, Any]]:
    return [
        {
            "id": call.id,
            "index": position,
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for position, call in enumerate(calls)
    ]
