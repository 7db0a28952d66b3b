"""Version 2 of Cohere's Chat API, with embeddings and reranking.

See https://docs.cohere.com/reference/chat, https://docs.cohere.com/reference/embed and
https://docs.cohere.com/reference/rerank.
"""

from __future__ import annotations

import base64
import json
import math
import operator
import struct
from collections.abc import Callable, Iterable, Iterator

from llm_mock.boundaries.http.body_types import (
    ANY_OBJECT,
    FLAG,
    FUNCTION_TOOLS,
    INTEGER,
    NUMBER,
    TEXT,
    TEXT_OR_OBJECT,
    TEXTS,
    Shape,
    make_tool_calls,
)
from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext, ToolCallText
from llm_mock.boundaries.http.embeddings import embed_texts
from llm_mock.boundaries.http.protocols.protocol import (
    add_schema_title,
    extract_options,
    join_text,
    make_attachment_part,
    make_text_part,
    make_url_part,
    parse_function_tools,
    parse_json_body,
    parse_json_or_text,
    parse_parts,
    validate_body,
)
from llm_mock.boundaries.http.providers.cohere import COHERE
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
from llm_mock.boundaries.http.wire import (
    WireRequest,
    WireResponse,
    json_response,
    server_sent_event,
)
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.events import Event, Wait
from llm_mock.core.mock import Mock
from llm_mock.core.tokens import estimate_tokens
from llm_mock.support.json_types import JSON, JSONObject

API = "cohere.chat"
PARSED_FIELDS = (
    "model",
    "messages",
    "tools",
    "tool_choice",
    "documents",
    "response_format",
    "stream",
)
"""The fields of a request that are not options."""
MAX_TEXTS = 96
"""The maximum number of texts or images in a request for embeddings."""
DONE = server_sent_event("[DONE]")

_CONTENT = Shape(
    str,
    list,
    items=Shape(
        dict,
        fields={
            **dict.fromkeys(("type", "text", "thinking"), TEXT),
            **dict.fromkeys(("image_url", "document"), ANY_OBJECT),
        },
    ),
)
_MESSAGE = Shape(
    dict,
    fields={
        "role": TEXT,
        "content": _CONTENT,
        "tool_plan": TEXT,
        "tool_call_id": TEXT,
        "tool_calls": make_tool_calls(TEXT, type=TEXT),
    },
)
CHAT_BODY = Shape(
    dict,
    fields={
        "model": TEXT,
        "messages": Shape(list, items=_MESSAGE),
        "tools": FUNCTION_TOOLS,
        "documents": Shape(list, items=TEXT_OR_OBJECT),
        "response_format": ANY_OBJECT,
        "citation_options": ANY_OBJECT,
        "thinking": ANY_OBJECT,
        "safety_mode": TEXT,
        "tool_choice": TEXT,
        "stop_sequences": TEXTS,
        **dict.fromkeys(("stream", "strict_tools", "logprobs"), FLAG),
        **dict.fromkeys(("max_tokens", "seed", "k", "priority"), INTEGER),
        **dict.fromkeys(
            ("temperature", "p", "frequency_penalty", "presence_penalty"),
            NUMBER,
        ),
    },
)
EMBED_BODY = Shape(
    dict,
    fields={
        "model": TEXT,
        "texts": TEXTS,
        "images": TEXTS,
        "inputs": Shape(list, items=Shape(dict, fields={"content": _CONTENT})),
        "input_type": TEXT,
        "embedding_types": TEXTS,
        "output_dimension": INTEGER,
        "truncate": TEXT,
    },
)
RERANK_BODY = Shape(
    dict,
    fields={
        "model": TEXT,
        "query": TEXT,
        "documents": Shape(list, items=TEXT_OR_OBJECT),
        "top_n": INTEGER,
        "return_documents": FLAG,
    },
)


class CohereRequest(HTTPRequest):
    """A call to Cohere's Chat, whose events are named after their types."""

    __slots__ = ()

    def common_options(self) -> JSONObject:
        """Return the options under the names that `llm`'s plugins use."""
        common = super().common_options()
        # With a schema, the format is redundant.
        if self.schema:
            common.pop("json_object", None)
        return common

    def encode_event(self, item: JSON) -> bytes:
        """Encode an event of a stream."""
        name = item.get("type") if isinstance(item, dict) else None
        return server_sent_event(item, name if isinstance(name, str) else None)


