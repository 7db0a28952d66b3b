"""Converse and ConverseStream of Amazon Bedrock.

See https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote

from pydantic_core import to_json

from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http import event_stream
from llm_mock.boundaries.http.body_types import CONVERSE
from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext, ToolCallText
from llm_mock.boundaries.http.protocols.protocol import (
    add_schema_title,
    encode_arguments,
    extract_options,
    join_text,
    make_attachment_part,
    make_base64_part,
    make_text_part,
    parse_json_body,
    parse_json_or_text,
    remove_format,
    split_tool_results,
    validate_body,
)
from llm_mock.boundaries.http.providers.bedrock import BEDROCK
from llm_mock.boundaries.http.request import (
    HTTPRequest,
    Message,
    Tool,
    make_tool_call_part,
    make_tool_result_part,
)
from llm_mock.boundaries.http.wire import WireRequest
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.events import Event, Wait
from llm_mock.core.mock import Mock
from llm_mock.support.json_types import JSON, JSONObject

MODEL_PATH = re.compile(r"/model/(?P<model>.+)/(?P<operation>[a-z-]+)$")
ACCESS_KEY = re.compile(r"Credential=([^/]+)/")
"""Matches the id of the key with which a client signs a request."""
SIGNATURE = "bW9jaw=="
"""The signature of a reasoning block, which clients send back with it."""
PARSED_FIELDS = ("messages", "system", "toolConfig", "inferenceConfig")
"""The fields of a request that are not options."""
ECHOED_FIELDS = ("performanceConfig", "serviceTier")
"""The fields of a request that the response repeats."""
NO_USER_MESSAGE = (
    "A conversation must start with a user message. Try again with a conversation that starts "
    "with a user message."
)
NO_TOOL_CONFIG = (
    "The toolConfig field must be defined when using toolUse and toolResult content blocks."
)
STREAM_ERRORS = {
    400: "validationException",
    429: "throttlingException",
    500: "internalServerException",
    503: "serviceUnavailableException",
}
"""The errors within a stream, by status; all others are model errors."""
DOCUMENT_TYPES = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "html": "text/html",
    "txt": "text/plain",
    "md": "text/markdown",
}
VIDEO_TYPES = {
    "mkv": "video/x-matroska",
    "mov": "video/quicktime",
    "flv": "video/x-flv",
    "mpg": "video/mpeg",
    "wmv": "video/x-ms-wmv",
    "three_gp": "video/3gpp",
}
AUDIO_TYPES = {
    "mp3": "audio/mpeg",
    "mpga": "audio/mpeg",
    "m4a": "audio/mp4",
    "mkv": "audio/x-matroska",
    "mka": "audio/x-matroska",
    "x-aac": "audio/aac",
}
FILE_BLOCKS: dict[str, dict[str, str]] = {
    "image": {},
    "document": DOCUMENT_TYPES,
    "video": VIDEO_TYPES,
    "audio": AUDIO_TYPES,
}
"""The blocks with files, and the media types of formats that differ from the format's name."""


class BedrockRequest(HTTPRequest, ABC):
    """A call of Bedrock, whose streams are binary."""

    __slots__ = ()

    def __init__(
        self, model_id: str, messages: list[Message], *, sent: WireRequest | None, **fields: Any
    ) -> None:
        super().__init__(model_id, messages, sent=sent, **{**fields, "provider": BEDROCK.name})
        headers = {} if sent is None else sent.headers
        signer = ACCESS_KEY.search(headers.get("authorization", ""))
        if signer is not None:
            # The key id and not the signature, which differs for each request.
            self.key = None if signer[1] == PLACEHOLDER_KEY else signer[1]

    def encode_event(self, item: JSON) -> bytes:
        """Encode an event of a stream; an error is `{"throttlingException": {…}}`."""
        if isinstance(item, dict) and len(item) == 1:
            [(kind, fields)] = item.items()
            if kind.endswith("Exception"):
                return event_stream.encode_exception(kind, to_json(fields))
        return self._encode_answer(item)

    def break_event(self, event: bytes) -> bytes:
        """Return a message that no client can read."""
        return event_stream.damage_message(event)

    @abstractmethod
    def _encode_answer(self, item: JSON) -> bytes:
        """Encode an event that is not an error."""


