"""Compare tests of pytest with an earlier `--llm-mock-report=FILE.json`.

The tests of a file are compared as the cases of a suite; see `suite_baseline`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pydantic

from llm_mock.errors import InvalidFile
from llm_mock.report.document import VERSION
from llm_mock.report.suite_baseline import LARGEST_BASELINE, compare_with_baseline, parse_baseline
from llm_mock.report.suite_changes import format_changes, summarize_changes
from llm_mock.support import yaml_files
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import shorten_message, shorten_name

EXPECTED = "a baseline is written by `pytest --llm-mock-report=FILE.json`"
STATUS = {"passed": "passed", "xpassed": "passed", "failed": "failed", "error": "failed"}
"""The status of a case for the outcome of a test; that of others says nothing about models."""


class _Test(pydantic.BaseModel):
    id: str
    file: str
    outcome: str
    message: str | None
    duration_s: float
    repeats: dict[str, object] | None = None
    runs: list[dict[str, object]] = []


class _Report(pydantic.BaseModel):
    """The parts of an earlier report that are compared."""

    version: int
    tests: list[_Test]


@dataclass(frozen=True)
class RunBaseline:
    """The tests of an earlier report."""

    path: Path
    tests: Sequence[JSONObject]

    def compare(self, tests: Sequence[JSONObject]) -> JSONObject | None:
        """Return the tests as suites with what changed; None if no test is about models."""
        compared = {test["id"] for test in (*self.tests, *tests) if _is_about_models(test)}
        now = list(_group_by_file(test for test in tests if test["id"] in compared))
        if not now:
            return None
        before = list(_group_by_file(test for test in self.tests if test["id"] in compared))
        # Tests that were only left out of this run are not gone.
        return compare_with_baseline({"suites": now}, self.path, before, is_whole=False)


def format_comparison(compared: JSONObject) -> Iterator[str]:
    """Yield lines that say what changed."""
    yield f"Against {shorten_name(compared['baseline'])}:"
    for suite in compared["suites"]:
        yield shorten_message(summarize_changes(suite))
        for _, text in format_changes(suite):
            yield f"  {shorten_message(text)}"


def read_run_baseline(path: Path) -> RunBaseline:
    """Return the tests of an earlier report.

    Raises:
        InvalidFile: the file cannot be read or is not a report; the message names the line.
    """
    __tracebackhide__ = True
    data = parse_baseline(path, yaml_files.read(path, LARGEST_BASELINE), EXPECTED)
    try:
        report = _Report.model_validate(data)
    except pydantic.ValidationError:
        raise InvalidFile(f"{path}:1: the file is not a report of pytest; {EXPECTED}") from None
    if report.version != VERSION:
        problem = f"the report has version {report.version}, but version {VERSION} is expected"
        raise InvalidFile(f"{path}:1: {problem}; {EXPECTED}")
    return RunBaseline(path, data["tests"])


def _is_about_models(test: JSONObject) -> bool:
    """Return whether a test runs agents, is repeated or is in plain language."""
    return any(test.get(key) for key in ("runs", "repeats", "steps"))


def _group_by_file(tests: Iterable[JSONObject]) -> Iterator[JSONObject]:
    """Yield a suite for each file, with its tests as cases."""
    cases: dict[str, list[JSONObject]] = {}
    for test in tests:
        cases.setdefault(test["file"], []).append(_convert_test(test))
    for file, cases_of_file in cases.items():
        yield {
            "suite": file,
            "file": file,
            "variant": None,
            "dry_run": False,
            "cases": cases_of_file,
        }


def _convert_test(test: JSONObject) -> JSONObject:
    """Return a test as the case of a suite; one that was skipped or interrupted was not run."""
    status = STATUS.get(test["outcome"], "not run")
    if test["outcome"] == "skipped" and "not checked:" in (test["message"] or ""):
        status = "not checked"
    attempts = []
    if status != "not run":
        costs = [run["cost_usd"] for run in test.get("runs", ())]
        cost = sum(costs) if costs and None not in costs else None
        attempts = [{"cost_usd": cost, "score": None}]
    return {
        "name": test["id"].partition("::")[2] or test["id"],
        "status": status,
        "duration_s": test["duration_s"],
        "repeats": test.get("repeats"),
        "attempts": attempts,
    }
