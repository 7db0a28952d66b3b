"""How fast live models are asked: so many requests and tokens a minute."""

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


class Asked:
    """What a model was asked lately: when, and what it took. May be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: list[float] = []
        self._tokens: list[tuple[float, int]] = []

    def reserve(self, now: float, requests: int | None, tokens: int | None, processes: int) -> float:
        """Take the next place for a request, and return when it is.

        Args:
            now: seconds, of any clock that does not go back.
            requests: how many may be made in a minute; None is no limit.
            tokens: after how many in a minute the next request waits; None is no limit.
            processes: so many share the limits.
        """
        with self._lock:
            oldest, start = now - MINUTE * processes, now
            self._requests = [at for at in self._requests if at > oldest]
            self._tokens = [each for each in self._tokens if each[0] > oldest]
            if requests is not None:
                most, window = _share(requests, processes)
                if len(self._requests) >= most:
                    start = max(start, self._requests[-most] + window)
            if tokens is not None:
                most, window = _share(tokens, processes)
                start = self._when_fewer_than(most, window, start)
            insort(self._requests, start)
            return start

    def _when_fewer_than(self, most: int, window: float, start: float) -> float:
        for position, (at, _) in enumerate(self._tokens):
            later = sum(number for _, number in self._tokens[position:])
            if at > start - window and later >= most:
                start = at + window
        return start

    def took(self, now: float, tokens: int) -> None:
        """An answer took so many tokens, input and output together."""
        with self._lock:
            self._tokens.append((now, tokens))


_of_models: defaultdict[str, Asked] = defaultdict(Asked)


def _share(limit: int, processes: int) -> tuple[int, float]:
    """How many there may be in one process, and within how many seconds."""
    return max(1, limit // processes), MINUTE * max(1.0, processes / limit)


class Pace:
    """Says when the next turn of a run may be asked for; all runs that ask a model in this process wait for each other.

    The workers of pytest-xdist have equal shares of the limits. Where a mock answers, nobody waits.
    """

    def __init__(self, provider: Provider, model_id: str, offline: bool) -> None:
        self._limits = provider.requests_per_minute, provider.tokens_per_minute
        self._asked = None if offline or self._limits == (None, None) else _of_models[model_id]

    def wait(self) -> float:
        """Take the next place, and return how many seconds it is away."""
        if self._asked is None:
            return 0.0
        now = time.monotonic()
        processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
        return self._asked.reserve(now, *self._limits, processes) - now

    def took(self, tokens: int) -> None:
        """A turn took so many tokens."""
        if self._asked is not None:
            self._asked.took(time.monotonic(), tokens)
