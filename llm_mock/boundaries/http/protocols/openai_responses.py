"""OpenAI's Responses API. See https://platform.openai.com/docs/api-reference/responses."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator

from pydantic_core import to_json

from llm_mock.boundaries.http.body_types import RESPONSES
from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext, ToolCallText
from llm_mock.boundaries.http.protocols.protocol import (
    add_schema_title,
    extract_options,
    join_text,
    make_base64_part,
    make_file_part,
    make_text_part,
    make_url_part,
    parse_allowed_tools,
    parse_json_body,
    parse_json_or_text,
    parse_parts,
    remove_format,
    validate_body,
)
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
from llm_mock.core.mock import MAX_STORED_OBJECTS, Mock
from llm_mock.support.json_types import JSONObject

SYSTEM_ROLES = ("system", "developer")
PARSED_FIELDS = (
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "stream",
    "previous_response_id",
)
"""The fields of a request that are not options."""
INPUT_FIELDS = ("input", "previous_response_id", "prompt", "conversation")
"""The fields of a request, at least one of which must be present."""
EARLIER_FIELDS = {"previous_response_id", "conversation"}
"""The fields of a request that name a previous response or a conversation."""
URL_FIELDS = {"input_image": ("image_url", "file_id"), "input_file": ("file_url", "file_id")}
"""The fields of a part that may contain its URL, in order of preference."""
INCOMPLETE_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""The reasons of an incomplete response, by the finish reasons of Chat Completions."""
ENCRYPTED_REASONING = "bW9jaw=="
"""The content of reasoning that clients send back with it."""
NO_INPUT_DETAILS = {"cached_tokens": 0, "cache_write_tokens": 0}
DELTA_NAMES = {
    "message": "output_text",
    "refusal": "refusal",
    "reasoning": "reasoning_summary_text",
    "function_call": "function_call_arguments",
}
"""The name of a delta event, by the type of its item."""


MESSAGE_KINDS = ("message", "refusal")
"""The types of items in `DELTA_NAMES` that are messages."""


class OpenAIResponses:
    """`POST …/responses`."""

    provider = OPENAI

    def parse_request(self, sent: WireRequest, mock: Mock) -> HTTPRequest:
        """Parse the body of a request."""
        errors = self.provider.errors
        body = validate_body(parse_json_body(sent.body), RESPONSES, errors)
        model = body.get("model")
        if model is None:
            model = _get_template_id(body)
        if all(body.get(name) is None for name in INPUT_FIELDS):
            raise self._build_missing_input_error(body)
        items = body.get("input")
        if items is None:
            items = []
        if isinstance(items, str):
            items = [{"role": "user", "content": items}]
        # The instructions come before the system messages, as the model gets them.
        system = [str(body["instructions"])] if body.get("instructions") else []
        others = []
        for item in items:
            if item.get("role") in SYSTEM_ROLES:
                system.append(_get_item_text(item))
            else:
                others.append(item)
        tools = _parse_tools(body)
        schema = _parse_schema(body.get("text"))
        tool_choice = _parse_tool_choice(body.get("tool_choice"))
        messages = _parse_items(others)
        if not EARLIER_FIELDS.isdisjoint(body):
            messages = [*_load_earlier_messages(body, mock, sent), *messages]
        return HTTPRequest(
            model,
            messages,
            api="responses",
            system="\n".join(system),
            tools=tools,
            schema=schema,
            options=extract_options(remove_format(body, "text", "format"), *PARSED_FIELDS),
            stream=bool(body.get("stream")),
            tool_choice=tool_choice,
            sent=sent,
            body=body,
            provider=self.provider.name,
        )

    def _build_missing_input_error(self, body: JSONObject) -> WireError:
        """Return the error for a body without an input."""
        # OpenAI names the parameter of Chat Completions:
        # https://github.com/madox2/vim-ai/issues/162
        if body.get("messages") is not None:
            # Imported late: few requests are malformed.
            from llm_mock.boundaries.http.request_rules.openai_errors import make_moved_error

            return make_moved_error("messages", "input")
        return self.provider.errors.build_missing_field_error("input")

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        output: list[JSONObject] = []
        if context.answer.reply.reasoning is not None or reply.reasoning:
            output.append(build_reasoning_item(context, reply.reasoning))
        if reply.refusal is not None:
            output.append(build_refusal_item(context, reply.refusal, len(output)))
        else:
            for part in reply.parts:
                if isinstance(part, str):
                    output.append(build_message_item(context, part, len(output)))
                else:
                    output.append(build_function_call_item(part))
        response = finish_response(context, output, reply.finish_reason)
        if context.request.body.get("background"):
            # Imported late: few applications use the background.
            from llm_mock.boundaries.http.stored_objects import start_in_background

            return start_in_background(context.mock, response)
        return response

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Return the events of a streamed response."""
        return ResponseStream(context).build_events()

    def build_unknown_model_error(self, model_id: str) -> WireError:
        """Return the provider's error for a model that does not exist."""
        # The status and the words differ from those of Chat Completions.
        message = f"The requested model '{model_id}' does not exist."
        error = {
            "message": message,
            "type": "invalid_request_error",
            "param": "model",
            "code": "model_not_found",
        }
        return WireError(400, message, body={"error": error})

    def encode_error_event(self, error: WireError, number: int) -> bytes:
        """Encode an error within a stream."""
        # OpenAI sends the details in `error`, although its reference has them at the top level.
        data = {
            "type": "error",
            **self.provider.errors.build_body(error),
            "sequence_number": number,
        }
        return server_sent_event(data, "error")


