"""Requests and responses as httpcore and httpx have them, and as the wire has them: imported with the first call."""

from __future__ import annotations

import functools
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.http.client_clock import ClientClock
from llm_mock.boundaries.http.dispatch import dispatch_request, dispatch_request_async
from llm_mock.boundaries.http.errors import ConnectionFailure
from llm_mock.boundaries.http.interception import sleep
from llm_mock.boundaries.http.wire import WireRequest, WireResponse

if TYPE_CHECKING:
    from llm_mock.boundaries.http.recording import WireRecording

    Answered = tuple[WireResponse | WireRecording | None, ClientClock]

EXCEPTIONS = {"connect": "ConnectError", "dropped": "RemoteProtocolError", "timeout": "ReadTimeout"}
"""The exceptions of httpcore, and of httpx, by the kind of a `ConnectionFailure`."""


def answered(library: Any, request: Any, sent: WireRequest, provider: str) -> Answered:
    """What `dispatch_request` gives for a request, and the clock of its client.

    Args:
        library: the module, `httpcore` or `httpx`, whose exception is raised for a connection that fails.
        request: the library's own request.
        sent: the same as the wire has it.
        provider: as `find_provider_of_host` names it.
    """
    __tracebackhide__ = True
    clock = ClientClock(request.extensions.get("timeout", {}).get("read"))
    try:
        return dispatch_request(sent, provider, clock), clock
    except ConnectionFailure as error:
        raise _exception(library, error) from None


async def answered_async(library: Any, request: Any, sent: WireRequest, provider: str) -> Answered:
    """The asynchronous twin of `answered`."""
    __tracebackhide__ = True
    clock = ClientClock(request.extensions.get("timeout", {}).get("read"))
    try:
        return await dispatch_request_async(sent, provider, clock), clock
    except ConnectionFailure as error:
        raise _exception(library, error) from None


def wire_request(
    method: str, host: bytes, target: bytes, headers: Iterable[tuple[bytes, bytes]], body: bytes
) -> WireRequest:
    """A request of what the libraries have."""
    path, _, query = target.decode("ascii", "replace").partition("?")
    decoded = {_lower(name): value.decode("latin-1") for name, value in headers}
    return WireRequest(method, host.decode("ascii"), path, query, decoded, body)


@functools.lru_cache(maxsize=256)
def _lower(name: bytes) -> str:
    """The name of a header: clients send the same ones again and again."""
    return name.decode("latin-1").lower()


def response_of(library: Any, response: WireResponse, **body: Any) -> Any:
    """A response as the libraries have it, with its body as the argument that they want."""
    headers = [
        (name.encode("latin-1"), value.encode("latin-1")) for name, value in response.headers
    ]
    return library.Response(
        response.status, headers=headers, extensions={"http_version": b"HTTP/1.1"}, **body
    )


def pieces(library: Any, body: Iterable[Any]) -> Iterator[bytes]:
    """The pieces of a body, by the clock of the client."""
    try:
        for piece in body:
            if isinstance(piece, bytes):
                yield piece
            else:
                time.sleep(piece)
    except ConnectionFailure as error:
        raise _exception(library, error) from None


async def pieces_async(library: Any, body: Iterable[Any]) -> AsyncIterator[bytes]:
    """The asynchronous twin of `pieces`."""
    try:
        for piece in body:
            if isinstance(piece, bytes):
                yield piece
            else:
                await sleep(piece)
    except ConnectionFailure as error:
        raise _exception(library, error) from None


def _exception(library: Any, error: ConnectionFailure) -> Exception:
    exception: Exception = getattr(library, EXCEPTIONS[error.kind])(str(error))
    return exception
