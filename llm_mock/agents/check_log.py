"""Record the checks that tests make in Python, for the report."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from llm_mock.agents.result import AgentResult

Status = Literal["passed", "failed", "not checked", "scored"]


class LoggedCheck(NamedTuple):
    """A check that a test made."""

    status: Status
    message: str
    run: AgentResult | None
    """The run that was checked; None for another subject, such as a text."""


# A deque, because tests may run checks in several threads.
_new: deque[LoggedCheck] = deque()


def log_check(status: Status, message: str, run: AgentResult | None = None) -> None:
    """Record a check if a test is running."""
    if "PYTEST_CURRENT_TEST" in os.environ:
        _new.append(LoggedCheck(status, message, run))


def take_checks() -> list[LoggedCheck]:
    """Return the checks recorded since the last call."""
    return [_new.popleft() for _ in range(len(_new))]
