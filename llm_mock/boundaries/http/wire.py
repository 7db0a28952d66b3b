"""A request and a response as HTTP has them, for every library and for the server alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from pydantic_core import from_json, to_json

from llm_mock.boundaries import NO_KEY
from llm_mock.boundaries.http.errors import WireError
from llm_mock.core.events import Wait
from llm_mock.support.redaction import is_secret_name

KEY_HEADERS = ("x-api-key", "api-key", "x-goog-api-key")
"""Where keys are sent, beside `Authorization: Bearer …`."""


class WireRequest(NamedTuple):
    """What was sent.

    The names of the headers are in lower case; the path has no query, and the query is as it was sent.
    """

    method: str
    host: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def client(self) -> str | None:
        """What the client calls itself."""
        return self.headers.get("x-goog-api-client") or self.headers.get("user-agent")

    @property
    def key(self) -> str | None:
        """The key that was sent; None where the mock made a client do without one."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        key = next((self.headers[name] for name in KEY_HEADERS if name in self.headers), bearer)
        return key if key and key != NO_KEY else None

    def secrets(self) -> list[str]:
        """What else of it is secret: every way to say who asks."""
        said = [*self.headers.items(), *parse_qsl(self.query)]
        return [value for name, value in said if name in ("authorization", "cookie") or is_secret_name(name)]

    def json(self) -> dict[str, Any]:
        """The body as an object.

        Raises:
            WireError: it is none; with what the providers answer then.
        """
        try:
            value = from_json(self.body, allow_inf_nan=False)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise WireError(400, "We could not parse the JSON body of your request.")
        return value


class WireResponse(NamedTuple):
    """What is sent back. A body that comes in pieces may have waits between them, in seconds."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes | Iterable[bytes | Wait]
    delay: Wait = Wait(0)
    """The seconds before it begins."""


def json_response(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> WireResponse:
    """A response with a JSON body."""
    content = to_json(body)
    given = {"content-type": "application/json", "content-length": str(len(content)), **(headers or {})}
    return WireResponse(status, list(given.items()), content)


def event_stream_response(pieces: Iterable[bytes | Wait], headers: Mapping[str, str] | None = None) -> WireResponse:
    """A response that streams server-sent events."""
    return WireResponse(200, [("content-type", "text/event-stream; charset=utf-8"), *(headers or {}).items()], pieces)


def server_sent_event(data: Any, event: str | None = None) -> bytes:
    """One server-sent event; `data` is text, or a JSON value."""
    content = data.encode() if isinstance(data, str) else to_json(data)
    return b"event: %b\ndata: %b\n\n" % (event.encode(), content) if event else b"data: %b\n\n" % content
