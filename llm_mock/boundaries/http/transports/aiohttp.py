"""Intercept aiohttp's connectors by returning a connection to the mock.

aiohttp itself then creates the response from the bytes of the connection. A response object built
by the mock would break with new versions of aiohttp.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import io
import re
import sys
from collections.abc import Awaitable, Callable, Iterable
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse, IncompleteRead, RemoteDisconnected
from socket import socket
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from llm_mock.boundaries.http.clients import is_websocket_path
from llm_mock.boundaries.http.interception import UNDECIDED, find_provider, identify_provider
from llm_mock.boundaries.patching import replace
from llm_mock.core.context import current_mock, pass_through

if TYPE_CHECKING:
    from aiohttp import BaseConnector, ClientRequest
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.connector import Connection

    from llm_mock.boundaries.http.client_clock import ClientClock
    from llm_mock.boundaries.http.errors import ConnectionFailure
    from llm_mock.boundaries.http.recording import WireRecording
    from llm_mock.boundaries.http.wire import WireRequest, WireResponse

SOCKET_SCHEMES = {"http": "ws", "https": "wss"}
"""The schemes of WebSockets; aiohttp accepts both kinds."""
NO_FRAMING = (
    "llm_mock needs the library websockets 13.1 or later to answer WebSockets; nothing was sent. "
    "Install it: pip install 'websockets>=13.1'"
)
END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
"""The end of the head of a response, in the forms that aiohttp accepts."""
TIMEOUTS = ("timeout", "total timeout")
"""The kinds of `ConnectionFailure` that are timeouts of the client."""
NAMES = {
    "aiohttp": (
        "BaseConnector.connect",
        # Private: creates the protocol that parses the mock's response.
        "BaseConnector()._factory",
        "BaseConnector()._loop",
        "connector.Connection",
        "client_proto.ResponseHandler.data_received",
        # Private: the reader of a body, on which a timeout must be set.
        "client_proto.ResponseHandler()._payload",
        "ClientConnectorError",
        "ServerDisconnectedError",
    )
}
"""The names used of the library, beside the attributes of its requests."""
CONSTRUCTORS = ("ClientSession.__init__",)
"""The constructors that are refused if `SEAMS` are gone."""


def attach(aiohttp: ModuleType) -> None:
    """Intercept the requests of an `aiohttp` module."""
    replace(aiohttp.BaseConnector, "connect", _connect)


def _find_provider(
    connector: BaseConnector, request: ClientRequest, *args: object, **kwargs: object
) -> str | None:
    """Return the provider that a request is for, as `find_provider` does."""
    url = request.url
    # Only connectors for unix sockets and named pipes have the attribute `path`.
    is_local = hasattr(connector, "path")
    return find_provider(
        url.raw_host or "",
        url.port,
        url.raw_path,
        request.headers.items(),
        is_local=is_local,
        method_and_scheme=f"{request.method} {url.scheme}",
    )


SEAMS = {"BaseConnector.connect": _find_provider}
"""The function that is replaced, and the one that finds the provider of a call."""


async def _connect(
    original: Callable[..., Awaitable[Connection]],
    connector: BaseConnector,
    request: ClientRequest,
    *args: Any,
    **kwargs: Any,
) -> Connection:
    __tracebackhide__ = True
    provider = _find_provider(connector, request)
    if provider is None:
        return await original(connector, request, *args, **kwargs)
    if "Upgrade" in request.headers and is_websocket_path(request.url.path):
        protocol = _open_websocket(connector, request, provider)
        return _build_connection(connector, request, protocol)
    sent = await _read_request(request)
    if provider == UNDECIDED:
        provider = identify_provider(sent)
        if provider is None:
            return await original(connector, request, *args, **kwargs)
    from llm_mock.boundaries.http.client_clock import ClientClock
    from llm_mock.boundaries.http.dispatch import dispatch_request_async
    from llm_mock.boundaries.http.errors import ConnectionFailure

    timeout = kwargs["timeout"] if "timeout" in kwargs else args[1]
    clock = ClientClock(timeout.sock_read, timeout.total)
    response: WireResponse | WireRecording | ConnectionFailure | None
    try:
        response = await dispatch_request_async(sent, provider, current_mock(), clock)
    except ConnectionFailure as error:
        if error.kind not in TIMEOUTS:
            raise _build_exception(request, error) from None
        # Raised only while the response is read: here aiohttp would take it for a failure to
        # connect.
        response = error
    if not isinstance(response, (tuple, ConnectionFailure)):
        connect = functools.partial(original, connector, request, *args, **kwargs)
        return await _connect_for_real(connect, request, response)
    protocol = connector._factory()
    protocol.connection_made(_MockTransport(protocol, request.method, response, clock))
    return _build_connection(connector, request, protocol)


def _build_connection(
    connector: BaseConnector, request: ClientRequest, protocol: ResponseHandler
) -> Connection:
    connection: Connection = sys.modules["aiohttp.connector"].Connection(
        connector, request.connection_key, protocol, connector._loop
    )
    return connection


def _open_websocket(
    connector: BaseConnector, request: ClientRequest, provider: str
) -> ResponseHandler:
    """Return a protocol that is connected to the mock with a WebSocket."""
    __tracebackhide__ = True
    from llm_mock.boundaries.http.websockets.transport import WebSocketTransport

    try:
        from llm_mock.boundaries.http.websockets.session import Origin, WebSocketSession
    except ImportError as missing:
        from llm_mock.boundaries.http.errors import ConnectionFailure

        current_mock().note_problem(NO_FRAMING)
        raise _build_exception(request, ConnectionFailure("connect", NO_FRAMING)) from missing
    url = request.url
    scheme = SOCKET_SCHEMES.get(url.scheme, url.scheme)
    origin = Origin(scheme, url.raw_host or "", url.explicit_port)
    protocol = connector._factory()
    transport = WebSocketTransport(protocol, WebSocketSession(provider, origin))
    protocol.connection_made(transport)
    return protocol


async def _connect_for_real(
    connect: Callable[[], Awaitable[Connection]],
    request: ClientRequest,
    recording: WireRecording | None,
) -> Connection:
    """Return a connection to the provider, which is recorded if there is a recording."""
    __tracebackhide__ = True
    if recording is None:
        with pass_through():
            return await connect()
    request.headers.update(recording.get_header_overrides())
    with pass_through(), recording.guard_send():
        connection = await connect()
    _ResponseRecorder(connection, request.method, recording)
    return connection


async def _read_request(request: ClientRequest) -> WireRequest:
    """Convert a request to the common form of all HTTP libraries.

    A body that can be read only once is replaced by its bytes.
    """
    from llm_mock.boundaries.http.wire import WireRequest

    body: Any = request.body
    if not body or isinstance(body, (bytes, bytearray)):
        content = bytes(body or b"")
    elif hasattr(body, "as_bytes"):
        content = await body.as_bytes()
    else:
        # Before aiohttp 3.12, a payload can only write itself, which closes a file.
        writer = _BodyCollector()
        await body.write(writer)
        content = bytes(writer.content)
        request.body = content
    headers = {name.lower(): value for name, value in request.headers.items()}
    url = request.url
    host = url.raw_host or ""
    return WireRequest(
        request.method,
        host,
        url.raw_path,
        url.raw_query_string,
        headers,
        content,
        url.scheme,
        url.explicit_port,
    )


class _BodyCollector:
    """A stream writer that collects a body."""

    def __init__(self) -> None:
        self.content = bytearray()

    async def write(self, chunk: bytes) -> None:
        """Collect a chunk of the body."""
        self.content += chunk


def _build_exception(request: ClientRequest, error: ConnectionFailure) -> Exception:
    aiohttp = sys.modules["aiohttp"]
    message = str(error)
    exception: Exception
    if error.kind == "dropped":
        exception = aiohttp.ServerDisconnectedError(message)
    else:
        # With a number, as aiohttp shows only the text behind it.
        cause = ConnectionRefusedError(errno.ECONNREFUSED, message)
        exception = aiohttp.ClientConnectorError(request.connection_key, cause)
    return exception


class _ResponseRecorder:
    """Records the bytes that arrive on a connection until aiohttp releases it."""

    def __init__(self, connection: Any, method: str, recording: WireRecording) -> None:
        self._protocol = connection.protocol
        self._method = method
        self._recording = recording
        self._data = bytearray()
        self._receive = self._protocol.data_received
        # On the instance, so that deleting it restores the method of the class.
        self._protocol.data_received = self._take
        connection.add_callback(self._end)

    def _take(self, data: bytes) -> None:
        self._data += data
        self._receive(data)

    def _end(self) -> None:
        del self._protocol.data_received
        source = cast("socket", _ReceivedData(bytes(self._data)))
        response = HTTPResponse(source, method=self._method)
        try:
            response.begin()
            if not END_OF_HEAD.search(self._data):
                # `http.client` takes the end of the data for the end of the head.
                raise RemoteDisconnected("Remote end closed connection without response")
        except (HTTPException, OSError) as error:
            # The connection closed before there was a whole response.
            with self._recording.guard_send():
                raise error
        self._recording.begin(response.status, response.getheaders())
        try:
            self._recording.take(response.read())
            self._recording.end()
        except IncompleteRead as error:
            self._recording.take(error.partial)
            self._recording.close()


class _ReceivedData:
    """Received bytes, which replace the socket from which `http.client` reads."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> io.BytesIO:
        """Return the bytes as a file."""
        return io.BytesIO(self._data)


