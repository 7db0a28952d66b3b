"""The judge model that the project chose, for checks that name none."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class JudgeChoice(NamedTuple):
    """The judges of a run."""

    override: str | None = None
    """The judge of all checks (`--llm-mock-judge`)."""
    default: str | None = None
    """The judge of checks that name none (ini `llm_mock_judge`)."""


class _Current:
    choice = JudgeChoice()


def get_judge_choice() -> JudgeChoice:
    """Return the judges of this run."""
    return _Current.choice


def choose_judge(choice: JudgeChoice) -> Callable[[], None]:
    """Set the judges of this run, and return a function that restores the previous ones."""
    previous = _Current.choice
    _Current.choice = choice

    def restore() -> None:
        _Current.choice = previous

    return restore
