"""OpenAI's Responses API. See https://platform.openai.com/docs/api-reference/responses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from llm_mock.boundaries.http.body_types import RESPONSES
from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext
from llm_mock.boundaries.http.error_formats import OPENAI
from llm_mock.boundaries.http.errors import WireError
from llm_mock.boundaries.http.protocols.protocol import add_schema_title, extract_options, validate_body
from llm_mock.boundaries.http.protocols.responses_items import (
    finish_response,
    function_call_item,
    get_item_text,
    load_conversation,
    message_item,
    parse_items,
    reasoning_item,
)
from llm_mock.boundaries.http.protocols.responses_stream import ResponsesStream
from llm_mock.boundaries.http.request import HTTPRequest, Tool
from llm_mock.boundaries.http.wire import WireRequest, server_sent_event
from llm_mock.core.events import Wait

KNOWN = ("model", "input", "instructions", "tools", "tool_choice", "text", "stream", "previous_response_id")


class OpenAIResponses:
    """`POST …/responses`."""

    errors = OPENAI

    def parse_request(self, sent: WireRequest) -> HTTPRequest:
        """What is asked."""
        body = validate_body(sent.json(), RESPONSES, self.errors, "model", "input")
        given = body["input"]
        known = [{"role": "user", "content": given}] if isinstance(given, str) else given
        said = [item for item in known if item.get("role") in ("system", "developer")]
        system = [str(body["instructions"])] if body.get("instructions") else []
        config = body.get("text") or {}
        asked = config.get("format") if isinstance(config, dict) else None
        return HTTPRequest(
            body["model"],
            [*load_conversation(body.get("previous_response_id")), *parse_items([i for i in known if i not in said])],
            api="responses",
            system="\n".join(system + [get_item_text(item) for item in said]),
            tools=[
                Tool(str(tool["name"]), tool.get("description"), tool.get("parameters"))
                for tool in body.get("tools") or ()
                if isinstance(tool, dict) and tool.get("type") in ("function", "custom") and tool.get("name")
            ],
            schema=add_schema_title(asked.get("schema"), asked.get("name")) if isinstance(asked, dict) else None,
            options=extract_options(body, *KNOWN),
            stream=bool(body.get("stream")),
            tool_choice=_choice(body.get("tool_choice")),
            sent=sent,
            body=body,
        )

    def build_body(self, context: ResponseContext, whole: CompleteReply) -> dict[str, Any]:
        """The body of an answer in one piece."""
        output: list[dict[str, Any]] = []
        if whole.reasoning:
            output.append(reasoning_item(context, whole.reasoning))
        if whole.text or not whole.tool_calls:
            output.append(message_item(context, whole.text))
        output += [function_call_item(call) for call in whole.tool_calls]
        return finish_response(context, output)

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """The body of a streamed answer."""
        numbers = itertools.count()
        for event in ResponsesStream(context).events():
            if isinstance(event, Wait):
                yield event
            else:
                kind, fields = event
                yield server_sent_event({"type": kind, "sequence_number": next(numbers), **fields}, kind)

    def unknown_model_error(self, model_id: str) -> WireError:
        """What is answered where there is no such model: not what Chat Completions answers."""
        message = f"The requested model '{model_id}' does not exist."
        said = {"message": message, "type": "invalid_request_error", "param": "model", "code": "model_not_found"}
        return WireError(400, message, body={"error": said})

    def encode_error_event(self, error: WireError, number: int) -> bytes:
        """An error within a stream; not as the reference has it, but with an `error`, as it is sent."""
        return server_sent_event({"type": "error", **self.errors.body(error), "sequence_number": number}, "error")


PROTOCOL = OpenAIResponses()


def _choice(choice: Any) -> str | None:
    if isinstance(choice, dict):
        return str(choice["name"]) if choice.get("name") else None
    return choice if isinstance(choice, str) else None
