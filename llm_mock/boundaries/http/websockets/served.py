"""The server's end of a WebSocket, for programs outside this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.providers.registry import get_descriptor
from llm_mock.boundaries.http.websockets.session import Origin, SocketClock, WebSocketSession
from llm_mock.boundaries.http.websockets.transport import WebSocketTransport
from llm_mock.boundaries.http.wire import exception_response

if TYPE_CHECKING:
    from llm_mock.boundaries.http.wire import WireRequest, WireResponse
    from llm_mock.core.events import Wait
    from llm_mock.core.mock import Mock

Respond = Callable[["Mock", "WireRequest", str], Awaitable["WireResponse"]]
"""Returns the server's response to a request to a provider."""


class ServedSession(WebSocketSession):
    """A connection of a client to the server.

    Args:
        provider: the provider.
        sent: the handshake, as the provider would receive it.
        get_mock: returns the mock that answers a message; None if nothing is mocked.
        respond: returns the response to a message.
    """

    def __init__(
        self,
        provider: str,
        sent: WireRequest,
        get_mock: Callable[[], Mock | None],
        respond: Respond,
    ) -> None:
        super().__init__(provider, Origin("wss", sent.host, sent.port), get_mock)
        self._respond = respond

    async def _dispatch_async(self, sent: WireRequest, clock: SocketClock) -> WireResponse:
        try:
            response = await self._respond(self._require_mock(), sent, self._provider)
        # As for a request over HTTP. A `ConnectionFailure` is raised again.
        except Exception as error:
            response = exception_response(get_descriptor(self._provider).errors, error)
        clock.delay = response.delay
        return response

    def _sees(self, wait: Wait) -> bool:
        return wait.served


class _Relay(asyncio.Protocol):
    """A protocol that relays the mock's data to the client."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Send bytes to the client."""
        self._transport.write(data)

    def connection_lost(self, error: Exception | None) -> None:
        """Close the connection to the client."""
        self._transport.close()


def open_websocket(
    session: WebSocketSession, sent: WireRequest, transport: asyncio.Transport
) -> WebSocketTransport:
    """Answer a handshake, and return a function that receives the client's later data.

    Args:
        session: the mock's end of the connection.
        sent: the handshake.
        transport: the connection to the client.
    """
    target = f"{sent.path}?{sent.query}" if sent.query else sent.path
    lines = [f"GET {target} HTTP/1.1"]
    for name, value in sent.headers.items():
        lines.append(f"{name}: {value}")
    lines += ["", ""]
    handshake = "\r\n".join(lines)
    websocket = WebSocketTransport(_Relay(transport), session)
    websocket.write(handshake.encode("latin-1", "replace"))
    return websocket
