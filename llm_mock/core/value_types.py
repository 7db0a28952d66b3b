"""Types of the objects of libraries, for annotations."""

from __future__ import annotations

from typing import Protocol

from llm_mock.support.json_types import JSONObject


class ToolLike(Protocol):
    """An offered tool: an `llm.Tool`, or one of a request over HTTP."""

    name: str
    description: str | None
    input_schema: JSONObject


class ToolCallLike(Protocol):
    """A tool call: a `ToolCall`, or an `llm.ToolCall`."""

    name: str
    arguments: JSONObject
    tool_call_id: str | None


class ToolResultLike(Protocol):
    """The result of a tool: an `llm.ToolResult`, or one of a request over HTTP."""

    name: str
    output: str
    tool_call_id: str | None


class AttachmentLike(Protocol):
    """An attachment: an `llm.Attachment`, or one of a request over HTTP."""

    type: str | None
    path: str | None
    url: str | None
    content: bytes | None

    def resolve_type(self) -> str:
        """Return the type; if it is not set, guess it from the content."""