class ConverseRequest(BedrockRequest):
    """A call of Converse or ConverseStream."""

    __slots__ = ()

    def decode_event(self, message: event_stream.EventMessage) -> JSON:
        """Return an event with its type as the only key."""
        kind = message.headers.get(":event-type") or message.headers.get(":exception-type", "")
        return {kind: parse_json_or_text(message.payload.decode(errors="replace"))}

    def _encode_answer(self, item: JSON) -> bytes:
        """Encode an event, as `{"messageStop": {…}}`."""
        if isinstance(item, dict) and len(item) == 1:
            [(kind, fields)] = item.items()
            return event_stream.encode_event(kind, to_json(fields))
        content = item.encode() if isinstance(item, str) else to_json(item)
        return event_stream.encode_event("unknown", content)


BlockId = tuple[str, str | None]
"""The type of a content block, and the id of its tool call."""


class Operation(NamedTuple):
    """The model and the operation in the path of a request."""

    model: str
    name: str

    @property
    def is_streamed(self) -> bool:
        """True if the response is streamed."""
        return self.name.endswith("-stream")


def parse_path(path: str) -> Operation:
    """Return the model and the operation of `/model/ID/converse`.

    The model id may be an ARN, whose slash most clients quote.
    """
    match = MODEL_PATH.search(path)
    assert match is not None, path
    return Operation(unquote(match["model"]), match["operation"])


class Converse:
    """`POST /model/ID/converse` and `/model/ID/converse-stream`."""

    provider = BEDROCK

    def parse_request(self, sent: WireRequest, mock: Mock) -> HTTPRequest:
        """Parse the body of a request."""
        body = validate_body(parse_json_body(sent.body), CONVERSE, self.provider.errors)
        operation = parse_path(sent.path)
        # Prompt management stores the messages of its prompts.
        if not body.get("messages") and ":prompt/" not in operation.model:
            raise WireError(400, NO_USER_MESSAGE)
        if not body.get("toolConfig") and _uses_tools(body):
            raise WireError(400, NO_TOOL_CONFIG)
        return build_request(ConverseRequest, body, operation, sent, "converse")

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        message = {"role": "assistant", "content": build_content(reply)}
        return {
            "output": {"message": message},
            "stopReason": BEDROCK.get_finish_reason(reply.finish_reason),
            **_build_metadata(context, reply.seconds),
        }

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response."""
        for event in build_events(context):
            if isinstance(event, Wait):
                yield event
            else:
                yield context.request.encode_event(event)

    def build_unknown_model_error(self, model_id: str) -> WireError:
        """Return the provider's error for a model that does not exist."""
        return WireError(400, "The provided model identifier is invalid.")

    def encode_error_event(self, error: WireError, number: int) -> bytes:
        """Encode an error within a stream."""
        kind = STREAM_ERRORS.get(error.status, "modelStreamErrorException")
        body = self.provider.errors.build_body(error)
        return event_stream.encode_exception(kind, to_json(body))


PROTOCOL = Converse()


def build_request(
    request_type: type[BedrockRequest],
    body: JSONObject,
    operation: Operation,
    sent: WireRequest,
    api: str,
) -> HTTPRequest:
    """Return the call for a body of Converse, which Nova also uses for InvokeModel.

    Args:
        request_type: the class of the call.
        body: the validated body.
        operation: the model and the operation.
        sent: the HTTP request.
        api: the name of the API.
    """
    system = _parse_content(body.get("system"))
    messages: list[Message] = []
    for message in body.get("messages") or ():
        parts = _parse_content(message.get("content"))
        if message.get("role") == "system":
            system += parts
        else:
            messages += split_tool_results(parts, str(message.get("role")))
    config = body.get("inferenceConfig") or {}
    tool_config = body.get("toolConfig") or {}
    others = remove_format(body, "outputConfig", "textFormat")
    return request_type(
        operation.model,
        messages,
        api=api,
        system=join_text(system),
        tools=list(_parse_tools(tool_config)),
        schema=_parse_schema(body),
        options=extract_options({**others, **config}, *PARSED_FIELDS),
        stream=operation.is_streamed,
        tool_choice=_parse_tool_choice(tool_config.get("toolChoice")),
        sent=sent,
        body=body,
    )


def _uses_tools(body: JSONObject) -> bool:
    """Return True if the conversation has a tool call or a tool result."""
    for message in body.get("messages") or ():
        for block in message.get("content") or ():
            if block.get("toolUse") or block.get("toolResult"):
                return True
    return False


