"""Anthropic's Messages. See https://docs.anthropic.com/en/api/messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm_mock.boundaries.http.body_types import MESSAGES
from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext
from llm_mock.boundaries.http.error_formats import ANTHROPIC
from llm_mock.boundaries.http.errors import WireError
from llm_mock.boundaries.http.protocols.protocol import (
    add_schema_title,
    attachment_part,
    base64_part,
    extract_options,
    parse_json_or_text,
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

STOP_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}
"""Anthropic's words for those of Chat Completions; other words are given on as they are."""
SIGNATURE = "bW9jaw=="
"""What stands for the signature of a thought, which the API wants back."""
KNOWN = (
    *("model", "messages", "system", "tools", "tool_choice", "stream"),
    *("output_format", "output_config"),
)


class AnthropicMessages:
    """`POST …/v1/messages`."""

    errors = ANTHROPIC

    def parse_request(self, sent: WireRequest) -> HTTPRequest:
        """What is asked."""
        body = validate_body(sent.json(), MESSAGES, self.errors, "model", "messages")
        said: list[dict[str, Any]] = body["messages"]
        if not said:
            raise WireError(400, "messages: at least one message is required")
        return HTTPRequest(
            body["model"],
            [message for given in said for message in _messages(given)],
            api="messages",
            system="\n".join(part["text"] for part in _content(body.get("system")) if part["type"] == "text"),
            tools=[
                Tool(str(tool.get("name")), tool.get("description"), tool["input_schema"])
                for tool in body.get("tools") or ()
                if tool.get("input_schema") is not None  # others are run by the provider itself
            ],
            schema=_schema(body),
            options=extract_options(body, *KNOWN),
            stream=bool(body.get("stream")),
            tool_choice=_choice(body.get("tool_choice")),
            sent=sent,
            body=body,
        )

    def build_body(self, context: ResponseContext, whole: CompleteReply) -> dict[str, Any]:
        """The body of an answer in one piece."""
        content: list[dict[str, Any]] = []
        if whole.reasoning:
            content.append({"type": "thinking", "thinking": whole.reasoning, "signature": SIGNATURE})
        if whole.text or not whole.tool_calls:
            content.append({"type": "text", "text": whole.text})
        for call in whole.tool_calls:
            given = parse_json_or_text(call.arguments)
            arguments = given if isinstance(given, dict) else {"_raw": call.arguments}
            content.append({"type": "tool_use", "id": _tool_use_id(call.id), "name": call.name, "input": arguments})
        ending = {"stop_reason": _stop_reason(context), "stop_sequence": None}
        return {**_head(context), "content": content, **ending, "usage": _usage(context)}

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """The body of a streamed answer."""
        started = {**_usage(context), "output_tokens": 1}
        begun = {**_head(context), "content": [], "stop_reason": None, "stop_sequence": None, "usage": started}
        yield _event("message_start", message=begun)
        yield PING
        index = -1
        block: tuple[str, Any] | None = None
        for piece in context.chunks(stream=True):
            if isinstance(piece, Wait):
                yield piece
                continue
            wanted_block, opening, delta = _block(piece)
            if wanted_block is None:
                continue
            if wanted_block != block:
                if block is not None:
                    yield from _closing(index, block[0])
                block, index = wanted_block, index + 1
                yield _event("content_block_start", index=index, content_block=opening)
            if delta is not None:
                yield _event("content_block_delta", index=index, delta=delta)
        if block is None:
            index, block = 0, ("text", None)
            yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        yield from _closing(index, block[0])
        delta = {"stop_reason": _stop_reason(context), "stop_sequence": None}
        yield _event("message_delta", delta=delta, usage={"output_tokens": context.output_tokens})
        yield MESSAGE_STOP

    def unknown_model_error(self, model_id: str) -> WireError:
        """What is answered where there is no such model."""
        return WireError(404, f"model: {model_id}")

    def encode_error_event(self, error: WireError, number: int) -> bytes:
        """An error within a stream."""
        return server_sent_event(self.errors.body(error), "error")


PROTOCOL = AnthropicMessages()


def _head(context: ResponseContext) -> dict[str, Any]:
    return {"id": f"msg_mock_{context.number}", "type": "message", "role": "assistant", "model": context.model}


