"""Check that a scripted reply makes the tool calls that its request requires.

Imported only for requests that restrict tool calls, and for replies with several calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llm_mock.core.reply import UNSET
from llm_mock.core.source_location import (
    SourceLocation,
    format_origin,
)
from llm_mock.core.tool_calls import BrokenToolCall
from llm_mock.errors import InvalidToolCall
from llm_mock.support.schemas import find_violations
from llm_mock.support.text import join_names, shorten

if TYPE_CHECKING:
    from llm_mock.core.reply import Reply
    from llm_mock.core.request import Request, ToolDemand
    from llm_mock.core.value_types import ToolLike
    from llm_mock.support.json_types import JSONObject

CUT_OFF = ("length", "content_filter")
"""The finish reasons of replies that end before they are complete."""


def check_tool_demand(
    reply: Reply, request: Request, location: SourceLocation | None
) -> InvalidToolCall | None:
    """Return the error for a reply that the request does not allow, or None.

    Args:
        reply: the reply.
        request: the request.
        location: the location where the reply was configured, if known.
    """
    if reply.invalid or reply.error is not None:
        return None
    demand = request.read_tool_demand()
    if demand is None:
        return None
    problem = _find_problem(reply, request, demand)
    if problem is None:
        return None
    origin = format_origin(location)
    return InvalidToolCall(
        f"The reply{origin} {problem}, but the request has {demand.wording}.\n"
        f"The reply: {shorten(reply.outcome, 300)}\n"
        f"{_advise_data(reply, request, demand)}"
        "Correct the reply. If it is wrong on purpose, pass Reply(…, invalid=True)."
    )


def _find_problem(reply: Reply, request: Request, demand: ToolDemand) -> str | None:
    """Return a phrase for a tool call that is not allowed or missing, or None."""
    return _find_extra_call(reply, demand) or _find_missing_call(reply, request, demand)


def _find_extra_call(reply: Reply, demand: ToolDemand) -> str | None:
    # A `BrokenToolCall` is wrong on purpose.
    calls = [call for call in reply.tool_calls if not isinstance(call, BrokenToolCall)]
    for call in calls:
        if call.name not in demand.callable_tools:
            return f"calls the tool {call.name!r}"
    number = len(calls)
    if number > 1 and not demand.is_parallel:
        return f"calls {number} tools at once"
    return None


def _find_missing_call(reply: Reply, request: Request, demand: ToolDemand) -> str | None:
    is_cut_off = reply.finish_reason in CUT_OFF
    if not demand.is_required or reply.tool_calls or is_cut_off:
        return None
    # Data may become the arguments of a tool.
    has_data = reply.data is not UNSET
    if has_data and request.find_data_tool(reply.data, reply.data_class) is not None:
        return None
    names = ", ".join(demand.callable_tools)
    return f"calls none of the tools {names}"


def _advise_data(reply: Reply, request: Request, demand: ToolDemand) -> str:
    """Return a line about data if the reply is a text or data, but the request requires a tool.

    Agent frameworks request structured output this way, by their own tool, which is the last one.
    """
    tools = [tool for tool in request.tools if tool.name in demand.callable_tools]
    if not demand.is_required or not tools or reply.tool_calls:
        return ""
    if reply.data is not UNSET:
        return _explain_data(reply, request, tools)
    fields = join_names(list((tools[-1].input_schema or {}).get("properties", {})))
    which = "the tool" if len(tools) == 1 else f"{tools[-1].name!r} or another tool"
    return (
        f"Set the arguments of {which} as data, a dict with {fields or 'its fields'}, or "
        f"ToolCall({tools[-1].name!r}, {{…}}).\n"
    )


def _explain_data(reply: Reply, request: Request, tools: list[ToolLike]) -> str:
    """Return a line about data that are not the arguments of one of the tools."""
    if request.schema and not request.schema_is_a_tool:
        return (
            "The request also has a schema, so the data are sent as a text. To call a tool, use "
            f"ToolCall({tools[-1].name!r}, {{…}}).\n"
        )
    if len(tools) > 1:
        accepted = []
        for tool in tools:
            accepted.append(f"{tool.name!r} accepts {_list_arguments(tool)}")
        return f"The data match no tool: {'; '.join(accepted)}.\n"
    schema = tools[0].input_schema or {}
    if not isinstance(reply.data, dict):
        return _suggest_argument(schema)
    name = tools[0].name
    violations = "; ".join(find_violations(schema, reply.data, "the data"))
    return f"The data do not match the tool {name!r}: {violations}.\n"


def _list_arguments(tool: ToolLike) -> str:
    schema = tool.input_schema or {}
    names = list(schema.get("properties", {}))
    return join_names(names) or "no arguments"


def _suggest_argument(schema: JSONObject) -> str:
    """Return a line that wraps a value in an object for a tool with one argument; else empty."""
    names = [*schema.get("properties", {})]
    if len(names) != 1:
        return ""
    return f"The tool has the argument {names[0]!r}: write {{{names[0]!r}: …}}.\n"
