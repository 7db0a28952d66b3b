"""An in-memory asyncio transport that connects a WebSocket to the mock."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from llm_mock.core.events import Wait

if TYPE_CHECKING:
    from llm_mock.boundaries.http.websockets.session import WebSocketSession


class WebSocketTransport(asyncio.Transport):
    """An in-memory transport whose other end is the mock.

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
        # Answers are sent in the order of the messages, although each has its own task.
        self._turn = asyncio.Lock()
        self._received: deque[bytes] = deque()
        """The bytes that the client has not read."""
        self._is_paused = False
        self._is_closed = False

    # The client's side

    def write(self, data: object) -> None:
        """Receive bytes from the client, and answer its messages in tasks."""
        if self._is_closed:
            return
        assert isinstance(data, (bytes, bytearray, memoryview))
        messages = self._session.receive(bytes(data))
        self._flush()
        for message in messages:
            # The task runs in the context of the sender, which determines the test's mock.
            task = self._loop.create_task(self._answer(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def can_write_eof(self) -> bool:
        """Return True, as each side can close its own direction."""
        return True

    def write_eof(self) -> None:
        """Note that the client sends no more data."""
        self._session.receive_end()
        self._flush()

    def is_closing(self) -> bool:
        """Return True if either end has closed the connection."""
        return self._is_closed

    def close(self) -> None:
        """Close the connection."""
        if self._is_closed:
            return
        self._is_closed = True
        for task in self._tasks:
            task.cancel()
        # As with a real transport, the protocol is notified in a later turn of the loop.
        self._loop.call_soon(self._protocol.connection_lost, None)

    abort = close

    def pause_reading(self) -> None:
        """Pause, as the client reads more slowly than the mock sends."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """Resume after a pause."""
        self._is_paused = False
        self._loop.call_soon(self._deliver)

    def is_reading(self) -> bool:
        """Return True if the protocol accepts more data."""
        return not self._is_closed and not self._is_paused

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Return the protocol of the client."""
        return self._protocol

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Ignore the limits, as nothing is buffered."""

    def get_write_buffer_size(self) -> int:
        """Return 0, as nothing is buffered."""
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
        """Send the other end's data in a later turn of the loop."""
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
