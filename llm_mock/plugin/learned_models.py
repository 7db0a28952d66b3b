"""Sees which models the old mocks of a test are asked for; `llm-mock migrate --learn` loads it into a run of pytest.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from llm_mock.migrate.model_discovery import FILE_VARIABLE
from llm_mock.migrate.targets import GETTERS
from llm_mock.plugin.guard import begin, reporting_hook


class _Watched:
    """Stands in front of what a test put in the place of `get_model`, and remembers how it is called."""

    def __init__(self, replacement: Any, models: list[str]) -> None:
        self.__dict__["_llm_mock_watched"] = replacement
        self.__dict__["_llm_mock_models"] = models

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = args[0] if args else kwargs.get("name")
        if isinstance(name, str):
            self._llm_mock_models.append(name)
        return self._llm_mock_watched(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_llm_mock_watched"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._llm_mock_watched, name, value)


class LearnedModels:
    """Watches the patches of each test while it runs."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._models: dict[str, list[str]] = {}

    @reporting_hook(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._models = {}
        with pytest.MonkeyPatch.context() as patched:
            self._watch(patched)
            result = yield
        names = [
            part.name
            for part in item.listchain()
            if isinstance(part, (pytest.Class, pytest.Function))
        ]
        test = "::".join([*names[:-1], getattr(item, "originalname", None) or item.name])
        lines = [
            json.dumps({"path": str(item.path), "test": test, "target": target, "models": models})
            + "\n"
            for target, models in self._models.items()
        ]
        with open(self._path, "a", encoding="utf-8") as file:
            file.write("".join(lines))
        return result

    def _watch(self, patched: pytest.MonkeyPatch) -> None:
        # Private: `unittest.mock.patch` makes objects of this class alone. Without it its patches are not watched.
        patch_class: Any = getattr(mock, "_patch", None)
        enter: Any = getattr(patch_class, "__enter__", None)
        setattr_of_pytest = pytest.MonkeyPatch.setattr

        def watching_enter(patch: Any) -> Any:
            given = enter(patch)
            self._put(patch.target, patch.attribute)
            return given

        def watching_setattr(
            monkeypatch: Any, target: Any, name: Any, *args: Any, **kwargs: Any
        ) -> None:
            setattr_of_pytest(monkeypatch, target, name, *args, **kwargs)
            if isinstance(target, str):
                import importlib

                owner, _, attribute = target.rpartition(".")
                self._put(
                    importlib.import_module(owner), attribute
                ) if attribute in GETTERS else None
            else:
                self._put(target, name)

        if enter is not None:
            patched.setattr(patch_class, "__enter__", watching_enter)
        patched.setattr(pytest.MonkeyPatch, "setattr", watching_setattr)

    def _put(self, owner: Any, name: Any) -> None:
        if name not in GETTERS:
            return
        models = self._models.setdefault(f"{getattr(owner, '__name__', '')}.{name}", [])
        setattr(owner, name, _Watched(getattr(owner, name), models))


def pytest_configure(config: pytest.Config) -> None:
    begin(config)
    config.pluginmanager.register(
        LearnedModels(os.environ[FILE_VARIABLE]), "llm_mock_learned_models"
    )