class CohereChat:
    """`POST /v2/chat`."""

    provider = COHERE

    def parse_request(self, sent: WireRequest, mock: Mock) -> HTTPRequest:
        """Parse the body of a request."""
        body = validate_body(
            parse_json_body(sent.body), CHAT_BODY, self.provider.errors, "model", "messages"
        )
        if not body["messages"]:
            raise self.provider.errors.build_missing_field_error("messages")
        system: list[Message] = []
        messages: list[Message] = []
        for message in body["messages"]:
            parts = _parse_message(message)
            if message.get("role") == "system":
                system += parts
            else:
                messages.append({"role": str(message.get("role")), "parts": parts})
        _add_documents(messages, body.get("documents") or ())
        choice = body.get("tool_choice")
        return CohereRequest(
            body["model"],
            messages,
            api=API,
            system=join_text(system),
            tools=parse_function_tools(body),
            schema=_parse_schema(body.get("response_format") or {}),
            options=extract_options(body, *PARSED_FIELDS),
            stream=bool(body.get("stream")),
            tool_choice=None if choice is None else choice.lower(),
            sent=sent,
            body=body,
            provider=self.provider.name,
        )

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        message: JSONObject = {"role": "assistant"}
        content: list[JSONObject] = []
        if reply.reasoning:
            content.append({"type": "thinking", "thinking": reply.reasoning})
        text = reply.text if reply.refusal is None else reply.refusal
        if reply.tool_calls:
            if text:
                message["tool_plan"] = text
            message["tool_calls"] = list(map(_build_tool_call, reply.tool_calls))
        else:
            content.append({"type": "text", "text": text})
        if content:
            message["content"] = content
        body = {
            "id": f"chat-mock-{context.number}",
            "message": message,
            "finish_reason": COHERE.get_finish_reason(reply.finish_reason),
        }
        return {**body, **_build_usage_field(context)}

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response."""
        for event in self.build_events(context):
            if isinstance(event, Wait):
                yield event
            else:
                yield server_sent_event(event, event["type"])
        yield DONE

    def build_events(self, context: ResponseContext) -> Iterator[JSONObject | Wait]:
        """Yield the events of a streamed response as JSON."""
        return build_events(context)

    def build_unknown_model_error(self, model_id: str) -> WireError:
        """Return the provider's error for a model that does not exist."""
        message = (
            f"model '{model_id}' not found, make sure the correct model ID was used and that you "
            "have access to the model."
        )
        return WireError(404, message)

    def encode_error_event(self, error: WireError, number: int) -> bytes:
        """Encode an error within a stream, as the event that ends the stream."""
        delta = {"error": error.message, "finish_reason": "ERROR"}
        return server_sent_event({"type": "message-end", "delta": delta}, "message-end")


PROTOCOL = CohereChat()


class CohereReader(ResponseReader):
    """A parser for a response and for the events of a streamed one."""

    def find_slots(self, body: object) -> Iterator[TextSlot]:
        """Yield the texts of the message."""
        if not isinstance(body, dict):
            return
        # An event has its fields in `delta`, all but its type and its index.
        fields = get_nested_dict(body, "delta") or body
        self._update_usage_and_reason(fields)
        message = get_nested_dict(fields, "message")
        yield from _find_text_slots(message)
        for call in _select_items(message, "tool_calls"):
            yield from self._find_call_slots(call, body.get("index"))
        if body.get("type") == "message-end":
            self.has_ended = True

    def _find_call_slots(self, call: JSONObject, index: object) -> Iterator[TextSlot]:
        # Only the first event of a call has its id.
        call_id = call.get("id") or self._call_ids.get(index)
        self._call_ids[index] = call_id
        function = get_nested_dict(call, "function")
        for key, kind in (("name", "tool_call_name"), ("arguments", "tool_call_args")):
            if key in function:
                yield TextSlot(function, key, kind, call_id)

    def _update_usage_and_reason(self, fields: JSONObject) -> None:
        usage = get_nested_dict(fields, "usage")
        self._update_usage(usage.get("tokens"), "input_tokens", "output_tokens")
        cached = usage.get("cached_tokens")
        if cached:
            self.usage["details"] = {"cached_tokens": cached}
        reason = fields.get("finish_reason")
        # The end at a stop sequence is a normal end, too.
        if isinstance(reason, str) and reason != "STOP_SEQUENCE":
            self.finish_reason = COHERE.parse_finish_reason(reason)


