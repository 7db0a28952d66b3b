"""Runner of cases with the application that is the target of their suite."""

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
from llm_mock.boundaries.llm.parts import create_usage
from llm_mock.core.context import current_mock
from llm_mock.suites.assertion_types.text_assertion import TransformFailed
from llm_mock.suites.assertions import RunContext
from llm_mock.suites.dry_run_hosts import create_offline_environment, restrict_to_this_machine
from llm_mock.suites.repeated_runs import Conversation, RepeatingRunner
from llm_mock.suites.results import AssertionResult, TurnResult
from llm_mock.suites.schema import CaseTurn, TestCase
from llm_mock.suites.scripted_mock import ScriptedMock, activate_in_process
from llm_mock.suites.target import Target
from llm_mock.suites.target_client import (
    TargetError,
    TargetUnavailable,
    call_function,
    extract_output,
    run_command,
    send_request,
)
from llm_mock.suites.time_limit import CaseTimedOut
from llm_mock.support.text import format_error

if TYPE_CHECKING:
    from llm_mock.suites.suite_cassettes import CassetteMock

# In a dry run one mock at a time can be active in this process.
_dry_run_lock = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class TargetRunner(RepeatingRunner):
    """Runs cases with one target; in a dry run its models give the replies of each case."""

    target: Target

    @property
    def label(self) -> str:
        """The name of the target in reports."""
        return self.target.label

    @property
    def is_sequential(self) -> bool:
        """True if cases cannot run at once."""
        # Functions share this process, and so its active mock.
        return self.dry_run and self.target.function is not None

    @property
    def model_id(self) -> None:
        """None: the models of an application are not known."""
        return None

    def _run_turns(self, case: TestCase) -> Conversation:
        turns: list[TurnResult] = []
        assertions: list[AssertionResult] = []
        error, is_unavailable = None, False
        with self._open_mock() as mock:
            for number, turn in enumerate(case.all_turns):
                result, error, is_unavailable = self._run_turn(case, turn, mock)
                turns.append(result)
                if error is not None:
                    break
                context = self._create_context(case, result, mock)
                try:
                    turns[-1], checks = self._check_turn(turn, number, result, context)
                except (TransformFailed, CaseTimedOut) as problem:
                    error = self._explain(case, problem)
                    break
                assertions += checks
        return Conversation(turns, assertions, error, is_unavailable)

    @contextmanager
    def _open_mock(self) -> Iterator[ScriptedMock | None]:
        """Yield the mock of a dry run; None in a live run, and for an application elsewhere."""
        if not self.dry_run or self.target.url is not None:
            yield None
            return
        is_function = self.target.function is not None
        with _dry_run_lock if is_function else nullcontext():
            # Created under the lock: its parent must not be the mock of another case.
            mock = ScriptedMock(processes=not is_function)
            with ExitStack() as stack:
                if is_function:
                    stack.enter_context(restrict_to_this_machine())
                    stack.enter_context(activate_in_process(mock.mock))
                try:
                    yield mock
                finally:
                    mock.close()

    def _run_turn(
        self,
        case: TestCase,
        turn: CaseTurn,
        mock: ScriptedMock | None,
    ) -> tuple[TurnResult, str | None, bool]:
        """Return the result of a turn, its error, and whether the target is unavailable."""
        error, is_unavailable = None, False
        try:
            result = self._call_target(turn, mock)
        except (Exception, CaseTimedOut) as problem:
            error = self._explain(case, problem)
            is_unavailable = isinstance(problem, TargetUnavailable)
            cost = Decimal(0) if self.dry_run else None
            result = TurnResult(turn.prompt or "", "", cost=cost)
        if mock is not None:
            # A call without a reply is the cause of whatever the application did next.
            error = mock.find_problem(succeeded=error is None) or error
            result = replace(result, model_calls=mock.format_calls())
        return result, error, is_unavailable

    def _call_target(self, turn: CaseTurn, mock: ScriptedMock | None) -> TurnResult:
        prompt = turn.prompt or ""
        target = self.target
        folder = self.folder or Path()
        if mock is not None:
            mock.script(turn)
        # Before the clock starts: the first one starts a server.
        if target.command is not None:
            environment = self._get_environment(mock)
        else:
            environment = None
        start = time.perf_counter()
        if target.function is not None:
            answer = call_function(target.function, prompt, folder)
        elif target.command is not None:
            answer = run_command(target.command, prompt, folder, target.timeout, environment)
        else:
            answer = self._call_endpoint(prompt)
        duration = time.perf_counter() - start
        if target.output is None:
            output = answer
        else:
            output = extract_output(answer, target.output)
        cost = Decimal(0) if self.dry_run else None
        return TurnResult(prompt, output, cost=cost, duration=duration)

    def _call_endpoint(self, prompt: str) -> str:
        send = partial(send_request, self.target, prompt, self.dry_run)
        if self.cassettes is None:
            return send()
        # Imported here: most runs have no cassette.
        from llm_mock.suites.endpoint_recording import replay_or_record

        return replay_or_record(current_mock(), self.target, prompt, send)

    def _get_environment(self, mock: ScriptedMock | None) -> dict[str, str] | None:
        """Return the environment of a command; None for that of this process."""
        if mock is not None:
            return create_offline_environment(mock.environment())
        if self.cassettes is None:
            return None
        cassette_mock: CassetteMock = current_mock()
        return cassette_mock.environment()

    def _create_context(
        self,
        case: TestCase,
        result: TurnResult,
        mock: ScriptedMock | None,
    ) -> RunContext:
        # Assertions read the same attributes of it as of an agent's turn.
        answer: Any = AgentTurn(result.output, (), create_usage(0, 0), result.duration)
        run = AgentResult(self.label, "", result.prompt, (answer,), True, duration=result.duration)
        if mock is None:
            prompt, system = (None, None)
        else:
            prompt, system = mock.get_prompts()
        return RunContext(
            result=run,
            dry_run=self.dry_run,
            folder=self.folder,
            only_judge=self.judge,
            case=case,
            prompt=prompt,
            system=system,
            cassette=self.cassette_state,
        )

    def _explain(self, case: TestCase, problem: BaseException) -> str:
        """Return the message of a run that failed."""
        if isinstance(problem, CaseTimedOut):
            return self._describe_timeout(case, problem)
        if isinstance(problem, (TargetError, TransformFailed)):
            return str(problem)
        return format_error(problem)
