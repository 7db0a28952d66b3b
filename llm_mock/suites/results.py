"""What running a suite gives: plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from llm_mock.agents.result import ToolCallRecord
from llm_mock.suites.pass_rates import PassRate, mean_pass_at_k
from llm_mock.suites.schema import Assertion, TestCase
from llm_mock.suites.scores import compute_average, reaches

Status = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True)
class AssertionResult:
    """What came of one assertion."""

    assertion: Assertion
    passed: bool | None
    """None where it was skipped: in a dry run, what only a real model can answer."""
    message: str
    """Such as `Output contains 'Hello'`; of a skipped one why."""
    turn: int = 0
    """Which turn of the case it belongs to, from 0."""
    tokens: int = 0
    """What asking a model took, input and output together."""
    cost: Decimal | None = Decimal(0)
    """What asking a model cost in US dollars; None where the price is not known."""
    score: float | None = None
    """How well it did, from 0 to 1; by default 1 where it passed, else 0. None where it was skipped."""
    judge: str | None = None
    """The id of the model that judged; None where none did."""

    def __post_init__(self) -> None:
        if self.score is None and self.passed is not None:
            object.__setattr__(self, "score", float(self.passed))


@dataclass(frozen=True)
class TurnResult:
    """One turn of a case: what was said, answered and called."""

    prompt: str
    output: str
    tool_calls: tuple[ToolCallRecord, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal | None = None
    """US dollars; None where the price is not known."""
    duration: float = field(default=0.0, compare=False)
    """Seconds, tools included."""
    requests: int = 0
    """How many answers the model gave, those that called tools included."""
    transformed: str | None = None
    """What the `transform` of the case made of the output, which was then checked; None where it has none."""
    asked: tuple[str, ...] = ()
    """In a dry run of a target: the calls that it made of models, and what it was answered, each on a line."""

    @property
    def checked(self) -> str:
        """What the assertions look at."""
        return self.output if self.transformed is None else self.transformed


@dataclass(frozen=True)
class Attempt:
    """One run of a case."""

    turns: tuple[TurnResult, ...]
    """Those that were run; an error ends the conversation."""
    assertions: tuple[AssertionResult, ...]
    """Of all turns, in order. Where there is an error, none."""
    error: str | None = None
    """Why the run did not succeed; None for one that did."""
    transcript: str = ""
    """The whole run for people: see `AgentResult`."""
    duration: float = field(default=0.0, compare=False)
    """Seconds."""
    agent_fails: bool = False
    """Whether the error is the agent's, so that every case has it: a server that does not start, a missing key."""
    min_score: float | None = None
    """The least score to pass; None where each assertion must hold."""
    recorded: int = 0
    """With a cassette: how many calls were made for real, and recorded."""
    replayed: int = 0
    """With a cassette: how many calls were answered by it."""

    @property
    def output(self) -> str:
        """The answer to the last turn; empty where there was none."""
        return self.turns[-1].output if self.turns else ""

    @property
    def status(self) -> Status:
        """Passed where nothing failed and something was checked, or nothing was to be checked; else skipped."""
        outcomes = {result.passed for result in self.assertions if result.assertion.weight}
        if self.error is not None or (False in outcomes if self.min_score is None else self.misses_score):
            return "failed"
        return "skipped" if outcomes == {None} else "passed"

    @property
    def misses_score(self) -> bool:
        """Whether there is a score that is less than it must be."""
        return not reaches(self.score, self.min_score)

    @property
    def score(self) -> float | None:
        """The average of what the assertions score, by their weights: 0 for an error, 1 where there are none.

        None where all were skipped, or none has a weight.
        """
        if self.error is not None:
            return 0.0
        weighed = [result for result in self.assertions if result.assertion.weight]
        scored = [(result.score, result.assertion.weight) for result in weighed if result.score is not None]
        if not scored:
            return None if self.assertions else 1.0
        return sum(score * weight for score, weight in scored) / sum(weight for _, weight in scored)

    @property
    def tokens(self) -> int:
        """Input and output of all turns together, and of the assertions that ask a model."""
        return sum(turn.input_tokens + turn.output_tokens for turn in self.turns) + sum(
            result.tokens for result in self.assertions
        )

    @property
    def cost(self) -> Decimal | None:
        """What the run and its assertions cost in US dollars; None where a price is not known."""
        return total_cost([turn.cost for turn in self.turns] + [result.cost for result in self.assertions])

    @property
    def spent(self) -> Decimal | None:
        """The same, but nothing where all of it was replayed."""
        return Decimal(0) if self.replayed and not self.recorded else self.cost


