"""The stdio transport of MCP over a supervised process: one JSON-RPC message per line."""

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
"""The bytes of a server's stderr that are kept: the first and the last half."""
SHOWN_OTHER_LINES = 5
MAX_OTHER_LINES = 100
"""The number of lines without a message after which a command is no longer taken for a server."""
MAX_LINE = 64 * 1024 * 1024
"""The maximum length of a line in bytes. A server that sends a longer line is stopped."""
ENDING = 0.5
"""The seconds that a server has to exit after it closed its stdout."""


class Stdio:
    """A server process and its streams.

    Args:
        server: the configuration.
        over: an event that is set when the server closes its stdout or stdin, because it is then
            exiting or no longer usable.
    """

    def __init__(self, server: MCPServer, over: asyncio.Event) -> None:
        self.process = SupervisedProcess(server, with_input=True)
        self._over = over
        self._closed = False
        self._messages = 0
        self._others = 0
        self.other_lines: list[str] = []
        """The first lines of stdout that are not messages."""
        self.is_no_server = False
        """Whether its output shows that it does not speak MCP."""
        self.own_status: int | None = None
        """The exit status if it ended by itself, else None."""
        self._errors: Output | None = None

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[tuple[Any, Any]]:
        """Provide the transport for `mcp.Client`, which does not end the process."""
        self._errors = await self.process.collect("stderr", STDERR_KEPT)
        incoming, read = anyio.create_memory_object_stream[Any](0)
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        reader = await self.process.reader(MAX_LINE)
        writer = await self.process.writer()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._receive, reader, incoming)
            tasks.start_soon(self._send, writer, outgoing)
            tasks.start_soon(self._watch_stdin, writer)
            try:
                yield read, write
            finally:
                tasks.cancel_scope.cancel()
                # anyio warns about streams that are garbage-collected while they are open.
                for stream in (incoming, read, write, outgoing):
                    stream.close()

    def stderr(self) -> str:
        """Return the beginning and the end of the server's stderr, which may contain secrets."""
        return self._errors.text() if self._errors else ""

    async def end(self, at_once: bool) -> None:
        """End the server and its child processes."""
        # A server that closed its stdout is about to exit with a status that messages show.
        try:
            self.own_status = await self.process.wait(ENDING if self._closed else 0)
        finally:
            await self.process.end(at_once)

    def _mark_closed(self) -> None:
        self._closed = True
        self._over.set()

    async def _receive(self, reader: asyncio.StreamReader, incoming: Any) -> None:
        """Pass on messages until the server closes its stdout, which ends the session."""
        async with incoming:
            # The session may close its end of the stream first.
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                # A line that is too long raises a ValueError.
                with suppress(ValueError):
                    await self._pass_on(reader, incoming)
                self._mark_closed()

    async def _pass_on(self, reader: asyncio.StreamReader, incoming: Any) -> None:
        async for line in reader:
            message = self._parse(line)
            if message is not None:
                await incoming.send(SessionMessage(message))
            elif self.is_no_server:
                return

    def _parse(self, line: bytes) -> types.JSONRPCMessage | None:
        if not line.strip():
            return None
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            # Some servers print a banner to stdout, which the protocol forbids.
            self._others += 1
            if len(self.other_lines) < SHOWN_OTHER_LINES:
                self.other_lines.append(line[:500].decode(errors="replace").rstrip())
            self.is_no_server = not self._messages and self._others >= MAX_OTHER_LINES
            return None
        self._messages += 1
        return message

    async def _send(self, writer: asyncio.StreamWriter, outgoing: Any) -> None:
        with suppress(OSError, anyio.ClosedResourceError):
            async for item in outgoing:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                writer.write(text.encode() + b"\n")
                await writer.drain()

    async def _watch_stdin(self, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            await writer.wait_closed()
        self._mark_closed()
