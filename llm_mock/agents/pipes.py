"""The two ends of a process: what it is written, and what it writes."""

from __future__ import annotations

import asyncio
from typing import cast


class Input(asyncio.BaseProtocol):
    """Writes to a pipe, no faster than it is read."""

    def __init__(self) -> None:
        self._room = asyncio.Event()
        self._room.set()
        self._transport: asyncio.WriteTransport | None = None
        self.lost = asyncio.Event()
        """Set when the pipe has no reader any more, or was closed here."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The pipe can be written to."""
        self._transport = cast("asyncio.WriteTransport", transport)

    def pause_writing(self) -> None:
        """The pipe is full."""
        self._room.clear()

    def resume_writing(self) -> None:
        """The pipe has room again."""
        self._room.set()

    def connection_lost(self, error: Exception | None) -> None:
        """The pipe has no reader any more, or was closed here."""
        self._transport = None
        self._room.set()
        self.lost.set()

    async def write(self, data: bytes) -> None:
        """Write bytes, and wait while there is no room for more.

        Raises:
            BrokenPipeError: the pipe had no reader any more.
        """
        if self._transport is None:
            raise BrokenPipeError
        self._transport.write(data)
        await self._room.wait()


class Output(asyncio.Protocol):
    """Receives the bytes of a pipe, and keeps so many of them.

    Args:
        limit: how many bytes are kept; of more, the first half and the last half.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._head = bytearray()
        self._tail = bytearray()
        self._received = 0
        self.ended = asyncio.Event()
        """Set when the pipe has ended, because no process has its other end any more."""

    def data_received(self, data: bytes) -> None:
        """Keep what is to be kept."""
        self._received += len(data)
        room = self._limit // 2 - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._limit:  # not each time: that would move the bytes about for every few
            self._cut()

    def connection_lost(self, error: Exception | None) -> None:
        """The pipe has ended, or was closed here."""
        self.ended.set()

    def _cut(self) -> None:
        kept = self._limit - self._limit // 2
        del self._tail[: max(0, len(self._tail) - kept)]

    def text(self) -> str:
        """What was kept, as UTF-8, with U+FFFD where it is not; says how many bytes were cut in the middle."""
        self._cut()
        cut = self._received - len(self._head) - len(self._tail)
        if not cut:
            return bytes(self._head + self._tail).decode(errors="replace")
        first, last = (bytes(part).decode(errors="replace") for part in (self._head, self._tail))
        return first + f"\n[… {cut:,} bytes cut: more than {self._limit:,} …]\n" + last
