"""httpcore and httpcore2, the connection pools under httpx and httpx2, sync and async."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.attaching import replace
from llm_mock.boundaries.for_real import for_real
from llm_mock.boundaries.http.door import guarded_provider, response_to, response_to_async, sleep

if TYPE_CHECKING:
    from llm_mock.boundaries.http.client_clock import ClientClock

EXCEPTIONS = {"connect": "ConnectError", "dropped": "RemoteProtocolError", "timeout": "ReadTimeout"}


def attach(httpcore: ModuleType) -> None:
    """Answer the requests of an `httpcore` module that go to providers."""
    for pool, name, replacement in (
        (httpcore.ConnectionPool, "handle_request", _handle_request),
        (httpcore.AsyncConnectionPool, "handle_async_request", _handle_async_request),
    ):
        signature = inspect.signature(getattr(pool, name))
        replace(pool, name, functools.partial(replacement, httpcore))
        getattr(pool, name).__signature__ = signature  # respx asks for it, and does not look behind wrappers


def _handle_request(httpcore: Any, original: Callable[[Any, Any], Any], pool: Any, request: Any) -> Any:
    __tracebackhide__ = True
    provider = guarded_provider(request.url.host.decode("ascii"), request.url.port)
    if provider is None:
        return original(pool, request)
    from llm_mock.boundaries.http.errors import ConnectionFails

    body = b"".join(request.stream)
    clock = _clock(request)
    try:
        response = response_to(_sent(request, body), provider, clock)
    except ConnectionFails as error:
        raise _exception(httpcore, error) from None
    if not isinstance(response, tuple):
        request.stream = _Again(body)
        with for_real(), _sending(request, response):
            received = original(pool, request)
        return received if response is None else _recorded(received, response)
    content = response.body if isinstance(response.body, bytes) else _pieces(httpcore, clock.pieces(response.body))
    return _response(httpcore, response, content)


async def _handle_async_request(
    httpcore: Any, original: Callable[[Any, Any], Awaitable[Any]], pool: Any, request: Any
) -> Any:
    __tracebackhide__ = True
    provider = guarded_provider(request.url.host.decode("ascii"), request.url.port)
    if provider is None:
        return await original(pool, request)
    from llm_mock.boundaries.http.errors import ConnectionFails

    body = b"".join([piece async for piece in request.stream])
    clock = _clock(request)
    try:
        response = await response_to_async(_sent(request, body), provider, clock)
    except ConnectionFails as error:
        raise _exception(httpcore, error) from None
    if not isinstance(response, tuple):
        request.stream = _Again(body)
        with for_real(), _sending(request, response):
            received = await original(pool, request)
        return received if response is None else _recorded(received, response)
    content = (
        response.body if isinstance(response.body, bytes) else _pieces_async(httpcore, clock.pieces(response.body))
    )
    return _response(httpcore, response, content)


class _Again:
    """A body that was read, to be sent after all."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        yield self._body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body


def _sending(request: Any, recording: Any) -> AbstractContextManager[None]:
    """Within it a request is sent that is recorded, or is not."""
    if recording is None:
        return nullcontext()
    accepted = {name.encode(): value.encode() for name, value in recording.further_headers().items()}
    request.headers = [(name, accepted.get(name.lower(), value)) for name, value in request.headers]
    sending: AbstractContextManager[None] = recording.sending()
    return sending


def _recorded(response: Any, recording: Any) -> Any:
    """A response that is recorded while it is read."""
    recording.begin(
        response.status, [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers]
    )
    response.stream = _Recorded(response.stream, recording)
    return response


class _Recorded:
    """The body of a response that is recorded while it is read."""

    def __init__(self, stream: Any, recording: Any) -> None:
        self._stream, self._recording = stream, recording

    def __iter__(self) -> Iterator[bytes]:
        yield from self._recording.pieces(self._stream)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with self._recording.reading():
            async for piece in self._stream:
                self._recording.take(piece)
                yield piece

    def close(self) -> None:
        """The client reads no further."""
        self._recording.close()
        self._stream.close()

    async def aclose(self) -> None:
        """The same."""
        self._recording.close()
        await self._stream.aclose()


def _sent(request: Any, body: bytes) -> Any:
    from llm_mock.boundaries.http.wire import WireRequest

    path, _, query = request.url.target.decode("ascii", "replace").partition("?")
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in request.headers}
    return WireRequest(request.method.decode("ascii"), request.url.host.decode("ascii"), path, query, headers, body)


def _clock(request: Any) -> ClientClock:
    from llm_mock.boundaries.http.client_clock import ClientClock

    return ClientClock(request.extensions.get("timeout", {}).get("read"))


def _exception(httpcore: Any, error: Any) -> Exception:
    exception: Exception = getattr(httpcore, EXCEPTIONS[error.kind])(str(error))
    return exception


def _response(httpcore: Any, response: Any, content: Any) -> Any:
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in response.headers]
    extensions = {"http_version": b"HTTP/1.1"}
    return httpcore.Response(response.status, headers=headers, content=content, extensions=extensions)


def _pieces(httpcore: Any, body: Iterable[Any]) -> Iterator[bytes]:
    from llm_mock.boundaries.http.errors import ConnectionFails

    try:
        for piece in body:
            if isinstance(piece, bytes):
                yield piece
            else:
                time.sleep(piece)
    except ConnectionFails as error:
        raise _exception(httpcore, error) from None


async def _pieces_async(httpcore: Any, body: Iterable[Any]) -> AsyncIterator[bytes]:
    from llm_mock.boundaries.http.errors import ConnectionFails

    try:
        for piece in body:
            if isinstance(piece, bytes):
                yield piece
            else:
                await sleep(piece)
    except ConnectionFails as error:
        raise _exception(httpcore, error) from None