READER = CohereReader


def _select_items(message: JSONObject, name: str) -> list[JSONObject]:
    """Return the objects in a field: a list in a response, a single object in an event."""
    return select_dicts(message.get(name)) or [get_nested_dict(message, name)]


def _find_text_slots(message: JSONObject) -> Iterator[TextSlot]:
    if isinstance(message.get("tool_plan"), str):
        yield TextSlot(message, "tool_plan", "text")
    for part in _select_items(message, "content"):
        if isinstance(part.get("thinking"), str):
            yield TextSlot(part, "thinking", "reasoning")
        if isinstance(part.get("text"), str):
            yield TextSlot(part, "text", "text")


def _parse_message(message: JSONObject) -> list[Message]:
    """Return the parts of a message."""
    if message.get("role") == "tool":
        output = _parse_output(message.get("content"))
        return [make_tool_result_part(output, message.get("tool_call_id"))]
    parts = parse_parts(message.get("content"), _parse_part)
    if message.get("tool_plan"):
        parts.append(make_text_part(message["tool_plan"]))
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        arguments = parse_json_or_text(function.get("arguments"))
        parts.append(make_tool_call_part(str(function.get("name")), arguments, call.get("id")))
    return parts


def _parse_part(part: JSONObject) -> Message | None:
    """Return the part for a part of a content; None for an unknown type."""
    if part.get("type") == "text":
        return make_text_part(str(part.get("text") or ""))
    if part.get("type") == "thinking":
        return {"type": "reasoning", "text": str(part.get("thinking") or "")}
    if part.get("type") == "image_url":
        return make_url_part(str((part.get("image_url") or {}).get("url")))
    return None


def _parse_output(content: str | list[JSONObject] | None) -> object:
    """Return the output of a tool: a text, a document's data, or a list of these."""
    if not isinstance(content, list):
        return content
    outputs = []
    for part in content:
        document = part.get("document") or {}
        is_document = part.get("type") == "document"
        outputs.append(document.get("data") if is_document else part.get("text"))
    # Most results have a single part, which is not put into a list.
    return outputs[0] if len(outputs) == 1 else outputs


def _add_documents(messages: list[Message], documents: Iterable[str | JSONObject]) -> None:
    """Add the documents of a request to its last message as attachments."""
    for document in documents:
        if isinstance(document, str):
            part = make_attachment_part("text/plain", None, document.encode())
        else:
            data = json.dumps(document.get("data"), ensure_ascii=False)
            part = make_attachment_part("application/json", None, data.encode())
        if messages:
            messages[-1]["parts"].append(part)


def _parse_schema(response_format: JSONObject) -> JSONObject | None:
    # `schema` is the name that version 1 has.
    schema = response_format.get("json_schema") or response_format.get("schema")
    return add_schema_title(schema, None)


def _build_usage_field(context: ResponseContext) -> JSONObject:
    """Return the field for the usage; empty if the script turns it off."""
    if not context.sends_usage:
        return {}
    counts = {"input_tokens": context.input_tokens, "output_tokens": context.output_tokens}
    # Details such as `cached_tokens` or other billed units.
    return {"usage": {"billed_units": counts, "tokens": counts, **context.usage_details}}


def _build_tool_call(call: ToolCallText) -> JSONObject:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def build_events(context: ResponseContext) -> Iterator[JSONObject | Wait]:
    """Yield the events of a streamed response, without the end of the stream."""
    yield _make_event(
        "message-start",
        {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []},
        id=f"chat-mock-{context.number}",
    )
    blocks = BlockEvents(bool(context.answer.reply.tool_calls))
    for chunk in context.read_chunks(stream=True):
        if isinstance(chunk, Wait):
            yield chunk
        else:
            yield from blocks.add(chunk)
    yield from blocks.finish()
    reason = COHERE.get_finish_reason(context.get_finish_reason())
    yield {
        "type": "message-end",
        "delta": {"finish_reason": reason, **_build_usage_field(context)},
    }


