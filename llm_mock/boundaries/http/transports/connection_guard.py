"""Refuse connections to providers on which the mock cannot answer.

No transport has answered the request above such a connection. Other Python libraries look up the
host, or connect by name, through `socket`. With a proxy, `http.client` sends the provider's name to
the proxy. `curl_cffi`, `pycurl`, `uvloop` and gRPC use neither of the two, and are patched here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

from llm_mock.boundaries.patching import replace

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Awaitable
    from http.client import HTTPConnection

    Original = Callable[..., object]
    """A library function that is replaced here."""
    Host = str | bytes | None

COULD_NOT_CONNECT = 7
"""The error number of curl for a failed connection."""
CURLOPT_URL = 10002
NAMES = {"curl_cffi": ("Curl.setopt", "CurlError")}
"""The names used from each library, except Python's own."""
SEAMS: dict[str, Callable[..., str | None]] = {}
"""Empty: if a name is missing, all calls of the library are refused."""
CONSTRUCTORS = ("Curl.__init__", "Session.__init__", "AsyncSession.__init__")
"""The constructors that are refused if a name is missing."""


def attach(library: ModuleType) -> None:
    """Refuse the connections that a library makes to providers."""
    _ATTACH[library.__name__](library)


# Both imports are late, as pytest itself imports `socket`.
def _check_connection(host: Host, port: object) -> str | None:
    """Return the message that refuses a connection; None to leave it alone."""
    from llm_mock.boundaries.http.interception import refuse_connection

    return refuse_connection(host, port)


def _check_url(url: object, *, is_socket: bool = False) -> str | None:
    """Return the message that refuses a URL of a provider or a model API; None to leave it alone.

    Args:
        url: the URL, as str or bytes.
        is_socket: True for the URL of a WebSocket.
    """
    from llm_mock.boundaries.http.interception import refuse_url

    if isinstance(url, bytes):
        text = url.decode("utf-8", "replace")
    else:
        text = str(url)
    return refuse_url(text, is_socket=is_socket)


# socket


def _attach_to_socket(socket: ModuleType) -> None:
    replace(socket, "getaddrinfo", _getaddrinfo)
    replace(socket, "gethostbyname", _gethostbyname)
    replace(socket, "gethostbyname_ex", _gethostbyname)
    # `socket.socket` is a Python subclass of a C class, which looks up names itself.
    for name in ("connect", "connect_ex"):
        replace(socket.socket, name, _connect)
    replace(socket.socket, "sendto", _sendto)


SAVED_FUNCTIONS = {
    "_true_connect": "connect",
    "_original_connect": "connect",
    "_original_connect_ex": "connect_ex",
    "_true_getaddrinfo": "getaddrinfo",
    "_true_gethostbyname": "gethostbyname",
}
"""Functions of `socket`, by the names that pytest plugins that block sockets use for them."""


def _attach_to_socket_blocker(plugin: ModuleType) -> None:
    """Make a plugin that blocks sockets restore our functions after a test, not the originals."""
    import socket

    for name, function in SAVED_FUNCTIONS.items():
        if hasattr(plugin, name):
            owner = socket.socket if function.startswith("connect") else socket
            setattr(plugin, name, getattr(owner, function))


def _attach_to_pytest_recording(network: ModuleType) -> None:
    _attach_to_socket_blocker(network)
    # It replaces `pycurl.Curl` by its own wrapper around the original class.
    if getattr(network, "Curl", None) is not None:
        replace(network.Curl, "setopt", _setopt_of_pycurl)


def _getaddrinfo(
    original: Original, host: Host, port: object, *args: object, **kwargs: object
) -> object:
    __tracebackhide__ = True
    import socket

    flags = kwargs.get("flags")
    if len(args) > 3:
        flags = args[3]
    # A server looks up an address to listen on, and sends nothing there.
    is_passive = isinstance(flags, int) and flags & socket.AI_PASSIVE
    if not is_passive:
        message = _check_connection(host, port)
        if message:
            raise socket.gaierror(socket.EAI_FAIL, message)
    return original(host, port, *args, **kwargs)


