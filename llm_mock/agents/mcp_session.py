"""The session with one MCP server, from its start to its end.

This module imports `mcp`, so it is only imported when a server is used.
"""

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

from llm_mock.agents.environment import hide_secrets_of, resolve_variables
from llm_mock.agents.mcp_stdio import Stdio
from llm_mock.agents.servers import MCPServer
from llm_mock.agents.tools import ToolAnswer
from llm_mock.errors import ServerError
from llm_mock.support.json_types import JSONObject
from llm_mock.support.numbers import LONGEST
from llm_mock.support.redaction import redact
from llm_mock.support.text import describe_exit, shorten, shorten_name

if TYPE_CHECKING:
    import llm

MAX_PAGES = 100
"""The number of pages of tools after which the list is taken to be endless."""
PROBE_TIMEOUT = 5.0
"""The timeout in seconds for listing the tools of a server that left a call unanswered."""
CLOSING = 2.0
"""The seconds that the protocol may take to close a session."""
ENDING_AT_URL = 8.0
"""The seconds that a session with a server at a URL may take to end."""
CONNECT_TIMEOUT = 30.0
"""The timeout in seconds for connecting to a URL and sending; each call has its own timeout."""
SHOWN_LINES = 20
"""The number of lines of stderr in a message."""
SHOWN_LINE = 300


