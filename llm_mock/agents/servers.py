"""What tool servers are: their configuration. Nothing is started here."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from llm_mock.errors import InvalidServer
from llm_mock.support.interpolation import whole_reference
from llm_mock.support.numbers import LONGEST, is_number, is_whole
from llm_mock.support.redaction import REDACTED, Redactor, is_secret_name
from llm_mock.support.text import shorten, shorten_name

__tracebackhide__ = True  # of the `__init__` that `dataclass` writes, too
OUTPUT_LIMIT = 100_000
"""How many bytes of the output of a command-line tool are kept unless said otherwise."""

Transport = Literal["stdio", "streamable-http", "sse"]
"""How an MCP server is talked to."""
Scope = Literal["session", "test"]
"""For how long a server is kept: see `MCPServer.scope`."""
_TOOL_PREFIX = re.compile(r"[A-Za-z0-9_-]{1,55}")
"""With `_execute` a name that the providers take: 64 characters at most."""


class Variables(Mapping[str, str]):
    """Environment variables or HTTP headers: an immutable, hashable mapping whose repr shows no secrets."""

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
        return repr({name: _shown_value(name, value) for name, value in self._values.items()})


def _shown_value(name: str, value: str) -> str:
    """A value without what is secret; `${TOKEN}` and `Bearer ${TOKEN}` only name a secret."""
    scheme, _, reference = value.rpartition(" ")
    if whole_reference(reference) is not None and (not scheme or scheme.isalpha()):
        return value
    return REDACTED if is_secret_name(name) else str(Redactor().clean({name: value})[name])


class Configuration:
    """A repr that leaves out what has its default, and secrets."""

    def __repr__(self) -> str:
        clean = Redactor().clean
        shown = []
        for each in fields(self):  # type: ignore[arg-type]
            value = getattr(self, each.name)
            if value != (each.default_factory() if callable(each.default_factory) else each.default):
                shown.append(f"{each.name}={clean(repr(list(value) if isinstance(value, tuple) else value))}")
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, repr=False)
class MCPServer(Configuration):
    """A server that speaks MCP: a command that is started (stdio), or a URL (streamable HTTP, or SSE).

    The values of `env` and `headers` may hold `${NAME}`, which is replaced by the variable NAME of the test process
    when the server is started; `$${NAME}` stands for the text `${NAME}`.

    Raises:
        InvalidServer: there is not exactly one of command and URL, or a value makes no sense.
    """

    command: Sequence[str] | str = ()
    """The command, such as `["python", "server.py"]`. A string is split as a shell would, but no shell runs it.
    `python` and installed scripts are those of the environment in which the tests run."""
    args: Sequence[str] = ()
    """Further arguments, put after the command's own."""
    env: Mapping[str, str] = field(default_factory=Variables)
    """Variables that the server gets besides the test process's own; of these it gets no keys, tokens or passwords."""
    cwd: Path | str | None = None
    """The folder in which it runs; None is the one of the test process when the server is started."""
    url: str | None = None
    """Where it listens, such as `http://127.0.0.1:8000/mcp`, instead of a command."""
    headers: Mapping[str, str] = field(default_factory=Variables)
    """HTTP headers that are sent to `url`."""
    tools: Sequence[str] | None = None
    """Globs of the names of the tools that are offered; None offers all."""
    start_timeout: float = 30.0
    """Seconds until it must have started and told its tools."""
    call_timeout: float = 60.0
    """Seconds that a call may take."""
    name: str | None = None
    """What messages call it; by default its command or URL."""
    stop_timeout: float = 1.0
    """Seconds that its process has to end after SIGTERM, which it gets a second after its standard input ended."""
    scope: Scope = "session"
    """With `session` it is shared by tests, and what they do to its state stays; with `test` each test has one of its
    own (at a URL: a connection of its own), which is ended with the test."""
    transport: Transport | None = None
    """`streamable-http` or, for servers of the protocol's first version, `sse`; None is stdio for a command, and
    streamable HTTP for a URL."""

    def __post_init__(self) -> None:
        _set(self, command=_words(self, self.command), args=tuple(map(str, self.args)))
        tools = [self.tools] if isinstance(self.tools, str) else self.tools
        _set(self, cwd=_folder(self), tools=None if tools is None else tuple(tools))
        if bool(self.command) == bool(self.url):
            both = f"The MCP server {shorten_name(self.label)!r} has a command and a URL: give one of the two."
            neither = "MCPServer(): give the command that starts it, or the url where it listens."
            raise InvalidServer(both if self.command else neither)
        _set(self, env=_variables(self, "env"), headers=_variables(self, "headers"))
        _check_seconds(self, "start_timeout", "call_timeout", "stop_timeout")
        _check_choice(self, "scope", get_args(Scope))
        stdio, *of_urls = get_args(Transport)
        _check_choice(self, "transport", (None, *of_urls) if self.url else (None, stdio))
        if self.transport == (of_urls[0] if self.url else stdio):
            _set(self, transport=None)  # so that it is equal to one that does not say so

    @property
    def label(self) -> str:
        """What messages call the server; holds no secrets."""
        if self.name:
            return self.name
        return str(Redactor().clean(self.url or shlex.join([*self.command, *self.args])))


