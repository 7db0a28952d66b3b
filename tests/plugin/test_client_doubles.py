"""The doubles of an SDK's client are recognised, and other objects of a test are not."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from types import SimpleNamespace as Part
from unittest.mock import MagicMock, Mock

import anthropic
import openai
import pytest
from google import genai
from google.genai.errors import ServerError
from mistralai.client import Mistral
from openai.resources.chat.completions import Completions
from openai.resources.embeddings import Embeddings

from llm_mock.plugin.client_doubles import (
    UNKNOWN,
    find_library,
    find_mock_library,
    is_client_class,
    is_model_method,
    list_methods,
    make_overload,
)
from llm_mock.plugin.double_changes import DoubleChanger, DoubleChanges
from llm_mock.plugin.model_recorder import CallReplacement, Double, install_proxy

REQUEST = {"model": "m", "messages": []}


class Proxy:
    """An object of a framework, whose attributes cannot be read outside of it."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise RuntimeError("outside of a request")


@pytest.mark.parametrize(
    ("original", "library"),
    [
        (openai.OpenAI, "openai"),
        (Completions.create, "openai"),
        (anthropic.AsyncAnthropic, "anthropic"),
        (genai.Client, "google.genai"),
        (Mistral, "mistralai.client"),
        (json.dumps, None),
        (json.JSONDecoder, None),
        (openai, None),
        ("openai", None),
        (type("A", (), {"__module__": "openai_tools"}), None),
        (type("A", (), {"__module__": "litellm"}), "litellm"),
    ],
)
def test_a_replaced_object_of_an_sdk_is_recognised(original: object, library: str | None) -> None:
    assert find_library(original) == library


def test_a_proxy_that_cannot_be_read_is_none_of_an_sdk() -> None:
    assert find_library(Proxy()) is None


@pytest.mark.parametrize(
    ("double", "kwargs", "library"),
    [
        (Mock().chat.completions.create, {}, "openai"),
        (MagicMock().chat.completions.parse, {}, "openai"),
        (Mock().return_value.messages.create, {}, "anthropic"),
        (Mock().aio.models.generate_content, {}, "google.genai"),
        (Mock().chat.complete_async, {}, "mistralai.client"),
        (Mock().OpenAI().chat.completions.create, {}, UNKNOWN),
        (Mock().completions.create, REQUEST, None),
        (Mock().chat_completions.create, REQUEST, None),
        (Mock(), REQUEST, UNKNOWN),
        (Mock(), {"model": "m", "contents": "Hi"}, UNKNOWN),
        (Mock(), {"model": "m", "input": "Hi"}, UNKNOWN),
        (Mock(), {"model": "m"}, None),
        (Mock(), {"messages": []}, None),
        (Mock(name="create"), REQUEST, None),
        (Mock().create, REQUEST, None),
    ],
)
def test_a_mock_is_a_method_of_a_client_by_its_path_or_its_request(
    double: Double, kwargs: dict[str, object], library: str | None
) -> None:
    assert find_mock_library(double, kwargs) == library


@pytest.mark.parametrize(
    ("original", "is_client"),
    [
        (openai.AsyncAzureOpenAI, True),
        (genai.Client, True),
        (openai.APIError, False),
        (Completions.create, False),
    ],
)
def test_the_class_of_a_client_is_recognised(original: object, is_client: bool) -> None:
    assert is_client_class(original) is is_client


@pytest.mark.parametrize(
    ("original", "calls_model"),
    [
        (Completions.create, True),
        (Completions.parse, True),
        (Embeddings.create, False),
        (Completions.list, False),
        (Part(), False),
    ],
)
def test_a_function_that_calls_a_model_is_recognised(original: object, calls_model: bool) -> None:
    assert is_model_method(original) is calls_model


def answer() -> str:
    return "Hello"


@pytest.mark.parametrize(
    ("client", "found"),
    [
        (Part(messages=Part(create=answer)), [("create", "anthropic")]),
        (
            Part(chat=Part(completions=Part(create=answer, parse=answer), complete=answer)),
            [("create", "openai"), ("parse", "openai"), ("complete", "mistralai.client")],
        ),
        (Part(models=Part(list=answer)), []),
        (Part(messages=Part(create=None)), []),
        (Part(messages=Mock()), []),
        (Part(chat=Mock()), []),
        (Part(messages=Part(create=Mock())), [("create", "anthropic")]),
        (Mock(), []),
    ],
)
def test_the_methods_of_a_handed_client_are_those_that_call_a_model(
    client: Double, found: list[tuple[str, str]]
) -> None:
    methods = list_methods(client)
    assert [(name, library) for _, name, _, library in methods] == found
    assert all(getattr(owner, name) is method for owner, name, method, _ in methods)


