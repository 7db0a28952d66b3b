"""Whether the tools of a project take what the steps of a test give them. No tool is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_mock.specs.allowed_hosts import LOOPBACK
from llm_mock.specs.models import PARTS, TestSpec
from llm_mock.specs.steps import Place, every_step
from llm_mock.specs.tools_server import tools_server
from llm_mock.support.text import listed, nearest, shorten_name, suggestion

if TYPE_CHECKING:
    from llm_mock.agents.tools import ServerTool


def tools_of_project(path: Path) -> dict[str, ServerTool]:
    """The tools that a test at that path has, by their names; for this their server is started and ended.

    Raises:
        LLMMockError: a plugin cannot be loaded.
    """
    with tools_server(path, allowed_hosts=LOOPBACK) as running:
        return running.tools


def unknown_tool(tool: str, known: Mapping[str, Any]) -> str:
    """What to say of a tool that there is not."""
    if tool.endswith("_cleanup"):
        ends = "cleanup() of a plugin is no tool. It runs by itself when the test ends: leave this step out."
        return f"There is no tool {shorten_name(tool)!r}: {ends}"
    with_prefix = next((name for name in known if name.endswith(f"_{tool}") or tool.endswith(f"_{name}")), None)
    near = f"; did you mean {with_prefix!r}?" if with_prefix else nearest(tool, known)
    return f"There is no tool {shorten_name(tool)!r}{near or '.'} The tools are {listed([*known])}."


def problems_with_tools(spec: TestSpec, tools: Mapping[str, ServerTool]) -> Iterator[tuple[Place, str]]:
    """Tools and arguments that there are not, and arguments that are missing, with their places."""
    for part in PARTS:
        for place, _, step in every_step(getattr(spec, part), (part,)):
            if step.tool in tools:
                schema = tools[step.tool].input_schema
                yield from ((place + inner, text) for inner, text in _problems_of(step.tool, step.args, schema))
            elif step.tool:
                yield (*place, "tool"), unknown_tool(step.tool, tools)


def _problems_of(tool: str, given: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    known = list(schema.get("properties", ()))
    named = f"the tool {shorten_name(tool)!r}"
    for argument in given:
        if argument not in known and schema.get("additionalProperties", True) is False:
            there = suggestion(argument, known) or "; it takes none"
            yield ("args", argument), f"{named} has no argument {shorten_name(argument)!r}{there}"
    for argument in schema.get("required", ()):
        if argument not in given:
            yield ("args",), f"{named} needs the argument {argument!r}"
