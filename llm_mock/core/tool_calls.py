"""Tool calls in the replies of a model."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from llm_mock.errors import InvalidReply
from llm_mock.support.numbers import check_finite
from llm_mock.support.text import described

if TYPE_CHECKING:
    from llm_mock.core.value_types import ToolCallLike
    from llm_mock.support.json_types import JSONObject


class ToolCall:
    """A tool call that a model makes; an `llm.ToolCall` may stand wherever this one does.

    Args:
        name: the name of the tool.
        arguments: its arguments.
        tool_call_id: the id of the call; None is filled in.
    """

    def __init__(
        self, name: str, arguments: JSONObject | None = None, tool_call_id: str | None = None
    ) -> None:
        self.name = name
        self.arguments: JSONObject = {} if arguments is None else arguments
        self.tool_call_id = tool_call_id

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.arguments!r})"


class BrokenToolCall(ToolCall):
    """A tool call that is wrong on purpose: an unknown tool, or malformed arguments.

    Args:
        name: the name of the tool.
        arguments: its arguments, or a text that should have been their JSON. `llm` gives text that
            is no JSON object on as `{"_raw": text}`.
        tool_call_id: the id of the call; None is filled in.
    """

    def __init__(
        self, name: str, arguments: JSONObject | str, tool_call_id: str | None = None
    ) -> None:
        self.text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        super().__init__(name, _parse_arguments(self.text), tool_call_id)


def get_further_attributes(call: ToolCallLike) -> JSONObject:
    """Return the attributes that a plugin added to a tool call, such as a `thought_signature`."""
    own = ("name", "arguments", "tool_call_id", "text")
    return {name: copy.deepcopy(value) for name, value in vars(call).items() if name not in own}


def _parse_arguments(text: str) -> JSONObject:
    """Return the JSON object in a text, or the text under `_raw`, as `llm` does."""
    try:
        arguments = json.loads(text)
    except json.JSONDecodeError:
        return {"_raw": text}
    return arguments if isinstance(arguments, dict) else {"_raw": text}


def check_tool_calls(tool_calls: object) -> tuple[ToolCallLike, ...]:
    """Return a copy of the tool calls of a reply.

    Raises:
        InvalidReply: one of them is not a tool call that a provider can send.
    """
    __tracebackhide__ = True
    if not isinstance(tool_calls, Iterable):
        raise _make_call_error(tool_calls)
    calls = tuple(tool_calls)
    for call in calls:
        # By attributes, because calls of `llm` are welcome, and `llm` is not imported here.
        if not (hasattr(call, "name") and isinstance(getattr(call, "arguments", None), dict)):
            raise _make_call_error(call)
        _check_call(call)
    # A copy, because a reply must not change with what was passed to it.
    return copy.deepcopy(calls)


def _make_call_error(value: object) -> InvalidReply:
    return InvalidReply(
        f"This is not a tool call: {described(value)}. Give ToolCall or BrokenToolCall "
        "objects, in a list."
    )


def _check_call(call: ToolCallLike) -> None:
    """Raise an InvalidReply for a tool call that no provider can send."""
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
