"""Timing several contestants in turns, so that noise hits all of them alike."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from timeit import Timer

Call = Callable[[], object]
BATCH_SECONDS = 0.005


def best_times(contestants: Mapping[str, Callable[[], Call]], turns: int = 60) -> dict[str, float]:
    """Seconds a call of each contestant: its fastest batch.

    A batch is a few milliseconds of calls, without garbage collection, of a contestant that was
    made anew for it.

    Args:
        contestants: functions that make what is timed, by their names.
        turns: how many batches of each there are.
    """
    gc.collect()
    gc.freeze()  # what was imported so far is not looked at again between the batches
    sizes = {name: _batch_size(make()) for name, make in contestants.items()}
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(turns):
        for name, make in contestants.items():
            gc.collect()
            times[name].append(_seconds_per_call(make(), sizes[name]))
    gc.unfreeze()
    return {name: min(seconds) for name, seconds in times.items()}


def _batch_size(call: Call) -> int:
    call()  # imports and caches
    return max(1, round(BATCH_SECONDS / _seconds_per_call(call, 5)))


def _seconds_per_call(call: Call, number: int) -> float:
    return Timer(call).timeit(number) / number
