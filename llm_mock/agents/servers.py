"""Configure tool servers. Nothing is started here."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from llm_mock.errors import InvalidServer
from llm_mock.support.interpolation import parse_whole_reference
from llm_mock.support.numbers import LONGEST, is_number, is_whole
from llm_mock.support.redaction import REDACTED, Redactor, is_secret_name
from llm_mock.support.text import join_alternatives, shorten, shorten_name

# Hides this module in pytest's tracebacks. At module level, as `dataclass` writes `__init__`.
__tracebackhide__ = True
OUTPUT_LIMIT = 100_000
"""The default of `CLIServer.max_output`, in bytes."""

Transport = Literal["stdio", "streamable-http", "sse"]
"""The transports of MCP."""
Scope = Literal["session", "test"]
"""The lifetime of a server: see `MCPServer.scope`."""
# The providers limit names of tools to 64 characters, and `_execute` is appended.
_TOOL_PREFIX = re.compile(r"[A-Za-z0-9_-]{1,55}")


class RedactedMapping(Mapping[str, str]):
    """An immutable, hashable mapping of variables or headers whose repr shows no secrets."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return repr({name: _redact(name, value) for name, value in self._values.items()})


def _redact(name: str, value: str) -> str:
    scheme, _, reference = value.rpartition(" ")
    has_scheme = not scheme or scheme.isalpha()
    # `${TOKEN}` and `Bearer ${TOKEN}` only name a secret.
    if has_scheme and parse_whole_reference(reference) is not None:
        return value
    if is_secret_name(name):
        return REDACTED
    return str(Redactor().clean({name: value})[name])


class Configuration:
    """A base class whose repr leaves out defaults and secrets."""

    def __repr__(self) -> str:
        redactor = Redactor()
        arguments = []
        for each in fields(self):  # type: ignore[arg-type]
            default = each.default
            if callable(each.default_factory):
                default = each.default_factory()
            value = getattr(self, each.name)
            if value == default:
                continue
            if isinstance(value, tuple):
                value = list(value)
            arguments.append(f"{each.name}={redactor.clean(repr(value))}")
        return f"{type(self).__name__}({', '.join(arguments)})"


@dataclass(frozen=True, repr=False)
class MCPServer(Configuration):
    """An MCP server: a command to start (stdio), or a URL (streamable HTTP or SSE).

    When the server starts, `${NAME}` in the values of `env` and `headers` is replaced by the
    environment variable NAME of the test process. `$${NAME}` is the literal text `${NAME}`.

    Raises:
        InvalidServer: it has neither a command nor a URL, or both, or a value is invalid.
    """

    command: Sequence[str] | str = ()
    """The command, such as `["python", "server.py"]`.

    A string is split into words as in a shell, but no shell runs. `python` and installed scripts
    are those of the environment that runs the tests."""
    args: Sequence[str] = ()
    """More arguments, appended to the command."""
    env: Mapping[str, str] = field(default_factory=RedactedMapping)
    """Environment variables to add to those of the test process.

    Secrets of the test process are not passed on."""
    cwd: Path | str | None = None
    """The working directory; by default that of the test process when the server starts."""
    url: str | None = None
    """The URL of a running server, instead of a command, such as `http://127.0.0.1:8000/mcp`."""
    headers: Mapping[str, str] = field(default_factory=RedactedMapping)
    """HTTP headers to send to `url`."""
    tools: Sequence[str] | None = None
    """The names of the tools to offer, which may be globs; None offers all tools."""
    start_timeout: float = 30.0
    """The timeout in seconds for starting the server, and for listing its tools."""
    call_timeout: float = 60.0
    """The timeout in seconds for a tool call."""
    name: str | None = None
    """The name in messages; by default the command or the URL."""
    stop_timeout: float = 1.0
    """The seconds between SIGTERM and the kill when the server is stopped.

    SIGTERM is sent one second after standard input is closed."""
    scope: Scope = "session"
    """The lifetime of the server.

    With `session`, tests share the server and its state. With `test`, each test has its own server
    (for a URL: its own connection), which ends with the test."""
    transport: Transport | None = None
    """`streamable-http`, or `sse` for servers of the protocol's first version.

    None means stdio for a command and streamable HTTP for a URL."""

    def __post_init__(self) -> None:
        _set(self, command=_split_command(self, self.command))
        _set(self, args=tuple(map(str, self.args)))
        _set(self, cwd=_convert_folder(self))
        if self.tools is not None:
            tools = [self.tools] if isinstance(self.tools, str) else self.tools
            _set(self, tools=tuple(tools))
        self._check_target()
        _set(self, env=_convert_mapping(self, "env"))
        _set(self, headers=_convert_mapping(self, "headers"))
        _check_seconds(self, "start_timeout", "call_timeout", "stop_timeout")
        _check_choice(self, "scope", get_args(Scope))
        stdio, *url_transports = get_args(Transport)
        transports = url_transports if self.url else [stdio]
        _check_choice(self, "transport", (None, *transports))
        if self.transport == transports[0]:
            # Makes it equal to a server that omits the default, so that both share a process.
            _set(self, transport=None)

    def _check_target(self) -> None:
        if self.command and self.url:
            label = shorten_name(self.label)
            raise InvalidServer(
                f"The MCP server {label!r} has both a command and a URL. Pass only one."
            )
        if not self.command and not self.url:
            raise InvalidServer(
                "MCPServer() has no target. Pass the command that starts the server, or its url."
            )

    @property
    def label(self) -> str:
        """The name in messages, without secrets."""
        if self.name:
            return self.name
        return str(Redactor().clean(self.url or shlex.join([*self.command, *self.args])))


