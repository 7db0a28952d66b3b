"""Execution of a case with an agent."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, cast

import llm

from llm_mock.agents.agent import Agent
from llm_mock.agents.pool import get_server_pool
from llm_mock.agents.result import AgentResult
from llm_mock.agents.run import aitest_run_sync
from llm_mock.agents.session import AgentSession
from llm_mock.agents.skill_tools import with_skill_tools
from llm_mock.boundaries.dry_run_hosts import refuse_remote_servers
from llm_mock.boundaries.llm.model import MockLLMModel
from llm_mock.core.judge_choice import JudgeChoice
from llm_mock.errors import InvalidAgent, LLMMockError, MissingExtra, ServerError
from llm_mock.suites.assertions import RunContext
from llm_mock.suites.chats import play_history
from llm_mock.suites.conversations import iterate_turns
from llm_mock.suites.repeated_runs import Conversation, RepeatingRunner
from llm_mock.suites.results import AssertionResult, Attempt, TurnResult
from llm_mock.suites.schema import (
    CaseTurn,
    TestCase,
    ToolCalledAssertion,
    ToolCallsAssertion,
)
from llm_mock.suites.scripted_mock import ScriptedMock
from llm_mock.suites.scripted_runs import list_scripted_facts
from llm_mock.support.redaction import redact
from llm_mock.support.text import format_error
from llm_mock.support.time_limit import CaseTimedOut, check_time, get_seconds_left

DRY_RUN_OUTPUT = "[dry-run] Simulated response."
"""The reply of the model in a dry run, for a case without an expected output."""


class DryRunModel(MockLLMModel):
    """A model that replaces the agent's in a dry run, and needs no network, key or plugin.

    Args:
        model_id: the id of the agent's model.
        outputs: the replies to the first prompts, in order; further prompts get `DRY_RUN_OUTPUT`.
    """

    def __init__(self, model_id: str, outputs: Iterable[str] = ()) -> None:
        # Only the attributes that a run needs, as each case of a suite creates such a model.
        self.model_id = model_id
        self._outputs = deque(outputs)

    def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any, key: str | None = None
    ) -> Iterator[str]:
        """Yield the next output, without recording the call: nobody reads it."""
        yield self._outputs.popleft() if self._outputs else DRY_RUN_OUTPUT


def get_dry_run_output(turn: CaseTurn) -> str:
    """Return the model's reply to a turn in a dry run."""
    return DRY_RUN_OUTPUT if turn.expected_output is None else turn.expected_output


NO_SCRIPT = nullcontext()
"""A reusable context for cases without replies."""
# The user must fix these errors; they would fail all other cases, too.
AGENT_ERRORS = (
    InvalidAgent,
    MissingExtra,
    ServerError,
    llm.NeedsKeyException,
    llm.UnknownModelError,
)
"""Errors of the agent itself, independent of the case."""


