"""The server process of one plain-language test."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from llm_mock.agents.pool import pool_of_process
from llm_mock.agents.servers import MCPServer, Variables
from llm_mock.agents.tools import ServerTool
from llm_mock.specs.allowed_hosts import AllowedHosts
from llm_mock.specs.plugin_base import CLEANUP
from llm_mock.specs.project import find_project_root, plugin_files

STOP_TIMEOUT = 6.0
"""Seconds that the server has to end: 5 for the plugins to clean up, and one more."""


@dataclass(frozen=True, eq=False, repr=False)
class _OfOneTest(MCPServer):
    """A server that no other test shares, even one with the same configuration."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__


@dataclass(frozen=True)
class RunningTools:
    """The tools of one test, as long as it runs."""

    server: MCPServer
    """The server, for an agent of this process."""
    tools: dict[str, ServerTool]
    """The tools by their names, the built-in ones first."""
    url: str | None = None
    """Where another process reaches the same server by streamable HTTP; None where that was not asked for."""
    headers: Mapping[str, str] = field(default_factory=Variables)
    """The headers that it must send. They hold a secret."""
    cleanup_errors: list[str] = field(default_factory=list)
    """Why plugins could not clean up; filled when the server has ended."""


@contextmanager
def tools_server(yaml_path: Path, *, allowed_hosts: AllowedHosts, http: bool = False) -> Iterator[RunningTools]:
    """Run the tools of one test: a process of its own in the root of the project, with its plugins.

    Args:
        yaml_path: the file of the test.
        allowed_hosts: which hosts the HTTP tools may ask.
        http: whether the server is to be reached by HTTP too, on 127.0.0.1.

    Yields:
        The tools. At the end the plugins clean up, which may add to `cleanup_errors`, and the process is ended with all
        that it started.

    Raises:
        InvalidFile: a plugin is outside the project.
        ServerError: the server does not start, as a plugin cannot be loaded; the message names its file and line.
        MissingExtra: `mcp` is not installed.
    """
    __tracebackhide__ = True
    root = find_project_root(yaml_path)
    with tempfile.TemporaryDirectory(prefix="llm-mock-") as folder:
        address_file = Path(folder, "address.json") if http else None
        server = _configuration(yaml_path, root, allowed_hosts, address_file)
        cleanup_errors: list[str] = []
        try:
            tools = {tool.name: tool for tool in pool_of_process().tools([server])}
            url, headers = _address(address_file) if address_file else (None, Variables())
            yield RunningTools(server, tools, url, headers, cleanup_errors)
        finally:
            lines = pool_of_process().stop(server).splitlines()
            cleanup_errors += [line for line in lines if line.startswith(CLEANUP)]


def _address(file: Path) -> tuple[str, Variables]:
    """Where the server is reached by HTTP, and the headers that it wants."""
    address = json.loads(file.read_text(encoding="utf-8"))
    return address["url"], Variables({"Authorization": f"Bearer {address['token']}"})


def _configuration(yaml_path: Path, root: Path, allowed_hosts: AllowedHosts, address_file: Path | None) -> MCPServer:
    __tracebackhide__ = True
    plugins = plugin_files(root)
    return _OfOneTest(
        [sys.executable, "-m", "llm_mock.specs.mcp_server"],
        args=[
            *(f"--allow-host={pattern}" for pattern in allowed_hosts.patterns),
            *(["--http", str(address_file)] if address_file else []),
            *(["--plugins", *map(str, plugins)] if plugins else []),
        ],
        cwd=root,
        name=f"tools of {yaml_path.name}",
        stop_timeout=STOP_TIMEOUT,
    )