def _usage(context: ResponseContext) -> dict[str, Any]:
    details = context.answer.reply.usage_details() or {}
    cached = {name: details.get(name, 0) for name in ("cache_creation_input_tokens", "cache_read_input_tokens")}
    counted = {"input_tokens": context.input_tokens, "output_tokens": context.output_tokens}
    return {**counted, **cached, "service_tier": "standard"}


def _stop_reason(context: ResponseContext) -> str:
    reason = context.finish_reason()
    return STOP_REASONS.get(reason, reason)


def _tool_use_id(call_id: str) -> str:
    return call_id if call_id.startswith("toolu_") else f"toolu_{call_id}"


def _event(kind: str, **fields: Any) -> bytes:
    return server_sent_event({"type": kind, **fields}, kind)


PING, MESSAGE_STOP = _event("ping"), _event("message_stop")


def _block(piece: str | Event) -> tuple[tuple[str, Any] | None, dict[str, Any], dict[str, Any] | None]:
    """The content block that a piece belongs to, how it opens, and what the piece adds to it."""
    opening: dict[str, Any]
    if isinstance(piece, str):
        opening = {"type": "text", "text": ""}
        return ("text", None), opening, {"type": "text_delta", "text": piece}
    if piece.type == "reasoning":
        opening = {"type": "thinking", "thinking": "", "signature": ""}
        return ("thinking", None), opening, {"type": "thinking_delta", "thinking": piece.chunk}
    if piece.type not in ("tool_call_name", "tool_call_args"):
        return None, {}, None
    call_id = _tool_use_id(piece.tool_call_id or "")
    opening = {"type": "tool_use", "id": call_id, "name": piece.chunk, "input": {}}
    added = {"type": "input_json_delta", "partial_json": piece.chunk} if piece.type == "tool_call_args" else None
    return ("tool_use", call_id), opening, added


def _closing(index: int, kind: str) -> Iterator[bytes]:
    if kind == "thinking":
        yield _event("content_block_delta", index=index, delta={"type": "signature_delta", "signature": SIGNATURE})
    yield _event("content_block_stop", index=index)


def _messages(message: dict[str, Any]) -> Iterator[Message]:
    """A message; the results of tools, which come in one of the user, are one of their own."""
    parts = _content(message.get("content"))
    results = [part for part in parts if part["type"] == "tool_result"]
    others = [part for part in parts if part["type"] != "tool_result"]
    if results:
        yield {"role": "tool", "parts": results}
    if others or not results:
        yield {"role": str(message.get("role")), "parts": others}


def _content(content: Any) -> list[Message]:
    if isinstance(content, str):
        return [text_part(content)] if content else []
    return [part for given in content or () if isinstance(given, dict) for part in _parts(given)]


def _parts(part: dict[str, Any]) -> Iterator[Message]:
    """What a content block says; what is not known is not seen."""
    kind = part.get("type")
    if kind == "text":
        yield text_part(str(part.get("text") or ""))
    elif kind == "thinking":
        yield {"type": "reasoning", "text": str(part.get("thinking") or "")}
    elif kind in ("image", "document"):
        yield from _source(part.get("source") or {})
    elif kind == "tool_use":
        yield tool_call_part(str(part.get("name")), part.get("input"), part.get("id"))
    elif kind == "tool_result":
        inner = _content(part.get("content"))
        text = "\n".join(given["text"] for given in inner if given["type"] == "text")
        yield tool_result_part(text, part.get("tool_use_id"))
        yield from (given for given in inner if given["type"] == "attachment")


def _source(source: dict[str, Any]) -> Iterator[Message]:
    """Parse the source of an image or a document; one that is made of content blocks is these."""
    kind, media_type = source.get("type"), source.get("media_type")
    if kind == "content":
        yield from _content(source.get("content"))
    elif kind == "base64":
        yield base64_part(str(source.get("data") or ""), media_type)
    elif kind == "text":
        yield attachment_part(media_type or "text/plain", None, str(source.get("data") or "").encode())
    else:
        yield url_part(str(source.get("url") or source.get("file_id") or ""), media_type)


def _schema(body: dict[str, Any]) -> dict[str, Any] | None:
    config = body.get("output_config")
    asked = (config.get("format") if isinstance(config, dict) else None) or body.get("output_format")
    return add_schema_title(asked.get("schema"), asked.get("name")) if isinstance(asked, dict) else None


def _choice(choice: Any) -> str | None:
    kind = choice.get("type") if isinstance(choice, dict) else None
    return str(choice.get("name")) if kind == "tool" else "required" if kind == "any" else kind
