"""Intercept the library `websockets`, and connect it to the mock.

It gets an in-memory socket or transport, and handles all layers above itself. Connections of its
older implementation, `websockets.legacy`, are refused; see `connection_guard.py`.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, cast
from urllib.parse import urlsplit

from llm_mock.boundaries.http.clients import is_websocket_path
from llm_mock.boundaries.http.interception import find_provider, refuse_url
from llm_mock.boundaries.patching import replace
from llm_mock.core.events import Wait

if TYPE_CHECKING:
    from llm_mock.boundaries.http.websockets.session import WebSocketSession

    GivenHeaders = Mapping[str, str] | Iterable[tuple[str, str]] | None
    """The headers that an application adds, in one of the library's forms."""


class Connector(Protocol):
    """The object that opens a connection, since version 15 of the library."""

    uri: str
    additional_headers: GivenHeaders
    user_agent_header: str | None
    sock: object
    ssl: object


ASYNC_NAMES = ("open_tcp_connection", "create_connection")
"""The names of the method that connects: since websockets 17, and before."""


def attach(client: ModuleType) -> None:
    """Intercept the connections of a client module of `websockets`."""
    if _attach_to_known_names(client):
        return
    # A version before 13.1 or a future one: only connections to providers are refused.
    from llm_mock.boundaries.http.transports.connection_guard import attach_to_websockets

    attach_to_websockets(client)


def _attach_to_known_names(client: ModuleType) -> bool:
    """Return False for an unknown version of the library."""
    if client.__name__ == "websockets.sync.client":
        # Before websockets 17, the function does everything itself.
        if hasattr(client, "reconnect"):
            replace(client.reconnect, "open_connection", _open)
        else:
            replace(client, "connect", _connect)
        return True
    for name in ASYNC_NAMES:
        if hasattr(client.connect, name):
            replace(client.connect, name, _open_async)
            return True
    return False


def open_session(
    uri: str, headers: GivenHeaders, user_agent: str | None
) -> WebSocketSession | None:
    """Return the mock's end of a connection; None to leave the connection alone.

    Args:
        uri: the URI of the server.
        headers: the headers that the application adds to the handshake.
        user_agent: the user agent that the library adds if the application sets none.

    Raises:
        ConnectionRefusedError: the connection would reach a provider and cannot be answered.
    """
    __tracebackhide__ = True
    parts = urlsplit(uri)
    host = parts.hostname or ""
    port = parts.port
    given = _list_headers(headers)
    sent = [("user-agent", user_agent or ""), *given, ("upgrade", "websocket")]
    target = parts.path or "/"
    provider = find_provider(host, port, target, sent, method_and_scheme=f"GET {parts.scheme}")
    if provider is None or not is_websocket_path(target):
        message = refuse_url(uri, is_socket=True)
        if message:
            raise ConnectionRefusedError(message)
        return None
    from llm_mock.boundaries.http.websockets.session import Origin, WebSocketSession

    return WebSocketSession(provider, Origin(parts.scheme, host, port))


def _list_headers(headers: GivenHeaders) -> list[tuple[str, str]]:
    if headers is None:
        return []
    # The library's own class, which may contain a name twice.
    if hasattr(headers, "raw_items"):
        return list(headers.raw_items())
    return list(headers.items() if isinstance(headers, Mapping) else headers)


# asyncio


async def _open_async(original: Callable[..., Awaitable[object]], connector: Connector) -> object:
    __tracebackhide__ = True
    headers, user_agent = _get_handshake_headers(connector)
    session = open_session(connector.uri, headers, user_agent)
    if session is None:
        return await original(connector)
    from websockets.uri import parse_uri

    from llm_mock.boundaries.http.websockets.transport import WebSocketTransport

    # Another name before websockets 17.
    name = "factory" if hasattr(connector, "factory") else "protocol_factory"
    factory = getattr(connector, name)
    connection = factory(parse_uri(connector.uri))
    connection.connection_made(WebSocketTransport(connection, session))
    return connection


def _get_handshake_headers(connector: Connector) -> tuple[GivenHeaders, str | None]:
    # Before websockets 15.
    if hasattr(connector, "handshake_args"):
        headers, user_agent = connector.handshake_args
        return headers, user_agent
    return connector.additional_headers, connector.user_agent_header


# Threads


def _open(original: Callable[..., object], opener: Connector, deadline: object) -> object:
    __tracebackhide__ = True
    session = open_session(opener.uri, opener.additional_headers, opener.user_agent_header)
    if session is None:
        return original(opener, deadline)
    own = opener.sock, opener.ssl
    opener.sock, opener.ssl = MockSocket(session), _NoTLS()
    try:
        return original(opener, deadline)
    finally:
        opener.sock, opener.ssl = own


