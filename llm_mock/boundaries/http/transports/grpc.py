"""Channels of gRPC whose calls to a provider are refused."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any

from llm_mock.boundaries.http.interception import is_provider_host, refuse_connection

grpc: Any = importlib.import_module("grpc")  # is imported already; nothing says its types
SCHEME = re.compile(r"^(dns:(//[^/]*/)?|passthrough:///)")


def refusing_channel(channel: Any, target: str) -> Any:
    """Return a channel that refuses calls while the mock answers, if its target is a provider."""
    host, port = _host_and_port(target)
    if not is_provider_host(host, port):
        return channel
    return grpc.intercept_channel(channel, _Interceptor(host, port))


def refusing_aio_channel(make: Callable[..., Any], target: str, *args: Any, **kwargs: Any) -> Any:
    """Make a channel for asyncio that refuses calls while the mock answers, if its target is a provider."""
    host, port = _host_and_port(target)
    if not is_provider_host(host, port):
        return make(target, *args, **kwargs)
    arguments = inspect.signature(make).bind(target, *args, **kwargs)
    refusing = [kind(host, port) for kind in _aio_interceptors()]
    arguments.arguments["interceptors"] = [
        *refusing,
        *(arguments.arguments.get("interceptors") or ()),
    ]
    return make(*arguments.args, **arguments.kwargs)


def _host_and_port(target: str) -> tuple[str, int | None]:
    host, _, port = SCHEME.sub("", target).partition(":")
    return host, int(port) if port.isdigit() else None


class _Refused(grpc.RpcError):  # type: ignore[misc]
    """A refused call, as gRPC reports one that failed; with a status that no client tries again for."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self._message = message

    def code(self) -> Any:
        return grpc.StatusCode.UNIMPLEMENTED

    def details(self) -> str:
        return self._message

    def initial_metadata(self) -> tuple[()]:
        return ()

    def trailing_metadata(self) -> tuple[()]:
        return ()


class _Interceptor(
    grpc.UnaryUnaryClientInterceptor,  # type: ignore[misc]
    grpc.UnaryStreamClientInterceptor,  # type: ignore[misc]
    grpc.StreamUnaryClientInterceptor,  # type: ignore[misc]
    grpc.StreamStreamClientInterceptor,  # type: ignore[misc]
):
    """Refuses every call of a channel while the mock answers."""

    def __init__(self, host: str, port: int | None) -> None:
        self._host, self._port = host, port

    def _intercept(self, go_on: Callable[..., Any], details: Any, request: Any) -> Any:
        __tracebackhide__ = True
        if message := refuse_connection(self._host, self._port):
            raise _Refused(message)
        return go_on(details, request)

    intercept_unary_unary = intercept_unary_stream = _intercept
    intercept_stream_unary = intercept_stream_stream = _intercept


def _aio_interceptors() -> list[Any]:
    """Return a class for each kind of call: a channel takes an interceptor for one kind alone."""
    kinds = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")
    return [_aio_interceptor(kind) for kind in kinds]


def _aio_interceptor(kind: str) -> Any:
    name = f"{kind.title().replace('_', '')}ClientInterceptor"
    base = getattr(grpc.aio, name)

    def __init__(self: Any, host: str, port: int | None) -> None:
        self._address = host, port

    async def intercept(self: Any, go_on: Callable[..., Any], details: Any, request: Any) -> Any:
        __tracebackhide__ = True
        if message := refuse_connection(*self._address):
            nothing = grpc.aio.Metadata()
            raise grpc.aio.AioRpcError(
                grpc.StatusCode.UNIMPLEMENTED, nothing, nothing, details=message
            )
        return await go_on(details, request)

    return type(f"Refusing{name}", (base,), {"__init__": __init__, f"intercept_{kind}": intercept})
