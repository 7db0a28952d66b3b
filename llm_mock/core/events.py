"""The events of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from llm_mock.core.reply_items import ReplyItem
    from llm_mock.support.json_types import JSONObject


# `Any`, because `llm` and its events are not imported here.
Chunk = Any
"""A `str`, an `Event`, or an event of a library, such as `llm.parts.StreamEvent`."""


class Event:
    """A chunk of an answer that is not plain text; chunks of plain text are `str`.

    The fields are those of `llm.parts.StreamEvent`, which is accepted wherever an `Event` is.

    Args:
        type: `text`, `reasoning`, `refusal`, `tool_call_name`, `tool_call_args` or `tool_result`.
        chunk: the text of the chunk.
        tool_call_id: the id of the tool call.
        tool_name: the name of the tool, if the provider ran it.
        server_executed: whether the provider ran the tool.
        redacted: whether the provider withheld the reasoning.
        part_index: the index of the part in the message; None for the current part.
        message_index: the index of the message in the answer.
        provider_metadata: data that the provider expects back in the next call.
    """

    tool_call_id: str | None = None
    tool_name: str | None = None
    server_executed = False
    redacted = False
    part_index: int | None = None
    message_index = 0
    provider_metadata: JSONObject | None = None

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
        provider_metadata: JSONObject | None = None,
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


class ItemEvent(Event):
    """An event for a complete part of an answer, such as a web search.

    Args:
        item: the `ReplyItem`.
    """

    def __init__(self, item: ReplyItem) -> None:
        super().__init__("item")
        self.item = item


class CompletedEvent(Event):
    """An event that a plugin completed at the end of the answer."""

    __slots__ = ("later",)
    later: JSONObject
    """The values of the fields at the end of the answer."""


class MadeToolCall:
    """A tool call of an answer, after its events."""

    __slots__ = ("arguments", "attributes", "name", "tool_call_id")

    def __init__(
        self,
        name: str,
        arguments: JSONObject,
        tool_call_id: str | None,
        attributes: JSONObject,
    ) -> None:
        self.name = name
        self.arguments = arguments
        self.tool_call_id = tool_call_id
        self.attributes = attributes


class Wait(float):
    """The seconds before the next event, on the virtual clock."""

    __slots__ = ()
    real = False
    """Whether to really wait."""
    served = False
    """Whether a server waits in real time, because its clients have no virtual clock."""


class RealWait(Wait):
    """Seconds of real waiting."""

    __slots__ = ()
    real = True
    served = True


class Silence(Wait):
    """A pause of a simulated fault: on the virtual clock, or in real time in a server."""

    __slots__ = ()
    served = True


def is_event(value: object) -> bool:
    """Return whether a value is an `Event`, or an event of a library."""
    # Checked by attributes, because `llm` is not imported here.
    return hasattr(value, "type") and hasattr(value, "chunk")


def get_event_text(event: Chunk) -> str:
    """Return the text that an event adds to the answer."""
    if isinstance(event, str):
        return event
    return str(event.chunk) if event.type == "text" else ""


def is_reply_item(value: object) -> TypeGuard[ReplyItem]:
    """Return whether a value is a `ReplyItem`, such as a web search."""
    # Checked by an attribute, because few programs import the module of the class.
    return getattr(type(value), "is_reply_item", False) is True
