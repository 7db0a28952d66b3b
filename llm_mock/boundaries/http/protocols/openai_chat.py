"""OpenAI's Chat Completions API, which most other providers offer too.

See https://platform.openai.com/docs/api-reference/chat.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from pydantic_core import to_json

from llm_mock.boundaries.http.body_types import CHAT
from llm_mock.boundaries.http.chunks import (
    CompleteReply,
    ResponseContext,
    ToolCallText,
    collect_reply,
)
from llm_mock.boundaries.http.protocols.protocol import (
    add_schema_title,
    extract_options,
    join_text,
    make_attachment_part,
    make_base64_part,
    make_file_part,
    make_text_part,
    make_url_part,
    parse_allowed_tools,
    parse_json_body,
    parse_json_or_text,
    parse_parts,
    read_model,
    validate_body,
)
from llm_mock.boundaries.http.providers.descriptor import ProviderDescriptor
from llm_mock.boundaries.http.providers.openai import OPENAI
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

    provider: ProviderDescriptor = OPENAI
    # OpenAI sends no reasoning here; most other providers use this name for it.
    reasoning_field = "reasoning_content"
    """The field of a message that has its reasoning."""
    refusal_field = "refusal"
    """The field of a message that has its refusal."""
    system_fingerprint: str | None = None
    """The fingerprint of the model's configuration; OpenAI sends none for its newest models."""

    def build_response_head(self, context: ResponseContext, kind: str) -> JSONObject:
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

    def parse_request(self, sent: WireRequest, mock: Mock) -> HTTPRequest:
        """Parse the body of a request."""
        body = parse_json_body(sent.body)
        model = read_model(body, sent)
        required = ("messages",) if model else ("model", "messages")
        validate_body(body, CHAT, self.provider.errors, *required)
        messages: list[JSONObject] = body["messages"]
        if not messages:
            message = (
                "Invalid 'messages': empty array. Expected an array with minimum length 1, but "
                "got an empty array instead."
            )
            raise WireError(400, message, code="empty_array", param="messages")
        system = []
        conversation = []
        for message_json in messages:
            if message_json.get("role") in SYSTEM_ROLES:
                system.append(_parse_message_text(message_json))
            else:
                conversation.append(_parse_message(message_json))
        return HTTPRequest(
            model,
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
            provider=self.provider.name,
        )

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        message: JSONObject = {
            "role": "assistant",
            "content": reply.text,
            "refusal": None,
            "annotations": [],
        }
        if reply.tool_calls:
            # The content is null beside tool calls, and empty without them.
            message["content"] = reply.text or None
            message["tool_calls"] = [_build_tool_call(call) for call in reply.tool_calls]
        if reply.refusal is not None:
            message["content"] = None
            message["refusal"] = reply.refusal
        if reply.reasoning:
            message[self.reasoning_field] = reply.reasoning
        choices = []
        for index in range(context.request.count_candidates()):
            choice = {
                "index": index,
                "message": message,
                "logprobs": None,
                "finish_reason": reply.finish_reason,
            }
            choices.append(choice)
        body = {
            **self.build_response_head(context, "chat.completion"),
            "choices": choices,
            "usage": build_usage(context),
            "service_tier": context.answer.reply.service_tier or "default",
            "system_fingerprint": self.system_fingerprint,
        }
        if not context.sends_usage:
            del body["usage"]
        if context.request.body.get("store"):
            # Imported late: few applications store completions.
            from llm_mock.boundaries.http.stored_objects import store_completion

            store_completion(context, body)
        return body

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response."""
        head = self.build_response_head(context, "chat.completion.chunk")
        head["service_tier"] = context.answer.reply.service_tier or "default"
        head["system_fingerprint"] = self.system_fingerprint
        # Encoded once, as most of a chunk is the same in each.
        start = to_json(head)[:-1] + b',"choices":[{"index":0,"delta":'
        options = context.request.body.get("stream_options")
        with_usage = isinstance(options, dict) and bool(options.get("include_usage"))
        # A server that sends no usage ignores the option.
        with_usage = with_usage and context.sends_usage
        # With usage enabled, all chunks except the last have `"usage": null`.
        end = b'}],"usage":null}' if with_usage else b"}]}"

        count = context.request.count_candidates()

        def encode(delta: JSONObject, finish_reason: str | None = None) -> bytes:
            reason = b"null" if finish_reason is None else to_json(finish_reason)
            parts = (start, to_json(delta), reason, end)
            event = b'data: %b%b,"logprobs":null,"finish_reason":%b%b\n\n' % parts
            return event if count == 1 else repeat_choice(event, count)

        if context.answer.reply.refusal is None:
            yield encode({"role": "assistant", "content": "", "refusal": None})
        else:
            yield encode({"role": "assistant", "content": None, "refusal": ""})
        positions: dict[str, int] = {}
        build_tool_call_delta = functools.partial(_build_tool_call_delta, positions)
        yield from self._encode_chunks(context, encode, build_tool_call_delta)
        # The finish reason has its own chunk, after the last delta.
        yield encode({}, context.get_finish_reason())
        if with_usage:
            yield server_sent_event({**head, "choices": [], "usage": build_usage(context)})
        if context.request.body.get("store"):
            # Build the body of the whole reply, which also stores the completion.
            copied = ResponseContext(context.request, context.answer, context.mock)
            self.build_body(copied, collect_reply(copied))
        yield server_sent_event("[DONE]")

    def _encode_chunks(
        self,
        context: ResponseContext,
        encode: Callable[[JSONObject], bytes],
        build_tool_call_delta: Callable[[Event], JSONObject | None],
    ) -> Iterator[bytes | Wait]:
        """Yield the events of a reply's chunks.

        Args:
            context: the call and its reply.
            encode: encodes a delta of the message as an event.
            build_tool_call_delta: returns the delta for a chunk of a tool call, or None if the
                API sends tool calls later.
        """
        for chunk in context.read_chunks(stream=True):
            if isinstance(chunk, Wait):
                yield chunk
            elif isinstance(chunk, str):
                yield encode({"content": chunk})
            elif chunk.type == "reasoning":
                yield encode(self.build_reasoning_delta(chunk.chunk))
            elif chunk.type == "refusal":
                yield encode({self.refusal_field: chunk.chunk})
            elif chunk.type in ("tool_call_name", "tool_call_args"):
                delta = build_tool_call_delta(chunk)
                if delta is not None:
                    yield encode(delta)

    def build_reasoning_delta(self, text: str) -> JSONObject:
        """Return the delta of a message for a part of its reasoning."""
        return {self.reasoning_field: text}

    def build_unknown_model_error(self, model_id: str) -> WireError:
        """Return the provider's error for a model that does not exist."""
        message = f"The model `{model_id}` does not exist or you do not have access to it."
        return WireError(404, message, code="model_not_found")

    def encode_error_event(self, error: WireError, number: int) -> bytes:
        """Encode an error within a stream."""
        return server_sent_event(self.provider.errors.build_body(error))


