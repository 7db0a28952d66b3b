"""The wording of every message about agents and their servers."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Any

from llm_mock.support.text import shorten, shorten_name

SHOWN_LINES = 20
"""How many of the last lines of a server's stderr a message shows."""
SHOWN_LINE = 300


# --- Servers: configuration, start, calls ---------------------------------------------------------------------------


def command_or_url(label: str) -> str:
    """A server has neither a command nor a URL, or both."""
    both = f"The MCP server {shorten_name(label)!r} has a command and a URL: give one of the two."
    return both if label else "MCPServer(): give the command that starts it, or the url where it listens."


def no_command(name: str) -> str:
    """A command-line tool without a command."""
    return f"CLIServer({name!r}): give the command that it runs."


def unreadable_command(command: str, error: Exception) -> str:
    """A command that no shell could split either."""
    return f"The command {shorten(command)} cannot be split into words ({error}). Give a list of words instead."


def too_many_arguments(given: int, most: int) -> str:
    """The arguments of a command are longer than a system takes."""
    return f"args has {given:,} characters, and a command takes {most:,} at most. Put long input into a file."


def bad_name(what: str, value: Any) -> str:
    """A name that no tool can have."""
    return f"CLIServer: {what} is {shorten(value)}; give a text of letters, digits, _ and - (55 at most)."


def bad_value(owner: str, name: str, value: Any, wanted: str) -> str:
    """A value of the wrong type."""
    return f"{owner}: {name} is {shorten(value)}; give {wanted}."


def no_text(label: str, field: str, name: Any, value: Any) -> str:
    """A variable or a header that is no text."""
    return f"{field}[{name!r}] of the server {shorten_name(label)!r} is {type(value).__name__}; give a text."


def bad_seconds(label: str, name: str, value: Any) -> str:
    """A timeout that is none."""
    return f"{name} of the server {shorten_name(label)!r} is {shorten(value)}; give a number of seconds above 0."


def bad_output_limit(name: str, value: Any) -> str:
    """A number of bytes that is none."""
    return f"max_output of CLIServer({name!r}) is {shorten(value)}; give a number of bytes from 1."


def no_mcp() -> str:
    """The library is not installed."""
    return "MCP servers need the MCP SDK (mcp 2), which is not installed. Run: pip install 'pytest-llm-mock[agents]'"


def no_process_groups() -> str:
    """This system has no process groups."""
    return (
        "Commands of servers need Linux or macOS: elsewhere nothing ensures that they end with the test run. "
        "An MCP server at a URL works everywhere."
    )


def missing_variable(label: str, field: str, name: str, variable: str) -> str:
    """`${VARIABLE}` is not set."""
    return (
        f"The server {shorten_name(label)!r} needs the environment variable {variable} ({field}[{name!r}] has "
        f"${{{variable}}}), which is not set. Set it, or write $${{{variable}}} if that very text is meant."
    )


def no_such_folder(label: str, folder: object) -> str:
    """The folder in which a command is to run is none."""
    return f"The server {shorten_name(label)!r} cannot run in {str(folder)!r}: there is no such folder."


def no_such_command(label: str, command: str, path: str | None) -> str:
    """There is no executable file of that name."""
    searched = (
        f"it is in none of the folders of PATH: {path}" if path is not None else "there is no such executable file"
    )
    return f"The server {shorten_name(label)!r} cannot be started: {command!r} was not found; {searched}."


def cannot_run(label: str, error: Exception) -> str:
    """The system refuses to run the command."""
    return f"The server {shorten_name(label)!r} cannot be started: {error}."


def exited_at_start(label: str, status: int, stderr: str, garbage: Sequence[str]) -> str:
    """A server ended before it had told its tools."""
    ended = f"The MCP server {shorten_name(label)!r} ended when it was started, {exit_status(status)}."
    return ended + _written(garbage, stderr)


def start_timed_out(label: str, seconds: float, stderr: str, garbage: Sequence[str]) -> str:
    """A server did not tell its tools in time."""
    waited = f"did not start within {seconds:g} seconds (start_timeout); it was ended."
    return f"The MCP server {shorten_name(label)!r} {waited}" + _written(garbage, stderr)


def speaks_garbage(label: str, stderr: str, garbage: Sequence[str]) -> str:
    """What a server writes is no MCP."""
    return f"{shorten_name(label)!r} is no MCP server; it was ended." + _written(garbage, stderr)


def start_refused(label: str, error: BaseException, stderr: str) -> str:
    """The handshake failed."""
    return f"The MCP server {shorten_name(label)!r} refused to start: {_error(error)}.{_stderr(stderr)}"


def unreachable(label: str, url: str, error: BaseException) -> str:
    """Nobody answers at a URL, or not as an MCP server would."""
    return f"The MCP server {_at(label, url)} cannot be used: {_error(error)}."


def start_timed_out_at_url(label: str, url: str, seconds: float) -> str:
    """A URL did not answer in time."""
    return f"The MCP server {_at(label, url)} did not answer within {seconds:g} seconds (start_timeout)."


