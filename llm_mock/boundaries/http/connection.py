"""A connection of a client to the server."""

from __future__ import annotations

import asyncio
import socket
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from typing import cast

from llm_mock.boundaries.http.errors import ConnectionFailure
from llm_mock.boundaries.http.http1 import RequestHead, RequestReader
from llm_mock.boundaries.http.wire import WireResponse
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.events import Wait

CLIENT_TIMEOUT_SECONDS = 60.0
"""The time in which a client must send a request, or read the data sent to it."""
HANG_SECONDS = 600.0
"""The time without a response for a call that times out: the default timeout of the SDKs."""
LINGER_SECONDS = 5.0
"""The time in which the rest of a refused request is discarded: the client must read the error."""
MAX_PIPELINED_BYTES = 256 * 1024
"""The number of bytes of further requests to read while the server answers one."""
SEND_BUFFER_BYTES = 64 * 1024
"""The number of bytes of a stream to send at once."""


@types.coroutine
def _yield_once() -> Generator[None, None, None]:
    yield


async def enter_task() -> None:
    """Run the rest of a response in a task; await this before anything that may wait.

    Most responses never wait, and a task for each would take a seventh of the server's time, so a
    connection runs the coroutine itself up to this point.
    """
    if asyncio.current_task() is None:
        await _yield_once()


class ServerContext:
    """The state that all connections of a server share.

    Args:
        respond: returns the response to a request, or None if it turned the connection into a
            WebSocket; it awaits `enter_task` before it waits.
        refuse: returns the response to a malformed request; the head is None if it was not read.
        keep_alive: True if a connection may serve several requests, if the client asks for that.
    """

    def __init__(
        self,
        respond: Callable[[RequestHead, bytes, Connection], Awaitable[WireResponse | None]],
        refuse: Callable[[RequestHead | None, WireError], WireResponse],
        keep_alive: bool,
    ) -> None:
        self.respond = respond
        self.refuse = refuse
        self.keep_alive = keep_alive
        self.connections: set[Connection] = set()
        """The open connections."""


