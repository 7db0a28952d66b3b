"""The tools that every plain-language test has."""

from __future__ import annotations

import asyncio
import codecs
import functools
import math
import ssl
import time
from decimal import Decimal
from typing import Annotated, Any

import httpx2
from pydantic import Field

from llm_mock.errors import LLMMockError
from llm_mock.specs.allowed_hosts import LOOPBACK, AllowedHosts
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import format_error, shorten, shorten_message

BODY_LIMIT = 10_240
"""The maximum number of bytes to read from the body of a response."""
MAX_REDIRECTS = 5
REQUEST_TIMEOUT = 30.0
"""The time limit of a request in seconds, redirects and body included."""

_MISSING = object()
"""The value of a missing default, because null is a valid default."""


def _get_missing() -> object:
    return _MISSING


Url = Annotated[str, Field(description="An absolute http or https URL.")]
Tolerance = Annotated[
    float, Field(ge=0, allow_inf_nan=False, description="A share: 0.05 allows 5 %.")
]


class BuiltinTools:
    """The built-in tools: each public method is a tool, and its docstring is for models.

    Args:
        allowed_hosts: the hosts that requests, and their redirects, may go to.
    """

    def __init__(self, allowed_hosts: AllowedHosts) -> None:
        self._allowed_hosts = allowed_hosts
        self._stored: JSONObject = {}

    async def http_get(self, url: Url, headers: JSONObject | None = None) -> JSONObject:
        """Make an HTTP GET request.

        Returns status_code, body (text, its first 10 KB) and headers. A status such as 404 is a
        result like any other.
        """
        return await self._request("GET", url, headers)

    async def http_post(
        self,
        url: Url,
        data: JSONObject | None = None,
        headers: JSONObject | None = None,
    ) -> JSONObject:
        """Make an HTTP POST request with data as its JSON body.

        Returns status_code, body (text, its first 10 KB) and headers. A status such as 404 is a
        result like any other.
        """
        return await self._request("POST", url, headers, data)

    async def sleep(self, seconds: float) -> dict[str, float]:
        """Wait a number of seconds. Returns slept: the seconds that were waited."""
        if not 0 <= seconds < math.inf:
            raise LLMMockError(f"sleep: seconds is {shorten(seconds)}; it must be a number from 0.")
        start = time.perf_counter()
        await asyncio.sleep(seconds)
        slept = time.perf_counter() - start
        return {"slept": round(slept, 3)}

    async def assert_equals(self, actual: Any, expected: Any, message: str = "") -> JSONObject:
        """Compare two JSON values. Returns passed, actual, expected and message.

        If they differ and no message is given, the message shows both.
        """
        passed = _is_equal(actual, expected)
        if not passed and not message:
            message = f"{shorten(actual)} is not {shorten(expected)}"
        return {"passed": passed, "actual": actual, "expected": expected, "message": message}

    async def store_value(self, name: str, value: Any) -> JSONObject:
        """Store a value under a name until the test ends. Returns stored (the name) and value."""
        self._stored[name] = value
        return {"stored": name, "value": value}

    async def get_value(
        self, name: str, default: Annotated[Any, Field(default_factory=_get_missing)]
    ) -> JSONObject:
        """Get a value that store_value stored. Returns name, value and found.

        Without a default a name that was not stored is an error.
        """
        is_stored = name in self._stored
        if not is_stored and default is _MISSING:
            names = ", ".join(map(shorten, self._stored)) or "none"
            raise LLMMockError(
                f"get_value: no value is stored as {shorten(name)}. Stored names: {names}. "
                "Store it with store_value, or pass a default."
            )
        return {"name": name, "value": self._stored.get(name, default), "found": is_stored}

    async def list_values(self) -> JSONObject:
        """List the names under which store_value stored values. Returns keys and count."""
        return {"keys": [*self._stored], "count": len(self._stored)}

    async def assert_contains(
        self, container: str | list[Any] | JSONObject, item: Any, message: str = ""
    ) -> JSONObject:
        """Check that a text contains a part, a list an item, or an object a key.

        Returns passed and message.
        """
        if isinstance(container, list):
            passed = any(_is_equal(each, item) for each in container)
        else:
            passed = isinstance(item, str) and item in container
        if not passed and not message:
            message = f"{shorten(item)} is not in {shorten(container)}"
        return {"passed": passed, "message": message}

    async def assert_true(self, condition: bool, message: str = "") -> JSONObject:
        """Check that a condition is true. Returns passed and message."""
        if not condition and not message:
            message = "The condition is false"
        return {"passed": condition, "message": message}

    async def compare_values(
        self, value1: Any, value2: Any, tolerance: Tolerance = 0.0
    ) -> JSONObject:
        """Compare two values; numbers may differ by tolerance, a share of value2.

        Returns equal, value1 and value2, for numbers also difference_percent and
        tolerance_percent. If value2 is 0, the difference is a share of value1. true and false are
        not numbers.
        """
        if _is_number(value1) and _is_number(value2):
            return _compare_numbers(value1, value2, tolerance)
        return {"equal": _is_equal(value1, value2), "value1": value1, "value2": value2}

    async def _request(
        self,
        method: str,
        url: str,
        headers: JSONObject | None,
        data: JSONObject | None = None,
    ) -> JSONObject:
        self._allowed_hosts.check(url)
        subject = f"{method} {_remove_secrets(httpx2.URL(url))}"
        # Models also send numbers as the values of headers.
        texts = {name: str(value) for name, value in (headers or {}).items()}
        try:
            async with _create_client(url) as client:
                request = client.build_request(method, url, headers=texts, json=data)
            return await asyncio.wait_for(self._send(request, subject), REQUEST_TIMEOUT)
        except asyncio.TimeoutError:
            raise LLMMockError(
                f"{subject} timed out after {REQUEST_TIMEOUT:g} seconds without a full response."
            ) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            reason = shorten_message(format_error(error)).rstrip(".")
            raise LLMMockError(f"{subject} failed: {reason}. Is the server running?") from None

    async def _send(self, request: httpx2.Request, subject: str) -> JSONObject:
        """Send a request, and follow redirects to allowed hosts."""
        # Redirects are followed here, because the library would follow them to any host.
        for _ in range(MAX_REDIRECTS + 1):
            async with _create_client(request.url) as client:
                response = await client.send(request, stream=True)
                if response.next_request is None:
                    return await _read_response(response)
                request = response.next_request
            self._allowed_hosts.check(request.url)
        raise LLMMockError(f"{subject} failed: it was redirected more than {MAX_REDIRECTS} times.")


