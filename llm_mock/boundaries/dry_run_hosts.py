"""Keep a dry run on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from llm_mock.boundaries import HOSTS_VARIABLE, OFFLINE_VARIABLE
from llm_mock.boundaries.http.providers.hosts import is_this_machine, parse_hosts
from llm_mock.boundaries.http.settings import MODES, http_settings
from llm_mock.errors import ServerError
from llm_mock.support.pytest_settings import find_settings
from llm_mock.support.text import shorten_name

ADVICE = (
    "A dry run calls only servers on this machine: run without --dry-run, or use a local server"
)


def is_local_url(url: str) -> bool:
    """Return whether a URL leads to this machine."""
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return False
    if not host:
        return False
    return is_this_machine(host)


def refuse_remote_servers(servers: Iterable[object]) -> None:
    """Raise if an MCP server is on another machine, which a dry run must not call.

    Raises:
        ServerError: a server is on another machine.
    """
    for server in servers:
        # A command-line tool has no URL.
        url = getattr(server, "url", None)
        if url and not is_local_url(url):
            name = shorten_name(str(server))
            raise ServerError(f"The MCP server at {name} is not on this machine. {ADVICE}.")


@contextmanager
def restrict_to_this_machine() -> Iterator[None]:
    """Refuse connections to other machines, and apply the project's settings of the HTTP boundary.

    Raises:
        InvalidFile: the configuration file of pytest cannot be read, or `llm_mock_http` is unknown.
        InvalidHostPattern: an entry of `llm_mock_hosts` is not a host.
    """
    if http_settings.is_offline:
        # An outer context has already read the settings, which is slow.
        yield
        return
    mode, hosts = read_project_settings()
    previous = http_settings.copy()
    # `off` would let requests out.
    http_settings.mode = "error" if mode == "error" else "answer"
    http_settings.hosts = (*previous.hosts, *hosts)
    http_settings.is_offline = True
    try:
        yield
    finally:
        http_settings.restore(previous)


def read_project_settings() -> tuple[str, tuple[str, ...]]:
    """Return the `llm_mock_http` and `llm_mock_hosts` of the project in the current folder.

    Raises:
        InvalidFile: the configuration file of pytest cannot be read, or `llm_mock_http` is unknown.
    """
    settings = find_settings(Path.cwd())
    mode = settings.get_choice("llm_mock_http", MODES)
    return mode, parse_hosts(settings.get_words("llm_mock_hosts"))


def create_offline_environment(
    environment: Mapping[str, str], server: str | None = None
) -> dict[str, str]:
    """Return the environment of a command that a dry run starts.

    Args:
        environment: the environment to start from.
        server: the URL of the mock's server, which the command may call.
    """
    _, project_hosts = read_project_settings()
    # The command cannot read the settings of pytest, so it gets the hosts from the environment.
    hosts = [os.environ.get(HOSTS_VARIABLE, ""), *project_hosts]
    if server is not None:
        hosts.append(f"!{urlsplit(server).netloc}")
    offline = {**environment, OFFLINE_VARIABLE: "1"}
    all_hosts = " ".join(hosts).strip()
    if all_hosts:
        offline[HOSTS_VARIABLE] = all_hosts
    return offline
