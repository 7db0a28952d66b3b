"""Start each server of a test run once, on one background loop, and share it among tests."""

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
from llm_mock.agents.environment import resolve_variables
from llm_mock.agents.servers import CLIServer, MCPServer, Server
from llm_mock.agents.tools import ServerTool
from llm_mock.errors import MissingExtra, ServerError
from llm_mock.support.text import shorten_name

if TYPE_CHECKING:
    from llm_mock.agents.mcp_session import MCPSession

MOST_IDLE = 4
"""The maximum number of idle servers that keep running when another server starts."""
# Loops of a parent process. Garbage collection in a forked child would close their pipes.
_left_by_fork: list[BackgroundLoop] = []


@dataclass(eq=False)
class _Slot:
    """The session of one server.

    Attributes:
        lock: lets only one test start the server.
        session: the session while the server runs.
        in_use: whether the current test uses the server.
    """

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    session: MCPSession | None = None
    in_use: bool = False

    async def end(self, if_idle: bool = False) -> str:
        """End the server if it runs, and return its stderr.

        Args:
            if_idle: do not end a server that is in use.
        """
        async with self.lock:
            if self.session is None or (if_idle and self.in_use):
                return ""
            session = self.session
            self.session = None
            await session.stop()
            return session.stderr()


class ServerPool:
    """Starts servers when their tools are first requested, and keeps them until `close`.

    Tests share a server if its configuration and the values of `${NAME}` in it are equal.
    `end_test` ends the servers with the scope `test`. When a server starts, only the `MOST_IDLE`
    idle servers that were used last keep running. The pool works from any thread and any event
    loop. A forked process starts its own servers.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: BackgroundLoop | None = None
        # In the order of the last use.
        self._slots: dict[Any, _Slot] = {}

    def tools(self, servers: Sequence[Server]) -> list[ServerTool]:
        """Return the tools of servers in order, after starting servers that are not running.

        Duplicate servers are ignored.

        Raises:
            ServerError: a server does not start, or two tools have the same name.
        """
        __tracebackhide__ = True
        loop = self._loop_for(servers)
        return loop.run(self._tools(servers, loop))

    async def tools_async(self, servers: Sequence[Server]) -> list[ServerTool]:
        """Return the tools like `tools`, without blocking the event loop of the caller."""
        __tracebackhide__ = True
        loop = self._loop_for(servers)
        return await loop.run_async(self._tools(servers, loop))

    def stop(self, server: MCPServer) -> str:
        """End a server and its child processes if it is running.

        Calls to its tools fail from then on. Requesting its tools again restarts it.

        Returns:
            The beginning and the end of its stderr, without secrets; empty if it was not running.
        """
        if self._loop is None:
            return ""
        with suppress(LoopClosed):
            return self._loop.run(self._stop(server))
        return ""

    def end_test(self) -> None:
        """End the servers of the scope `test` after a test."""
        with suppress(LoopClosed):
            if self._loop is not None and self._loop.usable:
                self._loop.run(self._end_test())

    def close(self) -> None:
        """End all servers and their child processes. The pool may be used again."""
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
                self._loop = BackgroundLoop()
                self._slots = {}
                atexit.register(self.close)
            return self._loop

    async def _stop(self, server: MCPServer) -> str:
        # One configuration may run several times, with different values of its variables.
        slots = [
            slot for (configuration, *_), slot in self._slots.items() if configuration == server
        ]
        return "".join([await slot.end() for slot in slots])

    async def _end_test(self) -> None:
        ending = []
        for (server, *_), slot in self._slots.items():
            slot.in_use = False
            if server.scope == "test":
                ending.append(slot)
        await asyncio.gather(*(slot.end() for slot in ending))

    async def _end_idle(self) -> None:
        idle = []
        for slot in self._slots.values():
            if slot.session is not None and not slot.in_use:
                idle.append(slot)
        # The first ones were used longest ago.
        endings = [slot.end(if_idle=True) for slot in idle[:-MOST_IDLE]]
        await asyncio.gather(*endings)

    async def _stop_all(self) -> None:
        stops = []
        for slot in self._slots.values():
            if slot.session is not None:
                stops.append(slot.session.stop())
        await asyncio.gather(*stops)

    async def _tools(self, servers: Sequence[Server], loop: BackgroundLoop) -> list[ServerTool]:
        different = list(dict.fromkeys(servers))

        async def list_tools(server: Server) -> list[ServerTool] | ServerError:
            try:
                return await self._list_tools(server, loop)
            except ServerError as error:
                return error

        # All servers are started, so that one message names all that fail to start.
        results = await asyncio.gather(*map(list_tools, different))
        tools: list[ServerTool] = []
        failures: list[ServerError] = []
        for result in results:
            if isinstance(result, ServerError):
                failures.append(result)
            else:
                tools += result
        if failures:
            raise ServerError("\n\n".join(map(str, failures)))
        _check_names(tools)
        return tools

    async def _list_tools(self, server: Server, loop: BackgroundLoop) -> list[ServerTool]:
        if isinstance(server, CLIServer):
            return [command_line.new_command_tool(server, loop)]
        session, offered = await self._open(server)
        tools = []
        for tool in _filter_tools(server, offered):
            call = partial(session.call, tool.name)
            description = tool.description or ""
            tools.append(ServerTool(tool.name, description, tool.input_schema, server, call, loop))
        return tools

    async def _open(self, server: MCPServer) -> tuple[MCPSession, list[Any]]:
        """Return the running session of a server and its tools.

        A session that fails to list its tools is replaced once.
        """
        from llm_mock.agents.mcp_session import MCPSession

        slot = self._take_slot(server)
        # The other servers of the agent are marked as in use before this one ends idle ones.
        await asyncio.sleep(0)
        async with slot.lock:
            if slot.session is not None:
                if slot.session.alive:
                    with suppress(ServerError):
                        return slot.session, await slot.session.tools()
                await slot.session.stop(at_once=True)
            await self._end_idle()
            session = MCPSession(server)
            slot.session = session
            await session.wait_until_open()
            try:
                return session, await session.tools()
            except ServerError:
                await session.stop(at_once=True)
                raise

    def _take_slot(self, server: MCPServer) -> _Slot:
        values = []
        for field_name in ("env", "headers"):
            values.append(tuple(sorted(resolve_variables(server, field_name).items())))
        key = (server, *values)
        slot = self._slots.pop(key, None) or _Slot()
        self._slots[key] = slot
        slot.in_use = True
        return slot


def _import_mcp() -> None:
    """Import the MCP SDK in the calling thread, so that it does not block the shared loop."""
    __tracebackhide__ = True
    try:
        import llm_mock.agents.mcp_session  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            "MCP servers need the MCP SDK (mcp 2), which is not installed. "
            "Run: pip install 'pytest-llm-mock[agents]'"
        ) from error


def _filter_tools(server: MCPServer, offered: Sequence[Any]) -> list[Any]:
    if server.tools is None:
        return list(offered)
    names = [tool.name for tool in offered]
    kept = set()
    for pattern in server.tools:
        matches = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
        if not matches:
            label = shorten_name(server.label)
            raise ServerError(
                f"No tool of the server {label!r} matches {pattern!r} (tools). "
                f"Its tools: {', '.join(names) or 'none'}."
            )
        kept.update(matches)
    return [tool for tool in offered if tool.name in kept]


def _check_names(tools: Sequence[ServerTool]) -> None:
    owners: dict[str, ServerTool] = {}
    for tool in tools:
        owner = owners.setdefault(tool.name, tool)
        if owner is not tool:
            raise ServerError(_describe_same_name(tool.name, owner.server, tool.server))


def _describe_same_name(name: str, first: Server, second: Server) -> str:
    label = shorten_name(first.label)
    other_label = shorten_name(second.label)
    if first == second:
        return (
            f"The server {label!r} lists two tools named {name!r}. "
            "The names of tools must be unique."
        )
    message = (
        f"Two servers have a tool {name!r}: {label!r} and {other_label!r}. "
        "The names of tools must be unique. Exclude one tool with tools=[…] (MCPServer), "
        "or change a tool_prefix (CLIServer)."
    )
    if first.label == second.label:
        message += " To distinguish servers with the same command in messages, set name=…."
    return message


_of_process = ServerPool()


def get_server_pool() -> ServerPool:
    """Return the pool of this process. Its servers end with the process, or with `close`."""
    return _of_process
