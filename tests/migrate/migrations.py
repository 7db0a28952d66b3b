"""Migrations in tests, which start pytest to verify the new tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest


def load_few_plugins(monkeypatch: pytest.MonkeyPatch, *others: str) -> None:
    """Have pytest load only this plugin and others: importing all is most of what a run takes."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    plugins = ("llm_mock.pytest_plugin", *others)
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-p {plugin}" for plugin in plugins))


@dataclass(frozen=True)
class Migrated:
    """A folder after its migration, and the lines that the command printed."""

    folder: Path
    lines: list[str]

    def list_lines(self, path: str) -> list[str]:
        """Return what was printed of a file."""
        return [line for line in self.lines if line.startswith(f"{path}:")]

    def read(self, path: str) -> str:
        """Return the text of a file."""
        return (self.folder / path).read_text()
