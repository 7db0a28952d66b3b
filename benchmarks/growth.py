"""The time of a call among many replies and recorded calls, and the size of a record."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from time import perf_counter

from table import Row, microseconds

from llm_mock import LLMMock, create_mock_get_model

REPLIES, CALLS, WINDOW, ROUNDS = 10_000, 100_000, 1_000, 3
WEIGHED = 5_000


def rows() -> Iterator[Row]:
    """Yield the rows of the table."""
    yield _growth_row()
    yield Row(
        "memory of a recorded call, prompt text aside",
        f"{_bytes_per_record() / 1000:.2f} KB",
        goal="≤ 1.5 KB",
    )


def _growth_row() -> Row:
    rounds = [_windows() for _ in range(ROUNDS)]
    few, many = (min(seconds) for seconds in zip(*rounds, strict=True))
    return Row(
        f"a call with {REPLIES:,} replies configured, {CALLS:,} calls recorded",
        microseconds(many),
        f"the first calls of a mock with 2 replies: {microseconds(few)}",
        many / few,
        "≤ 1.2",
    )


def _windows() -> tuple[float, float]:
    """Return the seconds per call of a new mock and of a mock with a long history.

    Garbage is collected as ever, because a long history is what would make that slow.
    """
    gc.collect()
    few = _fastest_window(_mock_with(2), 3 * WINDOW)
    large = _mock_with(REPLIES)
    _fastest_window(large, CALLS - 3 * WINDOW)
    return few, _fastest_window(large, 3 * WINDOW)


def _mock_with(replies: int) -> LLMMock:
    """Return a mock with that many replies, half standing and half queued; `m0` has one of each."""
    mock = create_mock_get_model()
    for number in range(replies // 2):
        mock.set(f"m{number}", "standing")
        mock.add(f"m{number}", "queued", times=CALLS)
    return mock


def _fastest_window(mock: LLMMock, calls: int) -> float:
    """Seconds a call of the fastest window among that many calls."""
    model = mock("m0")
    seconds = []
    for _ in range(calls // WINDOW):
        start = perf_counter()
        for _ in range(WINDOW):
            model.prompt("hello").text()
        seconds.append((perf_counter() - start) / WINDOW)
    return min(seconds)


def _bytes_per_record() -> float:
    mock = create_mock_get_model()
    prompts = [
        f"prompt {number}" for number in range(WEIGHED)
    ]  # made before memory is traced, so not counted
    mock("m").prompt("warm up").text()
    gc.collect()
    tracemalloc.start()
    for prompt in prompts:
        mock("m").prompt(prompt).text()
    gc.collect()
    weight, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return weight / WEIGHED