@dataclass(frozen=True, repr=False)
class CLIServer(Configuration):
    """A command-line tool, offered as the tool `<tool_prefix>_execute(args="…")`.

    A call runs the command with `args`, split into words as in a shell. No shell runs, and standard
    input is empty. `${NAME}` in the values of `env` is replaced as in an `MCPServer`.

    Raises:
        InvalidServer: a value is invalid.
    """

    name: str
    """The name in messages."""
    command: Sequence[str] | str
    """The command, such as `"git"` or `["git", "-C", "project"]`."""
    tool_prefix: str = ""
    """The first part of the tool's name; by default `name`."""
    cwd: Path | str | None = None
    """The working directory; by default that of the test process at the time of the call."""
    env: Mapping[str, str] = field(default_factory=RedactedMapping)
    """Environment variables to add to those of the test process.

    Secrets of the test process are not passed on."""
    timeout: float = 60.0
    """The seconds after which the command and its child processes are killed."""
    max_output: int = OUTPUT_LIMIT
    """The maximum number of bytes to keep of stdout, and of stderr.

    The middle of longer output is dropped."""
    description: str | None = None
    """The description for the model; by default a sentence that names the command."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise _new_bad_value(self, "name", "a string")
        _set(self, command=_split_command(self, self.command))
        _set(self, cwd=_convert_folder(self))
        _set(self, tool_prefix=self.tool_prefix or self.name)
        if not isinstance(self.tool_prefix, str) or not _TOOL_PREFIX.fullmatch(self.tool_prefix):
            raise InvalidServer(
                f"CLIServer: tool_prefix is {shorten(self.tool_prefix)}; "
                "use letters, digits, _ and - (55 at most)."
            )
        if not isinstance(self.description, (str, type(None))):
            given = shorten(self.description)
            raise InvalidServer(f"{self.name}: description is {given}; pass a string.")
        if not self.command:
            raise InvalidServer(f"CLIServer({self.name!r}) has no command. Pass the one to run.")
        if not is_whole(self.max_output, 1):
            given = shorten(self.max_output)
            raise InvalidServer(
                f"max_output of CLIServer({self.name!r}) is {given}; pass a number of bytes from 1."
            )
        _set(self, env=_convert_mapping(self, "env"))
        _check_seconds(self, "timeout")

    @property
    def label(self) -> str:
        """The name in messages."""
        return self.name


Server = MCPServer | CLIServer


def _set(configuration: object, **values: Any) -> None:
    for name, value in values.items():
        # As the `__init__` of a frozen dataclass does.
        object.__setattr__(configuration, name, value)


def _split_command(server: object, command: object) -> tuple[str, ...]:
    if isinstance(command, str):
        try:
            return tuple(shlex.split(command))
        except ValueError as error:
            raise InvalidServer(
                f"The command {shorten(command)} cannot be split into words ({error}). "
                "Pass a list of words instead."
            ) from None
    if isinstance(command, Iterable):
        words = [*command]
    else:
        words = [command]
    for word in words:
        if not isinstance(word, (str, os.PathLike)):
            raise _new_bad_value(server, "command", "a string or a list of strings")
    return tuple(map(os.fspath, words))


def _convert_mapping(server: Any, name: str) -> RedactedMapping:
    given = getattr(server, name)
    if not isinstance(given, Mapping):
        raise _new_bad_value(server, name, "a mapping of names to strings")
    for variable, value in given.items():
        if not isinstance(variable, str) or not isinstance(value, str):
            # Only the type: the value may be a secret.
            raise InvalidServer(
                f"{name}[{variable!r}] of the server {shorten_name(server.label)!r} "
                f"is {type(value).__name__}; pass a string."
            )
    return RedactedMapping(given)


def _convert_folder(server: Any) -> Path | None:
    if not isinstance(server.cwd, (str, os.PathLike, type(None))):
        raise _new_bad_value(server, "cwd", "a path")
    if server.cwd is None:
        return None
    return Path(server.cwd)


def _check_seconds(server: Server, *names: str) -> None:
    for name in names:
        value = getattr(server, name)
        if not is_number(value, most=LONGEST) or not value:
            raise InvalidServer(
                f"{name} of the server {shorten_name(server.label)!r} is {shorten(value)}; "
                f"pass a number of seconds above 0 and at most {LONGEST:,}."
            )


def _check_choice(server: Server, name: str, choices: Sequence[object]) -> None:
    value = getattr(server, name)
    if value not in choices:
        expected = join_alternatives(map(repr, choices))
        raise InvalidServer(
            f"{name} of the server {shorten_name(server.label)!r} is {shorten(value)}; "
            f"pass {expected}."
        )


def _new_bad_value(server: object, name: str, expected: str) -> InvalidServer:
    given = shorten(getattr(server, name))
    return InvalidServer(f"{type(server).__name__}: {name} is {given}; pass {expected}.")
