"""Google's Gemini API, also as Vertex AI offers it. See https://ai.google.dev/api/generate-content.

Names come in camelCase from most clients, in snake_case from some.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm_mock.boundaries.http.body_types import GEMINI
from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext, ToolCallCollector
from llm_mock.boundaries.http.error_formats import GOOGLE
from llm_mock.boundaries.http.errors import WireError
from llm_mock.boundaries.http.protocols.protocol import (
    add_schema_title,
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
from llm_mock.core.events import Wait

FINISH_REASONS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
"""Gemini's words for those of Chat Completions; other words are given on as they are."""
CHOICES = {"ANY": "required", "AUTO": "auto", "NONE": "none", "VALIDATED": "auto"}
NAMED_BY_THE_APPLICATION = frozenset(
    {"args", "labels", "parameters", "parametersJsonSchema", "response", "responseJsonSchema", "responseSchema"}
)


class Gemini:
    """`POST …/models/MODEL:generateContent` and `:streamGenerateContent`."""

    errors = GOOGLE

    def parse_request(self, sent: WireRequest) -> HTTPRequest:
        """What is asked."""
        body = validate_body(camel_case(sent.json()), GEMINI, self.errors, "contents")
        model, _, method = sent.path.rpartition("/")[2].partition(":")
        config = body.get("generationConfig") or {}
        declared = [
            declaration for tool in body.get("tools") or () for declaration in tool.get("functionDeclarations") or ()
        ]
        schema = config.get("responseJsonSchema") or json_schema(config.get("responseSchema"))
        return HTTPRequest(
            model,
            [message for content in body["contents"] for message in _messages(content)],
            api="generate_content",
            system="\n".join(part["text"] for part in _parts(body.get("systemInstruction")) if part["type"] == "text"),
            tools=[_tool(declaration) for declaration in declared],
            schema=add_schema_title(schema, None),
            options=extract_options(config, "responseSchema", "responseJsonSchema"),
            stream=method == "streamGenerateContent",
            tool_choice=_choice(body.get("toolConfig")),
            sent=sent,
            body=body,
        )

    def build_body(self, context: ResponseContext, whole: CompleteReply) -> dict[str, Any]:
        """The body of an answer in one piece."""
        parts: list[dict[str, Any]] = []
        if whole.reasoning:
            parts.append({"text": whole.reasoning, "thought": True})
        if whole.text or not whole.tool_calls:
            parts.append({"text": whole.text})
        parts += [_function_call(*call) for call in whole.tool_calls]
        return _response(context, parts, ended=True)

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """The body of a streamed answer: each piece a response of its own, a tool call whole."""
        calls = ToolCallCollector()
        for piece in context.chunks(stream=True):
            if isinstance(piece, Wait):
                yield piece
            elif isinstance(piece, str):
                yield server_sent_event(_response(context, [{"text": piece}]))
            elif piece.type == "reasoning":
                yield server_sent_event(_response(context, [{"text": piece.chunk, "thought": True}]))
            else:
                calls.add(piece)
        parts = [_function_call(*call) for call in calls.finish()]
        yield server_sent_event(_response(context, parts or [{"text": ""}], ended=True))

    def unknown_model_error(self, model_id: str) -> WireError:
        """What is answered where there is no such model."""
        message = f"models/{model_id} is not found for API version v1beta, or is not supported for generateContent. "
        return WireError(
            404, f"{message}Call ListModels to see the list of available models and their supported methods."
        )

    def encode_error_event(self, error: WireError, number: int) -> bytes:
        """An error within a stream."""
        return server_sent_event(self.errors.body(error))


PROTOCOL = Gemini()


def camel_case(value: Any) -> Any:
    """JSON values with the API's names in camelCase; what the application named itself stays."""
    if isinstance(value, list):
        return [camel_case(item) for item in value]
    if not isinstance(value, dict):
        return value
    named = {_camel(key): item for key, item in value.items()}
    return {name: item if name in NAMED_BY_THE_APPLICATION else camel_case(item) for name, item in named.items()}


def _camel(name: str) -> str:
    head, *others = name.split("_")
    return head + "".join(part.title() for part in others) if head else name


