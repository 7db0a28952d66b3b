"""Sends what the server was asked on to the provider, for a cassette that records it."""

from __future__ import annotations

import asyncio
import http.client
import queue
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.errors import WireError
from llm_mock.boundaries.http.wire import WireRequest, WireResponse
from llm_mock.boundaries.passthrough import pass_through
from llm_mock.core.events import Wait

if TYPE_CHECKING:
    from llm_mock.boundaries.http.recording import WireRecording

SECONDS_BETWEEN_LOOKS = 0.005
"""How often it is looked whether a further piece of a body has come."""
TIMEOUT_SECONDS = 600.0
NOT_SENT_ON = {
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "accept-encoding",
    "expect",
    "keep-alive",
}
NOT_GIVEN_BACK = {"connection", "content-length", "transfer-encoding", "keep-alive"}
"""Headers that are about a connection, and not about what is said on it."""


async def forward(sent: WireRequest, recording: WireRecording) -> WireResponse:
    """Send a request to its provider, and give its response back as it comes.

    Raises:
        WireError: the provider cannot be reached.
    """
    loop = asyncio.get_running_loop()
    connection = http.client.HTTPSConnection(sent.host, timeout=TIMEOUT_SECONDS)
    try:
        response = await loop.run_in_executor(None, _send, connection, sent, recording)
    except (OSError, http.client.HTTPException) as error:
        raise WireError(
            502, f"{sent.host} could not be asked: {error or type(error).__name__}"
        ) from None
    headers = [
        (name, value) for name, value in response.getheaders() if name.lower() not in NOT_GIVEN_BACK
    ]
    recording.begin(response.status, headers)
    pieces: queue.SimpleQueue[bytes | BaseException | None] = queue.SimpleQueue()
    reading = threading.Thread(
        target=_read_chunks, args=(connection, response, pieces), daemon=True
    )
    reading.start()
    return WireResponse(response.status, headers, _yield_chunks(pieces, recording))


def _send(
    connection: http.client.HTTPSConnection, sent: WireRequest, recording: WireRecording
) -> http.client.HTTPResponse:
    headers = {name: value for name, value in sent.headers.items() if name not in NOT_SENT_ON}
    path = f"{sent.path}?{sent.query}" if sent.query else sent.path
    with pass_through(), recording.guard_send():
        connection.request(sent.method, path, sent.body, {**headers, "accept-encoding": "identity"})
        return connection.getresponse()


def _read_chunks(
    connection: http.client.HTTPSConnection,
    response: http.client.HTTPResponse,
    pieces: queue.SimpleQueue[bytes | BaseException | None],
) -> None:
    try:
        while piece := response.read1(65_536):
            pieces.put(piece)
        pieces.put(None)
    except Exception as error:
        pieces.put(error)
    finally:
        connection.close()


def _yield_chunks(
    pieces: queue.SimpleQueue[bytes | BaseException | None], recording: WireRecording
) -> Iterator[bytes | Wait]:
    """The pieces of the body; waits where none has come."""
    with recording.guard_read():
        while True:
            try:
                piece = pieces.get_nowait()
            except queue.Empty:
                yield Wait(SECONDS_BETWEEN_LOOKS)
                continue
            if piece is None:
                return
            if not isinstance(piece, bytes):
                raise piece
            recording.take(piece)
            yield piece
