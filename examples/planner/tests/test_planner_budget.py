"""Budgets of a plan: a longer prompt, another call or a dearer model fails here."""

import pytest
from planner.library import load_library
from planner.planning import plan
from planner.retry import Retry
from planner.schemas import ComponentChoice, Workflow, WorkflowMatch
from planner.summary import write_summary

from llm_mock import LLMMock, assert_cost_below, assert_tokens_below

MODEL = "gpt-4o-mini"
ONCE = Retry(attempts=1)
READING = {
    "name": "read-notes",
    "description": "Reads the notes.",
    "steps": [{"component": "read-file", "purpose": "Read notes.txt."}],
}


@pytest.mark.llm_mock_budget(cost=0.00015, tokens=700)
def test_a_new_workflow_and_its_summary_stay_within_their_budget(
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set(MODEL, WorkflowMatch(workflow_name=None), schema=WorkflowMatch)
    mock_llm_responses.set(MODEL, ComponentChoice(components=["read-file"]), schema=ComponentChoice)
    mock_llm_responses.set(MODEL, READING, schema=Workflow)
    mock_llm_responses.set("gpt-4.1-nano", "It reads the notes. It changes nothing.")

    write_summary(plan("Read my notes", load_library(), MODEL, ONCE), ONCE)


def test_a_known_workflow_costs_less_than_a_new_one(
    mock_llm_calls: LLMMock, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, {"workflow_name": "translate-file"})

    plan("Translate notes.txt", load_library(), MODEL, ONCE)

    assert_cost_below(mock_llm_calls, 0.00003)
    assert_tokens_below(mock_llm_calls, 160, model=MODEL)
