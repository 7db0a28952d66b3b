"""Run commands under a supervisor, from the background loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence

from llm_mock.agents import supervisor
from llm_mock.agents.environment import build_environment, resolve_command
from llm_mock.agents.servers import MCPServer, Server
from llm_mock.errors import ServerError
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import shorten_name

GRACE = 1.0
"""The seconds that a command has to end by itself, and by default again after SIGTERM."""


class Output(asyncio.Protocol):
    """Buffers at most `limit` bytes of a pipe, dropping the middle."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._head = bytearray()
        self._tail = bytearray()
        self._received = 0
        self.ended = asyncio.Event()
        """Set when no process has the other end of the pipe, or the pipe was closed here."""

    def data_received(self, data: bytes) -> None:
        """Buffer data."""
        self._received += len(data)
        head_size = self._limit // 2
        room = head_size - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        excess = len(self._tail) - (self._limit - head_size)
        del self._tail[: max(0, excess)]

    def connection_lost(self, error: Exception | None) -> None:
        """Handle the end of the pipe."""
        self.ended.set()

    def text(self) -> str:
        """Return the buffer, with a note about dropped bytes; invalid UTF-8 becomes U+FFFD."""
        buffered = self._head + self._tail
        cut = self._received - len(buffered)
        if cut:
            note = f"\n[… {cut:,} bytes cut: more than {self._limit:,} …]\n"
            buffered = self._head + note.encode() + self._tail
        return buffered.decode(errors="replace")


class SupervisedProcess:
    """A command that ends when this process ends at the latest, even if this process is killed.

    It belongs to the running event loop.

    Args:
        server: the configuration with the command.
        arguments: further arguments.
        with_input: make standard input a pipe; without it, standard input is empty.

    Raises:
        ServerError: the command cannot be started.
    """

    def __init__(
        self,
        server: Server,
        arguments: Sequence[str] = (),
        with_input: bool = False,
    ) -> None:
        if sys.platform == "win32":
            raise ServerError(
                "Server commands are not supported on Windows, because nothing would ensure that "
                "they end with the test run. Use Linux or macOS, or an MCP server at a URL."
            )
        environment = build_environment(server)
        command = [*resolve_command(server, environment), *arguments]
        if isinstance(server, MCPServer):
            stop_timeout = server.stop_timeout
        else:
            stop_timeout = GRACE
        self.ending_timeout = GRACE + stop_timeout + supervisor.KILLING + 1
        """The seconds after which the supervisor itself is killed."""
        options = map(str, (os.getpid(), GRACE, stop_timeout))
        try:
            # Isolated and without site-packages, it starts in a few milliseconds.
            self._supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", supervisor.__file__, *options, *command],
                bufsize=0,
                stdin=subprocess.PIPE if with_input else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=server.cwd,
                env=environment,
                # Neither Ctrl-C nor the end of the test process's group reaches the supervisor.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            label = shorten_name(server.label)
            raise ServerError(f"The server {label!r} cannot be started: {error}.") from None
        self._transports: JSONObject = {}
        self._outputs: list[Output] = []

    @property
    def status(self) -> int | None:
        """The exit status of the command, negative for a signal, or None while it runs."""
        return self._supervisor.poll()

    async def collect(self, stream: str, limit: int) -> Output:
        """Buffer at most `limit` bytes of `stdout` or `stderr`."""
        output = Output(limit)
        await self.collect_in(stream, output)
        return output

    async def collect_in(self, stream: str, output: Output) -> None:
        """Buffer `stdout` or `stderr` in an existing output."""
        self._outputs.append(output)
        await self._receive(stream, output)

    async def reader(self, longest_line: int) -> asyncio.StreamReader:
        """Return `stdout` as a stream."""
        stream = asyncio.StreamReader(longest_line)
        await self._receive("stdout", asyncio.StreamReaderProtocol(stream))
        return stream

    async def _receive(self, stream: str, receiver: asyncio.Protocol) -> None:
        loop = asyncio.get_running_loop()
        pipe = getattr(self._supervisor, stream)
        transport, _ = await loop.connect_read_pipe(lambda: receiver, pipe)
        self._transports[stream] = transport

    async def writer(self) -> asyncio.StreamWriter:
        """Return the standard input of the command."""
        loop = asyncio.get_running_loop()
        # This protocol notices the end of the pipe, which `wait_closed` waits for.
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        transport, _ = await loop.connect_write_pipe(lambda: protocol, self._supervisor.stdin)
        self._transports["stdin"] = transport
        # Kept, because a StreamWriter closes its pipe when it is garbage-collected.
        self._writer = asyncio.StreamWriter(transport, protocol, None, loop)
        return self._writer

    async def wait(self, seconds: float) -> int | None:
        """Wait for the command to end.

        Args:
            seconds: how long to wait.

        Returns:
            The exit status, or None if it still runs.
        """
        # Polled: a child watcher of asyncio would need the main thread or a thread of its own.
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        pause = 0.001
        while self.status is None and loop.time() < deadline:
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.02)
        return self.status

    async def end(self, at_once: bool = False) -> None:
        """End the command and its child processes, and close its pipes.

        Args:
            at_once: kill it instead of letting it exit by itself.
        """
        # Many servers end by themselves when their standard input ends.
        self._close("stdin")
        self._supervisor.send_signal(signal.SIGUSR1 if at_once else signal.SIGTERM)
        try:
            if await self.wait(self.ending_timeout) is None:
                self._wait_or_kill(0)
            for output in self._outputs:
                # A process that escaped the supervisor may have the pipe open.
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(output.ended.wait(), 1)
        except asyncio.CancelledError:
            # All tasks are cancelled at the end of the loop, also those that are ending already.
            self._supervisor.send_signal(signal.SIGUSR1)
            self._wait_or_kill(supervisor.KILLING + 1)
            raise
        finally:
            for stream in ("stdout", "stderr"):
                self._close(stream)

    def _wait_or_kill(self, seconds: float) -> None:
        """Wait for the supervisor, and kill it if it could not kill its command in time."""
        try:
            self._supervisor.wait(seconds)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()

    def _close(self, stream: str) -> None:
        """Close a pipe, dropping unsent data."""
        transport = self._transports.get(stream)
        pipe = getattr(self._supervisor, stream)
        if transport is None:
            if pipe is not None:
                pipe.close()
        elif not transport.is_closing():
            # The transport closes the pipe.
            if stream == "stdin":
                transport.abort()
            else:
                transport.close()
