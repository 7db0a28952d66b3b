"""Fixtures of a conftest.py above the file."""

from unittest.mock import patch

import pytest
from assistants import Assistant
from reviews import summarize


def test_a_patch(shared_model):
    assert summarize("a long text") == "Short"
    shared_model.prompt.assert_called_once()


def test_a_reply_of_the_test(shared_model):
    """The fixture's reply is not used."""
    shared_model.prompt.return_value.text.return_value = "Long"
    assert summarize("a long text") == "Long"


def test_a_model(bare_model):
    with patch("reviews.get_model", return_value=bare_model):
        assert summarize("a long text") == "Short"


def test_one_model_of_two_fixtures(bare_model, shared_getter):
    bare_model.prompt.return_value.text.return_value = "Long"
    assert summarize("a long text") == "Long"
    shared_getter.return_value.prompt.assert_called_once()


@pytest.fixture
def own_model(shared_model):
    shared_model.prompt.return_value.text.return_value = "Mine"
    return shared_model


def test_a_fixture_of_a_fixture(own_model):
    assert summarize("a long text") == "Mine"
    own_model.prompt.assert_called_once()


def test_a_client(shared_client):
    """OpenAI's client is handed in."""
    assert Assistant(client=shared_client).answer("a long text") == "Short"
    messages = shared_client.chat.completions.create.call_args.kwargs["messages"]
    assert messages[1]["content"] == "Answer: a long text"


def test_a_client_class(patched_client):
    assert Assistant().answer("a long text") == "Short"
    patched_client.chat.completions.create.assert_called_once()
