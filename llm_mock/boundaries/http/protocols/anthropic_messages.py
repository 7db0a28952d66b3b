"""Anthropic's Messages API. See https://docs.anthropic.com/en/api/messages."""

from __future__ import annotations

from collections.abc import Iterator

from llm_mock.boundaries.http.body_types import MESSAGES
from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext, ToolCallText
from llm_mock.boundaries.http.protocols.protocol import (
    add_schema_title,
    encode_arguments,
    extract_options,
    join_text,
    make_attachment_part,
    make_base64_part,
    make_text_part,
    make_url_part,
    parse_json_body,
    remove_format,
    split_tool_results,
    validate_body,
)
from llm_mock.boundaries.http.providers.anthropic import ANTHROPIC, USAGE_DETAILS
from llm_mock.boundaries.http.request import (
    HTTPRequest,
    Message,
    Tool,
    make_tool_call_part,
    make_tool_result_part,
)
from llm_mock.boundaries.http.wire import WireRequest, server_sent_event
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.events import Event, Wait
from llm_mock.core.mock import Mock
from llm_mock.support.json_types import JSONObject

SIGNATURE = "bW9jaw=="
"""The signature of a thinking block, which clients send back with it."""
PARSED_FIELDS = (
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "output_format",
)
"""The fields of a request that are not options."""
BlockId = tuple[str, str | None]
"""The type of a content block, and the id of its tool call."""


class AnthropicMessages:
    """`POST …/v1/messages`."""

    provider = ANTHROPIC

    def parse_request(self, sent: WireRequest, mock: Mock) -> HTTPRequest:
        """Parse the body of a request."""
        body = validate_body(
            parse_json_body(sent.body), MESSAGES, self.provider.errors, "model", "messages"
        )
        return build_request(HTTPRequest, body, sent, "messages")

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        content: list[JSONObject] = []
        if context.answer.reply.reasoning is not None or reply.reasoning:
            thinking = {"thinking": reply.reasoning, "signature": SIGNATURE}
            content.append({"type": "thinking", **thinking})
        if reply.refusal is None:
            content += map(build_content_block, reply.parts)
        return {
            **build_message_head(context),
            "content": content,
            **build_stop_fields(context, reply.finish_reason),
            **build_usage_field(context),
        }

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response."""
        yield encode_start(context)
        yield PING
        index = -1
        open_block: BlockId | None = None
        for chunk in context.read_chunks(stream=True):
            if isinstance(chunk, Wait):
                yield chunk
                continue
            block, start, delta = build_block(chunk)
            if block is None:
                continue
            if block != open_block:
                if open_block is not None:
                    yield from close_block(index, open_block)
                open_block = block
                index += 1
                yield encode_event("content_block_start", index=index, content_block=start)
            if delta is not None:
                yield encode_event("content_block_delta", index=index, delta=delta)
        if open_block is not None:
            yield from close_block(index, open_block)
        elif context.answer.reply.refusal is None:
            yield from stream_empty_text()
        yield encode_end(context)
        yield MESSAGE_STOP

    def build_unknown_model_error(self, model_id: str) -> WireError:
        """Return the provider's error for a model that does not exist."""
        return WireError(404, f"model: {model_id}")

    def encode_error_event(self, error: WireError, number: int) -> bytes:
        """Encode an error within a stream."""
        return server_sent_event(self.provider.errors.build_body(error), "error")


PROTOCOL = AnthropicMessages()


def build_request(
    request_type: type[HTTPRequest],
    body: JSONObject,
    sent: WireRequest,
    api: str,
    provider: str = ANTHROPIC.name,
) -> HTTPRequest:
    """Return the call for a validated body.

    Args:
        request_type: the class of the call; Bedrock has one of its own.
        body: the body, with the model.
        sent: the HTTP request.
        api: the name of the API.
        provider: the name of the provider whose error format the call uses.

    Raises:
        WireError: the body has no messages.
    """
    if not body["messages"]:
        raise WireError(400, "messages: at least one message is required")
    messages: list[Message] = []
    system = _parse_content(body.get("system"))
    for message in body["messages"]:
        parts = _parse_content(message.get("content"))
        if message.get("role") == "system":
            system += parts
        else:
            messages += split_tool_results(parts, str(message.get("role")))
    return request_type(
        body["model"],
        messages,
        api=api,
        system=join_text(system),
        tools=_parse_tools(body),
        schema=_parse_schema(body),
        options=extract_options(remove_format(body, "output_config", "format"), *PARSED_FIELDS),
        stream=bool(body.get("stream")),
        tool_choice=_parse_tool_choice(body.get("tool_choice")),
        sent=sent,
        body=body,
        provider=provider,
    )


