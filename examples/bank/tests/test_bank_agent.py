"""An agent with the bank's tools, offline: mocked model, real server.

With a key, the tests marked `llm_live` ask real models: `pytest examples/bank --llm-mock-live`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm.models import ToolCall

from llm_mock import LLMMock, Reply
from llm_mock.agents import (
    Agent,
    AgentResult,
    AgentSession,
    MCPServer,
    Provider,
    Skill,
)

BANK = Path(__file__).parents[1]
Run = Callable[..., AgentResult]
TELLER = Skill.from_path(BANK / "SKILL.md")


@pytest.fixture
def bank(request: pytest.FixtureRequest) -> MCPServer:
    """Start a bank for each test: another environment variable makes another server."""
    return MCPServer(
        ["python", "-m", "bank.server"], cwd=BANK.parent, env={"BANK_OF": request.node.name}
    )


@pytest.fixture
def teller(bank: MCPServer) -> Agent:
    return Agent(Provider("gpt-5-mini"), mcp_servers=[bank], skill=TELLER, max_turns=5)


def transfer(**arguments: Any) -> Reply:
    return Reply(tool_calls=[ToolCall("transfer", arguments)])


def test_every_tool_answers(
    teller: Agent, aitest_run_sync: Run, mock_llm_responses: LLMMock
) -> None:
    bob = {"account": "bob"}
    arguments = {
        "history": bob,
        "balance_chart": bob,
        "transfer": {"source": "alice", "target": "bob"},
    }
    mock_llm_responses.call_every_tool("*", arguments=arguments)

    result = aitest_run_sync(teller, "Try everything")

    assert result
    assert [call.error for call in result.all_tool_calls] == [None] * 4


def test_money_is_moved_once_and_the_new_balance_is_told(
    teller: Agent, aitest_run_sync: Run, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add("*", transfer(source="alice", target="bob", cents=500))
    mock_llm_responses.add("*", Reply(tool_calls=[ToolCall("accounts", {})]))
    mock_llm_responses.add("*", lambda prompt: f"Done. Now: {prompt.tool_results[0].output}")

    result = aitest_run_sync(teller, "Send 5 dollars from alice to bob, and tell me the balances")

    assert result
    assert result.tool_calls_match(["transfer", "accounts"])
    assert result.tool_was_called("transfer", cents=500)
    assert '"bob": 2550' in result.final_response


def test_a_refusal_is_told_to_the_model_and_does_not_end_the_run(
    teller: Agent, aitest_run_sync: Run, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add("*", transfer(source="bob", target="alice", cents=1_000_000))
    mock_llm_responses.add("*", lambda prompt: f"The bank says: {prompt.tool_results[0].output}")

    result = aitest_run_sync(teller, "Send everything that bob has, and more, to alice")

    assert result
    assert "Insufficient funds" in str(result.tool_calls_for("transfer")[0].error)
    assert "Insufficient funds" in result.final_response


def test_an_agent_that_never_ends_is_stopped(
    teller: Agent, aitest_run_sync: Run, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply(tool_calls=[ToolCall("accounts", {})]))

    result = aitest_run_sync(teller, "Keep an eye on the accounts")

    assert not result
    assert "max_turns=5" in str(result.error)
    assert result.tool_call_count("accounts") == 4


def test_a_rate_limit_does_not_move_money_twice(
    teller: Agent, aitest_run_sync: Run, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add("*", transfer(source="alice", target="bob", cents=500))
    mock_llm_responses.add("*", ConnectionError("no route"), times=2)
    mock_llm_responses.add("*", "Done")

    result = aitest_run_sync(teller, "Send 5 dollars from alice to bob")

    assert result
    assert result.tool_call_count("transfer") == 1
    assert len(result.turns[1].retried) == 2


def test_a_customer_goes_on_with_the_conversation(
    teller: Agent, aitest_run_sync: Run, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add("*", "From which account?")
    mock_llm_responses.add("*", transfer(source="alice", target="bob", cents=500), turn=2)
    mock_llm_responses.add("*", "Done")
    visit = AgentSession(teller)

    assert "which account" in aitest_run_sync(visit, "Send 5 dollars to bob").final_response
    assert aitest_run_sync(visit, "From alice").tool_was_called("transfer", source="alice")


def test_the_chart_is_shown_to_a_model_that_sees(
    teller: Agent, aitest_run_sync: Run, llm_assert: Callable[..., Any], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add("*", Reply(tool_calls=[ToolCall("balance_chart", {"account": "bob"})]))
    mock_llm_responses.add("*", "It is flat.", attachments=["image/png"])
    mock_llm_responses.add(
        "*", {"reason": "The line does not move.", "met": True}, attachments=["image/png"]
    )

    result = aitest_run_sync(teller, "How does bob's account develop?")

    assert result
    (chart,) = result.all_tool_calls[0].attachments
    llm_assert(
        [result.final_response, chart],
        "What is said of the chart is what it shows",
        judge="gpt-5-mini",
    )


@pytest.mark.llm_live
@pytest.mark.llm_mock_repeat(5, threshold=0.8)
@pytest.mark.parametrize("model", ["gpt-5-mini", "gpt-5-nano"])
def test_real_models_are_compared(model: str, bank: MCPServer, aitest_run_sync: Run) -> None:
    agent = Agent(model, mcp_servers=[bank], skill=TELLER)

    result = aitest_run_sync(agent, "Send 5 dollars from alice to bob")

    assert result
    assert result.tool_was_called("transfer", source="alice", target="bob", cents=500)
