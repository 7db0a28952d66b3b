"""Convert requests and responses of httpcore and httpx to the mock's form and back.

Imported with the first intercepted request.
"""

from __future__ import annotations

import functools
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.http.client_clock import ClientClock
from llm_mock.boundaries.http.dispatch import dispatch_request, dispatch_request_async
from llm_mock.boundaries.http.errors import ConnectionFailure
from llm_mock.boundaries.http.interception import sleep
from llm_mock.boundaries.http.wire import WireRequest, WireResponse
from llm_mock.core.events import Wait

if TYPE_CHECKING:
    import httpcore
    import httpx

    from llm_mock.boundaries.http.recording import WireRecording
    from llm_mock.core.mock import Mock

    LibraryRequest = httpcore.Request | httpx.Request
    DispatchResult = tuple[WireResponse | WireRecording | None, ClientClock]

EXCEPTIONS = {"connect": "ConnectError", "dropped": "RemoteProtocolError", "timeout": "ReadTimeout"}
"""The exceptions of httpcore and httpx, by the kind of a `ConnectionFailure`."""


def answer_request(
    library: ModuleType,
    request: LibraryRequest,
    sent: WireRequest,
    provider: str,
    mock: Mock,
    can_send: bool = True,
) -> DispatchResult:
    """Dispatch a request; return the result of `dispatch_request`, and the clock of the client.

    Args:
        library: the module, `httpcore` or `httpx`, whose exceptions are raised.
        request: the library's own request.
        sent: the same request in the mock's form.
        provider: its provider, as `find_provider_of_host` names it.
        mock: the mock that answers.
        can_send: False if the request is never sent; see `dispatch_request`.

    Raises:
        Exception: the library's exception, if the connection fails.
    """
    __tracebackhide__ = True
    # The timeouts of these libraries limit each read, and never the whole response.
    clock = ClientClock(request.extensions.get("timeout", {}).get("read"))
    try:
        return dispatch_request(sent, provider, mock, clock, can_send), clock
    except ConnectionFailure as error:
        # `from None`, as our own exception would not help an application.
        raise _build_exception(library, error) from None


async def answer_request_async(
    library: ModuleType,
    request: LibraryRequest,
    sent: WireRequest,
    provider: str,
    mock: Mock,
    can_send: bool = True,
) -> DispatchResult:
    """Dispatch a request; the asynchronous form of `answer_request`."""
    __tracebackhide__ = True
    clock = ClientClock(request.extensions.get("timeout", {}).get("read"))
    try:
        return await dispatch_request_async(sent, provider, mock, clock, can_send), clock
    except ConnectionFailure as error:
        raise _build_exception(library, error) from None


def build_wire_request(
    method: str,
    origin: tuple[bytes, bytes, int | None],
    target: bytes,
    headers: Iterable[tuple[bytes, bytes]],
    body: bytes,
) -> WireRequest:
    """Return a request in the common form of all HTTP libraries.

    Args:
        method: the method.
        origin: the scheme, the host and the port; None for the default port of the scheme.
        target: the path with the query.
        headers: the headers.
        body: the body.
    """
    # latin-1 maps each byte of a header to one character, so that nothing is lost.
    path, _, query = target.decode("ascii", "replace").partition("?")
    decoded = {_decode_name(name): value.decode("latin-1") for name, value in headers}
    scheme, host, port = origin
    return WireRequest(
        method, host.decode("ascii"), path, query, decoded, body, scheme.decode("ascii"), port
    )


# Cached, because clients send the same headers with each request.
@functools.lru_cache
def _decode_name(name: bytes) -> str:
    """Return the name of a header in lower case."""
    return name.decode("latin-1").lower()


def build_response(library: ModuleType, response: WireResponse, **body: object) -> Any:
    """Return a library's response.

    Args:
        library: the module, `httpcore` or `httpx`.
        response: the response of the mock.
        body: the library's argument that contains the body.
    """
    headers = [
        (name.encode("latin-1"), value.encode("latin-1")) for name, value in response.headers
    ]
    return library.Response(
        response.status, headers=headers, extensions={"http_version": b"HTTP/1.1"}, **body
    )


def read_chunks(
    library: ModuleType, body: Iterable[bytes | Wait], clock: ClientClock
) -> Iterator[bytes]:
    """Yield the chunks of a body, and wait between them according to the clock of the client.

    Raises:
        Exception: the library's exception, if the connection fails.
    """
    try:
        for chunk in body:
            # Inlined from `ClientClock.read_body`, to save another generator for each chunk.
            if isinstance(chunk, bytes):
                clock.silence = 0.0
                yield chunk
            else:
                for seconds in clock.advance(chunk):
                    time.sleep(seconds)
    except ConnectionFailure as error:
        raise _build_exception(library, error) from None


async def read_chunks_async(
    library: ModuleType, body: Iterable[bytes | Wait], clock: ClientClock
) -> AsyncIterator[bytes]:
    """Yield the chunks of a body; the asynchronous form of `read_chunks`."""
    try:
        for chunk in body:
            if isinstance(chunk, bytes):
                clock.silence = 0.0
                yield chunk
            else:
                for seconds in clock.advance(chunk):
                    await sleep(seconds)
    except ConnectionFailure as error:
        raise _build_exception(library, error) from None


def _build_exception(library: ModuleType, error: ConnectionFailure) -> Exception:
    exception_class = getattr(library, EXCEPTIONS[error.kind])
    exception: Exception = exception_class(str(error))
    return exception