PROTOCOL = OpenAIResponses()


def parse_partial_request(
    sent: WireRequest, mock: Mock, default_model: str | None = None
) -> HTTPRequest:
    """Parse a request that has the fields of Responses, but perhaps no input.

    Args:
        sent: the request.
        mock: the mock that answers.
        default_model: the model of a request that names none; None if it must name one.
    """
    body = parse_json_body(sent.body)
    defaults: JSONObject = {"model": default_model, "input": []}
    given = {name: value for name, value in body.items() if value is not None}
    filled = sent._replace(body=to_json({**defaults, **given}))
    return PROTOCOL.parse_request(filled, mock)


def _get_template_id(body: JSONObject) -> str:
    """Return the id of the prompt template, which sets the model.

    Raises:
        WireError: the request has no prompt template, so the model is missing.
    """
    prompt = body.get("prompt")
    template_id = prompt.get("id") if isinstance(prompt, dict) else None
    if not isinstance(template_id, str):
        raise OPENAI.errors.build_missing_field_error("model")
    return template_id


def _load_earlier_messages(body: JSONObject, mock: Mock, sent: WireRequest) -> list[Message]:
    """Return the earlier messages of a request, from a stored response or a conversation.

    Raises:
        WireError: the mock stores no object with this id.
    """
    conversation = body.get("conversation")
    response_id = body.get("previous_response_id")
    # A rule refuses both at once, whether or not they exist.
    if conversation and response_id:
        return []
    if conversation:
        # Imported late: few applications use conversations.
        from llm_mock.boundaries.http.stored_objects import continue_conversation

        return _parse_items(continue_conversation(conversation, mock).items)
    if not response_id:
        return []
    stored = mock.stored_objects.get(response_id)
    if stored is None:
        stored = mock.stored_objects.get(_get_connection_id(sent, response_id))
    if not isinstance(stored, tuple):
        # A request that a cassette answers may continue a response that was not recorded.
        if stored is None and mock.cassette is not None:
            return []
        message = f"Previous response with id '{response_id}' not found."
        raise WireError(
            400, message, code="previous_response_not_found", param="previous_response_id"
        )
    messages, response, _ = stored
    return [*messages, *_parse_items(response["output"])]


def _get_connection_id(sent: WireRequest | None, response_id: object) -> str:
    """Return the id of a response that only its connection can continue; empty for HTTP.

    A WebSocket continues its own responses, even if the client forbids storing them:
    https://developers.openai.com/api/docs/guides/websocket-mode.
    """
    key = None if sent is None else sent.headers.get("sec-websocket-key")
    return "" if key is None else f"connection {key} {response_id}"


