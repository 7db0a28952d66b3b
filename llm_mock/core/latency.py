"""How long a model takes to answer: on a virtual clock, on which no test waits, or in real time.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import asyncio
import copy
import json
import math
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from llm_mock import explain
from llm_mock.boundaries.llm import boundary
from llm_mock.core.delivery import Delivery
from llm_mock.core.reply import CHARACTERS_PER_TOKEN, Reply, estimate_tokens
from llm_mock.errors import InvalidLatency

if TYPE_CHECKING:
    from llm_mock.core.records import CallRecord


@dataclass(frozen=True)
class Latency:
    """How long a model takes to answer.

    The time passes on a virtual clock: `response.duration_ms()` and the `duration_ms` that `llm` logs show it, and no
    test waits. An application that measures time itself sees none of it; `real_time` is for that.

    A reply is streamed in the chunks that were scripted, else, with `chunks_per_second`, in pieces of four characters.
    Reasoning and tool calls take the time of as many. Without streaming the answer comes when its last chunk would.
    A reply that is an error comes at once.

    Raises:
        InvalidLatency: a value is out of its range.
    """

    first_chunk: float = 0.0
    """Seconds until the first chunk."""
    chunks_per_second: float | None = None
    """How fast the others follow; None for at once."""
    jitter: float = 0.0
    """How much each of these times may be longer or shorter, as a fraction of it, from 0 to 1."""
    seed: int = 0
    """What decides the jitter, together with the number of the call; the same in every process."""
    timeout: float | None = None
    """Seconds after which a reply is cut, with the error that the provider raises. None for never."""
    real_time: bool = False
    """Really wait."""

    def __post_init__(self) -> None:
        _check("first_chunk", self.first_chunk, "seconds from 0", lambda number: number >= 0)
        _check("jitter", self.jitter, "a fraction from 0 to 1", lambda number: 0 <= number <= 1)
        if self.chunks_per_second is not None:
            _check("chunks_per_second", self.chunks_per_second, "a number above 0, or None", lambda number: number > 0)
        if self.timeout is not None:
            _check("timeout", self.timeout, "seconds above 0, or None", lambda number: number > 0)
        if not isinstance(self.seed, int):
            raise InvalidLatency(explain.bad_latency("seed", self.seed, "a whole number"))

    def waits(self, sizes: list[int], call_number: int) -> list[float]:
        """The seconds before each piece of a reply.

        Args:
            sizes: how many chunks each piece counts for.
            call_number: the number of the call, which the jitter depends on.
        """
        each = 0.0 if self.chunks_per_second is None else 1 / self.chunks_per_second
        waits = [size * each for size in sizes] or [0.0]
        waits[0] += self.first_chunk - (each if sizes else 0)
        if self.jitter:
            chance = random.Random(f"{self.seed}/{call_number}")
            waits = [seconds * (1 + self.jitter * chance.uniform(-1, 1)) for seconds in waits]
        return waits

    def slow(self, reply: Reply, call: CallRecord) -> SlowDelivery:
        """A reply as it comes with this latency: with its times, and cut where the timeout ends it."""
        reply = copy.copy(reply)
        if self.chunks_per_second is not None and reply.chunks is None:
            reply.__dict__["chunks"] = _tokens(reply.content)  # the way around `__setattr__`
        waits = self.waits(_sizes(reply), call["number"])
        if self.timeout is not None and sum(waits) > self.timeout:
            waits = _cut(reply, waits, self.timeout, call["model_id"])
        return SlowDelivery(reply, call, waits, self.real_time)


def checked(latency: Any) -> Latency:
    """What was given as a latency.

    Raises:
        InvalidLatency: it is none.
    """
    __tracebackhide__ = True
    if not isinstance(latency, Latency):
        raise InvalidLatency(explain.no_latency(latency))
    return latency


class SlowDelivery(Delivery):
    """A reply that plays itself into a response, each chunk at its time.

    Args:
        reply: what comes.
        call: the record of the call.
        waits: the seconds before each piece of the reply.
        real_time: whether to really wait.
    """

    def __init__(self, reply: Reply, call: CallRecord, waits: list[float], real_time: bool) -> None:
        self.reply = reply
        self._call = call
        self._waits = waits
        self._real_time = real_time

    def deliver(self, response: Any) -> Iterator[Any]:
        """Yield the chunks, and complete an `llm.Response`."""
        __tracebackhide__ = True
        for item in self._timed(response):
            if isinstance(item, _Wait):
                time.sleep(item)
            else:
                yield item

    async def deliver_async(self, response: Any) -> AsyncIterator[Any]:
        """Yield the chunks, and complete an `llm.AsyncResponse`; other tasks run meanwhile."""
        __tracebackhide__ = True
        for item in self._timed(response):
            if isinstance(item, _Wait):
                await asyncio.sleep(item)
            else:
                yield item

    def _timed(self, response: Any) -> Iterator[Any]:
        """The chunks, and before each in real time the wait for it; in virtual time the response's clock goes on."""
        from llm_mock.boundaries.llm.response import deliver

        __tracebackhide__ = True
        chunks = deliver((self.reply, self._call), response.stream, response)
        remaining = iter(self._waits if response.stream else [sum(self._waits)])
        error = None
        while error is None:
            try:
                chunk = next(chunks)
            except Exception as problem:  # at the end StopIteration, else the reply's error: both after all the time
                error = problem
            seconds = next(remaining, 0.0) if error is None else sum(remaining)
            if seconds and self._real_time:
                yield _Wait(seconds)
            elif seconds:
                boundary.let_pass(response, seconds)
            if error is None:
                yield chunk
        if not isinstance(error, StopIteration):
            raise error


class _Wait(float):
    """Seconds to wait, among chunks."""

    __slots__ = ()


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(text[start : start + CHARACTERS_PER_TOKEN] for start in range(0, len(text), CHARACTERS_PER_TOKEN))


def _sizes(reply: Reply) -> list[int]:
    """For how many chunks each piece of a reply counts: its reasoning, its chunks, its tool calls."""
    reasoning = [] if reply.reasoning is None else [estimate_tokens(len(reply.reasoning))]
    chunks = [1 for _ in reply.stream(stream=True)]
    if reply.error_after is not None:
        return reasoning + chunks[: reply.error_after]
    return reasoning + chunks + [estimate_tokens(len(json.dumps(call.arguments))) for call in reply.tool_calls]


def _cut(reply: Reply, waits: list[float], timeout: float, model_id: str) -> list[float]:
    """End a reply with a timeout, after the chunks that come before. Returns the waits up to there."""
    from llm_mock.behaviour.provider_errors import provider_error

    ends = list(accumulate(waits))
    arrived = sum(end <= timeout for end in ends)
    lead = 0 if reply.reasoning is None else 1
    chunks = min(max(arrived - lead, 0), len(tuple(reply.stream(stream=True))))
    fields = reply.__dict__
    fields.update(error=provider_error(model_id, "timeout"), error_after=chunks, notes=())
    fields["reasoning"] = reply.reasoning if arrived else None
    fields["estimated_tokens"] = estimate_tokens(len(reply.outcome))
    return [*waits[:arrived], timeout - (ends[arrived - 1] if arrived else 0)]


def _check(name: str, value: Any, wanted: str, fits: Callable[[float], bool]) -> None:
    __tracebackhide__ = True
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (number and math.isfinite(value) and fits(value)):
        raise InvalidLatency(explain.bad_latency(name, value, wanted))
