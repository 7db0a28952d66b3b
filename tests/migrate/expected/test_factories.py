"""Fixtures that give a function, which makes the mocks of the tests."""

import json

import pytest
from llm_mock import Reply
from pydantic import BaseModel
from reviews import draft_and_check, review, summarize


class Draft(BaseModel):
    stars: int = 5


@pytest.fixture
def title():
    return "From a fixture"


def test_a_default(mock_llm_responses):
    mock_llm_responses.set("*", "Short" + "")
    assert summarize("a") == "Short"


def test_an_argument(mock_llm_responses):
    mock_llm_responses.set("*", "Long" + "er")
    assert summarize("a") == "Longer"


def test_several(mock_llm_responses):
    # the first one
    mock_llm_responses.add("*", "A draft" + "")
    mock_llm_responses.add("*", "Checked" + "")
    assert draft_and_check("a") == "Checked"


def test_the_first_branch(mock_llm_responses):
    mock_llm_responses.set("*", json.dumps({"stars": 4, "title": "Good"}))
    assert review("a").stars == 4


def test_the_second_branch(mock_llm_responses):
    mock_llm_responses.set("*", json.dumps({"stars": 4, "title": "A title", "tags": ["a"]}))
    assert review("a").title == "A title"


def test_the_second_branch_with_defaults(mock_llm_responses):
    mock_llm_responses.set("*", json.dumps({"stars": 5, "title": "Long", "tags": []}))
    assert review("a").title == "Long"


def test_the_last_branch(mock_llm_responses):
    mock_llm_responses.set("*", json.dumps({"stars": 5, "title": "A title"}))
    assert review("a").title == "A title"


def test_conditions(mock_llm_responses):
    mock_llm_responses.set("*", "both")
    assert summarize("a") == "both"


def test_a_later_condition(mock_llm_responses):
    mock_llm_responses.set("*", "{}")
    assert summarize("a") == "{}"


def test_keywords(mock_llm_responses):
    mock_llm_responses.set("*", json.dumps({"stars": 3, "title": "Any"}))
    assert review("a").stars == 3


def test_keywords_beside_others(mock_llm_responses):
    mock_llm_responses.set("*", Reply(f"{'A'}: {2}", response_json={"more": 1}))
    assert summarize("a") == "A: 2"


def test_texts_in_a_text(mock_llm_responses):
    mock_llm_responses.set("*", Reply(f"{'A'}: {Draft().stars}", response_json={}))
    assert summarize("a") == "A: 5"


def test_a_function_of_the_file(mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    assert summarize("a") == "Short"


def test_a_value_of_another_fixture(title, mock_llm_responses, mock_llm_calls):
    texts = [title]
    mock_llm_responses.set("*", "Short")
    assert summarize(texts[0]) == "Short"
    mock_llm_calls.assert_called_once()
