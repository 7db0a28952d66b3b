"""Build the environment of a server from that of the test process, without secrets."""

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
from llm_mock.support.interpolation import NAME, escape_references, interpolate, list_references
from llm_mock.support.redaction import Redactor, hide, is_secret_name
from llm_mock.support.text import shorten_name


def build_environment(server: Server) -> dict[str, str]:
    """Return all environment variables for a server.

    Variables of this process are passed on, except those whose name (`OPENAI_API_KEY`) or value (a
    password in a URL) marks them as secret. The folder of the running Python comes first in PATH,
    so that `python` is the interpreter that runs the tests. A PATH in `env` is used unchanged.
    """
    redactor = Redactor()
    environment = {}
    for name, value in os.environ.items():
        if not is_secret_name(name) and redactor.clean(value) == value:
            environment[name] = value
    # A server outlives the test that starts it, so it belongs to no test.
    environment[FOLDER_VARIABLE] = ""
    python_folder = os.path.dirname(sys.executable)
    folders = [python_folder, environment.get("PATH", os.defpath)]
    # An empty folder would mean the working directory.
    environment["PATH"] = os.pathsep.join(filter(None, folders))
    return environment | resolve_variables(server, "env")


def merge_environment(**others: str) -> dict[str, str]:
    """Return all variables of this process, including secrets, plus others, for `env`."""
    return {name: escape_references(value) for name, value in {**os.environ, **others}.items()}


def resolve_variables(server: Server, field: str) -> dict[str, str]:
    """Return `env` or `headers` of a server with each `${NAME}` replaced.

    Raises:
        ServerError: a variable is not set.
    """
    values: Mapping[str, str] = getattr(server, field, {})
    resolved = {}
    for name, text in values.items():
        get_value = partial(_get_value, server, f"{field}[{name!r}]")
        resolved[name] = interpolate(text, get_value)
    return resolved


def _get_value(server: Server, where: str, variable: str) -> str | None:
    # `${a b}` is plain text, not a reference.
    if not NAME.fullmatch(variable):
        return None
    if variable not in os.environ:
        raise ServerError(
            f"The server {shorten_name(server.label)!r} uses ${{{variable}}} in {where}, but the "
            f"environment variable {variable} is not set. Set it, or write $${{{variable}}} for "
            "the literal text."
        )
    return os.environ[variable]


def hide_secrets_of(servers: Sequence[Server]) -> None:
    """Redact the secrets in the configuration of servers from all output."""
    for server in servers:
        # A variable that is not set is reported when the server starts.
        with contextlib.suppress(ServerError):
            hide(*_collect_secrets(server))


def _collect_secrets(server: Server) -> list[str]:
    secrets = []
    for field in ("env", "headers"):
        configured: Mapping[str, str] = getattr(server, field, {})
        for name, value in resolve_variables(server, field).items():
            if _is_secret(name, configured[name]):
                secrets.append(value)
    return secrets


def _is_secret(name: str, value: str) -> bool:
    if any(map(is_secret_name, [name, *list_references(value)])):
        return True
    # Does the redactor know the name, such as a header with credentials?
    probe = {name: "x" * 20}
    return bool(Redactor().clean(probe) != probe)


def resolve_command(server: Server, environment: Mapping[str, str]) -> list[str]:
    """Return the command of a server with the path of its executable file.

    Raises:
        ServerError: the file or the folder of the server does not exist.
    """
    label = shorten_name(server.label)
    if server.cwd is not None and not Path(server.cwd).is_dir():
        folder = str(server.cwd)
        raise ServerError(
            f"The server {label!r} cannot run in {folder!r}: the folder does not exist."
        )
    command, *arguments = server.command
    if isinstance(server, MCPServer):
        arguments += server.args
    reason = f"is not in PATH ({environment['PATH']})"
    if os.path.dirname(command):
        # As in a shell, a relative path starts at the server's working directory.
        command = os.path.join(os.path.abspath(server.cwd or ""), command)
        reason = "is not an executable file"
    found = shutil.which(command, path=environment["PATH"])
    if found is None:
        raise ServerError(
            f"The server {label!r} cannot be started: the command {command!r} {reason}."
        )
    return [os.path.abspath(found), *arguments]
