"""Run the tool server of a plain-language test, a process with the tools of its project."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from llm_mock.agents.environment import hide_secrets_of
from llm_mock.agents.pool import get_server_pool
from llm_mock.agents.servers import MCPServer, RedactedMapping, Server
from llm_mock.agents.tools import ServerTool
from llm_mock.boundaries import TESTING_VARIABLE
from llm_mock.errors import InvalidFile
from llm_mock.specs.allowed_hosts import AllowedHosts
from llm_mock.specs.plugin_base import CLEANUP
from llm_mock.support.temporary_folders import TemporaryFolder

ROOT_MARKERS = ("pyproject.toml", "setup.py", ".git")
"""The files and folders that mark the root of a project."""
PLUGINS = Path("tests", "llm", "plugins")
"""The folder of a project's plugins."""
STOP_TIMEOUT = 6.0
"""The seconds that the server has to stop: 5 for the plugins to clean up, and one more."""


@dataclass(frozen=True, eq=False, repr=False)
class _UnsharedServer(MCPServer):
    """A server for one test."""

    # By identity: the pool would share servers that are equal, and plugins have state.
    __eq__ = object.__eq__
    __hash__ = object.__hash__


@dataclass(frozen=True)
class RunningTools:
    """The tools of a test while their server runs."""

    servers: list[Server]
    """The servers, for an agent in this process; that of the project's tools comes first."""
    tools: dict[str, ServerTool]
    """The tools by name, the built-in ones first."""
    url: str | None = None
    """The URL of the server for other processes (streamable HTTP); None unless requested."""
    headers: Mapping[str, str] = field(default_factory=RedactedMapping)
    """The headers for requests to the URL. They contain a secret."""
    cleanup_errors: list[str] = field(default_factory=list)
    """The errors of the cleanup of plugins; complete when the server has stopped."""


@contextmanager
def run_tools_server(
    yaml_path: Path,
    *,
    allowed_hosts: AllowedHosts,
    http: bool = False,
    with_models: bool = True,
    servers: Sequence[Server] = (),
) -> Iterator[RunningTools]:
    """Run the tool server of a test in the root of its project, and stop it at the end.

    At the end the plugins clean up, which may add to `cleanup_errors`, and the process and all
    processes that it started are ended.

    Args:
        yaml_path: the file of the test.
        allowed_hosts: the hosts that the HTTP tools may connect to.
        http: serve on 127.0.0.1 as well, for other processes.
        servers: further servers, whose tools steps can call; they run for the whole session.
        with_models: whether plugins may call real models; otherwise their models are mocked.

    Raises:
        InvalidFile: a plugin is outside the project.
        ServerError: the server does not start, because a plugin cannot be loaded; the message
            names its file and line.
        MissingExtra: `mcp` is not installed.
    """
    __tracebackhide__ = True
    root = find_project_root(yaml_path)
    plugins = find_plugin_files(root)
    with TemporaryFolder("tools") as folder:
        address_file = folder / "address.json"
        arguments = [f"--allow-host={pattern}" for pattern in allowed_hosts.patterns]
        if http:
            arguments += ["--http", str(address_file)]
        if plugins:
            arguments += ["--plugins", *map(str, plugins)]
        server = _UnsharedServer(
            [sys.executable, "-m", "llm_mock.specs.mcp_server"],
            args=arguments,
            cwd=root,
            env={} if with_models else {TESTING_VARIABLE: "1"},
            name=f"tools of {yaml_path.name}",
            stop_timeout=STOP_TIMEOUT,
        )
        all_servers: list[Server] = [server, *servers]
        hide_secrets_of(servers)
        cleanup_errors: list[str] = []
        try:
            # This starts the server, which has then written its address.
            tools = {tool.name: tool for tool in get_server_pool().tools(all_servers)}
            url = None
            headers = RedactedMapping()
            if http:
                address = json.loads(address_file.read_text(encoding="utf-8"))
                url = address["url"]
                headers = RedactedMapping({"Authorization": f"Bearer {address['token']}"})
            yield RunningTools(all_servers, tools, url, headers, cleanup_errors)
        finally:
            # The last lines of its stderr.
            lines = get_server_pool().stop(server).splitlines()
            cleanup_errors += [line for line in lines if line.startswith(CLEANUP)]


def find_project_root(path: str | Path) -> Path:
    """Return the absolute path of the root of the project that a path belongs to.

    This is the nearest folder, the path itself or one above, with `pyproject.toml`, `setup.py` or
    `.git`; else the folder with the `tests/llm` that the path is in; else the folder of the path.

    Args:
        path: a folder, or a file, which need not exist.
    """
    path = Path(os.path.abspath(path))
    folder = path if path.is_dir() else path.parent
    folders = (folder, *folder.parents)
    for candidate in folders:
        if any((candidate / marker).exists() for marker in ROOT_MARKERS):
            return candidate
    for candidate in folders:
        if candidate.parts[-2:] == PLUGINS.parent.parts:
            return candidate.parents[1]
    return folder


def find_plugin_files(root: Path) -> list[Path]:
    """Return the files `tests/llm/plugins/*.py` of a project whose names do not begin with `_`.

    Raises:
        InvalidFile: a symbolic link leads out of the project, to code that would be run.
    """
    __tracebackhide__ = True
    folder = root / PLUGINS
    files = []
    for path in sorted(folder.glob("[!_]*.py")):
        if not path.is_file():
            continue
        if not path.resolve().is_relative_to(root.resolve()):
            raise InvalidFile(
                f"{path}: this plugin is outside of the project: it leads to {path.resolve()}, "
                f"which is not in {root}. Its code is not run. Copy it into the project."
            )
        files.append(path)
    return files
