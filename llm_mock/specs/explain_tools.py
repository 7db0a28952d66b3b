"""The wording of every message about the tools of plain-language tests: the built-in ones, plugins and hosts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llm_mock.support.text import shorten, shorten_name

SHOWN_ERROR = 1_000


# --- Hosts ----------------------------------------------------------------------------------------------------------


def bad_host_pattern(pattern: Any) -> str:
    """Something was given as an allowed host that is none."""
    return (
        f"This is not a host: {shorten(pattern)}. Write a name (localhost), a glob of names (*.example.com), an "
        "address or a network (127.0.0.0/8), each perhaps with a port (localhost:8000), or * for every host; no scheme "
        "and no path, and international names as they are registered (xn--…)."
    )


def host_not_allowed(host: str, port: int, allowed: Sequence[str]) -> str:
    """A tool was to ask a host that is not allowed."""
    name = f"[{host}]" if ":" in host else host
    named = ", ".join(allowed) or "none"
    return (
        f"The host {shorten_name(name)!r} (port {port}) was not asked, as it is not allowed. Allowed: {named}. "
        f"To allow it, add {shorten_name(name)} to ini llm_mock_allowed_hosts."
    )


def localhost_elsewhere() -> str:
    """The name `localhost` does not stand for this machine."""
    return "The host 'localhost' was not asked: the name does not stand for this machine. Write 127.0.0.1 instead."


def bad_url(scheme: str = "") -> str:
    """A URL that cannot be asked."""
    found = f" This one begins with {shorten_name(scheme)!r}." if scheme not in ("", "http", "https") else ""
    return f"The url cannot be asked. Write it as http://host:port/path, or with https.{found}"


# --- Built-in tools -------------------------------------------------------------------------------------------------


def request_failed(method: str, url: str, error: BaseException) -> str:
    """Nobody answered a request."""
    reason = shorten_name(str(error), 300).rstrip(".")
    shown = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
    return f"{method} {shorten_name(url, 300)} failed: {shown}. Is the server running?"


def request_timed_out(method: str, url: str, seconds: float) -> str:
    """A request took too long."""
    return f"{method} {shorten_name(url, 300)} was given up after {seconds:g} seconds without a whole answer."


def too_many_redirects(method: str, url: str, most: int) -> str:
    """A server redirects again and again."""
    return f"{method} {shorten_name(url, 300)} failed: it was redirected more than {most} times."


def bad_duration(seconds: Any) -> str:
    """A time that nobody can wait."""
    return f"sleep: seconds is {shorten(seconds)}; give a number from 0."


def not_equal(actual: Any, expected: Any) -> str:
    """Two values differ, and the test has no words for it."""
    return f"{shorten(actual)} is not {shorten(expected)}"


def not_true() -> str:
    """A condition does not hold, and the test has no words for it."""
    return "The condition is false"


# --- Tools and plugins ----------------------------------------------------------------------------------------------


def invalid_arguments(tool: str, problems: Sequence[str]) -> str:
    """A tool was called with arguments that its type hints do not allow."""
    listed = "\n".join(f"  {shorten_name(problem, 300)}" for problem in problems)
    return f"The tool {tool!r} was not called, because its arguments are invalid:\n{listed}"


def tool_raised(tool: str, error: BaseException) -> str:
    """A tool raised an error."""
    return f"The tool {tool!r} failed: {_error(error)}"


def no_json(tool: str, error: BaseException) -> str:
    """A tool returned what JSON does not have."""
    return f"The tool {tool!r} did its work, but what it returned is no JSON value: {_error(error)}"


def unknown_tool(tool: str, known: Sequence[str]) -> str:
    """A tool was called that there is not."""
    return f"There is no tool {shorten(tool)}. There are {', '.join(known)}."


def plugin_outside(path: Path, target: Path, root: Path) -> str:
    """A plugin is a link to a file outside the project."""
    return (
        f"{path}: this plugin lies outside the project: it leads to {target}, which is not in {root}. Its code is not "
        "run. Copy it into the project."
    )


def plugin_not_imported(error: BaseException) -> str:
    """The file of a plugin cannot be imported."""
    hint = ""
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "llm_pytest":
        hint = " Import the base class so: from llm_mock.specs import LLMPlugin"
    return f"the plugin cannot be imported: {_error(error)}{hint}"


def plugin_not_made(plugin: str, error: BaseException) -> str:
    """The constructor of a plugin failed."""
    return f"the plugin {plugin} cannot be made: {_error(error)}"


def bad_plugin_name(plugin: str, name: Any) -> str:
    """The name of a plugin cannot be part of a tool's."""
    return f"the plugin {plugin} has the name {shorten(name)}; give a text of letters, digits, _ and -."


def long_tool_name(tool: str, most: int) -> str:
    """The name of a tool is longer than models take."""
    return f"the name of the tool {tool!r} has {len(tool)} characters, and models take {most}: shorten the method's."


def bad_signature(tool: str, problem: str) -> str:
    """A method cannot be a tool."""
    return (
        f"the tool {tool!r} cannot be offered: {shorten_name(problem, 300)}. Give its arguments names and types that "
        "JSON has; a method that is no tool begins with _."
    )


def positional_arguments() -> str:
    """A method has arguments without names."""
    return "it takes arguments that have no name (*args, or those before a /)"


def asynchronous_generator() -> str:
    """A method yields instead of returning."""
    return "it is an async generator; return its values as a list"


def plugin_named_twice(plugin: str, name: str, other: str) -> str:
    """Two plugins have one name."""
    return f"the plugin {plugin} has the name {name!r}, as {other} has. Give one of them another: name = '…'"


def tool_named_twice(tool: str, other: str) -> str:
    """Two tools have one name."""
    return f"there are two tools {tool!r}: this one, and {other}. Rename one of the two."


CLEANUP = "The cleanup of the plugin"
"""How every message about a failed cleanup begins."""


def cleanup_failed(plugin: str, error: BaseException) -> str:
    """A plugin's cleanup raised an error."""
    return f"{CLEANUP} {plugin!r} failed: {_error(error)}"


def cleanup_timed_out(plugin: str, seconds: float) -> str:
    """A plugin's cleanup took too long."""
    return f"{CLEANUP} {plugin!r} was given up after {seconds:g} seconds."


def _error(error: BaseException) -> str:
    text = shorten_name(str(error), SHOWN_ERROR)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
