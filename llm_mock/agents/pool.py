"""The servers of a test run: each started once, on one background event loop, and shared by all tests."""

from __future__ import annotations

import asyncio
import atexit
import fnmatch
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from llm_mock.agents import command_line
from llm_mock.agents.background import BackgroundLoop, LoopClosed
from llm_mock.agents.environment import resolved
from llm_mock.agents.servers import CLIServer, MCPServer, Server
from llm_mock.agents.tools import ServerTool
from llm_mock.errors import MissingExtra, ServerError
from llm_mock.support.text import shorten_name

if TYPE_CHECKING:
    from llm_mock.agents.mcp_session import MCPSession

MOST_IDLE = 4
"""How many servers are kept that the current test did not ask for, once it starts another."""
_left_by_fork: list[BackgroundLoop] = []  # loops of a parent process, which a child must not even collect


@dataclass(eq=False)
class _Place:
    """Where the session of one server is kept; the lock lets only one test start it."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    session: MCPSession | None = None
    in_use: bool = False
    """Whether the current test asked for its tools."""

    async def end(self, if_idle: bool = False) -> str:
        """End the server, if it runs; with `if_idle` not where it is in use by now. Returns what it wrote to stderr."""
        async with self.lock:
            if self.session is None or (if_idle and self.in_use):
                return ""
            session, self.session = self.session, None
            await session.stop()
            return session.stderr()


class ServerPool:
    """Starts servers when their tools are first asked for, and keeps them until `close`.

    A server is known by its configuration, and by the values that `${NAME}` has in it: two tests with equal ones share
    it. Where tests end (`end_test`), those of the scope `test` end with them, and of those that the current test did
    not ask for the last `MOST_IDLE` are kept. May be used from any thread and any event loop. A process that was forked
    off starts servers of its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: BackgroundLoop | None = None
        self._places: dict[Any, _Place] = {}  # the one that was asked for last stands last

    def tools(self, servers: Sequence[Server]) -> list[ServerTool]:
        """The tools of these servers, in their order; starts, all at once, those that do not run (any more).

        The same server twice counts once. A ServerError says which do not start, or which have a tool of one name.
        """
        __tracebackhide__ = True
        loop = self._loop_for(servers)
        return loop.run(self._tools(servers, loop))

    async def tools_async(self, servers: Sequence[Server]) -> list[ServerTool]:
        """Like `tools`, without blocking the event loop that awaits it."""
        __tracebackhide__ = True
        loop = self._loop_for(servers)
        return await loop.run_async(self._tools(servers, loop))

    def stop(self, server: MCPServer) -> str:
        """End one server and all that it started, if it runs. Its tools say so; asked for again, it is started anew.

        Returns what it wrote to stderr, its first and its last part, without secrets; empty where it did not run.
        """
        with suppress(LoopClosed):
            return self._loop.run(self._stop(server)) if self._loop else ""
        return ""

    def end_test(self) -> None:
        """A test is over: end its servers of the scope `test`."""
        with suppress(LoopClosed):
            if self._loop is not None and self._loop.usable:
                self._loop.run(self._end_test())

    def close(self) -> None:
        """End every server and all that they started. The pool may be used again."""
        with self._lock:
            if self._loop is not None and self._loop.usable:
                self._loop.close(self._stop_all)
                self._loop = None
                atexit.unregister(self.close)

    def _loop_for(self, servers: Sequence[Server]) -> BackgroundLoop:
        __tracebackhide__ = True
        if any(isinstance(server, MCPServer) for server in servers):
            _import_mcp()
        with self._lock:
            if self._loop is None or not self._loop.usable:
                if self._loop is not None:
                    _left_by_fork.append(self._loop)
                self._loop, self._places = BackgroundLoop(), {}
                atexit.register(self.close)
            return self._loop

    async def _stop(self, server: MCPServer) -> str:
        places = [place for (configuration, *_), place in self._places.items() if configuration == server]
        return "".join([await place.end() for place in places])

    async def _end_test(self) -> None:
        for place in self._places.values():
            place.in_use = False
        over = [place for (server, *_), place in self._places.items() if server.scope == "test"]
        await asyncio.gather(*(place.end() for place in over))

    async def _end_idle(self) -> None:
        idle = [place for place in self._places.values() if place.session is not None and not place.in_use]
        await asyncio.gather(*(place.end(if_idle=True) for place in idle[:-MOST_IDLE]))

    async def _stop_all(self) -> None:
        sessions = [place.session for place in self._places.values() if place.session is not None]
        await asyncio.gather(*(session.stop() for session in sessions))

    async def _tools(self, servers: Sequence[Server], loop: BackgroundLoop) -> list[ServerTool]:
        offered = [self._offered(server, loop) for server in dict.fromkeys(servers)]
        results = await asyncio.gather(*offered, return_exceptions=True)
        if failures := [result for result in results if isinstance(result, BaseException)]:
            other = next((failure for failure in failures if not isinstance(failure, ServerError)), None)
            raise other or ServerError("\n\n".join(map(str, failures)))
        tools = [tool for result in results if isinstance(result, list) for tool in result]
        _check_names(tools)
        return tools

    async def _offered(self, server: Server, loop: BackgroundLoop) -> list[ServerTool]:
        if isinstance(server, CLIServer):
            return [command_line.tool_of(server, loop)]
        session, offered = await self._session(server)
        offered, call = _filtered(server, offered), session.call
        return [
            ServerTool(tool.name, tool.description or "", tool.input_schema, server, partial(call, tool.name), loop)
            for tool in offered
        ]

    async def _session(self, server: MCPServer) -> tuple[MCPSession, list[Any]]:
        """The running session of a server, and its tools. One that fails to tell them is started anew, once."""
        from llm_mock.agents.mcp_session import MCPSession

        given = (tuple(sorted(resolved(server, field).items())) for field in ("env", "headers"))
        known = (server, *given)
        place = self._places[known] = self._places.pop(known) if known in self._places else _Place()
        place.in_use = True
        await asyncio.sleep(0)  # so that the other servers of the agent are known to be in use, too
        async with place.lock:
            if place.session is not None:
                if place.session.alive:
                    with suppress(ServerError):
                        return place.session, await place.session.tools()
                await place.session.stop(at_once=True)
            await self._end_idle()
            session = place.session = MCPSession(server)
            await session.opened()
            try:
                return session, await session.tools()
            except ServerError:
                await session.stop(at_once=True)
                raise