def _create_client(url: str | httpx2.URL) -> httpx2.AsyncClient:
    """Return a client for one request."""
    try:
        LOOPBACK.check(url)
        uses_proxy = False  # A proxy of the environment cannot reach this machine.
    except LLMMockError:
        uses_proxy = True
    # Without a timeout, because `REQUEST_TIMEOUT` limits the whole request.
    return httpx2.AsyncClient(timeout=None, verify=_load_certificates(), trust_env=uses_proxy)


# Cached, because loading them takes longer than a request.
@functools.cache
def _load_certificates() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


async def _read_response(response: httpx2.Response) -> JSONObject:
    # The client closes the connection of a body that is not read to its end.
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > BODY_LIMIT:
            break
    is_complete = len(body) <= BODY_LIMIT
    return {
        "status_code": response.status_code,
        "body": _decode(body[:BODY_LIMIT], response.charset_encoding, is_complete),
        "headers": dict(response.headers),
    }


def _decode(body: bytes, charset: str | None, is_complete: bool) -> str:
    """Return a body as text, without a character that was cut off at its end."""
    for encoding in filter(None, (charset, "utf-8")):
        try:
            # Raises an error for encodings that are not for text, such as hex.
            " ".encode(encoding)
            decoder = codecs.getincrementaldecoder(encoding)("replace")
            text = decoder.decode(body, is_complete)
            # Some encodings return lone surrogates, which JSON cannot contain.
            return text.encode(errors="replace").decode()
        except (LookupError, ValueError):
            continue
    raise AssertionError("UTF-8 decodes everything")


def _remove_secrets(url: httpx2.URL) -> str:
    """Return a URL for messages, without user, password and query."""
    public = url.copy_with(userinfo=b"", query=None, fragment=None)
    return shorten_message(str(public))


def _is_number(value: Any) -> bool:
    # bool is a subclass of int.
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_equal(first: Any, second: Any) -> bool:
    """Return whether two JSON values are equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, dict) and isinstance(second, dict):
        if first.keys() != second.keys():
            return False
        return all(_is_equal(value, second[name]) for name, value in first.items())
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_is_equal, first, second))
    return bool(first == second)


def _compare_numbers(value1: float, value2: float, tolerance: float) -> JSONObject:
    is_equal = value1 == value2
    percent = None
    if _is_finite(value1) and _is_finite(value2):
        # As decimals, so that 1.01 is exactly 1 % more than 1.0.
        first = Decimal(repr(value1))
        second = Decimal(repr(value2))
        share = Decimal(repr(tolerance))
        difference = abs(first - second)
        whole = abs(second or first)
        if tolerance > 0 and difference <= share * whole:
            is_equal = True
        percent = float(difference / whole * 100) if whole else 0.0
    return {
        "equal": is_equal,
        "value1": _convert_to_json(value1),
        "value2": _convert_to_json(value2),
        "difference_percent": _convert_to_json(percent),
        "tolerance_percent": float(Decimal(repr(tolerance)) * 100),
    }


def _is_finite(value: float) -> bool:
    # `isfinite` raises for whole numbers that are too large for a float.
    return not isinstance(value, float) or math.isfinite(value)


def _convert_to_json(value: float | None) -> float | None:
    """Return a number for JSON: None if it is infinite, an int if it is too large for a float."""
    if value is None:
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return value
