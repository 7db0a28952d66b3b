"""httpcore and httpcore2, the connection pools under httpx and httpx2, sync and async."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

from llm_mock.boundaries.http.interception import UNDECIDED, find_provider, identify_provider
from llm_mock.boundaries.passthrough import pass_through
from llm_mock.boundaries.patching import replace

_attached: set[Any] = set()


def attach(httpcore: ModuleType) -> None:
    """Answer the requests of an `httpcore` module that go to providers."""
    for pool, name, replacement in (
        (httpcore.ConnectionPool, "handle_request", _handle_request),
        (httpcore.AsyncConnectionPool, "handle_async_request", _handle_async_request),
    ):
        signature = inspect.signature(getattr(pool, name))
        replace(pool, name, functools.partial(replacement, httpcore))
        getattr(
            pool, name
        ).__signature__ = signature  # respx asks for it, and does not look behind wrappers
        _attached.add(getattr(pool, name))


def is_attached(pool: Any, name: str) -> bool:
    """Whether requests to a pool come here by its method of that name: no test has mocked that in its turn."""
    return getattr(type(pool), name, None) in _attached


def _handle_request(
    httpcore: Any, original: Callable[[Any, Any], Any], pool: Any, request: Any
) -> Any:
    __tracebackhide__ = True
    provider = _provider(pool, request)
    if provider is None:
        return original(pool, request)
    from llm_mock.boundaries.http.transports.httpcore_wire import answered, pieces, response_of

    body = b"".join(request.stream)
    sent = _sent(request, body)
    if provider == UNDECIDED and (provider := identify_provider(sent)) is None:
        request.stream = _Again(body)
        return original(pool, request)
    response, clock = answered(httpcore, request, sent, provider)
    if not isinstance(response, tuple):
        request.stream = _Again(body)
        with pass_through(), _sending(request, response):
            received = original(pool, request)
        return received if response is None else _recorded(received, response)
    content = (
        response.body
        if isinstance(response.body, bytes)
        else pieces(httpcore, clock.read_body(response.body))
    )
    return response_of(httpcore, response, content=content)


async def _handle_async_request(
    httpcore: Any, original: Callable[[Any, Any], Awaitable[Any]], pool: Any, request: Any
) -> Any:
    __tracebackhide__ = True
    provider = _provider(pool, request)
    if provider is None:
        return await original(pool, request)
    from llm_mock.boundaries.http.transports.httpcore_wire import (
        answered_async,
        pieces_async,
        response_of,
    )

    body = b"".join([piece async for piece in request.stream])
    sent = _sent(request, body)
    if provider == UNDECIDED and (provider := identify_provider(sent)) is None:
        request.stream = _Again(body)
        return await original(pool, request)
    response, clock = await answered_async(httpcore, request, sent, provider)
    if not isinstance(response, tuple):
        request.stream = _Again(body)
        with pass_through(), _sending(request, response):
            received = await original(pool, request)
        return received if response is None else _recorded(received, response)
    content = (
        response.body
        if isinstance(response.body, bytes)
        else pieces_async(httpcore, clock.read_body(response.body))
    )
    return response_of(httpcore, response, content=content)


def _provider(pool: Any, request: Any) -> str | None:
    """Return the provider that a request is for, as `find_provider` does."""
    url = request.url
    # A private name: without it, a request to a unix socket is taken for one to the host that it names.
    is_local = getattr(pool, "_uds", None) is not None
    target = url.target.decode("ascii", "replace")
    host, asked = url.host.decode("ascii"), f"{request.method.decode()} {url.scheme.decode()}"
    return find_provider(host, url.port, target, request.headers, is_local=is_local, asked=asked)


SEAMS = {
    "ConnectionPool.handle_request": _provider,
    "AsyncConnectionPool.handle_async_request": _provider,
}
"""The functions that are replaced, and what finds the provider of a call of them."""
_USED = (*SEAMS, "Response", "URL", "ConnectError", "ReadTimeout", "RemoteProtocolError")
NAMES = {"httpcore": _USED, "httpcore2": _USED}
"""What is used of the library, beside the attributes of its requests."""
CONSTRUCTORS = ("ConnectionPool.__init__", "AsyncConnectionPool.__init__")
"""What to refuse where `SEAMS` are gone."""


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
    accepted = {
        name.encode(): value.encode() for name, value in recording.header_overrides().items()
    }
    request.headers = [(name, accepted.get(name.lower(), value)) for name, value in request.headers]
    sending: AbstractContextManager[None] = recording.guard_send()
    return sending


def _recorded(response: Any, recording: Any) -> Any:
    """A response that is recorded while it is read."""
    recording.begin(
        response.status,
        [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers],
    )
    response.stream = _Recorded(response.stream, recording)
    return response


class _Recorded:
    """The body of a response that is recorded while it is read."""

    def __init__(self, stream: Any, recording: Any) -> None:
        self._stream, self._recording = stream, recording

    def __iter__(self) -> Iterator[bytes]:
        yield from self._recording.record_body(self._stream)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with self._recording.guard_read():
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
    from llm_mock.boundaries.http.transports.httpcore_wire import wire_request

    url = request.url
    return wire_request(request.method.decode("ascii"), url.host, url.target, request.headers, body)