def _parse_items(items: list[JSONObject]) -> list[Message]:
    """Parse the items of a conversation; items of unknown types are skipped."""
    messages = []
    for item in items:
        message = _parse_item(item)
        if message is not None:
            messages.append(message)
    return messages


def _parse_item(item: JSONObject) -> Message | None:
    kind = item.get("type") or "message"
    if kind == "message":
        parts = parse_parts(item.get("content"), _parse_part)
        return {"role": str(item.get("role")), "parts": parts}
    if kind in ("function_call", "custom_tool_call"):
        arguments = parse_json_or_text(item.get("arguments", item.get("input")))
        name = str(item.get("name"))
        call = make_tool_call_part(name, arguments, item.get("call_id"))
        return {"role": "assistant", "parts": [call]}
    if kind in ("function_call_output", "custom_tool_call_output"):
        return {"role": "tool", "parts": _parse_output(item)}
    if kind == "reasoning":
        # OpenAI sends a summary; models of other providers send the whole reasoning.
        parts = parse_parts(item.get("summary"), _parse_reasoning_part)
        parts += parse_parts(item.get("content"), _parse_reasoning_part)
        return {"role": "assistant", "parts": parts} if parts else None
    return None


def _parse_output(item: JSONObject) -> list[Message]:
    """Parse the output of a tool: its text as the result, and its images and files."""
    output = item.get("output")
    if isinstance(output, str):
        return [make_tool_result_part(output, item.get("call_id"))]
    parts = parse_parts(output, _parse_part)
    files = [part for part in parts if part["type"] == "attachment"]
    return [make_tool_result_part(join_text(parts), item.get("call_id")), *files]


def _parse_reasoning_part(part: JSONObject) -> Message | None:
    """Parse a part of reasoning; None for a part without text, as in encrypted reasoning."""
    text = part.get("text")
    return {"type": "reasoning", "text": str(text)} if text else None


def _get_item_text(item: JSONObject) -> str:
    return join_text(parse_parts(item.get("content"), _parse_part))


def _parse_part(part: JSONObject) -> Message | None:
    """Parse a part of a message; None for an unknown type."""
    kind = part.get("type")
    if kind in ("input_text", "output_text", "text"):
        return make_text_part(str(part.get("text") or ""))
    if kind == "refusal":
        return make_text_part(str(part.get("refusal") or ""))
    return _parse_file_part(part)


def _parse_file_part(part: JSONObject) -> Message | None:
    """Parse an image, a file or audio; None for an unknown type."""
    kind = part.get("type")
    # Data takes precedence: the model gets only this, even if other fields name the file.
    if kind == "input_file" and part.get("file_data"):
        return make_file_part(str(part["file_data"]), part.get("filename"))
    if kind in URL_FIELDS:
        urls = (part.get(name) for name in URL_FIELDS[kind])
        first_url = next(filter(None, urls), "")
        return make_url_part(str(first_url))
    if kind == "input_audio":
        audio = part.get("input_audio") or {}
        data = str(audio.get("data") or "")
        return make_base64_part(data, f"audio/{audio.get('format')}")
    return None


def _parse_tools(body: JSONObject) -> list[Tool]:
    tools = []
    for tool in body.get("tools") or ():
        # Other types, such as `web_search`, are run by OpenAI itself.
        if tool.get("type") in ("function", "custom") and tool.get("name"):
            name = str(tool["name"])
            tools.append(Tool(name, tool.get("description"), tool.get("parameters")))
    return tools


def _parse_schema(text_config: object) -> JSONObject | None:
    text_format = text_config.get("format") if isinstance(text_config, dict) else None
    if not isinstance(text_format, dict):
        return None
    return add_schema_title(text_format.get("schema"), text_format.get("name"))


def _parse_tool_choice(choice: object) -> str | None:
    if not isinstance(choice, dict):
        return choice if isinstance(choice, str) else None
    kind = choice.get("type")
    if kind == "allowed_tools":
        return parse_allowed_tools(choice.get("mode"), choice.get("tools") or ())
    # A tool that OpenAI runs itself has its type as name.
    name = choice.get("name") or kind
    return None if name is None else str(name)


