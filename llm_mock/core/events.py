"""What an answer is made of while it comes."""

from __future__ import annotations

from typing import Any


class Event:
    """A piece of an answer that is more than text; a piece of its text is a `str`.

    The fields are those of `llm.parts.StreamEvent`, which may stand wherever an `Event` does.

    Args:
        type: `text`, `reasoning`, `tool_call_name`, `tool_call_args` or `tool_result`.
        chunk: the text of the piece.
        tool_call_id: to which tool call it belongs.
        tool_name: the name of the tool, where the provider itself ran it.
        server_executed: whether the provider itself ran the tool.
        redacted: whether the provider withheld the reasoning.
        part_index: to which part of the message it belongs; None for the one that is being made.
        message_index: to which message of the answer it belongs.
        provider_metadata: what the provider wants to get back in the next call.
    """

    tool_call_id: str | None = None
    tool_name: str | None = None
    server_executed = False
    redacted = False
    part_index: int | None = None
    message_index = 0
    provider_metadata: dict[str, Any] | None = None

    def __init__(
        self,
        type: str,
        chunk: str = "",
        *,
        tool_call_id: str | None = None,
        tool_name: str | None = None,
        server_executed: bool = False,
        redacted: bool = False,
        part_index: int | None = None,
        message_index: int = 0,
        provider_metadata: dict[str, Any] | None = None,
    ) -> None:
        self.type = type
        self.chunk = chunk
        self.tool_call_id = tool_call_id
        self.tool_name = tool_name
        self.server_executed = server_executed
        self.redacted = redacted
        self.part_index = part_index
        self.message_index = message_index
        self.provider_metadata = provider_metadata

    def __repr__(self) -> str:
        given = ", ".join(
            f"{name}={value!r}"
            for name, value in vars(self).items()
            if value != getattr(Event, name, "")
        )
        return f"Event({given})"


class CompletedEvent(Event):
    """An event that was given, and that its plugin completed when the answer had ended."""

    __slots__ = ("later",)
    later: dict[str, Any]
    """The fields as they were then."""


class MadeToolCall:
    """A tool call of an answer, after its events."""

    __slots__ = ("arguments", "attributes", "name", "tool_call_id")

    def __init__(
        self,
        name: str,
        arguments: dict[str, Any],
        tool_call_id: str | None,
        attributes: dict[str, Any],
    ) -> None:
        self.name = name
        self.arguments = arguments
        self.tool_call_id = tool_call_id
        self.attributes = attributes


class Wait(float):
    """Seconds that pass before the next event, on the virtual clock."""

    __slots__ = ()
    real = False
    """Whether they are really waited for."""
    served = False
    """Whether a server waits for them, whose clients have no virtual clock."""


class RealWait(Wait):
    """Seconds that are really waited for."""

    __slots__ = ()
    real = served = True


class Silence(Wait):
    """Seconds in which a provider is at fault: on the virtual clock in this process, really where
    it is served."""

    __slots__ = ()
    served = True


def is_event(value: Any) -> bool:
    """Whether a value is an `Event`, or an event of a library."""
    return hasattr(value, "type") and hasattr(value, "chunk")


def text_of(event: Any) -> str:
    """What an event adds to the text of an answer."""
    if isinstance(event, str):
        return event
    return str(event.chunk) if event.type == "text" else ""
