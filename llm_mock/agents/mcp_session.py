"""A connection to one MCP server, from its start to its end. Imports `mcp`, so it is imported when a server is used."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from llm_mock.agents.environment import hide_secrets_of, resolved
from llm_mock.agents.mcp_stdio import Stdio
from llm_mock.agents.servers import MCPServer
from llm_mock.agents.tools import ToolAnswer
from llm_mock.errors import ServerError
from llm_mock.support.numbers import LONGEST
from llm_mock.support.redaction import redacted
from llm_mock.support.text import exit_status, shorten, shorten_name

if TYPE_CHECKING:
    import llm

MOST_PAGES = 100
"""After so many pages of tools, a server is taken to have no last one."""
PROBE_TIMEOUT = 5.0
"""Seconds that a server which left a call unanswered has to show that it still lives."""
CLOSING = 2.0
"""Seconds that the protocol may take to close a session."""
ENDING_AT_URL = 8.0
"""Seconds that a session with a server at a URL may take to end."""
CONNECT_TIMEOUT = 30.0
"""Seconds for connecting to a URL and for sending; how long an answer may take is up to each call."""
SHOWN_LINES = 20
"""How many of the last lines of its stderr a message shows."""
SHOWN_LINE = 300


class MCPSession:
    """One server that is started, or connected to, once. All of it belongs to the background loop.

    The session is opened and closed by one task, as `mcp` wants it; calls come from others.
    """

    def __init__(self, server: MCPServer) -> None:
        self.server = server
        self._named = f"MCP server {shorten_name(server.label)!r}"
        hide_secrets_of([server])
        self._over = asyncio.Event()
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._stdio: Stdio | None = None
        self._at_once = False
        self._unanswered = False
        self._task = asyncio.create_task(self._serve())

    @property
    def alive(self) -> bool:
        """Whether calls have a chance: it was started, and neither died nor was stopped."""
        return self._client.done() and not self._task.done() and not self._over.is_set() and self._status is None

    @property
    def _status(self) -> int | None:
        return self._stdio.process.status if self._stdio else None

    async def opened(self) -> None:
        """Wait until the server has started; where it does not in time, nothing of it is left running."""
        either: set[asyncio.Future[Any]] = {self._task, self._client}
        try:
            await asyncio.wait(either, timeout=self.server.start_timeout, return_when="FIRST_COMPLETED")
        finally:
            failure = None if self._client.done() else await self._abandon()
        if failure is not None:
            raise failure

    async def _serve(self) -> None:
        # What a server may ask of its client (sampling, elicitation) is refused by the library's defaults.
        async with self._connection() as transport, Client(transport) as client:
            self._client.set_result(client)
            await self._over.wait()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        if self.server.url is not None and self.server.transport == "sse":
            headers = resolved(self.server, "headers")
            yield sse_client(self.server.url, headers, CONNECT_TIMEOUT, sse_read_timeout=LONGEST)
            return
        if self.server.url is not None:
            timeout = httpx2.Timeout(CONNECT_TIMEOUT, read=None)
            async with httpx2.AsyncClient(headers=resolved(self.server, "headers"), timeout=timeout) as client:
                yield streamable_http_client(self.server.url, http_client=client)
            return
        self._stdio = Stdio(self.server, self._over)
        try:
            yield self._stdio.transport()
        finally:
            await self._stdio.end(at_once=self._at_once or not self._client.done())

    async def _abandon(self) -> ServerError:
        """End what did not start, and say why it did not."""
        timed_out = not self._task.done()
        self._task.cancel()
        await asyncio.wait({self._task})
        error = None if self._task.cancelled() else self._task.exception()
        while inner := cast("Sequence[BaseException]", getattr(error, "exceptions", ())):  # task groups wrap it
            error = inner[0]
        return self._start_failure(None if timed_out else error)

    def _start_failure(self, error: BaseException | None) -> ServerError:
        """Why it did not start; without an error because it took too long."""
        if isinstance(error, ServerError):
            return error
        if self._stdio is None:
            url = redacted(self.server.url)
            at = f" at {url}" if self.server.label != url else ""
            waited = f"did not answer within {self.server.start_timeout:g} seconds (start_timeout)."
            first = ' Does it speak SSE? Say transport="sse".' if self._may_speak_sse else ""
            return ServerError(
                f"The {self._named}{at} {f'cannot be used: {_said(error)}.' if error else waited}{first}"
            )
        if self._stdio.is_no_server:
            return ServerError(f"{shorten_name(self.server.label)!r} is no MCP server; it was ended.{self._written()}")
        if self._stdio.own_status is not None:
            return self._exited(self._stdio.own_status)
        return self._refused(error) if error else self._too_slow(self.server.start_timeout)

    @property
    def _may_speak_sse(self) -> bool:
        return self.server.transport is None and (self.server.url or "").rstrip("/").endswith("/sse")

    def _exited(self, status: int) -> ServerError:
        return ServerError(f"The {self._named} ended when it was started, {exit_status(status)}.{self._written()}")

    def _too_slow(self, seconds: float) -> ServerError:
        waited = f"did not start within {seconds:g} seconds (start_timeout); it was ended."
        return ServerError(f"The {self._named} {waited}{self._written()}")

    def _refused(self, error: BaseException) -> ServerError:
        return ServerError(f"The {self._named} refused to start: {_said(error)}.{_last_lines(self.stderr())}")

    def _written(self) -> str:
        """What it wrote while it started, for the end of a message."""
        stderr = self.stderr()
        if self._stdio is None or not self._stdio.other_lines:
            return _last_lines(stderr)
        shown = "".join(f"\n  {shorten(line)}" for line in self._stdio.other_lines)
        return f"\nIt wrote to stdout what is no message of MCP:{shown}{_last_lines(stderr) if stderr.strip() else ''}"

    def stderr(self) -> str:
        """The first and the last of what the server wrote to stderr, without secrets."""
        return str(redacted(self._stdio.stderr())) if self._stdio else ""

    async def stop(self, at_once: bool = False) -> None:
        """Close the session, and end the server and all that it started; `at_once` does not let it end by itself."""
        self._at_once = self._at_once or at_once
        self._over.set()
        ending = self._stdio.process.ending_timeout if self._stdio else ENDING_AT_URL
        await asyncio.wait({self._task}, timeout=ending + CLOSING)
        self._task.cancel()  # a server at a URL that does not answer when the session is closed
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.exception()  # a server that ends badly has ended all the same

    async def tools(self) -> list[types.Tool]:
        """What the server offers now, all pages of it; a ServerError where it does not tell within `start_timeout`."""
        seconds = min(self.server.start_timeout, PROBE_TIMEOUT if self._unanswered else self.server.start_timeout)
        try:
            with anyio.fail_after(seconds):
                return await self._all_tools()
        except TimeoutError:
            raise self._too_slow(seconds) from None
        except ServerError:
            raise
        except Exception as error:
            if not self.alive:
                await self.stop()
            raise (self._refused(error) if self._status is None else self._exited(self._status)) from None

    async def _all_tools(self) -> list[types.Tool]:
        found: list[types.Tool] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await self._client.result().list_tools(cursor=cursor, cache_mode="refresh")
            found += page.tools
            cursor = page.next_cursor
            if cursor is None:
                self._unanswered = False
                return found
        raise ServerError(f"The {self._named} told {MOST_PAGES} pages of tools, and has still more: it will not end.")

    async def call(self, tool: str, arguments: dict[str, Any], timeout: float | None = None) -> ToolAnswer:
        """Call a tool, for so many seconds at most (None: as the server is configured); whatever goes wrong is said."""
        if not self.alive:
            return await self._dead("had ended before this call")
        seconds = self.server.call_timeout if timeout is None else timeout
        try:
            with anyio.fail_after(seconds):
                return answer_of(await self._client.result().call_tool(tool, arguments))
        except TimeoutError:
            self._unanswered = True
            waited = f"did not answer within {round(seconds, 2):g} seconds.{_last_lines(self.stderr())}"
            return ToolAnswer(f"The tool {tool!r} of the {self._named} {waited}", is_error=True)
        except Exception as error:
            if self._stdio is not None and not self.alive:
                return await self._dead("ended during this call")
            if _is_lost(error):
                self._over.set()
            failed = f"The call of the tool {tool!r} of the {self._named} failed: {_said(error)}."
            return ToolAnswer(redacted(failed), is_error=True)

    async def _dead(self, when: str) -> ToolAnswer:
        await self.stop()
        how = "" if self._status is None else f", {exit_status(self._status)}"
        return ToolAnswer(f"The {self._named} {when}{how}.{_last_lines(self.stderr())}", is_error=True)


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


def answer_of(result: types.CallToolResult) -> ToolAnswer:
    """The answer that a result of `tools/call` is.

    Texts, and resources that are texts, are joined, each starting on a new line. A result that has nothing but
    structured content has it as its text too, because that is all that a model is told.
    """
    answer = ToolAnswer("", structured=result.structured_content, is_error=bool(result.is_error))
    texts = [text for block in result.content if (text := _take(block, answer.attachments)) is not None]
    if not texts and not answer.attachments and answer.structured is not None:
        texts = [json.dumps(answer.structured, ensure_ascii=False)]
    answer.text = "\n".join(texts)
    return answer


def _take(block: Any, attachments: list[llm.Attachment]) -> str | None:
    """The text of one block of content; binary content goes to the attachments, where it can be read."""
    import llm

    if isinstance(block, types.ResourceLink):
        kind = f" ({block.mime_type})" if block.mime_type else ""
        return f"[resource {block.name}: {block.uri}{kind}]"
    content = block.resource if isinstance(block, types.EmbeddedResource) else block
    if isinstance(content, (types.TextContent, types.TextResourceContents)):
        return content.text
    mime_type = content.mime_type or "application/octet-stream"
    try:
        data = base64.b64decode(content.data if content is block else content.blob, validate=True)
    except ValueError:
        return f"[{mime_type} left out: its data is no base64]"
    attachments.append(llm.Attachment(type=mime_type, content=data))
    return None