def build_content(reply: CompleteReply) -> list[JSONObject]:
    """Return the content blocks of a reply."""
    content: list[JSONObject] = []
    if reply.reasoning:
        text = {"text": reply.reasoning, "signature": SIGNATURE}
        content.append({"reasoningContent": {"reasoningText": text}})
    if reply.refusal is not None:
        content.append({"text": reply.refusal})
    else:
        content += map(_build_content_block, reply.parts)
    return content


def build_events(context: ResponseContext) -> Iterator[JSONObject | Wait]:
    """Yield the events of a streamed response, each with its type as the only key."""
    yield {"messageStart": {"role": "assistant"}}
    index = -1
    seconds = 0.0
    open_block: BlockId | None = None
    for chunk in context.read_chunks(stream=True):
        if isinstance(chunk, Wait):
            seconds += chunk
            yield chunk
            continue
        block, start, delta = _build_block(chunk)
        if block != open_block:
            if open_block is not None:
                yield from _close_block(index, open_block)
            open_block = block
            index += 1
            # Texts and thoughts have no start.
            if start is not None:
                yield _make_event("contentBlockStart", index, start=start)
        if delta is not None:
            yield _make_event("contentBlockDelta", index, delta=delta)
    if open_block is None:
        # An empty reply has one empty text, as in a response that is not streamed.
        open_block = ("text", None)
        index = 0
        yield _make_event("contentBlockDelta", index, delta={"text": ""})
    yield from _close_block(index, open_block)
    yield {"messageStop": {"stopReason": BEDROCK.get_finish_reason(context.get_finish_reason())}}
    yield {"metadata": _build_metadata(context, seconds)}


def build_usage(context: ResponseContext) -> JSONObject:
    """Return the usage, with cached tokens for models and replies that have them."""
    details = context.usage_details
    read = _count_cached(details, "cacheReadInputTokens", "cache_read_input_tokens")
    written = _count_cached(details, "cacheWriteInputTokens", "cache_creation_input_tokens")
    total = context.input_tokens + context.output_tokens + read + written
    usage: JSONObject = {
        "inputTokens": context.input_tokens,
        "outputTokens": context.output_tokens,
        "totalTokens": total,
    }
    # The other models leave them out unless the request uses the cache.
    if read or written or "anthropic." in context.request.model_id:
        usage["cacheReadInputTokens"] = read
        usage["cacheWriteInputTokens"] = written
    return usage


def _count_cached(details: JSONObject, *names: str) -> int:
    """Return the first count that is set; scripts may use Anthropic's names."""
    counts = [details[name] for name in names if isinstance(details.get(name), int)]
    return counts[0] if counts else 0


def _build_metadata(context: ResponseContext, seconds: float) -> JSONObject:
    """Return the fields with the usage and the latency of a response."""
    body = context.request.body
    echoed = {name: body[name] for name in ECHOED_FIELDS if name in body}
    # A real response never has a latency of zero.
    metadata: JSONObject = {"metrics": {"latencyMs": round(seconds * 1000) or 1}, **echoed}
    if context.sends_usage:
        metadata["usage"] = build_usage(context)
    return metadata


def _make_tool_use_id(call_id: str) -> str:
    return call_id if call_id.startswith(("tooluse_", "toolu_")) else f"tooluse_{call_id}"


def _build_content_block(part: str | ToolCallText) -> JSONObject:
    if isinstance(part, str):
        return {"text": part}
    use = {
        "toolUseId": _make_tool_use_id(part.id),
        "name": part.name,
        "input": encode_arguments(part.arguments),
    }
    return {"toolUse": use}


def _build_block(chunk: str | Event) -> tuple[BlockId, JSONObject | None, JSONObject | None]:
    """Build the content block of a chunk.

    Returns:
        The id of the block; its start, or None for a block without a start; and the delta of the
        chunk, or None for the name of a tool, which the start contains.
    """
    if isinstance(chunk, str):
        return ("text", None), None, {"text": chunk}
    if chunk.type == "refusal":
        return ("text", None), None, {"text": chunk.chunk}
    if chunk.type == "reasoning":
        return ("reasoning", None), None, {"reasoningContent": {"text": chunk.chunk}}
    call_id = _make_tool_use_id(chunk.tool_call_id or "")
    start = {"toolUse": {"toolUseId": call_id, "name": chunk.chunk}}
    if chunk.type == "tool_call_name":
        return ("toolUse", call_id), start, None
    return ("toolUse", call_id), start, {"toolUse": {"input": chunk.chunk}}


