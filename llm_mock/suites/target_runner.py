"""Runner of cases with the application that is the target of their suite."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from llm_mock.agents.result import ToolCallRecord
from llm_mock.boundaries.dry_run_hosts import create_offline_environment, restrict_to_this_machine
from llm_mock.boundaries.strict_mock import activate_in_process
from llm_mock.core.context import current_mock
from llm_mock.core.judge_choice import JudgeChoice
from llm_mock.errors import LLMMockError
from llm_mock.suites.application_calls import ModelCall, ModelCallReader, create_result
from llm_mock.suites.assertions import RunContext
from llm_mock.suites.conversations import iterate_turns
from llm_mock.suites.repeated_runs import Conversation, RepeatingRunner
from llm_mock.suites.results import AssertionResult, TurnResult, total_cost
from llm_mock.suites.schema import CaseTurn, TestCase
from llm_mock.suites.scripted_mock import ScriptedMock
from llm_mock.suites.scripted_runs import list_scripted_facts
from llm_mock.suites.target import Target
from llm_mock.suites.target_client import (
    TargetUnavailable,
    call_function,
    extract_output,
    run_command,
    send_request,
)
from llm_mock.suites.target_session import open_session
from llm_mock.support.text import format_error
from llm_mock.support.time_limit import CaseTimedOut

if TYPE_CHECKING:
    from llm_mock.suites.live_calls import LiveCalls, ObservingMock
    from llm_mock.suites.suite_cassettes import CassetteMock

# In a dry run only one mock at a time can be active in this process.
_dry_run_lock = threading.Lock()
CALLS_ELSEWHERE = "the model calls of a url target are unknown: another process makes them"
CALLS_NOT_OBSERVED = "model calls were not observed"
NO_CALLS = "no model call was observed"


def needs_calls(case: TestCase) -> bool:
    """Return whether an assertion of a case checks the calls of the application."""
    # `each_turn` still has assertions if a simulated user plays the turns.
    assertions = [*case.each_turn]
    for turn in case.all_turns:
        assertions += turn.assertions
    return any(assertion.needs_calls for assertion in assertions)


@dataclass
class _Calls:
    """The model calls of one run of a case."""

    reader: ModelCallReader | None = None
    """Reads them; None if they are unknown."""
    unknown: str | None = None
    """The reason why they are unknown."""
    observing: ObservingMock | None = None
    """The mock that observes them in a live run."""

    def explain_unknown(self, calls: Sequence[ModelCall]) -> str | None:
        """Return why the calls of a turn cannot be checked, or None."""
        if self.unknown is not None:
            return self.unknown
        unread = None if self.observing is None else self.observing.find_unread()
        if unread is not None:
            return f"a call could not be read: {unread}"
        # An application may call models in a way that cannot be observed here.
        return None if calls else NO_CALLS


@dataclass(frozen=True, kw_only=True)
class TargetRunner(RepeatingRunner):
    """Runs cases with one target; in a dry run its models return the replies of each case."""

    target: Target
    sends_chats = False
    live_calls: LiveCalls | None = None
    """Observes the model calls of a live run; None if no check needs them."""

    @property
    def label(self) -> str:
        """The name of the target in reports."""
        return self.target.label

    @property
    def is_sequential(self) -> bool:
        """True if cases must run one after the other."""
        # Functions share this process, and so its active mock.
        return self.dry_run and self.target.function is not None

    @property
    def model_id(self) -> None:
        """None, because the models of an application are unknown."""
        return None

    def _run_turns(self, case: TestCase) -> Conversation:
        turns: list[TurnResult] = []
        assertions: list[AssertionResult] = []
        error, is_unavailable = None, False
        with (
            self._open_mock() as mock,
            self._open_calls(case, mock) as calls,
            open_session() as session,
        ):
            for number, turn in enumerate(iterate_turns(case, self.dry_run)):
                result, error, is_unavailable = self._run_turn(case, turn, mock, calls)
                turns.append(result)
                if error is not None:
                    break
                session.add(result.prompt, result.output)
                context = self._create_context(case, turn, result, calls)
                try:
                    turns[-1], checks = self._check_turn(turn, number, result, context)
                except (LLMMockError, CaseTimedOut) as problem:
                    error = self._explain(case, problem)
                    break
                assertions += checks
        return Conversation(turns, assertions, error, is_unavailable)

    @contextmanager
    def _open_mock(self) -> Iterator[ScriptedMock | None]:
        """Yield the mock of a dry run; None in a live run, and for an application at a URL."""
        if not self.dry_run or self.target.url is not None:
            yield None
            return
        is_function = self.target.function is not None
        with _dry_run_lock if is_function else nullcontext():
            # Created under the lock: its parent must not be the mock of another case.
            mock = ScriptedMock(processes=not is_function, at_boundary=True)
            with ExitStack() as stack:
                if is_function:
                    stack.enter_context(restrict_to_this_machine())
                    stack.enter_context(activate_in_process(mock.mock))
                try:
                    yield mock
                finally:
                    mock.close()

    @contextmanager
    def _open_calls(self, case: TestCase, mock: ScriptedMock | None) -> Iterator[_Calls]:
        """Yield the model calls of one run, or the reason why they are unknown."""
        if self.target.url is not None:
            yield _Calls(unknown=CALLS_ELSEWHERE)
        elif mock is not None:
            yield _Calls(ModelCallReader(mock.mock))
        elif self.cassettes is not None:
            yield _Calls(ModelCallReader(current_mock()))
        elif self.live_calls is not None and needs_calls(case):
            with self.live_calls.observe() as observing:
                yield _Calls(ModelCallReader(observing), observing=observing)
        else:
            with self.live_calls.leave_alone() if self.live_calls else nullcontext():
                yield _Calls(unknown=CALLS_NOT_OBSERVED)

    def _run_turn(
        self,
        case: TestCase,
        turn: CaseTurn,
        mock: ScriptedMock | None,
        calls: _Calls,
    ) -> tuple[TurnResult, str | None, bool]:
        """Return the result of a turn, its error, and whether the target is unavailable."""
        error, is_unavailable = None, False
        if calls.reader is not None:
            calls.reader.begin_turn()
        try:
            result = self._call_target(turn, mock, calls)
        except (Exception, CaseTimedOut) as problem:
            error = self._explain(case, problem)
            is_unavailable = isinstance(problem, TargetUnavailable)
            cost = Decimal(0) if self.dry_run else None
            result = TurnResult(turn.prompt or "", "", cost=cost)
        if mock is not None:
            # A call without a reply is the cause of any later error of the application.
            error = mock.find_problem(succeeded=error is None) or error
        if calls.reader is not None:
            result = self._add_calls(result, calls.reader.read())
        return result, error, is_unavailable

    def _add_calls(self, result: TurnResult, calls: Sequence[ModelCall]) -> TurnResult:
        """Return the result of a turn with the model calls that the target made."""
        tool_calls: list[ToolCallRecord] = []
        for call in calls:
            tool_calls += call.tool_calls
        result = replace(
            result,
            model_calls=tuple(calls),
            tool_calls=tuple(tool_calls),
            requests=len(calls),
        )
        # A dry run costs nothing, and without observed calls the cost is unknown.
        if self.dry_run or not calls:
            return result
        return replace(
            result,
            input_tokens=sum(call.input_tokens or 0 for call in calls),
            output_tokens=sum(call.output_tokens or 0 for call in calls),
            cost=total_cost([call.cost for call in calls]),
        )

    def _call_target(
        self,
        turn: CaseTurn,
        mock: ScriptedMock | None,
        calls: _Calls,
    ) -> TurnResult:
        prompt = turn.prompt or ""
        target = self.target
        folder = self.folder or Path()
        if mock is not None:
            mock.script(turn)
        # Before the clock starts: the first environment starts a server.
        if target.command is not None:
            environment = self._get_environment(mock, calls)
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

    def _get_environment(
        self,
        mock: ScriptedMock | None,
        calls: _Calls,
    ) -> dict[str, str] | None:
        """Return the environment of a command; None for that of this process."""
        if mock is not None:
            return create_offline_environment(mock.environment(), mock.server_url)
        if calls.observing is not None:
            try:
                return calls.observing.environment()
            except LLMMockError as error:
                # The command runs nevertheless, and calls its models without the mock.
                calls.unknown = str(error)
                return None
        if self.cassettes is None:
            return None
        cassette_mock: CassetteMock = current_mock()
        return cassette_mock.environment()

    def _create_context(
        self,
        case: TestCase,
        turn: CaseTurn,
        result: TurnResult,
        calls: _Calls,
    ) -> RunContext:
        model_calls = result.model_calls
        run = create_result(
            self.label,
            result.prompt,
            result.output,
            result.duration,
            model_calls,
        )
        scripted = list_scripted_facts(case, turn)
        if turn.replies:
            # The application itself decides which models it calls.
            scripted = (*scripted, "steps")
        prompt, system = (None, None)
        # Without a call, the prompts of the application are unknown.
        if model_calls:
            prompt = "\n".join(call.prompt for call in model_calls)
            system = "\n".join(call.system for call in model_calls if call.system)
        return RunContext(
            result=run,
            dry_run=self.dry_run,
            folder=self.folder,
            judges=JudgeChoice(override=self.judge),
            case=case,
            prompt=prompt,
            system=system,
            cassette=self.cassette_state,
            unknown_calls=calls.explain_unknown(model_calls),
            scripted=scripted,
        )

    def _explain(self, case: TestCase, problem: BaseException) -> str:
        """Return the message of a run that failed."""
        if isinstance(problem, CaseTimedOut):
            return self._describe_timeout(case, problem)
        if isinstance(problem, LLMMockError):
            return str(problem)
        return format_error(problem)
