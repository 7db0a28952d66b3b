"""Intercept urllib3's connection pools, which requests and botocore use."""

from __future__ import annotations

import functools
import io
import socket
import time
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from llm_mock.boundaries.http.interception import UNDECIDED, find_provider, identify_provider
from llm_mock.boundaries.patching import replace
from llm_mock.core.context import current_mock, pass_through

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, HTTPConnectionPool, Retry

    from llm_mock.boundaries.http.client_clock import ClientClock
    from llm_mock.boundaries.http.errors import ConnectionFailure
    from llm_mock.boundaries.http.recording import WireRecording
    from llm_mock.boundaries.http.wire import WireRequest, WireResponse


def attach(urllib3: ModuleType) -> None:
    """Intercept the requests of a `urllib3` module, and the asynchronous ones of urllib3-future."""
    replace(urllib3.HTTPConnectionPool, "urlopen", functools.partial(_urlopen, urllib3))
    async_pool = getattr(urllib3, "AsyncHTTPConnectionPool", None)
    if async_pool is not None:
        replace(async_pool, "urlopen", functools.partial(_urlopen_async, urllib3))


class _Call:
    """A call to `urlopen`, with its arguments.

    Args:
        urllib3: the module of the pool; None to only find the provider.
        original: the function that sends the request.
        pool: the connection pool; urllib3-future has an asynchronous one, too.
    """

    def __init__(
        self,
        urllib3: ModuleType | None,
        original: Callable[..., object] | None,
        pool: HTTPConnectionPool,
        method: str,
        url: str,
        body: object = None,
        headers: Mapping[str | bytes, str | bytes] | None = None,
        retries: Retry | bool | int | None = None,
        *args: object,
        **kwargs: object,
    ) -> None:
        self.urllib3: Any = urllib3
        self._original: Any = original
        self.pool: Any = pool
        self.method = method
        self.url = url
        self.body = body
        self._headers = headers
        self.retries = retries
        self._args = args
        self._kwargs = kwargs
        self.host: str
        self.port: int | None
        if pool.proxy is None or "://" not in url:
            self.host = pool.host
            self.port = pool.port
        else:
            # For a request that is not encrypted, the target for a proxy is the whole URL.
            parts = urlsplit(url)
            self.host = parts.hostname or ""
            self.port = parts.port
        self.target = url
        # A URL in the query is not the URL of the request.
        if "://" in url.partition("?")[0]:
            self.target = "/" + url.split("/", 3)[-1]

    def find_provider(self) -> str | None:
        """Return the provider that the request is for, as `find_provider` does."""
        pool = self.pool
        headers = self._headers if self._headers is not None else pool.headers
        items = (headers or {}).items()
        method_and_scheme = f"{self.method} {pool.scheme}"
        return find_provider(
            self.host, self.port, self.target, items, method_and_scheme=method_and_scheme
        )

    def wire_request(self, body: bytes) -> WireRequest:
        """Return the request in the common form of all HTTP libraries."""
        from llm_mock.boundaries.http.wire import WireRequest

        path, _, query = self.target.partition("?")
        headers = self._headers if self._headers is not None else self.pool.headers
        lowered = {}
        for name, value in (headers or {}).items():
            lowered[_decode(name).lower()] = _decode(value)
        # The target is a whole URL only for a request to a proxy, which is not encrypted.
        scheme = self.pool.scheme if self.host == self.pool.host else "http"
        return WireRequest(self.method, self.host, path, query, lowered, body, scheme, self.port)

    def send(self, body: object) -> Any:
        """Send the request with a body and the application's arguments."""
        __tracebackhide__ = True
        return self._original(
            self.pool,
            self.method,
            self.url,
            body,
            self._headers,
            self.retries,
            *self._args,
            **self._kwargs,
        )

    def send_recorded(self, body: object, recording: WireRecording, **kwargs: bool) -> Any:
        """Send the request in a way that allows recording its response."""
        __tracebackhide__ = True
        headers = self._headers if self._headers is not None else self.pool.headers
        raw = {**self._kwargs, "preload_content": False, "decode_content": False, **kwargs}
        return self._original(
            self.pool,
            self.method,
            self.url,
            body,
            {**headers, **recording.get_header_overrides()},
            self.retries,
            *self._args,
            **raw,
        )

    def send_again(self, body: bytes, retries: Retry) -> Any:
        """Send the request again after a failure from the mock."""
        __tracebackhide__ = True
        # Through the pool, so that the mock answers the retry, too.
        return self.pool.urlopen(
            self.method, self.url, body, self._headers, retries, *self._args, **self._kwargs
        )

    def create_clock(self) -> ClientClock:
        """Return the clock of the client, with the read timeout of the call or of the pool."""
        from llm_mock.boundaries.http.client_clock import ClientClock

        # The third argument after `retries`.
        if len(self._args) > 2:
            given = self._args[2]
        else:
            given = self._kwargs.get("timeout", self.pool.timeout)
        # Private: resolves numbers and the pool's default, as urllib3 itself does.
        timeout = self.pool._get_timeout(given)
        timeout.start_connect()  # a total timeout is counted from there
        read = timeout.read_timeout
        # `resolve_default_timeout` is only in urllib3 2 and late versions of 1.26.
        if read is self.urllib3.Timeout.DEFAULT_TIMEOUT:
            read = socket.getdefaulttimeout()
        return ClientClock(read)

    def next_retry(self, retries: Retry, response: BaseHTTPResponse) -> Retry | None:
        """Return the `Retry` to send the request again with; None to keep the response."""
        __tracebackhide__ = True
        if not retries.is_retry(self.method, response.status, "retry-after" in response.headers):
            return None
        try:
            return retries.increment(self.method, self.url, response=response, _pool=self.pool)
        except self.urllib3.exceptions.MaxRetryError:
            if retries.raise_on_status:
                raise
            return None

    def retry_after_failure(self, retries: Retry, error: ConnectionFailure) -> Retry:
        """Return the `Retry` to send the request again with.

        Raises:
            Exception: urllib3's exception, if no retry is left.
        """
        __tracebackhide__ = True
        exception = self.build_exception(error)
        pool = self.pool
        return retries.increment(self.method, self.url, error=exception, _pool=pool)

    def build_exception(self, error: ConnectionFailure) -> Exception:
        """Return urllib3's exception for a failed connection."""
        exceptions = self.urllib3.exceptions
        message = str(error)
        exception: Exception
        if error.kind == "timeout":
            exception = exceptions.ReadTimeoutError(self.pool, self.url, message)
        elif error.kind == "dropped":
            exception = exceptions.ProtocolError(message, ConnectionResetError(message))
        else:
            connection = self.pool.ConnectionCls(self.pool.host)
            exception = exceptions.NewConnectionError(connection, message)
        return exception

    def build_response(self, response: WireResponse, clock: ClientClock) -> Any:
        """Return urllib3's response for one of the mock."""
        body = response.body
        chunks: Iterable[bytes | float]
        if isinstance(body, bytes):
            chunks = (body,)
        else:
            chunks = clock.read_body(body)
        preload_content = self._kwargs.get("preload_content", True)
        response_class = self.urllib3.HTTPResponse
        if not isinstance(self.pool, self.urllib3.HTTPConnectionPool):
            response_class = self.urllib3.AsyncHTTPResponse
            # Its body must be awaited, which a constructor cannot do.
            preload_content = self._kwargs.get("preload_content", False)
        built = response_class(
            body=io.BufferedReader(_Body(self, chunks)),
            headers=response.headers,
            status=response.status,
            version=11,
            preload_content=preload_content,
            decode_content=self._kwargs.get("decode_content", True),
            request_method=self.method,
            request_url=self.url,
        )
        # This argument exists only since urllib3 2.2, and not in urllib3-future.
        built.version_string = "HTTP/1.1"
        return built


