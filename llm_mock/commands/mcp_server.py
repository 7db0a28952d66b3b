"""The MCP server by which a coding agent checks and runs suites and plain-language tests.

Each check and each run is a process of its own, as a command that a person gives: so it sees the project's code as it
is by then, and nothing that is printed gets between the messages.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from llm_mock.agents.command_line import execute
from llm_mock.agents.environment import whole_environment
from llm_mock.agents.servers import CLIServer
from llm_mock.behaviour.catalogue import CATALOGUE
from llm_mock.commands.validate import NEITHER, format_of
from llm_mock.errors import MissingExtra
from llm_mock.specs.loading import is_spec
from llm_mock.specs.tool_check import list_project_tools
from llm_mock.suites.schema import Assertion
from llm_mock.support import yaml_files
from llm_mock.support.redaction import redacted

try:
    from mcp.server.stdio import stdio_server

    from llm_mock.specs.tool_functions import ToolFunction, create_server
except ModuleNotFoundError as missing:
    advice = "Run: pip install 'pytest-llm-mock[suites,specs]'"
    raise MissingExtra(f"Serving a coding agent needs {missing.name}, which is not installed. {advice}") from None

OUTPUT_KEPT = 40_000
"""Bytes of what a command says that an answer has: the first and the last half."""
FilePath = Annotated[str, Field(min_length=1, description="From the folder in which the server was started.")]
Role = Annotated[str | None, Field(description="The file of the role, for a suite that names no target.")]
Only = Annotated[str | None, Field(description="Of a suite only the cases with this in their name.")]
Seconds = Annotated[float, Field(gt=0, le=3600, description="Seconds after which it is given up.")]


class Tools:
    """The tools of the server: each public method is one."""

    async def validate(self, paths: Annotated[list[FilePath], Field(min_length=1)]) -> dict[str, Any]:
        """Check suites, roles and plain-language tests without running them: every problem with its line.

        Returns passed and output.
        """
        return await _command(["-m", "llm_mock", "validate", "--", *paths])

    async def dry_run(
        self, path: FilePath, role: Role = None, only: Only = None, timeout: Seconds = 300
    ) -> dict[str, Any]:
        """Run a suite or a plain-language test without a model: free of cost, and without a network.

        The tools, servers and applications that it names are really called. Returns passed and output.
        """
        options = [*_given("-k", only), "--dry-run"]
        return await _command(_run_of(path, role, options, "--llm-mock-dry-run"), timeout)

    async def run(
        self,
        path: FilePath,
        role: Role = None,
        only: Only = None,
        model: Annotated[str | None, Field(description="A model of llm in place of the role's.")] = None,
        max_cost: Annotated[float | None, Field(ge=0, description="Start no case of a suite after so many $.")] = None,
        timeout: Seconds = 900,
    ) -> dict[str, Any]:
        """Run a suite or a plain-language test with a real model, which costs money. Make a dry run first.

        Returns passed and output.
        """
        options = [*_given("-k", only), *_given("--model", model), *_given("--max-cost", max_cost)]
        return await _command(_run_of(path, role, options, "--llm-mock-live"), timeout)

    async def catalogue(self, of: Literal["assertions", "misbehaviours", "tools"]) -> dict[str, str]:
        """List what there is: assertions of suites, misbehaviours of models that the mock plays, tools of steps.

        Tools are the built-in ones and those of the plugins of the project in which the server was started. Returns
        descriptions by names.
        """
        if of == "assertions":
            return dict(map(_described, get_args(get_args(Assertion)[0])))
        if of == "misbehaviours":
            return {kind.name: kind.description for kind in CATALOGUE.values()}
        tools = await asyncio.to_thread(list_project_tools, Path.cwd() / "test.yaml")
        return {name: f"{', '.join(_arguments(tool.input_schema))}: {tool.description}" for name, tool in tools.items()}

    async def schema(self, kind: Literal["suite", "spec"]) -> dict[str, Any]:
        """Give the JSON Schema of suites, or of plain-language tests (spec): every key that they may have."""
        return format_of(kind)


def serve() -> None:
    """Serve stdio until standard input ends."""
    names = [name for name in vars(Tools) if not name.startswith("_")]
    tools = {name: ToolFunction(name, getattr(Tools(), name)) for name in names}
    asyncio.run(_serve(tools))


async def _serve(tools: dict[str, ToolFunction]) -> None:
    server = create_server(tools)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def _run_of(path: str, role: str | None, options: list[str], of_pytest: str) -> list[str]:
    """The words by which Python runs a suite or a plain-language test."""
    document = yaml_files.load(Path(path))
    data: Any = document.data
    if isinstance(data, dict) and data.get("kind") == "TestSuite":
        return ["-m", "llm_mock", "test", *([] if role is None else [role]), "-s", path, "--no-color", *options]
    if is_spec(data):
        shown = ["-q", "-rs", "--no-header", "--color=no", "-p", "no:cacheprovider"]
        return ["-m", "pytest", "--llm", of_pytest, *shown, path]
    if isinstance(data, dict) and data.get("kind") == "Agent":
        raise document.error("this is a role: give a suite as path, and this file as role")
    raise document.error(NEITHER)


def _given(option: str, value: object) -> list[str]:
    return [] if value is None else [f"{option}={value}" if option.startswith("--") else f"{option}{value}"]


async def _command(words: list[str], timeout: float = 300) -> dict[str, Any]:
    """Run Python: whether it succeeded, and what it said."""
    environment = whole_environment(COLUMNS="120", NO_COLOR="1")
    server = CLIServer("llm-mock", [sys.executable, *words], cwd=os.getcwd(), env=environment, max_output=OUTPUT_KEPT)
    answer = await execute(server, {}, timeout)
    return {"passed": not answer.is_error, "output": redacted(answer.text)}


def _described(assertion: Any) -> tuple[str, str]:
    """The type of an assertion, and what it says with its keys."""
    kind, *opposite = get_args(assertion.model_fields["type"].annotation)
    schema = assertion.model_json_schema()
    keys = ", ".join(key for key in _arguments(schema) if key != "type")
    said = (inspect.getdoc(assertion) or "").split("\n\n")[0].replace("\n", " ")
    return kind, f"{said} Keys: {keys}." + (f" Its opposite is {opposite[0]}." if opposite else "")


def _arguments(schema: dict[str, Any]) -> list[str]:
    required = schema.get("required", ())
    return [name if name in required else f"[{name}]" for name in schema.get("properties", {})] or ["no arguments"]
