"""OpenAI's Chat Completions, which most other providers offer too.

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
from llm_mock.core.events import Wait

NO_TOKENS_OF_THE_PROMPT = {"cached_tokens": 0, "audio_tokens": 0}
NO_TOKENS_OF_THE_ANSWER = {
    "reasoning_tokens": 0,
    "audio_tokens": 0,
    "accepted_prediction_tokens": 0,
    "rejected_prediction_tokens": 0,
}


class OpenAIChat:
    """`POST …/chat/completions`."""

    errors: ErrorFormat = OPENAI
    reasoning = "reasoning_content"
    """The name under which reasoning comes. OpenAI has none; most others who speak its protocol have this."""

    def head(self, context: ResponseContext, kind: str) -> dict[str, Any]:
        """What every body of an answer begins with."""
        number = f"chatcmpl-mock-{context.number}"
        return {"id": number, "object": kind, "created": context.created, "model": context.model}

    def parse_request(self, sent: WireRequest) -> HTTPRequest:
        """What is asked."""
        body = validate_body(sent.json(), CHAT, self.errors, "model", "messages")
        said: list[dict[str, Any]] = body["messages"]
        if not said:
            raise WireError(400, "Invalid 'messages': empty array. Expected an array with minimum length 1.")
        system = [_text(message) for message in said if message.get("role") in ("system", "developer")]
        known = ("model", "messages", "tools", "functions", "tool_choice", "function_call", "response_format", "stream")
        return HTTPRequest(
            body["model"],
            [_message(message) for message in said if message.get("role") not in ("system", "developer")],
            api="chat.completions",
            system="\n".join(system),
            tools=[tool for offered in _offered(body) if (tool := _tool(offered))],
            schema=_schema(body.get("response_format")),
            options=extract_options(body, *known, "stream_options"),
            stream=bool(body.get("stream")),
            tool_choice=_choice(body.get("tool_choice") or body.get("function_call")),
            sent=sent,
            body=body,
        )

    def build_body(self, context: ResponseContext, whole: CompleteReply) -> dict[str, Any]:
        """The body of an answer in one piece."""
        message: dict[str, Any] = {"role": "assistant", "content": whole.text or None, "refusal": None}
        message["annotations"] = []
        if not whole.tool_calls:
            message["content"] = whole.text
        else:
            message["tool_calls"] = [_tool_call(call) for call in whole.tool_calls]
        if whole.reasoning:
            message[self.reasoning] = whole.reasoning
        count = context.request.options.get("n")
        choices = [
            {"index": index, "message": message, "logprobs": None, "finish_reason": _finish_reason(context)}
            for index in range(count if isinstance(count, int) and count > 0 else 1)
        ]
        head = {**self.head(context, "chat.completion"), "choices": choices}
        return {**head, "usage": build_usage(context), "service_tier": "default", "system_fingerprint": None}

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """The body of a streamed answer."""
        head = {**self.head(context, "chat.completion.chunk"), "service_tier": "default", "system_fingerprint": None}
        options = context.request.body.get("stream_options")
        with_usage = isinstance(options, dict) and bool(options.get("include_usage"))
        usage = {"usage": None} if with_usage else {}

        def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
            return server_sent_event({**head, "choices": [choice], **usage})

        yield chunk({"role": "assistant", "content": "", "refusal": None})
        positions: dict[str, int] = {}
        for piece in context.chunks(stream=True):
            if isinstance(piece, Wait):
                yield piece
            elif isinstance(piece, str):
                yield chunk({"content": piece})
            elif piece.type == "reasoning":
                yield chunk({self.reasoning: piece.chunk})
            elif piece.type in ("tool_call_name", "tool_call_args"):
                call_id = piece.tool_call_id or ""
                position = positions.setdefault(call_id, len(positions))
                called: dict[str, Any] = {"index": position, "function": {"arguments": piece.chunk}}
                if piece.type == "tool_call_name":
                    called = {"index": position, "id": call_id, "type": "function"}
                    called["function"] = {"name": piece.chunk, "arguments": ""}
                yield chunk({"tool_calls": [called]})
        yield chunk({}, _finish_reason(context))
        if with_usage:
            yield server_sent_event({**head, "choices": [], "usage": build_usage(context)})
        yield server_sent_event("[DONE]")

    def unknown_model_error(self, model_id: str) -> WireError:
        """What is answered where there is no such model."""
        message = f"The model `{model_id}` does not exist or you do not have access to it."
        return WireError(404, message, code="model_not_found")

    def encode_error_event(self, error: WireError, number: int) -> bytes:
        """An error within a stream."""
        return server_sent_event(self.errors.body(error))


PROTOCOL = OpenAIChat()


def build_usage(context: ResponseContext) -> dict[str, Any]:
    """The tokens of a call as Chat Completions has them."""
    details = context.answer.reply.usage_details() or {}
    asked, answered = context.input_tokens, context.output_tokens
    return {
        "prompt_tokens": asked,
        "completion_tokens": answered,
        "total_tokens": asked + answered,
        "prompt_tokens_details": {**NO_TOKENS_OF_THE_PROMPT, **(details.get("prompt_tokens_details") or {})},
        "completion_tokens_details": {**NO_TOKENS_OF_THE_ANSWER, **(details.get("completion_tokens_details") or {})},
    }


def _finish_reason(context: ResponseContext) -> str:
    return context.finish_reason()


def _tool_call(call: ToolCallText) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _text(message: dict[str, Any]) -> str:
    return "\n".join(part["text"] for part in parse_parts(message.get("content"), _part) if part["type"] == "text")


def _part(part: dict[str, Any]) -> Message | None:
    """A part of a message; what is not known is not seen."""
    kind = part.get("type")
    if kind in ("text", "refusal"):
        return text_part(str(part.get(kind) or ""))
    if kind in ("image_url", "document_url"):
        return url_part(_named_url(part.get(kind)))
    if kind == "input_audio":
        return _audio(part.get("input_audio"))
    if kind == "file":
        return _file({**part, **(part.get("file") or {})})
    return None


def _named_url(value: Any) -> str:
    """Return a URL that is given as text, as Mistral also accepts it, or as `{"url": …}`."""
    url = value.get("url") if isinstance(value, dict) else value
    return str(url or "")


def _audio(audio: Any) -> Message:
    """Parse audio: OpenAI has `{"data", "format"}`, Mistral also takes a URL or bare base64."""
    if isinstance(audio, str):
        return url_part(audio) if ":" in audio else base64_part(audio, None)
    given = audio or {}
    return base64_part(str(given.get("data") or ""), f"audio/{given.get('format')}")


def _file(file: dict[str, Any]) -> Message:
    """Parse a file: its data, or the id of one that was uploaded before."""
    if data := file.get("file_data"):
        return url_part(str(data), "application/pdf")
    return attachment_part(None, str(file.get("file_id") or ""))


def _message(message: dict[str, Any]) -> Message:
    role = message.get("role")
    if role in ("tool", "function"):
        part = tool_result_part(_text(message), message.get("tool_call_id"), message.get("name"))
        return {"role": "tool", "parts": [part]}
    parts = parse_parts(message.get("content"), _part)
    if reasoning := message.get("reasoning_content") or message.get("reasoning"):
        parts.insert(0, {"type": "reasoning", "text": str(reasoning)})
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        parts.append(
            tool_call_part(str(function.get("name")), parse_json_or_text(function.get("arguments")), call.get("id"))
        )
    return {"role": str(role), "parts": parts}


def _offered(body: dict[str, Any]) -> list[Any]:
    if not body.get("tools") and not body.get("functions"):
        return []
    tools = [*(body.get("tools") or ()), *({"function": function} for function in body.get("functions") or ())]
    return [tool for tool in tools if isinstance(tool, dict)]


def _tool(tool: dict[str, Any]) -> Tool | None:
    """A tool; None for one that the provider itself runs."""
    function = tool.get("function") or tool.get("custom")
    if not isinstance(function, dict) or not function.get("name"):
        return None
    return Tool(str(function["name"]), function.get("description"), function.get("parameters"))


def _schema(response_format: Any) -> dict[str, Any] | None:
    asked = response_format.get("json_schema") if isinstance(response_format, dict) else None
    return add_schema_title(asked.get("schema"), asked.get("name")) if isinstance(asked, dict) else None


def _choice(choice: Any) -> str | None:
    if isinstance(choice, dict):
        function = choice.get("function") or choice.get("custom") or choice
        return str(function.get("name")) if isinstance(function, dict) and function.get("name") else None
    return "required" if choice == "any" else choice