@dataclass(frozen=True, repr=False)
class CLIServer(Configuration):
    """A command-line tool, offered as the tool `<tool_prefix>_execute(args="…")`.

    A call runs exactly the command and its arguments, split as a shell would split them; no shell runs, standard input
    is empty. The values of `env` may hold `${NAME}`, as those of an `MCPServer`.

    Raises:
        InvalidServer: a value makes no sense.
    """

    name: str
    """What messages call it."""
    command: Sequence[str] | str
    """The command, such as `"git"` or `["git", "-C", "project"]`."""
    tool_prefix: str = ""
    """The first part of the tool's name; by default `name`."""
    cwd: Path | str | None = None
    """The folder in which it runs; None is the one of the test process at the time of the call."""
    env: Mapping[str, str] = field(default_factory=Variables)
    """Variables that it gets besides the test process's own; of these it gets no keys, tokens or passwords."""
    timeout: float = 60.0
    """Seconds that a call may take; then the command and all that it started are killed."""
    max_output: int = OUTPUT_LIMIT
    """How many bytes are kept of what it writes to stdout, and as many of stderr: the first and the last half."""
    description: str | None = None
    """What the model is told about the tool; None is a sentence that names the command."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise _bad_value(self, "name", "a text")
        _set(self, command=_words(self, self.command), cwd=_folder(self))
        _set(self, tool_prefix=self.tool_prefix or self.name)
        if not isinstance(self.tool_prefix, str) or not _TOOL_PREFIX.fullmatch(self.tool_prefix):
            wanted = "a text of letters, digits, _ and - (55 at most)"
            raise InvalidServer(f"CLIServer: the tool_prefix is {shorten(self.tool_prefix)}; give {wanted}.")
        if not isinstance(self.description, (str, type(None))):
            raise InvalidServer(f"{self.name}: description is {shorten(self.description)}; give a text.")
        if not self.command:
            raise InvalidServer(f"CLIServer({self.name!r}): give the command that it runs.")
        if not is_whole(self.max_output, 1):
            given = f"max_output of CLIServer({self.name!r}) is {shorten(self.max_output)}"
            raise InvalidServer(f"{given}; give a number of bytes from 1.")
        _set(self, env=_variables(self, "env"))
        _check_seconds(self, "timeout")

    @property
    def label(self) -> str:
        """What messages call the server."""
        return self.name


Server = MCPServer | CLIServer


def _set(configuration: Any, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(configuration, name, value)  # as dataclasses do it themselves where they are frozen


def _words(server: Any, command: Any) -> tuple[str, ...]:
    if isinstance(command, str):
        try:
            return tuple(shlex.split(command))
        except ValueError as error:
            wrong = f"The command {shorten(command)} cannot be split into words ({error})."
            raise InvalidServer(f"{wrong} Give a list of words instead.") from None
    words = [*command] if isinstance(command, Iterable) else [command]
    if not all(isinstance(word, (str, os.PathLike)) for word in words):
        raise _bad_value(server, "command", "a text, or a list of texts")
    return tuple(map(os.fspath, words))


def _variables(server: Any, name: str) -> Variables:
    given = getattr(server, name)
    if not isinstance(given, Mapping):
        raise _bad_value(server, name, "a mapping of names to texts")
    for variable, value in given.items():
        if not isinstance(variable, str) or not isinstance(value, str):
            where = f"{name}[{variable!r}] of the server {shorten_name(server.label)!r}"
            raise InvalidServer(f"{where} is {type(value).__name__}; give a text.")
    return Variables(given)


def _folder(server: Any) -> Path | None:
    if not isinstance(server.cwd, (str, os.PathLike, type(None))):
        raise _bad_value(server, "cwd", "a path")
    return None if server.cwd is None else Path(server.cwd)


def _check_seconds(server: Server, *names: str) -> None:
    for name in names:
        value = getattr(server, name)
        if not is_number(value, most=LONGEST) or not value:
            where = f"{name} of the server {shorten_name(server.label)!r}"
            raise InvalidServer(
                f"{where} is {shorten(value)}; give a number of seconds above 0, and at most {LONGEST:,}."
            )


def _check_choice(server: Server, name: str, choices: Sequence[Any]) -> None:
    value = getattr(server, name)
    if value not in choices:
        wanted = " or ".join(map(repr, choices))
        raise InvalidServer(f"{name} of the server {shorten_name(server.label)!r} is {shorten(value)}; give {wanted}.")


def _bad_value(server: Any, name: str, wanted: str) -> InvalidServer:
    given = shorten(getattr(server, name))
    return InvalidServer(f"{type(server).__name__}: {name} is {given}; give {wanted}.")
