"""The assertion that stands in for a check that cannot run here."""

from __future__ import annotations

from typing import Literal

from llm_mock.checks.base import AssertionOutcome, RunContext
from llm_mock.checks.evaluation import BaseAssertion
from llm_mock.support.validation import Text


class SkippedAssertion(BaseAssertion):
    """A check that is always skipped, such as a check of another tool without a counterpart here.

    A case with no other check counts as not checked.
    """

    type: Literal["skipped"] = "skipped"
    reason: Text
    """The reason why the check is skipped."""

    def get_skip(self) -> str:
        """Return the reason."""
        return self.reason

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Return that it could not be checked."""
        return AssertionOutcome(None, self.reason)
