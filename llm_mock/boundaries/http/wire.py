"""HTTP requests and responses, in one form for all HTTP libraries and for the server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl

from pydantic_core import from_json, to_json

from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http.errors import WireError
from llm_mock.core.events import Wait
from llm_mock.support.json_types import JSONObject
from llm_mock.support.redaction import is_secret_name

KEY_HEADERS = ("x-api-key", "api-key", "x-goog-api-key")
"""The headers for API keys, beside `Authorization: Bearer …`."""


DEFAULT_PORTS = {"https": 443, "http": 80}


class WireRequest(NamedTuple):
    """An HTTP request.

    The names of the headers are in lower case. The path has no query; the query is not decoded.
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
    def client(self) -> str | None:
        """The name and the version of the client."""
        # Google's SDK names itself in a header of its own, its HTTP library in the usual one.
        return self.headers.get("x-goog-api-client") or self.headers.get("user-agent")

    @property
    def key(self) -> str | None:
        """The API key; None without one, and for the placeholder of the mock."""
        key = self.headers.get("authorization", "").removeprefix("Bearer ")
        # A provider's own header wins over a token, which a proxy may have added.
        for name in KEY_HEADERS:
            if name in self.headers:
                key = self.headers[name]
                break
        return key if key and key != PLACEHOLDER_KEY else None

    @property
    def url(self) -> str:
        """The URL; that of the provider if the server of the mock was asked."""
        query = f"?{self.query}" if self.query else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        if self.port not in (None, DEFAULT_PORTS.get(self.scheme)):
            host = f"{host}:{self.port}"
        return f"{self.scheme}://{host}{self.path}{query}"

    def secrets(self) -> list[str]:
        """Return the values of all headers and query parameters that are secret."""
        secrets = []
        for name, value in [*self.headers.items(), *parse_qsl(self.query)]:
            if name in ("authorization", "cookie") or is_secret_name(name):
                secrets.append(value)
        return secrets

    def json(self) -> JSONObject:
        """Parse the body as a JSON object.

        Raises:
            WireError: the body is not a JSON object; worded as the providers word it.
        """
        try:
            value = from_json(self.body, allow_inf_nan=False)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise WireError(400, "We could not parse the JSON body of your request.")
        return value


class WireResponse(NamedTuple):
    """An HTTP response."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes | Iterable[bytes | Wait]
    """The body, or its chunks with the waits between them."""
    delay: Wait = Wait(0)
    """The time before the response starts."""


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
    chunks: Iterable[bytes | Wait],
    headers: Mapping[str, str] | None = None,
) -> WireResponse:
    """Return a response that streams server-sent events."""
    all_headers = [("content-type", "text/event-stream; charset=utf-8")]
    all_headers += (headers or {}).items()
    return WireResponse(200, all_headers, chunks)


def server_sent_event(data: object, event: str | None = None) -> bytes:
    """Encode a server-sent event.

    Args:
        data: a text, which is sent as it is, or a JSON value.
        event: the name of the event.
    """
    content = data.encode() if isinstance(data, str) else to_json(data)
    if event:
        return b"event: %b\ndata: %b\n\n" % (event.encode(), content)
    return b"data: %b\n\n" % content
