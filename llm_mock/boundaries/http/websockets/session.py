"""The provider's end of a WebSocket, without I/O.

It uses the framing of the library `websockets` in its sans-I/O form:
https://websockets.readthedocs.io/en/stable/howto/sansio.html.
"""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import OPEN
from websockets.server import ServerProtocol

from llm_mock.boundaries.http.client_clock import ClientClock
from llm_mock.boundaries.http.dispatch import dispatch_request, dispatch_request_async
from llm_mock.boundaries.http.errors import ConnectionFailure
from llm_mock.boundaries.http.websockets.realtime import RealtimeSocket, RealtimeTurn
from llm_mock.boundaries.http.websockets.responses import ResponsesSocket, ResponsesTurn
from llm_mock.boundaries.http.wire import WireRequest, WireResponse
from llm_mock.core.context import current_mock
from llm_mock.core.events import Wait
from llm_mock.errors import LLMMockError

if TYPE_CHECKING:
    from llm_mock.boundaries.http.recording import WireRecording
    from llm_mock.core.mock import Mock

MESSAGE_FRAMES = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)
NOT_MOCKED = (
    "No mock is active, and this connection does not lead to a provider. Open the connection in "
    "the test that uses it."
)
NOT_SENT = (
    "A call over a WebSocket cannot be sent to the provider or recorded, so nothing was sent. "
    "Call the model over HTTP instead, for example with client.responses.create; to use the real "
    "WebSocket, mark the test with @pytest.mark.llm_live."
)
NO_WAIT = Wait(0)
# Without a parent logger, so that the application's logs show only its own end.
_logger = logging.Logger("llm_mock.websockets", logging.CRITICAL)


class Origin(NamedTuple):
    """The server to which a client connects."""

    scheme: str
    """`ws` or `wss`."""
    host: str
    port: int | None
    """None for the default port of the scheme."""


class SocketClock(ClientClock):
    """The clock of a client whose timeouts are not known, as each `recv` may have its own."""

    def __init__(self) -> None:
        # Infinite and not None, which would mean that the client waits forever.
        super().__init__(read=math.inf)
        self.delay = NO_WAIT
        """The time before the response."""

    def advance(self, wait: Wait) -> Iterator[float]:
        """Store the wait before the response, as the connection waits after the request."""
        self.delay = wait
        return iter(())


