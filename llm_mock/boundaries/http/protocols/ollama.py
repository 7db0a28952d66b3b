"""Ollama's own API: chats, completions, embeddings and models.

See https://github.com/ollama/ollama: docs/api.md and docs/openapi.yaml.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from datetime import datetime, timezone

from pydantic_core import to_json

from llm_mock.boundaries.http.body_types import (
    ANY_OBJECT,
    FLAG,
    FUNCTION_TOOLS,
    INTEGER,
    TEXT,
    TEXT_OR_OBJECT,
    TEXTS,
    Shape,
    make_tool_calls,
)
from llm_mock.boundaries.http.chunks import (
    CompleteReply,
    ResponseContext,
    ToolCallCollector,
    ToolCallText,
)
from llm_mock.boundaries.http.embeddings import embed_texts
from llm_mock.boundaries.http.model_formats import list_known_models
from llm_mock.boundaries.http.protocols.protocol import (
    add_schema_title,
    encode_arguments,
    extract_options,
    join_text,
    make_base64_part,
    make_text_part,
    parse_function_tools,
    parse_json_body,
    validate_body,
)
from llm_mock.boundaries.http.providers.ollama import OLLAMA
from llm_mock.boundaries.http.readers.reader import (
    ResponseReader,
    TextSlot,
    get_nested_dict,
    select_dicts,
)
from llm_mock.boundaries.http.request import (
    HTTPRequest,
    Message,
    make_tool_call_part,
    make_tool_result_part,
)
from llm_mock.boundaries.http.wire import WireRequest, WireResponse, json_response
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.events import Event, Wait
from llm_mock.core.mock import Mock
from llm_mock.core.tokens import estimate_tokens
from llm_mock.support.json_types import JSON, JSONObject

CHAT_API = "ollama.chat"
GENERATE_API = "ollama.generate"
PARSED_FIELDS = (
    "model",
    "messages",
    "prompt",
    "system",
    "images",
    "tools",
    "format",
    "options",
    "stream",
)
"""The fields of a request that are not options."""
NANOSECONDS = 1_000_000_000
SHORTEST = 1_000_000
"""The minimum duration in a response, in nanoseconds, as real durations are never zero."""
VERSION = "0.12.6"
CONTEXT_LENGTH = 131_072
MODIFIED = "2025-01-01T00:00:00Z"
DETAILS = {
    "parent_model": "",
    "format": "gguf",
    "family": "llm-mock",
    "families": ["llm-mock"],
    "parameter_size": "1B",
    "quantization_level": "Q4_K_M",
}
"""The details of each model."""
IMAGE_TYPES = {
    "iVBOR": "image/png",
    "/9j/": "image/jpeg",
    "R0lG": "image/gif",
    "UklG": "image/webp",
}
"""The media types of images, by the prefix of their base64."""

_MESSAGE = Shape(
    dict,
    fields={
        **dict.fromkeys(("role", "content", "thinking", "tool_name", "tool_call_id"), TEXT),
        "images": TEXTS,
        "tool_calls": make_tool_calls(ANY_OBJECT),
    },
)
_DURATION = Shape(str, int, float)
_COMMON_FIELDS = {
    "model": TEXT,
    "format": TEXT_OR_OBJECT,
    "options": ANY_OBJECT,
    "stream": FLAG,
    "think": Shape(bool, str),
    "keep_alive": _DURATION,
    "logprobs": FLAG,
    "top_logprobs": INTEGER,
}
BODIES = {
    CHAT_API: Shape(
        dict,
        fields={
            **_COMMON_FIELDS,
            "messages": Shape(list, items=_MESSAGE),
            "tools": FUNCTION_TOOLS,
        },
    ),
    GENERATE_API: Shape(
        dict,
        fields={
            **_COMMON_FIELDS,
            **dict.fromkeys(("prompt", "suffix", "system", "template"), TEXT),
            "images": TEXTS,
            "raw": FLAG,
            "context": Shape(list, items=INTEGER),
        },
    ),
}
"""The types of the fields of a body, by API."""
EMBED_BODY = Shape(
    dict,
    fields={
        "model": TEXT,
        "input": Shape(str, list, items=TEXT),
        "dimensions": INTEGER,
        "truncate": FLAG,
        "options": ANY_OBJECT,
        "keep_alive": _DURATION,
    },
)
EMBEDDINGS_BODY = Shape(
    dict,
    fields={"model": TEXT, "prompt": TEXT, "options": ANY_OBJECT, "keep_alive": _DURATION},
)


class OllamaRequest(HTTPRequest):
    """A call to Ollama, whose streams are lines of JSON."""

    __slots__ = ()

    def common_options(self) -> JSONObject:
        """Return the options under the names that `llm`'s plugins use."""
        common = super().common_options()
        if self.body.get("format") == "json":
            common["json_object"] = True
        return common

    def encode_event(self, item: JSON) -> bytes:
        """Encode an event of a stream as a line."""
        return (item.encode() if isinstance(item, str) else to_json(item)) + b"\n"

    def break_event(self, event: bytes) -> bytes:
        """Return the first half of a line, which the SDK cannot parse."""
        return event[: len(event) // 2] + b"\n"


class Ollama:
    """`POST /api/chat` and `/api/generate`."""

    provider = OLLAMA

    def parse_request(self, sent: WireRequest, mock: Mock) -> HTTPRequest:
        """Parse the body of a request."""
        api = GENERATE_API if sent.path.endswith("/generate") else CHAT_API
        errors = self.provider.errors
        body = validate_body(parse_json_body(sent.body), BODIES[api], errors, "model")
        if not body["model"]:
            raise errors.build_missing_field_error("model")
        is_chat = api == CHAT_API
        system, messages = _parse_messages(body) if is_chat else _parse_prompt(body)
        options = extract_options({**body, **(body.get("options") or {})}, *PARSED_FIELDS)
        response_format = body.get("format")
        return OllamaRequest(
            body["model"],
            messages,
            api=api,
            system=system,
            tools=parse_function_tools(body),
            schema=add_schema_title(response_format, None),
            options=options,
            # Streamed unless the request says otherwise.
            stream=body.get("stream") is not False,
            sent=sent,
            body=body,
            provider=self.provider.name,
        )

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        text = reply.text if reply.refusal is None else reply.refusal
        fields: JSONObject = {}
        if reply.reasoning:
            fields["thinking"] = reply.reasoning
        if reply.tool_calls:
            calls = enumerate(reply.tool_calls)
            fields["tool_calls"] = [_build_tool_call(call, index) for index, call in calls]
        part = _build_part(context, text, **fields)
        return {**_build_head(context), **part, **_build_end(context, reply.seconds)}

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the lines of a streamed response."""
        for event in _build_events(context):
            if isinstance(event, Wait):
                yield event
            else:
                yield to_json(event) + b"\n"

    def build_unknown_model_error(self, model_id: str) -> WireError:
        """Return the provider's error for a model that does not exist."""
        return WireError(404, f"model '{model_id}' not found")

    def encode_error_event(self, error: WireError, number: int) -> bytes:
        """Encode an error within a stream, as the line that ends the stream."""
        return to_json(self.provider.errors.build_body(error)) + b"\n"


PROTOCOL = Ollama()


class OllamaReader(ResponseReader):
    """A parser for a response and for the lines of a streamed one, of both APIs."""

    def __init__(self) -> None:
        super().__init__()
        self._call_count = 0

    def find_slots(self, body: object) -> Iterator[TextSlot]:
        """Yield the texts of the message, or of the completion."""
        if not isinstance(body, dict):
            return
        self.model = body.get("model") or self.model
        self._update_usage(_select_counts(body), "prompt_eval_count", "eval_count")
        reason = body.get("done_reason")
        if isinstance(reason, str):
            self.finish_reason = OLLAMA.parse_finish_reason(reason)
        self.has_ended = body.get("done") is True
        message = get_nested_dict(body, "message") or body
        if isinstance(message.get("thinking"), str):
            yield TextSlot(message, "thinking", "reasoning")
        for name in ("content", "response"):
            if isinstance(message.get(name), str):
                yield TextSlot(message, name, "text")
        for call in select_dicts(message.get("tool_calls")):
            self._call_count += 1
            # Older versions send no ids.
            call_id = call.get("id") or f"call_{self._call_count}"
            function = get_nested_dict(call, "function")
            yield TextSlot(function, "name", "tool_call_name", call_id)
            yield TextSlot(function, "arguments", "tool_call_args", call_id)


READER = OllamaReader


def _select_counts(body: JSONObject) -> JSONObject:
    """Return the token counts, without the durations."""
    return {name: body[name] for name in ("prompt_eval_count", "eval_count") if name in body}


def _parse_messages(body: JSONObject) -> tuple[str, list[Message]]:
    """Return the system prompt and the conversation of a chat."""
    system: list[Message] = []
    messages: list[Message] = []
    calls: list[Message] = []
    for message in body.get("messages") or ():
        role = str(message.get("role")).lower()
        if role == "tool":
            messages.append({"role": role, "parts": [_parse_result(message, calls)]})
            continue
        parts = _parse_parts(message)
        if role == "system":
            system += parts
            continue
        messages.append({"role": role, "parts": parts})
        calls = [part for part in parts if part["type"] == "tool_call"]
    return join_text(system), messages


def _parse_parts(message: JSONObject) -> list[Message]:
    parts: list[Message] = []
    if message.get("thinking"):
        parts.append({"type": "reasoning", "text": message["thinking"]})
    if message.get("content"):
        parts.append(make_text_part(message["content"]))
    parts += map(_parse_image, message.get("images") or ())
    for position, call in enumerate(message.get("tool_calls") or (), start=1):
        function = call.get("function") or {}
        name = str(function.get("name"))
        # Clients leave out the ids, and name the tool of each result.
        call_id = call.get("id") or f"{name}_{position}"
        parts.append(make_tool_call_part(name, function.get("arguments") or {}, call_id))
    return parts


def _parse_image(data: str) -> Message:
    for begin, media_type in IMAGE_TYPES.items():
        if data.startswith(begin):
            return make_base64_part(data, media_type)
    return make_base64_part(data, None)


def _parse_result(message: JSONObject, calls: list[Message]) -> Message:
    """Return the part for the result of a tool, with the id of its call.

    Args:
        message: the message.
        calls: the calls without results so far; the call of this result is removed.
    """
    name = message.get("tool_name")
    call_id = message.get("tool_call_id")
    for call in calls:
        # Results without an id and a name are in the order of the calls.
        if call_id in (None, call["tool_call_id"]) and name in (None, call["name"]):
            calls.remove(call)
            name, call_id = call["name"], call["tool_call_id"]
            break
    return make_tool_result_part(message.get("content"), call_id, name)


def _parse_prompt(body: JSONObject) -> tuple[str, list[Message]]:
    """Return the system prompt and the conversation of a completion."""
    parts: list[Message] = [make_text_part(str(body.get("prompt") or ""))]
    parts += map(_parse_image, body.get("images") or ())
    return str(body.get("system") or ""), [{"role": "user", "parts": parts}]


def _build_head(context: ResponseContext) -> JSONObject:
    """Return the first fields of a response, and of each line of a stream."""
    created = datetime.fromtimestamp(context.created, timezone.utc)
    return {"model": context.model, "created_at": created.strftime("%Y-%m-%dT%H:%M:%SZ")}


def _build_part(context: ResponseContext, text: str, **fields: JSON) -> JSONObject:
    """Return the field for a part of the answer: a message, or the text of a completion."""
    if context.request.api == GENERATE_API:
        return {"response": text, **fields}
    return {"message": {"role": "assistant", "content": text, **fields}}


def _build_end(context: ResponseContext, seconds: float) -> JSONObject:
    """Return the last fields of a response: its reason, its durations and its counts."""
    reason = OLLAMA.get_finish_reason(context.get_finish_reason())
    duration = round(seconds * NANOSECONDS) or SHORTEST
    end: JSONObject = {
        "done": True,
        "done_reason": reason,
        "total_duration": duration + 2 * SHORTEST,
        "load_duration": SHORTEST,
        "prompt_eval_duration": SHORTEST,
        "eval_duration": duration,
    }
    if context.sends_usage:
        end["prompt_eval_count"] = context.input_tokens
        end["eval_count"] = context.output_tokens
    return end


def _build_tool_call(call: ToolCallText, index: int) -> JSONObject:
    arguments = encode_arguments(call.arguments)
    function = {"index": index, "name": call.name, "arguments": arguments}
    return {"id": call.id, "function": function}


def _build_events(context: ResponseContext) -> Iterator[JSONObject | Wait]:
    """Yield the lines of a streamed response."""
    head = _build_head(context)
    collector = ToolCallCollector()
    seconds = 0.0
    for chunk in context.read_chunks(stream=True):
        if isinstance(chunk, Wait):
            seconds += chunk
            yield chunk
        elif isinstance(chunk, Event) and chunk.type.startswith("tool_call"):
            # A call is sent whole, as its arguments are an object.
            collector.add(chunk)
        else:
            yield {**head, **_build_chunk(context, chunk), "done": False}
    for index, call in enumerate(collector.finish()):
        part = _build_part(context, "", tool_calls=[_build_tool_call(call, index)])
        yield {**head, **part, "done": False}
    yield {**head, **_build_part(context, ""), **_build_end(context, seconds)}


def _build_chunk(context: ResponseContext, chunk: str | Event) -> JSONObject:
    if isinstance(chunk, str):
        return _build_part(context, chunk)
    if chunk.type == "reasoning":
        return _build_part(context, "", thinking=chunk.chunk)
    return _build_part(context, chunk.chunk)


def answer_embed(sent: WireRequest, provider: str, mock: Mock) -> WireResponse:
    """Answer `POST /api/embed`."""
    body = validate_body(parse_json_body(sent.body), EMBED_BODY, OLLAMA.errors, "model")
    given = body.get("input")
    items = [given] if isinstance(given, str) else given or []
    model = body["model"]
    vectors: list[list[float]] = []
    if items:
        dimensions = body.get("dimensions") or None
        vectors, _ = embed_texts(sent, provider, mock, model, items, dimensions)
    response = {
        "model": model,
        "embeddings": vectors,
        "total_duration": 2 * SHORTEST,
        "load_duration": SHORTEST,
        "prompt_eval_count": sum(estimate_tokens(len(item)) for item in items),
    }
    return json_response(response)


def answer_embeddings(sent: WireRequest, provider: str, mock: Mock) -> WireResponse:
    """Answer `POST /api/embeddings`, the older endpoint for the vector of one text."""
    body = validate_body(parse_json_body(sent.body), EMBEDDINGS_BODY, OLLAMA.errors, "model")
    prompt = body.get("prompt")
    # Without a prompt, a request only loads the model.
    if not prompt:
        return json_response({"embedding": []})
    model = body["model"]
    [vector], _ = embed_texts(sent, provider, mock, model, [prompt], None)
    return json_response({"embedding": vector})


def answer_tags(sent: WireRequest, provider: str, mock: Mock) -> WireResponse:
    """Answer `GET /api/tags` with the models that the test configured or the application called."""
    models = []
    for name in list_known_models(mock):
        digest = f"{zlib.crc32(name.encode()):064x}"
        models.append(
            {
                "name": name,
                "model": name,
                "modified_at": MODIFIED,
                "size": 1_000_000_000,
                "digest": digest,
                "details": DETAILS,
            }
        )
    return json_response({"models": models})


def answer_show(sent: WireRequest, provider: str, mock: Mock) -> WireResponse:
    """Answer `POST /api/show`; every model exists, unless the test says otherwise."""
    body = parse_json_body(sent.body)
    # `name` is the field that older clients send.
    model = body.get("model") or body.get("name")
    if not isinstance(model, str):
        raise OLLAMA.errors.build_missing_field_error("model")
    if mock.is_unknown(model):
        raise PROTOCOL.build_unknown_model_error(model)
    response = {
        "parameters": "",
        "license": "",
        "modified_at": MODIFIED,
        "details": DETAILS,
        "template": "{{ .Prompt }}",
        "capabilities": ["completion", "tools", "vision", "thinking"],
        "model_info": {
            "general.architecture": "llm-mock",
            "llm-mock.context_length": CONTEXT_LENGTH,
        },
    }
    return json_response(response)


def answer_version(sent: WireRequest, provider: str, mock: Mock) -> WireResponse:
    """Answer `GET /api/version`."""
    return json_response({"version": VERSION})
