"""Refuse calls to providers over gRPC channels."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from llm_mock.boundaries.http.interception import is_provider_host, refuse_connection

# The library is already imported, as this module only handles its channels. It has no type hints.
grpc: Any = importlib.import_module("grpc")
SCHEME = re.compile(r"^(dns:(//[^/]*/)?|passthrough:///)")
CALL_KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")
"""The kinds of calls: one message or a stream of them, in the request and in the response."""


def guard_channel(channel: object, target: str) -> object:
    """Return a channel that refuses calls while the mock answers, if its target is a provider."""
    host, port = _split_target(target)
    if not is_provider_host(host, port):
        return channel
    return grpc.intercept_channel(channel, _build_interceptor(host, port))


def create_guarded_aio_channel(
    create: Callable[..., object], target: str, *args: object, **kwargs: object
) -> object:
    """Create a channel for asyncio that refuses calls to a provider while the mock answers."""
    host, port = _split_target(target)
    if not is_provider_host(host, port):
        return create(target, *args, **kwargs)
    bound = inspect.signature(create).bind(target, *args, **kwargs)
    own: Sequence[object] = bound.arguments.get("interceptors") or ()
    ours = _build_aio_interceptors(host, port)
    # Our interceptors come first, so that no interceptor of the application gets a refused call.
    bound.arguments["interceptors"] = [*ours, *own]
    return create(*bound.args, **bound.kwargs)


def _split_target(target: str) -> tuple[str, int | None]:
    """Return the host and the port of a channel's target."""
    host, _, port = SCHEME.sub("", target).partition(":")
    if port.isdigit():
        return host, int(port)
    return host, None


class _RefusedCallError(grpc.RpcError):  # type: ignore[misc]
    """A refused call, in the form of gRPC's failed calls."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self._message = message

    def code(self) -> object:
        # Clients do not retry after this status.
        return grpc.StatusCode.UNIMPLEMENTED

    def details(self) -> str:
        return self._message

    def initial_metadata(self) -> tuple[()]:
        return ()

    def trailing_metadata(self) -> tuple[()]:
        return ()

    # The application's interceptors, which are above ours, get the error as a call.

    def result(self, timeout: float | None = None) -> object:
        __tracebackhide__ = True
        raise self

    def exception(self, timeout: float | None = None) -> Exception:
        return self

    def done(self) -> bool:
        return True

    def add_done_callback(self, callback: Callable[[object], object]) -> None:
        callback(self)


class _Interceptor:
    """An interceptor that refuses every call of a channel while the mock answers."""

    def __init__(self, host: str, port: int | None) -> None:
        self._host = host
        self._port = port

    def _intercept(self, send: Callable[..., object], details: object, request: object) -> object:
        __tracebackhide__ = True
        message = refuse_connection(self._host, self._port)
        if message:
            raise _RefusedCallError(message)
        return send(details, request)

    intercept_unary_unary = _intercept
    intercept_unary_stream = _intercept
    intercept_stream_unary = _intercept
    intercept_stream_stream = _intercept


class _AioInterceptor:
    """An interceptor that refuses every call of a channel for asyncio while the mock answers."""

    def __init__(self, host: str, port: int | None) -> None:
        self._host = host
        self._port = port

    async def intercept(
        self, send: Callable[..., Awaitable[object]], details: object, request: object
    ) -> object:
        __tracebackhide__ = True
        message = refuse_connection(self._host, self._port)
        if message:
            empty = grpc.aio.Metadata()
            status = grpc.StatusCode.UNIMPLEMENTED
            error = grpc.aio.AioRpcError(status, empty, empty, details=message)
            # Same as in the synchronous error, so that the plugin can find the message.
            error.args = (message,)
            raise error
        return await send(details, request)


def _interceptor_bases(module: object) -> list[type]:
    """Return gRPC's base class for each kind of call, which identifies interceptors."""
    names = [kind.title().replace("_", "") for kind in CALL_KINDS]
    return [getattr(module, f"{name}ClientInterceptor") for name in names]


def _build_interceptor(host: str, port: int | None) -> object:
    interceptor = type("_Interceptor", (_Interceptor, *_interceptor_bases(grpc)), {})
    return interceptor(host, port)


def _build_aio_interceptors(host: str, port: int | None) -> list[object]:
    """Build an interceptor for each kind of call, as grpc.aio uses each for only one kind."""
    interceptors = []
    for kind, base in zip(CALL_KINDS, _interceptor_bases(grpc.aio), strict=True):
        methods = {f"intercept_{kind}": _AioInterceptor.intercept}
        interceptor = type("_AioInterceptor", (_AioInterceptor, base), methods)
        interceptors.append(interceptor(host, port))
    return interceptors