def store_provider_response(mock: Mock | None, request: HTTPRequest, data: object) -> None:
    """Store a response of the provider, so that later requests can refer to it.

    Args:
        mock: the mock that stores it.
        request: the request.
        data: the response: its body, one event of its stream, or a list of all events.
    """
    for body in data if isinstance(data, list) else [data]:
        response = body.get("response", body) if isinstance(body, dict) else None
        # A test may leave out fields that its application does not read.
        if not isinstance(response, dict) or response.get("object", "response") != "response":
            continue
        if response.get("output"):
            items = [item for item in response["output"] if isinstance(item, dict)]
            # A copy, because the recording replaces the texts of the original by placeholders.
            store_response(mock, request, copy.deepcopy({**response, "output": items}))


def store_response(mock: Mock | None, request: HTTPRequest, response: JSONObject) -> None:
    """Store a response with the conversation before it, unless the request forbids that."""
    if mock is None:
        return
    object_id = str(response.get("id"))
    if response.get("store") is False:
        object_id = _get_connection_id(request.sent, object_id)
        if not object_id:
            return
    # Same as `Mock.store_object`, inlined for speed, as this runs for each call.
    objects = mock.stored_objects
    objects[object_id] = (request.conversation, response, request.body)
    limit = mock.history.limit
    if limit is None:
        limit = MAX_STORED_OBJECTS
    if len(objects) > limit:
        mock.drop_oldest_object()
    if request.body.get("conversation"):
        from llm_mock.boundaries.http.stored_objects import extend_conversation

        extend_conversation(mock, request.body, response)


def _build_empty_message_item(context: ResponseContext, index: int) -> JSONObject:
    """Return a message item before its text, at an index of the output."""
    # All events of the item have the same id, as SDKs match them by it.
    suffix = f"_{index}" if index > 1 else ""
    return {
        "id": f"msg_mock_{context.number}{suffix}",
        "type": "message",
        "role": "assistant",
        "status": "in_progress",
        "content": [],
    }


def build_message_item(context: ResponseContext, text: str, index: int) -> JSONObject:
    """Return a message item with its text, at an index of the output."""
    content = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    item = _build_empty_message_item(context, index)
    return {**item, "status": "completed", "content": [content]}


def build_refusal_item(context: ResponseContext, text: str, index: int) -> JSONObject:
    """Return a message item that refuses to answer, at an index of the output."""
    item = _build_empty_message_item(context, index)
    content = {"type": "refusal", "refusal": text}
    return {**item, "status": "completed", "content": [content]}


def build_reasoning_item(context: ResponseContext, text: str) -> JSONObject:
    """Return the reasoning item of a reply."""
    summary = [{"type": "summary_text", "text": text}] if text else []
    item = {"id": f"rs_mock_{context.number}", "type": "reasoning", "summary": summary}
    if "reasoning.encrypted_content" in (context.request.body.get("include") or ()):
        item["encrypted_content"] = ENCRYPTED_REASONING
    return item


def build_function_call_item(call: ToolCallText, status: str = "completed") -> JSONObject:
    """Return the item of a tool call."""
    return {
        "id": f"fc_{call.id}",
        "type": "function_call",
        "status": status,
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
    }


def build_response_object(
    context: ResponseContext, status: str, output: list[JSONObject]
) -> JSONObject:
    """Return a response object without usage.

    Args:
        context: the call and its reply.
        status: `in_progress`, `completed` or `incomplete`.
        output: its items.
    """
    body = context.request.body
    # SDKs validate the whole object, which repeats the request's settings or their defaults.
    response = {
        "id": f"resp_mock_{context.number}",
        "object": "response",
        "created_at": context.created,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "metadata": body.get("metadata") or {},
        "model": context.model,
        "output": output,
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": None, "summary": None, **(body.get("reasoning") or {})},
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "top_p": body.get("top_p", 1.0),
        "truncation": body.get("truncation") or "disabled",
        "usage": None,
    }
    tier = context.answer.reply.service_tier
    if tier is not None:
        response["service_tier"] = _choose_service_tier(body, status, tier)
    if body.get("background"):
        response["background"] = True
    if body.get("conversation"):
        from llm_mock.boundaries.http.stored_objects import get_object_id

        response["conversation"] = {"id": get_object_id(body["conversation"])}
    return response


