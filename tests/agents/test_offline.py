"""An agent without a model: every tool of a server is tried, without a script."""

from __future__ import annotations

from typing import Any

import llm
import pytest

from llm_mock import LLMMock
from llm_mock.agents import Agent, CLIServer, MCPServer
from llm_mock.errors import LLMMockError
from tests.agents.runs import Run

ACCOUNT = {"account": "bob"}


def test_every_tool_of_a_server_is_called_once_with_valid_arguments(
    run: Run, own_bank: MCPServer, echo: CLIServer, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.call_every_tool("*", "That is all")
    result = run(Agent("any", [own_bank], [echo]), "Try everything")
    assert result.final_response == "That is all"
    assert [call.name for call in result.all_tool_calls] == [
        *("accounts", "transfer", "history", "balance_chart"),
        "echo_execute",
    ]
    assert not [call.error for call in result.all_tool_calls if "invalid" in (call.error or "")]


def test_arguments_may_be_given(run: Run, own_bank: MCPServer, mock_llm_responses: LLMMock) -> None:
    given = {
        "history": ACCOUNT,
        "balance_chart": ACCOUNT,
        "transfer": {"source": "alice", "target": "bob"},
    }
    mock_llm_responses.call_every_tool("*", arguments=given)
    result = run(Agent("any", [own_bank]), "Try everything")
    assert [call.error for call in result.all_tool_calls] == [None] * 4
    assert result.tool_was_called("transfer", source="alice", target="bob", cents=1)


def test_tools_may_be_left_out(run: Run, own_bank: MCPServer, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.call_every_tool("*", skip=["transfer", "history", "balance_chart"])
    result = run(Agent("any", [own_bank]), "Try everything")
    assert result.tool_calls_match(["accounts"])


def test_without_tools_there_is_only_the_answer(run: Run, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.call_every_tool("*", then={"done": True})
    assert run(Agent("any"), "Try everything").final_response == '{"done": true}'


@pytest.mark.parametrize("options", [{"skip": ["transfers"]}, {"arguments": {"transfers": {}}}])
def test_a_tool_that_is_not_offered_is_an_error(
    options: Any, run: Run, echo: CLIServer, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.call_every_tool("*", **options)
    with pytest.raises(
        LLMMockError, match=r"transfers was not offered\. Offered tools: echo_execute"
    ):
        run(Agent("any", cli_servers=[echo]), "Try everything")


def test_a_tool_for_which_there_are_no_arguments_is_named(
    mock_llm_responses: LLMMock,
) -> None:
    impossible = {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 3, "maximum": 2}},
    }
    tool = llm.Tool("strange", "", {**impossible, "required": ["a"]}, print)
    mock_llm_responses.call_every_tool("*")
    with pytest.raises(
        LLMMockError, match="The tool strange cannot be called: No answer can be generated"
    ):
        llm.get_model("any").chain("Go", tools=[tool]).text()
