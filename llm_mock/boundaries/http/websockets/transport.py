"""An in-memory transport of asyncio that leads a WebSocket to the mock."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from llm_mock.core.events import Wait

if TYPE_CHECKING:
    from llm_mock.boundaries.http.websockets.session import WebSocketSession


class WebSocketTransport(asyncio.Transport):
    """A transport whose other end is the mock.

    Args:
        protocol: the protocol of the client.
        session: the other end.
    """

    def __init__(self, protocol: asyncio.Protocol, session: WebSocketSession) -> None:
        super().__init__()
        self._protocol = protocol
        self._session = session
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        # Answers are sent in the order of the messages, although each has a task of its own.
        self._turn = asyncio.Lock()
        self._received: deque[bytes] = deque()
        """The bytes that the client has not read."""
        self._is_paused = False
        self._is_closed = False

    # The client's side

    def write(self, data: object) -> None:
        """Take in bytes of the client, and have tasks answer its messages."""
        if self._is_closed:
            return
        assert isinstance(data, (bytes, bytearray, memoryview))
        messages = self._session.receive(bytes(data))
        self._flush()
        for message in messages:
            # A task in the context of the sender: that tells which test's mock answers.
            task = self._loop.create_task(self._answer(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def can_write_eof(self) -> bool:
        """Return True: each side closes its direction by itself."""
        return True

    def write_eof(self) -> None:
        """Take in that the client sends nothing more."""
        self._session.receive_end()
        self._flush()

    def is_closing(self) -> bool:
        """Return True if the connection was closed, by one end or the other."""
        return self._is_closed

    def close(self) -> None:
        """Close the connection."""
        if self._is_closed:
            return
        self._is_closed = True
        for task in self._tasks:
            task.cancel()
        # As with a real transport, the protocol learns of it in a later turn of the loop.
        self._loop.call_soon(self._protocol.connection_lost, None)

    abort = close

    def pause_reading(self) -> None:
        """Pause: the client reads more slowly than it is sent to."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """Resume after a pause."""
        self._is_paused = False
        self._loop.call_soon(self._deliver)

    def is_reading(self) -> bool:
        """Return True if the protocol takes further data."""
        return not self._is_closed and not self._is_paused

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Return the protocol of the client."""
        return self._protocol

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Ignore the limits: nothing is buffered."""

    def get_write_buffer_size(self) -> int:
        """Return 0: nothing is buffered."""
        return 0

    # The other side

    async def _answer(self, message: bytes) -> None:
        async with self._turn:
            for item in await self._session.answer_async(message):
                if isinstance(item, Wait):
                    self._flush()
                    await asyncio.sleep(item)
                else:
                    self._session.send(item)
            self._flush()

    def _flush(self) -> None:
        """Send what the other end has to say, in a later turn of the loop."""
        output = self._session.take_output()
        if output:
            self._received.extend(output)
            self._loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        while self._received and self.is_reading():
            data = self._received.popleft()
            if data:
                self._protocol.data_received(data)
            else:
                self._protocol.eof_received()
                self.close()