def _close_block(index: int, block: BlockId) -> Iterator[JSONObject]:
    if block[0] == "reasoning":
        # The signature is the last delta of a reasoning block.
        delta = {"reasoningContent": {"signature": SIGNATURE}}
        yield _make_event("contentBlockDelta", index, delta=delta)
    yield _make_event("contentBlockStop", index)


def _make_event(kind: str, index: int, **fields: JSON) -> JSONObject:
    return {kind: {"contentBlockIndex": index, **fields}}


def _parse_content(content: list[object] | None) -> list[Message]:
    parts: list[Message] = []
    for block in content or ():
        if isinstance(block, dict):
            parts += _parse_block(block)
    return parts


def _parse_block(block: JSONObject) -> Iterator[Message]:
    """Yield the parts of a content block; none for an unknown type."""
    text = block.get("text")
    if isinstance(text, str):
        yield make_text_part(text)
    elif block.get("toolUse"):
        use = block["toolUse"]
        name = str(use.get("name"))
        yield make_tool_call_part(name, use.get("input"), use.get("toolUseId"))
    elif block.get("toolResult"):
        yield from _parse_tool_result(block["toolResult"])
    elif block.get("reasoningContent"):
        thought = block["reasoningContent"].get("reasoningText") or {}
        if thought.get("text"):
            yield {"type": "reasoning", "text": thought["text"]}
    else:
        yield from _parse_other_block(block)


def _parse_other_block(block: JSONObject) -> Iterator[Message]:
    """Yield the parts of a block with files, or with texts for guardrails and citations."""
    for name, media_types in FILE_BLOCKS.items():
        if block.get(name):
            yield from _parse_file(block[name], name, media_types)
    guarded = block.get("guardContent") or {}
    if guarded.get("text"):
        yield make_text_part(str(guarded["text"].get("text") or ""))
    elif guarded:
        yield from _parse_block(guarded)
    for name in ("citationsContent", "searchResult"):
        yield from _parse_content((block.get(name) or {}).get("content"))


def _parse_file(file: JSONObject, kind: str, media_types: dict[str, str]) -> Iterator[Message]:
    format = str(file.get("format") or "txt")
    # The names of most image, audio and video formats equal those of their media types.
    media_type = media_types.get(format, f"{kind}/{format}")
    source = file.get("source") or {}
    if source.get("bytes"):
        yield make_base64_part(source["bytes"], media_type)
    elif source.get("s3Location"):
        yield make_attachment_part(media_type, source["s3Location"].get("uri"))
    elif source.get("text"):
        yield make_attachment_part(media_type, None, str(source["text"]).encode())
    else:
        # A document may consist of content blocks.
        yield from _parse_content(source.get("content"))


def _parse_tool_result(result: JSONObject) -> Iterator[Message]:
    blocks = result.get("content") or []
    parts = _parse_content(blocks)
    values = [block["json"] for block in blocks if block.get("json") is not None]
    output: object = join_text(parts)
    if values:
        # Most results have a single value, which is not put into a list.
        output = values[0] if len(blocks) == 1 else [*values, *([output] if output else ())]
    has_failed = result.get("status") == "error"
    yield make_tool_result_part(output, result.get("toolUseId"), is_error=has_failed)
    # Results are text in the core, so images in them become parts of the message.
    for part in parts:
        if part["type"] == "attachment":
            yield part


def _parse_tools(config: JSONObject) -> Iterator[Tool]:
    for tool in config.get("tools") or ():
        specification = tool.get("toolSpec")
        # Other tools are run by Bedrock itself, or mark the end of the part to cache.
        if specification is not None:
            schema = (specification.get("inputSchema") or {}).get("json")
            yield Tool(str(specification.get("name")), specification.get("description"), schema)


def _parse_schema(body: JSONObject) -> JSONObject | None:
    text_format = (body.get("outputConfig") or {}).get("textFormat") or {}
    definition = (text_format.get("structure") or {}).get("jsonSchema") or {}
    # The schema is a JSON string.
    return add_schema_title(parse_json_or_text(definition.get("schema")), definition.get("name"))


def _parse_tool_choice(choice: JSONObject | None) -> str | None:
    if not choice:
        return None
    if choice.get("tool"):
        return str(choice["tool"].get("name"))
    return "required" if "any" in choice else "auto"
