"""Report the calls that threads and tasks made after the end of their test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from llm_mock.core.history import LateCall
from llm_mock.support.text import format_count

TITLE = "LLM calls after the end of their test"
ADVICE = (
    "Each was answered by the replies of its own test, and is in the history of no other. Have the test wait for what "
    "it starts: thread.join(), executor.shutdown(), await task. What works for several tests belongs into a fixture "
    "of a wider scope."
)
SHOWN = 20


def to_worker_output(late_calls: Counter[LateCall]) -> list[list[Any]]:
    """Return late calls as an xdist worker can send them."""
    return [[*call, times] for call, times in late_calls.items()]


def from_worker_output(rows: Iterable[list[Any]]) -> Counter[LateCall]:
    """Return the late calls that an xdist worker sent."""
    return Counter({LateCall(*row[:-1]): row[-1] for row in rows})


def late_calls_text(late_calls: Counter[LateCall]) -> str:
    """Return a line for each test, caller and model, and what to do."""
    lines = [_line(call, times) for call, times in sorted(late_calls.items())]
    if len(lines) > SHOWN:
        lines[SHOWN:] = [f"  … {format_count(len(lines) - SHOWN, 'more line')}"]
    return "\n".join([*lines, ADVICE])


def _line(call: LateCall, times: int) -> str:
    called = f"{format_count(times, 'call')} of {call.model_id} by {call.caller}"
    meanwhile = f" while {call.running} ran" if call.running else ""
    return f"  {call.test}: {called}, which it left running{meanwhile}"
