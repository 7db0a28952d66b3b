"""Record that a client timed out while it waited for the response."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from llm_mock.core.latency import TIMED_OUT

if TYPE_CHECKING:
    from llm_mock.boundaries.http.client_clock import ClientClock
    from llm_mock.core.answer import Answer
    from llm_mock.support.json_types import JSONObject


def watch_timeout(clock: ClientClock, answer: Answer, stream: bool) -> None:
    """Let a clock record on a call that its client times out.

    Args:
        clock: the clock of the client.
        answer: the answer, which has a latency.
        stream: True for a streamed answer.
    """
    clock.on_timeout = functools.partial(_record_timeout, clock, answer, stream)


def _record_timeout(clock: ClientClock, answer: Answer, stream: bool, seconds: float) -> None:
    """Record the timeout of a client as the error of its call.

    Args:
        clock: the clock of the client.
        answer: the answer.
        stream: True for a streamed answer.
        seconds: the timeout.
    """
    record = answer.record
    # A stalled stream is already recorded as stalled.
    if record["error"] is not None:
        return
    waits = answer.waits or (0.0,)
    has_begun = stream and (clock.elapsed > 0 or not waits[0])
    # Like any other error, unless part of the response came before it.
    fields: JSONObject = {}
    if not has_begun:
        fields = {"response": None, "input_tokens": None, "output_tokens": None}
        record.pop("finish_reason", None)
    latency = sum(waits)
    error = TimeoutError(f"{TIMED_OUT} {seconds:g} s (latency: {latency:g} s)")
    answer.history.fail(record, error, fields)
