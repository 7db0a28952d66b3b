"""Latency: the simulated time that a model takes to answer."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llm_mock.errors import InvalidLatency
from llm_mock.support.numbers import LONGEST, is_number, is_whole
from llm_mock.support.text import described

# At module level, so that the `__init__` that `dataclass` generates is hidden, too.
__tracebackhide__ = True
TIMED_OUT = "timed out after"
"""The beginning of the error of a call whose client stopped waiting for the answer."""
LARGEST_SEED = 10**30 - 1


@dataclass(frozen=True)
class Latency:
    """The time that a model takes to answer.

    By default the time passes on a virtual clock, so tests do not wait:
    `response.duration_ms()` and the `duration_ms` in `llm`'s log include it. An application that
    measures time with its own clock does not see it, unless `real_time` is True.

    With `chunks_per_second`, a text is streamed in chunks of four characters. A reply with `chunks`
    is streamed in these chunks, and a reply with `logprobs` in chunks of one token. Reasoning and
    the arguments of a tool call take one chunk's time for every four characters. Without
    streaming, the answer takes as long as the whole stream. A reply that is an error has no
    latency.

    Raises:
        InvalidLatency: a value is out of its range.
    """

    first_chunk: float = 0.0
    """The seconds until the first chunk."""
    chunks_per_second: float | None = None
    """The rate of the later chunks; None sends them without a wait."""
    jitter: float = 0.0
    """The maximum random variation of each time, as a fraction from 0 to 1."""
    seed: int = 0
    """The seed of the jitter. The jitter of a call depends only on the seed and its number."""
    timeout: float | None = None
    """The seconds after which the reply ends with the provider's timeout error; None for no
    timeout."""
    real_time: bool = False
    """Whether to wait in real time instead of on the virtual clock."""

    def __post_init__(self) -> None:
        _check(
            "first_chunk",
            self.first_chunk,
            "a number of seconds of at least 0",
            lambda number: number >= 0,
        )
        _check("jitter", self.jitter, "a fraction from 0 to 1", lambda number: 0 <= number <= 1)
        if self.chunks_per_second is not None:
            _check(
                "chunks_per_second",
                self.chunks_per_second,
                "a number above 0, or None",
                lambda number: number > 0,
            )
        if self.timeout is not None:
            _check(
                "timeout",
                self.timeout,
                "a number of seconds above 0, or None",
                lambda number: number > 0,
            )
        if not is_whole(self.seed, least=-LARGEST_SEED, most=LARGEST_SEED):
            raise InvalidLatency(
                f"Latency(seed={described(self.seed)}): pass a whole number of at most 30 digits."
            )
        if not isinstance(self.real_time, bool):
            raise InvalidLatency(
                f"Latency(real_time={described(self.real_time)}): pass True or False."
            )

    def compute_waits(self, sizes: list[int], call_number: int) -> list[float]:
        """Return the seconds before each event of a reply.

        Args:
            sizes: the number of chunks whose time each event takes.
            call_number: the number of the call, which changes the jitter.
        """
        interval = 0.0 if self.chunks_per_second is None else 1 / self.chunks_per_second
        waits = [size * interval for size in sizes]
        if waits:
            # The first chunk of the first event comes after `first_chunk` instead of an interval.
            waits[0] += self.first_chunk - interval
        else:
            waits = [self.first_chunk]
        if self.jitter:
            # A seed from text gives the same numbers in every process, unlike a hash.
            generator = random.Random(f"{self.seed}/{call_number}")
            for position, seconds in enumerate(waits):
                waits[position] = seconds * (1 + self.jitter * generator.uniform(-1, 1))
        return waits


def check_latency(latency: object) -> Latency:
    """Return a latency as it is, and a number as the seconds until the first chunk.

    Raises:
        InvalidLatency: the value is neither a `Latency` nor a number of seconds of at least 0.
    """
    if isinstance(latency, Latency):
        return latency
    if isinstance(latency, (int, float)) and not isinstance(latency, bool):
        return Latency(first_chunk=latency)
    raise InvalidLatency(
        f"This is not a latency: {described(latency)}. Pass the seconds until the answer begins, "
        "or a Latency(first_chunk=…, chunks_per_second=…, …)."
    )


def _check(name: str, value: Any, expected: str, is_valid: Callable[[float], bool]) -> None:
    """Raise an InvalidLatency if a value is not a number in its range, or is too long."""
    if not (is_number(value, -math.inf) and is_valid(value)):
        raise InvalidLatency(f"Latency({name}={described(value)}): pass {expected}.")
    # A rate is checked by the time of one chunk.
    seconds = 1 / value if name == "chunks_per_second" else value
    if seconds > LONGEST:
        raise InvalidLatency(
            f"Latency({name}={described(value)}): the maximum is {LONGEST:,} seconds."
        )
