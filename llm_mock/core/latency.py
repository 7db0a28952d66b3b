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

    The time passes on a virtual clock: `response.duration_ms()` and the `duration_ms` that `llm`
    logs show it, and no test waits. An application that measures time itself sees none of it;
    `real_time` is for that.

    A reply is streamed in the chunks that were scripted, else, with `chunks_per_second`, in pieces
    of four characters. Reasoning and tool calls take the time of as many. Without streaming the
    answer comes when its last chunk would. A reply that is an error comes at once.

    Raises:
        InvalidLatency: a value is out of its range.
    """

    first_chunk: float = 0.0
    """Seconds until the first chunk."""
    chunks_per_second: float | None = None
    """The rate of the later chunks; None for at once."""
    jitter: float = 0.0
    """The random variation of each of these times, as a fraction of it, from 0 to 1."""
    seed: int = 0
    """What decides the jitter, together with the number of the call; the same in every process."""
    timeout: float | None = None
    """Seconds after which a reply is cut, with the error that the provider raises. None for
    never."""
    real_time: bool = False
    """Whether to really wait."""

    def __post_init__(self) -> None:
        _check("first_chunk", self.first_chunk, "seconds from 0", lambda number: number >= 0)
        _check("jitter", self.jitter, "a fraction from 0 to 1", lambda number: 0 <= number <= 1)
        if self.chunks_per_second is not None:
            _check(
                "chunks_per_second",
                self.chunks_per_second,
                "a number above 0, or None",
                lambda number: number > 0,
            )
        if self.timeout is not None:
            _check("timeout", self.timeout, "seconds above 0, or None", lambda number: number > 0)
        if not is_whole(self.seed, least=-LARGEST_SEED, most=LARGEST_SEED):
            raise InvalidLatency(
                f"Latency(seed={described(self.seed)}): give a whole number of at most 30 digits."
            )
        if not isinstance(self.real_time, bool):
            raise InvalidLatency(
                f"Latency(real_time={described(self.real_time)}): give True or False."
            )

    def compute_waits(self, sizes: list[int], call_number: int) -> list[float]:
        """Return the seconds before each event of a reply.

        Args:
            sizes: the number of chunks that each event counts for.
            call_number: the number of the call, on which the jitter depends.
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
        InvalidLatency: the value is neither a `Latency` nor a number of seconds.
    """
    if isinstance(latency, Latency):
        return latency
    if isinstance(latency, (int, float)) and not isinstance(latency, bool):
        return Latency(first_chunk=latency)
    raise InvalidLatency(
        f"This is not a latency: {described(latency)}. Give the seconds until the answer begins, "
        "or a Latency(first_chunk=…, chunks_per_second=…, …)."
    )


def _check(name: str, value: Any, expected: str, is_valid: Callable[[float], bool]) -> None:
    """Raise an InvalidLatency if a value is not a number in its range, or is too long."""
    if not (is_number(value, -math.inf) and is_valid(value)):
        raise InvalidLatency(f"Latency({name}={described(value)}): give {expected}.")
    # A rate is checked by the time of one chunk.
    seconds = 1 / value if name == "chunks_per_second" else value
    if seconds > LONGEST:
        raise InvalidLatency(
            f"Latency({name}={described(value)}): the limit is {LONGEST:,} seconds."
        )
