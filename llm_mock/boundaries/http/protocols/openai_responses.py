"""OpenAI's Responses API. See https://platform.openai.com/docs/api-reference/responses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from llm_mock.boundaries.http.body_types import RESPONSES
from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext
from llm_mock.boundaries.http.error_formats import OPENAI
from llm_mock.boundaries.http.errors import WireError
from llm_mock.boundaries.http.protocols.protocol import (
    add_schema_title,
    extract_options,
    validate_body,
)
from llm_mock.boundaries.http.protocols.responses_items import (
    build_function_call_item,
    build_message_item,
    build_reasoning_item,
    finish_response,
    get_item_text,
    load_conversation,
    parse_items,
)
from llm_mock.boundaries.http.protocols.responses_stream import ResponsesStream
from llm_mock.boundaries.http.request import HTTPRequest, Tool
from llm_mock.boundaries.http.wire import WireRequest, server_sent_event
from llm_mock.core.events import Wait
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


class OpenAIResponses:
    """`POST …/responses`."""

    errors = OPENAI

    def parse_request(self, sent: WireRequest) -> HTTPRequest:
        """Parse the body of a request."""
        body = validate_body(sent.json(), RESPONSES, self.errors, "model", "input")
        items = body["input"]
        if isinstance(items, str):
            items = [{"role": "user", "content": items}]
        # The instructions come before the system messages, as for the model itself.
        system = [str(body["instructions"])] if body.get("instructions") else []
        others = []
        for item in items:
            if item.get("role") in SYSTEM_ROLES:
                system.append(get_item_text(item))
            else:
                others.append(item)
        messages = load_conversation(body.get("previous_response_id"))
        return HTTPRequest(
            body["model"],
            [*messages, *parse_items(others)],
            api="responses",
            system="\n".join(system),
            tools=_parse_tools(body),
            schema=_parse_schema(body.get("text")),
            options=extract_options(body, *PARSED_FIELDS),
            stream=bool(body.get("stream")),
            tool_choice=_parse_tool_choice(body.get("tool_choice")),
            sent=sent,
            body=body,
        )

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        output: list[JSONObject] = []
        if reply.reasoning:
            output.append(build_reasoning_item(context, reply.reasoning))
        if reply.text or not reply.tool_calls:
            output.append(build_message_item(context, reply.text))
        output += [build_function_call_item(call) for call in reply.tool_calls]
        return finish_response(context, output)

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response."""
        numbers = itertools.count()
        for event in ResponsesStream(context).build_events():
            if isinstance(event, Wait):
                yield event
                continue
            kind, fields = event
            data = {"type": kind, "sequence_number": next(numbers), **fields}
            yield server_sent_event(data, kind)

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
        data = {"type": "error", **self.errors.build_body(error), "sequence_number": number}
        return server_sent_event(data, "error")


PROTOCOL = OpenAIResponses()


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
