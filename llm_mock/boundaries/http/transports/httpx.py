"""httpx and httpx2: what the mock answers is answered here, before httpcore, which costs time of its own.

All else goes on to httpcore, where `httpcore.py` looks at it: what is recorded or passes through, and what a test has
mocked there.

The SSL context of a client, which takes longer to make than many calls, is made once, as a mocked call makes no
connection. Only the one that a client makes by default is shared: with `verify` or `cert`, or from
`create_ssl_context`, an application gets its own. One that somebody changed is shared no further, or a test that turns
verification off would do so for those after it.
"""

from __future__ import annotations

import functools
import os
import ssl
import sys
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

from llm_mock.boundaries.http.interception import (
    UNDECIDED,
    find_provider,
    identify_provider,
    is_answering,
    is_sent_for_real,
)
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.http.transports import httpcore
from llm_mock.boundaries.patching import replace

VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")
"""What the default context depends on, beside what a test may have put in place of Python's own."""

_shared: dict[Any, tuple[ssl.SSLContext, object]] = {}
"""The contexts, each with its settings when it was made."""


NAMES: dict[str, tuple[str, ...]] = {}
"""None is needed: without a name of httpx's, its requests are answered by way of httpcore."""


def attach(httpx: ModuleType) -> None:
    """Answer the requests of an `httpx` module that go to providers, and have its clients share their SSL context."""
    # A private module, whose classes make a streamed response; without it httpcore's transport answers.
    transports = sys.modules.get(f"{httpx.__name__}._transports.default")
    if hasattr(transports, "create_ssl_context"):
        replace(transports, "create_ssl_context", _create_ssl_context)
    if hasattr(transports, "ResponseStream"):
        replace(
            httpx.HTTPTransport,
            "handle_request",
            functools.partial(_handle_request, httpx, transports),
        )
        answer = functools.partial(_handle_async_request, httpx, transports)
        replace(httpx.AsyncHTTPTransport, "handle_async_request", answer)


def _handle_request(
    httpx: Any, transports: Any, original: Callable[[Any, Any], Any], transport: Any, request: Any
) -> Any:
    __tracebackhide__ = True
    provider = _provider(transport, "handle_request", request)
    if provider is None:
        return original(transport, request)
    from llm_mock.boundaries.http.transports import httpcore_wire as wire

    url = request.url
    sent = wire.wire_request(
        request.method, url.raw_host, url.raw_path, request.headers.raw, request.read()
    )
    if provider == UNDECIDED and (provider := identify_provider(sent)) is None:
        return original(transport, request)
    response: Any
    response, clock = wire.answered(httpx, request, sent, provider)
    if isinstance(response.body, bytes):
        stream = httpx.ByteStream(response.body)
    else:
        stream = transports.ResponseStream(wire.pieces(httpx, clock.read_body(response.body)))
    return wire.response_of(httpx, response, stream=stream)


async def _handle_async_request(
    httpx: Any,
    transports: Any,
    original: Callable[[Any, Any], Awaitable[Any]],
    transport: Any,
    request: Any,
) -> Any:
    __tracebackhide__ = True
    provider = _provider(transport, "handle_async_request", request)
    if provider is None:
        return await original(transport, request)
    from llm_mock.boundaries.http.transports import httpcore_wire as wire

    url = request.url
    sent = wire.wire_request(
        request.method, url.raw_host, url.raw_path, request.headers.raw, await request.aread()
    )
    if provider == UNDECIDED and (provider := identify_provider(sent)) is None:
        return await original(transport, request)
    response: Any
    response, clock = await wire.answered_async(httpx, request, sent, provider)
    if isinstance(response.body, bytes):
        stream = httpx.ByteStream(response.body)
    else:
        stream = transports.AsyncResponseStream(
            wire.pieces_async(httpx, clock.read_body(response.body))
        )
    return wire.response_of(httpx, response, stream=stream)


def _provider(transport: Any, name: str, request: Any) -> str | None:
    """The provider that a request goes to, where the mock answers it for sure, and here; else None."""
    # Private names: without `_pool` the request goes on to httpcore, where it is answered.
    url, pool = request.url, getattr(transport, "_pool", None)
    is_local = getattr(pool, "_uds", None) is not None
    target = url.raw_path.decode("ascii", "replace")
    host = url.raw_host.decode("ascii")
    provider = find_provider(host, url.port, target, request.headers.raw, is_local=is_local)
    if provider is None or is_sent_for_real() or not httpcore.is_attached(pool, name):
        return None
    return provider


def _create_ssl_context(
    original: Callable[..., ssl.SSLContext],
    verify: Any = True,
    cert: Any = None,
    trust_env: bool = True,
) -> ssl.SSLContext:
    __tracebackhide__ = True
    if verify is not True or cert is not None or not http_settings.shared_ssl or not is_answering():
        return original(verify=verify, cert=cert, trust_env=trust_env)
    environment = [os.environ.get(name) for name in VARIABLES]
    made_by = (original, trust_env, ssl.SSLContext, ssl.create_default_context, *environment)
    context, settings = _shared.get(made_by, (None, None))
    if context is None or _settings_of(context) != settings:
        context = original(verify=verify, cert=cert, trust_env=trust_env)
        _shared[made_by] = context, _settings_of(context)
    return context


def _settings_of(context: Any) -> object:
    """What can be changed of a context, and read; of one that is not Python's own that is nothing."""
    if (
        type(context).__module__ != "ssl"
    ):  # truststore's raises where it is asked for its certificates
        return None
    checks = context.check_hostname, context.verify_mode, context.verify_flags, context.options
    versions = context.minimum_version, context.maximum_version
    return checks, versions, context.keylog_filename, context.cert_store_stats()
