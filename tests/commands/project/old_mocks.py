from unittest.mock import Mock, patch

import llm


def summarize(text):
    return llm.get_model("gpt-5-mini").prompt(text).text()


@patch("llm.get_model")
def test_short(get_model):
    # What the model answers.
    get_model.return_value.prompt.return_value.text.return_value = "Short"
    assert summarize("A long text") == "Short"
    get_model.assert_called_once_with("gpt-5-mini")


@patch("llm.get_model")
def test_strange(get_model):
    get_model.return_value = compute_model()
    assert summarize("A long text") == "Short"


def compute_model():
    return Mock(**{"prompt.return_value.text.return_value": "Short"})
