"""Results of running a suite: plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Literal

from llm_mock.agents.result import ToolCallRecord
from llm_mock.checks.evaluation import AssertionResult as AssertionResult
from llm_mock.checks.scores import reaches
from llm_mock.suites.application_calls import ModelCall
from llm_mock.suites.pass_rates import PassRate, mean_pass_at_k, mean_pass_hat_k
from llm_mock.suites.schema import TestCase
from llm_mock.suites.scores import compute_average

Status = Literal["passed", "failed", "not checked"]
"""The status of a case: `not checked` if it has assertions and all of them were skipped."""


@dataclass(frozen=True)
class TurnResult:
    """The result of one turn of a case: its prompt, output and calls."""

    prompt: str
    output: str
    tool_calls: tuple[ToolCallRecord, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal | None = None
    """US dollars; None if a price is unknown."""
    # Not compared: two runs that are otherwise equal take different times.
    duration: float = field(default=0.0, compare=False)
    """Seconds, tools included."""
    requests: int = 0
    """The number of responses of the model, including those that call tools."""
    transformed: str | None = None
    """The output after the `transform` of the case; None if it has none."""
    model_calls: tuple[ModelCall, ...] = ()
    """The model calls that the target made, as far as they are known."""

    @property
    def checked_output(self) -> str:
        """The text that the assertions check."""
        if self.transformed is None:
            return self.output
        return self.transformed


@dataclass(frozen=True)
class Attempt:
    """One run of a case."""

    turns: tuple[TurnResult, ...]
    """The turns that were run; an error ends the conversation."""
    assertions: tuple[AssertionResult, ...]
    """The assertions of all turns, in order; none if there is an error."""
    error: str | None = None
    """The reason why the run failed before its assertions; None if it did not."""
    transcript: str = ""
    """The whole run as readable text: see `AgentResult`."""
    duration: float = field(default=0.0, compare=False)
    """Seconds."""
    agent_fails: bool = False
    """True if the error affects every case, such as a missing key or a server that cannot start."""
    min_score: float | None = None
    """The lowest score that passes; None if each assertion must hold."""
    recorded: int = 0
    """The number of real calls that a cassette recorded."""
    replayed: int = 0
    """The number of calls that a cassette replayed."""
    judge_tokens: int = 0
    """Tokens of assertions that call a model, including assertions before an error."""
    judge_cost: Decimal | None = Decimal(0)
    """US dollars of these assertions; None if a price is unknown."""

    @property
    def output(self) -> str:
        """The output of the last turn; empty if there was no turn."""
        if self.turns:
            return self.turns[-1].output
        return ""

    # Cached, because the summary of a suite reads it many times.
    @cached_property
    def status(self) -> Status:
        """The status: failed, not checked if all its assertions were skipped, or passed."""
        if self.error is not None:
            return "failed"
        # Assertions with weight 0 cannot fail a case.
        outcomes = {result.passed for result in self.assertions if result.assertion.weight}
        if self.min_score is None:
            has_failed = False in outcomes
        else:
            has_failed = self.misses_score
        if has_failed:
            return "failed"
        # Without any weight, there is no score to compare with `min_score`.
        has_no_score = self.min_score is not None and self.score is None
        return "not checked" if outcomes == {None} or has_no_score else "passed"

    @property
    def misses_score(self) -> bool:
        """True if the score is below `min_score`."""
        return not reaches(self.score, self.min_score)

    @property
    def score(self) -> float | None:
        """The weighted average of the assertions' scores: 0 for an error, 1 without assertions.

        None if all were skipped, or none has a weight.
        """
        if self.error is not None:
            return 0.0
        if not self.assertions:
            return 1.0
        total = total_weight = 0.0
        for result in self.assertions:
            weight = result.assertion.weight
            # Skipped assertions have no score.
            if result.score is not None:
                total += result.score * weight
                total_weight += weight
        return total / total_weight if total_weight else None

    @property
    def tokens(self) -> int:
        """Tokens of all turns and of assertions that call a model, input and output together."""
        turn_tokens = sum(turn.input_tokens + turn.output_tokens for turn in self.turns)
        return turn_tokens + self.judge_tokens

    @property
    def cost(self) -> Decimal | None:
        """US dollars of the run and its assertions; None if a price is unknown."""
        # Assertions with a judge cost money, too.
        return total_cost([*(turn.cost for turn in self.turns), self.judge_cost])

    @property
    def spent(self) -> Decimal | None:
        """US dollars that were really spent: `cost`, or 0 if all calls were replayed."""
        # One recorded call means that an unknown part of the cost is real.
        is_replay = self.replayed and not self.recorded
        return Decimal(0) if is_replay else self.cost


@dataclass(frozen=True)
class CaseResult:
    """The result of one case."""

    case: TestCase
    attempts: tuple[Attempt, ...]
    """The runs, several with `repeat`; for a retried run, only the last attempt."""
    threshold: float = 1.0
    """The share of the attempts that must pass."""
    retried: int = 0
    """The number of failed runs that were retried."""
    retried_cost: Decimal | None = Decimal(0)
    """US dollars of these runs; None if a price is unknown."""
    retried_tokens: int = 0
    """Tokens of these runs, input and output together."""

    @property
    def status(self) -> Status:
        """The status of the whole case: not checked if no attempt was."""
        rate = self.rate
        if rate is None:
            return "not checked"
        return "passed" if reaches(rate.share, self.threshold) else "failed"

    @property
    def passed(self) -> bool:
        """True if the case was checked and passed."""
        return self.status == "passed"

    @property
    def pass_rate(self) -> float | None:
        """The share of the checked attempts that passed, from 0 to 1; None if none was checked."""
        return None if self.rate is None else self.rate.share

    @cached_property
    def rate(self) -> PassRate | None:
        """The pass rate of the checked attempts, with its confidence interval and pass@k.

        None if no attempt was checked.
        """
        statuses = [attempt.status for attempt in self.attempts]
        checked = len(statuses) - statuses.count("not checked")
        if not checked:
            return None
        return PassRate(statuses.count("passed"), checked)

    @property
    def score(self) -> float | None:
        """The average score of the attempts; None if none was checked."""
        return compute_average(attempt.score for attempt in self.attempts)

    @property
    def is_scored(self) -> bool:
        """True if the score adds information to the passed and failed assertions."""
        if self.case.min_score is not None:
            return True
        for result in self.assertion_results:
            has_weight = result.assertion.weight != 1 or bool(result.assertion.metric)
            if has_weight or result.score not in (0, 1, None):
                return True
        return False

    @property
    def cost(self) -> Decimal | None:
        """The cost of all runs in US dollars, retried ones included; None if a price is unknown."""
        return total_cost([self.retried_cost, *(attempt.cost for attempt in self.attempts)])

    @property
    def tokens(self) -> int:
        """The tokens of all runs, retried ones included."""
        return self.retried_tokens + sum(attempt.tokens for attempt in self.attempts)

    @property
    def spent(self) -> Decimal | None:
        """The cost in US dollars of all runs that were not replayed; None if a price is unknown."""
        return total_cost([self.retried_cost, *(attempt.spent for attempt in self.attempts)])

    @property
    def duration(self) -> float:
        """Seconds of all attempts."""
        return sum(attempt.duration for attempt in self.attempts)

    @property
    def decisive_attempt(self) -> Attempt:
        """The attempt that explains the status: the first failed one, or else the last."""
        for attempt in self.attempts:
            if attempt.status == "failed":
                return attempt
        return self.attempts[-1]

    @property
    def assertion_results(self) -> tuple[AssertionResult, ...]:
        """The assertions of the decisive attempt."""
        return self.decisive_attempt.assertions

    @property
    def checks(self) -> tuple[int, int]:
        """The number of assertions that were not skipped, and the total number."""
        checked = sum(result.passed is not None for result in self.assertion_results)
        return checked, len(self.assertion_results)

    @property
    def output(self) -> str:
        """The output of the decisive attempt."""
        return self.decisive_attempt.output

    @property
    def error(self) -> str | None:
        """The error of the decisive attempt."""
        return self.decisive_attempt.error


@dataclass(frozen=True)
class SuiteResult:
    """The result of a suite."""

    suite_name: str
    agent: str
    """The name of the agent or the target in reports."""
    model: str | None
    """The id of the model; None for a target, whose models are unknown."""
    case_results: tuple[CaseResult, ...]
    dry_run: bool = False
    not_run: tuple[TestCase, ...] = ()
    """The cases that were not run because the run was stopped."""
    stopped: str | None = None
    """The reason why the run was stopped: the cost limit, or an agent that cannot run."""
    duration: float = field(default=0.0, compare=False)
    """Seconds."""
    target: str | None = None
    """The function, command or URL of the target; None for an agent."""
    cassette: str | None = None
    """The record mode of the cassettes, if there are any."""
    variant: Mapping[str, str] = field(default_factory=dict)
    """The parts that differ from other variants of the suite: see `Variant.parts`."""
    min_score: float | None = None
    """The lowest score that passes; None if each case must pass."""

    @property
    def total(self) -> int:
        """The number of all cases, including those that were not run."""
        return len(self.case_results) + len(self.not_run)

    @property
    def passed(self) -> int:
        """The number of cases that passed."""
        return self._count("passed")

    @property
    def failed(self) -> int:
        """The number of cases that failed."""
        return self._count("failed")

    @property
    def not_checked(self) -> int:
        """The number of cases whose assertions were all skipped."""
        return self._count("not checked")

    @property
    def calls(self) -> tuple[int, int, int]:
        """The numbers of replayed calls, of recorded calls, and of runs without a call."""
        replayed = recorded = runs_without = 0
        for attempt in self._get_attempts():
            replayed += attempt.replayed
            recorded += attempt.recorded
            has_calls = attempt.replayed or attempt.recorded
            runs_without += not has_calls
        return replayed, recorded, runs_without

    @property
    def pass_at_k(self) -> dict[int, float]:
        """The mean of each pass@k over the cases that were run several times."""
        return mean_pass_at_k(self._list_rates())

    @property
    def pass_hat_k(self) -> dict[int, float]:
        """The mean of each pass^k over the cases that were run several times."""
        return mean_pass_hat_k(self._list_rates())

    def _list_rates(self) -> list[PassRate]:
        repeated = [result for result in self.case_results if len(result.attempts) > 1]
        rates = [result.rate for result in repeated]
        return [rate for rate in rates if rate is not None]

    @property
    def checks(self) -> tuple[int, int]:
        """The number of all cases' assertions that were not skipped, and the total number."""
        checks = [result.checks for result in self.case_results]
        checked_total = sum(checked for checked, _ in checks)
        return checked_total, sum(all_checks for _, all_checks in checks)

    @property
    def agent_fails(self) -> bool:
        """True if a case has an error that affects every case: see `Attempt.agent_fails`."""
        return any(result.attempts[-1].agent_fails for result in self.case_results)

    @property
    def is_checked(self) -> bool:
        """True if a case passed or failed, and there is a score if `min_score` requires one."""
        if self.min_score is not None and self.score is None:
            return False
        return bool(self.passed or self.failed)

    @property
    def all_passed(self) -> bool:
        """True if all cases were run and checked, and all passed or the score is high enough."""
        return self.succeeded and self.is_checked and not self.not_checked

    @property
    def succeeded(self) -> bool:
        """True if all cases were run, and none failed or the score is high enough.

        Cases that were not checked do not count: see `is_checked` and `not_checked`.
        """
        if self.not_run:
            return False
        if self.min_score is None:
            return not self.failed
        return reaches(self.score, self.min_score)

    @property
    def score(self) -> float | None:
        """The average score of the cases; None if none was checked."""
        return compute_average(result.score for result in self.case_results)

    @property
    def metrics(self) -> dict[str, float]:
        """The average score of each metric, over all runs of all cases."""
        scores: dict[str, list[float | None]] = {}
        for attempt in self._get_attempts():
            for result in attempt.assertions:
                metric = result.assertion.metric
                if metric is not None:
                    scores.setdefault(metric, []).append(result.score)
        averages: dict[str, float] = {}
        for metric, values in scores.items():
            score = compute_average(values)
            # None: all assertions of the metric were skipped.
            if score is not None:
                averages[metric] = score
        return averages

    @property
    def judged_itself(self) -> int:
        """The number of assertions that the model under test judged itself."""
        if self.model is None:
            return 0
        total = 0
        for attempt in self._get_attempts():
            total += sum(result.judge == self.model for result in attempt.assertions)
        return total

    @property
    def is_scored(self) -> bool:
        """True if the score adds information to the passed and failed cases."""
        return self.min_score is not None or any(result.is_scored for result in self.case_results)

    @property
    def cost(self) -> Decimal | None:
        """The cost of all cases in US dollars; None if a price is unknown."""
        return total_cost([result.cost for result in self.case_results])

    def _get_attempts(self) -> Iterator[Attempt]:
        for result in self.case_results:
            yield from result.attempts

    def _count(self, status: Status) -> int:
        return sum(result.status == status for result in self.case_results)


def total_cost(costs: Sequence[Decimal | None]) -> Decimal | None:
    """Return the sum of costs in US dollars; None if one is unknown."""
    if None in costs:
        return None
    return sum(filter(None, costs), Decimal(0))
