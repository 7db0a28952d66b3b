"""The environment of a server: the test process's own without its secrets, and what the configuration adds."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from llm_mock.agents.servers import MCPServer, Server
from llm_mock.boundaries import FOLDER_VARIABLE
from llm_mock.errors import ServerError
from llm_mock.support.interpolation import NAME, interpolated, literal, references_in
from llm_mock.support.redaction import Redactor, hide, is_secret_name
from llm_mock.support.text import shorten_name


def environment_of(server: Server) -> dict[str, str]:
    """All variables that a server is started with.

    Of the variables of this process it gets those that hold no secret, by their name (`OPENAI_API_KEY`) or their value
    (a password in a URL). The folder of the running Python comes first in PATH, so that `python` is the one with
    which the tests run; a PATH in `env` is taken as it is.
    """
    __tracebackhide__ = True
    clean = Redactor().clean
    passed_on = {name: v for name, v in os.environ.items() if not is_secret_name(name) and clean(v) == v}
    folders = [os.path.dirname(sys.executable), *filter(None, [passed_on.get("PATH", os.defpath)])]
    no_test = {FOLDER_VARIABLE: ""}  # it runs for the whole session
    return {**passed_on, **no_test, "PATH": os.pathsep.join(folders), **resolved(server, "env")}


def whole_environment(**others: str) -> dict[str, str]:
    """All variables of this process, its secrets too, and others, as the `env` of a server that is to have them."""
    return {name: literal(value) for name, value in {**os.environ, **others}.items()}


def resolved(server: Server, field: str) -> dict[str, str]:
    """`env` or `headers` of a server with the values of the variables that they refer to, which must be set."""
    __tracebackhide__ = True
    values: Mapping[str, str] = getattr(server, field, {})
    return {name: interpolated(text, partial(_value_of, server, f"{field}[{name!r}]")) for name, text in values.items()}


def _value_of(server: Server, where: str, variable: str) -> str | None:
    __tracebackhide__ = True
    if not NAME.fullmatch(variable):
        return None
    if variable not in os.environ:
        raise ServerError(
            f"The server {shorten_name(server.label)!r} needs the environment variable {variable} ({where} has "
            f"${{{variable}}}), which is not set. Set it, or write $${{{variable}}} if that very text is meant."
        )
    return os.environ[variable]


def secrets_of(server: Server) -> list[str]:
    """The secrets that a server is given by its configuration."""
    given = [(getattr(server, field, {}), resolved(server, field)) for field in ("env", "headers")]
    return [value[name] for written, value in given for name in value if _is_secret(name, written[name])]


def hide_secrets_of(servers: Sequence[Server]) -> None:
    """Keep the secrets of servers out of all that is shown; one that refers to a variable that is not set has none."""
    for server in servers:
        with contextlib.suppress(ServerError):
            hide(*secrets_of(server))


def _is_secret(name: str, value: str) -> bool:
    probe = {name: "x" * 20}
    return any(map(is_secret_name, [name, *references_in(value)])) or Redactor().clean(probe) != probe


def command_of(server: Server, environment: Mapping[str, str]) -> list[str]:
    """The command of a server, its first word the path of the executable file; that and its folder must exist."""
    __tracebackhide__ = True
    label = shorten_name(server.label)
    if server.cwd is not None and not Path(server.cwd).is_dir():
        raise ServerError(f"The server {label!r} cannot run in {str(server.cwd)!r}: there is no such folder.")
    command, *words = [*server.command, *(server.args if isinstance(server, MCPServer) else ())]
    why = f"it is in none of the folders of PATH: {environment['PATH']}"
    if os.path.dirname(command):
        command, why = os.path.join(os.path.abspath(server.cwd or ""), command), "there is no such executable file"
    found = shutil.which(command, path=environment["PATH"])
    if found is None:
        raise ServerError(f"The server {label!r} cannot be started: {command!r} was not found; {why}.")
    return [os.path.abspath(found), *words]
