"""Google's Gemini API, which Vertex AI offers too.

See https://ai.google.dev/api/generate-content. Most clients send field names in camelCase, some in
snake_case; both are accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm_mock.boundaries.http.body_types import GEMINI
from llm_mock.boundaries.http.chunks import (
    CompleteReply,
    ResponseContext,
    ToolCallCollector,
    ToolCallText,
)
from llm_mock.boundaries.http.protocols.protocol import (
    add_schema_title,
    encode_arguments,
    extract_options,
    join_text,
    make_base64_part,
    make_text_part,
    make_url_part,
    parse_json_body,
    split_tool_results,
    validate_body,
)
from llm_mock.boundaries.http.providers.google import GOOGLE, USAGE_PARTS
from llm_mock.boundaries.http.request import (
    HTTPRequest,
    Message,
    Tool,
    make_tool_call_part,
    make_tool_result_part,
)
from llm_mock.boundaries.http.wire import WireRequest, server_sent_event
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.events import Wait
from llm_mock.core.mock import Mock
from llm_mock.support.json_types import JSONObject

CALLING_MODES = {"ANY": "required", "AUTO": "auto", "NONE": "none", "VALIDATED": "auto"}
"""The tool choices of Chat Completions, by Gemini's function calling modes."""
APPLICATION_FIELDS = frozenset(
    {
        "args",
        "labels",
        "parameters",
        "parametersJsonSchema",
        "response",
        "responseJsonSchema",
        "responseSchema",
    }
)
"""The fields whose keys the application chooses, so that they are not converted to camelCase."""
PARSED_FIELDS = (
    "model",
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
    "responseSchema",
    "responseJsonSchema",
)
"""The fields of a request and of its configuration that are not options."""
PLACEHOLDER = "Placeholder"
"""The title that Google's SDK gives to the schema of a type such as `list[Recipe]`."""
NESTED_SCHEMAS = ("items", "anyOf", "prefixItems", "additionalProperties")
"""The fields of a schema that contain schemas."""
GEMINI_SCHEMA_FIELDS = ("type", "nullable", "propertyOrdering", "format", "example")
"""The fields of a schema that JSON Schema does not have, or has in another form."""


SAFETY_RATING = {
    "category": "HARM_CATEGORY_DANGEROUS_CONTENT",
    "probability": "HIGH",
    "blocked": True,
}
"""The rating of a blocked candidate, which has no content, or of a blocked prompt."""
PROMPT_BLOCKED = "prompt_blocked"
"""The finish reason of a reply to a blocked prompt, which has no candidates."""


class Gemini:
    """`POST …/models/MODEL:generateContent` and `:streamGenerateContent`."""

    provider = GOOGLE

    def parse_request(self, sent: WireRequest, mock: Mock) -> HTTPRequest:
        """Parse the body of a request."""
        converted = convert_to_camel_case(parse_json_body(sent.body))
        body = validate_body(converted, GEMINI, self.provider.errors, "contents")
        if not body["contents"]:
            # In a protocol buffer, an empty list is the same as a missing list.
            raise self.provider.errors.build_missing_field_error("contents")
        # The model and the method are in the path: `…/models/gemini-pro:generateContent`.
        last_segment = sent.path.rpartition("/")[2]
        model, _, method = last_segment.partition(":")
        config = body.get("generationConfig") or {}
        schema = config.get("responseJsonSchema") or convert_to_json_schema(
            config.get("responseSchema")
        )
        messages: list[Message] = []
        for content in body["contents"]:
            role = "assistant" if content.get("role") == "model" else "user"
            messages += split_tool_results(_parse_content(content), role)
        return HTTPRequest(
            model,
            messages,
            api="generate_content",
            system=join_text(_parse_content(body.get("systemInstruction"))),
            tools=_parse_tools(body),
            schema=_replace_placeholder(add_schema_title(schema, None)),
            options=extract_options({**body, **config}, *PARSED_FIELDS),
            stream=method == "streamGenerateContent",
            tool_choice=_parse_tool_choice(body.get("toolConfig")),
            sent=sent,
            body=body,
            provider=self.provider.name,
        )

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        parts: list[JSONObject] = []
        if reply.reasoning:
            parts.append({"text": reply.reasoning, "thought": True})
        parts += map(build_part, reply.parts)
        return build_response(context, parts, is_last=True)

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response; each event is a complete response object."""
        calls = FunctionCalls()
        for chunk in context.read_chunks(stream=True):
            if isinstance(chunk, Wait):
                yield chunk
            elif isinstance(chunk, str):
                # If text follows tool calls, keep this order.
                parts = calls.pop_parts()
                yield server_sent_event(build_response(context, [*parts, {"text": chunk}]))
            elif chunk.type == "reasoning":
                thought = {"text": chunk.chunk, "thought": True}
                yield server_sent_event(build_response(context, [thought]))
            else:
                # A refusal is not a chunk: the last response contains it.
                calls.add(chunk)
        # Gemini does not stream arguments: it sends complete tool calls with the finish reason.
        last = build_response(context, calls.pop_parts() or [{"text": ""}], is_last=True)
        yield server_sent_event(last)

    def build_unknown_model_error(self, model_id: str) -> WireError:
        """Return the provider's error for a model that does not exist."""
        message = (
            f"models/{model_id} is not found for API version v1beta, or is not supported for "
            "generateContent. Call ListModels to see the list of available models and their "
            "supported methods."
        )
        return WireError(404, message)

    def encode_error_event(self, error: WireError, number: int) -> bytes:
        """Encode an error within a stream."""
        return server_sent_event(self.provider.errors.build_body(error))