class _MockTransport(asyncio.Transport):
    """A transport that sends one response after the client has written to it.

    As with a real transport, the protocol is notified of the end of the connection in a later turn
    of the loop: aiohttp closes it within `data_received`, and would lose unread data.

    Args:
        protocol: aiohttp's protocol, which receives the response.
        method: the method of the request.
        response: the response, or a timeout while the client waits for it.
        clock: the clock of the client.
    """

    def __init__(
        self,
        protocol: ResponseHandler,
        method: str,
        response: WireResponse | ConnectionFailure,
        clock: ClientClock,
    ) -> None:
        super().__init__()
        self._protocol = protocol
        self._method = method
        self._response = response
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._sending: asyncio.Task[None] | None = None
        self._readable = asyncio.Event()
        self._readable.set()
        self._closed = False

    def write(self, data: object) -> None:
        """Send the response on the first call; the request has already been read."""
        if self._sending is None and not self._closed:
            self._sending = self._loop.create_task(self._send())

    def writelines(self, lines: object) -> None:
        """Send the response on the first call."""
        self.write(b"")

    def is_closing(self) -> bool:
        """Return True if either end has closed the connection."""
        return self._closed

    def close(self) -> None:
        """Close the connection."""
        self._lose(None)
        if self._sending is not None:
            self._sending.cancel()

    abort = close

    def pause_reading(self) -> None:
        """Pause, as the application reads more slowly than the mock sends."""
        self._readable.clear()

    def resume_reading(self) -> None:
        """Resume after a pause."""
        self._readable.set()

    def is_reading(self) -> bool:
        """Return True if the protocol accepts more data."""
        return not self._closed and self._readable.is_set()

    def _lose(self, error: Exception | None) -> None:
        if not self._closed:
            self._closed = True
            self._loop.call_soon(self._protocol.connection_lost, error)

    async def _send(self) -> None:
        from llm_mock.boundaries.http.errors import ConnectionFailure

        try:
            response = self._response
            if isinstance(response, ConnectionFailure):
                raise response
            await self._send_response(response)
        except ConnectionFailure as error:
            if error.kind in TIMEOUTS:
                self._time_out(error)
            else:
                self._lose(ConnectionResetError(str(error)))
        except Exception as error:
            # If the connection stayed open, the application would wait forever.
            self._lose(error)

    async def _send_response(self, response: WireResponse) -> None:
        has_body = self._method != "HEAD" and response.status not in (204, 304)
        head, is_chunked = _encode_head(response, has_body)
        await self._receive(head)
        if not has_body:
            return
        body = response.body
        chunks: Iterable[bytes | float]
        if isinstance(body, bytes):
            chunks = (body,)
        else:
            chunks = self._clock.read_body(body)
        for chunk in chunks:
            if not isinstance(chunk, bytes):
                await asyncio.sleep(chunk)
            elif chunk:  # an empty chunk would be the last one
                data = b"%x\r\n%b\r\n" % (len(chunk), chunk) if is_chunked else chunk
                await self._receive(data)
        if is_chunked:
            await self._receive(b"0\r\n\r\n")

    async def _receive(self, data: bytes) -> None:
        """Pass data to the protocol as soon as it reads, and let other tasks run."""
        await self._readable.wait()
        if not self._closed:
            self._protocol.data_received(data)
            await asyncio.sleep(0)

    def _time_out(self, error: ConnectionFailure) -> None:
        """Fail as aiohttp's own timers do, which count real time."""
        aiohttp = sys.modules["aiohttp"]
        exception: Exception
        if error.kind == "total timeout":
            exception = asyncio.TimeoutError()
        else:
            # `SocketTimeoutError` is new in aiohttp 3.10.
            socket_error = getattr(aiohttp, "SocketTimeoutError", aiohttp.ServerTimeoutError)
            exception = socket_error(str(error))
        self._protocol.set_exception(exception)
        if self._protocol._payload is not None:
            self._protocol._payload.set_exception(exception)


def _encode_head(response: WireResponse, has_body: bool) -> tuple[bytes, bool]:
    """Return the status line and the headers, and True if the body must be sent in chunks."""
    status, headers = response.status, response.headers
    names = {name.lower() for name, _ in headers}
    is_chunked = has_body and "content-length" not in names
    # A script may set a non-standard status, which has no phrase.
    is_standard = status in HTTPStatus._value2member_map_
    phrase = HTTPStatus(status).phrase if is_standard else ""
    lines = [f"HTTP/1.1 {status} {phrase}"]
    lines += [f"{name}: {value}" for name, value in headers]
    lines.append("connection: close")
    if is_chunked:
        lines.append("transfer-encoding: chunked")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n", is_chunked