PROTOCOL = OpenAIChat()


def build_usage(context: ResponseContext) -> JSONObject:
    """Return the usage object of a call."""
    details = context.usage_details
    prompt_details = details.get("prompt_tokens_details") or {}
    completion_details = details.get("completion_tokens_details") or {}
    return {
        "prompt_tokens": context.input_tokens,
        "completion_tokens": context.output_tokens,
        "total_tokens": context.input_tokens + context.output_tokens,
        "prompt_tokens_details": {**NO_PROMPT_DETAILS, **prompt_details},
        "completion_tokens_details": {**NO_COMPLETION_DETAILS, **completion_details},
    }


def repeat_choice(event: bytes, count: int) -> bytes:
    """Return the event of a stream's first choice, followed by the same event for each other."""
    events = [event]
    for index in range(1, count):
        other = b'"choices":[{"index":%d,' % index
        events.append(event.replace(b'"choices":[{"index":0,', other, 1))
    return b"".join(events)


def _build_tool_call(call: ToolCallText) -> JSONObject:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def _build_tool_call_delta(positions: dict[str, int], chunk: Event) -> JSONObject:
    """Return the delta of a message for a name or for arguments of a tool call.

    Args:
        positions: the position of each tool call so far, by its id; a new call is added.
        chunk: the event.
    """
    call_id = chunk.tool_call_id or ""
    position = positions.setdefault(call_id, len(positions))
    call: JSONObject = {"index": position}
    if chunk.type == "tool_call_args":
        call["function"] = {"arguments": chunk.chunk}
    else:
        # Only the first delta of a call has its id and type; after it, clients use the index.
        call["id"] = call_id
        call["type"] = "function"
        call["function"] = {"name": chunk.chunk, "arguments": ""}
    return {"tool_calls": [call]}


def _parse_message_text(message: JSONObject) -> str:
    return join_text(parse_parts(message.get("content"), _parse_part))


