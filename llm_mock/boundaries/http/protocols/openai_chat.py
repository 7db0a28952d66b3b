"""OpenAI's Chat Completions API, which most other providers offer too.

See https://platform.openai.com/docs/api-reference/chat.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm_mock.boundaries.http.body_types import CHAT
from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext, ToolCallText
from llm_mock.boundaries.http.error_formats import OPENAI, ErrorFormat
from llm_mock.boundaries.http.errors import WireError
from llm_mock.boundaries.http.protocols.protocol import (
    add_schema_title,
    attachment_part,
    base64_part,
    extract_options,
    join_text,
    parse_json_or_text,
    parse_parts,
    text_part,
    url_part,
    validate_body,
)
from llm_mock.boundaries.http.request import (
    HTTPRequest,
    Message,
    Tool,
    tool_call_part,
    tool_result_part,
)
from llm_mock.boundaries.http.wire import WireRequest, server_sent_event
from llm_mock.core.events import Event, Wait

SYSTEM_ROLES = ("system", "developer")
PARSED_FIELDS = (
    "model",
    "messages",
    "tools",
    "functions",
    "tool_choice",
    "function_call",
    "response_format",
    "stream",
    "stream_options",
)
"""The fields of a request that are not options."""
NO_PROMPT_DETAILS = {"cached_tokens": 0, "audio_tokens": 0}
NO_COMPLETION_DETAILS = {
    "reasoning_tokens": 0,
    "audio_tokens": 0,
    "accepted_prediction_tokens": 0,
    "rejected_prediction_tokens": 0,
}


class OpenAIChat:
    """`POST …/chat/completions`."""

    errors: ErrorFormat = OPENAI
    # OpenAI sends no reasoning here; this is the name that most other providers have for it.
    reasoning_field = "reasoning_content"
    """The field of a message that has its reasoning."""

    def response_head(self, context: ResponseContext, kind: str) -> dict[str, Any]:
        """Return the first fields of a response.

        Args:
            context: the call and its reply.
            kind: `chat.completion` or `chat.completion.chunk`.
        """
        return {
            "id": f"chatcmpl-mock-{context.number}",
            "object": kind,
            "created": context.created,
            "model": context.model,
        }

    def parse_request(self, sent: WireRequest) -> HTTPRequest:
        """Parse the body of a request."""
        body = validate_body(sent.json(), CHAT, self.errors, "model", "messages")
        messages: list[dict[str, Any]] = body["messages"]
        if not messages:
            message = "Invalid 'messages': empty array. Expected an array with minimum length 1."
            raise WireError(400, message)
        system = []
        conversation = []
        for message_json in messages:
            if message_json.get("role") in SYSTEM_ROLES:
                system.append(_message_text(message_json))
            else:
                conversation.append(_parse_message(message_json))
        return HTTPRequest(
            body["model"],
            conversation,
            api="chat.completions",
            system="\n".join(system),
            tools=_parse_tools(body),
            schema=_parse_schema(body.get("response_format")),
            options=extract_options(body, *PARSED_FIELDS),
            stream=bool(body.get("stream")),
            tool_choice=_parse_tool_choice(body.get("tool_choice") or body.get("function_call")),
            sent=sent,
            body=body,
        )

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> dict[str, Any]:
        """Return the body of a response that is not streamed."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": reply.text,
            "refusal": None,
            "annotations": [],
        }
        if reply.tool_calls:
            # The content is null beside tool calls, and empty without them.
            message["content"] = reply.text or None
            message["tool_calls"] = [_build_tool_call(call) for call in reply.tool_calls]
        if reply.reasoning:
            message[self.reasoning_field] = reply.reasoning
        finish_reason = context.finish_reason()
        choices = [
            {"index": index, "message": message, "logprobs": None, "finish_reason": finish_reason}
            for index in range(_choice_count(context))
        ]
        return {
            **self.response_head(context, "chat.completion"),
            "choices": choices,
            "usage": build_usage(context),
            "service_tier": "default",
            "system_fingerprint": None,
        }

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response."""
        head = self.response_head(context, "chat.completion.chunk")
        head |= {"service_tier": "default", "system_fingerprint": None}
        options = context.request.body.get("stream_options")
        with_usage = isinstance(options, dict) and bool(options.get("include_usage"))
        # With usage on, all chunks but the last have `"usage": null`.
        tail: dict[str, Any] = {"usage": None} if with_usage else {}

        def encode(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
            return server_sent_event({**head, "choices": [choice], **tail})

        yield encode({"role": "assistant", "content": "", "refusal": None})
        positions: dict[str, int] = {}
        for chunk in context.chunks(stream=True):
            if isinstance(chunk, Wait):
                yield chunk
            elif isinstance(chunk, str):
                yield encode({"content": chunk})
            elif chunk.type == "reasoning":
                yield encode({self.reasoning_field: chunk.chunk})
            elif chunk.type in ("tool_call_name", "tool_call_args"):
                yield encode({"tool_calls": [_build_tool_call_delta(chunk, positions)]})
        yield encode({}, context.finish_reason())
        if with_usage:
            yield server_sent_event({**head, "choices": [], "usage": build_usage(context)})
        yield server_sent_event("[DONE]")

    def unknown_model_error(self, model_id: str) -> WireError:
        """Return the provider's error for a model that does not exist."""
        message = f"The model `{model_id}` does not exist or you do not have access to it."
        return WireError(404, message, code="model_not_found")

    def encode_error_event(self, error: WireError, number: int) -> bytes:
        """Encode an error within a stream."""
        return server_sent_event(self.errors.body(error))


