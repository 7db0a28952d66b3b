"""Asks for a turn again where the model's provider failed for a while: by tenacity."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

import tenacity

from llm_mock.boundaries.llm import boundary
from llm_mock.support.text import error_text

FIRST_WAIT = 0.5
LONGEST_WAIT = 8.0
"""Seconds before the first retry, doubled before each one after it, and at most; where the provider names none."""
LONGEST_ASKED = 120.0
"""Seconds that a provider may ask to wait. One that asks for more is not waited for."""
CONNECTION_ERRORS = {
    "APIConnectionError",  # openai, anthropic, and their timeouts
    "ClientConnectionError",  # aiohttp
    "ConnectionError",  # Python, requests
    "IncompleteRead",  # http.client
    "TransportError",  # httpx
    "Timeout",  # requests
    "TimeoutError",
}
"""Names of classes; an SDK that is not installed cannot be imported to ask for them."""
_STATUS = re.compile(r"\b(?:error code|status(?: code)?|HTTP)\b[:= ]*(\d{3})\b", re.IGNORECASE)


def status_of(error: BaseException) -> int | None:
    """The HTTP status that an error tells of; None for one that tells of none."""
    response = getattr(error, "response", None)
    code = getattr(error, "code", None)  # where google's SDK and urllib have it
    for value in (getattr(error, "status_code", None), getattr(response, "status_code", None), code):
        if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599:
            return value
    if type(error).__name__ == "ModelError" and (match := _STATUS.search(str(error))):  # what llm's plugins raise
        return int(match[1])
    return None


def is_transient(error: BaseException) -> bool:
    """Whether the same call may succeed later: a rate limit (429), a server error (5xx) or a connection error."""
    for cause in _chain(error):
        status = status_of(cause)
        if status is not None:
            return status == 429 or status >= 500
        if any(kind.__name__ in CONNECTION_ERRORS for kind in type(cause).__mro__):
            return True
    return False


def retry_after(error: BaseException) -> float | None:
    """How many seconds the provider asks to wait, by `Retry-After` (seconds or a date) or `retry-after-ms`."""
    for cause in _chain(error):
        headers = getattr(getattr(cause, "response", None), "headers", None) or getattr(cause, "headers", None)
        if isinstance(headers, Mapping) or hasattr(headers, "get"):
            return _seconds(headers)
    return None


def _seconds(headers: Any) -> float | None:
    milliseconds, asked = headers.get("retry-after-ms"), headers.get("retry-after") or headers.get("Retry-After")
    try:
        if milliseconds:
            return max(0.0, float(milliseconds) / 1000)
        return max(0.0, float(asked)) if asked else None
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(str(asked))
    except ValueError:
        return None
    return max(0.0, (date - datetime.now(date.tzinfo or timezone.utc)).total_seconds()) if date.tzinfo else None


def retries_of_sdk(error: BaseException) -> int:
    """How often the provider's own SDK had retried before it raised an error."""
    headers = getattr(getattr(error, "request", None), "headers", None)
    count = None if headers is None else headers.get("x-stainless-retry-count")
    return int(count) if isinstance(count, str) and count.isdecimal() else 0


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error, and those that it was raised from."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__


class Retries:
    """Reads responses to their end, again where the provider failed for a while. Nothing but that turn is repeated.

    Args:
        most: how often a turn is asked for again. What an SDK retries by itself counts too.
        offline: a mock answers, so no time passes.
    """

    def __init__(self, most: int, offline: bool) -> None:
        self._most = most
        self._offline = offline
        self.errors: list[str] = []
        """The errors after which the current turn was asked for again so far."""
        self._attempts = 0
        self._backoff = tenacity.wait_exponential(FIRST_WAIT, LONGEST_WAIT) + tenacity.wait_random(0, FIRST_WAIT / 2)

    def read(self, response: Any) -> None:
        """Read an `llm.Response`.

        Raises:
            Exception: the provider's error that came last.
        """
        __tracebackhide__ = True
        tenacity.Retrying(**self._options(response))(response.text)

    async def read_async(self, response: Any) -> None:
        """Like `read`, for an `llm.AsyncResponse`."""
        __tracebackhide__ = True
        await tenacity.AsyncRetrying(**self._options(response))(response.text)

    def _options(self, response: Any) -> dict[str, Any]:
        self.errors, self._attempts = [], 0
        start_again = boundary.restart_of(response)

        def before_sleep(state: tenacity.RetryCallState) -> None:
            self.errors.append(error_text(_error_of(state)))
            start_again()

        return {
            "retry": tenacity.retry_if_exception(is_transient),
            "stop": self._stop,
            "wait": self._wait,
            "before_sleep": before_sleep,
            "reraise": True,
        }

    def _stop(self, state: tenacity.RetryCallState) -> bool:
        error = _error_of(state)
        self._attempts += 1 + retries_of_sdk(error)
        return self._attempts > self._most or (retry_after(error) or 0) > LONGEST_ASKED

    def _wait(self, state: tenacity.RetryCallState) -> float:
        if self._offline:
            return 0
        asked = retry_after(_error_of(state))
        return self._backoff(state) if asked is None else asked


def _error_of(state: tenacity.RetryCallState) -> BaseException:
    error = state.outcome.exception() if state.outcome else None
    if error is None:
        raise RuntimeError("tenacity asked about an attempt that did not fail")
    return error
