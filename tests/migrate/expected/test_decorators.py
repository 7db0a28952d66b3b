from unittest.mock import Mock, patch

import pytest
import reviews
from reviews import draft_and_check, lookup, patient, summarize


def response_of(text):
    response = Mock()
    response.text.return_value = text
    return response


def model_of(*texts):
    return Mock(prompt=Mock(side_effect=[response_of(text) for text in texts]))


def test_an_argument(mock_llm_responses):
    """The mock is an argument."""
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"


@patch("reviews.as_json", return_value="{}")
def test_two_arguments(as_json, mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"
    assert reviews.as_json([]) == "{}"
    as_json.assert_called_once()


def test_no_argument(mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"


def test_an_object(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"
    assert len(mock_llm_calls.requested_models) == 1


def test_replies_in_order(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.add("*", "First")
    mock_llm_responses.add("*", "Second")
    assert summarize("one") == "First"
    assert summarize("two") == "Second"
    assert len(mock_llm_calls.calls) == 2


def test_the_same_error_many_times(mock_llm_responses):
    mock_llm_responses.add("*", ConnectionError("no route"), times=2)
    mock_llm_responses.add("*", "At last")
    assert patient("a text") == "At last"


def test_one_mock_a_model(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("gpt-4o", "A draft")
    mock_llm_responses.set("gpt-4o-mini", "Checked")
    assert draft_and_check("a text") == "Checked"
    mock_llm_calls.get_model("gpt-4o").assert_called_once()
    assert mock_llm_calls.get_model("gpt-4o-mini").last_call["prompt"] == "Check: A draft"


def test_one_mock_a_model_by_get(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "A draft")
    mock_llm_responses.set("gpt-4o-mini", "Checked")
    assert draft_and_check("a text") == "Checked"


def test_one_mock_a_model_by_conditions(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "A draft")
    mock_llm_responses.set("*", "Checked")
    assert draft_and_check("a text") == "Checked"


def test_a_chain(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "It is 5.")
    assert lookup("How long is hello?") == "It is 5."
    mock_llm_calls.assert_called_once()


def test_the_prompt_of_a_chain(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "It is 5.")
    lookup("How long is hello?")
    assert mock_llm_calls.last_call["prompt"] == "How long is hello?"


class TestInAClass:
    def test_a_method(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a long text") == "Short"

    @pytest.mark.parametrize("text", ["one", "two"])
    def test_a_method_with_parameters(self, text, mock_llm_responses):
        mock_llm_responses.set("*", f"Short {text}")
        assert summarize(text) == f"Short {text}"


# for all tests
@pytest.mark.filterwarnings("error")
# Something else.
@patch("reviews.as_json", repr)
class TestOfAClass:
    """Each test is patched."""

    TEXT = "a long text"

    def check(self, text):
        return summarize(text) == "Short"

    def test_one(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert self.check(self.TEXT)

    @patch("reviews.said", side_effect=str)
    def test_another(self, said, tmp_path, mock_llm_responses, mock_llm_calls):
        mock_llm_responses.set("*", "Short")
        assert self.check(reviews.as_json(1))
        assert len(mock_llm_calls.requested_models) == 1
        said.assert_called_once_with("Short")


class TestOfAnotherClass:
    def test_one(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a long text") == "Short"