PROTOCOL = OpenAIChat()


def build_usage(context: ResponseContext) -> dict[str, Any]:
    """Return the usage object of a call."""
    details = context.answer.reply.usage_details() or {}
    prompt_details = details.get("prompt_tokens_details") or {}
    completion_details = details.get("completion_tokens_details") or {}
    return {
        "prompt_tokens": context.input_tokens,
        "completion_tokens": context.output_tokens,
        "total_tokens": context.input_tokens + context.output_tokens,
        "prompt_tokens_details": {**NO_PROMPT_DETAILS, **prompt_details},
        "completion_tokens_details": {**NO_COMPLETION_DETAILS, **completion_details},
    }


def _choice_count(context: ResponseContext) -> int:
    count = context.request.options.get("n")
    return count if isinstance(count, int) and count > 0 else 1


def _build_tool_call(call: ToolCallText) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def _build_tool_call_delta(chunk: Event, positions: dict[str, int]) -> dict[str, Any]:
    """Return the delta for a name or for arguments of a tool call.

    Args:
        chunk: the event.
        positions: the position of each tool call so far, by its id; a new call is added.
    """
    call_id = chunk.tool_call_id or ""
    position = positions.setdefault(call_id, len(positions))
    if chunk.type == "tool_call_args":
        return {"index": position, "function": {"arguments": chunk.chunk}}
    # Only the first delta of a call has its id and type; clients go by the index after it.
    return {
        "index": position,
        "id": call_id,
        "type": "function",
        "function": {"name": chunk.chunk, "arguments": ""},
    }


def _message_text(message: dict[str, Any]) -> str:
    return join_text(parse_parts(message.get("content"), _parse_part))


def _parse_part(part: dict[str, Any]) -> Message | None:
    """Parse a part of a message; None for an unknown type."""
    kind = part.get("type")
    if kind in ("text", "refusal"):
        return text_part(str(part.get(kind) or ""))
    if kind in ("image_url", "document_url"):
        value = part.get(kind)
        # Mistral takes the bare URL too, where OpenAI wants `{"url": …}`.
        url = value.get("url") if isinstance(value, dict) else value
        return url_part(str(url or ""))
    if kind == "input_audio":
        return _parse_audio(part.get("input_audio"))
    if kind == "file":
        return _parse_file({**part, **(part.get("file") or {})})
    return None


def _parse_audio(audio: Any) -> Message:
    """Parse audio: an object of OpenAI, or a URL or bare base64 of Mistral."""
    if isinstance(audio, str):
        return url_part(audio) if ":" in audio else base64_part(audio, None)
    audio = audio or {}
    return base64_part(str(audio.get("data") or ""), f"audio/{audio.get('format')}")


def _parse_file(file: dict[str, Any]) -> Message:
    """Parse a file: its data, or the id of an uploaded one."""
    data = file.get("file_data")
    if data:
        return url_part(str(data), "application/pdf")
    return attachment_part(None, str(file.get("file_id") or ""))


def _parse_message(message: dict[str, Any]) -> Message:
    role = message.get("role")
    if role in ("tool", "function"):
        call_id = message.get("tool_call_id")
        part = tool_result_part(_message_text(message), call_id, message.get("name"))
        return {"role": "tool", "parts": [part]}
    parts = parse_parts(message.get("content"), _parse_part)
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if reasoning:
        parts.insert(0, {"type": "reasoning", "text": str(reasoning)})
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        arguments = parse_json_or_text(function.get("arguments"))
        parts.append(tool_call_part(str(function.get("name")), arguments, call.get("id")))
    return {"role": str(role), "parts": parts}


def _parse_tools(body: dict[str, Any]) -> list[Tool]:
    """Parse the tools on offer, without those that the provider runs itself."""
    declarations = list(body.get("tools") or ())
    # `functions` was the name before tools; old clients still send it.
    for function in body.get("functions") or ():
        declarations.append({"function": function})
    tools = []
    for declaration in declarations:
        if not isinstance(declaration, dict):
            continue
        function = declaration.get("function") or declaration.get("custom")
        if isinstance(function, dict) and function.get("name"):
            name = str(function["name"])
            tools.append(Tool(name, function.get("description"), function.get("parameters")))
    return tools


def _parse_schema(response_format: Any) -> dict[str, Any] | None:
    if not isinstance(response_format, dict):
        return None
    json_schema = response_format.get("json_schema")
    if not isinstance(json_schema, dict):
        return None
    return add_schema_title(json_schema.get("schema"), json_schema.get("name"))


def _parse_tool_choice(choice: Any) -> str | None:
    if isinstance(choice, dict):
        function = choice.get("function") or choice.get("custom") or choice
        has_name = isinstance(function, dict) and function.get("name")
        return str(function.get("name")) if has_name else None
    # "any" is Mistral's word.
    return "required" if choice == "any" else choice
