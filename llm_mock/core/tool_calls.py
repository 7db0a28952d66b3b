"""Tool calls in the replies of a model."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from llm_mock.core.json_text import find_invalid_part
from llm_mock.errors import InvalidReply
from llm_mock.support.numbers import check_finite
from llm_mock.support.text import described, shorten, shorten_name

if TYPE_CHECKING:
    from llm_mock.core.value_types import ToolCallLike
    from llm_mock.support.json_types import JSONObject


class ToolCall:
    """A tool call that a model makes. An `llm.ToolCall` is accepted wherever a `ToolCall` is.

    Args:
        name: the name of the tool.
        arguments: the arguments, as a dict or as the text of a JSON object.
        tool_call_id: the id of the call; if it is None, the mock creates one.

    Raises:
        InvalidReply: the arguments are not a JSON object; `BrokenToolCall` accepts any text.
    """

    def __init__(
        self,
        name: str,
        arguments: JSONObject | str | None = None,
        tool_call_id: str | None = None,
    ) -> None:
        __tracebackhide__ = True
        self.name = name
        self.arguments: JSONObject = _read_arguments(name, arguments)
        self.tool_call_id = tool_call_id

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.arguments!r})"


def call(tool: str, /, **arguments: object) -> ToolCall:
    """Return a call to a tool with these arguments.

    Example:
        `call("weather", city="Rome")`

    Args:
        tool: the name of the tool.
        arguments: the arguments of the call.
    """
    return ToolCall(tool, arguments)


class BrokenToolCall(ToolCall):
    """A tool call that is wrong on purpose: an unknown tool, or malformed arguments.

    Args:
        name: the name of the tool.
        arguments: the arguments, or malformed JSON as text. `llm` passes text that is not a JSON
            object to the application as `{"_raw": text}`.
        tool_call_id: the id of the call; if it is None, the mock creates one.
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


def _read_arguments(name: str, arguments: JSONObject | str | None) -> JSONObject:
    """Return the arguments of a tool call, which may be text.

    Raises:
        InvalidReply: they are not a JSON object.
    """
    __tracebackhide__ = True
    if arguments is None:
        return {}
    if not isinstance(arguments, str):
        _check_arguments(name, arguments)
        return arguments
    try:
        parsed = json.loads(arguments)
    except json.JSONDecodeError:
        parsed = None
    if not isinstance(parsed, dict):
        value = arguments if parsed is None else parsed
        fix = _suggest_arguments(name, value)
        if arguments.lstrip().startswith("{"):
            fix = "Correct the JSON, or pass a dict instead of text."
        raise InvalidReply(
            f"The arguments of the tool call {name!r} are not a JSON object: {shorten(arguments)}. "
            f"{fix} To simulate a wrong tool call on purpose, use BrokenToolCall."
        )
    return parsed


def _check_arguments(name: str, arguments: object) -> None:
    """Raise an InvalidReply for the arguments of a tool call that are not a dict."""
    __tracebackhide__ = True
    if not isinstance(arguments, dict):
        raise InvalidReply(
            f"The arguments of the tool call {name!r} must be a dict, but got "
            f"{described(arguments)}. {_suggest_arguments(name, arguments)}"
        )


def _suggest_arguments(name: str, value: object) -> str:
    """Return advice for arguments of a tool call that were passed as a single value."""
    tool = shorten_name(repr(name))
    if hasattr(value, "model_dump") and not isinstance(value, type):
        dumped = 'arguments.model_dump(mode="json")'
        return f"Pass its fields as a dict, as in ToolCall({tool}, {dumped})."
    if isinstance(value, str) and value.strip() in ("", "null"):
        return f"Without arguments, write ToolCall({tool})."
    # A list may be the value of one argument or the values of several.
    shown = "…"
    if isinstance(value, str):
        shown = shorten(value)
    elif isinstance(value, (int, float)):
        shown = described(value)
    return (
        f"Pass a dict of parameter names and values, such as ToolCall({tool}, {{'name of the "
        f"parameter': {shown}}})."
    )


def is_tool_call(value: object) -> bool:
    """Return whether a value is a `ToolCall`, or a tool call of a library."""
    # Checked by attributes, because `llm.ToolCall` is accepted, but `llm` is not imported here.
    return hasattr(value, "name") and hasattr(value, "arguments")


def _parse_arguments(text: str) -> JSONObject:
    """Return the JSON object in a text, or the text under `_raw`, as `llm` does."""
    try:
        arguments = json.loads(text)
    except json.JSONDecodeError:
        return {"_raw": text}
    return arguments if isinstance(arguments, dict) else {"_raw": text}


def check_tool_calls(tool_calls: object) -> tuple[ToolCallLike, ...]:
    """Return a copy of the tool calls of a reply, which may be a list or a single call.

    Raises:
        InvalidReply: one of them is not a tool call that a provider can send.
    """
    __tracebackhide__ = True
    if is_tool_call(tool_calls):
        tool_calls = (tool_calls,)
    if not isinstance(tool_calls, Iterable):
        raise _make_call_error(tool_calls)
    calls: tuple[ToolCallLike, ...] = tuple(tool_calls)
    for call in calls:
        if not is_tool_call(call):
            raise _make_call_error(call)
        _check_call(call)
    # A copy, so that later changes to the argument do not change the reply.
    try:
        return copy.deepcopy(calls)
    except TypeError:
        problem = _explain_uncopied(calls)
        if not problem:
            raise
        raise InvalidReply(problem) from None


def _explain_uncopied(calls: Iterable[ToolCallLike]) -> str:
    """Return a message about an argument that is not JSON, such as a coroutine; empty without."""
    for call in calls:
        problem = find_invalid_part(call.arguments, "arguments")
        if problem:
            return f"The tool call {call.name!r} cannot be sent: {problem}"
    return ""


def _make_call_error(value: object) -> InvalidReply:
    advice = "Pass one ToolCall or BrokenToolCall, or a list of them."
    if isinstance(value, dict):
        advice = f"Write {suggest_tool_call(value)}."
    return InvalidReply(f"This is not a tool call: {described(value)}. {advice}")


def suggest_tool_call(data: Mapping[str, object]) -> str:
    """Return the code for a tool call in the form of OpenAI, LangChain or Anthropic."""
    function = data.get("function")
    fields = function if isinstance(function, dict) else data
    name = fields.get("name")
    # The keys that OpenAI, LangChain and Anthropic use.
    arguments = fields.get("arguments")
    if arguments is None:
        arguments = fields.get("args", fields.get("input"))
    if not isinstance(name, str) or not isinstance(arguments, (dict, str)):
        return "ToolCall(name, arguments)"
    shown_name = shorten_name(repr(name))
    return f"ToolCall({shown_name}, {shorten(arguments)})"


def _check_call(call: ToolCallLike) -> None:
    """Raise an InvalidReply for a tool call that no provider can send."""
    __tracebackhide__ = True
    if not isinstance(call.name, str) or not call.name:
        raise InvalidReply(
            f"The name of a tool call is {described(call.name)}: pass the name of a tool."
        )
    if isinstance(call, BrokenToolCall):
        return
    _check_arguments(call.name, call.arguments)
    try:
        check_finite(call.arguments)
    except ValueError as error:
        raise InvalidReply(f"The arguments of the tool call {call.name!r}: {error}.") from None