class BlockEvents:
    """Builder of the events of a message's parts, each with a start and an end event.

    Args:
        has_calls: True for a message with tool calls, where the text is the tool plan.
    """

    def __init__(self, has_calls: bool) -> None:
        self._has_calls = has_calls
        self._open: tuple[str, str | None] | None = None
        """The kind of the open part, and the id of its tool call."""
        self._counts = {"content": -1, "tool-call": -1}
        """The index of the last part of each kind."""

    def add(self, chunk: str | Event) -> Iterator[JSONObject]:
        """Yield the events for a chunk."""
        if isinstance(chunk, str) or chunk.type == "refusal":
            text = chunk if isinstance(chunk, str) else chunk.chunk
            if self._has_calls:
                yield from self.close()
                yield _make_event("tool-plan-delta", {"tool_plan": text})
            else:
                yield from self._add_content("text", text)
        elif chunk.type == "reasoning":
            yield from self._add_content("thinking", chunk.chunk)
        elif chunk.type in ("tool_call_name", "tool_call_args"):
            yield from self._add_call(chunk)

    def finish(self) -> Iterator[JSONObject]:
        """Yield the last events; for an empty message, the events of an empty text."""
        if max(self._counts.values()) < 0 and not self._has_calls:
            yield from self._begin(("text", None), {"content": {"type": "text", "text": ""}})
        yield from self.close()

    def close(self) -> Iterator[JSONObject]:
        """Yield the event that ends the open part."""
        if self._open is not None:
            kind = _get_event_kind(self._open)
            yield {"type": f"{kind}-end", "index": self._counts[kind]}
            self._open = None

    def _begin(self, part: tuple[str, str | None], start: JSONObject) -> Iterator[JSONObject]:
        if self._open == part:
            return
        yield from self.close()
        self._open = part
        kind = _get_event_kind(part)
        self._counts[kind] += 1
        yield _make_event(f"{kind}-start", start, index=self._counts[kind])

    def _add_content(self, kind: str, text: str) -> Iterator[JSONObject]:
        yield from self._begin((kind, None), {"content": {"type": kind, kind: ""}})
        index = self._counts["content"]
        yield _make_event("content-delta", {"content": {kind: text}}, index=index)

    def _add_call(self, chunk: Event) -> Iterator[JSONObject]:
        call_id = chunk.tool_call_id or ""
        is_name = chunk.type == "tool_call_name"
        start = _build_tool_call(ToolCallText(call_id, chunk.chunk if is_name else "", ""))
        yield from self._begin(("tool-call", call_id), {"tool_calls": start})
        if not is_name:
            delta = {"tool_calls": {"function": {"arguments": chunk.chunk}}}
            yield _make_event("tool-call-delta", delta, index=self._counts["tool-call"])


def _get_event_kind(part: tuple[str, str | None]) -> str:
    return "tool-call" if part[0] == "tool-call" else "content"


def _make_event(kind: str, message: JSONObject, **fields: JSON) -> JSONObject:
    return {"type": kind, **fields, "delta": {"message": message}}


def answer_embed(sent: WireRequest, provider: str, mock: Mock) -> WireResponse:
    """Answer `POST /v2/embed`, and `/v1/embed` for SDKs that still use it."""
    body = validate_body(parse_json_body(sent.body), EMBED_BODY, COHERE.errors, "model")
    items = _list_embedded_items(body)
    types = body.get("embedding_types")
    for kind in types or ():
        if kind not in ENCODERS:
            raise WireError(400, f"invalid request: embedding type '{kind}' is not supported")
    dimensions = body.get("output_dimension")
    vectors, _ = embed_texts(sent, provider, mock, body["model"], items, dimensions)
    version = sent.path.split("/")[-2][1:]
    tokens = sum(estimate_tokens(len(item)) for item in items)
    response: JSONObject = {
        "id": f"embd-mock-{_count_batches(mock, body['model'])}",
        "texts": body.get("texts") or [],
        "meta": _build_meta(version, input_tokens=tokens),
    }
    if types is None and version == "1":
        response |= {"embeddings": vectors, "response_type": "embeddings_floats"}
        return json_response(response)
    encoded = {kind: list(map(ENCODERS[kind], vectors)) for kind in types or ("float",)}
    response |= {"embeddings": encoded, "response_type": "embeddings_by_type"}
    return json_response(response)


