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
from llm_mock.support.text import error_text, shorten, shorten_name

BODY_LIMIT = 10_240
"""How many bytes of a response's body are read."""
MOST_REDIRECTS = 5
REQUEST_TIMEOUT = 30.0
"""Seconds that a request may take, redirects and body included."""

Url = Annotated[str, Field(description="An absolute http or https URL.")]
Tolerance = Annotated[float, Field(ge=0, allow_inf_nan=False, description="A share: 0.05 allows 5 %.")]


class BuiltinTools:
    """The built-in tools: each public method is one. A redirect to a host that is not allowed is refused too."""

    def __init__(self, allowed_hosts: AllowedHosts) -> None:
        self._allowed_hosts = allowed_hosts
        self._stored: dict[str, Any] = {}

    async def http_get(self, url: Url, headers: dict[str, Any] | None = None) -> dict[str, Any]:
        """Make an HTTP GET request.

        Returns status_code, body (text, its first 10 KB) and headers. A status such as 404 is a result like any other.
        """
        return await self._request("GET", url, headers)

    async def http_post(
        self, url: Url, data: dict[str, Any] | None = None, headers: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Make an HTTP POST request with data as its JSON body.

        Returns status_code, body (text, its first 10 KB) and headers. A status such as 404 is a result like any other.
        """
        return await self._request("POST", url, headers, data)

    async def sleep(self, seconds: float) -> dict[str, float]:
        """Wait a number of seconds. Returns slept: the seconds that were waited."""
        if not 0 <= seconds < math.inf:
            raise LLMMockError(f"sleep: seconds is {shorten(seconds)}; give a number from 0.")
        start = time.perf_counter()
        await asyncio.sleep(seconds)
        return {"slept": round(time.perf_counter() - start, 3)}

    async def assert_equals(self, actual: Any, expected: Any, message: str = "") -> dict[str, Any]:
        """Compare two JSON values. Returns passed, actual, expected and message.

        Where they differ and no message is given, the message says how.
        """
        passed = _equal(actual, expected)
        message = message or ("" if passed else f"{shorten(actual)} is not {shorten(expected)}")
        return {"passed": passed, "actual": actual, "expected": expected, "message": message}

    async def store_value(self, name: str, value: Any) -> dict[str, Any]:
        """Keep a value under a name until the test ends. Returns stored (the name) and value."""
        self._stored[name] = value
        return {"stored": name, "value": value}

    async def get_value(self, name: str, default: Any = None) -> dict[str, Any]:
        """Give the value that store_value kept, or else the default. Returns name, value and found."""
        return {"name": name, "value": self._stored.get(name, default), "found": name in self._stored}

    async def list_values(self) -> dict[str, Any]:
        """List the names under which store_value kept values. Returns keys and count."""
        return {"keys": [*self._stored], "count": len(self._stored)}

    async def assert_contains(
        self, container: str | list[Any] | dict[str, Any], item: Any, message: str = ""
    ) -> dict[str, Any]:
        """Look whether a text has a part, a list an item, or an object a key. Returns passed and message."""
        if isinstance(container, list):
            passed = any(_equal(each, item) for each in container)
        else:
            passed = isinstance(item, str) and item in container
        message = message or ("" if passed else f"{shorten(item)} is not in {shorten(container)}")
        return {"passed": passed, "message": message}

    async def assert_true(self, condition: bool, message: str = "") -> dict[str, Any]:
        """Look whether a condition holds. Returns passed and message."""
        return {"passed": condition, "message": message or ("" if condition else "The condition is false")}

    async def compare_values(self, value1: Any, value2: Any, tolerance: Tolerance = 0.0) -> dict[str, Any]:
        """Compare two values; numbers are equal where they differ by at most tolerance, a share of value2.

        Returns equal, value1 and value2, for numbers also difference_percent and tolerance_percent. Where value2 is 0,
        the difference is a share of value1. true and false are no numbers.
        """
        if _is_number(value1) and _is_number(value2):
            return _compared_numbers(value1, value2, tolerance)
        return {"equal": _equal(value1, value2), "value1": value1, "value2": value2}

    async def _request(
        self, method: str, url: str, headers: dict[str, Any] | None, data: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        self._allowed_hosts.check(url)
        asked = f"{method} {_without_secrets(httpx2.URL(url))}"
        texts = {name: str(value) for name, value in (headers or {}).items()}
        try:
            async with _client(url) as client:
                request = client.build_request(method, url, headers=texts, json=data)
            return await asyncio.wait_for(self._send(request, asked), REQUEST_TIMEOUT)
        except asyncio.TimeoutError:
            without = f"after {REQUEST_TIMEOUT:g} seconds without a whole answer"
            raise LLMMockError(f"{asked} was given up {without}.") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            reason = shorten_name(error_text(error), 300).rstrip(".")
            raise LLMMockError(f"{asked} failed: {reason}. Is the server running?") from None

    async def _send(self, request: httpx2.Request, asked: str) -> dict[str, Any]:
        """Send a request, and follow redirects."""
        for _ in range(MOST_REDIRECTS + 1):
            async with _client(request.url) as client:
                response = await client.send(request, stream=True)
                if response.next_request is None:
                    return await _result(response)
                request = response.next_request
                await response.aclose()
            self._allowed_hosts.check(request.url)
        raise LLMMockError(f"{asked} failed: it was redirected more than {MOST_REDIRECTS} times.")


def _client(url: str | httpx2.URL) -> httpx2.AsyncClient:
    """A client for one request; this machine itself is never asked through a proxy of the environment."""
    try:
        LOOPBACK.check(url)
        through_proxy = False
    except LLMMockError:
        through_proxy = True
    return httpx2.AsyncClient(timeout=None, verify=_certificates(), trust_env=through_proxy)


@functools.cache
def _certificates() -> ssl.SSLContext:
    return httpx2.create_ssl_context()  # takes longer than a request


async def _result(response: httpx2.Response) -> dict[str, Any]:
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > BODY_LIMIT:
            break
    await response.aclose()
    return {
        "status_code": response.status_code,
        "body": _text(body[:BODY_LIMIT], response.charset_encoding, whole=len(body) <= BODY_LIMIT),
        "headers": dict(response.headers),
    }


def _text(body: bytes, charset: str | None, whole: bool) -> str:
    """A body as text. Half a character at the end of a body that was cut is left out."""
    for encoding in (charset or "utf-8", "utf-8"):
        try:
            " ".encode(encoding)  # refuses encodings that are not of text, such as hex
            text = codecs.getincrementaldecoder(encoding)("replace").decode(body, whole)
            return text.encode(errors="replace").decode()  # some encodings give halves of characters
        except (LookupError, ValueError):
            continue
    raise AssertionError("UTF-8 decodes everything")


def _without_secrets(url: httpx2.URL) -> str:
    """A URL for messages: without user, password and query."""
    return shorten_name(str(url.copy_with(username=None, password=None, query=None, fragment=None)), 300)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _equal(first: Any, second: Any) -> bool:
    """Whether two JSON values are equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_equal(value, second[name]) for name, value in first.items())
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_equal, first, second))
    return bool(first == second)


def _compared_numbers(value1: float, value2: float, tolerance: float) -> dict[str, Any]:
    equal, percent = value1 == value2, None
    if not any(isinstance(value, float) and not math.isfinite(value) for value in (value1, value2)):
        # As decimals, so that 1.01 is 1.0 with 1 % more, as it is written.
        first, second = Decimal(repr(value1)), Decimal(repr(value2))
        difference, whole = abs(first - second), abs(second or first)
        equal = equal or (tolerance > 0 and difference <= Decimal(repr(tolerance)) * whole)
        percent = float(difference / whole * 100) if whole else 0.0
    return {
        "equal": equal,
        "value1": _json_number(value1),
        "value2": _json_number(value2),
        "difference_percent": _json_number(percent),
        "tolerance_percent": float(Decimal(repr(tolerance)) * 100),
    }


def _json_number(value: float | None) -> float | None:
    """A number as JSON has it: None where it is not finite, a whole number where it is too large for a float."""
    if value is None:
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return value
