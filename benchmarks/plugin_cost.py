"""The cost of the plugin for tests without model calls: its import and its fixtures."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from environment import environment
from table import Row

IMPORTS = 25
TESTS = (200, 400)
PLUGIN = "llm_mock.pytest_plugin"
PEER = "pytest_recording.plugin"
"""pytest-recording: a plugin that imports what it needs in its fixtures."""

EMPTY_FIXTURE = """
import pytest

@pytest.fixture(autouse=True)
def empty():
    yield
"""

FIXTURE_ONLY = f"""
import pytest

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    config.pluginmanager.unregister(name="{PLUGIN}")
"""


def rows() -> Iterator[Row]:
    """Yield the rows of the table."""
    yield _import_row()
    yield from _fixture_rows()


def _import_row() -> Row:
    what, goal = "importing and starting the plugin, on top of pytest", "none; ≤ 3"
    with tempfile.TemporaryDirectory() as folder:
        runs = [(_import(PLUGIN, folder), _import(PEER, folder)) for _ in range(IMPORTS)]
    ours, loaded = min(ours for ours, _ in runs if ours)
    text = f"{ours * 1e3:.1f} ms; of llm, pydantic, yaml, openai it loads {', '.join(loaded) or 'none'}"  # noqa: E501
    if runs[0][1] is None:
        return Row(what, text, "pytest-recording: not installed", goal=goal)
    theirs = min(other[0] for _, other in runs if other)
    return Row(
        what,
        text,
        f"pytest-recording {version('pytest-recording')}: {theirs * 1e3:.1f} ms",
        ours / theirs,
        goal,
    )


def _import(plugin: str, folder: str) -> tuple[float, list[str]] | None:
    """Return the import time of a plugin in seconds and the large libraries it loads, or None."""
    found = json.loads(_run("probe_import.py", Path(folder), plugin, folder))
    return None if found is None else (found[0], found[1])


def _fixture_rows() -> Iterator[Row]:
    nothing = calls_per_test("")
    empty = calls_per_test(EMPTY_FIXTURE) - nothing
    beside = f"empty autouse fixture: {empty:.0f} calls"
    for what, conftest, goal in (
        ("whole plugin", "", "≤ 1.3"),
        ("its fixture alone", FIXTURE_ONLY, ""),
    ):
        ours = calls_per_test(conftest, "-p", PLUGIN) - nothing
        yield Row(
            f"Python calls added to a test, {what}", f"{ours:.0f} calls", beside, ours / empty, goal
        )


def calls_per_test(conftest: str, *arguments: str) -> float:
    """Count the Python calls that pytest makes for one more empty test.

    Args:
        conftest: the source of the conftest file.
        arguments: further arguments for pytest.
    """
    few, many = (_calls(number, conftest, arguments) for number in TESTS)
    return (many - few) / (TESTS[1] - TESTS[0])


def _calls(tests: int, conftest: str, arguments: tuple[str, ...]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        source = "".join(f"def test_{number:04}(): pass\n" for number in range(tests))
        Path(folder, "test_empty.py").write_text(source)
        Path(folder, "conftest.py").write_text(conftest)
        return int(
            _run("probe_calls.py", Path(folder), "-qq", "-p", "no:cacheprovider", *arguments)
        )


def _run(probe: str, folder: Path, *arguments: str) -> str:
    """Return the last line of a probe, which sees the named plugins only and caches bytecode."""
    command = [sys.executable, str(Path(__file__).with_name(probe)), *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True
    )
    if not done.stdout:
        raise RuntimeError(f"{probe} printed nothing:\n{done.stderr}")
    return done.stdout.splitlines()[-1]
