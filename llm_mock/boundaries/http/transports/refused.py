"""Ways to providers that the mock cannot answer on, and refuses: a connection that nothing above it has answered.

Whatever Python library connects by itself, it asks `socket.getaddrinfo` for the address first; where a proxy does that
for it, `http.client` names the provider to the proxy. `curl_cffi` asks neither.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from llm_mock.boundaries.patching import replace

COULD_NOT_CONNECT = 7
"""curl's number for it."""
NAMES = {"curl_cffi": ("Curl.setopt", "CurlError")}
"""What is used of libraries, beside Python's own."""
SEAMS: dict[str, Any] = {}
CONSTRUCTORS = ("Curl.__init__", "Session.__init__", "AsyncSession.__init__")
"""What to refuse where one of the names is gone."""


def attach(library: ModuleType) -> None:
    """Refuse what one of these libraries would send to providers."""
    if library.__name__ == "socket":
        replace(library, "getaddrinfo", _getaddrinfo)
    elif library.__name__ == "asyncio":
        replace(library.BaseEventLoop, "getaddrinfo", _getaddrinfo_in_a_thread)
    elif library.__name__ == "http.client":
        replace(library.HTTPConnection, "set_tunnel", _set_tunnel)
    else:
        replace(library.Curl, "setopt", _setopt)


def _refusal(host: str | bytes | None, port: object) -> str | None:
    """What to say of a connection to a provider; imported when one is made: pytest itself imports `socket`."""
    from llm_mock.boundaries.http.interception import refusal

    return refusal(host, port)


def _getaddrinfo(original: Any, host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
    __tracebackhide__ = True
    import socket

    flags = kwargs.get("flags") or (args[3] if len(args) > 3 else 0)
    if not flags & socket.AI_PASSIVE and (message := _refusal(host, port)):
        raise socket.gaierror(socket.EAI_FAIL, message)
    return original(host, port, *args, **kwargs)


async def _getaddrinfo_in_a_thread(original: Any, loop: Any, host: Any, port: Any, **kwargs: Any) -> Any:
    """asyncio's threads do not know what is made for real; so they are told."""
    __tracebackhide__ = True
    from llm_mock.boundaries.for_real import is_for_real

    if not is_for_real():
        return await original(loop, host, port, **kwargs)
    import contextvars
    import functools
    import socket

    ask = functools.partial(contextvars.copy_context().run, socket.getaddrinfo, host, port, **kwargs)
    return await loop.run_in_executor(None, ask)


def _set_tunnel(original: Any, connection: Any, host: str, port: int | None = None, *args: Any, **kwargs: Any) -> Any:
    __tracebackhide__ = True
    if message := _refusal(host.partition(":")[0], port):
        raise ConnectionRefusedError(message)
    return original(connection, host, port, *args, **kwargs)


def _setopt(original: Any, curl: Any, option: Any, value: Any) -> Any:
    __tracebackhide__ = True
    if getattr(option, "name", None) == "URL":
        from urllib.parse import urlsplit

        url = urlsplit(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))
        if message := _refusal(url.hostname, url.port):
            raise sys.modules["curl_cffi"].CurlError(message, COULD_NOT_CONNECT)
    return original(curl, option, value)