def _connect(original: Callable[..., object], uri: str, **kwargs: object) -> object:
    __tracebackhide__ = True
    headers = cast("GivenHeaders", kwargs.get("additional_headers"))
    user_agent = cast("str | None", kwargs.get("user_agent_header"))
    session = open_session(uri, headers, user_agent)
    if session is None:
        return original(uri, **kwargs)
    kwargs.pop("ssl_context", None)
    kwargs["sock"] = MockSocket(session)
    kwargs["ssl"] = _NoTLS() if uri.startswith("wss:") else None
    return original(uri, **kwargs)


class _NoTLS:
    """A replacement for the SSL context, as the connection stays in memory."""

    def wrap_socket(self, sock: MockSocket, **_: object) -> MockSocket:
        """Return the socket unchanged."""
        return sock


class MockSocket:
    """A socket whose other end is the mock.

    The bytes stay in memory. A pair of real sockets signals to selectors that bytes can be read.

    Args:
        session: the other end.
    """

    family = None
    """Neither IPv4 nor IPv6."""

    def __init__(self, session: WebSocketSession) -> None:
        self._session = session
        self._readable, self._notifier = socket.socketpair()
        self._lock = threading.RLock()
        self._received: deque[bytes] = deque()
        """The bytes that the client has not read; empty bytes mark the end."""
        self._answers: deque[Iterator[bytes | Wait]] = deque()
        self._thread: threading.Thread | None = None
        """The thread that sends messages with real waits."""
        self._is_closed = threading.Event()

    # The client's side

    def fileno(self) -> int:
        """Return a descriptor that is readable if there are bytes to read."""
        return self._readable.fileno()

    def settimeout(self, timeout: float | None) -> None:
        """Set the seconds for which `recv` waits."""
        self._readable.settimeout(timeout)

    def gettimeout(self) -> float | None:
        """Return the seconds for which `recv` waits."""
        return self._readable.gettimeout()

    def setsockopt(self, *_: object) -> None:
        """Ignore an option of TCP."""

    def getsockname(self) -> tuple[str, int]:
        """Return an address of this machine."""
        return ("127.0.0.1", 0)

    def getpeername(self) -> tuple[str, int]:
        """Return an address of this machine."""
        return ("127.0.0.1", 0)

    def recv(self, size: int) -> bytes:
        """Return received bytes; empty bytes at the end.

        Raises:
            TimeoutError: nothing arrives in time.
            OSError: the socket is closed.
        """
        # Block until there are bytes; the signalling byte stays until all bytes are read.
        self._readable.recv(1, socket.MSG_PEEK)
        with self._lock:
            data = self._received.popleft()
            rest = data[size:]
            if rest or not data:
                # The end can be read repeatedly.
                self._received.appendleft(rest)
            if not self._received:
                self._readable.recv(1)
            return data[:size]

    def sendall(self, data: bytes) -> None:
        """Receive bytes from the client, and answer its messages.

        Raises:
            OSError: the socket is closed.
        """
        if self._is_closed.is_set():
            raise BrokenPipeError("The connection is closed.")
        with self._lock:
            messages = self._session.receive(bytes(data))
            self._flush()
        for message in messages:
            # In this thread, which determines the test's mock and the line in error messages.
            self._answers.append(self._session.answer(message))
            if self._thread is None:
                self._play_answers()

    def send(self, data: bytes) -> int:
        """Receive bytes from the client; same as `sendall`."""
        self.sendall(data)
        return len(data)

    def shutdown(self, how: int) -> None:
        """Note that the client sends no more data."""
        with self._lock:
            self._session.receive_end()
            self._flush()

    def close(self) -> None:
        """Close the socket."""
        self._is_closed.set()
        with self._lock:
            self._end()
            self._readable.close()
            self._notifier.close()

    # The other side

    def _play_answers(self) -> None:
        """Send the answers; after the first real wait, a thread sends the rest."""
        seconds = self._play_until_wait()
        if seconds is not None:
            self._thread = threading.Thread(
                target=self._play_in_thread, args=(seconds,), daemon=True
            )
            self._thread.start()

    def _play_in_thread(self, seconds: float | None) -> None:
        while seconds is not None and not self._is_closed.wait(seconds):
            seconds = self._play_until_wait()
        self._thread = None

    def _play_until_wait(self) -> float | None:
        """Send answers up to a wait, and return its seconds; None if everything was sent."""
        with self._lock:
            while self._answers:
                for item in self._answers[0]:
                    if isinstance(item, Wait):
                        self._flush()
                        return float(item)
                    self._session.send(item)
                self._answers.popleft()
            self._flush()
            return None

    def _flush(self) -> None:
        for data in self._session.take_output():
            self._put(data)

    def _end(self) -> None:
        if not self._received or self._received[-1]:
            self._put(b"")

    def _put(self, data: bytes) -> None:
        is_ended = bool(self._received) and not self._received[-1]
        if is_ended:
            return
        self._received.append(data)
        if len(self._received) == 1:
            self._notifier.send(b"\0")
