from unittest.mock import MagicMock, Mock, patch

import pytest
import reviews
from reviews import draft_and_check, lookup, patient, summarize


def response_of(text):
    response = Mock()
    response.text.return_value = text
    return response


def model_of(*texts):
    return Mock(prompt=Mock(side_effect=[response_of(text) for text in texts]))


def answering(text):
    model = MagicMock()
    model.prompt.return_value = response_of(text)
    return model


@patch("reviews.get_model")
def test_an_argument(get_model):
    """The mock is an argument."""
    get_model.return_value = answering("Short")
    assert summarize("a long text") == "Short"


@patch("reviews.as_json", return_value="{}")
@patch("reviews.get_model")
def test_two_arguments(get_model, as_json):
    get_model.return_value = answering("Short")
    assert summarize("a long text") == "Short"
    assert reviews.as_json([]) == "{}"
    as_json.assert_called_once()


@patch("reviews.get_model", Mock(return_value=answering("Short")))
def test_no_argument():
    assert summarize("a long text") == "Short"


@patch.object(reviews, "get_model", return_value=answering("Short"))
def test_an_object(get_model):
    assert summarize("a long text") == "Short"
    get_model.assert_called_once()


@patch("reviews.get_model")
def test_replies_in_order(get_model):
    get_model.return_value.prompt.side_effect = [response_of("First"), response_of("Second")]
    assert summarize("one") == "First"
    assert summarize("two") == "Second"
    assert get_model.return_value.prompt.call_count == 2


@patch("reviews.get_model")
def test_the_same_error_many_times(get_model):
    get_model.return_value.prompt.side_effect = [ConnectionError("no route")] * 2 + [
        response_of("At last")
    ]
    assert patient("a text") == "At last"


@patch("reviews.get_model")
def test_one_mock_a_model(get_model):
    drafting, checking = answering("A draft"), answering("Checked")
    models = {"gpt-4o": drafting, "gpt-4o-mini": checking}
    get_model.side_effect = lambda name: models[name]
    assert draft_and_check("a text") == "Checked"
    drafting.prompt.assert_called_once()
    assert checking.prompt.call_args.args[0] == "Check: A draft"


@patch("reviews.get_model")
def test_one_mock_a_model_by_get(get_model):
    get_model.side_effect = {
        "gpt-4o": answering("A draft"),
        "gpt-4o-mini": answering("Checked"),
    }.get
    assert draft_and_check("a text") == "Checked"


@patch("reviews.get_model")
def test_one_mock_a_model_by_conditions(get_model):
    def by_name(name):
        if name == "gpt-4o":
            return answering("A draft")
        return answering("Checked")

    get_model.side_effect = by_name
    assert draft_and_check("a text") == "Checked"


@patch("reviews.get_model")
def test_a_chain(get_model):
    get_model.return_value.chain.return_value.text.return_value = "It is 5."
    assert lookup("How long is hello?") == "It is 5."
    get_model.return_value.chain.assert_called_once()


@patch("reviews.get_model")
def test_the_prompt_of_a_chain(get_model):
    chain = get_model.return_value.chain
    chain.return_value.text.return_value = "It is 5."
    lookup("How long is hello?")
    assert chain.call_args.args[0] == "How long is hello?"


class TestInAClass:
    @patch("reviews.get_model")
    def test_a_method(self, get_model):
        get_model.return_value = answering("Short")
        assert summarize("a long text") == "Short"

    @pytest.mark.parametrize("text", ["one", "two"])
    @patch("reviews.get_model")
    def test_a_method_with_parameters(self, get_model, text):
        get_model.return_value.prompt.return_value.text.return_value = f"Short {text}"
        assert summarize(text) == f"Short {text}"


@pytest.mark.filterwarnings("error")
@patch("reviews.get_model")  # for all tests
# Something else.
@patch("reviews.as_json", repr)
class TestOfAClass:
    """Each test is patched."""

    TEXT = "a long text"

    def check(self, text):
        return summarize(text) == "Short"

    def test_one(self, get_model):
        get_model.return_value = answering("Short")
        assert self.check(self.TEXT)

    @patch("reviews.said", side_effect=str)
    def test_another(self, said, get_model, tmp_path):
        get_model.return_value = answering("Short")
        assert self.check(reviews.as_json(1))
        get_model.assert_called_once()
        said.assert_called_once_with("Short")


class TestOfAnotherClass:
    @patch("reviews.get_model")
    def test_one(self, get_model):
        get_model.return_value = answering("Short")
        assert summarize("a long text") == "Short"