def build_message_head(context: ResponseContext) -> JSONObject:
    """Return the first fields of a message."""
    return {
        "id": f"msg_mock_{context.number}",
        "type": "message",
        "role": "assistant",
        "model": context.model,
    }


def encode_start(context: ResponseContext) -> bytes:
    """Encode the event that starts a message."""
    message = {
        **build_message_head(context),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        # Anthropic reports one token here, and the full count at the end.
        **build_usage_field(context, output_tokens=1),
    }
    return encode_event("message_start", message=message)


def encode_end(context: ResponseContext) -> bytes:
    """Encode the event with the stop reason of a message."""
    delta = build_stop_fields(context, context.get_finish_reason())
    if not context.sends_usage:
        return encode_event("message_delta", delta=delta)
    usage: JSONObject = {"output_tokens": context.output_tokens}
    if "server_tool_use" in context.usage_details:
        usage["server_tool_use"] = context.usage_details["server_tool_use"]
    return encode_event("message_delta", delta=delta, usage=usage)


def build_stop_fields(context: ResponseContext, finish_reason: str) -> JSONObject:
    """Return the fields with the stop reason of a message.

    Args:
        context: the call and its reply.
        finish_reason: the finish reason in the terms of Chat Completions.
    """
    reason = ANTHROPIC.get_finish_reason(finish_reason)
    fields: JSONObject = {"stop_reason": reason, "stop_sequence": None}
    refusal = context.answer.reply.refusal
    if refusal is not None:
        fields["stop_details"] = {
            "type": "refusal",
            "category": None,
            "explanation": refusal,
        }
    return fields


def build_usage_field(context: ResponseContext, output_tokens: int | None = None) -> JSONObject:
    """Return the field of a message that has the usage; empty if none is sent.

    Args:
        context: the call and its reply.
        output_tokens: the number of tokens so far; by default the number in the whole reply.
    """
    if not context.sends_usage:
        return {}
    details = context.usage_details
    usage = {
        "input_tokens": context.input_tokens,
        "output_tokens": context.output_tokens if output_tokens is None else output_tokens,
        "cache_creation_input_tokens": details.get("cache_creation_input_tokens", 0),
        "cache_read_input_tokens": details.get("cache_read_input_tokens", 0),
        "service_tier": context.answer.reply.service_tier or "standard",
    }
    if details:
        usage |= {name: details[name] for name in USAGE_DETAILS if name in details}
    return {"usage": usage}


def _make_tool_use_id(call_id: str) -> str:
    return call_id if call_id.startswith("toolu_") else f"toolu_{call_id}"


