"""Refuse ways to providers that the mock cannot answer on: a connection that nothing above it has answered.

Whatever Python library connects by itself, it looks the host up or connects by name through `socket`; where a proxy
does that for it, `http.client` names the provider to the proxy. `curl_cffi`, `pycurl`, `uvloop` and gRPC ask neither.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from llm_mock.boundaries.patching import replace

COULD_NOT_CONNECT = 7
"""curl's number for it."""
CURLOPT_URL = 10002
NAMES = {"curl_cffi": ("Curl.setopt", "CurlError")}
"""What is used of libraries, beside Python's own."""
SEAMS: dict[str, Any] = {}
CONSTRUCTORS = ("Curl.__init__", "Session.__init__", "AsyncSession.__init__")
"""What to refuse where one of the names is gone."""


def attach(library: ModuleType) -> None:
    """Refuse what one of these libraries would send to providers."""
    _ATTACH[library.__name__](library)


def _refusal(host: str | bytes | None, port: object) -> str | None:
    """Return the message that refuses a connection; imported when one is made: pytest itself imports `socket`."""
    from llm_mock.boundaries.http.interception import refuse_connection

    return refuse_connection(host, port)


def _refusal_of_url(url: str | bytes, *, is_socket: bool = False) -> str | None:
    """Return the message that refuses a URL: that of a provider, or of a model API elsewhere."""
    from llm_mock.boundaries.http.interception import refuse_url

    text = url.decode("utf-8", "replace") if isinstance(url, bytes) else str(url)
    return refuse_url(text, is_socket=is_socket)


# socket


def _attach_to_socket(socket: ModuleType) -> None:
    replace(socket, "getaddrinfo", _getaddrinfo)
    replace(socket, "gethostbyname", _gethostbyname)
    replace(socket, "gethostbyname_ex", _gethostbyname)
    # socket.socket is a Python class over that of C, which looks names up by itself.
    for name in ("connect", "connect_ex"):
        replace(socket.socket, name, _connect)
    replace(socket.socket, "sendto", _sendto)


SAVED = {
    "_true_connect": "connect",
    "_original_connect": "connect",
    "_original_connect_ex": "connect_ex",
    "_true_getaddrinfo": "getaddrinfo",
    "_true_gethostbyname": "gethostbyname",
}
"""The names under which pytest plugins that block sockets keep functions of `socket`."""


def _attach_to_blocker(module: ModuleType) -> None:
    """Have a plugin that blocks sockets put our functions back after a test, and not what it saved before them."""
    import socket

    for name, function in SAVED.items():
        if hasattr(module, name):
            owner = socket.socket if function.startswith("connect") else socket
            setattr(module, name, getattr(owner, function))


