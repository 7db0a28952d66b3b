"""Requests to a model, in the same form for every boundary."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from llm_mock.core.value_types import AttachmentLike, ToolCallLike, ToolLike, ToolResultLike
    from llm_mock.support.json_types import JSON, JSONObject


DEEPEST = 50
"""The maximum depth of a described argument, because one may contain itself."""
LARGEST_FILE = 20_000_000
"""The maximum size of an attached file that is read for its hash, in bytes."""


SentFields: TypeAlias = "tuple[str, str, dict[str, str], JSONObject, JSONObject | None]"
"""The method, the URL, the headers, the body and its extra fields of an HTTP request."""


class ToolDemand(NamedTuple):
    """The tool calls that a request requires or allows."""

    is_required: bool
    """Whether a tool must be called."""
    callable_tools: Sequence[str]
    """The names of the tools that may be called; empty if none may."""
    is_parallel: bool
    """Whether a reply may have several calls."""
    wording: str
    """The fields of the request with these rules."""


class Request:
    """The request of one call; the boundary that receives it sets the fields."""

    model_id: str
    """The id of the called model."""
    prompt: str
    """The text of the prompt with its fragments; for a list of messages, the text of the last user
    message."""
    system: str = ""
    """The system prompt, empty without one."""
    schema: JSONObject | None = None
    """The requested JSON schema."""
    tools: Sequence[Any] = ()
    """The offered tools, each with `name`, `description` and `input_schema`."""
    tool_results: Sequence[Any] = ()
    """The results of tools, each with `name`, `output` and `tool_call_id`, perhaps `exception` and
    `attachments`."""
    attachments: Sequence[Any] = ()
    """The attachments, each with `type`, `path`, `url` and `content`."""
    options: JSONObject
    """The options as JSON values; the record of the call shares this object."""
    passed: bool = False
    """Whether the call came through `MockLLMModel.prompt`, which has its own defaults."""
    turn: int = 1
    """The position of the requested answer in its conversation, from 1."""
    conversation_id: str | None = None
    """The id of the conversation, if the call is part of one."""
    key: str | None = None
    """The key that was passed with the call, or assigned to the model."""
    provider: str | None = None
    """Over HTTP, the provider of the API: `openai`, `anthropic`, `google` or `mistral`."""
    stream: bool | None = None
    """Whether a stream was requested; through `llm`, False for `prompt(stream=False)`, else
    None."""
    schema_is_a_tool = False
    """Whether the schema is requested by a tool that must be called (one of `tools`)."""
    waits_forever = False
    """Whether the client of a call over HTTP is known to have no read timeout."""
    is_simple = False
    """Whether the prompt and the system prompt are all messages, and nothing came over HTTP."""
    tool_choice: str | None = None
    """Over HTTP, the tool that must be called: its name, or `required`, `auto` or `none`."""
    http_fields: JSONObject | None = None
    """Over HTTP, the `api`, `provider`, `sdk`, `stream`, `tool_choice` and `fingerprint` of the
    record."""
    is_text = False
    """Whether the prompt is the whole request, as in most calls: `is_simple`, and no system prompt,
    schema or tools."""
    native: Any
    """The library's own request object, for reply functions: an `llm.Prompt`."""

    @abstractmethod
    def messages(self) -> list[JSONObject]:
        """Return all messages of the conversation, each with `role` and `parts`.

        A part is `{"type": "text" | "reasoning", "text"}`, `{"type": "tool_call", "name",
        "arguments", "tool_call_id"}`, a `tool_result` as `describe_tool_result` has it, or
        `{"type": "attachment", "attachment"}`.
        """

    @abstractmethod
    def characters(self) -> int:
        """Return the number of characters of all messages, to estimate tokens."""

    @abstractmethod
    def given_messages(self) -> list[JSONObject]:
        """Return the messages that the application passed as history, without the system prompt."""

    def system_message(self) -> str:
        """Return the system prompt, which an earlier message may have set."""
        return self.system

    def common_options(self) -> JSONObject:
        """Return the options under their names in `llm`, to compare calls of several libraries."""
        return self.options

    def find_unsupported_detail(self, reply: Any) -> str | None:
        """Return a phrase for a detail of a `Reply` that the API does not support, or None.

        Through `llm` it is always None, because its plugins read only texts and tool calls.
        """
        return None

    def get_sent_request(self) -> SentFields | None:
        """Return the fields of `SentRequest` for a call over HTTP, without secrets; else None."""
        return None

    def read_tool_demand(self) -> ToolDemand | None:
        """Return the required and allowed tool calls; None through `llm`, which cannot set them."""
        return None

    def count_candidates(self) -> int:
        """Return the number of requested answers; always one through `llm`."""
        return 1

    def find_data_tool(self, data: JSON, data_class: str | None) -> str | None:
        """Return the tool to send the data of a reply to as arguments; None to send a text.

        Args:
            data: the data.
            data_class: the name of the pydantic class of the data; None without one.
        """
        return None

    def describe_failure(self, error: BaseException, begun: bool) -> JSONObject:
        """Return `status`, `retry_after` and `cut_off` of an error over HTTP.

        Args:
            error: the error of the call.
            begun: whether a part of the answer comes before the error.
        """
        return {}

    def describe(self) -> JSONObject:
        """Return the request as JSON values: `conversation`, `messages`, `schema` and `tools`."""
        return {
            "conversation": self.conversation_id,
            "messages": self.messages(),
            "schema": to_plain_json(self.schema) if self.schema else None,
            "tools": [describe_tool(tool) for tool in self.tools],
        }


