"""Tool calls that a model makes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from typing import Any

from llm_mock.errors import InvalidReply
from llm_mock.support.numbers import check_finite
from llm_mock.support.text import described


class ToolCall:
    """A tool call that a model makes; an `llm.ToolCall` may stand wherever this one does.

    Args:
        name: the name of the tool.
        arguments: its arguments.
        tool_call_id: the id of the call; None is filled in.
    """

    def __init__(
        self, name: str, arguments: dict[str, Any] | None = None, tool_call_id: str | None = None
    ) -> None:
        self.name = name
        self.arguments: dict[str, Any] = {} if arguments is None else arguments
        self.tool_call_id = tool_call_id

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.arguments!r})"


class BrokenToolCall(ToolCall):
    """A tool call that is wrong on purpose: of an unknown tool, or with missing or malformed
    arguments.

    Args:
        name: the name of the tool.
        arguments: its arguments, or a text that should have been their JSON. `llm` gives text that
            is no JSON object on as `{"_raw": text}`.
        tool_call_id: the id of the call; None is filled in.
    """

    def __init__(
        self, name: str, arguments: dict[str, Any] | str, tool_call_id: str | None = None
    ) -> None:
        self.text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        super().__init__(name, _object_or_raw(self.text), tool_call_id)


def further_attributes(call: Any) -> dict[str, Any]:
    """What a provider's plugin put on a tool call for the next turn, such as gemini's
    `thought_signature`."""
    own = ("name", "arguments", "tool_call_id", "text")
    return {name: copy.deepcopy(value) for name, value in vars(call).items() if name not in own}


def _object_or_raw(text: str) -> dict[str, Any]:
    try:
        arguments = json.loads(text)
    except json.JSONDecodeError:
        return {"_raw": text}
    return arguments if isinstance(arguments, dict) else {"_raw": text}


def checked_tool_calls(tool_calls: Any) -> tuple[Any, ...]:
    """A copy of what was given as the tool calls of a reply."""
    __tracebackhide__ = True
    frozen = tuple(tool_calls) if isinstance(tool_calls, Iterable) else None
    for call in (tool_calls,) if frozen is None else frozen:
        if frozen is None or not (
            hasattr(call, "name") and isinstance(getattr(call, "arguments", None), dict)
        ):
            raise InvalidReply(
                f"This is not a tool call: {described(call)}. Give ToolCall or BrokenToolCall "
                "objects, in a list."
            )
        _check_call(call)
    return copy.deepcopy(frozen or ())


def _check_call(call: Any) -> None:
    """Refuse a tool call that no provider can send."""
    __tracebackhide__ = True
    if not isinstance(call.name, str) or not call.name:
        raise InvalidReply(
            f"The name of a tool call is {described(call.name)}: give the name of a tool."
        )
    if isinstance(call, BrokenToolCall):
        return
    try:
        check_finite(call.arguments)
    except ValueError as error:
        raise InvalidReply(f"The arguments of the tool call {call.name!r}: {error}.") from None
