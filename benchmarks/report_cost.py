"""The cost of a report: for a call, for writing 10,000 calls, and for opening them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from table import Row, compared
from timing import best_times

from llm_mock import create_mock_get_model

TESTS, CALLS_OF_A_TEST = 1_000, 10
ROUNDS = 3
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

SUITE = f"""
import llm, pytest
from pydantic import BaseModel

class Plan(BaseModel):
    name: str
    steps: list[str]

@pytest.mark.parametrize("number", range({TESTS}))
def test_it(number, mock_llm_responses):
    mock_llm_responses.set("gpt-4o-mini", {{"name": "plan", "steps": ["fetch the page", "write the file"] * 5}})
    model = llm.get_model("gpt-4o-mini")
    talk = model.conversation()
    for turn in range({CALLS_OF_A_TEST // 2}):
        talk.prompt(f"Question {{turn}} of test {{number}}. " + "Some context. " * 40, system="Be brief").text()
        model.prompt(f"Plan number {{turn}} of {{number}}. " + "Another context. " * 30, schema=Plan).text()
"""  # noqa: E501


PAINTED = (
    "new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))"
)
"""The milliseconds since the navigation began, once the list was painted."""


def rows() -> Iterator[Row]:
    """Yield the rows of the table."""
    times = best_times({"kept": _one_call(True), "plain": _one_call(False)}, turns=20)
    yield compared(
        "a call that is kept for a report", times["kept"], "without a report", times["plain"]
    )
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        with_report = _seconds_of_a_run(Path(folder), f"--llm-mock-report={page}")
        without = _seconds_of_a_run(Path(folder))
        calls = TESTS * CALLS_OF_A_TEST
        megabytes = page.stat().st_size / 1e6
        yield Row(
            f"a run of {TESTS:,} tests with {calls:,} calls and a report ({megabytes:.1f} MB)",
            f"{with_report:.1f} s",
            f"without a report: {without:.1f} s",
            with_report / without,
        )
        yield _opening_row(page, calls)


def _one_call(kept: bool) -> Any:
    def make() -> Any:
        mock = create_mock_get_model({"m": "Hello"})
        if kept:
            mock.history.keep_log(detailed=True)
        model = mock("m")
        return lambda: model.prompt("Hi").text()

    return make


def _seconds_of_a_run(folder: Path, *arguments: str) -> float:
    Path(folder, "test_it.py").write_text(SUITE)
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "LLM_LOAD_PLUGINS": ""}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "llm_mock.pytest_plugin",
        "-p",
        "no:cacheprovider",
        *arguments,
    ]
    start = perf_counter()
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    return perf_counter() - start


def _opening_row(page: Path, calls: int) -> Row:
    """From the start of the navigation until the list of tests answers keys and clicks."""
    what = f"opening the report of {calls:,} calls, until its list can be used"
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return Row(what, "not measured: playwright is not installed", goal="< 2 s")
    if browser is None:
        return Row(what, "not measured: there is no chromium", goal="< 2 s")
    seconds = []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        version = started.version
        for _ in range(ROUNDS):
            tab = started.new_page()
            tab.goto(page.as_uri())
            while not tab.evaluate("document.documentElement.dataset.ready"):
                pass
            seconds.append(float(tab.evaluate(PAINTED)) / 1000)
            tab.close()
        started.close()
    return Row(what, f"{min(seconds):.2f} s (chromium {version.split('.')[0]})", goal="< 2 s")