def _choose_service_tier(body: JSONObject, status: str, tier: str) -> str:
    """Return the tier of a response; before its end, OpenAI repeats the request's tier."""
    if status == "in_progress":
        tier = body.get("service_tier") or "auto"
    return tier


def finish_response(context: ResponseContext, output: list[JSONObject], reason: str) -> JSONObject:
    """Return a finished response, and store it for the next request of its conversation.

    Args:
        context: the call and its reply.
        output: the items.
        reason: the finish reason in the terms of Chat Completions.
    """
    if reason in INCOMPLETE_REASONS and output and "status" in output[-1]:
        # The last item, in which the answer ended; reasoning has no status.
        output[-1]["status"] = "incomplete"
    if reason in INCOMPLETE_REASONS:
        body = build_response_object(context, "incomplete", output)
        body["incomplete_details"] = {"reason": INCOMPLETE_REASONS[reason]}
    else:
        body = build_response_object(context, "completed", output)
    # Null if no usage is sent, as before the end of a response.
    if context.sends_usage:
        body["usage"] = _build_usage(context)
    store_response(context.mock, context.request, body)
    return body


def _build_usage(context: ResponseContext) -> JSONObject:
    details = context.usage_details
    input_details = details.get("input_tokens_details") or {}
    output_details = details.get("output_tokens_details") or {}
    return {
        "input_tokens": context.input_tokens,
        "input_tokens_details": {**NO_INPUT_DETAILS, **input_details},
        "output_tokens": context.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0, **output_details},
        "total_tokens": context.input_tokens + context.output_tokens,
    }


