"""The server process of one plain-language test: the tools of the project to which its file belongs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from llm_mock.agents.pool import pool_of_process
from llm_mock.agents.servers import MCPServer, RedactedMapping
from llm_mock.agents.tools import ServerTool
from llm_mock.errors import InvalidFile
from llm_mock.specs.allowed_hosts import AllowedHosts
from llm_mock.specs.plugin_base import CLEANUP
from llm_mock.support.temporary import TemporaryFolder

MARKS = ("pyproject.toml", "setup.py", ".git")
"""What the root of a project has."""
PLUGINS = Path("tests", "llm", "plugins")
"""Where a project has its plugins."""
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
    headers: Mapping[str, str] = field(default_factory=RedactedMapping)
    """The headers that it must send. They hold a secret."""
    cleanup_errors: list[str] = field(default_factory=list)
    """Why plugins could not clean up; filled when the server has ended."""


@contextmanager
def tools_server(yaml_path: Path, *, allowed_hosts: AllowedHosts, http: bool = False) -> Iterator[RunningTools]:
    """Run the tools of one test: a process of its own in the root of the project, with its plugins.

    With `http` it is to be reached by HTTP too, on 127.0.0.1. At the end the plugins clean up, which may add to
    `cleanup_errors`, and the process is ended with all that it started.

    Raises:
        InvalidFile: a plugin is outside the project.
        ServerError: the server does not start, as a plugin cannot be loaded; the message names its file and line.
        MissingExtra: `mcp` is not installed.
    """
    __tracebackhide__ = True
    root = find_project_root(yaml_path)
    plugins = plugin_files(root)
    with TemporaryFolder("tools") as folder:
        address_file = folder / "address.json"
        server = _OfOneTest(
            [sys.executable, "-m", "llm_mock.specs.mcp_server"],
            args=[
                *(f"--allow-host={pattern}" for pattern in allowed_hosts.patterns),
                *(["--http", str(address_file)] if http else []),
                *(["--plugins", *map(str, plugins)] if plugins else []),
            ],
            cwd=root,
            name=f"tools of {yaml_path.name}",
            stop_timeout=STOP_TIMEOUT,
        )
        cleanup_errors: list[str] = []
        try:
            tools = {tool.name: tool for tool in pool_of_process().tools([server])}
            address = json.loads(address_file.read_text(encoding="utf-8")) if http else {}
            headers = RedactedMapping({"Authorization": f"Bearer {address['token']}"} if http else {})
            yield RunningTools(server, tools, address.get("url"), headers, cleanup_errors)
        finally:
            lines = pool_of_process().stop(server).splitlines()
            cleanup_errors += [line for line in lines if line.startswith(CLEANUP)]


def find_project_root(path: str | Path) -> Path:
    """The root of the project to which a file, which need not exist, or a folder belongs, as an absolute path.

    It is the nearest folder above (or the folder itself) that holds `pyproject.toml`, `setup.py` or `.git`; else the
    one that holds the `tests/llm` in which the file is; else the folder of the file.
    """
    path = Path(os.path.abspath(path))
    folder = path if path.is_dir() else path.parent
    folders = (folder, *folder.parents)
    marked = (each for each in folders if any((each / mark).exists() for mark in MARKS))
    above_tests = (each.parents[1] for each in folders if each.parts[-2:] == PLUGINS.parent.parts)
    return next(marked, None) or next(above_tests, folder)


def plugin_files(root: Path) -> list[Path]:
    """The files of a project's plugins, by name: `tests/llm/plugins/*.py` without those whose name begins with `_`.

    Raises:
        InvalidFile: a symbolic link leads out of the project, to code that would be run.
    """
    __tracebackhide__ = True
    found = sorted(path for path in (root / PLUGINS).glob("[!_]*.py") if path.is_file())
    for path in found:
        if not path.resolve().is_relative_to(root.resolve()):
            raise InvalidFile(
                f"{path}: this plugin lies outside the project: it leads to {path.resolve()}, which is not in {root}. "
                "Its code is not run. Copy it into the project."
            )
    return found
