"""Command-line tools: one tool for each, `<prefix>_execute(args="…")`."""

from __future__ import annotations

import shlex
from typing import Any

from llm_mock.agents.environment import command_of, environment_of
from llm_mock.agents.servers import CLIServer
from llm_mock.agents.supervised_process import Output, SupervisedProcess
from llm_mock.agents.tools import ToolAnswer
from llm_mock.errors import ServerError
from llm_mock.support.text import exit_status

LONGEST_ARGUMENTS = 100_000
"""Characters; an operating system refuses more, and to split them would take long."""


def tool_name(server: CLIServer) -> str:
    """The name of the tool."""
    return f"{server.tool_prefix}_execute"


def tool_description(server: CLIServer) -> str:
    """What the model is told about the tool."""
    return server.description or f"Run the command `{shlex.join(server.command)}` and return what it writes to stdout."


def input_schema() -> dict[str, Any]:
    """The JSON schema of the tool's arguments, a fresh dict."""
    described = "The arguments of the command, as they would be typed in a shell. No shell runs: no pipes, no globs."
    return {
        "type": "object",
        "properties": {"args": {"type": "string", "description": described, "default": ""}},
        "additionalProperties": False,
    }


def check(server: CLIServer) -> None:
    """Find out before the first call whether the command could run at all.

    Raises:
        ServerError: there is no such command or folder, or a variable that `env` refers to is not set.
    """
    __tracebackhide__ = True
    command_of(server, environment_of(server))


async def execute(server: CLIServer, arguments: dict[str, Any], timeout: float | None = None) -> ToolAnswer:
    """Run the command once.

    Args:
        server: the command.
        arguments: `args` is what comes after the command.
        timeout: seconds after which it is killed with all that it started; by default as the server says.

    Returns:
        What it wrote to stdout; where it failed also how, and what it wrote to stderr.
    """
    args = arguments.get("args", "")
    if len(args) > LONGEST_ARGUMENTS:
        given = f"args has {len(args):,} characters, and a command takes {LONGEST_ARGUMENTS:,} at most."
        return ToolAnswer(f"{given} Put long input into a file.", is_error=True)
    try:
        words = shlex.split(args)
    except ValueError as error:
        return ToolAnswer(f"The command was not run, because args cannot be split into words: {error}.", is_error=True)
    try:
        process = SupervisedProcess(server, words)
    except ServerError as error:
        return ToolAnswer(str(error), is_error=True)
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
    written = {name: output.text().rstrip() for name, output in (("stdout", stdout), ("stderr", stderr))}
    shown = "".join(f"\n{name}:\n{text}" for name, text in written.items() if text) or " It wrote nothing."
    if timed_out is None:
        return ToolAnswer(f"The command ended {exit_status(status)}.{shown}", is_error=True)
    waited = f"was still running after {timed_out:g} seconds, and was killed."
    return ToolAnswer(f"The command {server.label!r} {waited}{shown}", is_error=True)
