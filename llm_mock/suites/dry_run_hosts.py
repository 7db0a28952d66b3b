"""Keep a dry run on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from llm_mock.boundaries import HOSTS_VARIABLE, OFFLINE_VARIABLE
from llm_mock.boundaries.http.providers import is_this_machine
from llm_mock.boundaries.http.settings import MODES, http_settings
from llm_mock.errors import InvalidFile, ServerError
from llm_mock.support.pytest_settings import find_settings, get_words
from llm_mock.support.text import shorten_name

ADVICE = "A dry run asks only servers of this machine: run without --dry-run, or give a local one"


def is_local_url(url: str) -> bool:
    """Return True if a URL leads to this machine."""
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return False
    return bool(host) and is_this_machine(host or "")


def refuse_remote_servers(servers: Iterable[Any]) -> None:
    """Raise for the first MCP server that a dry run would have to ask on another machine.

    Raises:
        ServerError: there is one.
    """
    for server in servers:
        url = getattr(server, "url", None)
        if url and not is_local_url(url):
            raise ServerError(
                f"The MCP server at {shorten_name(str(server))} is not asked. {ADVICE}."
            )


@contextmanager
def on_this_machine() -> Iterator[None]:
    """Refuse connections to other machines, and read the project's `llm_mock_hosts` and `llm_mock_http`.

    Raises:
        InvalidFile: the configuration file of pytest cannot be read, or `llm_mock_http` is unknown.
    """
    mode, hosts = project_settings()
    previous = http_settings.copy()
    # `off` would let requests out.
    http_settings.mode = "error" if mode == "error" else "answer"
    http_settings.hosts = (*previous.hosts, *hosts)
    http_settings.is_offline = True
    try:
        yield
    finally:
        http_settings.restore(previous)


def project_settings() -> tuple[str, tuple[str, ...]]:
    """Return the `llm_mock_http` and `llm_mock_hosts` of the project in the current folder."""
    settings = find_settings(Path.cwd())
    mode = str(settings.get("llm_mock_http", MODES[0]))
    if mode not in MODES:
        raise InvalidFile(
            f"llm_mock_http is {mode!r} in the settings of pytest; it must be one of {', '.join(MODES)}"
        )
    return mode, get_words(settings, "llm_mock_hosts")


def offline_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command that a dry run starts."""
    hosts = " ".join((os.environ.get(HOSTS_VARIABLE, ""), *project_settings()[1])).strip()
    return {**environment, OFFLINE_VARIABLE: "1", **({HOSTS_VARIABLE: hosts} if hosts else {})}
