"""Runs one case with one agent."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

import llm

from llm_mock.agents.agent import Agent
from llm_mock.agents.pool import pool_of_process
from llm_mock.agents.result import AgentResult
from llm_mock.agents.run import aitest_run_sync
from llm_mock.agents.session import AgentSession
from llm_mock.agents.skill_tools import with_skill_tools
from llm_mock.boundaries.llm.create import create_mock_get_model
from llm_mock.errors import InvalidAgent, LLMMockError, MissingExtra, ServerError
from llm_mock.suites.assertions import RunContext
from llm_mock.suites.checking import check_turn
from llm_mock.suites.dry_run_hosts import refuse_remote_servers
from llm_mock.suites.repeating import Conversation, RepeatingRunner
from llm_mock.suites.results import AssertionResult, Attempt, TurnResult
from llm_mock.suites.schema import CaseTurn, TestCase, ToolCallsAssertion
from llm_mock.suites.time_limit import CaseTimedOut, check_time, seconds_left
from llm_mock.support.redaction import redacted
from llm_mock.support.text import error_text

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.model import MockLLMModel


DRY_RUN_OUTPUT = "[dry-run] Simulated response."
"""What the model of a dry run answers where a case does not say what is expected."""


def dry_run_model(agent: Agent) -> MockLLMModel:
    """A model that answers instead of the agent's: no network, no key, nothing of the user's `llm`."""
    return create_mock_get_model({agent.asks.model: DRY_RUN_OUTPUT})(agent.asks.model)


ERRORS_OF_AGENTS = (InvalidAgent, MissingExtra, ServerError, llm.NeedsKeyException, llm.UnknownModelError)
"""What no case can change."""


@dataclass(frozen=True, kw_only=True)
class CaseRunner(RepeatingRunner):
    """Runs cases with one agent."""

    agent: Agent
    model_override: Any
    get_model: Callable[[str], MockLLMModel] | None = None

    @property
    def label(self) -> str:
        """What reports call the agent."""
        return self.agent.label

    @property
    def model_id(self) -> str:
        """The id of the model that is asked."""
        return self.agent.asks.model if self.model_override is None else str(self.model_override.model_id)

    def _unprepared(self) -> Attempt | None:
        try:
            if self.dry_run:
                refuse_remote_servers(self.agent.servers)
            pool_of_process().tools(self.agent.servers)
        except Exception as problem:
            return Attempt((), (), str(redacted(_reason(problem))), agent_fails=isinstance(problem, ERRORS_OF_AGENTS))
        return None

    def _conversation(self, case: TestCase) -> Conversation:
        session, error, agent_fails = self._session(), None, False
        turns: list[TurnResult] = []
        assertions: list[AssertionResult] = []
        try:
            if self.dry_run:
                refuse_remote_servers(self.agent.servers)
            model = self._model(case)
            for number, turn in enumerate(case.all_turns):
                result = aitest_run_sync(session, cast("str", turn.prompt), model_override=model)
                turns.append(self._turn_result(result))
                if not result.success:
                    check_time()
                    error, agent_fails = result.error, _is_refused(result.exception)
                    break
                turns[-1], found = check_turn(turn, number, turns[-1], self._context(case, turn, result))
                assertions += found
        except CaseTimedOut as problem:
            error = self._not_ended(case, problem)
        except Exception as problem:
            error, agent_fails = _reason(problem), isinstance(problem, ERRORS_OF_AGENTS)
        turns += map(self._turn_result, session.results[len(turns) :])  # one that raised
        # a dry run that succeeded needs no transcript: its turns say all, and a transcript takes long
        transcript = "" if self.dry_run and error is None else "\n\n".join(map(str, session.results))
        return Conversation(turns, assertions, error, agent_fails, transcript)

    def _session(self) -> AgentSession:
        """A session of the agent, whose calls of tools end with the time of the run, in any thread."""
        left = seconds_left(math.inf)
        if left == math.inf:
            return AgentSession(self.agent)
        return AgentSession(replace(self.agent, timeout=max(min(left, self.agent.timeout or left), 0.001)))

    def _model(self, case: TestCase) -> Any:
        """The model that is asked; None for that of the agent."""
        if self.model_override is not None or not self.dry_run:
            return self.model_override
        model = self.get_model(self.model_id) if self.get_model else dry_run_model(self.agent)
        if (mock := model.mock()) is not None:
            for turn in case.all_turns:
                answer = DRY_RUN_OUTPUT if turn.expected_output is None else turn.expected_output
                mock.responses.add(model.model_id, answer, optional=True)
        return model

    def _context(self, case: TestCase, turn: CaseTurn, result: AgentResult) -> RunContext:
        offered = None
        if any(isinstance(assertion, ToolCallsAssertion) for assertion in turn.assertions):
            servers = self.agent.servers
            tools = with_skill_tools(pool_of_process().tools(servers) if servers else [], self.agent.skill)
            offered = tuple(tool.name for tool in tools)
        asked = turn.prompt, self.agent.system or "", self.cassette_state
        return RunContext(result, self.dry_run, offered, self.model_id, self.folder, self.judge, case, *asked)

    def _turn_result(self, result: AgentResult) -> TurnResult:
        used: tuple[int, int, Decimal | None] = (0, 0, Decimal(0))
        if not self.dry_run:
            used = result.usage.input or 0, result.usage.output or 0, result.cost
        said = result.prompt, result.final_response, tuple(result.all_tool_calls)
        return TurnResult(*said, *used, result.duration, len(result.turns))


def _is_refused(error: BaseException | None) -> bool:
    """Whether the provider refuses the key, whatever is asked."""
    return getattr(error, "status_code", None) in (401, 403)


def _reason(error: Exception) -> str:
    """Why a case could not be run."""
    if isinstance(error, llm.UnknownModelError):
        advice = "`llm models` lists those that llm knows; `llm install` adds the models of a plugin."
        return f"{error.args[0] if error.args else error}. {advice}"
    if isinstance(error, (LLMMockError, llm.NeedsKeyException)):  # they say what to do
        return str(error)
    return error_text(error)