def _import_mcp() -> None:
    """Import what an MCP server needs here, in the thread that asks, and not in the loop that all share."""
    __tracebackhide__ = True
    try:
        import llm_mock.agents.mcp_session  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            "MCP servers need the MCP SDK (mcp 2), which is not installed. Run: pip install 'pytest-llm-mock[agents]'"
        ) from error


def _filtered(server: MCPServer, offered: Sequence[Any]) -> list[Any]:
    if server.tools is None:
        return list(offered)
    for pattern in server.tools:
        if not any(fnmatch.fnmatchcase(tool.name, pattern) for tool in offered):
            has = ", ".join(tool.name for tool in offered) or "none"
            label = shorten_name(server.label)
            raise ServerError(f"The server {label!r} has no tool that fits {pattern!r} (tools). It has {has}.")
    return [tool for tool in offered if any(fnmatch.fnmatchcase(tool.name, pattern) for pattern in server.tools)]


def _check_names(tools: Sequence[ServerTool]) -> None:
    owners: dict[str, ServerTool] = {}
    for tool in tools:
        if owners.setdefault(tool.name, tool) is not tool:
            raise ServerError(_two_tools(tool.name, owners[tool.name].server, tool.server))


def _two_tools(name: str, first: Server, second: Server) -> str:
    labels = [shorten_name(server.label) for server in (first, second)]
    if first == second:
        return f"The server {labels[0]!r} tells two tools named {name!r}. The model could not say which it means."
    hint = " Two servers with one command are told apart by name=…." if first.label == second.label else ""
    return (
        f"Two servers have a tool {name!r}: {labels[0]!r} and {labels[1]!r}. The model could not say which it means. "
        f"Leave one out with tools=[…] (MCPServer), or change a tool_prefix (CLIServer).{hint}"
    )


_of_process = ServerPool()


def pool_of_process() -> ServerPool:
    """The pool of this process: its servers are ended at the end of the process, or when it is closed."""
    return _of_process
