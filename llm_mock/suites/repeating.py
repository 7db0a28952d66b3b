"""Runs a case as often as is wanted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llm_mock.suites.assertion_types.base import CassetteState
from llm_mock.suites.results import Attempt, CaseResult, total_cost
from llm_mock.suites.schema import TestCase

if TYPE_CHECKING:
    from llm_mock.suites.recorded import Cassettes


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
    cassettes: Cassettes | None = None
    """Where what models answer is recorded; None for nowhere."""

    @property
    @abstractmethod
    def label(self) -> str:
        """What reports call what is run."""

    @property
    @abstractmethod
    def model_id(self) -> str | None:
        """The id of the model that is asked; None where that is not known."""

    @property
    def cassette_state(self) -> CassetteState | None:
        """Whether the run of the case that runs here is recorded, or was replayed so far; None without a cassette."""
        return None if self.cassettes is None else self.cassettes.state

    @abstractmethod
    def _attempt(self, case: TestCase) -> Attempt:
        """Run a case once."""

    def run(self, case: TestCase) -> CaseResult:
        """Run a case as often as is wanted."""
        threshold = case.threshold if self.threshold is None else self.threshold
        attempts, again = [], []
        for number in range(1, 1 + (self.repeat or case.repeat or 1)):
            *failed, attempt = self._attempts(case, number)
            again += failed
            attempts.append(attempt)
        retried_cost = total_cost([attempt.spent for attempt in again])
        return CaseResult(case, tuple(attempts), 1.0 if threshold is None else threshold, len(again), retried_cost)

    def _attempts(self, case: TestCase, number: int) -> list[Attempt]:
        """Run a case for the first, second, … time, and again where it failed: only the last of these counts."""
        recorded = self.cassettes and self.cassettes.of_run(case, number, self._attempt)
        with recorded or nullcontext(self._attempt) as attempt:
            attempts = [attempt(case)]
            while attempts[-1].status == "failed" and len(attempts) <= self.retry:
                attempts.append(attempt(case))
        return attempts
