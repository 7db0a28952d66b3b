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

from llm_mock.boundaries.http.interception import UNDECIDED, find_provider, identify_provider
from llm_mock.boundaries.passthrough import pass_through
from llm_mock.boundaries.patching import replace

if TYPE_CHECKING:
    from llm_mock.boundaries.http.client_clock import ClientClock
    from llm_mock.boundaries.http.errors import ConnectionFailure

TIMEOUTS = ("timeout", "total timeout")
NAMES = {
    "aiohttp": (
        "BaseConnector.connect",
        # Only aiohttp itself makes its protocols, which parse what the mock answers.
        "BaseConnector()._factory",
        "BaseConnector()._loop",
        "connector.Connection",
        "client_proto.ResponseHandler.data_received",
        # A timeout while a body is read has to reach the reader.
        "client_proto.ResponseHandler()._payload",
        "ClientConnectorError",
        "ServerDisconnectedError",
    )
}
"""What is used of the library, beside the attributes of its requests."""
CONSTRUCTORS = ("ClientSession.__init__",)
"""What to refuse where `SEAMS` are gone."""


def attach(aiohttp: ModuleType) -> None:
    """Answer the requests of an `aiohttp` module that go to providers."""
    replace(aiohttp.BaseConnector, "connect", _connect)


def _find_provider(connector: Any, request: Any, *args: Any, **kwargs: Any) -> str | None:
    """Return the provider that a request is for, as `find_provider` does."""
    url = request.url
    is_local = hasattr(connector, "path")  # that of a unix socket or a named pipe
    return find_provider(
        url.raw_host or "",
        url.port,
        url.raw_path,
        request.headers.items(),
        is_local=is_local,
        asked=f"{request.method} {url.scheme}",
    )


SEAMS = {"BaseConnector.connect": _find_provider}
"""The function that is replaced, and what finds the provider of a call of it."""


async def _connect(
    original: Callable[..., Awaitable[Any]], connector: Any, request: Any, *args: Any, **kwargs: Any
) -> Any:
    __tracebackhide__ = True
    provider = _find_provider(connector, request)
    if provider is None:
        return await original(connector, request, *args, **kwargs)
    sent = await _sent(request)
    if provider == UNDECIDED and (provider := identify_provider(sent)) is None:
        return await original(connector, request, *args, **kwargs)
    from llm_mock.boundaries.http.client_clock import ClientClock
    from llm_mock.boundaries.http.dispatch import dispatch_request_async
    from llm_mock.boundaries.http.errors import ConnectionFailure

    timeout = kwargs["timeout"] if "timeout" in kwargs else args[1]
    clock = ClientClock(timeout.sock_read, timeout.total)
    response: Any = None
    failure = None
    try:
        response = await dispatch_request_async(sent, provider, clock)
    except ConnectionFailure as error:
        if error.kind not in TIMEOUTS:
            raise _exception(request, error) from None
        failure = error  # or aiohttp would take it for one of connecting
    if failure is None and not isinstance(response, tuple):
        recording: Any = response or nullcontext()
        if response is not None:
            request.headers.update(response.header_overrides())
            recording = response.guard_send()
        with pass_through(), recording:
            connection = await original(connector, request, *args, **kwargs)
        if response is not None:
            _Tap(connection, request.method, response)
        return connection
    protocol = connector._factory()
    protocol.connection_made(_Connection(protocol, request.method, failure or response, clock))
    return sys.modules["aiohttp.connector"].Connection(
        connector, request.connection_key, protocol, connector._loop
    )


async def _sent(request: Any) -> Any:
    from llm_mock.boundaries.http.wire import WireRequest

    body = await _content(request)
    headers = {name.lower(): value for name, value in request.headers.items()}
    url = request.url
    return WireRequest(
        request.method, url.raw_host or "", url.raw_path, url.raw_query_string, headers, body
    )


async def _content(request: Any) -> bytes:
    """Return the body of a request; one that can be read only once is replaced by its bytes."""
    body = request.body
    if not body or isinstance(body, (bytes, bytearray)):
        return bytes(body or b"")
    if hasattr(body, "as_bytes"):
        content: bytes = await body.as_bytes()
        return content
    writer = (
        _Collector()
    )  # before aiohttp 3.12 a payload can only write itself, and a file is closed by that
    await body.write(writer)
    request.body = bytes(writer.content)
    return bytes(writer.content)


