"""Recorded answers of models, replayed offline and without a key."""

import pytest
from click.testing import CliRunner
from planner.cli import main

from llm_mock import LLMMock
from llm_mock.cassettes import Cassette


@pytest.mark.llm_mock_cassette
def test_a_new_workflow_is_planned_as_the_recorded_models_did(
    mock_llm_calls: LLMMock, llm_mock_cassette: Cassette
) -> None:
    result = CliRunner().invoke(main, ["Shorten my notes and mail them to me", "--pause", "0"])

    assert result.exit_code == 0
    name, *steps, _, summary = result.output.splitlines()
    assert name == "shorten-and-mail-notes"
    assert [step.split(":")[0] for step in steps] == [
        "  1. read-file",
        "  2. transform-text",
        "  3. send-mail",
    ]
    assert "mail" in summary
    assert [call["kwargs"]["schema"] for call in mock_llm_calls.calls] == [
        "WorkflowMatch",
        "ComponentChoice",
        "Workflow",
        None,
    ]
    assert llm_mock_cassette.unused() == []