def test_the_mocks_of_a_client_get_no_attributes() -> None:
    client = Part(chat=Mock(), models=Part(generate_content=Mock()))
    list_methods(client)
    assert "completions" not in dir(client.chat)
    assert "complete" not in dir(client.chat)


@pytest.mark.parametrize(
    ("library", "error", "status"),
    [
        ("openai", openai.InternalServerError, 503),
        ("anthropic", anthropic.InternalServerError, 529),
        ("google.genai", ServerError, 503),
    ],
)
def test_an_overloaded_provider_is_the_error_of_its_sdk(
    library: str, error: type[Exception], status: int
) -> None:
    overload = make_overload(library)
    assert isinstance(overload, error)
    assert getattr(overload, "status_code", getattr(overload, "code", None)) == status


@pytest.mark.parametrize("library", ["mistralai.client", "litellm", UNKNOWN])
def test_other_libraries_raise_no_error(library: str) -> None:
    assert make_overload(library) is None


def test_a_mock_in_the_place_of_an_sdk_raises_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", Mock())
    assert make_overload("openai") is None


@pytest.mark.parametrize(("counts", "calls"), [(True, 1), (False, 0)])
def test_a_fake_that_calls_another_one_makes_one_call(counts: bool, calls: int) -> None:
    def parse(self: Double) -> str:
        return "Hello"

    def create(self: Double) -> str:
        return f"{self.parse()}!"

    changer = DoubleChanger()
    changer.counts_clients = counts
    with pytest.MonkeyPatch.context() as monkeypatch:
        changer.watch(monkeypatch)
        monkeypatch.setattr(Completions, "parse", parse)
        monkeypatch.setattr(Completions, "create", create)
        fake: Double = openai.OpenAI().chat.completions
        assert fake.create() == "Hello!"
    assert changer.calls == calls


def test_a_client_that_is_made_again_is_watched_once() -> None:
    completions = Part(create=lambda: "Hello")
    client = Part(chat=Part(completions=completions))
    changer = DoubleChanger()
    with pytest.MonkeyPatch.context() as monkeypatch:
        changer.watch(monkeypatch)
        monkeypatch.setattr(openai, "OpenAI", lambda: client)
        assert openai.OpenAI() is client
        watched = completions.create
        assert openai.OpenAI() is client
        assert completions.create is watched
    assert (watched(), changer.calls) == ("Hello", 1)


def test_the_proxy_of_a_replaced_function_has_the_attributes_of_the_replacement() -> None:
    replacement = Mock()
    module = ModuleType("app")
    vars(module)["get_model"] = replacement
    targets = []

    def watch(target: str) -> CallReplacement:
        targets.append(target)
        return lambda function, args, kwargs: function(*args, **kwargs)

    install_proxy(module, "get_model", watch)
    module.get_model.return_value = "a model"
    assert (replacement.return_value, module.get_model("m")) == ("a model", "a model")
    module.get_model.assert_called_once_with("m")
    assert module.get_model is not replacement
    assert targets == ["app.get_model"]


def test_clients_that_are_not_changed_have_no_numbers(pytester: pytest.Pytester) -> None:
    path = pytester.makepyfile(
        """
        from unittest.mock import Mock, patch

        import llm

        def test_it():
            Mock().chat.completions.create(model="m", messages=[])
            with patch("llm.get_model") as get_model:
                get_model.return_value.prompt.return_value.text.return_value = "Hello"
                assert llm.get_model("m").prompt("Hi").text() == "Hello"
        """
    )
    results = pytester.path / "results.jsonl"
    # Nothing is known of the calls of the rewritten test.
    plugin = DoubleChanges({(str(path), "test_it"): [("text", 1)]}, {}, results)
    pytester.inline_run(plugins=[plugin]).assertoutcome(passed=1)
    assert json.loads(results.read_text())["noticed"] == ["text", 1]