def build_content_block(part: str | ToolCallText) -> JSONObject:
    """Return the content block of a text or a tool call."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {
        "type": "tool_use",
        "id": _make_tool_use_id(part.id),
        "name": part.name,
        "input": encode_arguments(part.arguments),
    }


def encode_event(kind: str, **fields: object) -> bytes:
    """Encode an event of a type."""
    return server_sent_event({"type": kind, **fields}, kind)


# Encoded once, as all streams contain the same two events.
PING = encode_event("ping")
MESSAGE_STOP = encode_event("message_stop")


def build_block(
    chunk: str | Event,
) -> tuple[BlockId | None, JSONObject, JSONObject | None]:
    """Build the content block of a chunk.

    Returns:
        The id of the block, or None if the chunk has none; the block at its start; and the delta of
        the chunk, or None for the name of a tool, which the start contains.
    """
    start: JSONObject
    if isinstance(chunk, str):
        start = {"type": "text", "text": ""}
        return ("text", None), start, {"type": "text_delta", "text": chunk}
    if chunk.type == "reasoning":
        start = {"type": "thinking", "thinking": "", "signature": ""}
        # Hidden thinking has only a signature.
        delta = {"type": "thinking_delta", "thinking": chunk.chunk} if chunk.chunk else None
        return ("thinking", None), start, delta
    if chunk.type not in ("tool_call_name", "tool_call_args"):
        return None, {}, None
    call_id = _make_tool_use_id(chunk.tool_call_id or "")
    start = {"type": "tool_use", "id": call_id, "name": chunk.chunk, "input": {}}
    if chunk.type == "tool_call_name":
        return ("tool_use", call_id), start, None
    delta = {"type": "input_json_delta", "partial_json": chunk.chunk}
    return ("tool_use", call_id), start, delta


def close_block(index: int, block: BlockId) -> Iterator[bytes]:
    """Yield the events that end a content block."""
    if block[0] == "thinking":
        # The signature is the last delta of a thinking block.
        delta = {"type": "signature_delta", "signature": SIGNATURE}
        yield encode_event("content_block_delta", index=index, delta=delta)
    yield encode_event("content_block_stop", index=index)


def stream_empty_text() -> Iterator[bytes]:
    """Yield the events of an empty text block, for an empty reply, as in a whole response."""
    empty_text = {"type": "text", "text": ""}
    yield encode_event("content_block_start", index=0, content_block=empty_text)
    yield from close_block(0, ("text", None))


def _parse_content(content: str | list[object] | JSONObject | None) -> list[Message]:
    if isinstance(content, str):
        return [make_text_part(content)] if content else []
    parts: list[Message] = []
    for block in content or ():
        if isinstance(block, dict):
            parts += _parse_block(block)
    return parts


def _parse_block(block: JSONObject) -> Iterator[Message]:
    """Yield the parts of a content block; none for an unknown type."""
    kind = block.get("type")
    if kind == "text":
        yield make_text_part(str(block.get("text") or ""))
    elif kind == "thinking" and block.get("thinking"):
        yield {"type": "reasoning", "text": str(block["thinking"])}
    elif kind == "tool_use":
        name = str(block.get("name"))
        yield make_tool_call_part(name, block.get("input"), block.get("id"))
    elif kind == "tool_result":
        yield from _parse_tool_result(block)
    else:
        yield from _parse_file_block(block)


def _parse_file_block(block: JSONObject) -> Iterator[Message]:
    """Yield the parts of a block with a file or its content; none for an unknown type."""
    kind = block.get("type")
    if kind in ("image", "document"):
        yield from _parse_source(block.get("source") or {})
    elif kind == "search_result":
        yield from _parse_content(block.get("content"))
    elif kind == "container_upload":
        yield make_attachment_part(None, str(block.get("file_id") or ""))


def _parse_tool_result(block: JSONObject) -> Iterator[Message]:
    parts = _parse_content(block.get("content"))
    yield make_tool_result_part(
        join_text(parts), block.get("tool_use_id"), is_error=block.get("is_error")
    )
    # Results are text in the core, so images in them become parts of the message.
    for part in parts:
        if part["type"] == "attachment":
            yield part


def _parse_source(source: JSONObject | str) -> Iterator[Message]:
    """Yield the parts of the source of an image or document.

    Raises:
        WireError: the source is a string, which only search results may have.
    """
    if isinstance(source, str):
        raise WireError(400, "source: Input should be a valid dictionary")
    kind = source.get("type")
    media_type = source.get("media_type")
    if kind == "content":
        # A document may consist of content blocks.
        yield from _parse_content(source.get("content"))
    elif kind == "base64":
        yield make_base64_part(str(source.get("data") or ""), media_type)
    elif kind == "text":
        content = str(source.get("data") or "").encode()
        yield make_attachment_part(media_type or "text/plain", None, content)
    else:
        url = source.get("url") or source.get("file_id") or ""
        yield make_url_part(str(url), media_type)


def _parse_tools(body: JSONObject) -> list[Tool]:
    tools = []
    for tool in body.get("tools") or ():
        schema = tool.get("input_schema")
        # Tools without a schema are run by Anthropic itself.
        if schema is not None:
            name = str(tool.get("name"))
            tools.append(Tool(name, tool.get("description"), schema))
    return tools


def _parse_schema(body: JSONObject) -> JSONObject | None:
    config = body.get("output_config")
    output_format = config.get("format") if isinstance(config, dict) else None
    # `output_format` is the older name, from the beta of structured outputs.
    output_format = output_format or body.get("output_format")
    if not isinstance(output_format, dict):
        return None
    return add_schema_title(output_format.get("schema"), output_format.get("name"))


def _parse_tool_choice(choice: object) -> str | None:
    if not isinstance(choice, dict):
        return None
    kind = choice.get("type")
    if kind == "tool":
        return str(choice.get("name"))
    return "required" if kind == "any" else kind