def json_schema(schema: Any) -> Any:
    """JSON Schema of what Gemini has for it: types in upper case, `nullable`, and `propertyOrdering`."""
    if isinstance(schema, list):
        return [json_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    given = {_camel(name): item for name, item in schema.items()}
    made: dict[str, Any] = {}
    for name, item in given.items():
        if name == "properties" and isinstance(item, dict):
            made[name] = {key: json_schema(inner) for key, inner in item.items()}
        elif name in ("items", "anyOf", "prefixItems", "additionalProperties"):
            made[name] = json_schema(item)
        elif name not in ("type", "nullable", "propertyOrdering", "format", "example"):
            made[name] = item
    if isinstance(kind := given.get("type"), str):
        made["type"] = [kind.lower(), "null"] if given.get("nullable") else kind.lower()
    return made


def _response(context: ResponseContext, parts: list[dict[str, Any]], ended: bool = False) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    response: dict[str, Any] = {"candidates": [candidate]}
    if ended:
        reason = context.finish_reason()
        candidate["finishReason"] = FINISH_REASONS.get(reason, reason)
    response["usageMetadata"] = _usage(context) if ended else {"promptTokenCount": context.input_tokens}
    return {**response, "modelVersion": context.model, "responseId": f"mock-{context.number}"}


def _usage(context: ResponseContext) -> dict[str, int]:
    asked, answered = context.input_tokens, context.output_tokens
    details = context.answer.reply.usage_details() or {}
    counted = {"promptTokenCount": asked, "candidatesTokenCount": answered, "totalTokenCount": asked + answered}
    return {**counted, **{name: details[name] for name in ("thoughtsTokenCount",) if name in details}}


def _function_call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    given = parse_json_or_text(arguments)
    args = given if isinstance(given, dict) else {"_raw": arguments}
    return {"functionCall": {"id": call_id, "name": name, "args": args}}


def _messages(content: dict[str, Any]) -> Iterator[Message]:
    """A message; the results of tools, which come in one of the user, are one of their own."""
    parts = _parts(content)
    results = [part for part in parts if part["type"] == "tool_result"]
    others = [part for part in parts if part["type"] != "tool_result"]
    if results:
        yield {"role": "tool", "parts": results}
    if others or not results:
        yield {"role": "assistant" if content.get("role") == "model" else "user", "parts": others}


def _parts(content: Any) -> list[Message]:
    if isinstance(content, str):
        return [text_part(content)] if content else []
    given = content.get("parts") if isinstance(content, dict) else content
    given = [given] if isinstance(given, dict) else given or ()
    return [read for part in given if isinstance(part, dict) and (read := _part(part)) is not None]


def _part(part: dict[str, Any]) -> Message | None:
    """A part of a message; what is not known is not seen."""
    if isinstance(text := part.get("text"), str):
        return {"type": "reasoning", "text": text} if part.get("thought") else text_part(text)
    if call := part.get("functionCall"):
        return tool_call_part(str(call.get("name")), call.get("args") or {}, call.get("id"))
    if result := part.get("functionResponse"):
        return tool_result_part(_output(result.get("response")), result.get("id"), result.get("name"))
    if data := part.get("inlineData"):
        return base64_part(str(data.get("data") or ""), data.get("mimeType"))
    if file := part.get("fileData"):
        return url_part(str(file.get("fileUri") or ""), file.get("mimeType"))
    return None


def _output(response: Any) -> Any:
    """What a function gave; clients wrap what is no object."""
    if isinstance(response, dict):
        for name in ("result", "output", "return_value"):
            if response.keys() == {name}:
                return response[name]
        if response.keys() == {"name", "content"}:
            return response["content"]
    return response


def _tool(declaration: dict[str, Any]) -> Tool:
    schema = declaration.get("parametersJsonSchema") or json_schema(declaration.get("parameters"))
    return Tool(str(declaration.get("name")), declaration.get("description"), schema)


def _choice(config: Any) -> str | None:
    calling = config.get("functionCallingConfig") if isinstance(config, dict) else None
    if not isinstance(calling, dict):
        return None
    allowed = list(calling.get("allowedFunctionNames") or [])
    mode = calling.get("mode")
    return str(allowed[0]) if mode == "ANY" and len(allowed) == 1 else CHOICES.get(str(mode), mode)
