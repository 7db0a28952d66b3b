"""Each step of the plan, and what it asks the model."""

import llm
import pytest
from planner.components import CATALOGUE, pick_components
from planner.discovery import find_workflow
from planner.errors import PlannerError
from planner.generation import generate_workflow
from planner.library import load_library
from planner.planning import plan
from planner.retry import Retry
from planner.schemas import ComponentChoice, Step, Workflow, WorkflowMatch
from planner.summary import SUMMARY_MODEL, write_summary

from llm_mock import LLMMock, Reply, assert_llm_called_times, assert_prompt_contains

MODEL = "gpt-4o-mini"
ONCE = Retry(attempts=1)
BACKUP = Workflow(
    name="back-up-page",
    description="Keeps a copy of a web page.",
    steps=[
        Step(component="fetch-page", purpose="Download the page."),
        Step(component="write-file", purpose="Store it."),
    ],
)


@pytest.mark.llm_mock_strict("warn")  # calls without a reply get the default reply
def test_no_model_is_reached_though_this_test_asks_for_no_fixture() -> None:
    assert write_summary(BACKUP, ONCE) == '{"success": true}'


def test_a_new_workflow_takes_three_answers_each_with_its_own_schema(
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set(MODEL, WorkflowMatch(workflow_name=None), schema=WorkflowMatch)
    mock_llm_responses.set(
        MODEL, {"components": ["fetch-page", "write-file"]}, schema=ComponentChoice
    )
    mock_llm_responses.set(MODEL, BACKUP, schema=Workflow)

    assert plan("Keep a copy of example.com", load_library(), MODEL, ONCE) == BACKUP


def test_a_known_workflow_is_taken_after_a_single_call(
    mock_llm_calls: LLMMock, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, {"workflow_name": "translate-file"})

    workflow = plan("Translate notes.txt", load_library(), MODEL, ONCE)

    assert [step.component for step in workflow.steps] == [
        "read-file",
        "transform-text",
        "write-file",
    ]
    assert_llm_called_times(mock_llm_calls, MODEL, 1)


def test_the_search_shows_the_model_the_request_and_every_known_workflow(
    mock_llm_calls: LLMMock, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, {"workflow_name": None})

    assert find_workflow("Translate notes.txt", load_library(), llm.get_model(MODEL), ONCE) is None

    assert_prompt_contains(mock_llm_calls, MODEL, "Request: Translate notes.txt")
    for name in load_library():
        mock_llm_calls.get_model(MODEL).assert_called_with(f"- {name}: ", schema=WorkflowMatch)


def test_the_choice_shows_the_model_the_request_and_the_whole_catalogue(
    mock_llm_calls: LLMMock, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, {"components": ["read-file"]})

    assert pick_components("Read notes.txt", llm.get_model(MODEL), ONCE) == ["read-file"]

    [call] = mock_llm_calls.get_model(MODEL).call_history
    assert call["prompt"].endswith("Request: Read notes.txt")
    assert all(f"- {name}: {does}" in call["prompt"] for name, does in CATALOGUE.items())
    assert call["kwargs"]["schema"] == "ComponentChoice"


def test_the_generation_offers_the_picked_components_only(
    mock_llm_calls: LLMMock, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, BACKUP)

    generate_workflow("Keep a copy", ["fetch-page", "write-file"], llm.get_model(MODEL), ONCE)

    model = mock_llm_calls.get_model(MODEL)
    model.assert_called_with(
        f"- fetch-page: {CATALOGUE['fetch-page']}\n- write-file: ", schema=Workflow
    )
    assert "send-mail" not in model.call_history[0]["prompt"]


def test_the_summary_is_plain_text_of_a_model_obtained_at_import(
    mock_llm_calls: LLMMock, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(SUMMARY_MODEL.model_id, "Keeps a copy of a page.")

    assert write_summary(BACKUP, ONCE) == "Keeps a copy of a page."

    mock_llm_calls.get_model(SUMMARY_MODEL.model_id).assert_called_with("back-up-page")


def test_a_workflow_that_nobody_knows_is_rejected(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, {"workflow_name": "brew-coffee"})

    with pytest.raises(PlannerError, match="there is no workflow 'brew-coffee'"):
        find_workflow("Coffee, please", load_library(), llm.get_model(MODEL), ONCE)


def test_components_outside_the_catalogue_are_rejected(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, {"components": ["read-file", "teleport", "brew-coffee"]})

    with pytest.raises(PlannerError, match="there is no component brew-coffee, teleport"):
        pick_components("Coffee, please", llm.get_model(MODEL), ONCE)


def test_a_generated_workflow_with_components_that_were_not_picked_is_rejected(
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set(MODEL, BACKUP)

    with pytest.raises(PlannerError, match="the workflow uses write-file, which was not picked"):
        generate_workflow("Keep a copy", ["fetch-page"], llm.get_model(MODEL), ONCE)


def test_a_generated_workflow_without_steps_is_rejected(mock_llm_responses: LLMMock) -> None:
    bad = Reply(data={"name": "idle", "description": "Does nothing.", "steps": []}, invalid=True)
    mock_llm_responses.set(MODEL, bad)

    with pytest.raises(PlannerError, match=r"Workflow\.steps: List should have at least 1 item"):
        generate_workflow("Keep a copy", ["fetch-page"], llm.get_model(MODEL), ONCE)
