"""Fixtures of a conftest.py above the file that a test cannot do without."""

from unittest.mock import patch

from reviews import summarize


def test_a_name_of_the_other_file(constant_model):
    assert summarize("a long text") == "Short"


def test_a_fixture_that_does_more(timed_model):
    timed_model.prompt.return_value.text.return_value = "Short"
    assert summarize("a long text") == "Short"


def test_a_fixture_with_arguments(chosen_model):
    chosen_model.prompt.return_value.text.return_value = "Short"
    assert summarize("a long text") == "Short"


def test_a_reply_function(chosen_reply):
    assert "a long text" in summarize("a long text")
    chosen_reply.prompt.assert_called_once()


def test_a_mock_that_another_fixture_has(bare_model, shortener):
    with patch("reviews.get_model", return_value=bare_model):
        assert summarize("a long text") == "Short"


def test_the_identity(shared_model):
    assert summarize.__globals__["get_model"]("model") is shared_model
