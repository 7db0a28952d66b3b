"""Limit the rate of requests to live models, in requests and tokens per minute."""

from __future__ import annotations

import os
import threading
import time
from bisect import insort
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llm_mock.agents.agent import Provider

MINUTE = 60.0


class RequestLog:
    """The recent requests to a model and their tokens. May be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: list[float] = []
        self._tokens: list[tuple[float, int]] = []

    def reserve(
        self,
        now: float,
        requests: int | None,
        tokens: int | None,
        processes: int,
    ) -> float:
        """Reserve the next request and return its time.

        Args:
            now: the current time in seconds, from a monotonic clock.
            requests: the limit of requests per minute; None is no limit.
            tokens: the limit of tokens per minute; None is no limit.
            processes: the number of processes that share the limits.
        """
        with self._lock:
            self._forget_before(now - MINUTE * processes)
            start = now
            if requests is not None:
                limit, window = _share_limit(requests, processes)
                if len(self._requests) >= limit:
                    start = max(start, self._requests[-limit] + window)
            if tokens is not None:
                limit, window = _share_limit(tokens, processes)
                start = self._delay_for_tokens(limit, window, start)
            # Reservations of other threads may be later than this one.
            insort(self._requests, start)
            return start

    def _forget_before(self, oldest: float) -> None:
        self._requests = [moment for moment in self._requests if moment > oldest]
        self._tokens = [entry for entry in self._tokens if entry[0] > oldest]

    def _delay_for_tokens(self, limit: int, window: float, start: float) -> float:
        """Return the first time from `start` with fewer tokens than the limit in the window."""
        for position, (moment, _) in enumerate(self._tokens):
            since = sum(number for _, number in self._tokens[position:])
            if moment > start - window and since >= limit:
                start = moment + window
        return start

    def add_tokens(self, now: float, tokens: int) -> None:
        """Record the input and output tokens of a response."""
        with self._lock:
            self._tokens.append((now, tokens))


_logs: defaultdict[str, RequestLog] = defaultdict(RequestLog)


def _share_limit(limit: int, processes: int) -> tuple[int, float]:
    """Return the limit for one process, and its window in seconds."""
    # With fewer requests than processes, each process has one in a longer window.
    window = MINUTE * max(1.0, processes / limit)
    return max(1, limit // processes), window


class RateLimiter:
    """Delays the turns of a run; all runs with a model in this process share its limits.

    Each worker of pytest-xdist gets an equal share of the limits.

    Args:
        provider: the provider with the limits.
        model_id: the id of the model.
    """

    def __init__(self, provider: Provider, model_id: str) -> None:
        self._limits = (provider.requests_per_minute, provider.tokens_per_minute)
        self._log = _logs[model_id]

    def reserve(self) -> float:
        """Reserve the next request and return the seconds until then."""
        now = time.monotonic()
        processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
        return self._log.reserve(now, *self._limits, processes) - now

    def add_tokens(self, tokens: int) -> None:
        """Record the tokens of a turn."""
        self._log.add_tokens(time.monotonic(), tokens)
