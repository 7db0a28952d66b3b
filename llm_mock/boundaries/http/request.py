"""What an SDK asks, as the core knows a request."""

from __future__ import annotations

import mimetypes
import re
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from llm_mock.behaviour.provider_errors import StreamEnds
from llm_mock.boundaries.http.errors import ConnectionFailure, add_fast_retry_header, parse_retry_after, to_wire_error
from llm_mock.boundaries.http.wire import WireRequest
from llm_mock.core.request import Request, described_attachments, plain
from llm_mock.core.tokens import length_of, length_of_attachments

PROVIDERS = {"messages": "anthropic", "generate_content": "google"}
"""Whose the APIs are that are not OpenAI's."""
COMMON_NAMES = {"max_completion_tokens": "max_tokens", "max_output_tokens": "max_tokens"}
"""What `llm` calls options of OpenAI's APIs that have another name there."""
Message = dict[str, Any]
"""`{"role", "parts"}`, as `Request.messages` has it; the part of an attachment has an `Attachment`."""


class Tool(NamedTuple):
    """A tool on offer."""

    name: str
    description: str | None
    input_schema: dict[str, Any] | None


class ToolResult(NamedTuple):
    """What a tool gave."""

    name: str | None
    output: Any
    tool_call_id: str | None


class Attachment(NamedTuple):
    """What is attached to a message."""

    type: str | None
    url: str | None = None
    content: bytes | None = None
    path: str | None = None

    def resolve_type(self) -> str | None:
        """Its media type, where it is known, or its URL says so; nothing is asked for it."""
        return self.type or (mimetypes.guess_type(self.url)[0] if self.url else None)

    def content_bytes(self) -> bytes:
        """Return the content that was sent inline; empty for an attachment that is only a URL."""
        return self.content or b""


class HTTPRequest(Request):
    """A call of an SDK. A protocol reads one from the body; what it has in common with all others is worked out here.

    Args:
        model_id: the model that is asked.
        messages: the whole conversation, without the system prompt.
        system: the system prompt, empty without one.
        tools: the tools on offer.
        schema: the JSON schema of the answer that is asked for.
        options: all else that the body says, such as the temperature.
        api: the protocol: `chat.completions`, `responses`, `messages`, `generate_content`, …
        stream: whether the answer is to be streamed.
        tool_choice: which tool must be called: its name, or `required`, `auto` or `none`; None where nothing is said.
        sent: the request as HTTP has it: what the client calls itself, and its key.
        body: the body as it came, for reply functions.
    """

    __slots__ = (
        *("_messages", "api", "body", "fingerprint", "key", "provider", "schema_is_a_tool", "sdk", "stream"),
        "tool_choice",
    )

    def __init__(
        self,
        model_id: str,
        messages: list[Message],
        *,
        api: str,
        system: str = "",
        tools: Sequence[Tool] = (),
        schema: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
        stream: bool = False,
        tool_choice: str | None = None,
        sent: WireRequest | None = None,
        body: dict[str, Any] | None = None,
    ) -> None:
        self.model_id = model_id
        self.native = self
        self.system = system
        self.tools = tools
        self.options = plain(options) if options else {}
        self.passed = False
        self.conversation_id = None
        self.api, self.stream, self.tool_choice, self.body = api, stream, tool_choice, body or {}
        self.provider = PROVIDERS.get(api, "openai")
        self.sdk, self.key = (None, None) if sent is None else (sent.client, sent.key)
        self.fingerprint = None if sent is None else f"{zlib.crc32(sent.body, zlib.crc32(sent.path.encode())):08x}"
        answered = any(message["role"] == "assistant" for message in messages)
        messages = self._messages = _named_results(_joined(messages)) if answered else messages
        self.schema = schema or (self._schema_of_forced_tool() if tools else None)
        self.schema_is_a_tool = schema is None and self.schema is not None
        self.turn = 1 + sum(message["role"] == "assistant" for message in messages) if answered else 1
        self.prompt, self.attachments, self.tool_results = _last_said(messages)

    def _schema_of_forced_tool(self) -> dict[str, Any] | None:
        """A tool that must be called is how structured answers are asked for where there is no better way."""
        tool = next((tool for tool in self.tools if tool.name == self.tool_choice), None)
        return None if tool is None or not tool.input_schema else {"title": tool.name, **tool.input_schema}

    def messages(self) -> list[Message]:
        """All that the model sees."""
        system = [{"role": "system", "parts": [{"type": "text", "text": self.system}]}] if self.system else []
        return system + [
            {**message, "parts": [_described(part) for part in message["parts"]]} for message in self._messages
        ]

    def characters(self) -> int:
        """How many characters the messages have."""
        parts = (part for message in self._messages for part in message["parts"])
        return len(self.system) + sum(map(_length_of_part, parts))

    def conversation(self) -> list[Message]:
        """The messages as they came, without the system prompt."""
        return self._messages

    def given_messages(self) -> list[Message]:
        """The same without the system prompt: an application hands over the whole history with each call."""
        return [message for message in self.messages() if message["role"] != "system"]

    def common_options(self) -> dict[str, Any]:
        """The options under the names that `llm`'s plugins have for them."""
        common = {COMMON_NAMES.get(name, name): value for name, value in self.options.items()}
        if self.api == "generate_content":
            common = {_snake_case(name): value for name, value in common.items()}
            if common.get("response_mime_type") == "application/json":
                del common["response_mime_type"]
                common |= {} if self.schema else {"json_object": True}
        asked = self.body.get("response_format")
        if isinstance(asked, dict) and asked.get("type") == "json_object":
            common["json_object"] = True
        reasoning = common.get("reasoning")
        if isinstance(reasoning, dict) and reasoning.keys() == {"effort"}:
            common["reasoning_effort"] = common.pop("reasoning")["effort"]
        return common

    def on_the_wire(self) -> dict[str, Any]:
        """What the record says beyond what every call has."""
        said: dict[str, Any] = {"api": self.api, "provider": self.provider}
        if self.sdk is not None:
            said["sdk"] = self.sdk
        said["stream"] = self.stream
        if self.tool_choice is not None:
            said["tool_choice"] = self.tool_choice
        if self.fingerprint is not None:
            said["fingerprint"] = self.fingerprint
        return said

    def failed(self, error: BaseException, begun: bool) -> dict[str, Any]:
        """What the record says of an error."""
        if isinstance(error, StreamEnds) and not error.malformed:
            return {"cut_off": True}
        if not isinstance(error, Exception) or (begun and self.stream):
            return {}
        wire_error = to_wire_error(error)
        if isinstance(wire_error, ConnectionFailure):
            return {}
        seconds = None
        if parse_retry_after(wire_error.headers) is not None:  # else nobody asks the client to wait in production
            seconds = parse_retry_after(add_fast_retry_header(wire_error, self.provider))
        return {"status": wire_error.status, **({} if seconds is None else {"retry_after": seconds})}