def _gethostbyname(original: Original, host: Host) -> object:
    __tracebackhide__ = True
    message = _check_connection(host, None)
    if message:
        import socket

        raise socket.gaierror(socket.EAI_FAIL, message)
    return original(host)


def _connect(original: Original, connection: object, address: object) -> object:
    __tracebackhide__ = True
    _check_address(address)
    return original(connection, address)


def _sendto(original: Original, connection: object, data: object, *args: object) -> object:
    __tracebackhide__ = True
    # The optional flags come before the address.
    _check_address(args[-1] if args else None)
    return original(connection, data, *args)


def _check_address(address: object) -> None:
    """Raise an error for an address with a provider's name; a numeric address has no name."""
    __tracebackhide__ = True
    if not isinstance(address, tuple) or len(address) < 2:
        return
    host, port = address[:2]
    if not isinstance(host, (str, bytes)):
        return
    last = host[-1:]
    if not (last.isalpha() or last in (".", b".")):
        return  # numeric, as nearly always
    message = _check_connection(host, port)
    if message:
        raise ConnectionRefusedError(message)


async def _getaddrinfo_in_context(
    original: Callable[..., Awaitable[object]],
    loop: AbstractEventLoop,
    host: Host,
    port: str | int | None,
    **kwargs: int,
) -> object:
    """Look up a host in the context of a call that is sent to the provider.

    The context says that the call is allowed, and asyncio's threads do not inherit it.
    """
    __tracebackhide__ = True
    from llm_mock.core.context import is_passing_through

    if not is_passing_through():
        return await original(loop, host, port, **kwargs)
    import contextvars
    import functools
    import socket

    context = contextvars.copy_context()
    look_up = functools.partial(context.run, socket.getaddrinfo, host, port, **kwargs)
    return await loop.run_in_executor(None, look_up)


def _attach_to_asyncio(asyncio: ModuleType) -> None:
    replace(asyncio.BaseEventLoop, "getaddrinfo", _getaddrinfo_in_context)


# uvloop, whose loops look hosts up without Python


def _attach_to_uvloop(uvloop: ModuleType) -> None:
    replace(uvloop.Loop, "getaddrinfo", _getaddrinfo_of_uvloop)
    replace(uvloop.Loop, "create_connection", _create_connection_of_uvloop)


def _getaddrinfo_of_uvloop(
    original: Original, loop: object, host: Host, port: object, **kwargs: object
) -> object:
    __tracebackhide__ = True
    message = _check_connection(host, port)
    if message:
        import socket

        raise socket.gaierror(socket.EAI_FAIL, message)
    return original(loop, host, port, **kwargs)


def _create_connection_of_uvloop(
    original: Original,
    loop: object,
    protocol_factory: object,
    host: Host = None,
    port: object = None,
    **kwargs: object,
) -> object:
    __tracebackhide__ = True
    # A connection over the caller's socket has no host.
    message = None if host is None else _check_connection(host, port)
    if message:
        raise ConnectionRefusedError(message)
    return original(loop, protocol_factory, host, port, **kwargs)


# http.client, which urllib uses


def _attach_to_http_client(client: ModuleType) -> None:
    replace(client.HTTPConnection, "set_tunnel", _set_tunnel)
    replace(client.HTTPConnection, "request", _request)


def _set_tunnel(
    original: Original,
    connection: object,
    host: str,
    port: int | None = None,
    *args: object,
    **kwargs: object,
) -> object:
    __tracebackhide__ = True
    message = _check_connection(host.partition(":")[0], port)
    if message:
        raise ConnectionRefusedError(message)
    return original(connection, host, port, *args, **kwargs)


def _request(
    original: Original,
    connection: HTTPConnection,
    method: str,
    url: str,
    body: object = None,
    headers: object = None,
    **kwargs: object,
) -> object:
    """Refuse a call to a model API at an unknown host.

    Requests to known hosts are refused later, when the host is looked up.
    """
    __tracebackhide__ = True
    if isinstance(body, (str, bytes)):
        from llm_mock.boundaries.http.interception import refuse_request

        content = body.encode() if isinstance(body, str) else body
        message = refuse_request(method, connection.host, connection.port, url, content)
        if message:
            raise ConnectionRefusedError(message)
    # The original has the default `{}`, and does not accept None.
    if headers is None:
        headers = {}
    return original(connection, method, url, body, headers, **kwargs)