def _parse_part(part: JSONObject) -> Message | None:
    """Parse a part of a message; None for an unknown type."""
    kind = part.get("type")
    if kind in ("text", "refusal"):
        return make_text_part(str(part.get(kind) or ""))
    if kind in ("image_url", "document_url"):
        value = part.get(kind)
        # Mistral takes the bare URL too, where OpenAI wants `{"url": …}`.
        url = value.get("url") if isinstance(value, dict) else value
        return make_url_part(str(url or ""))
    if kind == "input_audio":
        return _parse_audio(part.get("input_audio"))
    if kind == "file":
        return _parse_file({**part, **(part.get("file") or {})})
    if kind == "thinking":
        return _parse_thinking(part.get("thinking"))
    return None


def _parse_audio(audio: str | JSONObject | None) -> Message:
    """Parse audio: an object of OpenAI, or a URL or bare base64 of Mistral."""
    if isinstance(audio, str):
        return make_url_part(audio) if ":" in audio else make_base64_part(audio, None)
    audio = audio or {}
    data = str(audio.get("data") or "")
    return make_base64_part(data, f"audio/{audio.get('format')}")


def _parse_file(file: JSONObject) -> Message:
    """Parse a file: its data, or the id of an uploaded file."""
    data = file.get("file_data")
    if data:
        return make_file_part(str(data), file.get("filename"))
    return make_attachment_part(None, str(file.get("file_id") or ""))


def _parse_thinking(chunks: list[JSONObject] | None) -> Message:
    """Parse the thinking of Mistral: a list of texts."""
    texts = [str(chunk.get("text") or "") for chunk in chunks or ()]
    return {"type": "reasoning", "text": "\n".join(texts)}


def _parse_message(message: JSONObject) -> Message:
    role = message.get("role")
    if role in ("tool", "function"):
        call_id = message.get("tool_call_id")
        part = make_tool_result_part(_parse_message_text(message), call_id, message.get("name"))
        return {"role": "tool", "parts": [part]}
    parts = parse_parts(message.get("content"), _parse_part)
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if reasoning:
        parts.insert(0, {"type": "reasoning", "text": str(reasoning)})
    # A refusal is in its own field, or in a part of the content.
    if message.get("refusal"):
        parts.append(make_text_part(str(message["refusal"])))
    # `function_call` was the name before tool calls; it has no id.
    if message.get("function_call"):
        parts.append(_parse_tool_call({"function": message["function_call"]}))
    for call in message.get("tool_calls") or ():
        parts.append(_parse_tool_call(call))
    return {"role": str(role), "parts": parts}


def _parse_tool_call(call: JSONObject) -> Message:
    """Parse a call to a function, or to a custom tool, which gets a text."""
    function = call.get("function") or call.get("custom") or {}
    arguments = function.get("arguments", function.get("input"))
    name = str(function.get("name"))
    return make_tool_call_part(name, parse_json_or_text(arguments), call.get("id"))


def _parse_tools(body: JSONObject) -> list[Tool]:
    """Parse the tools on offer, without those that the provider runs itself."""
    declarations = list(body.get("tools") or ())
    # `functions` was the name before tools; old clients still send it.
    for function in body.get("functions") or ():
        declarations.append({"function": function})
    tools = []
    for declaration in declarations:
        function = declaration.get("function") or declaration.get("custom")
        if isinstance(function, dict) and function.get("name"):
            name = str(function["name"])
            tools.append(Tool(name, function.get("description"), function.get("parameters")))
    return tools


def _parse_schema(response_format: object) -> JSONObject | None:
    if not isinstance(response_format, dict):
        return None
    json_schema = response_format.get("json_schema")
    if not isinstance(json_schema, dict):
        return None
    return add_schema_title(json_schema.get("schema"), json_schema.get("name"))


def _parse_tool_choice(choice: str | JSONObject | None) -> str | None:
    if isinstance(choice, dict):
        allowed = choice.get("allowed_tools")
        if isinstance(allowed, dict):
            tools = [_get_function(tool) for tool in allowed.get("tools") or ()]
            return parse_allowed_tools(allowed.get("mode"), tools)
        function = _get_function(choice)
        return str(function["name"]) if function.get("name") else None
    # "any" is Mistral's word.
    return "required" if choice == "any" else choice


def _get_function(choice: JSONObject) -> JSONObject:
    """Return the object that has the name of a tool, by the type of the tool."""
    function = choice.get("function") or choice.get("custom") or choice
    return function if isinstance(function, dict) else {}
