"""Report the calls that threads and tasks made after the end of their test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from llm_mock.core.history import LateCall
from llm_mock.support.text import format_count

TITLE = "LLM calls after the end of their test"
ADVICE = (
    "Each call got a reply of its own test, and is not in the history of other tests. In the test, "
    "wait for its threads and tasks: thread.join(), executor.shutdown(), await task. If several "
    "tests share workers, start the workers in a fixture of a wider scope."
)
SHOWN_LINES = 20
"""The maximum number of lines; further ones are counted."""


def serialize_late_calls(late_calls: Counter[LateCall]) -> list[list[Any]]:
    """Return late calls in the form in which a worker of pytest-xdist sends them."""
    # Only lists and plain values: xdist sends no classes.
    return [[*call, times] for call, times in late_calls.items()]


def read_late_calls(rows: Iterable[list[Any]]) -> Counter[LateCall]:
    """Return the late calls that a worker of pytest-xdist sent."""
    return Counter({LateCall(*row[:-1]): row[-1] for row in rows})


def format_late_calls(late_calls: Counter[LateCall]) -> str:
    """Return the text of the section: a line for each test, caller and model, and the advice."""
    lines = [_format_line(call, times) for call, times in sorted(late_calls.items())]
    hidden_count = len(lines) - SHOWN_LINES
    if hidden_count > 0:
        lines[SHOWN_LINES:] = [f"  … {format_count(hidden_count, 'more line')}"]
    return "\n".join([*lines, ADVICE])


def _format_line(call: LateCall, times: int) -> str:
    called = f"{format_count(times, 'call')} to {call.model_id} by {call.caller}"
    meanwhile = f" while {call.running} ran" if call.running else ""
    return f"  {call.test}: {called}, which was still running{meanwhile}"
