from types import SimpleNamespace
from unittest.mock import Mock

import llm
import pytest
import reviews
from reviews import draft_and_check, greet, patient, streamed, summarize


class FakeResponse:
    def __init__(self, text):
        self._text = text

    def text(self):
        return self._text

    def __iter__(self):
        yield self._text


class Stream:
    def __iter__(self):
        yield "Hel"
        yield "lo"


class FakeModel:
    model = "fake"

    def __init__(self, text="Short"):
        self.reply = text

    def prompt(self, prompt, **kwargs):
        return FakeResponse(self.reply)


class FailingModel:
    def prompt(self, prompt, **kwargs):
        raise ConnectionError("no route")


def test_a_lambda(monkeypatch):
    monkeypatch.setattr("reviews.get_model", lambda name: FakeModel())
    assert summarize("a long text") == "Short"


def test_a_name_of_the_library(monkeypatch):
    monkeypatch.setattr(llm, "get_model", lambda name: FakeModel("Hello"))
    assert greet("Ada") == "Hello"


def test_a_name_of_the_application(monkeypatch):
    model = FakeModel("Hi")
    monkeypatch.setattr(reviews, "get_model", lambda *args, **kwargs: model)
    assert summarize("a long text") == "Hi"


def test_a_namespace(monkeypatch):
    model = SimpleNamespace(prompt=lambda prompt, **kwargs: SimpleNamespace(text=lambda: "Short"))
    monkeypatch.setattr("reviews.get_model", lambda name: model)
    assert summarize("a long text") == "Short"


def test_a_mock(monkeypatch):
    model = Mock()
    model.prompt.return_value.text.return_value = "Short"
    monkeypatch.setattr("reviews.get_model", Mock(return_value=model))
    assert summarize("a long text") == "Short"
    model.prompt.assert_called_once()


def test_an_error(monkeypatch):
    monkeypatch.setattr("reviews.get_model", lambda name: FailingModel())
    assert patient("a text") == "no connection"


def test_a_function(monkeypatch):
    def fake_get_model(name):
        return FakeModel("From a function")

    monkeypatch.setattr("reviews.get_model", fake_get_model)
    assert summarize("a long text") == "From a function"


def test_one_fake_a_model(monkeypatch):
    models = {"gpt-4o": FakeModel("A draft"), "gpt-4o-mini": FakeModel("Checked")}
    monkeypatch.setattr("reviews.get_model", lambda name: models[name])
    assert draft_and_check("a text") == "Checked"


def test_classes_in_the_test(monkeypatch):
    class Response:
        def text(self):
            return "Local"

    class Model:
        def prompt(self, prompt, **kwargs):
            return Response()

    monkeypatch.setattr("reviews.get_model", lambda name: Model())
    assert summarize("a long text") == "Local"


def test_a_stream(monkeypatch):
    monkeypatch.setattr(
        "reviews.get_model", lambda name: SimpleNamespace(prompt=lambda prompt: Stream())
    )
    assert streamed("a long text") == ["Hel", "lo"]


def test_an_environment_variable_too(monkeypatch):
    monkeypatch.setenv("REVIEWS", "1")
    monkeypatch.setattr("reviews.get_model", lambda name: FakeModel())
    assert summarize("a long text") == "Short"


def test_an_error_of_a_mock(monkeypatch):
    model = Mock()
    model.prompt.side_effect = RuntimeError("overloaded")
    monkeypatch.setattr("reviews.get_model", lambda name: model)
    with pytest.raises(RuntimeError):
        streamed("a text")