@dataclass(frozen=True)
class CaseResult:
    """What came of one case."""

    case: TestCase
    attempts: tuple[Attempt, ...]
    """Its runs, at least one: several with `repeat`. Of a retried run only the last one counts, and stands here."""
    threshold: float = 1.0
    """The share of the attempts that must pass."""
    retried: int = 0
    """How many runs failed and were run again."""
    retried_cost: Decimal | None = Decimal(0)
    """What these cost in US dollars; None where a price is not known."""

    @property
    def status(self) -> Status:
        """What the whole case is: skipped where every attempt was."""
        statuses = [attempt.status for attempt in self.attempts]
        if set(statuses) == {"skipped"}:
            return "skipped"
        return "passed" if reaches(self.pass_rate, self.threshold) else "failed"

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong: the case passed or was skipped."""
        return self.status != "failed"

    @property
    def pass_rate(self) -> float:
        """The share of the attempts that did not fail, from 0 to 1."""
        return self.rate.share

    @property
    def rate(self) -> PassRate:
        """How many of the attempts did not fail, what that says of further ones, and pass@k."""
        return PassRate(sum(attempt.status != "failed" for attempt in self.attempts), len(self.attempts))

    @property
    def score(self) -> float | None:
        """The average of its attempts; None where all were skipped."""
        return compute_average(attempt.score for attempt in self.attempts)

    @property
    def is_scored(self) -> bool:
        """Whether its score says more than which assertions hold."""
        weighed = (each.assertion.weight != 1 or each.assertion.metric for each in self.assertion_results)
        return (
            self.case.min_score is not None
            or any(weighed)
            or any(each.score not in (0, 1, None) for each in self.assertion_results)
        )

    @property
    def cost(self) -> Decimal | None:
        """What all runs cost in US dollars, those included that were run again; None where a price is not known."""
        return total_cost([self.retried_cost, *(attempt.cost for attempt in self.attempts)])

    @property
    def spent(self) -> Decimal | None:
        """The same without what was replayed."""
        return total_cost([self.retried_cost, *(attempt.spent for attempt in self.attempts)])

    @property
    def duration(self) -> float:
        """Seconds, of all attempts."""
        return sum(attempt.duration for attempt in self.attempts)

    @property
    def shown(self) -> Attempt:
        """The attempt that explains the status: the first that failed, else the last."""
        return next((attempt for attempt in self.attempts if attempt.status == "failed"), self.attempts[-1])

    @property
    def assertion_results(self) -> tuple[AssertionResult, ...]:
        """The assertions of the attempt that explains the status."""
        return self.shown.assertions

    @property
    def checks(self) -> tuple[int, int]:
        """How many of its assertions were checked, not skipped; and how many it has."""
        checked = sum(result.passed is not None for result in self.assertion_results)
        return checked, len(self.assertion_results)

    @property
    def output(self) -> str:
        """The output of the attempt that explains the status."""
        return self.shown.output

    @property
    def error(self) -> str | None:
        """Its error."""
        return self.shown.error


@dataclass(frozen=True)
class SuiteResult:
    """What came of a suite."""

    suite_name: str
    agent: str
    """The name of the role, or what reports call the agent or the target."""
    model: str | None
    """The id of the model; None of a target, whose models are not known."""
    case_results: tuple[CaseResult, ...]
    dry_run: bool = False
    not_run: tuple[TestCase, ...] = ()
    """Cases that were not run, as the run was stopped."""
    stopped: str | None = None
    """Why it was stopped: the cost limit, or an agent that cannot run; None where it was not."""
    duration: float = field(default=0.0, compare=False)
    """Seconds."""
    target: str | None = None
    """The target: the function, the words of the command, or the URL; None where an agent was run."""
    cassette: str | None = None
    """The record mode of its cassettes; None without."""
    variant: Mapping[str, str] = field(default_factory=dict)
    """What tells it from others that stand side by side: see `Variant.parts`."""
    min_score: float | None = None
    """The least score for the suite to pass; None where each case must pass."""

    @property
    def total(self) -> int:
        """How many cases there are, those included that were not run."""
        return len(self.case_results) + len(self.not_run)

    @property
    def passed(self) -> int:
        """How many passed."""
        return self._count("passed")

    @property
    def failed(self) -> int:
        """How many failed."""
        return self._count("failed")

    @property
    def skipped(self) -> int:
        """How many were skipped."""
        return self._count("skipped")

    @property
    def calls(self) -> tuple[int, int, int]:
        """How many calls were answered by cassettes, how many were made and recorded, and how many runs made none."""
        attempts = [attempt for result in self.case_results for attempt in result.attempts]
        without = sum(not (attempt.replayed or attempt.recorded) for attempt in attempts)
        return sum(attempt.replayed for attempt in attempts), sum(attempt.recorded for attempt in attempts), without

    @property
    def pass_at_k(self) -> dict[int, float]:
        """Of cases that were run several times, all of them: the mean of each pass@k; empty where there is none."""
        return mean_pass_at_k([result.rate for result in self.case_results if len(result.attempts) > 1])

    @property
    def checks(self) -> tuple[int, int]:
        """How many assertions of the cases were checked, not skipped; and how many there are."""
        checks = [result.checks for result in self.case_results]
        return sum(checked for checked, _ in checks), sum(there for _, there in checks)

    @property
    def agent_fails(self) -> bool:
        """Whether a case failed of what every case needs: see `Attempt.agent_fails`."""
        return any(result.attempts[-1].agent_fails for result in self.case_results)

    @property
    def all_passed(self) -> bool:
        """Whether none failed, or the score is as high as it must be, and all were run."""
        if self.not_run:
            return False
        return not self.failed if self.min_score is None else reaches(self.score, self.min_score)

    @property
    def score(self) -> float | None:
        """The average of its cases; None where all were skipped."""
        return compute_average(result.score for result in self.case_results)

    @property
    def metrics(self) -> dict[str, float]:
        """Of each metric the average of what its assertions score, in all runs of all cases."""
        scores: dict[str, list[float | None]] = {}
        for result in (each for case in self.case_results for run in case.attempts for each in run.assertions):
            if result.assertion.metric is not None:
                scores.setdefault(result.assertion.metric, []).append(result.score)
        averages = {name: compute_average(found) for name, found in scores.items()}
        return {name: score for name, score in averages.items() if score is not None}

    @property
    def judged_itself(self) -> int:
        """How many assertions the model under test judged."""
        judges = [each.judge for case in self.case_results for run in case.attempts for each in run.assertions]
        return 0 if self.model is None else judges.count(self.model)

    @property
    def is_scored(self) -> bool:
        """Whether its score says more than which cases passed."""
        return self.min_score is not None or any(result.is_scored for result in self.case_results)

    @property
    def cost(self) -> Decimal | None:
        """What all cases cost in US dollars; None where a price is not known."""
        return total_cost([result.cost for result in self.case_results])

    def _count(self, status: Status) -> int:
        return sum(result.status == status for result in self.case_results)


def total_cost(costs: Sequence[Decimal | None]) -> Decimal | None:
    """The sum of costs in US dollars; None where one is not known."""
    return None if None in costs else sum(filter(None, costs), Decimal(0))
