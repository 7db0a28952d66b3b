"""Intercept httpx and httpx2 above httpcore, to save the time that httpcore needs.

Only requests that the mock answers are answered here. All others go on to httpcore, where
`httpcore.py` intercepts them: requests that are recorded or pass through, or that the test itself
mocks there.

Clients share the SSL context that they create by default (`ssl_contexts.py`). An application that
uses `verify`, `cert` or `create_ssl_context` gets its own context.
"""

from __future__ import annotations

import functools
import ssl
import sys
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.http.interception import (
    UNDECIDED,
    find_provider,
    identify_provider,
    is_answering,
)
from llm_mock.boundaries.http.ssl_contexts import share_context
from llm_mock.boundaries.http.transports import httpcore
from llm_mock.boundaries.patching import decorate, replace
from llm_mock.core.context import current_mock, has_passthrough

if TYPE_CHECKING:
    from httpx import AsyncHTTPTransport, HTTPTransport, Request, Response

    from llm_mock.core.mock import Mock

NAMES: dict[str, tuple[str, ...]] = {}
"""Empty, as no name is required: if a name is missing, httpcore answers the requests of httpx."""


def attach(httpx: ModuleType) -> None:
    """Intercept the requests of an `httpx` module, and share the SSL context of its clients."""
    # A private module with the classes for streamed bodies; see `NAMES`.
    transports = sys.modules.get(f"{httpx.__name__}._transports.default")
    if transports is None:
        return
    if hasattr(transports, "create_ssl_context"):
        replace(transports, "create_ssl_context", _create_ssl_context)
    if hasattr(transports, "ResponseStream"):
        decorator = functools.partial(_decorate_handle_request, httpx, transports)
        decorate(httpx.HTTPTransport, "handle_request", decorator)
        async_decorator = functools.partial(_decorate_handle_async_request, httpx, transports)
        decorate(httpx.AsyncHTTPTransport, "handle_async_request", async_decorator)


def _decorate_handle_request(
    httpx: ModuleType,
    transports: ModuleType,
    original: Callable[[HTTPTransport, Request], Response],
) -> Callable[[HTTPTransport, Request], Response]:
    """Return a method that answers requests from the mock, and passes others to the original."""

    @functools.wraps(original)
    def handle_request(transport: HTTPTransport, request: Request) -> Response:
        __tracebackhide__ = True
        found = _find_provider_and_mock(transport, "handle_request", request)
        if found is None:
            return original(transport, request)
        provider, mock = found
        from llm_mock.boundaries.http.transports import httpcore_wire as wire

        url = request.url
        origin = url.raw_scheme, url.raw_host, url.port
        sent = wire.build_wire_request(
            request.method, origin, url.raw_path, request.headers.raw, request.read()
        )
        if provider == UNDECIDED:
            identified = identify_provider(sent)
            if identified is None:
                return original(transport, request)
            provider = identified
        response: Any
        response, clock = wire.answer_request(httpx, request, sent, provider, mock, can_send=False)
        if isinstance(response.body, bytes):
            stream = httpx.ByteStream(response.body)
        else:
            chunks = wire.read_chunks(httpx, response.body, clock)
            stream = transports.ResponseStream(chunks)
        built: Response = wire.build_response(httpx, response, stream=stream)
        return built

    return handle_request


def _decorate_handle_async_request(
    httpx: ModuleType,
    transports: ModuleType,
    original: Callable[[AsyncHTTPTransport, Request], Awaitable[Response]],
) -> Callable[[AsyncHTTPTransport, Request], Awaitable[Response]]:
    """Return the asynchronous method; the asynchronous form of `_decorate_handle_request`."""

    @functools.wraps(original)
    async def handle_async_request(transport: AsyncHTTPTransport, request: Request) -> Response:
        __tracebackhide__ = True
        found = _find_provider_and_mock(transport, "handle_async_request", request)
        if found is None:
            return await original(transport, request)
        provider, mock = found
        from llm_mock.boundaries.http.transports import httpcore_wire as wire

        url = request.url
        origin = url.raw_scheme, url.raw_host, url.port
        sent = wire.build_wire_request(
            request.method, origin, url.raw_path, request.headers.raw, await request.aread()
        )
        if provider == UNDECIDED:
            identified = identify_provider(sent)
            if identified is None:
                return await original(transport, request)
            provider = identified
        response: Any
        response, clock = await wire.answer_request_async(
            httpx, request, sent, provider, mock, can_send=False
        )
        if isinstance(response.body, bytes):
            stream = httpx.ByteStream(response.body)
        else:
            chunks = wire.read_chunks_async(httpx, response.body, clock)
            stream = transports.AsyncResponseStream(chunks)
        built: Response = wire.build_response(httpx, response, stream=stream)
        return built

    return handle_async_request


def _find_provider_and_mock(
    transport: HTTPTransport | AsyncHTTPTransport, name: str, request: Request
) -> tuple[str, Mock] | None:
    """Return the provider of a request and the mock that certainly answers it.

    Returns None for other requests, including requests that may be sent because they are recorded
    or because their model passes through.

    Args:
        transport: the transport of the client.
        name: the method of its connection pool that sends the request.
        request: the request.
    """
    url = request.url
    # Private names. Without `_pool`, the request goes on to httpcore, where it is answered.
    pool = getattr(transport, "_pool", None)
    is_local = getattr(pool, "_uds", None) is not None
    target = url.raw_path.decode("ascii", "replace")
    host = url.raw_host.decode("ascii")
    provider = find_provider(host, url.port, target, request.headers.raw, is_local=is_local)
    if provider is None or has_passthrough():
        return None
    # If the test has replaced the method of the pool, it answers the request itself.
    if getattr(type(pool), name, None) not in httpcore.attached:
        return None
    mock = current_mock()
    return None if mock.cassette is not None else (provider, mock)


def _create_ssl_context(
    original: Callable[..., ssl.SSLContext],
    verify: object = True,
    cert: object = None,
    trust_env: bool = True,
) -> ssl.SSLContext:
    __tracebackhide__ = True
    create = functools.partial(original, verify=verify, cert=cert, trust_env=trust_env)
    is_default = verify is True and cert is None
    if not is_default or not is_answering():
        return create()
    return share_context(create, original, trust_env)