def _snake_case(name: str) -> str:
    return re.sub("([A-Z])", r"_\1", name).lower()


def _described(part: Message) -> Message:
    if part["type"] != "attachment":
        return part
    return {"type": "attachment", "attachment": described_attachments([part["attachment"]])[0]}


def _length_of_part(part: Message) -> int:
    """That of a part of a message; reasoning is not sent again."""
    if part["type"] == "attachment":
        return length_of_attachments([part["attachment"]])
    if part["type"] == "tool_call":
        return len(part["name"] or "") + length_of(part["arguments"])
    return length_of(part["output"]) if part["type"] == "tool_result" else len(part["text"]) * (part["type"] == "text")


def _parts(messages: list[Message], kind: str) -> Iterator[Message]:
    for message in messages:
        yield from (part for part in message["parts"] if part["type"] == kind)


def _joined(messages: list[Message]) -> list[Message]:
    """The messages, with what the model said in one turn as one, though it came in several."""
    joined: list[Message] = []
    for message in messages:
        if joined and message["role"] == joined[-1]["role"] == "assistant":
            joined[-1] = {"role": "assistant", "parts": [*joined[-1]["parts"], *message["parts"]]}
        else:
            joined.append(message)
    return joined


def _named_results(messages: list[Message]) -> list[Message]:
    """The messages, with the results of tools named by the calls that they answer."""
    names = {part["tool_call_id"]: part["name"] for part in _parts(messages, "tool_call")}
    for part in _parts(messages, "tool_result"):
        part["name"] = part["name"] or names.get(part["tool_call_id"])
    return messages


def _last_said(messages: list[Message]) -> tuple[str, list[Attachment], list[ToolResult]]:
    """What the application says since the model last answered: its text, its attachments, and results of tools.

    Where that is results alone, the text is empty, as it is in `llm`'s chains.
    """
    start = next((i for i in range(len(messages), 0, -1) if messages[i - 1]["role"] == "assistant"), 0)
    texts: list[str] = []
    attachments: list[Attachment] = []
    results: list[ToolResult] = []
    for message in messages[start:]:
        if message["role"] == "user" and message is messages[-1]:
            texts.clear()  # what is said before it is no part of the prompt
        for part in message["parts"]:
            kind = part["type"]
            if kind == "text":
                texts.append(part["text"])
            elif kind == "tool_result":
                results.append(ToolResult(part["name"], part["output"], part["tool_call_id"]))
            elif kind == "attachment":
                attachments.append(part["attachment"])
    return "\n".join(texts), attachments, results


def tool_result_part(output: Any, tool_call_id: str | None, name: str | None = None) -> Message:
    """The part of a message that is the result of a tool."""
    return {"type": "tool_result", "name": name, "output": plain(output), "tool_call_id": tool_call_id}


def tool_call_part(name: str, arguments: Any, tool_call_id: str | None) -> Message:
    """The part of a message that is a tool call of the model."""
    return {"type": "tool_call", "name": name, "arguments": plain(arguments), "tool_call_id": tool_call_id}