class ResponseStream:
    """A streamed response, whose items are opened, filled and closed one after the other.

    Args:
        context: the call and its reply.
    """

    def __init__(self, context: ResponseContext) -> None:
        self.context = context
        self._numbers = itertools.count()
        """The numbers of the events."""
        self.output: list[JSONObject] = []
        """The closed items."""
        self.open_item: tuple[str, str] | None = None
        """The type of the open item, and the id of its tool call."""
        self.position: JSONObject = {}
        """The fields that locate the open item in the response."""
        # The name is part of an item's final event, long after the chunk that has it.
        self._tool_names: dict[str, str] = {}
        """The names of the called tools, by the ids of their calls."""
        self.text = ""
        """The text or the arguments of the open item so far."""

    def build_events(self) -> Iterator[bytes | Wait]:
        """Yield the events, and the waits between them."""
        context = self.context
        response = build_response_object(context, "in_progress", [])
        if context.request.body.get("background"):
            queued = {**response, "status": "queued"}
            yield self.encode("response.created", {"response": queued})
            yield self.encode("response.queued", {"response": queued})
        else:
            yield self.encode("response.created", {"response": response})
        yield self.encode("response.in_progress", {"response": response})
        for chunk in context.read_chunks(stream=True):
            if isinstance(chunk, Wait):
                yield chunk
            else:
                yield from self.add_chunk(chunk)
        if self.open_item is None and not self.output:
            # An empty reply has one empty message, as in a response that is not streamed.
            yield from self._open("message", "")
        reason = context.get_finish_reason()
        yield from self.close("incomplete" if reason in INCOMPLETE_REASONS else "completed")
        final = finish_response(context, self.output, reason)
        yield self.encode(f"response.{final['status']}", {"response": final})

    def encode(self, kind: str, fields: JSONObject) -> bytes:
        """Encode an event with the next sequence number."""
        data = {"type": kind, "sequence_number": next(self._numbers), **fields}
        return server_sent_event(data, kind)

    def add_chunk(self, chunk: str | Event) -> list[bytes]:
        """Return the events for a chunk of the reply."""
        if isinstance(chunk, str):
            return self._add_text("message", "", chunk)
        if chunk.type == "reasoning":
            if self.context.answer.reply.reasoning == "":
                return self._add_hidden_reasoning()
            return self._add_text("reasoning", "", chunk.chunk)
        if chunk.type == "refusal":
            return self._add_text("refusal", "", chunk.chunk)
        if chunk.type == "tool_call_name":
            self._tool_names[chunk.tool_call_id or ""] = chunk.chunk
            return self._add_text("function_call", chunk.tool_call_id or "", "")
        if chunk.type == "tool_call_args":
            return self._add_text("function_call", chunk.tool_call_id or "", chunk.chunk)
        return []

    def _add_hidden_reasoning(self) -> list[bytes]:
        """Return the events for reasoning without a visible summary."""
        item = build_reasoning_item(self.context, "")
        fields = {"output_index": len(self.output), "item": item}
        self.output.append(item)
        added = self.encode("response.output_item.added", fields)
        return [added, self.encode("response.output_item.done", fields)]

    def _add_text(self, kind: str, call_id: str, text: str) -> list[bytes]:
        """Add a text to the item of a type and a call, and open the item first if necessary."""
        events = []
        # Chunks of several calls may alternate; each change of the call starts a new item.
        if self.open_item != (kind, call_id):
            events += self.close()
            events += self._open(kind, call_id)
        if text:
            self.text += text
            fields = {**self.position, "delta": text}
            if kind == "message":
                fields["logprobs"] = []
            events.append(self.encode(f"response.{DELTA_NAMES[kind]}.delta", fields))
        return events

    def _open(self, kind: str, call_id: str) -> list[bytes]:
        self.open_item = (kind, call_id)
        self.text = ""
        if kind in MESSAGE_KINDS:
            item = _build_empty_message_item(self.context, len(self.output))
        else:
            item = self._build_item(kind, call_id, "in_progress")
        index = len(self.output)
        self.position = {"item_id": item["id"], "output_index": index}
        added = self.encode("response.output_item.added", {"output_index": index, "item": item})
        # A tool call has no parts, and therefore no index of one.
        if kind == "function_call":
            return [added]
        self.position["content_index" if kind in MESSAGE_KINDS else "summary_index"] = 0
        return [added, self._encode_part("added", kind)]

    def close(self, status: str = "completed") -> list[bytes]:
        """Return the events that close the open item; none if there is none."""
        if self.open_item is None:
            return []
        kind, call_id = self.open_item
        item = self._build_item(kind, call_id, status)
        fields = {**self.position}
        if kind == "function_call":
            fields |= {"name": item["name"], "arguments": self.text}
        else:
            fields["refusal" if kind == "refusal" else "text"] = self.text
        if kind == "message":
            fields["logprobs"] = []
        events = [self.encode(f"response.{DELTA_NAMES[kind]}.done", fields)]
        if kind != "function_call":
            events.append(self._encode_part("done", kind))
        done = {"output_index": len(self.output), "item": item}
        events.append(self.encode("response.output_item.done", done))
        self.output.append(item)
        self.open_item = None
        return events

    def _build_item(self, kind: str, call_id: str, status: str) -> JSONObject:
        """Return the open item with its text so far."""
        if kind == "message":
            item = build_message_item(self.context, self.text, len(self.output))
            return {**item, "status": status}
        if kind == "refusal":
            item = build_refusal_item(self.context, self.text, len(self.output))
            return {**item, "status": status}
        if kind == "reasoning":
            return build_reasoning_item(self.context, self.text)
        call = ToolCallText(call_id, self._tool_names.get(call_id, ""), self.text)
        return build_function_call_item(call, status)

    def _encode_part(self, stage: str, kind: str) -> bytes:
        """Encode the event that marks the part of the open item as `added` or `done`."""
        if kind == "message":
            name = f"response.content_part.{stage}"
            part = {"type": "output_text", "text": self.text, "annotations": [], "logprobs": []}
        elif kind == "refusal":
            name = f"response.content_part.{stage}"
            part = {"type": "refusal", "refusal": self.text}
        else:
            name = f"response.reasoning_summary_part.{stage}"
            part = {"type": "summary_text", "text": self.text}
        return self.encode(name, {**self.position, "part": part})
