"""Mistral's chat completions, a variant of OpenAI's. See https://docs.mistral.ai/api."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from llm_mock.boundaries.http.chunks import (
    CompleteReply,
    ResponseContext,
    ToolCallCollector,
    ToolCallText,
)
from llm_mock.boundaries.http.protocols.openai_chat import (
    OpenAIChat,
    repeat_choice,
)
from llm_mock.boundaries.http.providers.mistral import MISTRAL
from llm_mock.boundaries.http.wire import server_sent_event
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.events import Wait
from llm_mock.support.json_types import JSONObject


class MistralChat(OpenAIChat):
    """`POST …/chat/completions` of Mistral."""

    provider = MISTRAL
    # Mistral has no field for refusals: they are ordinary texts.
    refusal_field = "content"

    def build_response_head(self, context: ResponseContext, kind: str) -> JSONObject:
        """Return the first fields of a response."""
        return {**super().build_response_head(context, kind), "id": f"cmpl_mock_{context.number}"}

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        content: object = reply.refusal or reply.text
        if reply.reasoning:
            content = [_build_thinking_part(reply.reasoning), {"type": "text", "text": reply.text}]
        message = {
            "role": "assistant",
            "content": content,
            # Null, where OpenAI leaves the field out.
            "tool_calls": _build_tool_calls(reply.tool_calls) or None,
            "prefix": False,
        }
        reason = self.provider.get_finish_reason(reply.finish_reason)
        choices = []
        for index in range(context.request.count_candidates()):
            choice = {
                "index": index,
                "message": message,
                "finish_reason": reason,
            }
            choices.append(choice)
        return {
            **self.build_response_head(context, "chat.completion"),
            "choices": choices,
            **_build_usage_field(context),
        }

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response."""
        head = self.build_response_head(context, "chat.completion.chunk")
        count = context.request.count_candidates()

        def encode(delta: JSONObject, finish_reason: str | None = None, **fields: object) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
            event = server_sent_event({**head, "choices": [choice], **fields})
            return event if count == 1 else repeat_choice(event, count)

        yield encode({"role": "assistant", "content": ""})
        calls = ToolCallCollector()
        yield from self._encode_chunks(context, encode, calls.add)
        # Mistral does not stream arguments: the last chunk has all tool calls and the usage.
        delta: JSONObject = {"content": ""}
        tool_calls = _build_tool_calls(calls.finish())
        if tool_calls:
            delta["tool_calls"] = tool_calls
        reason = self.provider.get_finish_reason(context.get_finish_reason())
        yield encode(delta, reason, **_build_usage_field(context))
        yield server_sent_event("[DONE]")

    def build_reasoning_delta(self, text: str) -> JSONObject:
        """Return the delta of a message for a part of its reasoning."""
        return {"content": [_build_thinking_part(text)]}

    def build_unknown_model_error(self, model_id: str) -> WireError:
        """Return the provider's error for a model that does not exist."""
        return WireError(400, f"Invalid model: {model_id}", type="invalid_model", code="1500")


PROTOCOL = MistralChat()


def _build_usage_field(context: ResponseContext) -> JSONObject:
    """Return the field of a response that has the usage; empty if none is sent."""
    if not context.sends_usage:
        return {}
    usage: JSONObject = {
        "prompt_tokens": context.input_tokens,
        "completion_tokens": context.output_tokens,
        "total_tokens": context.input_tokens + context.output_tokens,
    }
    tier = context.answer.reply.service_tier
    if tier is not None:
        usage["service_tier"] = tier
    return {"usage": usage}


def _build_thinking_part(text: str) -> JSONObject:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def _make_call_id(call_id: str) -> str:
    """Return an id of nine letters and digits, as Mistral rejects other ids in requests."""
    if len(call_id) == 9 and call_id.isalnum():
        return call_id
    checksum = zlib.crc32(call_id.encode())
    return f"{checksum:09x}"


def _build_tool_calls(calls: list[ToolCallText]) -> list[JSONObject]:
    return [
        {
            "id": _make_call_id(call.id),
            "index": position,
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for position, call in enumerate(calls)
    ]
