from unittest.mock import Mock, patch

import pytest
from reviews import patient, summarize


@pytest.fixture
def response():
    response = Mock()
    response.text.return_value = "From a fixture"
    return response


@pytest.fixture
def model(response):
    """Yield a model that answers."""
    with patch("reviews.get_model") as get_model:
        model = Mock()
        model.prompt.return_value = response
        get_model.return_value = model
        yield model


@pytest.fixture
def quiet_model(monkeypatch: pytest.MonkeyPatch) -> Mock:
    model = Mock()
    monkeypatch.setattr("reviews.get_model", lambda name: model)
    return model


@pytest.fixture
def fake_llm(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Mock(**{"prompt.return_value.text.return_value": "For all"})
    monkeypatch.setattr("reviews.get_model", Mock(return_value=model))


def test_the_answer_of_the_fixture(model):
    assert summarize("a long text") == "From a fixture"


def test_the_calls_of_the_fixture(model):
    summarize("a long text")
    model.prompt.assert_called_once()
    assert model.prompt.call_args.args[0] == "Summarize: a long text"


def test_another_answer(model):
    model.prompt.return_value.text.return_value = "Another"
    assert summarize("a long text") == "Another"


def test_an_error(quiet_model):
    quiet_model.prompt.side_effect = ConnectionError
    assert patient("a text") == "no connection"
    assert quiet_model.prompt.call_count == 3


def test_an_answer(quiet_model):
    quiet_model.prompt.return_value.text.return_value = "Said here"
    assert summarize("a long text") == "Said here"


def test_what_gives_nothing(fake_llm):
    assert summarize("a long text") == "For all"


@pytest.mark.usefixtures("fake_llm")
def test_by_a_mark():
    assert summarize("a long text") == "For all"


@pytest.fixture
def patched_llm():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Patched"
        yield


def test_a_patch_that_gives_nothing(patched_llm):
    assert summarize("a long text") == "Patched"
