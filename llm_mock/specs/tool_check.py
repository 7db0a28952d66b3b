"""Check the steps of tests against the tools of a project, without calling any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_mock.specs.allowed_hosts import LOOPBACK
from llm_mock.specs.models import PARTS, TestSpec
from llm_mock.specs.steps import Location, iterate_steps
from llm_mock.specs.tools_server import run_tools_server
from llm_mock.support.text import join_names, shorten_name, suggest_name, suggest_nearest

if TYPE_CHECKING:
    from llm_mock.agents.tools import ServerTool


def list_project_tools(path: Path) -> dict[str, ServerTool]:
    """Start and stop the tool server for a test, and return the tools by name.

    Args:
        path: the file of the test, which need not exist.

    Raises:
        LLMMockError: a plugin cannot be loaded.
    """
    with run_tools_server(path, allowed_hosts=LOOPBACK) as running:
        return running.tools


def describe_unknown_tool(tool: str, known: Mapping[str, object]) -> str:
    """Return the message for a tool that does not exist, with similar ones."""
    problem = f"There is no tool {shorten_name(tool)!r}"
    if tool.endswith("_cleanup"):
        return (
            f"{problem}: cleanup() of a plugin is not a tool. It runs automatically when the test "
            "ends: remove this step."
        )
    hint = suggest_nearest(tool, known) or "."
    for name in known:
        # Forgetting the name of the plugin, or adding one, is the most common mistake.
        if name.endswith(f"_{tool}") or tool.endswith(f"_{name}"):
            hint = f"; did you mean {name!r}?"
            break
    return f"{problem}{hint} The tools are {join_names([*known])}."


def find_tool_problems(
    spec: TestSpec, tools: Mapping[str, ServerTool]
) -> Iterator[tuple[Location, str]]:
    """Yield unknown tools, and unknown or missing arguments, with their locations."""
    for part in PARTS:
        steps = getattr(spec, part)
        for location, _, step in iterate_steps(steps, (part,)):
            if step.tool in tools:
                schema = tools[step.tool].input_schema
                for inner, problem in _find_argument_problems(step.tool, step.args, schema):
                    yield location + inner, problem
            elif step.tool:
                yield (*location, "tool"), describe_unknown_tool(step.tool, tools)


def _find_argument_problems(
    tool: str, arguments: Mapping[str, Any], schema: Mapping[str, Any]
) -> Iterator[tuple[Location, str]]:
    known = list(schema.get("properties", ()))
    # The default of JSON Schema allows other arguments.
    allows_others = schema.get("additionalProperties", True) is not False
    subject = f"the tool {shorten_name(tool)!r}"
    for argument in arguments:
        if argument not in known and not allows_others:
            hint = suggest_name(argument, known) or "; it takes none"
            problem = f"{subject} has no argument {shorten_name(argument)!r}{hint}"
            yield ("args", argument), problem
    for argument in schema.get("required", ()):
        if argument not in arguments:
            yield ("args",), f"{subject} needs the argument {argument!r}"
