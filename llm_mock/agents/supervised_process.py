"""A command that a supervisor started, as the background loop sees it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import IO, Any, cast

from llm_mock.agents import supervisor
from llm_mock.agents.environment import command_of, environment_of
from llm_mock.agents.pipes import Input, Output
from llm_mock.agents.servers import MCPServer, Server
from llm_mock.errors import ServerError
from llm_mock.support.text import shorten_name

GRACE = 1.0
"""Seconds that a command has to end by itself, and again after SIGTERM unless a server says otherwise."""


class SupervisedProcess:
    """A command that ends with this process at the latest, even if that is killed. Belongs to the running event loop.

    Args:
        server: what to run, in which folder and environment.
        arguments: further words of the command.
        with_input: whether its standard input is a pipe; otherwise it is empty.

    Raises:
        ServerError: it cannot be started.
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
        reading, self._control = os.pipe()
        options = (reading, os.getpid(), GRACE, stop_timeout)
        try:
            self._supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", supervisor.__file__, *map(str, options), *command],
                bufsize=0,
                stdin=subprocess.PIPE if with_input else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=server.cwd,
                env=environment,
                pass_fds=(reading,),
                start_new_session=True,  # neither Ctrl-C nor the end of the test process's group reaches the supervisor
            )
        except (OSError, ValueError) as error:
            os.close(self._control)
            raise ServerError(f"The server {shorten_name(server.label)!r} cannot be started: {error}.") from None
        finally:
            os.close(reading)
        self._transports: dict[str, Any] = {}
        self._outputs: list[Output] = []
        self._told_to_end = False

    @property
    def status(self) -> int | None:
        """The exit status of the command, negative for a signal; None while it runs."""
        return self._supervisor.poll()

    async def receive(self, stream: str, receiver: asyncio.Protocol) -> None:
        """Hand what comes from `stdout` or `stderr` to a protocol."""
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: receiver, getattr(self._supervisor, stream))
        self._transports[stream] = transport

    async def collect(self, stream: str, limit: int) -> Output:
        """Keep at most `limit` bytes of what comes from `stdout` or `stderr`."""
        output = Output(limit)
        self._outputs.append(output)
        await self.receive(stream, output)
        return output

    async def reader(self) -> asyncio.StreamReader:
        """What comes from `stdout`, as a stream."""
        stream = asyncio.StreamReader()
        await self.receive("stdout", asyncio.StreamReaderProtocol(stream))
        return stream

    async def input(self) -> Input:
        """The standard input of the command."""
        loop = asyncio.get_running_loop()
        self._transports["stdin"], protocol = await loop.connect_write_pipe(
            Input, cast("IO[bytes]", self._supervisor.stdin)
        )
        return protocol

    async def wait(self, seconds: float) -> int | None:
        """Wait for the command to end.

        Returns:
            Its exit status; None where it still runs after so many seconds.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        pause = 0.001
        while self.status is None and loop.time() < deadline:
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.02)
        return self.status

    async def end(self, at_once: bool = False) -> None:
        """End the command and all that it started, and close its pipes.

        Args:
            at_once: do not let it end by itself, but kill it.
        """
        self._tell_to_end(at_once)
        if await self.wait(self.ending_timeout) is None:  # what it supervises cannot be killed either
            self._supervisor.kill()
            self._supervisor.wait()
        for output in self._outputs:
            with contextlib.suppress(asyncio.TimeoutError):  # a process that left the supervisor has it open
                await asyncio.wait_for(output.ended.wait(), 1)
        for stream in ("stdout", "stderr"):
            self._close(stream)

    def _tell_to_end(self, at_once: bool) -> None:
        """Tell the supervisor to end the command, and close its standard input, without waiting."""
        if self._told_to_end:
            return
        self._told_to_end = True
        self._close("stdin")
        if at_once:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._control, b"k")
        os.close(self._control)

    def _close(self, stream: str) -> None:
        """Close a pipe, with what was not sent; a transport closes its pipe itself."""
        transport, pipe = self._transports.get(stream), getattr(self._supervisor, stream)
        if transport is None and pipe is not None:
            pipe.close()
        elif transport is not None and not transport.is_closing():
            transport.abort() if stream == "stdin" else transport.close()
