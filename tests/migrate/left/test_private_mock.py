"""Uses of a project's own mock that are not understood."""

from unittest.mock import Mock, patch

import pytest
from private_mock import create_mock_get_model
from reviews import Review, summarize

RESPONSES = {"gpt-4o-mini": "Short"}


@pytest.fixture
def responses():
    return RESPONSES


def test_two_positional_arguments():
    mock = create_mock_get_model({"gpt-4o-mini": "Short"}, ValueError)
    with patch("reviews.get_model", mock):
        summarize("a")


def test_another_keyword():
    mock = create_mock_get_model(replies={"gpt-4o-mini": "Short"})
    with patch("reviews.get_model", mock):
        summarize("a")


def test_hidden_arguments():
    mock = create_mock_get_model(*[RESPONSES])
    with patch("reviews.get_model", mock):
        summarize("a")


def test_replies_with_a_name():
    mock = create_mock_get_model(responses=RESPONSES)
    with patch("reviews.get_model", mock):
        summarize("a")


def test_replies_that_are_unpacked():
    mock = create_mock_get_model({**RESPONSES})
    with patch("reviews.get_model", mock):
        summarize("a")


def test_one_argument_of_set_response():
    mock = create_mock_get_model()
    mock.set_response("gpt-4o-mini")
    with patch("reviews.get_model", mock):
        summarize("a")


def test_four_arguments_of_set_response():
    mock = create_mock_get_model()
    mock.set_response("gpt-4o-mini", Review, {}, "and more")
    with patch("reviews.get_model", mock):
        summarize("a")


def test_hidden_arguments_of_set_response():
    mock = create_mock_get_model()
    mock.set_response(*["gpt-4o-mini", "Short"])
    with patch("reviews.get_model", mock):
        summarize("a")


def test_other_keywords_of_set_response():
    mock = create_mock_get_model()
    mock.set_response("gpt-4o-mini", text="Short")
    with patch("reviews.get_model", mock):
        summarize("a")


def test_no_response_of_set_response():
    mock = create_mock_get_model()
    mock.set_response(model="gpt-4o-mini", schema=Review)
    with patch("reviews.get_model", mock):
        summarize("a")


def test_a_record_by_get():
    mock = create_mock_get_model({"gpt-4o-mini": "Short"})
    with patch("reviews.get_model", mock):
        summarize("a")
    assert mock.call_history[0].get("prompt") == "Summarize: a"


def test_a_record_by_a_number():
    mock = create_mock_get_model({"gpt-4o-mini": "Short"})
    with patch("reviews.get_model", mock):
        summarize("a")
    assert mock.call_history[0][0] == "Summarize: a"


def test_the_history_as_a_whole():
    mock = create_mock_get_model({"gpt-4o-mini": "Short"})
    with patch("reviews.get_model", mock):
        summarize("a")
    assert mock.call_history == []


def test_an_attribute_of_its_own():
    mock = create_mock_get_model({"gpt-4o-mini": "Short"})
    with patch("reviews.get_model", mock):
        summarize("a")
    assert mock.replies


def test_an_error_that_is_set():
    mock = create_mock_get_model({"gpt-4o-mini": "Short"})
    mock.side_effect = ValueError("too long")
    with patch("reviews.get_model", mock), pytest.raises(ValueError):
        summarize("a")


def test_an_attribute_that_is_set():
    mock = create_mock_get_model({"gpt-4o-mini": "Short"})
    mock.delay = 5
    with patch("reviews.get_model", mock):
        summarize("a")


def test_a_model_of_its_own():
    mock = create_mock_get_model({"gpt-4o-mini": "Short"})
    mock.return_value.prompt.return_value.text.return_value = "Long"
    with patch("reviews.get_model", mock):
        summarize("a")


def test_calls_of_a_model_of_its_own():
    mock = create_mock_get_model({"gpt-4o-mini": "Short"})
    with patch("reviews.get_model", mock):
        summarize("a")
    assert mock.return_value.prompt.call_count == 1


def test_arguments_that_a_model_of_its_own_keeps():
    mock = create_mock_get_model({"gpt-4o-mini": "Short"})
    prompts = []
    mock.return_value.prompt = lambda text: prompts.append(text) or Mock(text=lambda: "Long")
    with patch("reviews.get_model", mock):
        summarize("a")
    assert prompts == ["Summarize: a"]


def test_our_fixture(mock_llm_calls, mock_llm_responses):
    mock_llm_calls.set_response("gpt-4o-mini", "Short")
    assert summarize("a") == "Short"
    assert mock_llm_calls.calls[0]["prompt"] == "Summarize: a"


def test_another_fixture(responses):
    responses.set_response("gpt-4o-mini", Review, "Short")
    assert responses.call_history == []