def endless_tools(label: str, pages: int) -> str:
    """A server tells pages of tools without end."""
    return f"The MCP server {shorten_name(label)!r} told {pages} pages of tools, and has still more: it will not end."


def no_tool_fits(label: str, pattern: str, offered: Sequence[str]) -> str:
    """A filter that lets nothing through."""
    has = f"It has {', '.join(offered)}." if offered else "It has none."
    return f"The server {shorten_name(label)!r} has no tool that fits {pattern!r} (tools). {has}"


def tool_of_two_servers(tool: str, first: str, second: str) -> str:
    """Two servers have one tool name, or a server has it twice."""
    hint = " Two servers with one command are told apart by name=…." if first == second else ""
    return (
        f"Two servers have a tool {tool!r}: {shorten_name(first)!r} and {shorten_name(second)!r}. The model could not "
        f"say which it means. Leave one out with tools=[…] (MCPServer), or change a tool_prefix (CLIServer).{hint}"
    )


def tool_told_twice(tool: str, label: str) -> str:
    """A server has two tools of one name."""
    return f"The server {shorten_name(label)!r} tells two tools named {tool!r}. The model could not say which it means."


def pool_closed() -> str:
    """The servers were ended."""
    return "The servers of this tool were ended. Ask the pool for its tools again."


def server_ended(label: str, status: int | None, stderr: str, during_call: bool) -> str:
    """A server is dead."""
    when = "ended during this call" if during_call else "had ended before this call"
    how = f", {exit_status(status)}" if status is not None else ""
    return f"The MCP server {shorten_name(label)!r} {when}{how}.{_stderr(stderr)}"


def call_timed_out(label: str, tool: str, seconds: float, stderr: str) -> str:
    """A server did not answer a call in time."""
    waited = f"did not answer within {round(seconds, 2):g} seconds."
    return f"The tool {tool!r} of the MCP server {shorten_name(label)!r} {waited}{_stderr(stderr)}"


def call_failed(label: str, tool: str, error: BaseException) -> str:
    """A server answered a call with a protocol error, or with what is no answer."""
    return f"The call of the tool {tool!r} of the MCP server {shorten_name(label)!r} failed: {_error(error)}."


def invalid_arguments(tool: str, problems: Sequence[str]) -> str:
    """A call whose arguments break the schema of the tool."""
    listed = "\n".join(f"  {shorten_name(problem, SHOWN_LINE)}" for problem in problems[:SHOWN_LINES])
    return f"The tool {tool!r} was not called, because its arguments are invalid:\n{listed}"


def unreadable_arguments(error: Exception) -> str:
    """`args` that no shell could split either."""
    return f"The command was not run, because args cannot be split into words: {error}."


def command_timed_out(label: str, seconds: float, output: str) -> str:
    """A command ran too long."""
    return f"The command {label!r} was still running after {seconds:g} seconds, and was killed.{output}"


def command_failed(status: int, output: str) -> str:
    """A command ended with another exit status than 0."""
    return f"The command ended {exit_status(status)}.{output}"


def command_output(stdout: str, stderr: str) -> str:
    """What a failed command had written, for the end of a message."""
    written = [f"\n{name}:\n{text.rstrip()}" for name, text in (("stdout", stdout), ("stderr", stderr)) if text.strip()]
    return "".join(written) or " It wrote nothing."


def output_cut(cut: int, kept: int) -> str:
    """What stands in place of output that was too much."""
    return f"\n[… {cut:,} bytes cut: more than {kept:,} …]\n"


def resource_link(name: str, uri: str, mime_type: str | None) -> str:
    """A resource that a tool names without including it."""
    return f"[resource {name}: {uri}{f' ({mime_type})' if mime_type else ''}]"


def unreadable_attachment(kind: str) -> str:
    """Binary content that is no base64."""
    return f"[{kind} left out: its data is no base64]"


def exit_status(status: int) -> str:
    """How a process ended; negative numbers are signals."""
    if status >= 0:
        return f"with exit code {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


def _at(label: str, url: str) -> str:
    return repr(shorten_name(label)) + (f" at {url}" if label != url else "")


def _error(error: BaseException) -> str:
    return shorten_name(str(error), SHOWN_LINE).rstrip(".") or type(error).__name__


def _written(garbage: Sequence[str], stderr: str) -> str:
    if not garbage:
        return _stderr(stderr)
    shown = "\n".join(f"  {shorten(line)}" for line in garbage)
    return f"\nIt wrote to stdout what is no message of MCP:\n{shown}" + (_stderr(stderr) if stderr.strip() else "")


def _stderr(text: str) -> str:
    lines = text.rstrip().splitlines()[-SHOWN_LINES:]
    if not lines:
        return " It wrote nothing to stderr."
    shown = "\n".join(f"  {line[: len(line) - len(line.lstrip())]}{shorten_name(line, SHOWN_LINE)}" for line in lines)
    return f"\nThe last that it wrote to stderr:\n{shown}"
