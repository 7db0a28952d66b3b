"""Fixtures of a conftest.py above the file."""

import openai
import pytest
from assistants import Assistant
from reviews import summarize


def test_a_patch(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"
    mock_llm_calls.assert_called_once()


def test_a_reply_of_the_test(mock_llm_responses):
    """The fixture's reply is not used."""
    mock_llm_responses.set("*", "Long")
    assert summarize("a long text") == "Long"


def test_a_model(mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"


def test_one_model_of_two_fixtures(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Long")
    assert summarize("a long text") == "Long"
    mock_llm_calls.assert_called_once()


@pytest.fixture
def own_model(mock_llm_responses):
    mock_llm_responses.set("*", "Mine")


def test_a_fixture_of_a_fixture(own_model, mock_llm_calls):
    assert summarize("a long text") == "Mine"
    mock_llm_calls.assert_called_once()


def test_a_client(mock_llm_responses, mock_llm_calls):
    """OpenAI's client is handed in."""
    shared_client = openai.OpenAI()
    mock_llm_responses.set("*", "Short")
    assert Assistant(client=shared_client).answer("a long text") == "Short"
    messages = mock_llm_calls.last_call.request.body["messages"]
    assert messages[1]["content"] == "Answer: a long text"


def test_a_client_class(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Short")
    assert Assistant().answer("a long text") == "Short"
    mock_llm_calls.assert_called_once()