def _list_embedded_items(body: JSONObject) -> list[str]:
    """Return the texts to embed; an image is represented by its URL.

    Raises:
        WireError: there are no texts or images, or too many.
    """
    items = [*(body.get("texts") or ()), *(body.get("images") or ())]
    for entry in body.get("inputs") or ():
        parts = parse_parts(entry.get("content"), _parse_input_part)
        items.append(join_text(parts))
    if not items:
        raise COHERE.errors.build_missing_field_error("texts")
    if len(items) > MAX_TEXTS:
        message = (
            f"invalid request: total number of texts must be at most {MAX_TEXTS} - received "
            f"{len(items)}"
        )
        raise WireError(400, message)
    return items


def _parse_input_part(part: JSONObject) -> Message | None:
    """Return a text part for a part of an input; an image is represented by its URL."""
    if part.get("type") == "image_url":
        return make_text_part(str((part.get("image_url") or {}).get("url")))
    return _parse_part(part)


def _count_batches(mock: Mock, model: str) -> str:
    calls = mock.embedding_state(mock.configurator.get_model_id(model)).calls
    return f"{mock.history.get_id_prefix()}{len(calls)}"


def _build_meta(version: str, **units: int) -> JSONObject:
    return {"api_version": {"version": version}, "billed_units": units}


def _encode_base64(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _encode_int8(vector: list[float]) -> list[int]:
    return [max(-128, min(127, round(value * 127))) for value in vector]


def _encode_uint8(vector: list[float]) -> list[int]:
    return [value + 128 for value in _encode_int8(vector)]


def _encode_ubinary(vector: list[float]) -> list[int]:
    """Return one bit per number, eight bits per byte, most significant bit first."""
    packed = []
    for start in range(0, len(vector), 8):
        byte = 0
        for value in vector[start : start + 8]:
            byte = byte * 2 + (value > 0)
        packed.append(byte)
    return packed


def _encode_binary(vector: list[float]) -> list[int]:
    return [value - 128 for value in _encode_ubinary(vector)]


ENCODERS: dict[str, Callable[[list[float]], JSON]] = {
    "float": list,
    "int8": _encode_int8,
    "uint8": _encode_uint8,
    "binary": _encode_binary,
    "ubinary": _encode_ubinary,
    "base64": _encode_base64,
}
"""The functions that encode a vector, by the type of the embedding."""


def answer_rerank(sent: WireRequest, provider: str, mock: Mock) -> WireResponse:
    """Answer `POST /v2/rerank`, and `/v1/rerank` for SDKs that still use it.

    The relevance of a document is the similarity of its vector and the query's vector in an
    embedding model of the mock.
    """
    body = validate_body(
        parse_json_body(sent.body), RERANK_BODY, COHERE.errors, "model", "query", "documents"
    )
    documents = body["documents"]
    if not documents:
        raise WireError(400, "invalid request: list of documents must not be empty")
    texts = [_get_document_text(document) for document in documents]
    items = [body["query"], *texts]
    vectors, _ = embed_texts(sent, provider, mock, body["model"], items, None)
    query, *others = vectors
    results: list[JSONObject] = []
    for index, vector in enumerate(others):
        score = _compute_relevance(query, vector)
        result: JSONObject = {"index": index, "relevance_score": score}
        if body.get("return_documents"):
            document = documents[index]
            result["document"] = {"text": document} if isinstance(document, str) else document
        results.append(result)
    # Documents with equal scores stay in their order.
    results.sort(key=lambda result: -result["relevance_score"])
    response = {
        "id": f"rerank-mock-{_count_batches(mock, body['model'])}",
        "results": results[: body.get("top_n")],
        "meta": _build_meta(sent.path.split("/")[-2][1:], search_units=1),
    }
    return json_response(response)


def _get_document_text(document: str | JSONObject) -> str:
    if isinstance(document, str):
        return document
    text = document.get("text")
    return text if isinstance(text, str) else json.dumps(document, ensure_ascii=False)


def _compute_relevance(query: list[float], document: list[float]) -> float:
    """Return the cosine of two vectors, from 0 to 1."""
    product = sum(map(operator.mul, query, document))
    length = math.hypot(*query) * math.hypot(*document)
    return round(max(0.0, min(1.0, product / length)), 6) if length else 0.0
