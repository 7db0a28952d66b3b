"""Runs one case with the application that is the target of its suite."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_mock.agents.result import AgentResult
from llm_mock.agents.result import Turn as AgentTurn
from llm_mock.boundaries.llm.parts import usage
from llm_mock.core.context import current_mock
from llm_mock.suites.asking import TargetFailed, TargetMissing, ask_endpoint, ask_function, part_of, run_command
from llm_mock.suites.assertion_types.text_assertion import TransformFailed
from llm_mock.suites.assertions import RunContext
from llm_mock.suites.checking import check_turn
from llm_mock.suites.dry_run_hosts import offline_environment, on_this_machine
from llm_mock.suites.repeating import Conversation, RepeatingRunner
from llm_mock.suites.results import AssertionResult, TurnResult
from llm_mock.suites.schema import CaseTurn, TestCase
from llm_mock.suites.scripted_mock import ScriptedMock, mocking_process
from llm_mock.suites.target import Target
from llm_mock.suites.time_limit import CaseTimedOut
from llm_mock.support.text import error_text

if TYPE_CHECKING:
    from llm_mock.suites.recorded import RecordedMock

_one_at_a_time = threading.Lock()
"""In a dry run the functions of this process are all answered by the mock that is active in it."""


@dataclass(frozen=True, kw_only=True)
class TargetRunner(RepeatingRunner):
    """Runs cases with one target. In a dry run its models are answered as each case says."""

    target: Target

    @property
    def label(self) -> str:
        return self.target.label

    @property
    def one_by_one(self) -> bool:
        return self.dry_run and self.target.function is not None  # they all have the mock that is active

    @property
    def model_id(self) -> None:
        return None

    def _conversation(self, case: TestCase) -> Conversation:
        turns: list[TurnResult] = []
        assertions: list[AssertionResult] = []
        error, missing = None, False
        with self._mock() as mock:
            for number, turn in enumerate(case.all_turns):
                result, error, missing = self._answered(case, turn, mock)
                turns.append(result)
                if error is None:
                    try:
                        turns[-1], found = check_turn(turn, number, result, self._context(case, result, mock))
                    except (TransformFailed, CaseTimedOut) as problem:
                        error = self._reason(case, problem)
                if error is not None:
                    break
                assertions += found
        return Conversation(turns, assertions, error, missing)

    @contextmanager
    def _mock(self) -> Iterator[ScriptedMock | None]:
        """What answers the models; None in a live run, and where the application runs elsewhere."""
        if not self.dry_run or self.target.url is not None:
            yield None
            return
        here = self.target.function is not None
        with _one_at_a_time if here else nullcontext():
            # Only now no other case's mock is active, on top of which this one would be.
            mock = ScriptedMock(processes=not here)
            with ExitStack() as stack:
                if here:
                    stack.enter_context(on_this_machine())
                    stack.enter_context(mocking_process(mock.mock))
                try:
                    yield mock
                finally:
                    mock.close()

    def _answered(
        self, case: TestCase, turn: CaseTurn, mock: ScriptedMock | None
    ) -> tuple[TurnResult, str | None, bool]:
        """What the application answers, else why not, and whether it cannot be asked at all."""
        error, missing = None, False
        try:
            result = self._turn(turn, mock)
        except (Exception, CaseTimedOut) as problem:
            error, missing = self._reason(case, problem), isinstance(problem, TargetMissing)
            result = TurnResult(turn.prompt or "", "", cost=Decimal(0) if self.dry_run else None)
        if mock is not None:
            error = mock.problem_of_turn(error is None) or error
            result = replace(result, asked=mock.asked())
        return result, error, missing

    def _turn(self, turn: CaseTurn, mock: ScriptedMock | None) -> TurnResult:
        prompt, target, folder = turn.prompt or "", self.target, self.folder or Path()
        if mock is not None:
            mock.script(turn)
        environment = self._environment(mock) if target.command is not None else None
        start = time.perf_counter()
        if target.function is not None:
            output = ask_function(target.function, prompt, folder)
        elif target.command is not None:
            output = run_command(target.command, prompt, folder, target.timeout, environment)
        else:
            output = self._answer_of_endpoint(prompt)
        took = time.perf_counter() - start
        text = output if target.output is None else part_of(output, target.output)
        return TurnResult(prompt, text, cost=Decimal(0) if self.dry_run else None, duration=took)

    def _answer_of_endpoint(self, prompt: str) -> str:
        ask = partial(ask_endpoint, self.target, prompt, self.dry_run)
        if self.cassettes is None:
            return ask()
        from llm_mock.suites.recorded_endpoint import recorded_answer

        return recorded_answer(current_mock(), self.target, prompt, ask)

    def _environment(self, mock: ScriptedMock | None) -> dict[str, str] | None:
        """The environment of a command; None is that of this process."""
        if mock is not None:
            return offline_environment(mock.environment())
        recorded: RecordedMock | None = current_mock() if self.cassettes is not None else None
        return None if recorded is None else recorded.environment()

    def _context(self, case: TestCase, result: TurnResult, mock: ScriptedMock | None) -> RunContext:
        answer: Any = AgentTurn(result.output, (), usage(0, 0), result.duration)
        run = AgentResult(self.label, "", result.prompt, (answer,), True, duration=result.duration)
        prompt, system = (None, None) if mock is None else mock.prompts()
        return RunContext(
            run, self.dry_run, None, None, self.folder, self.judge, case, prompt, system, self.cassette_state
        )

    def _reason(self, case: TestCase, problem: BaseException) -> str:
        if isinstance(problem, CaseTimedOut):
            return self._not_ended(case, problem)
        return str(problem) if isinstance(problem, (TargetFailed, TransformFailed)) else error_text(problem)
