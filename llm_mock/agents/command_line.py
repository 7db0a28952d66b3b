"""Command-line tools: one tool for each, `<prefix>_execute(args="…")`."""

from __future__ import annotations

import shlex
from functools import partial
from typing import Any

from llm_mock.agents.background import BackgroundLoop
from llm_mock.agents.environment import command_of, environment_of
from llm_mock.agents.servers import CLIServer
from llm_mock.agents.supervised_process import Output, SupervisedProcess
from llm_mock.agents.tools import ServerTool, ToolAnswer
from llm_mock.errors import ServerError
from llm_mock.support.text import exit_status

LONGEST_ARGUMENTS = 100_000
"""Characters; an operating system refuses more, and to split them would take long."""


def tool_of(server: CLIServer, loop: BackgroundLoop) -> ServerTool:
    """The tool that runs a command; a ServerError where it could not run at all."""
    __tracebackhide__ = True
    command_of(server, environment_of(server))
    arguments = "The arguments of the command, as they would be typed in a shell. No shell runs: no pipes, no globs."
    schema = {
        "type": "object",
        "properties": {"args": {"type": "string", "description": arguments, "default": ""}},
        "additionalProperties": False,
    }
    ran = f"Run the command `{shlex.join(server.command)}` and return what it writes to stdout."
    name, description = f"{server.tool_prefix}_execute", server.description or ran
    return ServerTool(name, description, schema, server, partial(execute, server), loop)


async def execute(server: CLIServer, arguments: dict[str, Any], timeout: float | None = None) -> ToolAnswer:
    """Run the command once: what it wrote to stdout; where it failed also how, and what it wrote to stderr."""
    args = arguments.get("args", "")
    if len(args) > LONGEST_ARGUMENTS:
        given = f"args has {len(args):,} characters, and a command takes {LONGEST_ARGUMENTS:,} at most."
        return ToolAnswer(f"{given} Put long input into a file.", is_error=True)
    try:
        process = SupervisedProcess(server, shlex.split(args))
    except ServerError as error:
        return ToolAnswer(str(error), is_error=True)
    except ValueError as error:
        return ToolAnswer(f"The command was not run, because args cannot be split into words: {error}.", is_error=True)
    seconds = server.timeout if timeout is None else timeout
    timed_out = True
    try:
        stdout = await process.collect("stdout", server.max_output)
        stderr = await process.collect("stderr", server.max_output)
        timed_out = await process.wait(seconds) is None
    finally:
        await process.end(at_once=timed_out)
    return _answer(server, stdout, stderr, process.status or 0, seconds if timed_out else None)


def _answer(server: CLIServer, stdout: Output, stderr: Output, status: int, timed_out: float | None) -> ToolAnswer:
    if timed_out is None and status == 0:
        return ToolAnswer(stdout.text())
    how = f"ended {exit_status(status)}."
    if timed_out is not None:
        how = f"{server.label!r} was still running after {timed_out:g} seconds, and was killed."
    written = {name: output.text().rstrip() for name, output in (("stdout", stdout), ("stderr", stderr))}
    shown = "".join(f"\n{name}:\n{text}" for name, text in written.items() if text) or " It wrote nothing."
    return ToolAnswer(f"The command {how}{shown}", is_error=True)