def to_plain_json(value: Any, depth: int = 0) -> JSON:
    """Return a copy of a value as JSON values; other objects are replaced by their `repr`."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    # A list or dict may contain itself.
    if depth > DEEPEST:
        return "…"
    # The exact type is checked first, because that is fastest, and dicts are frequent.
    if type(value) is dict or isinstance(value, Mapping):
        return {str(key): to_plain_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain_json(item, depth + 1) for item in value]
    # A pydantic instance, recognized without an import of pydantic.
    if hasattr(type(value), "model_dump"):
        return to_plain_json(value.model_dump(mode="json", by_alias=True), depth + 1)
    return _format_object(value)


def copy_json(value: Any) -> JSON:
    """Return a copy of a JSON value; any other value is converted by `to_plain_json`."""
    try:
        copied: JSON = json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        return to_plain_json(value)
    return copied


def _format_object(value: object) -> str:
    """Return the name of a class, or the `repr` of another object without its address."""
    if isinstance(value, type):
        return value.__qualname__
    text = repr(value)
    # An address differs in each run, so equal calls would differ.
    if f"object at {id(value):#x}" in text:
        return f"<{type(value).__qualname__}>"
    return text


def describe_tool(tool: ToolLike) -> JSONObject:
    """Return `name`, `description` and `input_schema` of an offered tool."""
    return {
        "name": tool.name,
        "description": getattr(tool, "description", None),
        "input_schema": to_plain_json(getattr(tool, "input_schema", None)),
    }


def describe_tool_call(call: ToolCallLike, tool_call_id: str | None = None) -> JSONObject:
    """Return `name`, `arguments` and `tool_call_id` of a tool call."""
    return {
        "name": call.name,
        "arguments": to_plain_json(call.arguments),
        "tool_call_id": call.tool_call_id or tool_call_id,
    }


def describe_tool_result(result: ToolResultLike) -> JSONObject:
    """Return a tool result as JSON values, with `exception` and `attachments` if it has them."""
    described: JSONObject = {
        "type": "tool_result",
        "name": result.name,
        "output": to_plain_json(result.output),
        "tool_call_id": result.tool_call_id,
    }
    exception = getattr(result, "exception", None)
    if isinstance(exception, BaseException):
        exception = f"{type(exception).__name__}: {exception}"
    if exception:
        described["exception"] = exception
    if attachments := getattr(result, "attachments", None):
        described["attachments"] = describe_attachments(attachments)
    return described


def describe_attachments(
    attachments: Iterable[AttachmentLike], hashed: bool = True
) -> list[JSONObject]:
    """Return attachments without content: the `type`, `path`, `url`, `bytes` and `sha256` of each.

    Args:
        attachments: the attachments; no URL is requested.
        hashed: whether to read files to compute their hash.
    """
    return [_describe_attachment(attachment, hashed) for attachment in attachments]


def _describe_attachment(attachment: AttachmentLike, hashed: bool) -> JSONObject:
    described: JSONObject = {
        "type": attachment.type,
        "path": attachment.path,
        "url": attachment.url,
    }
    content = attachment.content
    if content is not None:
        described["bytes"] = len(content)
        if hashed:
            described["sha256"] = hashlib.sha256(content).hexdigest()
    elif hashed and attachment.path:
        described |= _describe_file(attachment.path)
    # `resolve_type` of `llm` would request a URL.
    if attachment.type is None and attachment.url is None:
        with contextlib.suppress(OSError, ValueError):
            described["type"] = attachment.resolve_type()
    return {name: value for name, value in described.items() if value is not None}


def _describe_file(path: str) -> JSONObject:
    """Return the `bytes` and, unless it is too large, the `sha256` of a file."""
    described: JSONObject = {}
    # A missing file is an error of the call to the provider, not of the description.
    with contextlib.suppress(OSError):
        described["bytes"] = os.path.getsize(path)
        if described["bytes"] <= LARGEST_FILE:
            content = Path(path).read_bytes()
            described["sha256"] = hashlib.sha256(content).hexdigest()
    return described
