"""Run the tool server of plain-language tests in this process, for tests about its callers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from llm_mock.agents.mcp_session import MCPSession
from llm_mock.specs.allowed_hosts import AllowedHosts
from llm_mock.specs.mcp_server import clean_up_plugins, collect_tools
from llm_mock.specs.plugin_loading import load_plugins
from llm_mock.specs.tool_functions import create_server

ALLOW_HOST = "--allow-host="
connect_to_process = MCPSession._connection


@asynccontextmanager
async def connect_to_local_server(session: MCPSession) -> AsyncIterator[Any]:
    """Connect to a tool server without a process; other servers are started as ever."""
    options = list(session.server.args)
    is_tool_server = "llm_mock.specs.mcp_server" in session.server.command
    # It serves other processes by HTTP, as a process of its own.
    if not is_tool_server or "--http" in options:
        async with connect_to_process(session) as transport:
            yield transport
        return
    hosts = [option.removeprefix(ALLOW_HOST) for option in options if option.startswith(ALLOW_HOST)]
    files = options[options.index("--plugins") + 1 :] if "--plugins" in options else []
    plugins = list(load_plugins(map(Path, files)))
    try:
        # The client of `mcp` accepts a server in place of a connection to one.
        yield create_server(collect_tools(AllowedHosts(hosts), plugins))
    finally:
        await clean_up_plugins(plugins)


@pytest.fixture
def local_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Save the process of the tool server, which takes most of the time of a short test.

    The plugins of a project in `tmp_path` run in its root, as in the process, but what they do
    to their process or print is not seen as it is there.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(MCPSession, "_connection", connect_to_local_server)


@pytest.fixture
def tool_process(local_tools: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the tool server as a process in a module whose tests use `local_tools`."""
    monkeypatch.setattr(MCPSession, "_connection", connect_to_process)
