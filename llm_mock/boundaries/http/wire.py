"""HTTP requests and responses, in a common form for all HTTP libraries and the server."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl

from pydantic_core import to_json

from llm_mock.boundaries.http.errors import (
    ConnectionFailure,
    add_fast_retry_header,
    convert_to_wire_error,
)
from llm_mock.boundaries.http.providers.descriptor import SERVER_SENT_EVENTS
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.events import Wait
from llm_mock.support.redaction import is_secret_name
from llm_mock.support.text import bracket_host

if TYPE_CHECKING:
    from llm_mock.boundaries.http.error_formats import ErrorFormat

DEFAULT_PORTS = {"https": 443, "http": 80}

# Counted per process: SDKs only display the id, and two responses of a test must not share one.
_request_numbers = itertools.count(1)


SECRET_HEADERS = ("authorization", "cookie")
"""The secret headers that `is_secret_name` does not know."""


class WireRequest(NamedTuple):
    """An HTTP request.

    Header names are in lower case. The path has no query, and the query is not decoded.
    """

    method: str
    host: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    scheme: str = "https"
    port: int | None = None

    @property
    def url(self) -> str:
        """The URL; for a request to the mock server, the provider's URL."""
        query = f"?{self.query}" if self.query else ""
        host = bracket_host(self.host)
        if self.port not in (None, DEFAULT_PORTS.get(self.scheme)):
            host = f"{host}:{self.port}"
        return f"{self.scheme}://{host}{self.path}{query}"

    def secrets(self) -> list[str]:
        """Return the values of all secret headers and query parameters."""
        secrets = [self.headers[name] for name in _find_secret_names(tuple(self.headers))]
        if self.query:
            for name, value in parse_qsl(self.query):
                if _find_secret_names((name,)):
                    secrets.append(value)
        return secrets


# A client sends the same headers with each request.
@lru_cache
def _find_secret_names(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name in SECRET_HEADERS or is_secret_name(name)]


class WireResponse(NamedTuple):
    """An HTTP response."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes | Iterable[bytes | Wait]
    """The body, or its chunks with the waits between them."""
    delay: Wait = Wait(0)
    """The time before the response starts."""


class PendingResponse(NamedTuple):
    """A response from a test's function, which may be async."""

    run: Callable[[], WireResponse]
    """Calls the function for a synchronous client."""
    wait: Callable[[], Awaitable[WireResponse]]
    """Calls the function, and awaits its result if it is async."""


def json_response(
    body: object,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> WireResponse:
    """Return a response with a JSON body."""
    # pydantic-core writes JSON faster than the standard library.
    content = to_json(body)
    all_headers = {
        "content-type": "application/json",
        "content-length": str(len(content)),
        **(headers or {}),
    }
    return WireResponse(status, list(all_headers.items()), content)


def event_stream_response(
    chunks: Iterable[bytes | Wait], media_type: str = SERVER_SENT_EVENTS
) -> WireResponse:
    """Return a response that streams events."""
    return WireResponse(200, [("content-type", media_type)], chunks)


def server_sent_event(data: object, event: str | None = None) -> bytes:
    """Encode a server-sent event.

    Args:
        data: a text, which is sent unchanged, or a JSON value.
        event: the name of the event.
    """
    content = data.encode() if isinstance(data, str) else to_json(data)
    if event:
        return b"event: %b\ndata: %b\n\n" % (event.encode(), content)
    return b"data: %b\n\n" % content


def _make_request_id() -> str:
    """Return the id of the next response of this process."""
    return f"req_mock_{next(_request_numbers)}"


def add_request_id(response: WireResponse, errors: ErrorFormat) -> WireResponse:
    """Add a request id to the headers of a response, if the provider sends one."""
    if errors.request_id_header is not None:
        response.headers.append((errors.request_id_header, _make_request_id()))
    return response


def error_response(
    errors: ErrorFormat, error: WireError, provider: str | None = None
) -> WireResponse:
    """Return the response for an error, in the format of a provider.

    Args:
        errors: the format.
        error: the error.
        provider: the provider of the called model; None for other requests.
    """
    error.request_id = _make_request_id()
    body = errors.build_body(error)
    headers = errors.build_headers(error)
    content = error.content
    if content is None:
        return json_response(body, error.status, headers)
    is_own = content.provider is not None and content.provider == provider
    # The HTML page of a gateway is not JSON, and may come from any provider.
    if not is_own and error.body is not None and body is not error.body:
        return json_response(body, error.status, headers)
    # Unchanged, so that the SDK finds the same content as when it created the exception.
    head = {"content-type": content.type, "content-length": str(len(content.data))}
    return WireResponse(error.status, list({**head, **headers}.items()), content.data)


def exception_response(
    errors: ErrorFormat,
    error: Exception,
    provider: str | None = None,
) -> WireResponse:
    """Return the response for an exception.

    Args:
        errors: the format of the provider's errors.
        error: the exception.
        provider: the provider of the model that was called; None for other requests, which get
            no header for fast retries.

    Raises:
        ConnectionFailure: the exception represents a failed connection.
    """
    wire_error = convert_to_wire_error(error)
    if isinstance(wire_error, ConnectionFailure):
        raise wire_error from None
    wire_error.headers = add_fast_retry_header(wire_error, provider)
    return error_response(errors, wire_error, provider)