@dataclass(frozen=True, kw_only=True)
class CaseRunner(RepeatingRunner):
    """A runner of cases with one agent."""

    agent: Agent
    model_override: Any
    get_model: Callable[[str], MockLLMModel] | None = None

    @property
    def label(self) -> str:
        """Return the name of the agent in reports."""
        return self.agent.label

    @property
    def model_id(self) -> str:
        """Return the id of the model under test."""
        if self.model_override is not None:
            return str(self.model_override.model_id)
        return self.agent.asks.model

    def _prepare(self) -> Attempt | None:
        # Servers may take long to start, and all runs share them.
        try:
            if self.dry_run:
                refuse_remote_servers(self.agent.servers)
            get_server_pool().tools(self.agent.servers)
        except Exception as error:
            message = str(redact(_describe_error(error)))
            return Attempt((), (), message, agent_fails=isinstance(error, AGENT_ERRORS))
        return None

    def _run_turns(self, case: TestCase) -> Conversation:
        session = self._create_session(case)
        message: str | None = None
        agent_fails = False
        turns: list[TurnResult] = []
        assertions: list[AssertionResult] = []
        try:
            if self.dry_run and self.agent.servers:
                refuse_remote_servers(self.agent.servers)
            # Most cases have no script, and need no mock.
            with _open_script() if case.is_scripted else NO_SCRIPT as scripted:
                model = self._choose_model(case, scripted)
                for number, turn in enumerate(self._list_turns(case)):
                    result, message = _run_turn(session, turn, model, scripted)
                    turns.append(self._convert_result(result))
                    if message is not None:
                        agent_fails = _is_key_refused(result.exception)
                        break
                    context = self._make_context(case, turn, result)
                    turns[-1], checked = self._check_turn(turn, number, turns[-1], context)
                    assertions += checked
        except CaseTimedOut as error:
            message = self._describe_timeout(case, error)
        except Exception as error:
            message = _describe_error(error)
            agent_fails = isinstance(error, AGENT_ERRORS)
        # The session also has the result of a turn that raised.
        turns += map(self._convert_result, session.results[len(turns) :])
        transcript = ""
        # A successful dry run is explained by its turns, and a transcript takes long to format.
        if not self.dry_run or message is not None:
            transcript = "\n\n".join(map(str, session.results))
        return Conversation(turns, assertions, message, agent_fails, transcript)

    def _list_turns(self, case: TestCase) -> Iterable[CaseTurn]:
        if case.user is None:
            return case.all_turns
        return iterate_turns(case, self.dry_run)

    def _create_session(self, case: TestCase) -> AgentSession:
        """Return a session that starts with the history of a case.

        Its tool calls time out when the time of the run is over, in any thread.
        """
        agent = self._get_agent(case)
        conversation = None
        if case.history:
            answers = [each.content for each in case.history if each.role == "assistant"]
            past_model = DryRunModel(self.model_id, answers)
            conversation = play_history(past_model, case.history, agent.system)
        remaining = math.inf
        if self._get_limit(case) is not None:
            remaining = get_seconds_left(math.inf)
        # There is no limit, or the shorter timer of another tool ends the run.
        if remaining == math.inf:
            return AgentSession(agent, conversation)
        timeout = min(remaining, agent.timeout or remaining)
        # 0 would be invalid; the run is about to end.
        return AgentSession(replace(agent, timeout=max(timeout, 0.001)), conversation)

    def _get_agent(self, case: TestCase) -> Agent:
        """Return the agent, with the case's own system prompt if it has one."""
        if case.system is None:
            return self.agent
        return replace(self.agent, system_prompt=case.system)

    def _choose_model(self, case: TestCase, scripted: ScriptedMock | None) -> Any:
        """Return the model to use; None for the agent's own."""
        if scripted is not None:
            return scripted.mock.get_model(self.model_id)
        if self.model_override is not None or not self.dry_run:
            return self.model_override
        outputs: Iterable[str] = map(get_dry_run_output, case.all_turns)
        if case.user is not None:
            outputs = [*outputs] * case.user.max_turns
        if self.get_model is None:
            return DryRunModel(self.model_id, outputs)
        model = self.get_model(self.model_id)
        mock = model.mock()
        if mock is not None:
            for output in outputs:
                # Optional: a failed turn leaves the replies of later turns unused.
                mock.configurator.add(model.model_id, output, optional=True)
        return model

    def _make_context(self, case: TestCase, turn: CaseTurn, result: AgentResult) -> RunContext:
        offered = None
        # Only these assertions need the tools, which take time to list.
        needing = (ToolCalledAssertion, ToolCallsAssertion)
        if any(isinstance(assertion, needing) for assertion in turn.assertions):
            servers = self.agent.servers
            if servers:
                tools = get_server_pool().tools(servers)
            else:
                tools = []
            offered = tuple(tool.name for tool in with_skill_tools(tools, self.agent.skill))
        return RunContext(
            result,
            dry_run=self.dry_run,
            scripted=list_scripted_facts(case, turn) if case.is_scripted else (),
            offered=offered,
            judges=JudgeChoice(override=self.judge, default=self.model_id),
            folder=self.folder,
            case=case,
            prompt=turn.prompt,
            system=self._get_agent(case).system or "",
            cassette=self.cassette_state,
        )

    def _convert_result(self, result: AgentResult) -> TurnResult:
        # The mock of a dry run reports tokens, too, but nothing was spent.
        input_tokens, output_tokens = 0, 0
        cost: Decimal | None = Decimal(0)
        if not self.dry_run:
            input_tokens = result.usage.input or 0
            output_tokens = result.usage.output or 0
            cost = result.cost
        return TurnResult(
            result.prompt,
            result.final_response,
            tuple(result.all_tool_calls),
            input_tokens,
            output_tokens,
            cost,
            result.duration,
            len(result.turns),
        )


@contextmanager
def _open_script() -> Iterator[ScriptedMock]:
    """Yield a mock for the scripted replies of a case."""
    scripted = ScriptedMock(processes=False, at_boundary=False)
    try:
        yield scripted
    finally:
        scripted.close()


def _run_turn(
    session: AgentSession, turn: CaseTurn, model: llm.Model | None, scripted: ScriptedMock | None
) -> tuple[AgentResult, str | None]:
    """Return the result of a turn, and its error or a message about an unused reply."""
    problem = None
    if scripted is not None:
        scripted.script(turn)
    result = aitest_run_sync(session, cast("str", turn.prompt), model_override=model)
    if scripted is not None:
        problem = scripted.find_problem(succeeded=result.success)
    if result.success:
        return result, problem
    # A timeout may look like an error of the model.
    check_time()
    return result, problem or result.error


def _is_key_refused(error: BaseException | None) -> bool:
    """Return True if the provider refuses the key, so that no prompt can succeed."""
    # The SDKs of OpenAI and Anthropic set this attribute.
    status = getattr(error, "status_code", None)
    return status in (401, 403)


def _describe_error(error: Exception) -> str:
    if isinstance(error, llm.UnknownModelError):
        if error.args:
            message = error.args[0]
        else:
            message = error
        advice = "Run `llm models` to list the known models, or `llm install` to add a plugin."
        return f"{message}. {advice}"
    # Their messages say what to do without the type of the error.
    if isinstance(error, (LLMMockError, llm.NeedsKeyException)):
        return str(error)
    return format_error(error)