class MCPSession:
    """A session with a server that is started, or connected to, once.

    It belongs to the background loop. `mcp` requires the same task to open and close the session;
    calls come from other tasks.
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
        """Return whether the server was started and has neither died nor been stopped."""
        is_started = self._client.done()
        is_over = self._task.done() or self._over.is_set() or self._status is not None
        return is_started and not is_over

    @property
    def _status(self) -> int | None:
        return self._stdio.process.status if self._stdio else None

    async def wait_until_open(self) -> None:
        """Wait until the server has started.

        Raises:
            ServerError: it failed to start, or not in time. No process is left running.
        """
        either: set[asyncio.Future[Any]] = {self._task, self._client}
        timeout = self.server.start_timeout
        failure = None
        try:
            await asyncio.wait(either, timeout=timeout, return_when="FIRST_COMPLETED")
        finally:
            # This runs on cancellation too.
            if not self._client.done():
                failure = await self._abandon()
        if failure is not None:
            raise failure

    async def _serve(self) -> None:
        # By default, `mcp` refuses requests from a server to its client (sampling, elicitation).
        async with self._connection() as transport, Client(transport) as client:
            self._client.set_result(client)
            await self._over.wait()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        server = self.server
        if server.url is None:
            self._stdio = Stdio(server, self._over)
            try:
                yield self._stdio.transport()
            finally:
                await self._stdio.end(at_once=self._at_once or not self._client.done())
            return
        headers = resolve_variables(server, "headers")
        if server.transport == "sse":
            yield sse_client(server.url, headers, CONNECT_TIMEOUT, sse_read_timeout=LONGEST)
            return
        timeout = httpx2.Timeout(CONNECT_TIMEOUT, read=None)
        async with httpx2.AsyncClient(headers=headers, timeout=timeout) as client:
            yield streamable_http_client(server.url, http_client=client)

    async def _abandon(self) -> ServerError:
        """End a server that did not start, and return the reason."""
        timed_out = not self._task.done()
        self._task.cancel()
        await asyncio.wait({self._task})
        error = None
        if not self._task.cancelled():
            # Always retrieved, because asyncio logs an exception that is never retrieved.
            error = _unwrap_groups(self._task.exception())
        return self._describe_start_failure(None if timed_out else error)

    def _describe_start_failure(self, error: BaseException | None) -> ServerError:
        """Return the reason for a failed start; no error means a timeout."""
        if isinstance(error, ServerError):
            return error
        stdio = self._stdio
        if stdio is None:
            return self._describe_url_failure(error)
        if stdio.is_no_server:
            label = shorten_name(self.server.label)
            return ServerError(
                f"{label!r} is not an MCP server; it was stopped.{self._get_output()}"
            )
        if stdio.own_status is not None:
            return self._new_exit_error(stdio.own_status)
        if error is not None:
            reason = _describe_error(error)
            return self._new_error(f"failed to start: {reason}.{self._format_stderr()}")
        limit = f"{self.server.start_timeout:g} seconds (start_timeout)"
        return self._new_error(f"did not start within {limit}; it was stopped.{self._get_output()}")

    def _describe_url_failure(self, error: BaseException | None) -> ServerError:
        server = self.server
        url = redact(server.url)
        text = f"The {self._named}"
        if server.label != url:
            text += f" at {url}"
        if error is not None:
            text += f" cannot be used: {_describe_error(error)}."
        else:
            text += f" did not answer within {server.start_timeout:g} seconds (start_timeout)."
        # The usual path of servers of the first version of the protocol.
        may_speak_sse = (server.url or "").rstrip("/").endswith("/sse")
        if server.transport is None and may_speak_sse:
            text += ' If it uses SSE, pass transport="sse".'
        return ServerError(text)

    def _new_error(self, problem: str) -> ServerError:
        return ServerError(f"The {self._named} {problem}")

    def _new_exit_error(self, status: int) -> ServerError:
        how = describe_exit(status)
        return self._new_error(f"ended during its start, {how}.{self._get_output()}")

    def _get_output(self) -> str:
        """Return the output of a server that did not start, for the end of a message."""
        if self._stdio is None or not self._stdio.other_lines:
            return self._format_stderr()
        lines = ["", "It wrote lines to stdout that are not MCP messages:"]
        lines += [f"  {shorten(line)}" for line in self._stdio.other_lines]
        text = "\n".join(lines)
        if self.stderr().strip():
            return text + self._format_stderr()
        return text

    def _format_stderr(self) -> str:
        """Return the last lines of stderr for the end of a message."""
        # The stderr of a server at a URL is unknown.
        return "" if self._stdio is None else _format_last_lines(self.stderr())

    def stderr(self) -> str:
        """Return the beginning and the end of the server's stderr, without secrets."""
        if self._stdio:
            return str(redact(self._stdio.stderr()))
        return ""

    async def stop(self, at_once: bool = False) -> None:
        """Close the session, and end the server and its child processes.

        Args:
            at_once: kill it instead of letting it exit by itself.
        """
        self._at_once = self._at_once or at_once
        self._over.set()
        if self._stdio:
            ending = self._stdio.process.ending_timeout
        else:
            ending = ENDING_AT_URL
        await asyncio.wait({self._task}, timeout=ending + CLOSING)
        # A server at a URL may not answer when the session is closed.
        self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            # Retrieved, because asyncio logs an exception that is never retrieved.
            self._task.exception()

    async def tools(self) -> list[types.Tool]:
        """Return all tools that the server offers now.

        Raises:
            ServerError: it does not list them within `start_timeout`, or fails.
        """
        seconds = self.server.start_timeout
        if self._unanswered:
            seconds = min(seconds, PROBE_TIMEOUT)
        try:
            with anyio.fail_after(seconds):
                return await self._list_tools()
        except TimeoutError:
            limit = f"{seconds:g} seconds"
            if seconds == self.server.start_timeout:
                limit += " (start_timeout)"
            problem = f"did not list its tools within {limit}.{self._get_output()}"
            raise self._new_error(problem) from None
        except ServerError:
            raise
        except Exception as error:
            if not self.alive:
                await self.stop()
            if self._status is not None:
                raise self._new_exit_error(self._status) from None
            reason = _describe_error(error)
            problem = f"failed to list its tools: {reason}.{self._format_stderr()}"
            raise self._new_error(problem) from None

    async def _list_tools(self) -> list[types.Tool]:
        tools: list[types.Tool] = []
        cursor: str | None = None
        client = self._client.result()
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor, cache_mode="refresh")
            tools += page.tools
            cursor = page.next_cursor
            if cursor is None:
                self._unanswered = False
                return tools
        raise ServerError(
            f"The {self._named} lists more than {MAX_PAGES} pages of tools; the list seems endless."
        )

    async def call(
        self,
        tool: str,
        arguments: JSONObject,
        timeout: float | None = None,
    ) -> ToolAnswer:
        """Call a tool and return its answer. A failure is returned too, not raised.

        Args:
            tool: the name of the tool.
            arguments: a JSON object.
            timeout: the timeout in seconds; None uses the server's own.
        """
        if not self.alive:
            return await self._stop_dead("had ended before this call")
        if timeout is None:
            seconds = self.server.call_timeout
        else:
            seconds = timeout
        try:
            with anyio.fail_after(seconds):
                return convert_result(await self._client.result().call_tool(tool, arguments))
        except TimeoutError:
            self._unanswered = True
            text = f"The tool {tool!r} of the {self._named} did not answer within "
            text += f"{round(seconds, 2):g} seconds.{self._format_stderr()}"
            return ToolAnswer(text, is_error=True)
        except Exception as error:
            if self._stdio is not None and not self.alive:
                return await self._stop_dead("ended during this call")
            if _is_connection_lost(error):
                self._over.set()
            text = f"The call to the tool {tool!r} of the {self._named} failed: "
            return ToolAnswer(redact(f"{text}{_describe_error(error)}."), is_error=True)

    async def _stop_dead(self, when: str) -> ToolAnswer:
        await self.stop()
        text = f"The {self._named} {when}"
        if self._status is not None:
            text += f", {describe_exit(self._status)}"
        text += f".{self._format_stderr()}"
        return ToolAnswer(text, is_error=True)


