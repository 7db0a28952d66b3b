"""The stdio transport of MCP over a supervised process: a JSON-RPC message a line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from llm_mock.agents.servers import MCPServer
from llm_mock.agents.supervised_process import Output, SupervisedProcess

STDERR_KEPT = 32_000
"""How many bytes of a server's stderr are kept: the first and the last half."""
SHOWN_OTHER_LINES = 5
MOST_OTHER_LINES = 100
"""After so many lines that are no messages, with no message among them, what is started is no MCP server."""
LONGEST_LINE = 64 * 1024 * 1024
"""Bytes; a server that writes more without a line break is ended."""
ENDING = 0.5
"""Seconds that a server which has closed its stdout has until it counts as one that does not end by itself."""


class Stdio:
    """One server process and its streams.

    It sets `over` when it has closed its stdout or its stdin: it is ending, or can be talked to no more.
    """

    def __init__(self, server: MCPServer, over: asyncio.Event) -> None:
        self.process = SupervisedProcess(server, with_input=True)
        self._over = over
        self._closed = False
        self._messages = 0
        self._others = 0
        self.other_lines: list[str] = []
        """The first lines that were no messages."""
        self.is_no_server = False
        """Whether what it wrote shows that it does not speak MCP."""
        self.own_status: int | None = None
        """The exit status with which it ended by itself; None where it was ended."""
        self._errors: Output | None = None

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[tuple[Any, Any]]:
        """The transport, as `mcp.Client` takes it. The process is not ended with it."""
        self._errors = await self.process.collect("stderr", STDERR_KEPT)
        incoming, read = anyio.create_memory_object_stream[Any](0)
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        reader, writer = await self.process.reader(LONGEST_LINE), await self.process.writer()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._receive, reader, incoming)
            tasks.start_soon(self._send, writer, outgoing)
            tasks.start_soon(self._notice_closed_stdin, writer)
            try:
                yield read, write
            finally:
                tasks.cancel_scope.cancel()
                for stream in (incoming, read, write, outgoing):
                    stream.close()

    def stderr(self) -> str:
        """The first and the last of what the server wrote to stderr; secrets may be in it."""
        return self._errors.text() if self._errors else ""

    async def end(self, at_once: bool) -> None:
        """End the server and all that it started."""
        self.own_status = await self.process.wait(ENDING if self._closed else 0)
        await self.process.end(at_once)

    def _has_closed(self) -> None:
        self._closed = True
        self._over.set()

    async def _receive(self, reader: asyncio.StreamReader, incoming: Any) -> None:
        """Parse what the server writes; ends at its end, which ends the session."""
        async with incoming:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the session is closing
                with suppress(ValueError):  # a line is too long
                    async for line in reader:
                        if (message := self._parse(line)) is not None:
                            await incoming.send(SessionMessage(message))
                        elif self.is_no_server:
                            break
                self._has_closed()

    def _parse(self, line: bytes) -> types.JSONRPCMessage | None:
        if not line.strip():
            return None
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._others += 1
            if len(self.other_lines) < SHOWN_OTHER_LINES:
                self.other_lines.append(line[:500].decode(errors="replace").rstrip())
            self.is_no_server = not self._messages and self._others >= MOST_OTHER_LINES
            return None
        self._messages += 1
        return message

    async def _send(self, writer: asyncio.StreamWriter, outgoing: Any) -> None:
        """Write what the session says."""
        with suppress(OSError, anyio.ClosedResourceError):
            async for each in outgoing:
                writer.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await writer.drain()

    async def _notice_closed_stdin(self, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            await writer.wait_closed()
        self._has_closed()
