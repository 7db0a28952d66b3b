"""Mistral's chat completions: OpenAI's with differences. See https://docs.mistral.ai/api."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext, ToolCallCollector, ToolCallText
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
        """What is asked."""
        request = super().parse_request(sent)
        request.provider = "mistral"
        return request

    def head(self, context: ResponseContext, kind: str) -> dict[str, Any]:
        """What every body of an answer begins with."""
        return {**super().head(context, kind), "id": f"cmpl_mock_{context.number}"}

    def build_body(self, context: ResponseContext, whole: CompleteReply) -> dict[str, Any]:
        """The body of an answer in one piece."""
        calls = [_tool_call(position, call) for position, call in enumerate(whole.tool_calls)]
        content: Any = whole.text
        if whole.reasoning:
            content = [_thinking(whole.reasoning), {"type": "text", "text": whole.text}]
        message = {"role": "assistant", "content": content, "tool_calls": calls or None, "prefix": False}
        choice = {"index": 0, "message": message, "finish_reason": _finish_reason(context)}
        return {**self.head(context, "chat.completion"), "choices": [choice], "usage": _usage(context)}

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """The body of a streamed answer: a tool call comes whole, the usage with the last piece."""
        head = self.head(context, "chat.completion.chunk")

        def chunk(delta: dict[str, Any], finish_reason: str | None = None, **more: Any) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
            return server_sent_event({**head, "choices": [choice], **more})

        yield chunk({"role": "assistant", "content": ""})
        calls = ToolCallCollector()
        for piece in context.chunks(stream=True):
            if isinstance(piece, Wait):
                yield piece
            elif isinstance(piece, str):
                yield chunk({"content": piece})
            elif piece.type == "reasoning":
                yield chunk({"content": [_thinking(piece.chunk)]})
            else:
                calls.add(piece)
        made = [_tool_call(position, call) for position, call in enumerate(calls.finish())]
        called = {"tool_calls": made} if made else {}
        yield chunk({"content": "", **called}, _finish_reason(context), usage=_usage(context))
        yield server_sent_event("[DONE]")

    def unknown_model_error(self, model_id: str) -> WireError:
        """What is answered where there is no such model."""
        return WireError(400, f"Invalid model: {model_id}", type="invalid_model", code="1500")


PROTOCOL = MistralChat()


def _usage(context: ResponseContext) -> dict[str, int]:
    asked, answered = context.input_tokens, context.output_tokens
    return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}


def _finish_reason(context: ResponseContext) -> str:
    reason = context.finish_reason()
    return FINISH_REASONS.get(reason, reason)


def _thinking(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def _tool_call(position: int, call: ToolCallText) -> dict[str, Any]:
    return {"id": call.id, "index": position, "function": {"name": call.name, "arguments": call.arguments}}
