"""Offer a command as a tool: `<prefix>_execute(args="…")`."""

from __future__ import annotations

import shlex
from functools import partial

from llm_mock.agents.background import BackgroundLoop
from llm_mock.agents.environment import build_environment, resolve_command
from llm_mock.agents.servers import CLIServer
from llm_mock.agents.supervised_process import Output, SupervisedProcess
from llm_mock.agents.tools import ServerTool, ToolAnswer
from llm_mock.errors import ServerError
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import describe_exit

# Operating systems refuse longer arguments, and splitting them takes long.
MAX_ARGUMENTS = 100_000


def new_command_tool(server: CLIServer, loop: BackgroundLoop) -> ServerTool:
    """Return the tool that runs a command.

    Raises:
        ServerError: the command or its folder does not exist.
    """
    # Checked here, as the command only starts when it is called.
    resolve_command(server, build_environment(server))
    args = {
        "type": "string",
        "description": (
            "The arguments of the command, as they would be typed in a shell. "
            "No shell runs: no pipes, no globs."
        ),
        "default": "",
    }
    schema = {"type": "object", "properties": {"args": args}, "additionalProperties": False}
    description = server.description
    if not description:
        command = shlex.join(server.command)
        description = f"Run the command `{command}` and return what it writes to stdout."
    name = f"{server.tool_prefix}_execute"
    return ServerTool(
        name,
        description,
        schema,
        server,
        partial(execute, server),
        loop,
    )


async def execute(
    server: CLIServer,
    arguments: JSONObject,
    timeout: float | None = None,
) -> ToolAnswer:
    """Run the command once and return its stdout; if it fails, the reason and all output."""
    args = arguments.get("args", "")
    if len(args) > MAX_ARGUMENTS:
        return ToolAnswer(
            f"args has {len(args):,} characters, and a command takes {MAX_ARGUMENTS:,} at most. "
            "Put long input into a file.",
            is_error=True,
        )
    try:
        process = SupervisedProcess(server, shlex.split(args))
    except ServerError as error:
        return ToolAnswer(str(error), is_error=True)
    except ValueError as error:
        return ToolAnswer(
            f"The command was not run, because args cannot be split into words: {error}.",
            is_error=True,
        )
    seconds = server.timeout if timeout is None else timeout
    # True also if this is cancelled: the command must end at once then.
    timed_out = True
    try:
        stdout = await process.collect("stdout", server.max_output)
        stderr = await process.collect("stderr", server.max_output)
        timed_out = await process.wait(seconds) is None
    finally:
        await process.end(at_once=timed_out)
    status = process.status or 0
    if timed_out:
        failure = f"{server.label!r} was still running after {seconds:g} seconds, and was killed."
    elif status == 0:
        return ToolAnswer(stdout.text())
    else:
        failure = f"ended {describe_exit(status)}."
    return ToolAnswer(f"The command {failure}{_format_output(stdout, stderr)}", is_error=True)


def _format_output(stdout: Output, stderr: Output) -> str:
    text = ""
    for name, output in (("stdout", stdout), ("stderr", stderr)):
        written = output.text().rstrip()
        if written:
            text += f"\n{name}:\n{written}"
    return text or " It wrote nothing."
