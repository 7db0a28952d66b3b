"""Checks of scripted replies: a real model must be able to give the reply to the call."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING

from llm_mock.core.json_text import to_json_text
from llm_mock.core.records import format_schema
from llm_mock.core.reply import UNSET, Reply
from llm_mock.core.source_location import (
    SourceLocation,
    format_origin,
)
from llm_mock.core.tool_calls import BrokenToolCall
from llm_mock.errors import (
    InvalidToolCall,
    LLMMockError,
    SchemaViolation,
)
from llm_mock.support.expected_schema import is_content
from llm_mock.support.schema_forms import SchemaForm
from llm_mock.support.schemas import find_text_violations, find_violations
from llm_mock.support.text import join_names, shorten, shorten_name, suggest_nearest

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.request import Request
    from llm_mock.core.settings import Settings
    from llm_mock.core.value_types import ToolCallLike, ToolLike
    from llm_mock.support.json_types import JSONObject

SHOWN_VIOLATIONS = 10
"""The maximum number of schema violations in a message."""
SHOWN_REPLY = 300
"""The maximum length of a reply, or of the outline of a schema, in a message."""
_TOOL_CALL_ADVICE = (
    "Correct the reply, or use BrokenToolCall to simulate a wrong tool call on purpose."
)


def check_reply(
    record: Call,
    reply: Reply,
    request: Request,
    settings: Settings,
    location: SourceLocation | None,
) -> LLMMockError | None:
    """Check a scripted reply for impossible tool calls and schema violations.

    Args:
        record: the call.
        reply: the reply.
        request: the request of the call.
        settings: the settings, which include how strictly schemas are checked.
        location: the location where the reply was configured, if known.

    Returns:
        The error, or None. The settings determine whether a `SchemaViolation` is raised or only a
        warning.
    """
    if reply.tool_calls or request.tool_choice is not None:
        problem = _check_tool_calls(reply, request, settings, location)
        if problem is not None:
            return problem
    if settings.schema_check == "off" or reply.invalid:
        return None
    if request.schema:
        return _check_schema(record, reply, request.schema, settings, location)
    name = request.find_data_tool(reply.data, reply.data_class)
    for tool in request.tools:
        if tool.name == name and tool.input_schema:
            schema_name = f"of the tool {name!r}"
            return _check_schema(
                record, reply, tool.input_schema, settings, location, name=schema_name
            )
    return None


def _check_schema(
    record: Call,
    reply: Reply,
    schema: JSONObject,
    settings: Settings,
    location: SourceLocation | None,
    *,
    name: str | None = None,
) -> LLMMockError | None:
    """Return the error for a reply that breaks a schema, or None."""
    if not _is_final_answer(reply):
        return None
    problems = find_text_violations(schema, reply.content)
    if not problems:
        return None
    name = name or record["kwargs"]["schema"]
    beginning = f"The reply for {record['model_id']!r}{format_origin(location)}"
    return SchemaViolation(
        f"{beginning} violates the schema {_format_name(name)}of the call:\n"
        f"{_format_list(problems[:SHOWN_VIOLATIONS])}\n"
        f"The reply: {shorten_name(reply.content, SHOWN_REPLY)}\n"
        f"{_explain_refusal(reply)}"
        f"{_explain_wrapper(schema, reply)}"
        f"{_format_form(name, schema, reply)}"
        "Correct the reply. If it is wrong on purpose, pass Reply(…, invalid=True)."
    )


def _format_name(name: str) -> str:
    """Return the name of a schema with a space; empty if it has no name."""
    return "" if is_content(name) else f"{format_schema(name)} "


def _explain_refusal(reply: Reply) -> str:
    """Return a line about refusals for a text, which may be meant as a refusal."""
    if reply.data is not UNSET or reply.content.startswith(("{", "[")):
        return ""
    return "For a refusal, write Reply(refusal=…), which need not match the schema.\n"


def _explain_wrapper(schema: JSONObject, reply: Reply) -> str:
    """Return a line about the only field of a schema if the reply is the value of this field.

    Frameworks wrap a type that is not an object, such as a list, into an object with one field.
    """
    properties = schema.get("properties") or {}
    if reply.data is UNSET or len(properties) != 1:
        return ""
    [field] = properties
    if find_text_violations(schema, to_json_text({field: reply.data})):
        return ""
    return f"The schema expects the value in the field {field!r}: write {{{field!r}: …}}.\n"


def _format_form(name: str, schema: JSONObject, reply: Reply) -> str:
    """Return a line with the expected fields if neither name nor violations show them."""
    form = SchemaForm(schema)
    # For a text, the only violation is that it is not JSON.
    is_named = not is_content(name) and reply.data is not UNSET
    if is_named and not form.has_alternatives:
        return ""
    return f"Expected: {shorten_name(str(form), SHOWN_REPLY)}\n"


def _check_tool_calls(
    reply: Reply, request: Request, settings: Settings, location: SourceLocation | None
) -> InvalidToolCall | None:
    """Return the error for wrong or missing tool calls in a reply, or None."""
    for call in reply.tool_calls:
        problem = _check_tool_call(call, request, location)
        if problem is not None:
            return problem
    is_demanded = request.tool_choice is not None or len(reply.tool_calls) > 1
    if not is_demanded or settings.schema_check == "off":
        return None
    # Imported here, because few requests restrict the tools that may be called.
    from llm_mock.core.tool_choice import check_tool_demand

    return check_tool_demand(reply, request, location)


def _is_final_answer(reply: Reply) -> bool:
    """Return whether a reply is the final answer; only this must match the schema."""
    # After tool calls without text, the application sends the results in another call.
    return reply.error is None and bool(reply.content or not reply.tool_calls)


def _check_tool_call(
    call: ToolCallLike, request: Request, location: SourceLocation | None
) -> InvalidToolCall | None:
    """Return the error for a tool call of an unknown tool or with wrong arguments, or None."""
    # A `BrokenToolCall` is wrong on purpose.
    if isinstance(call, BrokenToolCall):
        return None
    offered = {tool.name: tool for tool in request.tools}
    beginning = f"The reply{format_origin(location)} calls the tool {call.name!r}"
    if call.name not in offered:
        names = ", ".join(sorted(offered))
        offer = f"Offered tools: {names}."
        if not offered:
            offer = "The request offers no tools: pass tools=… in the request."
        nearest = suggest_nearest(call.name, offered) or "."
        return InvalidToolCall(
            f"{beginning}, which the call does not offer{nearest} {offer} {_TOOL_CALL_ADVICE}"
        )
    tool = offered[call.name]
    problems = list(find_violations(tool.input_schema or {}, call.arguments, "the arguments"))
    problems += _find_unknown_arguments(tool, call)
    if not problems:
        return None
    return InvalidToolCall(
        f"{beginning} with arguments that it does not accept:\n{_format_list(problems)}\n"
        f"The arguments: {shorten(call.arguments, SHOWN_REPLY)}\n{_TOOL_CALL_ADVICE}"
    )


def _find_unknown_arguments(tool: ToolLike, call: ToolCallLike) -> list[str]:
    """Return the problem of arguments that the Python function of an `llm` tool does not have."""
    function = getattr(tool, "implementation", None)
    known = (tool.input_schema or {}).get("properties", {})
    unknown = [name for name in call.arguments if name not in known]
    if function is None or not unknown:
        return []
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return []
    takes = join_names(list(known)) if known else "none"
    return [f"the function has no parameter {name!r}; it takes {takes}" for name in unknown]


def _format_list(problems: Iterable[str]) -> str:
    return "\n".join(f"  - {problem}" for problem in problems)
