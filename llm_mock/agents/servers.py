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
from llm_mock.support.text import shorten, shorten_name

# Read by pytest. In the module, because `dataclass` writes `__init__`.
__tracebackhide__ = True
OUTPUT_LIMIT = 100_000
"""The default of `CLIServer.max_output`, in bytes."""

Transport = Literal["stdio", "streamable-http", "sse"]
"""The transports of MCP."""
Scope = Literal["session", "test"]
"""The lifetime of a server: see `MCPServer.scope`."""
# The providers limit names of tools to 64 characters, and `_execute` follows.
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
    """An MCP server: a command that is started (stdio), or a URL (streamable HTTP or SSE).

    The values of `env` and `headers` may contain `${NAME}`, which is replaced by the variable NAME
    of the test process when the server starts; `$${NAME}` stands for the text `${NAME}`.

    Raises:
        InvalidServer: it does not have either a command or a URL, or a value is invalid.
    """

    command: Sequence[str] | str = ()
    """The command, such as `["python", "server.py"]`.

    A string is split as a shell would, but no shell runs it. `python` and installed scripts are
    those of the environment in which the tests run."""
    args: Sequence[str] = ()
    """Further arguments, put after the command's own."""
    env: Mapping[str, str] = field(default_factory=RedactedMapping)
    """Environment variables besides those of the test process, whose secrets are not passed on."""
    cwd: Path | str | None = None
    """The working directory; by default that of the test process when the server starts."""
    url: str | None = None
    """The URL instead of a command, such as `http://127.0.0.1:8000/mcp`."""
    headers: Mapping[str, str] = field(default_factory=RedactedMapping)
    """HTTP headers that are sent to `url`."""
    tools: Sequence[str] | None = None
    """Globs of the names of the tools to offer; None offers all."""
    start_timeout: float = 30.0
    """Seconds to start and to list the tools."""
    call_timeout: float = 60.0
    """Seconds that a call may take."""
    name: str | None = None
    """The name in messages; by default its command or URL."""
    stop_timeout: float = 1.0
    """Seconds to end after SIGTERM, which is sent a second after its standard input is closed."""
    scope: Scope = "session"
    """The lifetime of the server.

    With `session` tests share it and its state. With `test` each test has its own (at a URL: its
    own connection), which is ended with the test."""
    transport: Transport | None = None
    """`streamable-http`, or `sse` for servers of the protocol's first version.

    None is stdio for a command, and streamable HTTP for a URL."""

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
            # Equal to a server that leaves out the default, so that both share a process.
            _set(self, transport=None)

    def _check_target(self) -> None:
        if self.command and self.url:
            label = shorten_name(self.label)
            raise InvalidServer(
                f"The MCP server {label!r} has a command and a URL: give one of the two."
            )
        if not self.command and not self.url:
            raise InvalidServer(
                "MCPServer(): give the command that starts it, or the url where it listens."
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

    A call runs exactly the command and its arguments, split as a shell would split them. No shell
    runs, and standard input is empty. The values of `env` may contain `${NAME}`, as those of an
    `MCPServer`.

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
    """Environment variables besides those of the test process, whose secrets are not passed on."""
    timeout: float = 60.0
    """Seconds that a call may take; then the command and its child processes are killed."""
    max_output: int = OUTPUT_LIMIT
    """The bytes of stdout, and of stderr, that are kept: the first and the last half."""
    description: str | None = None
    """The description for the model; by default a sentence that names the command."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise _new_bad_value(self, "name", "a text")
        _set(self, command=_split_command(self, self.command))
        _set(self, cwd=_convert_folder(self))
        _set(self, tool_prefix=self.tool_prefix or self.name)
        if not isinstance(self.tool_prefix, str) or not _TOOL_PREFIX.fullmatch(self.tool_prefix):
            raise InvalidServer(
                f"CLIServer: the tool_prefix is {shorten(self.tool_prefix)}; "
                "give a text of letters, digits, _ and - (55 at most)."
            )
        if not isinstance(self.description, (str, type(None))):
            given = shorten(self.description)
            raise InvalidServer(f"{self.name}: description is {given}; give a text.")
        if not self.command:
            raise InvalidServer(f"CLIServer({self.name!r}): give the command that it runs.")
        if not is_whole(self.max_output, 1):
            given = shorten(self.max_output)
            raise InvalidServer(
                f"max_output of CLIServer({self.name!r}) is {given}; give a number of bytes from 1."
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
                "Give a list of words instead."
            ) from None
    if isinstance(command, Iterable):
        words = [*command]
    else:
        words = [command]
    for word in words:
        if not isinstance(word, (str, os.PathLike)):
            raise _new_bad_value(server, "command", "a text, or a list of texts")
    return tuple(map(os.fspath, words))


def _convert_mapping(server: Any, name: str) -> RedactedMapping:
    given = getattr(server, name)
    if not isinstance(given, Mapping):
        raise _new_bad_value(server, name, "a mapping of names to texts")
    for variable, value in given.items():
        if not isinstance(variable, str) or not isinstance(value, str):
            # Only the type: the value may be a secret.
            raise InvalidServer(
                f"{name}[{variable!r}] of the server {shorten_name(server.label)!r} "
                f"is {type(value).__name__}; give a text."
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
                f"give a number of seconds above 0, and at most {LONGEST:,}."
            )


def _check_choice(server: Server, name: str, choices: Sequence[object]) -> None:
    value = getattr(server, name)
    if value not in choices:
        expected = " or ".join(map(repr, choices))
        raise InvalidServer(
            f"{name} of the server {shorten_name(server.label)!r} is {shorten(value)}; "
            f"give {expected}."
        )


def _new_bad_value(server: object, name: str, expected: str) -> InvalidServer:
    given = shorten(getattr(server, name))
    return InvalidServer(f"{type(server).__name__}: {name} is {given}; give {expected}.")
