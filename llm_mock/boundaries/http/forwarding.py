"""Forward requests from the server to the provider, so that a cassette can record them."""

from __future__ import annotations

import asyncio
import http.client
import queue
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.wire import WireRequest, WireResponse
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.context import pass_through
from llm_mock.core.events import RealWait, Wait

if TYPE_CHECKING:
    from llm_mock.boundaries.http.recording import WireRecording

POLL_SECONDS = 0.005
"""The interval at which to check for the next chunk of a body."""
TIMEOUT_SECONDS = 600.0
"""The default timeout of the SDKs."""
# Headers about a connection, and not about the request or response on it (RFC 9110, 7.6.1).
DROPPED_REQUEST_HEADERS = {
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "accept-encoding",
    "expect",
    "keep-alive",
}
DROPPED_RESPONSE_HEADERS = {"connection", "content-length", "transfer-encoding", "keep-alive"}

Chunks = queue.SimpleQueue[bytes | BaseException | None]
"""The chunks of a body as they arrive, and an exception or None for its end."""


async def forward(sent: WireRequest, recording: WireRecording) -> WireResponse:
    """Send a request to its provider, and return the response before its body has arrived.

    Raises:
        WireError: the provider cannot be reached.
    """
    loop = asyncio.get_running_loop()
    connection = _create_connection(sent)
    try:
        # In a thread, as http.client blocks and the server must answer other clients.
        response = await loop.run_in_executor(None, _send, connection, sent, recording)
    except (OSError, http.client.HTTPException) as error:
        problem = str(error) or type(error).__name__
        raise WireError(502, f"Cannot reach {sent.host}: {problem}") from None
    headers = []
    for name, value in response.getheaders():
        if name.lower() not in DROPPED_RESPONSE_HEADERS:
            headers.append((name, value))
    recording.begin(response.status, headers)
    chunks: Chunks = queue.SimpleQueue()
    reader = threading.Thread(target=_read_chunks, args=(connection, response, chunks), daemon=True)
    reader.start()
    return WireResponse(response.status, headers, _yield_chunks(chunks, recording))


def _create_connection(sent: WireRequest) -> http.client.HTTPConnection:
    host = sent.host if sent.port is None else f"{sent.host}:{sent.port}"
    if sent.scheme == "http":
        return http.client.HTTPConnection(host, timeout=TIMEOUT_SECONDS)
    return http.client.HTTPSConnection(host, timeout=TIMEOUT_SECONDS)


def _send(
    connection: http.client.HTTPConnection, sent: WireRequest, recording: WireRecording
) -> http.client.HTTPResponse:
    headers = {}
    for name, value in sent.headers.items():
        if name not in DROPPED_REQUEST_HEADERS:
            headers[name] = value
    # The cassette holds bodies as text.
    headers["accept-encoding"] = "identity"
    target = f"{sent.path}?{sent.query}" if sent.query else sent.path
    with pass_through(), recording.guard_send():
        connection.request(sent.method, target, sent.body, headers)
        return connection.getresponse()


def send_recorded(
    sent: WireRequest, recording: WireRecording
) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    """Send a request to its provider, and return the connection and the head of the response."""
    connection = _create_connection(sent)
    return connection, _send(connection, sent, recording)


def receive_body(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield the chunks of the body of a response."""
    while True:
        chunk = response.read1(65_536)
        if not chunk:
            return
        yield chunk


def _read_chunks(
    connection: http.client.HTTPConnection, response: http.client.HTTPResponse, chunks: Chunks
) -> None:
    try:
        for chunk in receive_body(response):
            chunks.put(chunk)
        chunks.put(None)
    # Raised again by the reader of the queue: nobody sees an exception of this thread.
    except Exception as error:
        chunks.put(error)
    finally:
        connection.close()


def _yield_chunks(chunks: Chunks, recording: WireRecording) -> Iterator[bytes | Wait]:
    """Yield the chunks of a body, and waits until the next one has arrived."""
    with recording.guard_read():
        while True:
            try:
                chunk = chunks.get_nowait()
            except queue.Empty:
                # A real wait, so that the server sends buffered data and serves other clients.
                yield RealWait(POLL_SECONDS)
                continue
            if chunk is None:
                return
            if not isinstance(chunk, bytes):
                raise chunk
            recording.take(chunk)
            yield chunk
