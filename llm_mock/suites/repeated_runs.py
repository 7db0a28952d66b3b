"""Repeated runs of a case, with retries, a time limit and cassettes."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from llm_mock.checks.base import CassetteState
from llm_mock.checks.evaluation import format_refusal
from llm_mock.checks.python_functions import ModelRefused
from llm_mock.checks.transforms import apply_transform
from llm_mock.errors import LLMMockError
from llm_mock.suites.assertions import RunContext, evaluate_assertions
from llm_mock.suites.conversations import NEEDS_MODEL, end_turn, skip_all
from llm_mock.suites.matrix import format_case_name, format_variant_name
from llm_mock.suites.prompt_functions import find_skip, write_chat
from llm_mock.suites.results import AssertionResult, Attempt, CaseResult, TurnResult, total_cost
from llm_mock.suites.schema import CaseTurn, TestCase
from llm_mock.suites.scripted_runs import select_replies
from llm_mock.support.redaction import redact
from llm_mock.support.text import shorten_name
from llm_mock.support.time_limit import CaseTimedOut, run_with_limit

if TYPE_CHECKING:
    from llm_mock.suites.snapshots import Snapshots
    from llm_mock.suites.suite_cassettes import SuiteCassettes


class Conversation(NamedTuple):
    """The results of the turns of a case; see `Attempt`."""

    turns: Sequence[TurnResult]
    assertions: Sequence[AssertionResult]
    """The results of assertions, including those before an error."""
    error: str | None
    agent_fails: bool
    transcript: str = ""
    step_checks: Sequence[AssertionResult] = ()
    """The results of the checks of steps, which reports do not list: the verdict covers them."""


class Subject(ABC):
    """A test subject with its own runner, unlike an agent or a target."""

    @property
    @abstractmethod
    def label(self) -> str:
        """Return its name in reports."""

    @abstractmethod
    def create_runner(self, **options: Any) -> RepeatingRunner:
        """Return a runner of its cases with the options of a `RepeatingRunner`."""


@dataclass(frozen=True, kw_only=True)
class RepeatingRunner(ABC):
    """A runner that runs each case as often as required."""

    folder: Path | None
    """The folder of the suite."""
    dry_run: bool
    repeat: int | None
    """The number of runs; None for the case's own, or else 1."""
    threshold: float | None
    """The share of runs that must pass; None for the case's own, or else all."""
    retry: int
    judge: str | None = None
    """The id of the judge model for all assertions; None for each assertion's own."""
    timeout: float | None = None
    """The time limit of a run in seconds; None for the case's own, or else no limit."""
    cassettes: SuiteCassettes | None = None
    """The cassettes for model responses; None to record nothing."""
    snapshots: Snapshots | None = None
    """The outputs that the runs must reproduce; None to compare nothing."""
    variant: Mapping[str, str] = field(default_factory=dict)
    """The names of the variant's entries by axis; empty without a matrix."""

    sends_chats: ClassVar[bool] = True
    """True if a case may have messages besides its prompt."""

    @property
    def is_sequential(self) -> bool:
        """Return True if cases must run one after the other."""
        return False

    @property
    @abstractmethod
    def label(self) -> str:
        """Return the name of the agent or target in reports."""

    @property
    @abstractmethod
    def model_id(self) -> str | None:
        """Return the id of the model under test; None if unknown."""

    @property
    def cassette_state(self) -> CassetteState | None:
        """Return the state of the current run's cassette; None without a cassette."""
        if self.cassettes is None:
            return None
        return self.cassettes.state

    def _prepare(self) -> Attempt | None:
        """Prepare a run before its time begins.

        Returns:
            A failed attempt if the preparation fails, else None.
        """
        return None

    @abstractmethod
    def _run_turns(self, case: TestCase) -> Conversation:
        """Run the turns of a case."""

    def _check_turn(
        self, turn: CaseTurn, number: int, result: TurnResult, context: RunContext
    ) -> tuple[TurnResult, list[AssertionResult]]:
        """Return the result of a turn with its output transformed, and its assertion results.

        Args:
            turn: the turn.
            number: its position in the conversation, from 0.
            result: its result so far.
            context: the facts for the assertions.

        Raises:
            TransformFailed: the transform of the turn failed.
        """
        if turn.user_session is not None:
            turn, result = end_turn(turn, result)
        text = result.output
        refusal = None
        if turn.transform is not None:
            # The output itself is kept, as reports show both.
            try:
                text = apply_transform(turn.transform, text, context)
                result = replace(result, transformed=text)
            except ModelRefused as error:
                name = f"the transform {shorten_name(turn.transform)}"
                refusal = format_refusal(name, error, self.dry_run)
        if refusal is None:
            results = evaluate_assertions(turn.assertions, text, context)
        else:
            results = skip_all(turn.assertions, refusal)
        if number:
            results = [replace(each, turn=number) for each in results]
        return result, results

    def _find_skip(self, case: TestCase) -> str | None:
        """Return why a case cannot be run here, or None."""
        if case.user is not None and self.dry_run and not case.user.script:
            return NEEDS_MODEL
        if case.prompt_function is not None:
            return find_skip(case.prompt_function)
        return None

    def _write_messages(self, case: TestCase, function: str) -> TestCase:
        """Return a case with the messages that its prompt function writes.

        Raises:
            LLMMockError: the function failed, or returned no messages.
            ModelRefused: the function asked a model where it may not.
        """
        context = RunContext(
            dry_run=self.dry_run,
            folder=self.folder,
            case=case,
            cassette=self.cassette_state,
        )
        chat = write_chat(function, self.model_id, context, self.sends_chats)
        fields: dict[str, object] = {"prompt": chat.prompt}
        if chat.system is not None:
            fields["system"] = chat.system
        if chat.history:
            fields["history"] = chat.history
        return case.model_copy(update=fields)

    def _run_once(self, case: TestCase) -> Attempt:
        reason = self._find_skip(case)
        if reason is not None:
            return _skip_case(case, reason)
        start = time.perf_counter()
        function = case.prompt_function
        if function is not None:
            try:
                case = self._write_messages(case, function)
            except ModelRefused as refused:
                name = f"the prompt function {shorten_name(function)}"
                return _skip_case(case, format_refusal(name, refused, self.dry_run))
            except LLMMockError as problem:
                return Attempt((), (), str(problem), duration=time.perf_counter() - start)
        turns, assertions, error, agent_fails, transcript, step_checks = self._run_turns(case)
        evaluated = [*assertions, *step_checks]
        judge_tokens = sum(result.tokens for result in evaluated)
        judge_cost = total_cost([result.cost for result in evaluated])
        if error is not None:
            error = str(redact(error))
            # Assertions of earlier turns alone would look as if the others had passed.
            assertions = ()
        elif self.snapshots is not None:
            name = format_case_name(case.name, format_variant_name(self.variant))
            saved = self.snapshots.check(name, turns, self.dry_run)
            assertions = [*assertions, *saved]
        return Attempt(
            tuple(turns),
            tuple(assertions),
            error,
            transcript,
            time.perf_counter() - start,
            agent_fails,
            case.min_score,
            judge_tokens=judge_tokens,
            judge_cost=judge_cost,
        )

    def run(self, case: TestCase) -> CaseResult:
        """Run a case as often as required, and return its result."""
        if self.threshold is None:
            threshold = case.threshold
        else:
            threshold = self.threshold
        if threshold is None:
            threshold = 1.0
        # The order of precedence: command line, case, default.
        runs = self.repeat or case.repeat or 1
        attempts: list[Attempt] = []
        retried: list[Attempt] = []
        for number in range(1, 1 + runs):
            *failed, attempt = self._run_with_retries(case, number)
            retried += failed
            attempts.append(attempt)
        if not retried:
            return CaseResult(case, tuple(attempts), threshold)
        # Failed attempts that were retried do not count, but they did cost money.
        retried_cost = total_cost([attempt.spent for attempt in retried])
        retried_tokens = sum(attempt.tokens for attempt in retried)
        return CaseResult(
            case, tuple(attempts), threshold, len(retried), retried_cost, retried_tokens
        )

    def _run_with_retries(self, case: TestCase, number: int) -> list[Attempt]:
        """Return the attempts of one run; only the last counts.

        Args:
            case: the case.
            number: the number of the run, from 1; each run has a cassette and replies of its own.
        """
        if self.dry_run and (case.replies or case.turns):
            case = select_replies(case, number, self.variant, self.model_id)
        recording: AbstractContextManager[Callable[[TestCase], Attempt]]
        recording = nullcontext(self._run_limited)
        if self.cassettes is not None:
            recording = self.cassettes.open_run(case, number, self._run_limited)
        with recording as run:
            attempts = [run(case)]
            while len(attempts) <= self.retry and attempts[-1].status == "failed":
                attempts.append(run(case))
        return attempts

    def _run_limited(self, case: TestCase) -> Attempt:
        """Run a case once, and end it when its time is up."""
        seconds = self._get_limit(case)
        if seconds is None:
            return self._run_once(case)
        failure = self._prepare()
        if failure is not None:
            return failure
        start = time.perf_counter()
        try:
            return run_with_limit(seconds, lambda: self._run_once(case))
        except CaseTimedOut as error:
            # Raised outside of the turns, so their results are unknown.
            prompt = case.all_turns[0].prompt or ""
            cost = Decimal(0) if self.dry_run else None
            turn = TurnResult(prompt, "", cost=cost)
            message = self._describe_timeout(case, error)
            return Attempt((turn,), (), message, duration=time.perf_counter() - start)

    def _describe_timeout(self, case: TestCase, error: CaseTimedOut) -> str:
        seconds = self._get_limit(case)
        if error.during:
            during = f", in {error.during}"
        else:
            during = ""
        return f"Timed out after {seconds:g} s{during}"

    def _get_limit(self, case: TestCase) -> float | None:
        # The command line overrides the suite.
        if self.timeout is not None:
            return self.timeout
        return case.timeout


def _skip_case(case: TestCase, reason: str) -> Attempt:
    """Return the attempt of a case that cannot be run, with all its assertions skipped."""
    skipped = skip_all((*case.each_turn, *case.assertions), reason)
    return Attempt((), tuple(skipped))
