"""Shared by tests of agents: pools, and servers to find in the process table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from llm_mock.agents import MCPServer
from llm_mock.agents.pool import ServerPool
from llm_mock.agents.tools import ServerTool

from .processes import wait_until_gone
from .runs import echo as echo
from .runs import own_bank as own_bank
from .runs import run as run

RAW_SERVER = Path(__file__).with_name("raw_server.py")
EXAMPLES = Path(__file__).parents[2] / "examples"


def tools_of(pool: ServerPool, *servers: Any) -> dict[str, ServerTool]:
    """Return the tools of servers, by their names."""
    return {tool.name: tool for tool in pool.tools(servers)}


@pytest.fixture
def marker(tmp_path: Path) -> Iterator[str]:
    """Yield a word for the commands of the test's servers, none of which may survive."""
    marker = f"marker-of-{tmp_path}"
    yield marker
    wait_until_gone(marker)


@pytest.fixture
def pool(marker: str) -> Iterator[ServerPool]:
    """Yield a pool of the test's own; closed before the process table is looked at."""
    pool = ServerPool()
    yield pool
    pool.close()


@pytest.fixture
def raw(marker: str) -> Callable[..., MCPServer]:
    """Return configurations of servers that start at once: `raw("--stubborn", name="…")`."""

    def configure(*options: str, **fields: Any) -> MCPServer:
        # Without site-packages Python starts in a few milliseconds.
        return MCPServer([sys.executable, "-I", "-S", str(RAW_SERVER), marker, *options], **fields)

    return configure


@pytest.fixture(scope="session")
def bank() -> MCPServer:
    """Return the bank of the examples."""
    return MCPServer(["python", "-m", "bank.server"], cwd=EXAMPLES, name="bank")
