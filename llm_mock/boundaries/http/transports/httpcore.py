"""Intercept httpcore and httpcore2, the connection pools of httpx and httpx2."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.http.interception import UNDECIDED, find_provider, identify_provider
from llm_mock.boundaries.patching import replace
from llm_mock.core.context import current_mock, pass_through

if TYPE_CHECKING:
    from httpcore import AsyncConnectionPool, ConnectionPool, Request, Response

    from llm_mock.boundaries.http.recording import WireRecording

attached: set[object] = set()
"""The functions that replace those of the libraries."""


def attach(httpcore: ModuleType) -> None:
    """Intercept the requests of an `httpcore` module."""
    for pool, name, replacement in (
        (httpcore.ConnectionPool, "handle_request", _handle_request),
        (httpcore.AsyncConnectionPool, "handle_async_request", _handle_async_request),
    ):
        signature = inspect.signature(getattr(pool, name))
        replace(pool, name, functools.partial(replacement, httpcore))
        replaced = getattr(pool, name)
        # respx reads the signature, and does not follow `__wrapped__`.
        replaced.__signature__ = signature
        attached.add(replaced)


def _handle_request(
    httpcore: ModuleType,
    original: Callable[[ConnectionPool, Request], Response],
    pool: ConnectionPool,
    request: Request,
) -> Response:
    __tracebackhide__ = True
    provider = _find_provider(pool, request)
    if provider is None:
        return original(pool, request)
    from llm_mock.boundaries.http.transports import httpcore_wire as wire

    stream: Any = request.stream
    body = b"".join(stream)
    url = request.url
    origin = url.scheme, url.host, url.port
    sent = wire.build_wire_request(
        request.method.decode("ascii"), origin, url.target, request.headers, body
    )
    if provider == UNDECIDED:
        provider = identify_provider(sent)
        if provider is None:
            request.stream = _BufferedBody(body)
            return original(pool, request)
    # From here on, the stream of the request is consumed.
    response, clock = wire.answer_request(httpcore, request, sent, provider, current_mock())
    if not isinstance(response, tuple):
        request.stream = _BufferedBody(body)
        with pass_through(), _guard_send(request, response):
            received = original(pool, request)
        return received if response is None else _record_response(received, response)
    content: bytes | Iterator[bytes]
    if isinstance(response.body, bytes):
        content = response.body
    else:
        content = wire.read_chunks(httpcore, response.body, clock)
    built: Response = wire.build_response(httpcore, response, content=content)
    return built


async def _handle_async_request(
    httpcore: ModuleType,
    original: Callable[[AsyncConnectionPool, Request], Awaitable[Response]],
    pool: AsyncConnectionPool,
    request: Request,
) -> Response:
    __tracebackhide__ = True
    provider = _find_provider(pool, request)
    if provider is None:
        return await original(pool, request)
    from llm_mock.boundaries.http.transports import httpcore_wire as wire

    stream: Any = request.stream
    body = b"".join([chunk async for chunk in stream])
    url = request.url
    origin = url.scheme, url.host, url.port
    sent = wire.build_wire_request(
        request.method.decode("ascii"), origin, url.target, request.headers, body
    )
    if provider == UNDECIDED:
        provider = identify_provider(sent)
        if provider is None:
            request.stream = _BufferedBody(body)
            return await original(pool, request)
    # From here on, the stream of the request is consumed.
    response, clock = await wire.answer_request_async(
        httpcore, request, sent, provider, current_mock()
    )
    if not isinstance(response, tuple):
        request.stream = _BufferedBody(body)
        with pass_through(), _guard_send(request, response):
            received = await original(pool, request)
        return received if response is None else _record_response(received, response)
    content: bytes | AsyncIterator[bytes]
    if isinstance(response.body, bytes):
        content = response.body
    else:
        content = wire.read_chunks_async(httpcore, response.body, clock)
    built: Response = wire.build_response(httpcore, response, content=content)
    return built


def _find_provider(pool: ConnectionPool | AsyncConnectionPool, request: Request) -> str | None:
    """Return the provider that a request is for, as `find_provider` does."""
    url = request.url
    # A private name. Without it, a request to a unix socket is treated as a request to its host.
    is_local = getattr(pool, "_uds", None) is not None
    target = url.target.decode("ascii", "replace")
    host = url.host.decode("ascii")
    method_and_scheme = f"{request.method.decode()} {url.scheme.decode()}"
    return find_provider(
        host,
        url.port,
        target,
        request.headers,
        is_local=is_local,
        method_and_scheme=method_and_scheme,
    )


SEAMS = {
    "ConnectionPool.handle_request": _find_provider,
    "AsyncConnectionPool.handle_async_request": _find_provider,
}
"""The replaced functions, each with the function that finds the provider of a call."""
_USED = (*SEAMS, "Response", "URL", "ConnectError", "ReadTimeout", "RemoteProtocolError")
NAMES = {"httpcore": _USED, "httpcore2": _USED}
"""The names used of the library, beside the attributes of its requests."""
CONSTRUCTORS = ("ConnectionPool.__init__", "AsyncConnectionPool.__init__")
"""The constructors that are refused if `SEAMS` are gone."""


class _BufferedBody:
    """A body that the mock has read, but that is sent to the provider."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        yield self._body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body


def _guard_send(request: Request, recording: WireRecording | None) -> AbstractContextManager[None]:
    """Return a context in which a request is sent and its failure is recorded."""
    if recording is None:
        return nullcontext()
    # In httpcore, headers are bytes, with names in upper or lower case.
    overrides = {}
    for name, value in recording.get_header_overrides().items():
        overrides[name.encode()] = value.encode()
    request.headers = [
        (name, overrides.get(name.lower(), value)) for name, value in request.headers
    ]
    return recording.guard_send()


def _record_response(response: Response, recording: WireRecording) -> Response:
    """Return a response that is recorded while it is read."""
    headers = [
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers
    ]
    recording.begin(response.status, headers)
    response.stream = _RecordedBody(response.stream, recording)
    return response


class _RecordedBody:
    """The body of a response that is recorded while it is read."""

    def __init__(self, stream: Any, recording: WireRecording) -> None:
        self._stream = stream
        self._recording = recording

    def __iter__(self) -> Iterator[bytes]:
        yield from self._recording.record_body(self._stream)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with self._recording.guard_read():
            async for chunk in self._stream:
                self._recording.take(chunk)
                yield chunk

    def close(self) -> None:
        """End the recording, as the client stops reading."""
        # Before the stream is closed, which may raise an error.
        self._recording.close()
        self._stream.close()

    async def aclose(self) -> None:
        """End the recording; the asynchronous form of `close`."""
        self._recording.close()
        await self._stream.aclose()
