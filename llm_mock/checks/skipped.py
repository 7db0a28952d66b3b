"""The assertion that stands for a check that cannot be made."""

from __future__ import annotations

from typing import Literal

from llm_mock.checks.base import AssertionOutcome, RunContext
from llm_mock.checks.evaluation import BaseAssertion
from llm_mock.support.validation import Text


class SkippedAssertion(BaseAssertion):
    """A check that is not made, such as one of another tool that has no counterpart here.

    It is skipped in each run, so that a case with no other check is not checked.
    """

    type: Literal["skipped"] = "skipped"
    reason: Text
    """The reason why the check is not made."""

    def get_skip(self) -> str:
        """Return the reason."""
        return self.reason

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Return that it could not be checked."""
        return AssertionOutcome(None, self.reason)
