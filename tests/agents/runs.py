"""Fixtures for tests that run agents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llm_mock.agents import AgentResult, CLIServer, MCPServer, aitest_run, aitest_run_sync

EXAMPLES = Path(__file__).parents[2] / "examples"

Run = Callable[..., AgentResult]


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Run:
    """Run an agent, each test once with `aitest_run_sync` and once with `aitest_run`."""
    if request.param == "sync":
        return aitest_run_sync

    def run_in_loop(*args: Any, **kwargs: Any) -> AgentResult:
        return asyncio.run(aitest_run(*args, **kwargs))

    return run_in_loop


@pytest.fixture(scope="module")
def own_bank(request: pytest.FixtureRequest) -> MCPServer:
    """Return the bank of the examples; each module of tests has one with a state of its own."""
    return MCPServer(
        ["python", "-m", "bank.server"], cwd=EXAMPLES, env={"FOR": request.node.name}, name="bank"
    )


@pytest.fixture
def echo() -> CLIServer:
    """Return a tool that says what it is told."""
    return CLIServer("echo", "echo")