def _urlopen(
    urllib3: ModuleType, original: Callable[..., object], *args: Any, **kwargs: Any
) -> Any:
    __tracebackhide__ = True
    call = _Call(urllib3, original, *args, **kwargs)
    provider = call.find_provider()
    # With VCR's connections, the test's own cassette answers.
    if provider is None or call.pool.ConnectionCls.__module__.startswith("vcr."):
        return call.send(call.body)
    from llm_mock.boundaries.http.dispatch import dispatch_request
    from llm_mock.boundaries.http.errors import ConnectionFailure

    content = _read_body(call.body)
    sent = call.wire_request(content)
    # Every host may use the path of a model API; only the body decides.
    if provider == UNDECIDED:
        provider = identify_provider(sent)
        if provider is None:
            return call.send(_restore_body(call.body, content))
    retries = call.urllib3.Retry.from_int(call.retries, default=call.pool.retries)
    clock = call.create_clock()
    try:
        response = dispatch_request(sent, provider, current_mock(), clock)
    except ConnectionFailure as error:
        retries = call.retry_after_failure(retries, error)
        retries.sleep()
        return call.send_again(content, retries)
    if not isinstance(response, tuple):
        return _send_for_real(call, content, response, clock)
    answer = call.build_response(response, clock)
    next_retry = call.next_retry(retries, answer)
    if next_retry is None:
        return answer
    next_retry.sleep(answer)
    return call.send_again(content, next_retry)


def _send_for_real(
    call: _Call, content: bytes, recording: WireRecording | None, clock: ClientClock
) -> Any:
    """Send a request to the provider, and record its response if there is a recording."""
    __tracebackhide__ = True
    body = _restore_body(call.body, content)
    if recording is None:
        with pass_through():
            return call.send(body)
    with pass_through(), recording.guard_send():
        received = call.send_recorded(body, recording)
    chunks = recording.record_body(_read_raw_chunks(received))
    return call.build_response(_begin_recording(received, recording, chunks), clock)


