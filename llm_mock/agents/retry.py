"""Asks for a turn again where the model's provider failed for a while: by tenacity."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

import anyio
import tenacity

from llm_mock.agents.deadline import Deadline
from llm_mock.agents.pace import Pace
from llm_mock.boundaries.llm.chains import restart_of
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
        if hasattr(headers, "get"):
            return _seconds(headers)
    return None


def _seconds(headers: Any) -> float | None:
    milliseconds, asked = headers.get("retry-after-ms"), headers.get("retry-after") or headers.get("Retry-After")
    if not milliseconds and not asked:
        return None
    with suppress(ValueError):
        return max(0.0, float(milliseconds) / 1000 if milliseconds else float(asked))
    with suppress(ValueError):
        date = parsedate_to_datetime(str(asked))
        return max(0.0, (date - datetime.now(timezone.utc)).total_seconds()) if date.tzinfo else None
    return None


def retries_of_sdk(error: BaseException) -> int:
    """How often the provider's own SDK had retried before it raised an error."""
    headers = getattr(getattr(error, "request", None), "headers", None) or {}
    count = headers.get("x-stainless-retry-count")
    return int(count) if isinstance(count, str) and count.isdecimal() else 0


def _chain(error: BaseException) -> list[BaseException]:
    """An error, and those that it was raised from."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None and cause not in chain:
        chain.append(cause)
    return chain


class Retries:
    """Reads responses to their end, `most` times again where the provider failed for a while; `offline` without a wait.

    Nothing but that turn is repeated. What an SDK retries by itself counts too.
    """

    def __init__(self, most: int, offline: bool, deadline: Deadline, pace: Pace) -> None:
        self._most = most
        self._pace = pace
        self._deadline = deadline
        self._offline = offline
        self.errors: list[str] = []
        """The errors after which the current turn was asked for again so far."""
        self.waited = 0.0
        """Seconds that the current turn waited for its `Pace`."""

    def read(self, response: Any) -> None:
        """Read an `llm.Response`; raises the provider's error that came last, or RunTimedOut."""
        __tracebackhide__ = True
        tenacity.Retrying(**self._options(response))(self._read_once, response)

    def _read_once(self, response: Any) -> None:
        __tracebackhide__ = True
        if wait := self._next_place():
            time.sleep(wait if self._deadline.left is None else min(wait, self._deadline.left))
        self._deadline.check()
        for _ in response:
            self._deadline.check()

    async def read_async(self, response: Any) -> None:
        """Like `read`, for an `llm.AsyncResponse`."""
        __tracebackhide__ = True
        await tenacity.AsyncRetrying(**self._options(response))(self._read_once_async, response)

    async def _read_once_async(self, response: Any) -> None:
        __tracebackhide__ = True
        if wait := self._next_place():
            await anyio.sleep(wait)
        await response.text()

    def _next_place(self) -> float:
        wait = self._pace.wait()
        self.waited += wait
        return wait

    def _options(self, response: Any) -> dict[str, Any]:
        self.errors, self.waited = [], 0.0
        attempts = 0
        start_again = restart_of(response)

        def again(error: BaseException) -> bool:
            nonlocal attempts
            attempts += 1 + retries_of_sdk(error)
            if not is_transient(error) or attempts > self._most or (retry_after(error) or 0) > LONGEST_ASKED:
                return False
            self.errors.append(error_text(error))
            start_again()
            return True

        return {"retry": tenacity.retry_if_exception(again), "wait": self._wait}

    def _wait(self, state: Any) -> float:
        if self._offline:
            return 0
        asked = retry_after(state.outcome.exception())
        backoff = tenacity.wait_exponential(FIRST_WAIT, LONGEST_WAIT) + tenacity.wait_random(0, FIRST_WAIT / 2)
        wait = backoff(state) if asked is None else asked
        return wait if self._deadline.left is None else min(wait, self._deadline.left)
