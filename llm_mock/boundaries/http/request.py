"""The request of an SDK, in the form that the core uses."""

from __future__ import annotations

import mimetypes
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from llm_mock.behaviour.provider_errors import StreamEnds
from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http.errors import (
    ConnectionFailure,
    add_fast_retry_header,
    convert_to_wire_error,
    parse_retry_after,
)
from llm_mock.boundaries.http.wire import WireRequest, server_sent_event
from llm_mock.core.request import Request, describe_attachments, to_plain_json
from llm_mock.core.tokens import measure_attachments, measure_length
from llm_mock.support.json_types import JSONObject
from llm_mock.support.redaction import redact

if TYPE_CHECKING:
    from llm_mock.boundaries.http.event_stream import EventMessage
    from llm_mock.core.reply import Reply
    from llm_mock.core.request import SentFields, ToolDemand
    from llm_mock.support.json_types import JSON

KEY_HEADERS = ("x-api-key", "api-key", "x-goog-api-key")
"""The headers with API keys, besides `Authorization: Bearer …`."""
COMMON_NAMES = {"max_completion_tokens": "max_tokens", "max_output_tokens": "max_tokens"}
"""The names of OpenAI's options in `llm`, if they differ."""
CANDIDATE_COUNTS = {"chat.completions": "n", "generate_content": "candidateCount"}
"""The option with the number of answers, by API."""
EVENT_NAMES = {"messages": "type", "responses": "type", "interactions": "event_type"}
"""The field that names an event of a stream, for the APIs whose events have names."""
CAMEL_CASE_APIS = ("generate_content", "converse")
"""The APIs whose options are in camelCase."""
Message = JSONObject
"""A message as `{"role", "parts"}`, in the form of `Request.messages`, or one of its parts."""


class Tool(NamedTuple):
    """A tool that the request offers."""

    name: str
    description: str | None
    input_schema: JSONObject | None


class ToolResult(NamedTuple):
    """The result of a tool call."""

    name: str | None
    output: object
    tool_call_id: str | None
    is_error: bool = False
    """True if the application reports that the tool failed, which not every API supports."""


class Attachment(NamedTuple):
    """An attachment of a message."""

    type: str | None
    url: str | None = None
    content: bytes | None = None
    path: str | None = None

    def resolve_type(self) -> str | None:
        """Return the media type, guessed from the URL if necessary; nothing is downloaded."""
        if self.type:
            return self.type
        return mimetypes.guess_type(self.url)[0] if self.url else None

    def content_bytes(self) -> bytes:
        """Return the inline content; empty if there is only a URL."""
        return self.content or b""


