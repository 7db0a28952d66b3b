"""One connection of a client to the server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from http import HTTPStatus

from llm_mock.boundaries.http.errors import ConnectionFailure, WireError
from llm_mock.boundaries.http.http1 import Head, RequestReader
from llm_mock.boundaries.http.wire import WireResponse
from llm_mock.core.events import Wait

SLOW_SECONDS = 60.0
"""How long a client may take to send a request, and to read what was sent to it."""
HELD_SECONDS = 600.0
"""How long a call that times out is kept without an answer: the SDKs wait as long, if they are not told otherwise."""
LINGER_SECONDS = 5.0
"""How long what a refused client still sends is thrown away, so that it comes to read why."""
MOST_WAITING = 256 * 1024
"""How many bytes of further requests are read while one is answered."""
FULL = 64 * 1024
"""How many bytes of a stream are sent at once."""


class Answering:
    """What all connections of a server share.

    Args:
        respond: makes the response to a request.
        refuse: makes the response to one that is malformed; without a head where none was read.
        keep_alive: whether a connection may serve several requests, where the client wants that.
    """

    def __init__(
        self,
        respond: Callable[[Head, bytes], Awaitable[WireResponse]],
        refuse: Callable[[Head | None, WireError], WireResponse],
        keep_alive: bool,
    ) -> None:
        self.respond, self.refuse, self.keep_alive = respond, refuse, keep_alive
        self.connections: set[Connection] = set()
        """Those that are open."""


class Connection(asyncio.Protocol):
    """Reads requests and has them answered, one after the other."""

    def __init__(self, answering: Answering) -> None:
        self._answering = answering
        self._reader = RequestReader()
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._writable: asyncio.Future[None] | None = None
        """Is done when the client has read what was sent; None where it has."""
        self._refused = False
        self._told_to_continue = False

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        connected = transport.get_extra_info("socket")
        connected.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )  # or a piece waits until the last was received
        self._answering.connections.add(self)
        self._end_after(SLOW_SECONDS)

    def data_received(self, data: bytes) -> None:
        """It sent something."""
        if self._refused:
            return
        self._reader.feed(data)
        if self._task is None:
            self._read()
        elif self._reader.waiting > MOST_WAITING:
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        """It reads slower than it is written to."""
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        """It has read."""
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    def connection_lost(self, error: Exception | None) -> None:
        """It is gone, or the connection was closed here."""
        self._answering.connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def end(self) -> None:
        """Close the connection, whatever it is about."""
        self._transport.abort()

    # Requests

    def _end_after(self, seconds: float | None) -> None:
        """Close the connection after a while; None for not."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self._loop.call_later(seconds, self.end)

    def _read(self) -> None:
        try:
            asked = self._reader.request()
        except WireError as error:
            self._refuse(error)
            return
        if asked is not None:
            self._end_after(None)
            self._told_to_continue = False
            self._task = self._loop.create_task(self._answer(*asked))
        elif (
            (head := self._reader.head) and not self._told_to_continue and "expect" in head.headers
        ):
            self._told_to_continue = True
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _refuse(self, error: WireError) -> None:
        self._refused = True
        response = self._answering.refuse(self._reader.head, error)
        assert isinstance(response.body, bytes)
        self._transport.write(_encode_head(response, closes=True, chunked=False) + response.body)
        with suppress(OSError):  # the client may be gone
            self._transport.write_eof()
        self._end_after(LINGER_SECONDS)

    async def _answer(self, head: Head, body: bytes) -> None:
        stays = False
        try:
            response = await self._answering.respond(head, body)
            stays = self._answering.keep_alive and head.keeps_alive
            if response.delay.served:
                await asyncio.sleep(response.delay)
            await self._send(head, response, closes=not stays)
        except ConnectionFailure as error:
            stays = False
            if error.kind == "timeout":
                await asyncio.sleep(HELD_SECONDS)
        except (ConnectionError, TimeoutError):  # the client is gone, or does not read
            stays = False
            self.end()
        finally:
            self._task = None
            if not stays:
                self._transport.close()
        if stays:
            self._transport.resume_reading()
            self._end_after(SLOW_SECONDS)
            self._read()

    # Responses

    async def _send(self, head: Head, response: WireResponse, closes: bool) -> None:
        if isinstance(response.body, bytes):
            content = b"" if head.method == "HEAD" else response.body
            self._transport.write(_encode_head(response, closes, chunked=False) + content)
            await self._drained()
            return
        chunked = head.newest
        start = _encode_head(response, closes=closes or not chunked, chunked=chunked)
        await self._send_pieces(start, response.body, chunked)
        if not chunked:
            self._transport.close()  # as HTTP/1.0 knows no other end

    async def _send_pieces(
        self, start: bytes, pieces: Iterable[bytes | Wait], chunked: bool
    ) -> None:
        """Send the pieces of a body, those between two waits at once. One that fails ends where it fails."""
        pending = bytearray(start)
        try:
            for piece in pieces:
                if isinstance(piece, bytes):
                    pending += b"%x\r\n%b\r\n" % (len(piece), piece) if chunked and piece else piece
                elif not piece.served:
                    continue
                if isinstance(piece, Wait) or len(pending) > FULL:
                    self._transport.write(bytes(pending))
                    pending.clear()
                    await self._drained()
                    await asyncio.sleep(0)  # other clients' turn
                if isinstance(piece, Wait):
                    await asyncio.sleep(piece)
            pending += b"0\r\n\r\n" if chunked else b""
        finally:
            if close := getattr(pieces, "close", None):
                close()
            if not self._transport.is_closing():
                self._transport.write(bytes(pending))
        await self._drained()

    async def _drained(self) -> None:
        """Wait until the client has read enough.

        Raises:
            ConnectionError: it is gone.
            TimeoutError: it does not read.
        """
        if self._transport.is_closing():
            raise ConnectionError
        if self._writable is not None:
            try:
                await asyncio.wait_for(self._writable, SLOW_SECONDS)
            except asyncio.TimeoutError:  # before Python 3.11 another one
                raise TimeoutError from None


def _encode_head(response: WireResponse, closes: bool, chunked: bool) -> bytes:
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:  # such as Anthropic's 529
        phrase = ""
    lines = [
        f"HTTP/1.1 {response.status} {phrase}",
        *(f"{name}: {value}" for name, value in response.headers),
    ]
    lines += ["transfer-encoding: chunked"] if chunked else []
    lines += ["connection: close"] if closes else []
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")
