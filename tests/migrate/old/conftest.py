"""Runs each test with a right application, and with each fault that its application can have."""

from __future__ import annotations

import inspect
import os
import types
from unittest.mock import Mock, patch

import assistants
import pytest
import reviews
import translators
from assistants import Assistant

FAULTS = ("", "prompt", "answer", "system", "schema", "retry", "call")
MODULES = ("reviews", "assistants", "translators")
ANSWER = "Short"


def collect_words(function):
    """Return the strings in a function of the application and in those that it calls."""
    words = set()
    for constant in function.__code__.co_consts:
        if isinstance(constant, str):
            words |= {constant, f"no {constant}"}
    return words | collect_words_of_names(function.__code__)


def find_function(name):
    for owner in (reviews, assistants, Assistant, translators):
        called = getattr(owner, name, None)
        if isinstance(called, types.FunctionType) and called.__module__ in MODULES:
            return called
    return None


def collect_words_of_names(code):
    words = {""}
    for name in code.co_names:
        called = find_function(name)
        if called is not None:
            words |= collect_words(called)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            words |= collect_words_of_names(constant)
    return words


def pytest_generate_tests(metafunc):
    # Some files are about faults of their own, or about replies, where a fault changes nothing.
    faults = getattr(metafunc.module, "FAULTS", FAULTS)
    words = collect_words_of_names(inspect.unwrap(metafunc.function).__code__)
    possible = [fault for fault in faults if fault in words]
    metafunc.parametrize("fault", possible, indirect=True)


@pytest.fixture(autouse=True)
def fault(request, monkeypatch):
    # The tests of a TestCase have no parameters.
    monkeypatch.setattr(reviews, "BROKEN", getattr(request, "param", ""))


@pytest.fixture
def bare_model():
    """A model without a patch."""
    model = Mock()
    model.prompt.return_value.text.return_value = "Short"
    return model


@pytest.fixture
def shared_model():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        yield get_model.return_value


@pytest.fixture
def shared_getter(bare_model, monkeypatch):
    get_model = Mock(return_value=bare_model)
    monkeypatch.setattr("reviews.get_model", get_model)
    return get_model


@pytest.fixture
def shared_client():
    client = Mock()
    message = Mock(content="Short")
    client.chat.completions.create.return_value = Mock(choices=[Mock(message=message)])
    return client


@pytest.fixture
def patched_client():
    with patch("assistants.OpenAI") as client_class:
        message = Mock(content="Short")
        create = client_class.return_value.chat.completions.create
        create.return_value = Mock(choices=[Mock(message=message)])
        yield client_class.return_value


@pytest.fixture
def constant_model():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = ANSWER
        yield get_model.return_value


@pytest.fixture
def timed_model():
    with patch("reviews.get_model") as get_model:
        os.environ["TIMED"] = "1"
        yield get_model.return_value


@pytest.fixture(params=["Short"])
def chosen_model(request):
    with patch("reviews.get_model") as get_model:
        yield get_model.return_value


@pytest.fixture
def chosen_reply():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.side_effect = lambda prompt, **_: Mock(text=lambda: prompt)
        yield get_model.return_value


@pytest.fixture
def shortener(bare_model):
    return [bare_model]
