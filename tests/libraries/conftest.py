"""An environment without keys and settings, the tripwire, and the outcome of each cell.

The path in the variable `LIBRARY_RESULTS` is where the outcomes are written, as JSON.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.libraries.catalogue import read_libraries
from tests.tripwire import TRIPWIRE

KEYS = re.compile(r"_(API_KEY|TOKEN|KEY_ID|ACCESS_KEY|BASE_URL|API_BASE|ENDPOINT)$|^AWS_|^HF_TOKEN")
"""Variables that would lead a library to a real account."""
RESULTS = os.environ.get("LIBRARY_RESULTS")
LIBC_NOTES = os.environ.get("TRIPWIRE")
"""The path of the file to which the shim of libc writes, where it is preloaded."""


@pytest.fixture(autouse=True, scope="session")
def _new_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the libraries an empty home and neither a key nor an address."""
    with pytest.MonkeyPatch.context() as patch:
        for name in filter(KEYS.search, [*os.environ]):
            patch.delenv(name)
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(autouse=True)
def _nothing_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a cell that looks up a host or connects to one. Files are written to a new folder."""
    monkeypatch.chdir(tmp_path)
    TRIPWIRE.tripped.clear()
    before = read_libc_notes()
    yield
    assert TRIPWIRE.tripped == []
    assert read_libc_notes()[len(before) :] == []


def read_libc_notes() -> list[str]:
    """Return what the shim of libc saw leave this machine so far."""
    if LIBC_NOTES is None or not Path(LIBC_NOTES).exists():
        return []
    return Path(LIBC_NOTES).read_text(encoding="utf-8").splitlines()


def pytest_configure(config: pytest.Config) -> None:
    """Collect the outcomes where they are wanted."""
    if RESULTS:
        config.pluginmanager.register(Results(Path(RESULTS)), "library-results")


class Results:
    """Write the outcome of each cell, and the versions of the libraries.

    Args:
        path: The file that is written at the end of the run.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cells: dict[str, dict[str, str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the worst outcome of the phases of a cell."""
        cell: Any = dict(report.user_properties).get("cell")
        if cell is None or (report.when != "call" and report.passed):
            return
        name, capability = cell
        outcome = "fault" if hasattr(report, "wasxfail") else report.outcome
        cells = self._cells.setdefault(name, {})
        if cells.get(capability) != "failed":
            cells[capability] = outcome

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        document = {}
        for library in read_libraries():
            if library.name in self._cells:
                version = importlib.metadata.version(library.distributions[0])
                document[library.name] = {"version": version, "cells": self._cells[library.name]}
        self._path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
