"""A connection to one MCP server, from its start to its end. Imports `mcp`, so it is imported when a server is used."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from llm_mock.agents.environment import resolved, secrets_of
from llm_mock.agents.mcp_answers import answer_of
from llm_mock.agents.mcp_stdio import STDERR_KEPT, Stdio
from llm_mock.agents.pipes import Output
from llm_mock.agents.servers import MCPServer
from llm_mock.agents.supervised_process import SupervisedProcess
from llm_mock.agents.tools import ToolAnswer
from llm_mock.errors import ServerError
from llm_mock.support.redaction import default_redactor
from llm_mock.support.text import exit_status, shorten, shorten_name

MOST_PAGES = 100
"""After so many pages of tools, a server is taken to have no last one."""
PROBE_TIMEOUT = 5.0
"""Seconds that a server which left a call unanswered has to show that it still lives."""
CLOSING = 2.0
"""Seconds that the protocol may take to close a session."""
ENDING = 0.5
"""Seconds that a server which has closed its stdout has until it counts as one that does not end by itself."""
ENDING_AT_URL = 8.0
"""Seconds that a session with a server at a URL may take to end."""
CONNECT_TIMEOUT = 30.0
"""Seconds for connecting to a URL and for sending; how long an answer may take is up to each call."""
SHOWN_LINES = 20
"""How many of the last lines of its stderr a message shows."""
SHOWN_LINE = 300


class MCPSession:
    """One server that is started, or connected to, once. All its methods belong to the background loop.

    The session is opened and closed by one task, as `mcp` wants it; calls come from others.

    Args:
        server: what to start or connect to.

    Raises:
        ServerError: a variable that the configuration refers to is not set.
    """

    def __init__(self, server: MCPServer) -> None:
        self.server = server
        self._named = f"MCP server {shorten_name(server.label)!r}"
        self._redactor = default_redactor(secrets_of(server))
        self._stop = asyncio.Event()
        self._opened = asyncio.Event()
        self._client: Client | None = None
        self._process: SupervisedProcess | None = None
        self._stdio: Stdio | None = None
        self._errors: Output | None = None
        self._lost = False
        self._at_once = False
        self._unanswered = False
        self._ended_itself = False
        self._task: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        """Whether calls have a chance: it was started, and neither died nor was stopped."""
        if self._task is None or self._task.done() or self._client is None or self._lost or self._stop.is_set():
            return False
        exited = self._process is not None and self._process.status is not None
        return not exited and (self._stdio is None or not self._stdio.ended.is_set())

    async def start(self) -> None:
        """Start the server, or connect to it.

        Raises:
            ServerError: that fails, or takes too long; nothing of it is left running.
        """
        self._task = asyncio.create_task(self._serve())
        opened = asyncio.create_task(self._opened.wait())
        failure: ServerError | None = None
        try:
            await asyncio.wait({self._task, opened}, timeout=self.server.start_timeout, return_when="FIRST_COMPLETED")
        finally:
            opened.cancel()
            if not self._opened.is_set():
                failure = await self._abandon()
        if failure is not None:
            raise failure

    async def _serve(self) -> None:
        # What a server may ask of its client (sampling, elicitation) is refused by the library's defaults.
        async with self._connection() as transport, Client(transport) as client:
            self._client = client
            self._opened.set()
            await self._until_the_end()

    async def _until_the_end(self) -> None:
        waiting = [asyncio.create_task(self._stop.wait())]
        if self._stdio is not None:
            waiting.append(asyncio.create_task(self._stdio.ended.wait()))
        try:
            await asyncio.wait(waiting, return_when="FIRST_COMPLETED")
        finally:
            for task in waiting:
                task.cancel()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        if self.server.url is not None:
            timeout = httpx2.Timeout(CONNECT_TIMEOUT, read=None)
            async with httpx2.AsyncClient(headers=resolved(self.server, "headers"), timeout=timeout) as client:
                yield streamable_http_client(self.server.url, http_client=client)
            return
        self._process = SupervisedProcess(self.server, with_input=True)
        try:
            self._errors = await self._process.collect("stderr", STDERR_KEPT)
            self._stdio = Stdio(self._process)
            yield self._stdio.transport()
        finally:
            closed_stdout = self._stdio is not None and self._stdio.ended.is_set()
            self._ended_itself = await self._process.wait(ENDING if closed_stdout else 0) is not None
            await self._process.end(at_once=self._at_once or not self._opened.is_set())

    async def _abandon(self) -> ServerError:
        """End what did not start, and say why it did not."""
        assert self._task is not None
        timed_out = not self._task.done()
        self._task.cancel()
        await asyncio.wait({self._task})
        error = None if self._task.cancelled() else self._task.exception()
        return self._start_failure(_innermost(error), timed_out)

    def _start_failure(self, error: BaseException | None, timed_out: bool) -> ServerError:
        if isinstance(error, ServerError):
            return error
        if self.server.url is not None:
            url = self._redactor.clean(self.server.url)
            at = f" at {url}" if self.server.label != url else ""
            waited = f"did not answer within {self.server.start_timeout:g} seconds (start_timeout)."
            why = waited if timed_out or error is None else f"cannot be used: {_said(error)}."
            return ServerError(f"The {self._named}{at} {why}")
        if self._stdio is not None and self._stdio.is_no_server:
            return ServerError(f"{shorten_name(self.server.label)!r} is no MCP server; it was ended.{self._written()}")
        if self._ended_itself and self._process is not None and self._process.status is not None:
            return self._exited(self._process.status)
        if timed_out or error is None:
            return self._too_slow(self.server.start_timeout)
        return self._refused(error)

    def _exited(self, status: int) -> ServerError:
        return ServerError(f"The {self._named} ended when it was started, {exit_status(status)}.{self._written()}")

    def _too_slow(self, seconds: float) -> ServerError:
        waited = f"did not start within {seconds:g} seconds (start_timeout); it was ended."
        return ServerError(f"The {self._named} {waited}{self._written()}")

    def _refused(self, error: BaseException) -> ServerError:
        return ServerError(f"The {self._named} refused to start: {_said(error)}.{_last_lines(self.stderr())}")

    def _written(self) -> str:
        """What it wrote while it started, for the end of a message."""
        other = [self._redactor.clean(line) for line in self._stdio.other_lines] if self._stdio else []
        stderr = self.stderr()
        if not other:
            return _last_lines(stderr)
        shown = "".join(f"\n  {shorten(line)}" for line in other)
        return f"\nIt wrote to stdout what is no message of MCP:{shown}{_last_lines(stderr) if stderr.strip() else ''}"

    def stderr(self) -> str:
        """The first and the last of what the server wrote to stderr, without secrets."""
        text: str = self._redactor.clean(self._errors.text()) if self._errors else ""
        return text

    async def stop(self, at_once: bool = False) -> None:
        """Close the session, and end the server and all that it started. May be called more than once.

        Args:
            at_once: do not let the server end by itself, but kill it.
        """
        self._at_once = self._at_once or at_once
        self._stop.set()
        if self._task is not None:
            ending = self._process.ending_timeout if self._process else ENDING_AT_URL
            await asyncio.wait({self._task}, timeout=ending + CLOSING)
            self._task.cancel()  # a server at a URL that does not answer when the session is closed
            await asyncio.wait({self._task})
            if not self._task.cancelled():
                self._task.exception()  # a server that ends badly has ended all the same

    async def tools(self) -> list[types.Tool]:
        """What the server offers now, all pages of it.

        Raises:
            ServerError: it does not tell, or not within `start_timeout`.
        """
        seconds = min(self.server.start_timeout, PROBE_TIMEOUT if self._unanswered else self.server.start_timeout)
        try:
            with anyio.fail_after(seconds):
                found = await self._all_tools()
                self._unanswered = False
                return found
        except TimeoutError:
            raise self._too_slow(seconds) from None
        except ServerError:
            raise
        except Exception as error:
            if not self.alive:
                await self.stop()
            status = self._process.status if self._process else None
            raise (self._refused(error) if status is None else self._exited(status)) from None

    async def _all_tools(self) -> list[types.Tool]:
        assert self._client is not None
        found: list[types.Tool] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await self._client.list_tools(cursor=cursor, cache_mode="refresh")
            found += page.tools
            cursor = page.next_cursor
            if cursor is None:
                return found
        raise ServerError(f"The {self._named} told {MOST_PAGES} pages of tools, and has still more: it will not end.")

    async def call(self, tool: str, arguments: dict[str, Any], timeout: float | None = None) -> ToolAnswer:
        """Call a tool.

        Args:
            tool: its name.
            arguments: a JSON object that its schema allows.
            timeout: seconds until the answer is given up; by default as the server is configured.

        Returns:
            The answer, whatever goes wrong.
        """
        client = self._client
        if not self.alive or client is None:
            return await self._dead(during_call=False)
        seconds = self.server.call_timeout if timeout is None else timeout
        try:
            with anyio.fail_after(seconds):
                return answer_of(await client.call_tool(tool, arguments))
        except TimeoutError:
            self._unanswered = True
            waited = f"did not answer within {round(seconds, 2):g} seconds.{_last_lines(self.stderr())}"
            return ToolAnswer(f"The tool {tool!r} of the {self._named} {waited}", is_error=True)
        except Exception as error:
            return await self._failed(tool, error)

    async def _failed(self, tool: str, error: Exception) -> ToolAnswer:
        if self.server.url is None and not self.alive:
            return await self._dead(during_call=True)
        self._lost = self.server.url is not None and (_is_lost(error) or not self.alive)
        failed = f"The call of the tool {tool!r} of the {self._named} failed: {_said(error)}."
        return ToolAnswer(self._redactor.clean(failed), is_error=True)

    async def _dead(self, during_call: bool) -> ToolAnswer:
        await self.stop()
        status = self._process.status if self._process else None
        when = "ended during this call" if during_call else "had ended before this call"
        how = "" if status is None else f", {exit_status(status)}"
        return ToolAnswer(f"The {self._named} {when}{how}.{_last_lines(self.stderr())}", is_error=True)


def _innermost(error: BaseException | None) -> BaseException | None:
    """What really happened: task groups wrap it."""
    while inner := cast("Sequence[BaseException]", getattr(error, "exceptions", ())):
        error = inner[0]
    return error


def _said(error: BaseException) -> str:
    return shorten_name(str(error), SHOWN_LINE).rstrip(".") or type(error).__name__


def _last_lines(stderr: str) -> str:
    """What a server wrote to stderr last, for the end of a message."""
    lines = stderr.rstrip().splitlines()[-SHOWN_LINES:]
    if not lines:
        return " It wrote nothing to stderr."
    shown = (line[: len(line) - len(line.lstrip())] + shorten_name(line, SHOWN_LINE) for line in lines)
    return "\nThe last that it wrote to stderr:" + "".join(f"\n  {line}" for line in shown)


def _is_lost(error: Exception) -> bool:
    """Whether the connection to a URL is gone, so that a new one is needed."""
    if isinstance(error, MCPError):
        return error.code == types.CONNECTION_CLOSED
    return isinstance(error, (httpx2.TransportError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError))
