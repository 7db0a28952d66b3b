"""The judge model that the project chose, for checks that do not name one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class JudgeChoice(NamedTuple):
    """The judges of a run."""

    override: str | None = None
    """The judge of all checks (`--llm-mock-judge`, `llm-mock test --judge`)."""
    default: str | None = None
    """The judge of checks that do not name one (ini `llm_mock_judge`)."""

    def resolve(self, named: str | None) -> str | None:
        """Return the judge of a check.

        Args:
            named: the judge that the check names; None if it does not name one.
        """
        return self.override or named or self.default


NO_CHOICE = JudgeChoice()


class _Current:
    choice = NO_CHOICE


def get_judge_choice() -> JudgeChoice:
    """Return the judges of this run."""
    return _Current.choice


@contextmanager
def choose_judge(choice: JudgeChoice) -> Iterator[None]:
    """Set the judges within the context."""
    previous = _Current.choice
    _Current.choice = choice
    try:
        yield
    finally:
        _Current.choice = previous
