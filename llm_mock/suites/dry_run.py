"""The model of a dry run: it says what each case expects, and calls no tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from llm_mock.boundaries.llm.registry import create_mock_get_model
from llm_mock.suites.schema import TestCase

if TYPE_CHECKING:
    from llm_mock.agents.agent import Agent
    from llm_mock.boundaries.llm.model import MockLLMModel

DRY_RUN_OUTPUT = "[dry-run] Simulated response."
"""What the model answers where a case does not say what is expected."""


def dry_run_model(
    agent: Agent, case: TestCase | None = None, get_model: Callable[[str], MockLLMModel] | None = None
) -> MockLLMModel:
    """A model that answers instead of the agent's: no network, no key, nothing of the user's `llm`.

    Args:
        agent: the agent; the model has the id of its own one.
        case: the case whose turns it answers with `expected_output`. Where there is none, and after the last turn, it
            answers `DRY_RUN_OUTPUT`.
        get_model: gives the model of an id, such as that of a test's mock, which then sees the calls; the answers are
            queued in it. By default the model has a mock of its own.
    """
    model_id = agent.asks.model
    model = (get_model or create_mock_get_model({model_id: DRY_RUN_OUTPUT}))(model_id)
    if (mock := model.mock()) is not None:
        for answer in (turn.expected_output for turn in case.all_turns) if case else ():
            mock.add(model.model_id, DRY_RUN_OUTPUT if answer is None else answer, optional=True)
    return model
