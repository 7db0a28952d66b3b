"""What an answer is made of while it comes.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass
class Event:
    """A piece of an answer that is more than text; a piece of its text is a `str`.

    The fields are those of `llm.parts.StreamEvent`, which may stand wherever an `Event` does.
    """

    type: str
    """`text`, `reasoning`, `tool_call_name`, `tool_call_args` or `tool_result`."""
    chunk: str = ""
    """The text of the piece."""
    tool_call_id: str | None = None
    """To which tool call it belongs."""
    tool_name: str | None = None
    """The name of the tool, where the provider itself ran it."""
    server_executed: bool = False
    """Whether the provider itself ran the tool."""
    redacted: bool = False
    """Whether the provider withheld the reasoning."""
    part_index: int | None = None
    """To which part of the message it belongs; None for the one that is being made."""
    message_index: int = 0
    """To which message of the answer it belongs."""
    provider_metadata: dict[str, Any] | None = None
    """What the provider wants to get back in the next call."""


class MadeToolCall(NamedTuple):
    """A tool call of an answer, between its events and the end."""

    name: str
    arguments: dict[str, Any]
    tool_call_id: str


class Wait(float):
    """Seconds that pass before the next event."""

    __slots__ = ()


class End(NamedTuple):
    """The end of an answer, with what is known of it as a whole."""

    input_tokens: int | None
    output_tokens: int | None
    usage_details: Any
    attachments: tuple[Any, ...]
    resolved_model: str | None
    raw: Any
    """The provider's payload; None for plain text."""


def is_event(value: Any) -> bool:
    """Whether a value is an `Event`, or an event of a library."""
    return hasattr(value, "type") and hasattr(value, "chunk")


def text_of(event: Any) -> str:
    """What an event adds to the text of an answer."""
    if isinstance(event, str):
        return event
    return str(event.chunk) if event.type == "text" else ""