async def _urlopen_async(
    urllib3: ModuleType, original: Callable[..., object], *args: Any, **kwargs: Any
) -> Any:
    """Do the same as `_urlopen`, but read a recorded response completely before returning it."""
    __tracebackhide__ = True
    call = _Call(urllib3, original, *args, **kwargs)
    provider = call.find_provider()
    if provider is None:
        return await call.send(call.body)
    from llm_mock.boundaries.http.dispatch import dispatch_request_async
    from llm_mock.boundaries.http.errors import ConnectionFailure

    body = call.body
    if hasattr(body, "__aiter__"):
        body = await _collect_chunks(body)
    content = _read_body(body)
    sent = call.wire_request(content)
    if provider == UNDECIDED:
        provider = identify_provider(sent)
        if provider is None:
            return await call.send(content or None)
    retries: Any = call.urllib3.Retry.from_int(call.retries, default=call.pool.retries)
    clock = call.create_clock()
    try:
        response = await dispatch_request_async(sent, provider, current_mock(), clock)
    except ConnectionFailure as error:
        retries = call.retry_after_failure(retries, error)
        await retries.async_sleep()
        return await call.send_again(content, retries)
    if not isinstance(response, tuple):
        return await _send_for_real_async(call, content, response, clock)
    answer = call.build_response(response, clock)
    next_retry: Any = call.next_retry(retries, answer)
    if next_retry is None:
        return answer
    await next_retry.async_sleep(answer)
    return await call.send_again(content, next_retry)


async def _collect_chunks(body: AsyncIterable[object]) -> list[object]:
    return [chunk async for chunk in body]


async def _send_for_real_async(
    call: _Call, content: bytes, recording: WireRecording | None, clock: ClientClock
) -> Any:
    """Send a request to the provider; the asynchronous form of `_send_for_real`."""
    __tracebackhide__ = True
    if recording is None:
        with pass_through():
            return await call.send(content or None)
    with pass_through(), recording.guard_send():
        received = await call.send_recorded(content or None, recording, multiplexed=False)
        data = [chunk async for chunk in received.stream(decode_content=False)]
    chunks = recording.record_body(data)
    return call.build_response(_begin_recording(received, recording, chunks), clock)


def _begin_recording(
    received: BaseHTTPResponse, recording: WireRecording, chunks: Iterator[bytes]
) -> WireResponse:
    """Return a response that is recorded while its chunks are read."""
    from llm_mock.boundaries.http.wire import WireResponse

    headers = []
    for name, value in received.headers.items():
        # urllib3 has already decoded the chunked transfer encoding.
        if name.lower() != "transfer-encoding":
            headers.append((name, value))
    recording.begin(received.status, headers)
    return WireResponse(received.status, headers, chunks)


def _read_raw_chunks(received: Any) -> Iterator[bytes]:
    """Yield the chunks of a body as they arrive, without decoding them."""
    if not hasattr(received, "read1"):  # before urllib3 2
        yield from received.stream(decode_content=False)
        return
    while True:
        chunk = received.read1(65536, decode_content=False)
        if not chunk:
            break
        yield chunk
    received.release_conn()


def _read_body(body: Any) -> bytes:
    """Return the content of a body, which is a str, a buffer, a file, or an iterable of these."""
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if hasattr(body, "read"):
        return _read_body(body.read())
    if _is_buffer(body):
        return bytes(body)
    chunks = [_read_body(chunk) for chunk in body]
    return b"".join(chunks)


def _restore_body(body: object, content: bytes) -> object:
    """Return a body that can be sent after it was read, even for a file or an iterator.

    urllib3 frames the returned body in the same way as the original body.
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


def _find_provider(*args: Any, **kwargs: Any) -> str | None:
    """Return the provider of a call to `urlopen`."""
    return _Call(None, None, *args, **kwargs).find_provider()


SEAMS = {"HTTPConnectionPool.urlopen": _find_provider}
"""The function that is replaced, and the one that finds the provider of a call."""
_USED = (
    *SEAMS,
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
"""The names used from the library, besides the attributes of its pools."""
CONSTRUCTORS = ("HTTPConnectionPool.__init__",)
"""The constructors that are refused if `SEAMS` are gone."""


def _decode(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


class _Body(io.RawIOBase):
    """A file object that contains the chunks of a body."""

    def __init__(self, call: _Call, chunks: Iterable[bytes | float]) -> None:
        self._call = call
        self._chunks = iter(chunks)
        self._rest = b""

    def readable(self) -> bool:
        """Return True, as the file can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Copy the rest of the current chunk, or the next one, into a buffer."""
        from llm_mock.boundaries.http.errors import ConnectionFailure

        try:
            while not self._rest:
                chunk = next(self._chunks, None)
                if chunk is None:
                    return 0
                if isinstance(chunk, bytes):
                    self._rest = chunk
                else:
                    time.sleep(chunk)
        except ConnectionFailure as error:
            raise self._call.build_exception(error) from None
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
