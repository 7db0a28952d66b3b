"""Continue a conversation over several runs of one agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llm_mock.agents.agent import Agent
from llm_mock.agents.result import AgentResult
from llm_mock.boundaries.llm.chains import save_state
from llm_mock.errors import InvalidSession


class AgentSession:
    """The conversation of an agent over several runs; pass it to `aitest_run` as the agent.

    A failed run is removed from the conversation: the next run continues after the last successful
    one. All runs of a session must use the same function, `aitest_run` or `aitest_run_sync`, one
    after the other.

    Args:
        agent: the agent. Within a test, its servers keep their state even without a session.
        conversation: an `llm` conversation to continue; None starts a new one.
    """

    def __init__(self, agent: Agent, conversation: Any = None) -> None:
        self.agent = agent
        self.results: list[AgentResult] = []
        """The result of each run, including failed runs."""
        self._conversation = conversation
        self._running = False

    def __repr__(self) -> str:
        return f"<AgentSession of {self.agent.label}: {len(self.results)} runs>"

    @property
    def responses(self) -> list[Any]:
        """The `llm` responses of the conversation so far, including those it started with."""
        if self._conversation is None:
            return []
        return list(self._conversation.responses)

    @contextmanager
    def continue_with(self, model: Any) -> Iterator[Any]:
        """Provide the `llm` conversation for one run, and undo a run that fails.

        Raises:
            InvalidSession: another run is active, or the session began with the other function.
        """
        if self._running:
            raise InvalidSession(
                "This session is already running. Await the current run before you start the next "
                "one."
            )
        new_conversation = model.conversation()
        conversation = self._conversation
        if conversation is None:
            conversation = new_conversation
        if type(conversation) is not type(new_conversation):
            raise InvalidSession(
                "A session cannot use both aitest_run and aitest_run_sync, because llm keeps "
                "synchronous and asynchronous conversations apart. Use one of them for all runs."
            )
        undo = save_state(conversation)
        runs = len(self.results)
        self._running = True
        # Each run has a new model object.
        conversation.model = model
        try:
            yield conversation
        finally:
            self._running = False
            has_result = len(self.results) > runs
            if has_result and self.results[-1].success:
                self._conversation = conversation
            else:
                undo()