PROTOCOL = Gemini()


def convert_to_camel_case(value: object) -> Any:
    """Return JSON values with the API's keys in camelCase, and the application's unchanged."""
    if isinstance(value, list):
        return [convert_to_camel_case(item) for item in value]
    if not isinstance(value, dict):
        return value
    converted = {}
    for key, item in value.items():
        name = _convert_name(key)
        converted[name] = item if name in APPLICATION_FIELDS else convert_to_camel_case(item)
    return converted


def _convert_name(name: str) -> str:
    # A name with a leading underscore does not belong to the API.
    head, *others = name.split("_")
    if not head:
        return name
    return head + "".join(part.title() for part in others)


def _replace_placeholder(schema: JSONObject | None) -> JSONObject | None:
    """Return a schema without the title that Google's SDK gives to types that are not classes.

    For `list[Recipe]`, the new title contains the title of the items, if they have one.
    """
    if schema is None or schema.get("title") != PLACEHOLDER or "properties" in schema:
        return schema
    unnamed = {name: value for name, value in schema.items() if name != "title"}
    items = schema.get("items")
    item_title = items.get("title") if isinstance(items, dict) else None
    return {"title": f"list[{item_title}]", **unnamed} if item_title else unnamed


def convert_to_json_schema(schema: object) -> Any:
    """Convert a schema of Gemini to JSON Schema.

    Gemini writes types in upper case, and has `nullable` and `propertyOrdering`.
    """
    if isinstance(schema, list):
        return [convert_to_json_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    converted: JSONObject = {}
    source: JSONObject = {}
    for name, item in schema.items():
        source[_convert_name(name)] = item
    for name, item in source.items():
        if name not in GEMINI_SCHEMA_FIELDS:
            converted[name] = _convert_schema_field(name, item)
    kind = source.get("type")
    if isinstance(kind, str):
        converted["type"] = kind.lower()
        if source.get("nullable"):
            converted["type"] = [kind.lower(), "null"]
    return converted


def _convert_schema_field(name: str, value: object) -> Any:
    if name == "properties" and isinstance(value, dict):
        # The application chooses the keys of properties, so only their schemas are converted.
        return {key: convert_to_json_schema(schema) for key, schema in value.items()}
    return convert_to_json_schema(value) if name in NESTED_SCHEMAS else value


def build_response(
    context: ResponseContext, parts: list[JSONObject], is_last: bool = False
) -> JSONObject:
    """Return a response object; a stream has several."""
    candidate: JSONObject = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if is_last:
        refusal = context.answer.reply.refusal
        if context.get_finish_reason() == PROMPT_BLOCKED:
            return _build_blocked_response(context, refusal)
        if refusal is not None:
            candidate = {"index": 0, "finishMessage": refusal, "safetyRatings": [SAFETY_RATING]}
        candidate["finishReason"] = GOOGLE.get_finish_reason(context.get_finish_reason())
        usage = _build_usage(context)
    else:
        # The output is counted in the last event only.
        usage = {"promptTokenCount": context.input_tokens}
    response = {
        "candidates": _repeat_candidate(context, candidate),
        "usageMetadata": usage,
        "modelVersion": context.model,
        "responseId": f"mock-{context.number}",
    }
    if not context.sends_usage:
        del response["usageMetadata"]
    return response


def _build_blocked_response(context: ResponseContext, reason: str | None) -> JSONObject:
    """Return the response to a prompt that is blocked.

    Args:
        context: the call and its reply.
        reason: the explanation, which only Vertex AI sends.
    """
    feedback: JSONObject = {"blockReason": "SAFETY", "safetyRatings": [SAFETY_RATING]}
    sent = context.request.sent
    if reason and sent is not None and sent.host.endswith("aiplatform.googleapis.com"):
        feedback["blockReasonMessage"] = reason
    response: JSONObject = {
        "promptFeedback": feedback,
        "modelVersion": context.model,
        "responseId": f"mock-{context.number}",
    }
    if context.sends_usage:
        tokens = context.input_tokens
        response["usageMetadata"] = {"promptTokenCount": tokens, "totalTokenCount": tokens}
    return response


def _repeat_candidate(context: ResponseContext, candidate: JSONObject) -> list[JSONObject]:
    """Return the requested number of candidates, which all contain the reply."""
    count = context.request.count_candidates()
    if count == 1:
        return [candidate]
    return [{**candidate, "index": index} for index in range(count)]


def _build_usage(context: ResponseContext) -> dict[str, int]:
    details = context.usage_details
    # Google counts thoughts separately from the output, and tool results from the input.
    parts = {}
    for name in USAGE_PARTS:
        if isinstance(details.get(name), int) and details[name]:
            parts[name] = details[name]
    prompt_tokens = context.input_tokens - parts.get("toolUsePromptTokenCount", 0)
    answer_tokens = context.output_tokens - parts.get("thoughtsTokenCount", 0)
    return {
        "promptTokenCount": max(prompt_tokens, 0),
        "candidatesTokenCount": max(answer_tokens, 0),
        "totalTokenCount": context.input_tokens + context.output_tokens,
        **parts,
    }


def build_part(part: str | ToolCallText) -> JSONObject:
    """Return the part of a text or a tool call."""
    if isinstance(part, str):
        return {"text": part}
    arguments = encode_arguments(part.arguments)
    return {"functionCall": {"id": part.id, "name": part.name, "args": arguments}}


class FunctionCalls(ToolCallCollector):
    """The tool calls of a streamed response that have not been sent yet."""

    def pop_parts(self) -> list[JSONObject]:
        """Remove and return the parts of the collected tool calls."""
        parts = [build_part(call) for call in self.finish()]
        self._calls.clear()
        return parts


def _parse_content(content: str | JSONObject | list[object] | None) -> list[Message]:
    if isinstance(content, str):
        return [make_text_part(content)] if content else []
    given = content.get("parts") if isinstance(content, dict) else content
    # The API accepts a single part instead of a list.
    items = [given] if isinstance(given, dict) else given or ()
    parts: list[Message] = []
    for item in items:
        if isinstance(item, dict):
            parts += _parse_part(item)
    return parts


def _parse_part(part: JSONObject) -> Iterator[Message]:
    """Yield the parts of a part of a message; none for an unknown type."""
    text = part.get("text")
    call = part.get("functionCall")
    result = part.get("functionResponse")
    data = part.get("inlineData")
    file = part.get("fileData")
    if isinstance(text, str):
        yield {"type": "reasoning" if part.get("thought") else "text", "text": text}
    elif call:
        name = str(call.get("name"))
        yield make_tool_call_part(name, call.get("args") or {}, call.get("id"))
    elif result:
        output = _unwrap_output(result.get("response"))
        yield make_tool_result_part(output, result.get("id"), result.get("name"))
        # Results are text in the core, so images in them become parts of the message.
        yield from _parse_content(result.get("parts"))
    elif data:
        content = str(data.get("data") or "")
        yield make_base64_part(content, data.get("mimeType"))
    elif file:
        url = str(file.get("fileUri") or "")
        yield make_url_part(url, file.get("mimeType"))


def _unwrap_output(response: object) -> Any:
    """Return the output of a function, unwrapped, as clients wrap non-objects in an object."""
    if not isinstance(response, dict):
        return response
    for name in ("result", "output", "return_value"):
        if response.keys() == {name}:
            return response[name]
    if response.keys() == {"name", "content"}:
        return response["content"]
    return response


def get_tools(body: JSONObject) -> list[JSONObject]:
    """Return the tools of a request, where a single tool needs no list."""
    tools = body.get("tools") or []
    return [tools] if isinstance(tools, dict) else tools


def _parse_tools(body: JSONObject) -> list[Tool]:
    tools = []
    for tool in get_tools(body):
        for function in tool.get("functionDeclarations") or ():
            schema = function.get("parametersJsonSchema")
            schema = schema or convert_to_json_schema(function.get("parameters"))
            name = str(function.get("name"))
            tools.append(Tool(name, function.get("description"), schema))
    return tools


def _parse_tool_choice(config: object) -> str | None:
    calling = config.get("functionCallingConfig") if isinstance(config, dict) else None
    if not isinstance(calling, dict):
        return None
    allowed = list(calling.get("allowedFunctionNames") or [])
    mode = calling.get("mode")
    if mode == "ANY" and len(allowed) == 1:
        # A single allowed function that must be called is a named tool choice.
        return str(allowed[0])
    return CALLING_MODES.get(str(mode), mode)
