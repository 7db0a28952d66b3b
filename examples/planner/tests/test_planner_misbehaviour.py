"""The planner with misbehaving models: it returns a plan, or one clear error."""

import llm
import pytest
from click.testing import CliRunner, Result
from planner.cli import main
from planner.components import pick_components
from planner.errors import PlannerError
from planner.library import load_library
from planner.planning import plan
from planner.retry import Retry
from planner.schemas import ComponentChoice, Workflow, WorkflowMatch
from planner.summary import SUMMARY_MODEL, write_summary

from llm_mock import LLMMock, Misbehaviour

MODEL = "gpt-4o-mini"
READING = {
    "name": "read-notes",
    "description": "Reads the notes.",
    "steps": [{"component": "read-file", "purpose": "Read notes.txt."}],
}


@pytest.fixture(autouse=True)
def answer_every_step(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, {"workflow_name": None}, schema=WorkflowMatch)
    mock_llm_responses.set(MODEL, {"components": ["read-file"]}, schema=ComponentChoice)
    mock_llm_responses.set(MODEL, READING, schema=Workflow)
    mock_llm_responses.set(SUMMARY_MODEL.model_id, "It reads your notes.")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["Read my notes", "--pause", "0", *arguments])


@pytest.mark.llm_mock_misbehaviour
def test_the_command_ends_with_a_plan_or_with_one_line() -> None:
    result = run()

    if result.exit_code == 0:
        assert result.stdout.startswith("read-notes\n  1. read-file: ")
    else:
        assert isinstance(result.exception, SystemExit)
        assert result.stdout == ""
        assert result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1


@pytest.mark.llm_mock_misbehaviour(times=2)
def test_a_model_that_comes_to_its_senses_is_asked_again() -> None:
    assert plan("Read my notes", load_library(), MODEL, Retry(attempts=3)).name == READING["name"]


@pytest.mark.llm_mock_misbehaviour("refusal", "truncated-json", "missing-field", "rate-limit")
def test_the_last_failure_is_named(llm_mock_misbehaviour: Misbehaviour) -> None:
    expected = {
        "refusal": "ComponentChoice: Invalid JSON: ",
        "truncated-json": "ComponentChoice: Invalid JSON: ",
        "missing-field": "ComponentChoice.components: Field required",
        "rate-limit": "Error code: 429 - ",
    }[llm_mock_misbehaviour.name]

    with pytest.raises(PlannerError, match=f"^No usable answer in 3 attempts: {expected}"):
        pick_components("Read my notes", llm.get_model(MODEL), Retry(attempts=3))


@pytest.mark.llm_mock_misbehaviour("empty-text", "broken-stream", "timeout")
def test_a_summary_that_does_not_come_is_an_error() -> None:
    with pytest.raises(PlannerError, match=r"^No usable answer in 2 attempts: \S"):
        write_summary(Workflow.model_validate(READING), Retry(attempts=2))