# curl


def _attach_to_curl_cffi(curl_cffi: ModuleType) -> None:
    replace(curl_cffi.Curl, "setopt", _setopt)


def _setopt(original: Original, curl: object, option: object, value: object) -> object:
    __tracebackhide__ = True
    if getattr(option, "name", None) == "URL":
        message = _check_url(value)
        if message:
            raise sys.modules["curl_cffi"].CurlError(message, COULD_NOT_CONNECT)
    return original(curl, option, value)


def _attach_to_pycurl(pycurl: ModuleType) -> None:
    """Replace `pycurl.Curl` by a subclass, as methods of a C class cannot be replaced."""
    original = pycurl.Curl
    if original.__module__ == __name__:
        return

    def setopt(curl: object, option: int, value: object) -> object:
        __tracebackhide__ = True
        return _setopt_of_pycurl(original.setopt, curl, option, value)

    replacement = type("Curl", (original,), {"setopt": setopt, "__module__": __name__})
    setattr(pycurl, "Curl", replacement)  # noqa: B010 (mypy forbids to assign a class)


def _setopt_of_pycurl(original: Original, curl: object, option: int, value: object) -> object:
    __tracebackhide__ = True
    message = _check_url(value) if option == CURLOPT_URL else None
    if message:
        raise sys.modules["pycurl"].error(COULD_NOT_CONNECT, message)
    return original(curl, option, value)


# gRPC


def _attach_to_grpc(grpc: ModuleType) -> None:
    replace(grpc, "insecure_channel", _create_channel)
    replace(grpc, "secure_channel", _create_channel)


def _create_channel(original: Original, target: object, *args: object, **kwargs: object) -> object:
    """Create a channel that refuses calls, as a client may be created long before the mock."""
    __tracebackhide__ = True
    from llm_mock.boundaries.http.transports.grpc import guard_channel

    return guard_channel(original(target, *args, **kwargs), str(target))


def _attach_to_grpc_aio(aio: ModuleType) -> None:
    replace(aio, "insecure_channel", _create_aio_channel)
    replace(aio, "secure_channel", _create_aio_channel)


def _create_aio_channel(
    original: Original, target: object, *args: object, **kwargs: object
) -> object:
    __tracebackhide__ = True
    from llm_mock.boundaries.http.transports.grpc import create_guarded_aio_channel

    return create_guarded_aio_channel(original, str(target), *args, **kwargs)


# WebSockets


def attach_to_websockets(client: ModuleType) -> None:
    """Refuse the connections that a module of `websockets` makes to providers."""
    # `connect` is a class in these modules, and a function only in the one for threads.
    replace(client.connect, "__init__", _connect_websocket_object)


def _connect_websocket_object(
    original: Original, connection: object, uri: str, *args: object, **kwargs: object
) -> object:
    __tracebackhide__ = True
    message = _check_url(uri, is_socket=True)
    if message:
        raise ConnectionRefusedError(message)
    return original(connection, uri, *args, **kwargs)


def _attach_to_websocket_client(websocket: ModuleType) -> None:
    # Two libraries are imported as `websocket`; only websocket-client has this class.
    if hasattr(websocket, "WebSocket"):
        replace(websocket.WebSocket, "connect", _connect_websocket_object)


_ATTACH: dict[str, Callable[[ModuleType], None]] = {
    "asyncio": _attach_to_asyncio,
    "curl_cffi": _attach_to_curl_cffi,
    "grpc": _attach_to_grpc,
    "grpc.aio": _attach_to_grpc_aio,
    "http.client": _attach_to_http_client,
    "pycurl": _attach_to_pycurl,
    "pytest_recording.network": _attach_to_pytest_recording,
    "pytest_socket": _attach_to_socket_blocker,
    "socket": _attach_to_socket,
    "uvloop": _attach_to_uvloop,
    "websocket": _attach_to_websocket_client,
    "websockets.legacy.client": attach_to_websockets,
    "websockets.trio.client": attach_to_websockets,
}
"""The function that attaches to each library, by the name of its module."""