class Connection(asyncio.Protocol):
    """A connection of a client, which answers its requests one after the other."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._reader = RequestReader()
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        """The task that answers the current request, if the response must wait."""
        self._timer: asyncio.TimerHandle | None = None
        self._closes_at: float | None = None
        """The time of the loop at which the connection is closed; None for never."""
        self._writable: asyncio.Future[None] | None = None
        """A future that is done when the client has read all sent data; None if it already has."""
        self._is_refused = False
        self._has_sent_continue = False
        self._websocket: asyncio.WriteTransport | None = None
        """Receives all data from the client, once the connection is a WebSocket."""

    # Callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start to wait for a request."""
        # No `isinstance`: the transports of other loops do not derive from that of asyncio.
        self._transport = cast(asyncio.Transport, transport)
        # Otherwise TCP delays a chunk until the client has acknowledged the previous one.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._context.connections.add(self)
        self._close_after(CLIENT_TIMEOUT_SECONDS)

    def data_received(self, data: bytes) -> None:
        """Read bytes of the client, and answer its request if it is complete."""
        if self._is_refused:
            return
        if self._websocket is not None:
            self._websocket.write(data)
            return
        self._reader.feed(data)
        if self._task is None:
            self._read()
        elif self._reader.buffered_bytes > MAX_PIPELINED_BYTES:
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        """Pause writing, as the client reads more slowly than the server writes."""
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        """Resume writing, as the client has read enough."""
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    def connection_lost(self, error: Exception | None) -> None:
        """Stop everything, as either side has closed the connection."""
        self._context.connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
        if self._websocket is not None:
            self._websocket.close()

    @property
    def peer_address(self) -> str:
        """The IP address of the client; empty if the connection has none."""
        peer = self._transport.get_extra_info("peername")
        return str(peer[0]) if isinstance(peer, tuple) else ""

    def open_websocket(
        self, open_websocket: Callable[[asyncio.Transport], asyncio.WriteTransport]
    ) -> None:
        """Hand the connection over to a WebSocket, which answers the current request.

        Args:
            open_websocket: gets the transport, and returns a function that receives the client's
                data.
        """
        self._websocket = open_websocket(self._transport)

    def abort(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    # Requests

    def _close_after(self, seconds: float) -> None:
        """Close the connection after a time, unless the time is extended before."""
        closes_at = self._loop.time() + seconds
        self._closes_at = closes_at
        # A timer that expires too early restarts itself, which is cheaper than one per request.
        if self._timer is not None:
            if self._timer.when() <= closes_at:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(closes_at, self._check_time)

    def _check_time(self) -> None:
        """Close the connection if its time is up."""
        self._timer = None
        if self._closes_at is None:
            return
        if self._loop.time() < self._closes_at:
            self._timer = self._loop.call_at(self._closes_at, self._check_time)
        else:
            self.abort()

    def _read(self) -> None:
        """Answer the requests that have arrived, until an answer has to wait."""
        while self._reader.buffered_bytes and not self._transport.is_closing():
            try:
                request = self._reader.read_request()
            except WireError as error:
                self._refuse(error)
                return
            if request is None:
                self._continue()
                return
            self._closes_at = None
            self._has_sent_continue = False
            self._start(self._answer(*request))
            if self._task is not None:
                return

    def _continue(self) -> None:
        """Send `100 Continue` to the client, if it waits for that before it sends the body."""
        head = self._reader.head
        # Such a client sends the body only after this (RFC 9110, 10.1.1).
        if head is not None and "expect" in head.headers and not self._has_sent_continue:
            self._has_sent_continue = True
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _start(self, answer: Coroutine[None, None, None]) -> None:
        """Run a response to its end, or let a task run the rest of it."""
        try:
            answer.send(None)
        except StopIteration:
            return
        self._task = self._loop.create_task(answer)

    def _refuse(self, error: WireError) -> None:
        self._is_refused = True
        response = self._context.refuse(self._reader.head, error)
        assert isinstance(response.body, bytes)
        head = _encode_head(response, closes=True, is_chunked=False)
        self._transport.write(head + response.body)
        # The client may have disconnected.
        with suppress(OSError):
            self._transport.write_eof()
        # Closing at once would reset the connection before the client has read the response.
        self._close_after(LINGER_SECONDS)

    async def _answer(self, head: RequestHead, body: bytes) -> None:
        stays_open = False
        try:
            response = await self._context.respond(head, body, self)
            if response is None:
                stays_open = True
                return
            stays_open = self._context.keep_alive and head.has_keep_alive
            if response.delay.served:
                await enter_task()
                await asyncio.sleep(response.delay)
            await self._send(head, response, closes=not stays_open)
        except ConnectionFailure as error:
            stays_open = False
            if error.kind == "timeout":
                await enter_task()
                await asyncio.sleep(HANG_SECONDS)
        except (ConnectionError, TimeoutError):
            # The client has disconnected, or does not read.
            stays_open = False
            self.abort()
        finally:
            task, self._task = self._task, None
            if not stays_open:
                self._transport.close()
        if stays_open:
            self._close_after(CLIENT_TIMEOUT_SECONDS)
            if task is not None:
                self._transport.resume_reading()
                # The next request may have arrived already. It is read in a later turn of the loop,
                # so that it does not run in the task of this one (see `enter_task`).
                self._loop.call_soon(self.data_received, b"")

    # Responses

    async def _send(self, head: RequestHead, response: WireResponse, closes: bool) -> None:
        if isinstance(response.body, bytes):
            content = b"" if head.method == "HEAD" else response.body
            self._transport.write(_encode_head(response, closes, is_chunked=False) + content)
            await self._drain()
            return
        # HTTP/1.0 has no chunks: a body ends when the connection closes.
        is_chunked = head.is_http_1_1
        start = _encode_head(response, closes or not is_chunked, is_chunked)
        await self._send_chunks(start, response.body, is_chunked)
        if not is_chunked:
            self._transport.close()

    async def _send_chunks(
        self, start: bytes, chunks: Iterable[bytes | Wait], is_chunked: bool
    ) -> None:
        """Send the chunks of a body; chunks between two waits are sent together.

        If the body raises an error, the response ends there, without the last chunk.
        """
        pending = bytearray(start)
        try:
            for chunk in chunks:
                if isinstance(chunk, Wait):
                    if chunk.served:
                        await self._flush(pending)
                        await asyncio.sleep(chunk)
                    continue
                # An empty chunk would end the body.
                is_framed = is_chunked and chunk
                pending += b"%x\r\n%b\r\n" % (len(chunk), chunk) if is_framed else chunk
                if len(pending) > SEND_BUFFER_BYTES:
                    await self._flush(pending)
            if is_chunked:
                pending += b"0\r\n\r\n"
        finally:
            close = getattr(chunks, "close", None)
            if close is not None:
                close()
            if not self._transport.is_closing():
                self._transport.write(bytes(pending))
        await self._drain()

    async def _flush(self, pending: bytearray) -> None:
        self._transport.write(bytes(pending))
        pending.clear()
        await self._drain()
        # Let other clients have their turn, and let a task run the rest.
        await asyncio.sleep(0)

    async def _drain(self) -> None:
        """Wait until the client has read enough.

        Raises:
            ConnectionError: the client has disconnected.
            TimeoutError: the client does not read.
        """
        if self._transport.is_closing():
            raise ConnectionError
        if self._writable is not None:
            await enter_task()
            try:
                await asyncio.wait_for(self._writable, CLIENT_TIMEOUT_SECONDS)
            except asyncio.TimeoutError:
                # Before Python 3.11, asyncio has its own TimeoutError.
                raise TimeoutError from None


@lru_cache
def _format_status_line(status: int) -> str:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        # Anthropic's 529 is not in the standard.
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}"


def _encode_head(response: WireResponse, closes: bool, is_chunked: bool) -> bytes:
    lines = [_format_status_line(response.status)]
    lines += [f"{name}: {value}" for name, value in response.headers]
    if is_chunked:
        lines.append("transfer-encoding: chunked")
    if closes:
        lines.append("connection: close")
    lines += ["", ""]
    return "\r\n".join(lines).encode("latin-1", "replace")
