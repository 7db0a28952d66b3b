"""A session: a conversation that goes on over several runs of one agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llm_mock.agents.agent import Agent
from llm_mock.agents.result import AgentResult
from llm_mock.boundaries.llm.chains import restart_of
from llm_mock.errors import InvalidSession


class AgentSession:
    """Carries the conversation of an agent over several runs: give it to `aitest_run` in place of the agent.

    A run that fails leaves no trace in the conversation, so the next one goes on from the last that succeeded. A
    session is continued as it began, by `aitest_run` or by `aitest_run_sync`; runs go one after the other.

    Args:
        agent: what is run. Its servers keep their state between runs anyway, within a test.
        conversation: an `llm` conversation to go on with; None begins a new one.
    """

    def __init__(self, agent: Agent, conversation: Any = None) -> None:
        self.agent = agent
        self.results: list[AgentResult] = []
        """The result of each run, failed ones included."""
        self._conversation = conversation
        self._running = False

    def __repr__(self) -> str:
        return f"<AgentSession of {self.agent.label}: {len(self.results)} runs>"

    @property
    def responses(self) -> list[Any]:
        """The `llm` responses of the conversation so far, those that it began with included."""
        return [] if self._conversation is None else list(self._conversation.responses)

    @contextmanager
    def continued(self, model: Any) -> Iterator[Any]:
        """The `llm` conversation, for one run with a model; what the run does not finish in success is forgotten."""
        __tracebackhide__ = True
        if self._running:
            advice = "Its runs go one after the other: await one before the next is started."
            raise InvalidSession(f"This session is running already. {advice}")
        conversation = model.conversation() if self._conversation is None else self._conversation
        if type(conversation) is not type(model.conversation()):
            raise InvalidSession(
                "This session began in the other way: a conversation is continued either by aitest_run or by "
                "aitest_run_sync, because llm keeps synchronous and asynchronous conversations apart."
            )
        forget, runs = restart_of(conversation), len(self.results)
        self._running, conversation.model = True, model
        try:
            yield conversation
        finally:
            self._running = False
            if len(self.results) > runs and self.results[-1].success:
                self._conversation = conversation
            else:
                forget()
