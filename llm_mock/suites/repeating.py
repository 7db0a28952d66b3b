"""Runs a case as often as is wanted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from llm_mock.suites.results import Attempt, CaseResult, total_cost
from llm_mock.suites.schema import TestCase


@dataclass(frozen=True, kw_only=True)
class RepeatingRunner(ABC):
    """Runs cases, each as often as is wanted."""

    folder: Path | None
    """The folder of the suite."""
    dry_run: bool
    repeat: int | None
    """How often a case is run; None is as the case says itself, else once."""
    threshold: float | None
    """The share of these runs that must pass; None is as the case says itself, else all."""
    retry: int
    judge: str | None = None
    """The id of the model that judges, whatever an assertion says; None is the one of the assertion."""

    @property
    @abstractmethod
    def label(self) -> str:
        """What reports call what is run."""

    @property
    @abstractmethod
    def model_id(self) -> str | None:
        """The id of the model that is asked; None where that is not known."""

    @abstractmethod
    def _attempt(self, case: TestCase) -> Attempt:
        """Run a case once."""

    def run(self, case: TestCase) -> CaseResult:
        """Run a case as often as is wanted."""
        threshold = case.threshold if self.threshold is None else self.threshold
        attempts, again = [], []
        for _ in range(self.repeat or case.repeat or 1):
            attempt = self._attempt(case)
            for _ in range(self.retry):
                if attempt.status != "failed":
                    break
                again.append(attempt)
                attempt = self._attempt(case)
            attempts.append(attempt)
        retried_cost = total_cost([attempt.cost for attempt in again])
        return CaseResult(case, tuple(attempts), 1.0 if threshold is None else threshold, len(again), retried_cost)