class HTTPRequest(Request):
    """A call from an SDK to a model.

    A protocol parses it from the body. Attributes that all APIs have in common are derived here.

    Args:
        model_id: the called model.
        messages: the whole conversation without the system prompt.
        system: the system prompt; empty without one.
        tools: the tools that the request offers.
        schema: the JSON schema of a structured answer.
        options: the other fields of the body, such as the temperature.
        api: the protocol: `chat.completions`, `responses`, `messages`, `generate_content`, …
        stream: True for a streamed response.
        tool_choice: the name of the tool that must be called, or `required`, `auto` or `none`; None
            if the request sets no tool choice.
        sent: the HTTP request, which has the name and the key of the client.
        body: the unchanged body, for reply functions.
        provider: the name of the provider whose error format the call uses.
    """

    __slots__ = (
        "api",
        "body",
        "conversation",
        "http_fields",
        "key",
        "provider",
        "schema_is_a_tool",
        "sdk",
        "sent",
        "stream",
        "tool_choice",
    )

    # A property, because an attribute that refers to its own object delays garbage collection.
    native = property(lambda self: self, doc="The request itself, for reply functions.")

    def __init__(
        self,
        model_id: str,
        messages: list[Message],
        *,
        api: str,
        system: str = "",
        tools: Sequence[Tool] = (),
        schema: JSONObject | None = None,
        options: JSONObject | None = None,
        stream: bool = False,
        tool_choice: str | None = None,
        sent: WireRequest | None = None,
        body: JSONObject | None = None,
        provider: str = "openai",
    ) -> None:
        self.model_id = model_id
        self.system = system
        self.tools = tools
        self.options = to_plain_json(options) if options else {}
        self.passed = False
        self.conversation_id = None
        self.api = api
        self.stream = stream
        self.tool_choice = tool_choice
        self.body = body or {}
        self.provider = provider
        self.sdk: str | None = None
        self.key: str | None = None
        self.sent = sent
        if sent is not None:
            self.sdk = _read_sdk(sent.headers)
            self.key = read_key(sent.headers)
        self.http_fields = self._describe_http()
        messages, self.turn = _join_turns(messages)
        self.conversation = messages
        """The parsed messages, without the system prompt."""
        self.schema = schema or (self._find_forced_tool_schema() if tools else None)
        self.schema_is_a_tool = schema is None and self.schema is not None
        self.prompt, self.attachments, self.tool_results = _read_last_user_turn(messages)

    def _find_forced_tool_schema(self) -> JSONObject | None:
        """Return the schema of the tool that must be called, or None.

        Clients request structured answers in this way if the API has no better one.
        """
        # The title is the tool's name, which replies use as the name of the schema.
        for tool in self.tools:
            if tool.name == self.tool_choice and tool.input_schema:
                return {"title": tool.name, **tool.input_schema}
        return None

    def messages(self) -> list[Message]:
        """Return all messages, with the system prompt first."""
        messages: list[Message] = []
        if self.system:
            system_part = {"type": "text", "text": self.system}
            messages.append({"role": "system", "parts": [system_part]})
        for message in self.conversation:
            parts = [_describe_part(part) for part in message["parts"]]
            messages.append({**message, "parts": parts})
        return messages

    def characters(self) -> int:
        """Return the number of characters in all messages."""
        count = len(self.system)
        for message in self.conversation:
            for part in message["parts"]:
                # Most parts are texts, for which the function call is avoided.
                count += len(part["text"]) if part["type"] == "text" else _measure_part(part)
        return count

    def given_messages(self) -> list[Message]:
        """Return the messages without the system prompt.

        An application sends the whole history with each call, so it has provided all of them.
        """
        return [message for message in self.messages() if message["role"] != "system"]

    def common_options(self) -> JSONObject:
        """Return the options under the names that `llm`'s plugins use."""
        common = {}
        for name, value in self.options.items():
            common[COMMON_NAMES.get(name, name)] = value
        if self.api in CAMEL_CASE_APIS:
            common = {_convert_to_snake_case(name): value for name, value in common.items()}
            self._convert_response_type(common)
        response_format = self.body.get("response_format")
        if isinstance(response_format, dict) and response_format.get("type") == "json_object":
            common["json_object"] = True
        reasoning = common.get("reasoning")
        if isinstance(reasoning, dict) and reasoning.keys() == {"effort"}:
            common["reasoning_effort"] = common.pop("reasoning")["effort"]
        return common

    def _convert_response_type(self, options: JSONObject) -> None:
        """Replace Gemini's media type for JSON by the corresponding option of `llm-gemini`."""
        if options.get("response_mime_type") != "application/json":
            return
        del options["response_mime_type"]
        # With a schema, the media type is redundant.
        if not self.schema:
            options["json_object"] = True

    def _describe_http(self) -> JSONObject:
        """Return the fields of the record that only calls over HTTP have."""
        fields: JSONObject = {"api": self.api, "provider": self.provider}
        if self.sdk is not None:
            fields["sdk"] = self.sdk
        fields["stream"] = self.stream
        if self.tool_choice is not None:
            fields["tool_choice"] = self.tool_choice
        if self.sent is not None:
            fields["fingerprint"] = _compute_fingerprint(self.sent)
        return fields

    def get_sent_request(self) -> SentFields | None:
        """Return the fields of the HTTP request, without secrets."""
        sent = self.sent
        if sent is None:
            return None
        # Imported late: only some tests and reports need it.
        from llm_mock.boundaries.http.extra_fields import find_extra_fields

        url = redact(sent.url)
        headers = redact({**sent.headers})
        extra_body = find_extra_fields(self.api, self.body)
        return sent.method, url, headers, self.body, extra_body

    def read_tool_demand(self) -> ToolDemand:
        """Return the tool calls that the request asks for."""
        # Imported late: few requests restrict which tools may be called.
        from llm_mock.boundaries.http.tool_choice import read_tool_demand

        offered = [tool.name for tool in self.tools]
        return read_tool_demand(self.body, self.tool_choice, offered)

    def count_candidates(self) -> int:
        """Return the number of requested answers, which is 1 for Anthropic and Responses."""
        name = CANDIDATE_COUNTS.get(self.api, "")
        count = self.options.get(name)
        return count if isinstance(count, int) and count > 0 else 1

    def find_unsupported_detail(self, reply: Reply) -> str | None:
        """Return a phrase for a detail of a reply that the API does not support, or None."""
        # Imported late: few replies have details.
        from llm_mock.boundaries.http.reply_checks import CalledAPI, find_unsupported_detail

        host = "" if self.sent is None else self.sent.host
        data_tool = self.find_data_tool(reply.data, reply.data_class)
        called = CalledAPI(self.api, self.provider, host, self.body, data_tool)
        return find_unsupported_detail(reply, called)

    def find_data_tool(self, data: JSON, data_class: str | None) -> str | None:
        """Return the tool that gets a reply's data as arguments; None if the data become text.

        SDKs request structured answers in three ways: with a schema, with a tool that must be
        called, or with an optional tool whose properties are the fields of the answer.
        """
        if not isinstance(data, dict):
            return None
        if any(tool.name == self.tool_choice for tool in self.tools):
            return self.tool_choice
        if self.schema or self.tool_choice == "none":
            return None
        return self._find_tool_by_fields(data, data_class)

    def _find_tool_by_fields(self, data: JSONObject, data_class: str | None) -> str | None:
        """Return the first tool whose properties are the fields of the data, or None.

        Classes in a union can have the same fields. Frameworks then put the class into the name of
        the tool, as in `final_result_Refund`.
        """
        names = [str(tool.name) for tool in self.tools if _accepts_data(tool, data)]
        if data_class is not None:
            names.sort(key=lambda name: not _is_named_after(name, data_class))
        # The model has already called a tool whose result is in the request.
        finished = {result.name for result in self.tool_results}
        for name in names:
            if name not in finished:
                return name
        # A client that requires a call may repeat the request, with an error as the first result.
        if names and self.tool_choice == "required":
            return names[0]
        return None

    def encode_event(self, item: JSON) -> bytes:
        """Encode one of the provider's own events for a streamed response."""
        name = None
        field = EVENT_NAMES.get(self.api)
        if field is not None and isinstance(item, dict):
            name = item.get(field)
        return server_sent_event(item, name if isinstance(name, str) else None)

    def decode_event(self, message: EventMessage) -> JSON:
        """Return the event of a binary stream, in the form that `encode_event` accepts."""
        raise NotImplementedError

    def break_event(self, event: bytes) -> bytes:
        """Return the first half of an event, which the SDK cannot parse."""
        return event[: len(event) // 2].rstrip() + b"\n\n"

    def describe_failure(self, error: BaseException, begun: bool) -> JSONObject:
        """Return the fields of the record for an error.

        Args:
            error: the error.
            begun: True if part of the response was sent before the error.
        """
        if isinstance(error, StreamEnds):
            return {"malformed": True} if error.malformed else {"cut_off": True}
        # An error within a stream has no status: the status of the response was sent before.
        if not isinstance(error, Exception) or (begun and self.stream):
            return {}
        wire_error = convert_to_wire_error(error)
        if isinstance(wire_error, ConnectionFailure):
            return {}
        fields: JSONObject = {"status": wire_error.status}
        seconds = parse_retry_after(wire_error.headers)
        # The fast retry is recorded only if the provider requests a retry in production, too.
        if seconds is not None:
            fields["retry_after"] = seconds
            headers = add_fast_retry_header(wire_error, self.provider)
            wait = parse_retry_after(headers)
            if wait != seconds:
                fields["shortened_wait"] = wait
        return fields


def _is_named_after(tool: str, data_class: str) -> bool:
    return tool == data_class or tool.endswith(f"_{data_class}")


def _accepts_data(tool: Tool, data: JSONObject) -> bool:
    schema = tool.input_schema or {}
    properties = schema.get("properties")
    if not data or not properties or not isinstance(properties, dict):
        return False
    required = set(schema.get("required") or ())
    given = data.keys()
    return given <= properties.keys() and required <= given


def _compute_fingerprint(sent: WireRequest) -> str:
    """Return a checksum of the path and the body, to find repeated requests."""
    path_checksum = zlib.crc32(sent.path.encode())
    return f"{zlib.crc32(sent.body, path_checksum):08x}"


def _read_sdk(headers: Mapping[str, str]) -> str | None:
    """Return the name and the version of the client; None without one."""
    # Google's SDK uses its own header, as its HTTP library sets the usual one.
    return headers.get("x-goog-api-client") or headers.get("user-agent")


def read_key(headers: Mapping[str, str]) -> str | None:
    """Return the API key; None without a key, and for the mock's placeholder."""
    key = headers.get("authorization", "").removeprefix("Bearer ")
    # A provider's own header takes precedence over a token, which a proxy may have added.
    for name in KEY_HEADERS:
        if name in headers:
            key = headers[name]
            break
    return key if key and key != PLACEHOLDER_KEY else None


def _convert_to_snake_case(name: str) -> str:
    return re.sub("([A-Z])", r"_\1", name).lower()


def _describe_part(part: Message) -> Message:
    if part["type"] != "attachment":
        return part
    (description,) = describe_attachments([part["attachment"]])
    return {"type": "attachment", "attachment": description}


def _measure_part(part: Message) -> int:
    kind = part["type"]
    if kind == "attachment":
        return measure_attachments([part["attachment"]])
    if kind == "tool_call":
        name = part["name"] or ""
        return len(name) + measure_length(part["arguments"])
    if kind == "tool_result":
        return measure_length(part["output"])
    return 0  # the model does not see its earlier reasoning


def _filter_parts(messages: list[Message], kind: str) -> Iterator[Message]:
    for message in messages:
        for part in message["parts"]:
            if part["type"] == kind:
                yield part


def _join_turns(messages: list[Message]) -> tuple[list[Message], int]:
    """Join consecutive messages of the assistant, and return all messages and the current turn.

    OpenAI's Responses API has one item for the text of a turn and one for each tool call.
    """
    roles = [message["role"] for message in messages]
    # Most conversations have a single turn, where nothing needs to be joined.
    if "assistant" not in roles:
        return messages, 1
    joined: list[Message] = []
    for message in messages:
        if joined and message["role"] == joined[-1]["role"] == "assistant":
            earlier = joined[-1]["parts"]
            joined[-1] = {"role": "assistant", "parts": [*earlier, *message["parts"]]}
        else:
            joined.append(message)
    # A message of the assistant at the end is the start of the answer that is asked for.
    turn = 1 + sum(message["role"] == "assistant" for message in joined[:-1])
    return _name_results(joined), turn


def _name_results(messages: list[Message]) -> list[Message]:
    """Return the messages with tool names added to tool results, which lack them in some APIs."""
    names = {}
    for part in _filter_parts(messages, "tool_call"):
        names[part["tool_call_id"]] = part["name"]
    for part in _filter_parts(messages, "tool_result"):
        part["name"] = part["name"] or names.get(part["tool_call_id"])
    return messages


def _find_last_user_turn(messages: list[Message]) -> list[Message]:
    """Return the messages after the last answer."""
    # A message of the assistant at the end is the start of the answer that is asked for.
    if len(messages) > 1 and messages[-1]["role"] == "assistant":
        messages = messages[:-1]
    start = len(messages)
    while start > 0 and messages[start - 1]["role"] != "assistant":
        start -= 1
    return messages[start:]


def _read_last_user_turn(messages: list[Message]) -> tuple[str, list[Attachment], list[ToolResult]]:
    """Return the prompt, the attachments and the tool results after the last answer.

    If there are only tool results, the prompt is empty, as in `llm`'s chains.
    """
    messages = _find_last_user_turn(messages)
    texts: list[str] = []
    attachments: list[Attachment] = []
    results: list[ToolResult] = []
    for message in messages:
        if message["role"] == "user" and message is messages[-1]:
            # If several user messages follow each other, only the last is the prompt; the texts
            # before it are context, such as retrieved documents.
            texts.clear()
        for part in message["parts"]:
            kind = part["type"]
            if kind == "text":
                texts.append(part["text"])
            elif kind == "tool_result":
                result = ToolResult(part["name"], part["output"], part["tool_call_id"])
                if "is_error" in part:
                    result = result._replace(is_error=True)
                results.append(result)
            elif kind == "attachment":
                attachments.append(part["attachment"])
    return "\n".join(texts), attachments, results


def make_tool_result_part(
    output: object,
    tool_call_id: str | None,
    name: str | None = None,
    *,
    is_error: object = False,
) -> Message:
    """Return a message part for the result of a tool.

    Args:
        output: what the tool returned.
        tool_call_id: the id of the call.
        name: the name of the tool, if the API sends it.
        is_error: true if the application reports that the tool failed.
    """
    part: Message = {
        "type": "tool_result",
        "name": name,
        "output": to_plain_json(output),
        "tool_call_id": tool_call_id,
    }
    if is_error:
        part["is_error"] = True
    return part


def make_tool_call_part(name: str, arguments: object, tool_call_id: str | None) -> Message:
    """Return a message part for a tool call of the model."""
    return {
        "type": "tool_call",
        "name": name,
        "arguments": to_plain_json(arguments),
        "tool_call_id": tool_call_id,
    }
