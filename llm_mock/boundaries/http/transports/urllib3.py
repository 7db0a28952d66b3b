"""urllib3's connection pools, which requests and botocore send through."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from llm_mock.boundaries.attaching import replace
from llm_mock.boundaries.for_real import for_real
from llm_mock.boundaries.http.door import guarded_provider

if TYPE_CHECKING:
    from llm_mock.boundaries.http.client_clock import ClientClock


def attach(urllib3: ModuleType) -> None:
    """Answer the requests of a `urllib3` module that go to providers."""
    replace(urllib3.HTTPConnectionPool, "urlopen", _urlopen)


def _urlopen(
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
    provider = guarded_provider(host, port)
    if provider is None or pool.ConnectionCls.__module__.startswith("vcr."):
        return original(pool, method, url, body, headers, retries, *args, **kwargs)
    from llm_mock.boundaries.http.asking import response_to
    from llm_mock.boundaries.http.errors import ConnectionFails

    content = _bytes(body)
    wanted = sys.modules["urllib3.util.retry"].Retry.from_int(retries, default=pool.retries)
    clock = _clock(pool, args[2] if len(args) > 2 else kwargs.get("timeout", pool.timeout))
    try:
        response = response_to(_sent(pool, host, method, url, content, headers), provider, clock)
    except ConnectionFails as error:
        wanted = wanted.increment(method, url, error=_exception(pool, url, error), _pool=pool)
        wanted.sleep()
        return pool.urlopen(method, url, content, headers, wanted, *args, **kwargs)
    if response is None:
        with for_real():
            return original(pool, method, url, content or None, headers, retries, *args, **kwargs)
    if not isinstance(response, tuple):
        given = {**(headers if headers is not None else pool.headers), **response.further_headers()}
        raw = {**kwargs, "preload_content": False, "decode_content": False}
        with for_real(), response.sending():
            received = original(pool, method, url, content or None, given, retries, *args, **raw)
        return _response(pool, method, url, _recorded(received, response), clock, kwargs)
    answered = _response(pool, method, url, response, clock, kwargs)
    if not wanted.is_retry(method, answered.status, "retry-after" in answered.headers):
        return answered
    try:
        wanted = wanted.increment(method, url, response=answered, _pool=pool)
    except sys.modules["urllib3.exceptions"].MaxRetryError:
        if wanted.raise_on_status:
            raise
        return answered
    wanted.sleep(answered)
    return pool.urlopen(method, url, content, headers, wanted, *args, **kwargs)


def _recorded(received: Any, recording: Any) -> Any:
    """A response that is recorded while it is read."""
    from llm_mock.boundaries.http.wire import WireResponse

    headers = [(name, value) for name, value in received.headers.items() if name.lower() != "transfer-encoding"]
    recording.begin(received.status, headers)
    return WireResponse(received.status, headers, recording.pieces(_raw_pieces(received)))


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


def _clock(pool: Any, timeout: Any) -> ClientClock:
    from llm_mock.boundaries.http.client_clock import ClientClock

    wanted = pool._get_timeout(timeout)
    wanted.start_connect()  # a total timeout is counted from there
    read = sys.modules["urllib3.util.timeout"].Timeout.resolve_default_timeout(wanted.read_timeout)
    return ClientClock(read)


def _response(pool: Any, method: str, url: str, response: Any, clock: ClientClock, kwargs: dict[str, Any]) -> Any:
    parts = (response.body,) if isinstance(response.body, bytes) else clock.pieces(response.body)
    return sys.modules["urllib3"].HTTPResponse(
        body=io.BufferedReader(_Body(pool, url, iter(parts))),
        headers=response.headers,
        status=response.status,
        version=11,
        version_string="HTTP/1.1",
        preload_content=kwargs.get("preload_content", True),
        decode_content=kwargs.get("decode_content", True),
        request_method=method,
        request_url=url,
    )


def _bytes(body: Any) -> bytes:
    """A body as urllib3 takes it: text, bytes, a file, or pieces of any of these."""
    if body is None or isinstance(body, (str, bytes, bytearray)):
        return body.encode() if isinstance(body, str) else bytes(body or b"")
    read = body.read() if hasattr(body, "read") else b"".join(map(_bytes, body))
    return _bytes(read)


def _sent(pool: Any, host: str, method: str, url: str, body: bytes, headers: Any) -> Any:
    from llm_mock.boundaries.http.wire import WireRequest

    given = headers if headers is not None else pool.headers
    path, _, query = url.partition("?")
    path = "/" + path.split("/", 3)[-1] if "://" in path else path  # as to a proxy
    named = {_text(name).lower(): _text(value) for name, value in (given or {}).items()}
    return WireRequest(method, host, path, query, named, body)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _exception(pool: Any, url: str, error: Any) -> Exception:
    exceptions: Any = sys.modules["urllib3.exceptions"]
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

    def __init__(self, pool: Any, url: str, pieces: Iterator[Any]) -> None:
        self._pool, self._url, self._pieces = pool, url, pieces
        self._rest = b""

    def readable(self) -> bool:
        """It can be read, and not written."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Give what there is of the next piece."""
        from llm_mock.boundaries.http.errors import ConnectionFails

        try:
            while not self._rest:
                piece = next(self._pieces, None)
                if piece is None:
                    return 0
                if isinstance(piece, bytes):
                    self._rest = piece
                else:
                    time.sleep(piece)
        except ConnectionFails as error:
            raise _exception(self._pool, self._url, error) from None
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size
