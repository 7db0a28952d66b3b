"""What `llm` has a class for, made where others need it."""

from __future__ import annotations

from typing import Any


def create_usage(
    input_tokens: int | None, output_tokens: int | None, details: dict[str, Any] | None = None
) -> Any:
    """An `llm` usage."""
    import llm.models

    return llm.models.Usage(input_tokens, output_tokens, details)


def create_attachment(kind: str | None, url: str | None, content: bytes | None) -> Any:
    """An `llm` attachment."""
    import llm

    return llm.Attachment(type=kind, url=url, content=content)


def create_tool_call(name: str, arguments: dict[str, Any], call_id: str | None) -> Any:
    """An `llm` tool call."""
    import llm.models

    return llm.models.ToolCall(name, arguments, call_id)
