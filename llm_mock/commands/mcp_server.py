"""MCP server for coding agents: check and run suites and plain-language tests.

Each check and each run is a process of its own, like a command in a terminal. So it imports the
project's current code, and its output cannot disturb the messages of the protocol.
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
from llm_mock.agents.environment import merge_environment
from llm_mock.agents.servers import CLIServer
from llm_mock.behaviour.catalogue import CATALOGUE
from llm_mock.commands.validate import get_json_schema
from llm_mock.errors import MissingExtra
from llm_mock.specs.tool_check import list_project_tools
from llm_mock.suites.schema import Assertion
from llm_mock.support.json_types import JSONObject
from llm_mock.support.redaction import redact

try:
    from mcp.server.stdio import stdio_server

    from llm_mock.specs.tool_functions import ToolFunction, create_server
except ModuleNotFoundError as missing:
    problem = f"Serving a coding agent needs {missing.name}, which is not installed."
    advice = "Run: pip install 'pytest-llm-mock[suites,specs]'"
    raise MissingExtra(f"{problem} {advice}") from None

MAX_OUTPUT = 40_000
"""Bytes of a command's output in a response: the first and the last half."""
FilePath = Annotated[
    str,
    Field(min_length=1, description="Relative to the folder in which the server was started."),
]
RolePath = Annotated[
    str | None,
    Field(description="The role file, for a suite without a target."),
]
CaseFilter = Annotated[
    str | None,
    Field(description="Run only cases and plain-language tests whose names contain this text."),
]
Seconds = Annotated[float, Field(gt=0, le=3600, description="The time limit in seconds.")]


class ServerTools:
    """The tools of the server, one for each public method."""

    async def validate(
        self,
        paths: Annotated[list[FilePath], Field(min_length=1)],
    ) -> JSONObject:
        """Check suites, roles and plain-language tests without running them.

        Returns passed and output, which lists every problem with its line.
        """
        return await _run_python(["-m", "llm_mock", "validate", "--", *paths])

    async def dry_run(
        self,
        path: FilePath,
        role: RolePath = None,
        only: CaseFilter = None,
        timeout: Seconds = 300,
    ) -> JSONObject:
        """Run a suite, a plain-language test or a folder without a model: no cost, no network.

        The run really calls the tools, servers and applications that the tests name. Returns passed
        (also false if nothing could be checked without a model) and output.
        """
        return await _run_tests(path, role, timeout, "--dry-run", *_format_option("-k", only))

    async def run(
        self,
        path: FilePath,
        role: RolePath = None,
        only: CaseFilter = None,
        model: Annotated[
            str | None,
            Field(description="A model of llm to use instead of the role's or the project's."),
        ] = None,
        max_cost: Annotated[
            float | None,
            Field(ge=0, description="Start no more cases after this cost in US dollars."),
        ] = None,
        timeout: Seconds = 900,
    ) -> JSONObject:
        """Run a suite, a plain-language test or a folder with a real model, which costs money.

        Make a dry run first. Returns passed and output.
        """
        options = [
            *_format_option("-k", only),
            *_format_option("--model", model),
            *_format_option("--max-cost", max_cost),
        ]
        return await _run_tests(path, role, timeout, *options)

    async def catalogue(
        self,
        of: Literal["assertions", "misbehaviours", "tools"],
    ) -> dict[str, str]:
        """List assertions of suites, misbehaviours that the mock plays, or tools of steps.

        Tools are the built-in ones and those of the plugins of the project in which the server was
        started. Returns descriptions by names.
        """
        if of == "assertions":
            # The annotation of a discriminated union has the types as its first argument.
            assertion_types = get_args(get_args(Assertion)[0])
            return dict(_describe_assertion(assertion) for assertion in assertion_types)
        if of == "misbehaviours":
            return {kind.name: kind.description for kind in CATALOGUE.values()}
        # In a thread: finding the tools starts a server with an event loop of its own.
        tools = await asyncio.to_thread(list_project_tools, Path.cwd() / "test.yaml")
        descriptions: dict[str, str] = {}
        for name, tool in tools.items():
            arguments = ", ".join(_format_arguments(tool.input_schema))
            descriptions[name] = f"{arguments}: {tool.description}"
        return descriptions

    async def schema(self, kind: Literal["suite", "spec"]) -> JSONObject:
        """Return the JSON Schema of suites, or of plain-language tests (spec), with every key."""
        return get_json_schema(kind)


def serve() -> None:
    """Serve MCP on stdio until standard input ends."""
    # The schema of each tool is made from the signature of its method.
    methods = ServerTools()
    tools = {}
    for name in vars(ServerTools):
        if name.startswith("_"):
            continue
        method = getattr(methods, name)
        tools[name] = ToolFunction(name, method)
    asyncio.run(_serve(tools))


async def _serve(tools: dict[str, ToolFunction]) -> None:
    server = create_server(tools)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


async def _run_tests(path: str, role: str | None, timeout: float, *options: str) -> JSONObject:
    """Run a suite, a plain-language test, or all of them in a folder."""
    files = [path] if role is None else [role, path]
    return await _run_python(
        ["-m", "llm_mock", "test", "--no-color", *options, "--", *files], timeout
    )


def _format_option(option: str, value: object) -> list[str]:
    """Return an option and its value as one word, as the value may begin with a dash."""
    if value is None:
        return []
    if option.startswith("--"):
        return [f"{option}={value}"]
    return [f"{option}{value}"]


async def _run_python(arguments: list[str], timeout: float = 300) -> JSONObject:
    """Run Python, and return whether it succeeded and its output."""
    # The agent reads plain text in wide lines.
    environment = merge_environment(COLUMNS="120", NO_COLOR="1")
    server = CLIServer(
        "llm-mock",
        [sys.executable, *arguments],
        cwd=os.getcwd(),
        env=environment,
        max_output=MAX_OUTPUT,
    )
    answer = await execute(server, {}, timeout)
    return {"passed": not answer.is_error, "output": redact(answer.text)}


def _describe_assertion(assertion: Any) -> tuple[str, str]:
    """Return the type of an assertion, and its docstring with its keys."""
    # Most assertions have two types, such as `contains` and `not_contains`.
    annotation = assertion.model_fields["type"].annotation
    kind, *opposite = get_args(annotation)
    arguments = _format_arguments(assertion.model_json_schema())
    keys = ", ".join(key for key in arguments if key != "type")
    docstring = inspect.getdoc(assertion) or ""
    first_paragraph = docstring.partition("\n\n")[0]
    sentence = first_paragraph.replace("\n", " ")
    description = f"{sentence} Keys: {keys}."
    if opposite:
        description += f" Its opposite is {opposite[0]}."
    return kind, description


def _format_arguments(schema: JSONObject) -> list[str]:
    """Return the names of a schema's properties, optional ones in brackets."""
    required = schema.get("required", ())
    names = [name if name in required else f"[{name}]" for name in schema.get("properties", {})]
    return names or ["no arguments"]
