"""Read which models the old tests requested when they ran."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

FILE_VARIABLE = "LLM_MOCK_LEARNED"
"""The variable that names the file to which the plugin appends a JSON line for each patch.

The keys of a line are `path`, `test`, `target`, `models`, `calls` (the number of prompts, or None
if it is unknown) and `errors` (the number of errors that were raised in place of a model).
"""


class PatchedTarget(NamedTuple):
    """A target that a test patches."""

    path: str
    test: str
    target: str


class DiscoveredModels:
    """The models that tests requested from their old mocks, in order.

    Attributes:
        problem: why discovery is incomplete; None if all tests passed.
    """

    def __init__(
        self,
        models: Mapping[PatchedTarget, list[str]] | None = None,
        problem: str | None = None,
    ) -> None:
        self._models = models or {}
        self.problem = problem

    def get_requested_models(self, path: Path, test: str, target: str) -> Sequence[str]:
        """Return the models that a test requested from a target such as `app.get_model`."""
        in_test = {
            key.target: models
            for key, models in self._models.items()
            if (key.path, key.test) == (str(path), test)
        }
        if not in_test:
            return self._get_fixture_models(path, target)
        if target in in_test:
            return in_test[target]
        # The source may use another name for the module than its __name__.
        getter = target.rpartition(".")[2]
        candidates = [
            models for patched, models in in_test.items() if patched.rpartition(".")[2] == getter
        ]
        if len(candidates) == 1:
            return candidates[0]
        return ()

    def _get_fixture_models(self, path: Path, target: str) -> Sequence[str]:
        """Return the one model that all tests of a file request from a fixture's patch."""
        requested: set[str] = set()
        for key, models in self._models.items():
            if key.path == str(path) and key.target == target:
                requested.update(models)
        # With several models it is unknown which test requests which.
        if len(requested) == 1:
            return tuple(requested)
        return ()


class OldCalls(NamedTuple):
    """The calls that the old mocks of a test received.

    Attributes:
        number: the number of prompts; None if it is unknown.
        errors: the number of errors that were raised in place of a model.
    """

    number: int | None = 0
    errors: int = 0


def read_models(
    file: Path,
) -> tuple[dict[PatchedTarget, list[str]], dict[tuple[str, str], OldCalls]]:
    """Return the models of each target, and the calls of each test."""
    models: dict[PatchedTarget, list[str]] = {}
    calls: dict[tuple[str, str], OldCalls] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        names = entry.pop("models")
        number = entry.pop("calls")
        errors = entry.pop("errors")
        key = PatchedTarget(**entry)
        requested = models.setdefault(key, [])
        for name in names:
            if name not in requested:
                requested.append(name)
        known, known_errors = calls.get((key.path, key.test), OldCalls())
        total = None
        if known is not None and number is not None:
            total = known + number
        calls[key.path, key.test] = OldCalls(total, known_errors + errors)
    return models, calls
