"""The stdio transport of MCP over a supervised process: a JSON-RPC message a line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from llm_mock.agents.pipes import Input
from llm_mock.agents.supervised_process import SupervisedProcess

STDERR_KEPT = 32_000
"""How many bytes of a server's stderr are kept: the first and the last half."""
SHOWN_OTHER_LINES = 5
MOST_OTHER_LINES = 100
"""After so many lines that are no messages, with no message among them, what is started is no MCP server."""
LONGEST_LINE = 64 * 1024 * 1024
"""Bytes; a server that writes more without a line break is ended."""


class Stdio:
    """The streams of one server process.

    Args:
        process: the server, started with a pipe for its standard input.
    """

    def __init__(self, process: SupervisedProcess) -> None:
        self._process = process
        self._messages = 0
        self._others = 0
        self.other_lines: list[str] = []
        """The first lines that were no messages."""
        self.is_no_server = False
        """Whether what it wrote shows that it does not speak MCP."""
        self.ended = asyncio.Event()
        """Set when the server has closed its stdout or its stdin: it is ending, or can be talked to no more."""

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[tuple[Any, Any]]:
        """The transport, as `mcp.Client` takes it. The process is not ended with it."""
        incoming, read = anyio.create_memory_object_stream[Any](0)
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        reader, sink = await self._process.reader(), await self._process.input()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._receive, reader, incoming)
            tasks.start_soon(self._send, sink, outgoing)
            tasks.start_soon(self._notice_closed_stdin, sink)
            try:
                yield read, write
            finally:
                tasks.cancel_scope.cancel()
                for stream in (incoming, read, write, outgoing):
                    stream.close()

    async def _receive(self, reader: asyncio.StreamReader, incoming: Any) -> None:
        """Parse what the server writes; ends at its end, which ends the session."""
        async with incoming:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the session is closing
                async for line in self._lines(reader):
                    if (message := self._parse(line)) is not None:
                        await incoming.send(SessionMessage(message))
                self.ended.set()

    async def _lines(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        parts: list[bytes] = []
        length = 0
        while (chunk := await reader.read(65536)) and length <= LONGEST_LINE and not self.is_no_server:
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                yield b"".join([*parts, line])
                parts.clear()
                length = 0
            parts.append(rest)
            length += len(rest)

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

    async def _send(self, sink: Input, outgoing: Any) -> None:
        """Write what the session says."""
        with suppress(OSError, anyio.ClosedResourceError):
            async for each in outgoing:
                await sink.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    async def _notice_closed_stdin(self, sink: Input) -> None:
        await sink.lost.wait()
        self.ended.set()
