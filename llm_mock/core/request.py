"""What a model is asked: described once, for all that looks at a call."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

DEEPEST = 50
"""How deep an argument is described; one that contains itself has no end."""
LARGEST_FILE = 20_000_000
"""Attached files of more bytes are described without their hash."""


class Request:
    """One call, as the boundary that it came through understood it. A boundary fills the fields
    in."""

    __slots__ = (
        "attachments",
        "conversation_id",
        "model_id",
        "native",
        "options",
        "passed",
        "prompt",
        "schema",
        "system",
        "tool_results",
        "tools",
        "turn",
    )

    model_id: str
    """Which model is asked."""
    prompt: str
    """The text of the prompt with its fragments; with messages alone, that of the last user
    message."""
    system: str
    """The system prompt, empty without one."""
    schema: dict[str, Any] | None
    """The JSON schema that is asked for."""
    tools: Sequence[Any]
    """The tools on offer, each with `name`, `description` and `input_schema`."""
    tool_results: Sequence[Any]
    """What tools gave, each with `name`, `output` and `tool_call_id`, perhaps `exception` and
    `attachments`."""
    attachments: Sequence[Any]
    """What is attached, each with `type`, `path`, `url` and `content`."""
    options: dict[str, Any]
    """The options that were given, as JSON values; the record of the call has this very object."""
    passed: bool
    """Whether the call came through our `prompt()`, whose first specification has defaults of its
    own."""
    turn: int
    """Which answer of its conversation it asks for, from 1."""
    conversation_id: str | None
    """The id of the conversation, if the call is part of one."""
    key: str | None = None
    """The key that was passed with the call, or assigned to the model."""
    provider: str | None = None
    """Over HTTP, whose API is called: `openai`, `anthropic`, `google` or `mistral`."""
    stream: bool | None = None
    """Over HTTP, whether the answer is to be streamed."""
    schema_is_a_tool = False
    """Whether the schema is asked for by a tool that must be called, which is one of `tools`."""
    native: Any
    """What the library made of the call, for functions that reply: an `llm.Prompt`."""

    def messages(self) -> list[dict[str, Any]]:
        """All that the model sees, from the first message of the conversation on: `{"role",
        "parts"}`.

        A part is `{"type": "text" | "reasoning", "text"}`, `{"type": "tool_call", "name",
        "arguments", "tool_call_id"}`, a `tool_result` as `described_result` has it, or `{"type":
        "attachment", "attachment"}`.
        """
        raise NotImplementedError

    def characters(self) -> int:
        """How many characters the messages have, the system prompt and attachments among them, to
        count tokens."""
        raise NotImplementedError

    def given_messages(self) -> list[dict[str, Any]]:
        """The messages that the application gave as the history itself, as they are, without the
        system prompt."""
        raise NotImplementedError

    def system_message(self) -> str:
        """The system prompt, also where an earlier message of the conversation says it."""
        return self.system

    def common_options(self) -> dict[str, Any]:
        """The options under the names that `llm` has for them, so that calls of every library can
        be compared."""
        return self.options

    def on_the_wire(self) -> dict[str, Any]:
        """What the record says of a call that came over HTTP: `api`, `provider`, `sdk`, `stream`
        and `tool_choice`."""
        return {}

    def failed(self, error: BaseException, begun: bool) -> dict[str, Any]:
        """What the record says of an error over HTTP: `status`, `retry_after` and `cut_off`.

        Args:
            error: why the call failed.
            begun: whether a part of the answer was configured before it.
        """
        return {}

    def describe(self) -> dict[str, Any]:
        """All of it as JSON values: `conversation`, `messages`, `schema` and `tools`."""
        return {
            "conversation": self.conversation_id,
            "messages": self.messages(),
            "schema": plain(self.schema) if self.schema else None,
            "tools": [described_tool(tool) for tool in self.tools],
        }


def plain(value: Any, depth: int = 0) -> Any:
    """A copy of a value in which everything is a JSON value; what has no JSON form is shown by its
    repr."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if depth > DEEPEST:
        return "…"
    if type(value) is dict or isinstance(value, Mapping):  # to ask for the type is the fastest
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, depth + 1) for item in value]
    if hasattr(type(value), "model_dump"):
        return plain(value.model_dump(mode="json", by_alias=True), depth + 1)
    shown = value.__qualname__ if isinstance(value, type) else repr(value)
    return f"<{type(value).__qualname__}>" if f"object at {id(value):#x}" in shown else shown


def described_tool(tool: Any) -> dict[str, Any]:
    """A tool on offer: `name`, `description` and `input_schema`."""
    return {
        "name": tool.name,
        "description": getattr(tool, "description", None),
        "input_schema": plain(getattr(tool, "input_schema", None)),
    }


def described_tool_call(call: Any, tool_call_id: str | None = None) -> dict[str, Any]:
    """A tool call: `name`, `arguments` and `tool_call_id`."""
    return {
        "name": call.name,
        "arguments": plain(call.arguments),
        "tool_call_id": call.tool_call_id or tool_call_id,
    }


def described_result(result: Any) -> dict[str, Any]:
    """What a tool gave: `type`, `name`, `output`, `tool_call_id`, and where they are `exception`
    and `attachments`."""
    described: dict[str, Any] = {
        "type": "tool_result",
        "name": result.name,
        "output": plain(result.output),
        "tool_call_id": result.tool_call_id,
    }
    exception = getattr(result, "exception", None)
    if isinstance(exception, BaseException):
        exception = f"{type(exception).__name__}: {exception}"
    if exception:
        described["exception"] = exception
    if attachments := getattr(result, "attachments", None):
        described["attachments"] = described_attachments(attachments)
    return described


def described_attachments(attachments: Iterable[Any], hashed: bool = True) -> list[dict[str, Any]]:
    """Attachments without their content: what there is of `type`, `path`, `url`, `bytes` and
    `sha256`.

    Args:
        attachments: the attachments; a URL is not asked for its type.
        hashed: whether to read files, for their hash.
    """
    return [_described_attachment(attachment, hashed) for attachment in attachments]


def _described_attachment(attachment: Any, hashed: bool) -> dict[str, Any]:
    described: dict[str, Any] = {
        "type": attachment.type,
        "path": attachment.path,
        "url": attachment.url,
    }
    content = attachment.content
    if hashed and content is None and attachment.path:
        with contextlib.suppress(OSError):
            described["bytes"] = os.path.getsize(attachment.path)
            content = (
                Path(attachment.path).read_bytes() if described["bytes"] <= LARGEST_FILE else None
            )
    if content is not None:
        described["bytes"] = len(content)
        if hashed:
            described["sha256"] = hashlib.sha256(content).hexdigest()
    if attachment.type is None and attachment.url is None:  # a URL would be asked for its type
        with contextlib.suppress(OSError, ValueError):
            described["type"] = attachment.resolve_type()
    return {name: value for name, value in described.items() if value is not None}
