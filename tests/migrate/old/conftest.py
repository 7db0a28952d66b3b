"""Runs each test with a right application, and with each fault that its application can have."""

from __future__ import annotations

import inspect
import types

import assistants
import pytest
import reviews
from assistants import Assistant

FAULTS = ("", "prompt", "answer", "system", "schema", "retry", "call")
MODULES = ("reviews", "assistants")


def collect_words(function):
    """Return the strings in a function of the application and in those that it calls."""
    words = set()
    for constant in function.__code__.co_consts:
        if isinstance(constant, str):
            words |= {constant, f"no {constant}"}
    return words | collect_words_of_names(function.__code__)


def find_function(name):
    for owner in (reviews, assistants, Assistant):
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
