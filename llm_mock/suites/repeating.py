"""Runs a case as often as is wanted."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from llm_mock.suites.assertion_types.base import CassetteState
from llm_mock.suites.results import AssertionResult, Attempt, CaseResult, TurnResult, total_cost
from llm_mock.suites.schema import TestCase
from llm_mock.suites.time_limit import CaseTimedOut, limited
from llm_mock.support.redaction import redacted

if TYPE_CHECKING:
    from llm_mock.suites.suite_cassettes import SuiteCassettes


class Conversation(NamedTuple):
    """What came of the turns of a case; see `Attempt`."""

    turns: Sequence[TurnResult]
    assertions: Sequence[AssertionResult]
    """Those of the turns before an error, too."""
    error: str | None
    agent_fails: bool
    transcript: str = ""


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
    timeout: float | None = None
    """Seconds that a run of a case may take; None is as the case says itself, else without end."""
    cassettes: SuiteCassettes | None = None
    """Where what models answer is recorded; None for nowhere."""

    @property
    def one_by_one(self) -> bool:
        """Whether cases cannot run at once."""
        return False

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

    def _unprepared(self) -> Attempt | None:
        """Get what must be there before the time of a run begins; a run that failed where that is not to be had."""
        return None

    @abstractmethod
    def _conversation(self, case: TestCase) -> Conversation:
        """Go through the turns of a case."""

    def _attempt(self, case: TestCase) -> Attempt:
        """Run a case once."""
        start = time.perf_counter()
        turns, assertions, error, agent_fails, transcript = self._conversation(case)
        return Attempt(
            tuple(turns),
            () if error is not None else tuple(assertions),
            None if error is None else str(redacted(error)),
            transcript,
            time.perf_counter() - start,
            agent_fails,
            case.min_score,
        )

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
        recorded = self.cassettes and self.cassettes.open_run(case, number, self._limited)
        with recorded or nullcontext(self._limited) as attempt:
            attempts = [attempt(case)]
            while attempts[-1].status == "failed" and len(attempts) <= self.retry:
                attempts.append(attempt(case))
        return attempts

    def _limited(self, case: TestCase) -> Attempt:
        """Run a case once, and end it when its time is up."""
        seconds = self._seconds(case)
        if seconds is None:
            return self._attempt(case)
        if (unprepared := self._unprepared()) is not None:
            return unprepared
        start = time.perf_counter()
        try:
            return limited(seconds, lambda: self._attempt(case))
        except CaseTimedOut as problem:  # it was somewhere where it could not tell more
            turn = TurnResult(case.all_turns[0].prompt or "", "", cost=Decimal(0) if self.dry_run else None)
            return Attempt((turn,), (), self._not_ended(case, problem), duration=time.perf_counter() - start)

    def _not_ended(self, case: TestCase, problem: CaseTimedOut) -> str:
        """The error of a run that was ended."""
        during = f", in {problem.during}" if problem.during else ""
        return f"Timed out: the run was ended after {self._seconds(case):g} s{during}"

    def _seconds(self, case: TestCase) -> float | None:
        return case.timeout if self.timeout is None else self.timeout
