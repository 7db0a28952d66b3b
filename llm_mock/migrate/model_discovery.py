"""Run old tests once to discover which models they request, which their source may not show."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

PLUGIN = "llm_mock.plugin.model_recorder"
FILE_VARIABLE = "LLM_MOCK_LEARNED"
"""The variable that names the file to which the plugin appends a JSON line for each patch.

The keys of a line are `path`, `test`, `target` and `models`.
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
        # The source may name the module otherwise than its __name__.
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


def discover_models(paths: Sequence[Path]) -> DiscoveredModels:
    """Run the tests of some files with pytest and return the models that they request."""
    with tempfile.TemporaryDirectory(prefix="llm-mock-") as folder:
        file = Path(folder) / "learned"
        file.touch()
        # In a process of its own: the tests may change or end it.
        process = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", PLUGIN, *map(str, paths)],
            env={**os.environ, FILE_VARIABLE: str(file)},
            capture_output=True,
            text=True,
            check=False,
        )
        models = _read_models(file)
    if process.returncode == 0:
        return DiscoveredModels(models)
    output = process.stdout.strip() or process.stderr.strip() or "no output"
    last_line = output.splitlines()[-1]
    problem = f"pytest ended with exit code {process.returncode}: {last_line}"
    return DiscoveredModels(models, problem)


def _read_models(file: Path) -> dict[PatchedTarget, list[str]]:
    models: dict[PatchedTarget, list[str]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        names = entry.pop("models")
        key = PatchedTarget(**entry)
        requested = models.setdefault(key, [])
        for name in names:
            if name not in requested:
                requested.append(name)
    return models