def _getaddrinfo(original: Any, host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
    __tracebackhide__ = True
    import socket

    flags = kwargs.get("flags") or (args[3] if len(args) > 3 else 0)
    if not flags & socket.AI_PASSIVE and (message := _refusal(host, port)):
        raise socket.gaierror(socket.EAI_FAIL, message)
    return original(host, port, *args, **kwargs)


def _gethostbyname(original: Any, host: Any) -> Any:
    __tracebackhide__ = True
    if message := _refusal(host, None):
        import socket

        raise socket.gaierror(socket.EAI_FAIL, message)
    return original(host)


def _connect(original: Any, connection: Any, address: Any) -> Any:
    __tracebackhide__ = True
    _check_address(address)
    return original(connection, address)


def _sendto(original: Any, connection: Any, data: Any, *args: Any) -> Any:
    __tracebackhide__ = True
    _check_address(args[-1] if args else None)
    return original(connection, data, *args)


def _check_address(address: Any) -> None:
    """Raise for an address that names a provider; an address in numbers says nothing of its host."""
    __tracebackhide__ = True
    if (
        not isinstance(address, tuple)
        or len(address) < 2
        or not isinstance(address[0], (str, bytes))
    ):
        return
    host = address[0]
    last = host[-1:]
    if not (last.isalpha() or last in (".", b".")):
        return  # in numbers, as nearly always
    if message := _refusal(host, address[1]):
        raise ConnectionRefusedError(message)


async def _getaddrinfo_in_a_thread(
    original: Any, loop: Any, host: Any, port: Any, **kwargs: Any
) -> Any:
    """Look a host up for real where the call is: asyncio's threads do not inherit the context."""
    __tracebackhide__ = True
    from llm_mock.boundaries.passthrough import is_passing_through

    if not is_passing_through():
        return await original(loop, host, port, **kwargs)
    import contextvars
    import functools
    import socket

    ask = functools.partial(
        contextvars.copy_context().run, socket.getaddrinfo, host, port, **kwargs
    )
    return await loop.run_in_executor(None, ask)


# uvloop, whose loops look hosts up without Python


def _attach_to_uvloop(uvloop: ModuleType) -> None:
    replace(uvloop.Loop, "getaddrinfo", _getaddrinfo_by_uvloop)
    replace(uvloop.Loop, "create_connection", _create_connection_by_uvloop)


def _getaddrinfo_by_uvloop(original: Any, loop: Any, host: Any, port: Any, **kwargs: Any) -> Any:
    __tracebackhide__ = True
    if message := _refusal(host, port):
        import socket

        raise socket.gaierror(socket.EAI_FAIL, message)
    return original(loop, host, port, **kwargs)


def _create_connection_by_uvloop(
    original: Any,
    loop: Any,
    protocol_factory: Any,
    host: Any = None,
    port: Any = None,
    **kwargs: Any,
) -> Any:
    __tracebackhide__ = True
    if host is not None and (message := _refusal(host, port)):
        raise ConnectionRefusedError(message)
    return original(loop, protocol_factory, host, port, **kwargs)


# http.client, which urllib uses


def _attach_to_http_client(client: ModuleType) -> None:
    replace(client.HTTPConnection, "set_tunnel", _set_tunnel)
    replace(client.HTTPConnection, "request", _request)


def _set_tunnel(
    original: Any, connection: Any, host: str, port: int | None = None, *args: Any, **kwargs: Any
) -> Any:
    __tracebackhide__ = True
    if message := _refusal(host.partition(":")[0], port):
        raise ConnectionRefusedError(message)
    return original(connection, host, port, *args, **kwargs)


def _request(
    original: Any,
    connection: Any,
    method: str,
    url: str,
    body: Any = None,
    headers: Any = None,
    **kwargs: Any,
) -> Any:
    """Refuse a question to a model API at a host that no rule names; others are refused when they are looked up."""
    __tracebackhide__ = True
    if isinstance(body, (str, bytes)):
        from llm_mock.boundaries.http.interception import refuse_request

        content = body.encode() if isinstance(body, str) else body
        if message := refuse_request(method, connection.host, connection.port, url, content):
            raise ConnectionRefusedError(message)
    return original(connection, method, url, body, {} if headers is None else headers, **kwargs)


# curl


def _attach_to_curl_cffi(curl_cffi: ModuleType) -> None:
    replace(curl_cffi.Curl, "setopt", _setopt)


def _setopt(original: Any, curl: Any, option: Any, value: Any) -> Any:
    __tracebackhide__ = True
    if getattr(option, "name", None) == "URL" and (message := _refusal_of_url(value)):
        raise sys.modules["curl_cffi"].CurlError(message, COULD_NOT_CONNECT)
    return original(curl, option, value)


def _attach_to_pycurl(pycurl: Any) -> None:
    """Put a subclass in the place of `pycurl.Curl`, whose methods cannot be replaced."""
    original = pycurl.Curl
    if original.__module__ == __name__:
        return

    def setopt(curl: Any, option: int, value: Any) -> Any:
        __tracebackhide__ = True
        if option == CURLOPT_URL and (message := _refusal_of_url(value)):
            raise pycurl.error(COULD_NOT_CONNECT, message)
        return original.setopt(curl, option, value)

    pycurl.Curl = type("Curl", (original,), {"setopt": setopt, "__module__": __name__})


# gRPC


def _attach_to_grpc(grpc: ModuleType) -> None:
    replace(grpc, "insecure_channel", _channel)
    replace(grpc, "secure_channel", _channel)


def _channel(original: Callable[..., Any], target: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a channel whose calls are refused while the mock answers; a client may be made long before."""
    __tracebackhide__ = True
    from llm_mock.boundaries.http.transports.grpc import refusing_channel

    return refusing_channel(original(target, *args, **kwargs), str(target))


def _attach_to_grpc_aio(aio: ModuleType) -> None:
    replace(aio, "insecure_channel", _aio_channel)
    replace(aio, "secure_channel", _aio_channel)


def _aio_channel(original: Callable[..., Any], target: Any, *args: Any, **kwargs: Any) -> Any:
    __tracebackhide__ = True
    from llm_mock.boundaries.http.transports.grpc import refusing_aio_channel

    return refusing_aio_channel(original, str(target), *args, **kwargs)


# WebSockets


def _attach_to_websockets(client: ModuleType) -> None:
    if isinstance(client.connect, type):
        replace(client.connect, "__init__", _connect_websocket_object)
    else:
        replace(client, "connect", _connect_websocket)


def _connect_websocket(original: Any, uri: str, *args: Any, **kwargs: Any) -> Any:
    __tracebackhide__ = True
    if message := _refusal_of_url(uri, is_socket=True):
        raise ConnectionRefusedError(message)
    return original(uri, *args, **kwargs)


def _connect_websocket_object(
    original: Any, connection: Any, uri: str, *args: Any, **kwargs: Any
) -> Any:
    __tracebackhide__ = True
    if message := _refusal_of_url(uri, is_socket=True):
        raise ConnectionRefusedError(message)
    return original(connection, uri, *args, **kwargs)


def _attach_to_websocket_client(websocket: ModuleType) -> None:
    if hasattr(websocket, "WebSocket"):  # or it is another library of that name
        replace(websocket.WebSocket, "connect", _connect_websocket_object)


def _attach_to_asyncio(asyncio: Any) -> None:
    replace(asyncio.BaseEventLoop, "getaddrinfo", _getaddrinfo_in_a_thread)


_ATTACH: dict[str, Callable[[ModuleType], None]] = {
    "asyncio": _attach_to_asyncio,
    "curl_cffi": _attach_to_curl_cffi,
    "grpc": _attach_to_grpc,
    "grpc.aio": _attach_to_grpc_aio,
    "http.client": _attach_to_http_client,
    "pycurl": _attach_to_pycurl,
    "pytest_recording.network": _attach_to_blocker,
    "pytest_socket": _attach_to_blocker,
    "socket": _attach_to_socket,
    "uvloop": _attach_to_uvloop,
    "websocket": _attach_to_websocket_client,
    "websockets.asyncio.client": _attach_to_websockets,
    "websockets.legacy.client": _attach_to_websockets,
    "websockets.sync.client": _attach_to_websockets,
}
"""How each library is attached to, by the name of its module."""
