"""OpenAI's Responses API. See https://platform.openai.com/docs/api-reference/responses."""

from __future__ import annotations

from collections.abc import Iterator

from llm_mock.boundaries.http.body_types import RESPONSES
from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext
from llm_mock.boundaries.http.protocols.protocol import (
    add_schema_title,
    extract_options,
    join_text,
    make_base64_part,
    make_text_part,
    make_url_part,
    parse_json_body,
    parse_json_or_text,
    parse_parts,
    validate_body,
)
from llm_mock.boundaries.http.protocols.responses_items import (
    build_function_call_item,
    build_message_item,
    build_reasoning_item,
    finish_response,
)
from llm_mock.boundaries.http.protocols.responses_stream import ResponsesStream
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
from llm_mock.core.events import Wait
from llm_mock.core.mock import Mock
from llm_mock.support.json_types import JSONObject

SYSTEM_ROLES = ("system", "developer")
PARSED_FIELDS = (
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "text",
    "stream",
    "previous_response_id",
)
"""The fields of a request that are not options."""
URL_FIELDS = {
    "input_image": ("image_url", "file_id"),
    # Data goes first: it is all that the model gets, whatever else names the file.
    "input_file": ("file_data", "file_url", "file_id"),
}
"""The fields of a part that may have its URL, in order of preference."""


class OpenAIResponses:
    """`POST …/responses`."""

    provider = OPENAI

    def parse_request(self, sent: WireRequest, mock: Mock) -> HTTPRequest:
        """Parse the body of a request."""
        body = validate_body(
            parse_json_body(sent.body), RESPONSES, self.provider.errors, "model", "input"
        )
        items = body["input"]
        if isinstance(items, str):
            items = [{"role": "user", "content": items}]
        # The instructions come before the system messages, as for the model itself.
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
        previous_id = body.get("previous_response_id")
        if previous_id:
            messages = [*_load_conversation(previous_id, mock), *messages]
        return HTTPRequest(
            body["model"],
            messages,
            api="responses",
            system="\n".join(system),
            tools=tools,
            schema=schema,
            options=extract_options(body, *PARSED_FIELDS),
            stream=bool(body.get("stream")),
            tool_choice=tool_choice,
            sent=sent,
            body=body,
            provider=self.provider.name,
        )

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        output: list[JSONObject] = []
        if reply.reasoning:
            output.append(build_reasoning_item(context, reply.reasoning))
        if reply.text or not reply.tool_calls:
            output.append(build_message_item(context, reply.text))
        output += map(build_function_call_item, reply.tool_calls)
        return finish_response(context, output, reply.finish_reason)

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Return the events of a streamed response."""
        return ResponsesStream(context).build_events()

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


def _load_conversation(response_id: str, mock: Mock) -> list[Message]:
    """Return the conversation up to a stored response.

    Raises:
        WireError: no response with this id is stored.
    """
    stored = mock.stored_responses.get(response_id)
    if stored is None:
        message = f"Previous response with id '{response_id}' not found."
        raise WireError(400, message, code="previous_response_not_found")
    messages, output = stored
    return [*messages, *_parse_items(output)]


def _parse_items(items: list[JSONObject]) -> list[Message]:
    """Parse the items of a conversation; those of an unknown type are left out."""
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
        output = item.get("output")
        if not isinstance(output, str):
            output = join_text(parse_parts(output, _parse_part))
        return {"role": "tool", "parts": [make_tool_result_part(output, item.get("call_id"))]}
    return None


def _get_item_text(item: JSONObject) -> str:
    return join_text(parse_parts(item.get("content"), _parse_part))


def _parse_part(part: JSONObject) -> Message | None:
    """Parse a part of a message; None for an unknown type."""
    kind = part.get("type")
    if kind in ("input_text", "output_text", "text"):
        return make_text_part(str(part.get("text") or ""))
    if kind == "refusal":
        return make_text_part(str(part.get("refusal") or ""))
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
    if isinstance(choice, dict):
        return str(choice["name"]) if choice.get("name") else None
    return choice if isinstance(choice, str) else None
