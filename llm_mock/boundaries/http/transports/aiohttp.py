"""aiohttp's connector: a connection that leads to the mock, as only aiohttp itself makes its responses."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse, IncompleteRead
from socket import socket
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from llm_mock.boundaries.attaching import replace
from llm_mock.boundaries.for_real import for_real
from llm_mock.boundaries.http.door import guarded_provider

if TYPE_CHECKING:
    from llm_mock.boundaries.http.client_clock import ClientClock
    from llm_mock.boundaries.http.errors import ConnectionFails

TIMEOUTS = ("timeout", "total timeout")


def attach(aiohttp: ModuleType) -> None:
    """Answer the requests of an `aiohttp` module that go to providers."""
    replace(aiohttp.BaseConnector, "connect", _connect)


async def _connect(
    original: Callable[..., Awaitable[Any]], connector: Any, request: Any, *args: Any, **kwargs: Any
) -> Any:
    __tracebackhide__ = True
    provider = guarded_provider(request.url.raw_host or "", request.url.port)
    if provider is None:
        return await original(connector, request, *args, **kwargs)
    from llm_mock.boundaries.http.asking import response_to_async
    from llm_mock.boundaries.http.client_clock import ClientClock
    from llm_mock.boundaries.http.errors import ConnectionFails

    timeout = kwargs["timeout"] if "timeout" in kwargs else args[1]
    clock = ClientClock(timeout.sock_read, timeout.total)
    response: Any = None
    failure = None
    try:
        response = await response_to_async(await _sent(request), provider, clock)
    except ConnectionFails as error:
        if error.kind not in TIMEOUTS:
            raise _exception(request, error) from None
        failure = error  # or aiohttp would take it for one of connecting
    if failure is None and not isinstance(response, tuple):
        recording: Any = response or nullcontext()
        if response is not None:
            request.headers.update(response.further_headers())
            recording = response.sending()
        with for_real(), recording:
            connection = await original(connector, request, *args, **kwargs)
        if response is not None:
            _Tap(connection, request.method, response)
        return connection
    protocol = connector._factory()
    protocol.connection_made(_Connection(protocol, failure or response, clock))
    return sys.modules["aiohttp.connector"].Connection(connector, request.connection_key, protocol, connector._loop)


async def _sent(request: Any) -> Any:
    from llm_mock.boundaries.http.wire import WireRequest

    body = b"" if not request.body else await request.body.as_bytes()
    headers = {name.lower(): value for name, value in request.headers.items()}
    url = request.url
    return WireRequest(request.method, url.raw_host or "", url.raw_path, url.raw_query_string, headers, body)


def _exception(request: Any, error: Any) -> Exception:
    aiohttp: Any = sys.modules["aiohttp"]
    exception: Exception
    if error.kind == "dropped":
        exception = aiohttp.ServerDisconnectedError(str(error))
    else:
        exception = aiohttp.ClientConnectorError(request.connection_key, ConnectionRefusedError(str(error)))
    return exception


class _Tap:
    """Reads what comes on a connection, until aiohttp is done with its response, and has that recorded."""

    def __init__(self, connection: Any, method: str, recording: Any) -> None:
        self._protocol, self._method, self._recording = connection.protocol, method, recording
        self._data = bytearray()
        self._receive = self._protocol.data_received
        self._protocol.data_received = self._take
        connection.add_callback(self._end)

    def _take(self, data: bytes) -> None:
        self._data += data
        self._receive(data)

    def _end(self) -> None:
        del self._protocol.data_received
        response = HTTPResponse(cast("socket", _Received(bytes(self._data))), method=self._method)
        try:
            response.begin()
        except (HTTPException, OSError) as error:  # it was closed before
            with self._recording.sending():
                raise error
        self._recording.begin(response.status, response.getheaders())
        try:
            self._recording.take(response.read())
            self._recording.end()
        except IncompleteRead as error:
            self._recording.take(error.partial)
            self._recording.close()


class _Received:
    """What came, as `http.client` reads it."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> io.BytesIO:
        """A file of it."""
        return io.BytesIO(self._data)


class _Connection(asyncio.Transport):
    """A connection whose other end sends a response once something was written to it, and closes it then.

    In place of a response it may be the timeout that the client has while it waits for one.
    """

    def __init__(self, protocol: Any, response: Any, clock: ClientClock) -> None:
        super().__init__()
        self._protocol, self._response, self._clock = protocol, response, clock
        self._sending: asyncio.Task[None] | None = None
        self._closed = False

    def write(self, data: Any) -> None:
        """The request is being sent; it was read before."""
        if self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send())

    def writelines(self, lines: Any) -> None:
        """The same."""
        self.write(lines)

    def is_closing(self) -> bool:
        """Whether the connection was closed, by one end or the other."""
        return self._closed

    def close(self) -> None:
        """The application is done with it."""
        if self._closed:
            return
        self._closed = True
        if self._sending is not None:
            self._sending.cancel()
        self._protocol.connection_lost(None)

    abort = close

    def pause_reading(self) -> None:
        """What comes is kept by the protocol."""

    def resume_reading(self) -> None:
        """What comes is kept by the protocol."""

    async def _send(self) -> None:
        from llm_mock.boundaries.http.errors import ConnectionFails

        if isinstance(self._response, ConnectionFails):
            self._time_out(self._response)
            return
        status = self._response.status
        head = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ''}"]
        head += [f"{name}: {value}" for name, value in self._response.headers]
        body = self._response.body
        chunked = not any(name == "content-length" for name, _ in self._response.headers)
        head += ["connection: close", *(("transfer-encoding: chunked",) if chunked else ())]
        self._receive("\r\n".join(head).encode("latin-1") + b"\r\n\r\n")
        try:
            for piece in (body,) if isinstance(body, bytes) else self._clock.pieces(body):
                if isinstance(piece, bytes):
                    self._receive(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
                    await asyncio.sleep(0)
                else:
                    await asyncio.sleep(piece)
        except ConnectionFails as error:
            if error.kind in TIMEOUTS:
                self._time_out(error)
                return
            self._closed = True
            self._protocol.connection_lost(ConnectionResetError(str(error)))
            return
        if chunked:
            self._receive(b"0\r\n\r\n")

    def _time_out(self, error: ConnectionFails) -> None:
        """Fail as aiohttp's own timers do, which count real time."""
        in_all = error.kind == "total timeout"
        exception = asyncio.TimeoutError() if in_all else sys.modules["aiohttp"].SocketTimeoutError(str(error))
        self._protocol.set_exception(exception)
        if self._protocol._payload is not None:
            self._protocol._payload.set_exception(exception)

    def _receive(self, data: bytes) -> None:
        if not self._closed:
            self._protocol.data_received(data)
