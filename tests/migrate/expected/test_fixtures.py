import pytest
from reviews import patient, summarize


@pytest.fixture
def model(mock_llm_responses):
    """Yield a model that answers."""
    mock_llm_responses.set("*", "From a fixture")


@pytest.fixture
def fake_llm(mock_llm_responses) -> None:
    mock_llm_responses.set("*", "For all")


def test_the_answer_of_the_fixture(model):
    assert summarize("a long text") == "From a fixture"


def test_the_calls_of_the_fixture(model, mock_llm_calls):
    summarize("a long text")
    mock_llm_calls.assert_called_once()
    assert mock_llm_calls.last_call["prompt"] == "Summarize: a long text"


def test_another_answer(model, mock_llm_responses):
    mock_llm_responses.set("*", "Another")
    assert summarize("a long text") == "Another"


def test_an_error(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set_error("*", ConnectionError)
    assert patient("a text") == "no connection"
    assert len(mock_llm_calls.calls) == 3


def test_an_answer(mock_llm_responses):
    mock_llm_responses.set("*", "Said here")
    assert summarize("a long text") == "Said here"


def test_what_gives_nothing(fake_llm):
    assert summarize("a long text") == "For all"


@pytest.mark.usefixtures("fake_llm")
def test_by_a_mark():
    assert summarize("a long text") == "For all"


@pytest.fixture
def patched_llm(mock_llm_responses):
    mock_llm_responses.set("*", "Patched")


def test_a_patch_that_gives_nothing(patched_llm):
    assert summarize("a long text") == "Patched"
