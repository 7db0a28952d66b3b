"""The agent of the role file, offline: mocked model, real server with the orders.

The suites of prompts beside this folder are tests too: see `llm_mock_suites` in
`examples/pytest.ini`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm.models import ToolCall

from llm_mock import LLMMock, Reply
from llm_mock.agents import Agent, AgentResult
from llm_mock.suites import load_role

SUPPORT = Path(__file__).parents[1]
Run = Callable[..., AgentResult]


@pytest.fixture
def agent() -> Agent:
    return load_role(SUPPORT / "role.yaml").agent


def refund(**arguments: Any) -> Reply:
    return Reply(tool_calls=[ToolCall("refund", {"reason": "broken", **arguments})])


def test_every_tool_answers(
    agent: Agent, aitest_run_sync: Run, mock_llm_responses: LLMMock
) -> None:
    order = {"number": "A-1005"}
    arguments: dict[str, dict[str, Any]] = {
        "find_order": order,
        "refund": {**order, "cents": 800},
    }
    mock_llm_responses.call_every_tool("*", arguments=arguments)

    result = aitest_run_sync(agent, "Try everything")

    assert [(call.name, call.error) for call in result.all_tool_calls] == [
        ("find_order", None),
        ("refund", None),
    ]


def test_a_refund_that_is_asked_for_twice_is_paid_once(
    agent: Agent, aitest_run_sync: Run, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add("*", refund(number="A-1001", cents=2400))
    mock_llm_responses.add("*", refund(number="A-1001", cents=1200))
    mock_llm_responses.add("*", "Done")

    result = aitest_run_sync(agent, "Refund A-1001, or rather half of it")

    first, second = [call.structured for call in result.tool_calls_for("refund")]
    assert second == {**first, "cents": 1200}


@pytest.mark.parametrize(
    ("number", "cents", "reason"),
    [
        ("A-9999", 100, "no order 'A-9999'"),
        ("A-1002", 100, "is sent; it can be refunded when it is delivered"),
        ("A-1003", 100, "A-1003 was refunded already"),
        ("A-1001", 2401, "2401 are more than that"),
    ],
    ids=["unknown", "on its way", "refunded", "too much"],
)
def test_a_refund_that_is_not_due_is_refused(
    number: str,
    cents: int,
    reason: str,
    agent: Agent,
    aitest_run_sync: Run,
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.add("*", refund(number=number, cents=cents))
    mock_llm_responses.add("*", "The shop refuses.")

    result = aitest_run_sync(agent, "Refund it")

    assert reason in str(result.tool_calls_for("refund")[0].error)
