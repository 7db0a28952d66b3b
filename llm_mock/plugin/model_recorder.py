"""A pytest plugin that records which models a test requests from its old mocks.

`llm-mock migrate --learn` loads it into a run of pytest.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest

from llm_mock.migrate.model_discovery import FILE_VARIABLE
from llm_mock.migrate.targets import GETTERS
from llm_mock.plugin.guard import begin, reporting_hook

PROMPT_METHODS = ("prompt", "chain")
"""The methods of a model, and of a conversation, that send a prompt."""
Double = Any
"""A mock, or another object that a test uses instead of a part of `llm`."""
Arguments = tuple[object, ...]
Keywords = dict[str, object]
CallReplacement = Callable[[Double, Arguments, Keywords], object]
"""Calls a test's replacement for `get_model` with positional and keyword arguments."""


class _ReturnedModels:
    """The mocks of models that one test gave to the application."""

    def __init__(self) -> None:
        self._first_counts: dict[int, tuple[object, int | None]] = {}
        """By identity, each with the prompts that it had before."""
        self.is_complete = True
        """Whether no other mock may give models to the application."""
        self.errors = 0
        """The number of errors that were raised in place of a model."""

    def add(self, model: object) -> None:
        """Note a model that a replacement for `get_model` returned."""
        if id(model) not in self._first_counts:
            self._first_counts[id(model)] = model, _count_prompts(model)

    def count_calls(self) -> int | None:
        """Return the number of prompts that the models received; None if it is unknown."""
        if not self.is_complete:
            return None
        number = 0
        for model, before in self._first_counts.values():
            after = _count_prompts(model)
            if before is None or after is None:
                return None
            number += after - before
        return number


def list_prompt_methods(model: Double) -> list[tuple[object, str, object]]:
    """Return the methods of a double that send a prompt, each with its owner and name.

    The owner is the model, or the conversation of a mock.
    """
    owners = [model]
    # Private. Reading an attribute of a mock creates it, which a test may notice.
    if "conversation" in getattr(model, "_mock_children", ()):
        owners.append(model.conversation.return_value)
    methods = []
    for owner in owners:
        for name in PROMPT_METHODS:
            method = getattr(owner, name, None)
            if method is not None:
                methods.append((owner, name, method))
    return methods


def _count_prompts(model: object) -> int | None:
    """Return the number of prompts that a mock of a model received, also in a conversation."""
    if not isinstance(model, mock.NonCallableMock):
        # Not every class of a test counts its calls.
        return None
    number = 0
    for _, _, method in list_prompt_methods(model):
        if not isinstance(method, mock.NonCallableMock):
            return None
        number += method.call_count
    return number


class _CallProxy:
    """A proxy of a test's replacement for `get_model` whose calls another function makes."""

    def __init__(
        self,
        replacement: object,
        call: CallReplacement,
    ) -> None:
        # Bypasses `__setattr__`, which sets attributes of the replacement.
        self.__dict__["_llm_mock_replacement"] = replacement
        self.__dict__["_llm_mock_call"] = call

    def __call__(self, *args: object, **kwargs: object) -> Double:
        return self._llm_mock_call(self._llm_mock_replacement, args, kwargs)

    def __getattr__(self, name: str) -> Double:
        return getattr(self.__dict__["_llm_mock_replacement"], name)

    def __setattr__(
        self,
        name: str,
        value: object,
    ) -> None:
        setattr(self._llm_mock_replacement, name, value)


def watch_replacements(
    monkeypatch: pytest.MonkeyPatch,
    note: Callable[[Double, str, object], None],
) -> None:
    """Note each attribute that a test replaces from now on.

    Args:
        monkeypatch: undoes it.
        note: is called with the owner of the attribute, its name, and its value before.
    """
    # Private: `unittest.mock.patch` makes only objects of this class. Without it its patches
    # are not watched.
    patch_class: Double = getattr(mock, "_patch", None)
    enter: Double = getattr(patch_class, "__enter__", None)
    setattr_of_pytest = pytest.MonkeyPatch.setattr

    def watching_enter(patch: Double) -> object:
        replacement = enter(patch)
        note(patch.target, patch.attribute, patch.temp_original)
        return replacement

    def watching_setattr(
        test_monkeypatch: Any, target: Any, name: Any, *args: Any, **kwargs: Any
    ) -> None:
        setattr_of_pytest(test_monkeypatch, target, name, *args, **kwargs)
        # Private: the replaced attributes, for which a target may be given as a text.
        owner, attribute, original = test_monkeypatch._setattr[-1]
        note(owner, attribute, original)

    if enter is not None:
        monkeypatch.setattr(patch_class, "__enter__", watching_enter)
    # Last, because this `monkeypatch` uses the method itself.
    monkeypatch.setattr(pytest.MonkeyPatch, "setattr", watching_setattr)


def install_proxy(
    owner: object,
    name: str,
    watch_target: Callable[[str], CallReplacement],
) -> None:
    """Put a proxy in front of a test's replacement for `get_model`; leave others as they are.

    Args:
        owner: the module that has the replacement.
        name: its name there.
        watch_target: returns the function that makes the calls of a target such as
            `app.get_model`.
    """
    if name not in GETTERS:
        return
    module = getattr(owner, "__name__", "")
    call = watch_target(f"{module}.{name}")
    setattr(owner, name, _CallProxy(getattr(owner, name), call))


class LearnedModels:
    """Records the models that each test requests from its patches.

    Args:
        path: the file to which a line of JSON is appended for each patch of a test.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._models: dict[str, list[str]] = {}
        self._returned_models = _ReturnedModels()

    @reporting_hook(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Record the models of one test."""
        self._models = {}
        self._returned_models = _ReturnedModels()
        with pytest.MonkeyPatch.context() as monkeypatch:
            watch_replacements(monkeypatch, self._note_replacement)
            result = yield
        classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
        # All parameters of a test are one function of the source code.
        function = getattr(item, "originalname", None) or item.name
        test = "::".join([*classes, function])
        lines = []
        calls = self._returned_models.count_calls()
        errors = self._returned_models.errors
        for target, models in self._models.items():
            row = {
                "path": str(item.path),
                "test": test,
                "target": target,
                "models": models,
                "calls": calls,
                "errors": errors,
            }
            # Counted once for all targets.
            calls = calls and 0
            errors = 0
            lines.append(json.dumps(row) + "\n")
        # Appended to, because several workers of pytest-xdist may write.
        with open(self._path, "a", encoding="utf-8") as file:
            file.write("".join(lines))
        return result

    def _note_replacement(self, owner: object, name: str, original: object) -> None:
        if original is sys.modules.get("llm"):
            # The models of a mock of the whole library are not watched.
            self._returned_models.is_complete = False
        install_proxy(owner, name, self._watch_target)

    def _watch_target(self, target: str) -> CallReplacement:
        names = self._models.setdefault(target, [])
        returned_models = self._returned_models

        def call(replacement: Double, args: Arguments, kwargs: Keywords) -> object:
            name = args[0] if args else kwargs.get("name")
            if isinstance(name, str):
                names.append(name)
            try:
                model = replacement(*args, **kwargs)
            except Exception:
                returned_models.errors += 1
                raise
            returned_models.add(model)
            return model

        return call


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin; its file is named by an environment variable."""
    begin(config)
    config.pluginmanager.register(
        LearnedModels(os.environ[FILE_VARIABLE]), "llm_mock_learned_models"
    )
