"""A command that a supervisor started, as the background loop sees it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from llm_mock.agents import supervisor
from llm_mock.agents.environment import command_of, environment_of
from llm_mock.agents.servers import MCPServer, Server
from llm_mock.errors import ServerError
from llm_mock.support.text import shorten_name

GRACE = 1.0
"""Seconds that a command has to end by itself, and again after SIGTERM unless a server says otherwise."""


class Output(asyncio.Protocol):
    """Receives the bytes of a pipe, and keeps `limit` of them: of more, the first half and the last half."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._head = bytearray()
        self._tail = bytearray()
        self._received = 0
        self.ended = asyncio.Event()
        """Set when no process has the other end of the pipe any more, or the pipe was closed here."""

    def data_received(self, data: bytes) -> None:
        """Keep what is to be kept."""
        self._received += len(data)
        room = self._limit // 2 - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        del self._tail[: max(0, len(self._tail) - (self._limit - self._limit // 2))]

    def connection_lost(self, error: Exception | None) -> None:
        """The pipe has ended."""
        self.ended.set()

    def text(self) -> str:
        """What was kept, as UTF-8, with U+FFFD where it is not; says how many bytes were cut in the middle."""
        cut = self._received - len(self._head) - len(self._tail)
        note = f"\n[… {cut:,} bytes cut: more than {self._limit:,} …]\n" if cut else ""
        return (self._head + note.encode() + self._tail).decode(errors="replace")


class SupervisedProcess:
    """A command that ends with this process at the latest, even if that is killed. Belongs to the running event loop.

    Its standard input is a pipe if `with_input`, and empty otherwise. A ServerError says why it cannot be started.
    """

    def __init__(self, server: Server, arguments: Sequence[str] = (), with_input: bool = False) -> None:
        if sys.platform == "win32":
            raise ServerError(
                "Commands of servers need Linux or macOS: elsewhere nothing ensures that they end with the test run. "
                "An MCP server at a URL works everywhere."
            )
        environment = environment_of(server)
        command = [*command_of(server, environment), *arguments]
        stop_timeout = server.stop_timeout if isinstance(server, MCPServer) else GRACE
        self.ending_timeout = GRACE + stop_timeout + supervisor.KILLING + 1
        """Seconds after which the supervisor itself is given up."""
        options = map(str, (os.getpid(), GRACE, stop_timeout))
        try:
            self._supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", supervisor.__file__, *options, *command],
                bufsize=0,
                stdin=subprocess.PIPE if with_input else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=server.cwd,
                env=environment,
                start_new_session=True,  # neither Ctrl-C nor the end of the test process's group reaches the supervisor
            )
        except (OSError, ValueError) as error:
            raise ServerError(f"The server {shorten_name(server.label)!r} cannot be started: {error}.") from None
        self._transports: dict[str, Any] = {}
        self._outputs: list[Output] = []

    @property
    def status(self) -> int | None:
        """The exit status of the command, negative for a signal; None while it runs."""
        return self._supervisor.poll()

    async def collect(self, stream: str, limit: int) -> Output:
        """Keep at most `limit` bytes of what comes from `stdout` or `stderr`."""
        output = Output(limit)
        await self.collect_in(stream, output)
        return output

    async def collect_in(self, stream: str, output: Output) -> None:
        """Have an output receive what comes from `stdout` or `stderr`."""
        self._outputs.append(output)
        await self._receive(stream, output)

    async def reader(self, longest_line: int) -> asyncio.StreamReader:
        """What comes from `stdout`, as a stream."""
        stream = asyncio.StreamReader(longest_line)
        await self._receive("stdout", asyncio.StreamReaderProtocol(stream))
        return stream

    async def _receive(self, stream: str, receiver: asyncio.Protocol) -> None:
        loop, pipe = asyncio.get_running_loop(), getattr(self._supervisor, stream)
        self._transports[stream], _ = await loop.connect_read_pipe(lambda: receiver, pipe)

    async def writer(self) -> asyncio.StreamWriter:
        """The standard input of the command."""
        loop, pipe = asyncio.get_running_loop(), self._supervisor.stdin
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())  # it is what notices the end of the pipe
        self._transports["stdin"], _ = await loop.connect_write_pipe(lambda: protocol, pipe)
        self._writer = asyncio.StreamWriter(self._transports["stdin"], protocol, None, loop)  # one that is lost closes
        return self._writer

    async def wait(self, seconds: float) -> int | None:
        """Wait for the command to end. Returns its exit status; None where it still runs after so many seconds."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        pause = 0.001
        while self.status is None and loop.time() < deadline:
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.02)
        return self.status

    async def end(self, at_once: bool = False) -> None:
        """End the command and all that it started, and close its pipes; `at_once` does not let it end by itself."""
        self._close("stdin")
        self._supervisor.send_signal(signal.SIGUSR1 if at_once else signal.SIGTERM)
        if await self.wait(self.ending_timeout) is None:  # what it supervises cannot be killed either
            self._supervisor.kill()
            self._supervisor.wait()
        for output in self._outputs:
            with contextlib.suppress(asyncio.TimeoutError):  # a process that left the supervisor has it open
                await asyncio.wait_for(output.ended.wait(), 1)
        for stream in ("stdout", "stderr"):
            self._close(stream)

    def _close(self, stream: str) -> None:
        """Close a pipe, with what was not sent; a transport closes its pipe itself."""
        transport, pipe = self._transports.get(stream), getattr(self._supervisor, stream)
        if transport is None and pipe is not None:
            pipe.close()
        elif transport is not None and not transport.is_closing():
            transport.abort() if stream == "stdin" else transport.close()
