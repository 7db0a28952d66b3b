"""Runs old tests once, to see which models they ask for: that is not in their source."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

PLUGIN = "llm_mock.plugin.learned_models"
FILE_VARIABLE = "LLM_MOCK_LEARNED"
"""Names the file to which each test adds lines, one for each patch: `{"path", "test", "target", "models"}`."""


class DiscoveredModels:
    """The models that tests asked their old mocks for, in order.

    Attributes:
        problem: why nothing, or not everything, was learned; None where the tests passed.
    """

    def __init__(self, models: dict[tuple[str, str, str], list[str]] | None = None, problem: str | None = None) -> None:
        self._models = models or {}
        self.problem = problem

    def ids_of(self, path: Path, test: str, target: str) -> Sequence[str]:
        """What a test asked a patched target for, such as `app.get_model`; nothing where that is not known."""
        getter = target.rpartition(".")[2]
        found = [
            models
            for (file, name, patched), models in self._models.items()
            if (file, name) == (str(path), test) and (patched == target or patched.rpartition(".")[2] == getter)
        ]
        if not any((file, name) == (str(path), test) for file, name, _ in self._models):
            return self._ids_of_fixture(path, target)
        exact = self._models.get((str(path), test, target))
        return exact if exact is not None else found[0] if len(found) == 1 else ()

    def _ids_of_fixture(self, path: Path, target: str) -> Sequence[str]:
        """What the tests of a file asked a target for, where it is one model: a fixture may have patched it."""
        asked: set[str] = set()
        for (file, _, patched), models in self._models.items():
            asked |= set(models) if (file, patched) == (str(path), target) else set()
        return tuple(asked) if len(asked) == 1 else ()


def discover_models(paths: Sequence[Path]) -> DiscoveredModels:
    """Run the tests of some files with pytest, and remember what they ask for."""
    with tempfile.TemporaryDirectory(prefix="llm-mock-") as folder:
        file = Path(folder) / "learned"
        file.touch()
        command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", PLUGIN, *map(str, paths)]
        process = subprocess.run(
            command, env={**os.environ, FILE_VARIABLE: str(file)}, capture_output=True, text=True, check=False
        )
        models: dict[tuple[str, str, str], list[str]] = {}
        for line in file.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            models.setdefault((entry["path"], entry["test"], entry["target"]), []).extend(entry["models"])
    last = (process.stdout.strip() or process.stderr.strip() or "no output").splitlines()[-1]
    problem = f"pytest ended with exit code {process.returncode}: {last}" if process.returncode else None
    return DiscoveredModels({key: list(dict.fromkeys(names)) for key, names in models.items()}, problem)
