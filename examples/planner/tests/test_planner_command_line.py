"""The command line, run in this process."""

import json
from pathlib import Path

import llm
import pytest
from click.testing import CliRunner, Result
from planner.cli import main
from planner.schemas import ComponentChoice, Workflow, WorkflowMatch
from planner.summary import SUMMARY_MODEL

from llm_mock import LLMMock, assert_llm_called_times

MODEL = "gpt-4o-mini"
READING = {
    "name": "read-notes",
    "description": "Reads the notes.",
    "steps": [{"component": "read-file", "purpose": "Read notes.txt."}],
}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--pause", "0"])


def test_a_plan_is_shown_with_its_steps_and_a_summary(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, {"workflow_name": None}, schema=WorkflowMatch)
    mock_llm_responses.set(MODEL, {"components": ["read-file"]}, schema=ComponentChoice)
    mock_llm_responses.set(MODEL, READING, schema=Workflow)
    mock_llm_responses.set(SUMMARY_MODEL.model_id, "It reads your notes.")

    result = run("Read my notes")

    assert result.output == "read-notes\n  1. read-file: Read notes.txt.\n\nIt reads your notes.\n"
    assert result.exit_code == 0


def test_json_output_is_the_workflow_alone_and_costs_no_summary(
    mock_llm_calls: LLMMock, mock_llm_responses: LLMMock, tmp_path: Path
) -> None:
    library = tmp_path / "library.json"
    library.write_text(json.dumps([READING]))
    mock_llm_responses.set(MODEL, {"workflow_name": "read-notes"})

    result = run("Read my notes", "--library", str(library), "--json")

    assert json.loads(result.output) == READING
    assert_llm_called_times(mock_llm_calls, SUMMARY_MODEL.model_id, 0)


def test_the_model_option_names_the_model_that_plans(
    mock_llm_calls: LLMMock, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("claude-sonnet-4.5", {"workflow_name": "translate-file"})
    mock_llm_responses.set(SUMMARY_MODEL.model_id, "It translates a file.")

    assert run("Translate it", "--model", "claude-sonnet-4.5").exit_code == 0

    assert [call["model_id"] for call in mock_llm_calls.calls] == [
        "claude-sonnet-4.5",
        SUMMARY_MODEL.model_id,
    ]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ConnectionError("no route to host"), "No usable answer in 3 attempts: no route to host"),
        (llm.ModelError("quota\nexceeded"), "No usable answer in 3 attempts: quota exceeded"),
        (llm.NeedsKeyException("No key found"), "No key found"),
    ],
    ids=["network", "provider", "key"],
)
@pytest.mark.parametrize("model", [MODEL, SUMMARY_MODEL.model_id])
def test_a_failing_model_ends_in_one_clean_line(
    mock_llm_responses: LLMMock, model: str, error: Exception, message: str
) -> None:
    mock_llm_responses.set(MODEL, {"workflow_name": "translate-file"})
    mock_llm_responses.set_error(model, error)

    result = run("Translate it")

    assert (result.exit_code, result.output) == (1, f"Error: {message}\n")


def test_a_model_that_no_plugin_has_ends_in_one_clean_line(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_unknown("gpt-17")

    result = run("Translate it", "--model", "gpt-17")

    assert (result.exit_code, result.output) == (1, "Error: Unknown model: gpt-17\n")


@pytest.mark.parametrize(
    ("content", "problem"),
    [(None, "No such file"), ("[{}]", "0.name: Field required"), ("not JSON", "Invalid JSON")],
    ids=["missing", "no workflows", "no JSON"],
)
def test_a_library_that_cannot_be_read_ends_in_one_clean_line_before_any_call(
    mock_llm_calls: LLMMock, tmp_path: Path, content: str | None, problem: str
) -> None:
    library = tmp_path / "library.json"
    if content is not None:
        library.write_text(content)

    result = run("Translate it", "--library", str(library))

    assert result.exit_code == 1
    assert result.output.startswith(f"Error: The library {library} cannot be used: ")
    assert problem in result.output
    assert result.output.count("\n") == 1
    assert mock_llm_calls.calls == []
