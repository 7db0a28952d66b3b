"""The time that an agent run adds to its tools, compared with bare SDK calls."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from llm.models import ToolCall
from mcp import Client, StdioServerParameters, stdio_client
from table import Row

from llm_mock import BrokenToolCall, LLMMock, Reply
from llm_mock.agents import Agent, MCPServer, aitest_run, aitest_run_sync
from llm_mock.agents.pool import get_server_pool
from llm_mock.boundaries.llm.attach import attach
from llm_mock.core.context import activate

EXAMPLES = Path(__file__).parents[1] / "examples"
COMMAND = ["-m", "bank.server"]
TOOL, ARGUMENTS = "history", {"account": "bob"}
TURNS, MCP_CALLS = 10, 5
ROUNDS, RUNS = 10, 10


def _play(mock: LLMMock) -> None:
    """Return nine turns with a tool call, five of them of the bank, and the answer."""
    for turn in range(TURNS - 1):
        call = ToolCall(TOOL, ARGUMENTS) if turn < MCP_CALLS else BrokenToolCall("nothing", {})
        mock.add("m", Reply(f"Turn {turn}", tool_calls=[call]))
    mock.add("m", "Done")


def _checked(result: Any) -> None:
    if not result or len(result.turns) != TURNS or len(result.tool_calls_for(TOOL)) != MCP_CALLS:
        raise RuntimeError(str(result))


async def _bare(client: Client) -> None:
    for _ in range(MCP_CALLS):
        if (await client.call_tool(TOOL, ARGUMENTS)).is_error:
            raise RuntimeError("the bank refused")


async def _times() -> dict[str, float]:
    """Seconds a run of each contestant, the fastest of its rounds; they take turns."""
    server = MCPServer([sys.executable, *COMMAND], cwd=EXAMPLES)
    agent = Agent("m", [server], max_turns=TURNS)
    mock = LLMMock(at_boundary=True)
    attach()
    previous = activate(mock)
    parameters = StdioServerParameters(command=sys.executable, args=COMMAND, cwd=EXAMPLES)
    times: dict[str, list[float]] = {"bare": [], "async": [], "sync": []}
    try:
        async with Client(stdio_client(parameters)) as client:
            for _ in range(ROUNDS):
                times["bare"].append(await _timed(lambda: _bare(client)))
                times["async"].append(await _timed(lambda: _run(agent, mock)))
                times["sync"].append(await asyncio.to_thread(_timed_sync, agent, mock))
    finally:
        activate(previous)
        get_server_pool().close()
    return {name: min(seconds) for name, seconds in times.items()}


async def _run(agent: Agent, mock: LLMMock) -> None:
    _play(mock)
    _checked(await aitest_run(agent, "Go on"))


async def _timed(action: Callable[[], Any]) -> float:
    start = perf_counter()
    for _ in range(RUNS):
        await action()
    return (perf_counter() - start) / RUNS


def _timed_sync(agent: Agent, mock: LLMMock) -> float:
    start = perf_counter()
    for _ in range(RUNS):
        _play(mock)
        _checked(aitest_run_sync(agent, "Go on"))
    return (perf_counter() - start) / RUNS


def rows() -> Iterator[Row]:
    """Yield the rows of the table."""
    times = asyncio.run(_times())
    for how, name in (("async", "`await aitest_run(…)`"), ("sync", "`aitest_run_sync(…)`")):
        what = f"{name}: {TURNS} turns, {MCP_CALLS} MCP calls"
        beside = f"the MCP SDK alone, these calls: {times['bare'] * 1000:.1f} ms"
        yield Row(what, f"{times[how] * 1000:.1f} ms", beside, times[how] / times["bare"])


if __name__ == "__main__":
    from table import markdown

    print(markdown(rows()))
