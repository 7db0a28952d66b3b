"""What running a suite gives: plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from llm_mock.agents.result import ToolCallRecord
from llm_mock.suites.pass_rates import PassRate, mean_pass_at_k
from llm_mock.suites.schema import Assertion, TestCase

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

    @property
    def output(self) -> str:
        """The answer to the last turn; empty where there was none."""
        return self.turns[-1].output if self.turns else ""

    @property
    def status(self) -> Status:
        """Passed where nothing failed and something was checked, or nothing was to be checked; else skipped."""
        outcomes = [result.passed for result in self.assertions]
        if self.error is not None or False in outcomes:
            return "failed"
        return "skipped" if outcomes and True not in outcomes else "passed"

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
        return "passed" if self.pass_rate >= self.threshold - 1e-9 else "failed"

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
    def cost(self) -> Decimal | None:
        """What all runs cost in US dollars, those included that were run again; None where a price is not known."""
        return total_cost([self.retried_cost, *(attempt.cost for attempt in self.attempts)])

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
    variant: Mapping[str, str] = field(default_factory=dict)
    """What tells it from others that stand side by side: see `Variant.parts`."""

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
        """Whether none failed, and all were run."""
        return not self.failed and not self.not_run

    @property
    def cost(self) -> Decimal | None:
        """What all cases cost in US dollars; None where a price is not known."""
        return total_cost([result.cost for result in self.case_results])

    def _count(self, status: Status) -> int:
        return sum(result.status == status for result in self.case_results)


def total_cost(costs: Sequence[Decimal | None]) -> Decimal | None:
    """The sum of costs in US dollars; None where one is not known."""
    return None if None in costs else sum(filter(None, costs), Decimal(0))