class _Collector:
    """A stream writer that keeps what is written to it."""

    def __init__(self) -> None:
        self.content = bytearray()

    async def write(self, chunk: bytes) -> None:
        """Keep a piece of the body."""
        self.content += chunk


def _exception(request: Any, error: Any) -> Exception:
    aiohttp: Any = sys.modules["aiohttp"]
    exception: Exception
    if error.kind == "dropped":
        exception = aiohttp.ServerDisconnectedError(str(error))
    else:
        exception = aiohttp.ClientConnectorError(
            request.connection_key, ConnectionRefusedError(str(error))
        )
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
            with self._recording.guard_send():
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
    """A transport whose other end sends one response once something was written to it.

    The response may be a timeout that the client runs into while it waits. As with a real transport, the protocol is
    told of the end of the connection in a later turn of the loop: aiohttp closes it from within `data_received`, and
    would lose what it has not read yet.
    """

    def __init__(self, protocol: Any, method: str, response: Any, clock: ClientClock) -> None:
        super().__init__()
        self._protocol, self._method, self._response, self._clock = (
            protocol,
            method,
            response,
            clock,
        )
        self._loop = asyncio.get_running_loop()
        self._sending: asyncio.Task[None] | None = None
        self._readable = asyncio.Event()
        self._readable.set()
        self._closed = False

    def write(self, data: Any) -> None:
        """Send the response, once; the request was read before."""
        if self._sending is None and not self._closed:
            self._sending = self._loop.create_task(self._send())

    def writelines(self, lines: Any) -> None:
        """Send the response, once."""
        self.write(b"")

    def is_closing(self) -> bool:
        """Return whether the connection was closed, by one end or the other."""
        return self._closed

    def close(self) -> None:
        """Close the connection."""
        self._lose(None)
        if self._sending is not None:
            self._sending.cancel()

    abort = close

    def pause_reading(self) -> None:
        """Send no further: the application reads more slowly than it is sent to."""
        self._readable.clear()

    def resume_reading(self) -> None:
        """Send again."""
        self._readable.set()

    def is_reading(self) -> bool:
        """Return whether the protocol takes further data."""
        return not self._closed and self._readable.is_set()

    def _lose(self, error: Exception | None) -> None:
        if not self._closed:
            self._closed = True
            self._loop.call_soon(self._protocol.connection_lost, error)

    async def _send(self) -> None:
        from llm_mock.boundaries.http.errors import ConnectionFailure

        try:
            if isinstance(self._response, ConnectionFailure):
                raise self._response
            await self._send_response()
        except ConnectionFailure as error:
            if error.kind in TIMEOUTS:
                self._time_out(error)
            else:
                self._lose(ConnectionResetError(str(error)))
        except Exception as error:  # or the application would wait for ever
            self._lose(error)

    async def _send_response(self) -> None:
        status, headers, body = self._response.status, self._response.headers, self._response.body
        has_body = self._method != "HEAD" and status not in (204, 304)
        chunked = has_body and not any(name.lower() == "content-length" for name, _ in headers)
        phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
        head = [
            f"HTTP/1.1 {status} {phrase}",
            *(f"{name}: {value}" for name, value in headers),
            "connection: close",
        ]
        head += ["transfer-encoding: chunked"] if chunked else []
        await self._receive("\r\n".join(head).encode("latin-1") + b"\r\n\r\n")
        if not has_body:
            return
        for piece in (body,) if isinstance(body, bytes) else self._clock.read_body(body):
            if not isinstance(piece, bytes):
                await asyncio.sleep(piece)
            elif piece:  # an empty chunk would be the last one
                await self._receive(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
        if chunked:
            await self._receive(b"0\r\n\r\n")

    async def _receive(self, data: bytes) -> None:
        """Have the protocol take data, as soon as it reads; the other tasks of the loop have their turn then."""
        await self._readable.wait()
        if not self._closed:
            self._protocol.data_received(data)
            await asyncio.sleep(0)

    def _time_out(self, error: ConnectionFailure) -> None:
        """Fail as aiohttp's own timers do, which count real time."""
        aiohttp: Any = sys.modules["aiohttp"]
        of_socket = getattr(aiohttp, "SocketTimeoutError", aiohttp.ServerTimeoutError)  # since 3.10
        exception = (
            asyncio.TimeoutError() if error.kind == "total timeout" else of_socket(str(error))
        )
        self._protocol.set_exception(exception)
        if self._protocol._payload is not None:
            self._protocol._payload.set_exception(exception)