class WebSocketSession:
    """A connection of a client, whose messages the mock answers.

    Args:
        provider: the provider, as `find_provider` names it.
        origin: the server to which the client connects.
        get_mock: returns the mock that answers a message; None if nothing is mocked.
    """

    def __init__(
        self,
        provider: str,
        origin: Origin,
        get_mock: Callable[[], Mock | None] = current_mock,
    ) -> None:
        self._provider = provider
        self._origin = origin
        self._get_mock = get_mock
        self._protocol = ServerProtocol(max_size=None, logger=_logger)
        self._api: ResponsesSocket | RealtimeSocket | None = None
        self._fragments: list[bytes] = []
        self._is_silent = False
        """True if the session sends nothing more, although the connection stays open."""
        self._is_dropped = False

    # Bytes

    def receive(self, data: bytes) -> list[bytes]:
        """Receive bytes from the client, and return the complete messages."""
        if self._is_silent or self._is_dropped:
            return []
        self._protocol.receive_data(data)
        messages = []
        for event in self._protocol.events_received():
            if isinstance(event, Request):
                self._accept(event)
            elif isinstance(event, Frame) and event.opcode in MESSAGE_FRAMES:
                self._fragments.append(bytes(event.data))
                if event.fin:
                    messages.append(b"".join(self._fragments))
                    self._fragments.clear()
        return messages

    def receive_end(self) -> None:
        """Note that the client sends no more data."""
        self._protocol.receive_eof()

    def take_output(self) -> list[bytes]:
        """Return the bytes to send to the client; empty bytes mark the end."""
        output = self._protocol.data_to_send()
        return [*output, b""] if self._is_dropped else output

    def send(self, message: bytes) -> None:
        """Send a message to the client, unless the connection is closing."""
        if self._protocol.state is OPEN:
            self._protocol.send_text(message)

    def _accept(self, handshake: Request) -> None:
        response = self._protocol.accept(handshake)
        self._protocol.send_response(response)
        path, _, query = handshake.path.partition("?")
        headers = {name.lower(): value for name, value in handshake.headers.raw_items()}
        scheme, host, port = self._origin
        # A call to a model is recorded as a POST, regardless of the transport.
        sent = WireRequest("POST", host, path, query, headers, b"", scheme, port)
        if path.endswith("/realtime"):
            self._api = RealtimeSocket(sent, self._get_mock)
        else:
            self._api = ResponsesSocket(self._provider, sent, self._get_mock)
        for message in self._api.greet():
            self.send(message)

    # Messages

    def answer(self, message: bytes) -> Iterator[bytes | Wait]:
        """Return the messages that answer a client's message, and real waits between them."""
        turn = self._begin_turn(message)
        if turn.sent is None:
            return self._play(turn, None)
        clock = SocketClock()
        try:
            response = dispatch_request(turn.sent, self._provider, self._require_mock(), clock)
        except ConnectionFailure as failure:
            self._fail(failure)
            return iter(())
        return self._play_response(turn, response, clock)

    async def answer_async(self, message: bytes) -> Iterator[bytes | Wait]:
        """Return the messages that answer a client's message; the asynchronous form of `answer`."""
        turn = self._begin_turn(message)
        if turn.sent is None:
            return self._play(turn, None)
        clock = SocketClock()
        try:
            response = await self._dispatch_async(turn.sent, clock)
        except ConnectionFailure as failure:
            self._fail(failure)
            return iter(())
        return self._play_response(turn, response, clock)

    async def _dispatch_async(
        self, sent: WireRequest, clock: SocketClock
    ) -> WireResponse | WireRecording | None:
        return await dispatch_request_async(sent, self._provider, self._require_mock(), clock)

    def _require_mock(self) -> Mock:
        mock = self._get_mock()
        # `_begin_turn` has already checked that there is a mock.
        assert mock is not None
        return mock

    def _sees(self, wait: Wait) -> bool:
        """Return True if the client really waits."""
        return wait.real

    def _begin_turn(self, message: bytes) -> ResponsesTurn | RealtimeTurn:
        assert self._api is not None
        if self._get_mock() is None:
            return self._api.refuse_turn(NOT_MOCKED)
        return self._api.begin_turn(message)

    def _play_response(
        self,
        turn: ResponsesTurn | RealtimeTurn,
        response: WireResponse | WireRecording | None,
        clock: SocketClock,
    ) -> Iterator[bytes | Wait]:
        if isinstance(response, WireResponse):
            return self._play(turn, response, clock.delay)
        assert self._api is not None
        if response is None:
            self._require_mock().note_problem(NOT_SENT)
        else:
            response.refuse(LLMMockError(NOT_SENT))
        return self._play(self._api.refuse_turn(NOT_SENT), None)

    def _play(
        self,
        turn: ResponsesTurn | RealtimeTurn,
        response: WireResponse | None,
        delay: Wait = NO_WAIT,
    ) -> Iterator[bytes | Wait]:
        """Yield the messages of an answer, and the real waits of the client."""
        items = itertools.chain((delay,), turn.read_answer(response))
        try:
            for item in items:
                if isinstance(item, bytes):
                    yield item
                elif math.isinf(item):
                    self._is_silent = True
                    return
                elif self._sees(item):
                    yield item
        except ConnectionFailure as failure:
            self._fail(failure)

    def _fail(self, failure: ConnectionFailure) -> None:
        """Send nothing more after a timeout; close the connection after any other failure."""
        if failure.kind == "timeout":
            self._is_silent = True
        else:
            self._is_dropped = True
