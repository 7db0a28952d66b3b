"""Retry turns after transient failures of the provider, with tenacity."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

import anyio
import tenacity

from llm_mock.agents.rate_limit import RateLimiter
from llm_mock.boundaries.llm.chains import save_state
from llm_mock.support.deadline import Deadline
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import format_error

FIRST_WAIT = 0.5
"""The seconds before the first retry if the provider names none; doubled for each further one."""
LONGEST_WAIT = 8.0
"""The maximum number of seconds before a retry if the provider names none."""
LONGEST_RETRY_AFTER = 120.0
"""The maximum number of seconds that a provider may request; a longer wait prevents the retry."""
# By name, because an SDK that is not installed cannot be imported.
CONNECTION_ERRORS = {
    "APIConnectionError",  # openai, anthropic, and their timeouts
    "ClientConnectionError",  # aiohttp
    "ConnectionError",  # Python, requests
    "IncompleteRead",  # http.client
    "TransportError",  # httpx
    "Timeout",  # requests
    "TimeoutError",
}
_STATUS = re.compile(r"\b(?:error code|status(?: code)?|HTTP)\b[:= ]*(\d{3})\b", re.IGNORECASE)


def get_status(error: BaseException) -> int | None:
    """Return the HTTP status of an error, or None."""
    response = getattr(error, "response", None)
    candidates = (
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        # google-genai and urllib
        getattr(error, "code", None),
    )
    for value in candidates:
        if isinstance(value, bool) or not isinstance(value, int):
            continue
        if 100 <= value <= 599:
            return value
    # Plugins of llm raise a ModelError with the SDK's message.
    if type(error).__name__ == "ModelError":
        match = _STATUS.search(str(error))
        if match:
            return int(match[1])
    return None


def is_transient(error: BaseException) -> bool:
    """Return whether the same call may succeed later.

    True for a rate limit (429), a server error (5xx) and a connection error.
    """
    for cause in _get_causes(error):
        status = get_status(cause)
        if status is not None:
            return status == 429 or status >= 500
        names = {base.__name__ for base in type(cause).__mro__}
        if names & CONNECTION_ERRORS:
            return True
    return False


def retry_after(error: BaseException) -> float | None:
    """Return the seconds that the provider asks to wait, or None.

    Read from `Retry-After` (seconds or a date) or `retry-after-ms`.
    """
    for cause in _get_causes(error):
        response = getattr(cause, "response", None)
        headers = getattr(response, "headers", None) or getattr(cause, "headers", None)
        if hasattr(headers, "get"):
            return _parse_retry_after(headers)
    return None


def _parse_retry_after(headers: Any) -> float | None:
    milliseconds = headers.get("retry-after-ms")
    # Not every mapping of headers ignores the case.
    value = headers.get("retry-after") or headers.get("Retry-After")
    with suppress(ValueError):
        if milliseconds:
            return max(0.0, float(milliseconds) / 1000)
        if not value:
            return None
        return max(0.0, float(value))
    with suppress(ValueError):
        date = parsedate_to_datetime(str(value))
        if date.tzinfo:
            left = date - datetime.now(timezone.utc)
            return max(0.0, left.total_seconds())
    return None


def get_sdk_retries(error: BaseException) -> int:
    """Return how often the provider's own SDK retried before it raised an error."""
    request = getattr(error, "request", None)
    headers = getattr(request, "headers", None) or {}
    # The header of SDKs that Stainless generates: openai, anthropic.
    count = headers.get("x-stainless-retry-count")
    if isinstance(count, str) and count.isdecimal():
        return int(count)
    return 0


def _get_causes(error: BaseException) -> list[BaseException]:
    """Return an error and the errors that it was raised from."""
    causes = [error]
    while True:
        cause = causes[-1].__cause__
        # Causes may be circular.
        if cause is None or cause in causes:
            return causes
        causes.append(cause)


class Retries:
    """Reads responses to their end, and retries after transient failures of the provider.

    Only the current turn is repeated. Retries by the SDK count too.

    Args:
        limit: the number of retries.
        is_offline: returns whether the model is mocked, so that nothing waits.
        deadline: the deadline of the run.
        rate_limiter: the rate limits of the model, if any.
    """

    def __init__(
        self,
        limit: int,
        is_offline: Callable[[], bool],
        deadline: Deadline,
        rate_limiter: RateLimiter | None = None,
    ) -> None:
        self._limit = limit
        self._rate_limiter = rate_limiter
        self._deadline = deadline
        self._is_offline = is_offline
        self.errors: list[str] = []
        """The errors of the current turn that were followed by a retry."""
        self.waited = 0.0
        """The seconds that the current turn waited for the rate limits."""

    def read(self, response: object) -> None:
        """Read an `llm.Response`.

        Raises:
            DeadlinePassed: the deadline has passed. The last error of the provider is raised
                unchanged.
        """
        __tracebackhide__ = True
        tenacity.Retrying(**self._new_options(response))(self._read_once, response)

    def _read_once(self, response: Any) -> None:
        __tracebackhide__ = True
        wait = self._reserve()
        if wait:
            time.sleep(min(wait, self._deadline.left))
        if self._deadline.seconds == math.inf:
            response.text()
            return
        self._deadline.check()
        for _ in response:
            self._deadline.check()

    async def read_async(self, response: object) -> None:
        """Read an `llm.AsyncResponse`, like `read`."""
        __tracebackhide__ = True
        retrying = tenacity.AsyncRetrying(**self._new_options(response))
        await retrying(self._read_once_async, response)

    async def _read_once_async(self, response: Any) -> None:
        __tracebackhide__ = True
        wait = self._reserve()
        if wait:
            # The deadline cancels the whole run, so it need not limit this.
            await anyio.sleep(wait)
        await response.text()

    def _reserve(self) -> float:
        if self._rate_limiter is None:
            return 0.0
        wait = self._rate_limiter.reserve()
        self.waited += wait
        return wait

    def _new_options(self, response: object) -> JSONObject:
        """Return the options of tenacity for a new turn."""
        self.errors = []
        self.waited = 0.0
        attempts = 0
        restart = save_state(response)

        def should_retry(error: BaseException) -> bool:
            nonlocal attempts
            attempts += 1 + get_sdk_retries(error)
            if not is_transient(error) or attempts > self._limit:
                return False
            if (retry_after(error) or 0) > LONGEST_RETRY_AFTER:
                return False
            self.errors.append(format_error(error))
            restart()
            return True

        retry = tenacity.retry_if_exception(should_retry)
        return {"retry": retry, "wait": self._get_wait}

    def _get_wait(self, state: Any) -> float:
        if self._is_offline():
            return 0
        wait = retry_after(state.outcome.exception())
        if wait is None:
            # The random part keeps parallel runs from retrying at the same moment.
            backoff = tenacity.wait_exponential(FIRST_WAIT, LONGEST_WAIT)
            jitter = tenacity.wait_random(0, FIRST_WAIT / 2)
            wait = (backoff + jitter)(state)
        return min(float(wait), self._deadline.left)
