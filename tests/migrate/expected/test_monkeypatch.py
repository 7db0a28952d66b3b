import pytest
from llm_mock import Reply
from reviews import draft_and_check, greet, patient, streamed, summarize


def test_a_lambda(mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"


def test_a_name_of_the_library(mock_llm_responses):
    mock_llm_responses.set("*", "Hello")
    assert greet("Ada") == "Hello"


def test_a_name_of_the_application(mock_llm_responses):
    mock_llm_responses.set("*", "Hi")
    assert summarize("a long text") == "Hi"


def test_a_namespace(mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"


def test_a_mock(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"
    mock_llm_calls.assert_called_once()


def test_an_error(mock_llm_responses):
    mock_llm_responses.set_error("*", ConnectionError("no route"))
    assert patient("a text") == "no connection"


def test_a_function(mock_llm_responses):
    mock_llm_responses.set("*", "From a function")
    assert summarize("a long text") == "From a function"


def test_one_fake_a_model(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "A draft")
    mock_llm_responses.set("gpt-4o-mini", "Checked")
    assert draft_and_check("a text") == "Checked"


def test_classes_in_the_test(mock_llm_responses):
    mock_llm_responses.set("*", "Local")
    assert summarize("a long text") == "Local"


def test_a_stream(mock_llm_responses):
    mock_llm_responses.set("*", Reply(chunks=["Hel", "lo"]))
    assert streamed("a long text") == ["Hel", "lo"]


def test_an_environment_variable_too(monkeypatch, mock_llm_responses):
    monkeypatch.setenv("REVIEWS", "1")
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"


def test_an_error_of_a_mock(mock_llm_responses):
    mock_llm_responses.set_error("*", RuntimeError("overloaded"))
    with pytest.raises(RuntimeError):
        streamed("a text")
