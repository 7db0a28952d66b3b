"""Tests that did not run to their end, and tests that ran more than once, in the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

MODULE = """
import llm, pytest

@pytest.fixture
def broken():
    {setup}
    yield
    {teardown}

def test_before(): ...

def test_it(broken):
    llm.get_model("m").prompt("Hi").text()
    {call}

def test_after(): ...
"""


OPTIONS = "-p", "no:randomly", "--llm-mock-report=r.json", "--llm-mock-report=r.html"


def reported(pytester: pytest.Pytester, *arguments: str) -> list[dict[str, Any]]:
    pytester.runpytest_inprocess(*OPTIONS, *arguments, no_reraise_ctrlc=True)
    return read_tests()


def read_tests() -> list[dict[str, Any]]:
    """Return the tests of the report."""
    found: list[dict[str, Any]] = json.loads(Path("r.json").read_text())["tests"]
    return found


INTERRUPT = "raise KeyboardInterrupt", "KeyboardInterrupt"
RERUNS = ("-p", "rerunfailures", "--reruns", "2")
EXIT = "pytest.exit('enough')", "pytest.exit: enough"


@pytest.mark.parametrize(
    ("phase", "calls", "statement", "reason", "reruns"),
    [
        ("setup", 0, *INTERRUPT, ()),
        ("call", 1, *EXIT, ()),
        ("teardown", 1, *INTERRUPT, ()),
        ("setup", 0, *EXIT, RERUNS),
        ("call", 1, *INTERRUPT, RERUNS),
    ],
)
def test_a_test_that_was_interrupted_has_not_passed(
    pytester: pytest.Pytester,
    phase: str,
    statement: str,
    reason: str,
    calls: int,
    reruns: tuple[str, ...],
) -> None:
    if reruns:
        pytest.importorskip("pytest_rerunfailures")
    phases = {"setup": "pass", "call": "pass", "teardown": "pass", phase: statement}
    pytester.makepyfile(MODULE.format(**phases))
    before, interrupted = reported(pytester, *reruns)
    assert before["outcome"] == "passed"
    assert interrupted["id"].endswith("::test_it")
    assert (interrupted["outcome"], interrupted["message"]) == (
        "interrupted",
        f"Interrupted by {reason}",
    )
    assert len(interrupted["calls"]) == calls
    document = json.loads(Path("r.json").read_text())
    assert document["outcomes"] == {"passed": 1, "interrupted": 1}
    assert document["outside_tests"] == []
    assert "interrupted" in Path("r.html").read_text()


def test_the_calls_of_a_worker_that_was_interrupted_are_there_once(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        MODULE.format(setup="pass", call="raise KeyboardInterrupt", teardown="pass")
    )
    # No worker replaces the one that ends: it would run nothing but `test_after`.
    before, interrupted, *_ = reported(pytester, "-n", "1", "--max-worker-restart=0")
    assert (before["outcome"], interrupted["outcome"]) == (
        "passed",
        "error",
    )  # xdist takes it for a crash
    assert [call["number"] for call in interrupted["calls"]] == [1]


def test_a_test_that_failed_before_it_was_interrupted_stays_failed(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        MODULE.format(setup="pass", call="assert False", teardown="raise KeyboardInterrupt")
    )
    # A process of its own, so that one interruption ends a real one.
    result = pytester.runpytest_subprocess(*OPTIONS)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert [test["outcome"] for test in read_tests()] == ["passed", "failed"]


FAILS_AT_FIRST = """
runs = []

def run(passes):
    runs.append(1)
    assert len(runs) > passes, f"run {len(runs)}"
"""


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_a_test_that_runs_again_is_one_test_with_its_reruns(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytest.importorskip("pytest_rerunfailures")
    phases = ("setup", "call", "teardown")
    for phase in phases:
        for passes in (2, 9):
            code = {each: f"run({passes})" if each == phase else "pass" for each in phases}
            pytester.path.joinpath(f"test_{phase}_{passes}.py").write_text(
                FAILS_AT_FIRST + MODULE.format(**code)
            )
    found = {test["id"]: test for test in reported(pytester, *RERUNS, *workers)}
    assert len(found) == 18
    for phase in phases:
        for passes, outcome in ((2, "passed"), (9, "failed")):
            before, test, after = (
                found[f"test_{phase}_{passes}.py::test_{name}"]
                for name in ("before", "it", "after")
            )
            failed = outcome if outcome == "passed" or phase == "call" else "error"
            assert (test["outcome"], before["outcome"], after["outcome"]) == (
                failed,
                "passed",
                "passed",
            )
            assert ["run 1" in run["message"] for run in test["reruns"]] == [True, False]
            assert "run 2" in test["reruns"][1]["message"]
            assert (test["traceback"] is None) == (outcome == "passed")
            made = 3 if phase != "setup" else int(outcome == "passed")
            assert [call["number"] for call in test["calls"]] == list(range(1, made + 1))
            assert "reruns" not in before