def _unwrap_groups(error: BaseException | None) -> BaseException | None:
    """Return the first error inside exception groups, in which task groups wrap errors."""
    while True:
        inner = cast("Sequence[BaseException]", getattr(error, "exceptions", ()))
        if not inner:
            return error
        error = inner[0]


def _describe_error(error: BaseException) -> str:
    return shorten_name(str(error), SHOWN_LINE).rstrip(".") or type(error).__name__


def _format_last_lines(stderr: str) -> str:
    """Return the last lines of stderr for the end of a message."""
    lines = stderr.rstrip().splitlines()[-SHOWN_LINES:]
    if not lines:
        return " It wrote nothing to stderr."
    text = "\nThe last lines of its stderr:"
    for line in lines:
        # `shorten_name` removes the indent, which a traceback needs.
        indent = line[: len(line) - len(line.lstrip())]
        text += f"\n  {indent}{shorten_name(line, SHOWN_LINE)}"
    return text


def _is_connection_lost(error: Exception) -> bool:
    """Return whether the connection to a URL is gone, so that a new one is needed."""
    if isinstance(error, MCPError):
        return error.code == types.CONNECTION_CLOSED
    lost = (
        httpx2.TransportError,
        OSError,
        anyio.BrokenResourceError,
        anyio.ClosedResourceError,
    )
    return isinstance(error, lost)


def convert_result(result: types.CallToolResult) -> ToolAnswer:
    """Convert a result of `tools/call` into an answer.

    Texts and text resources are joined with line breaks. If a result has only structured content,
    this becomes the text too, because a model gets only the text.
    """
    texts = []
    attachments: list[llm.Attachment] = []
    for block in result.content:
        text = _convert_block(block, attachments)
        if text is not None:
            texts.append(text)
    structured = result.structured_content
    if not texts and not attachments and structured is not None:
        texts.append(json.dumps(structured, ensure_ascii=False))
    return ToolAnswer("\n".join(texts), structured, attachments, bool(result.is_error))


def _convert_block(block: Any, attachments: list[llm.Attachment]) -> str | None:
    """Return the text of a block of content, or add its binary content to the attachments."""
    import llm

    if isinstance(block, types.ResourceLink):
        if block.mime_type:
            mime_type = f" ({block.mime_type})"
        else:
            mime_type = ""
        return f"[resource {block.name}: {block.uri}{mime_type}]"
    if isinstance(block, types.EmbeddedResource):
        content = block.resource
    else:
        content = block
    if isinstance(content, (types.TextContent, types.TextResourceContents)):
        return content.text
    mime_type = content.mime_type or "application/octet-stream"
    # Images and audio have `data`, resources a `blob`.
    if content is block:
        encoded = content.data
    else:
        encoded = content.blob
    try:
        data = base64.b64decode(encoded, validate=True)
    except ValueError:
        return f"[{mime_type} left out: its data is invalid base64]"
    attachments.append(llm.Attachment(type=mime_type, content=data))
    return None
