"""urllib3's connection pools, which requests and botocore send through."""

from __future__ import annotations

import functools
import io
import socket
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from llm_mock.boundaries.http.interception import UNDECIDED, find_provider, identify_provider
from llm_mock.boundaries.passthrough import pass_through
from llm_mock.boundaries.patching import replace

if TYPE_CHECKING:
    from llm_mock.boundaries.http.client_clock import ClientClock


def attach(urllib3: ModuleType) -> None:
    """Answer the requests of a `urllib3` module that go to providers; of urllib3-future the asynchronous ones too."""
    replace(urllib3.HTTPConnectionPool, "urlopen", functools.partial(_urlopen, urllib3))
    if asynchronous := getattr(urllib3, "AsyncHTTPConnectionPool", None):
        replace(asynchronous, "urlopen", functools.partial(_urlopen_async, urllib3))


def _urlopen(
    urllib3: Any,
    original: Callable[..., Any],
    pool: Any,
    method: str,
    url: str,
    body: Any = None,
    headers: Any = None,
    retries: Any = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    __tracebackhide__ = True
    host, port = _target(pool, url)
    provider = _provider(pool, host, port, method, url, headers)
    if provider is None or pool.ConnectionCls.__module__.startswith("vcr."):
        return original(pool, method, url, body, headers, retries, *args, **kwargs)
    from llm_mock.boundaries.http.dispatch import dispatch_request
    from llm_mock.boundaries.http.errors import ConnectionFailure

    content = _bytes(body)
    sent = _sent(pool, host, method, url, content, headers)
    if provider == UNDECIDED and (provider := identify_provider(sent)) is None:
        return original(
            pool, method, url, _unread(body, content), headers, retries, *args, **kwargs
        )
    wanted = urllib3.Retry.from_int(retries, default=pool.retries)
    clock = _clock(urllib3, pool, args[2] if len(args) > 2 else kwargs.get("timeout", pool.timeout))
    try:
        response = dispatch_request(sent, provider, clock)
    except ConnectionFailure as error:
        wanted = wanted.increment(
            method, url, error=_exception(urllib3, pool, url, error), _pool=pool
        )
        wanted.sleep()
        return pool.urlopen(method, url, content, headers, wanted, *args, **kwargs)
    if response is None:
        with pass_through():
            return original(
                pool, method, url, _unread(body, content), headers, retries, *args, **kwargs
            )
    if not isinstance(response, tuple):
        given = _recorded_headers(pool, headers, response)
        raw = {**kwargs, "preload_content": False, "decode_content": False}
        with pass_through(), response.guard_send():
            received = original(
                pool, method, url, _unread(body, content), given, retries, *args, **raw
            )
        pieces = response.record_body(_raw_pieces(received))
        return _response(
            urllib3, pool, method, url, _recorded(received, response, pieces), clock, kwargs
        )
    answered = _response(urllib3, pool, method, url, response, clock, kwargs)
    further = _next_try(urllib3, wanted, pool, method, url, answered)
    if further is None:
        return answered
    further.sleep(answered)
    return pool.urlopen(method, url, content, headers, further, *args, **kwargs)


async def _urlopen_async(
    urllib3: Any,
    original: Callable[..., Any],
    pool: Any,
    method: str,
    url: str,
    body: Any = None,
    headers: Any = None,
    retries: Any = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Answer as `_urlopen` does. A response that is recorded is read to its end before the application gets it."""
    __tracebackhide__ = True
    host, port = _target(pool, url)
    provider = _provider(pool, host, port, method, url, headers)
    if provider is None:
        return await original(pool, method, url, body, headers, retries, *args, **kwargs)
    from llm_mock.boundaries.http.dispatch import dispatch_request_async
    from llm_mock.boundaries.http.errors import ConnectionFailure

    content = (
        b"".join([_bytes(piece) async for piece in body])
        if hasattr(body, "__aiter__")
        else _bytes(body)
    )
    sent = _sent(pool, host, method, url, content, headers)
    if provider == UNDECIDED and (provider := identify_provider(sent)) is None:
        return await original(pool, method, url, content or None, headers, retries, *args, **kwargs)
    wanted = urllib3.Retry.from_int(retries, default=pool.retries)
    clock = _clock(urllib3, pool, args[2] if len(args) > 2 else kwargs.get("timeout", pool.timeout))
    try:
        response = await dispatch_request_async(sent, provider, clock)
    except ConnectionFailure as error:
        wanted = wanted.increment(
            method, url, error=_exception(urllib3, pool, url, error), _pool=pool
        )
        await wanted.async_sleep()
        return await pool.urlopen(method, url, content, headers, wanted, *args, **kwargs)
    if response is None:
        with pass_through():
            return await original(
                pool, method, url, content or None, headers, retries, *args, **kwargs
            )
    if not isinstance(response, tuple):
        given = _recorded_headers(pool, headers, response)
        raw = {**kwargs, "preload_content": False, "decode_content": False, "multiplexed": False}
        with pass_through(), response.guard_send():
            received = await original(
                pool, method, url, content or None, given, retries, *args, **raw
            )
            read = [piece async for piece in received.stream(decode_content=False)]
        response = _recorded(received, response, response.record_body(read))
        return _response(
            urllib3, pool, method, url, response, clock, {"preload_content": False, **kwargs}
        )
    answered = _response(
        urllib3, pool, method, url, response, clock, {"preload_content": False, **kwargs}
    )
    further = _next_try(urllib3, wanted, pool, method, url, answered)
    if further is None:
        return answered
    await further.async_sleep(answered)
    return await pool.urlopen(method, url, content, headers, further, *args, **kwargs)


def _next_try(urllib3: Any, wanted: Any, pool: Any, method: str, url: str, answered: Any) -> Any:
    """Return the `Retry` to ask again with, as urllib3 itself decides it; None to keep the answer."""
    if not wanted.is_retry(method, answered.status, "retry-after" in answered.headers):
        return None
    try:
        return wanted.increment(method, url, response=answered, _pool=pool)
    except urllib3.exceptions.MaxRetryError:
        if wanted.raise_on_status:
            raise
        return None


def _recorded_headers(pool: Any, headers: Any, recording: Any) -> dict[str, str]:
    return {**(headers if headers is not None else pool.headers), **recording.header_overrides()}


def _recorded(received: Any, recording: Any, pieces: Iterator[bytes]) -> Any:
    """Return a response that is recorded while its pieces are read."""
    from llm_mock.boundaries.http.wire import WireResponse

    headers = [
        (name, value)
        for name, value in received.headers.items()
        if name.lower() != "transfer-encoding"
    ]
    recording.begin(received.status, headers)
    return WireResponse(received.status, headers, pieces)


def _raw_pieces(received: Any) -> Iterator[bytes]:
    """A body as it comes."""
    if not hasattr(received, "read1"):  # before urllib3 2
        yield from received.stream(decode_content=False)
        return
    while piece := received.read1(65536, decode_content=False):
        yield piece
    received.release_conn()


def _target(pool: Any, url: str) -> tuple[str, int | None]:
    """The host and the port that a request goes to; a proxy is told the whole URL where nothing is encrypted."""
    if pool.proxy is None or "://" not in url:
        return pool.host, pool.port
    parts = urlsplit(url)
    return parts.hostname or "", parts.port


def _clock(urllib3: Any, pool: Any, timeout: Any) -> ClientClock:
    from llm_mock.boundaries.http.client_clock import ClientClock

    wanted = pool._get_timeout(timeout)
    wanted.start_connect()  # a total timeout is counted from there
    read = wanted.read_timeout
    if read is urllib3.Timeout.DEFAULT_TIMEOUT:  # `resolve_default_timeout` came with a later 1.26
        read = socket.getdefaulttimeout()
    return ClientClock(read)


def _response(
    urllib3: Any,
    pool: Any,
    method: str,
    url: str,
    response: Any,
    clock: ClientClock,
    kwargs: dict[str, Any],
) -> Any:
    parts = (response.body,) if isinstance(response.body, bytes) else clock.read_body(response.body)
    is_async = not isinstance(pool, urllib3.HTTPConnectionPool)
    made = (urllib3.AsyncHTTPResponse if is_async else urllib3.HTTPResponse)(
        body=io.BufferedReader(_Body(urllib3, pool, url, iter(parts))),
        headers=response.headers,
        status=response.status,
        version=11,
        preload_content=kwargs.get("preload_content", True),
        decode_content=kwargs.get("decode_content", True),
        request_method=method,
        request_url=url,
    )
    made.version_string = (
        "HTTP/1.1"  # an argument only since urllib3 2.2, and never in urllib3-future
    )
    return made


def _bytes(body: Any) -> bytes:
    """Return a body as urllib3 takes it: text, a buffer, a file, or pieces of any of these."""
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if hasattr(body, "read"):
        return _bytes(body.read())
    return bytes(body) if _is_buffer(body) else b"".join(map(_bytes, body))


def _unread(body: Any, content: bytes) -> Any:
    """Return a body to send after it was read, which urllib3 frames as it would have framed the first one.

    A file or an iterator is at its end by then.
    """
    if body is None or isinstance(body, (str, bytes)):
        return body
    return content if _is_buffer(body) else io.BytesIO(content)


def _is_buffer(body: Any) -> bool:
    try:
        memoryview(body)
    except TypeError:
        return False
    return True


def _provider(
    pool: Any, host: str, port: int | None, method: str, url: str, headers: Any
) -> str | None:
    """Return the provider that a request is for, as `find_provider` does."""
    given = headers if headers is not None else pool.headers
    asked = f"{method} {pool.scheme}"
    return find_provider(host, port, _target_of(url), (given or {}).items(), asked=asked)


def _find_provider(
    pool: Any,
    method: str,
    url: str,
    body: Any = None,
    headers: Any = None,
    *args: Any,
    **kwargs: Any,
) -> str | None:
    host, port = _target(pool, url)
    return _provider(pool, host, port, method, url, headers)


SEAMS = {"HTTPConnectionPool.urlopen": _find_provider}
"""The function that is replaced, and what finds the provider of a call of it."""
_USED = (
    *SEAMS,
    # Resolves a timeout as the pool does, by its own default.
    "HTTPConnectionPool._get_timeout",
    "HTTPResponse",
    "Retry.from_int",
    "Retry.increment",
    "Retry.is_retry",
    "Retry.sleep",
    "Timeout.DEFAULT_TIMEOUT",
    "exceptions.MaxRetryError",
    "exceptions.NewConnectionError",
    "exceptions.ProtocolError",
    "exceptions.ReadTimeoutError",
)
NAMES = {"urllib3": _USED, "urllib3_future": _USED}
"""What is used of the library, beside the attributes of its pools."""
CONSTRUCTORS = ("HTTPConnectionPool.__init__",)
"""What to refuse where `SEAMS` are gone."""


def _target_of(url: str) -> str:
    """Return the path and the query of a URL, which is whole where it is for a proxy."""
    return "/" + url.split("/", 3)[-1] if "://" in url.partition("?")[0] else url


def _sent(pool: Any, host: str, method: str, url: str, body: bytes, headers: Any) -> Any:
    from llm_mock.boundaries.http.wire import WireRequest

    given = headers if headers is not None else pool.headers
    path, _, query = _target_of(url).partition("?")
    named = {_text(name).lower(): _text(value) for name, value in (given or {}).items()}
    return WireRequest(method, host, path, query, named, body)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _exception(urllib3: Any, pool: Any, url: str, error: Any) -> Exception:
    exceptions = urllib3.exceptions
    exception: Exception
    if error.kind == "timeout":
        exception = exceptions.ReadTimeoutError(pool, url, str(error))
    elif error.kind == "dropped":
        exception = exceptions.ProtocolError(str(error), ConnectionResetError(str(error)))
    else:
        exception = exceptions.NewConnectionError(pool.ConnectionCls(pool.host), str(error))
    return exception


class _Body(io.RawIOBase):
    """The pieces of a body as a file."""

    def __init__(self, urllib3: Any, pool: Any, url: str, pieces: Iterator[Any]) -> None:
        self._urllib3, self._pool, self._url, self._pieces = urllib3, pool, url, pieces
        self._rest = b""

    def readable(self) -> bool:
        """It can be read, and not written."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Give what there is of the next piece."""
        from llm_mock.boundaries.http.errors import ConnectionFailure

        try:
            while not self._rest:
                piece = next(self._pieces, None)
                if piece is None:
                    return 0
                if isinstance(piece, bytes):
                    self._rest = piece
                else:
                    time.sleep(piece)
        except ConnectionFailure as error:
            raise _exception(self._urllib3, self._pool, self._url, error) from None
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size
