"""Repeated tests: the marker `llm_mock_repeat` runs a test several times and counts its passes."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import TypedDict

import pytest

from llm_mock.plugin import PASS_RATE, WRONG_MARKERS
from llm_mock.plugin.call_collector import SHIPPED
from llm_mock.plugin.failures import MESSAGE, read_message
from llm_mock.plugin.guard import deciding_hook
from llm_mock.plugin.marker_checks import parse_repeat
from llm_mock.report.calls import sum_properties
from llm_mock.suites.pass_rates import PassRate, format_percent
from llm_mock.support.text import format_columns, shorten_name

MARKER = "llm_mock_repeat"
REPEATS = "llm_mock_repeats"
"""The attribute of the report of a test's call with its `Repeats`; a worker of xdist sends it."""
_USED = "llm_mock_used"
"""The attribute of a report with the amounts that `plugin.budget` counted."""
SHOWN_FAILURES = 5
"""The maximum number of failed runs in a message."""
_ROUNDING = 1e-9
"""The tolerance for shares such as 0.7, which floating-point numbers cannot represent exactly."""


class Failure(TypedDict):
    """A failed run of a repeated test."""

    run: int
    """From 1."""
    message: str | None
    duration_s: float


class Repeats(TypedDict):
    """The result of all runs of a test, in plain values that a worker can send."""

    runs: int
    passed: int
    threshold: float
    """The share of runs that must pass."""
    failures: list[Failure]


def _fail_test(
    fault: str, repeating: object, item: pytest.Item, nextitem: pytest.Item | None
) -> None:
    """Let pytest run a test once, and make it fail."""
    item.config.stash[WRONG_MARKERS][item.nodeid] = fault


class RepeatingTests:
    """A pytest plugin that repeats marked tests and reports one outcome for each.

    Every run has fixtures of its own; those of a wider scope are shared. If a fixture fails in one
    run, this is the outcome of the test. If a run is skipped or expected to fail, this is the
    outcome unless another run failed.

    Args:
        times: the number of runs, which overrides that of the markers; None leaves it to them.
    """

    def __init__(self, times: int | None) -> None:
        self._times = times

    @deciding_hook(_fail_test, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        """Run a marked test several times, and report one outcome."""
        mark = item.get_closest_marker(MARKER)
        if mark is None or item.nodeid in item.config.stash[WRONG_MARKERS]:
            return None
        times, threshold = parse_repeat(mark)
        times = self._times or times or 1
        if times == 1:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        runs = list(_run_repeatedly(item, nextitem, times))
        for report in _merge(runs, threshold):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True


Run = Sequence[pytest.TestReport]
"""The reports of one run: its setup, its call if there was one, and its teardown."""


def _run_repeatedly(item: pytest.Item, nextitem: pytest.Item | None, times: int) -> Iterator[Run]:
    """Run a test several times, and yield the reports of each run."""
    # Private, but the function that pytest-rerunfailures and others use; no public one runs a test.
    from _pytest.runner import runtestprotocol

    # pytest's private list of what a test printed. Without it, a run also shows what the runs
    # before it printed.
    captured = getattr(item, "_report_sections", [])
    sections, properties = list(captured), list(item.user_properties)
    for number in range(1, times + 1):
        captured[:], item.user_properties[:] = sections, properties
        if number > 1:
            new_instance(item)
        # With a sibling as the next item, pytest tears down this test, but no wider fixture.
        following = nextitem if number == times else copy.copy(item)
        yield runtestprotocol(item, log=False, nextitem=following)


def new_instance(item: pytest.Item) -> None:
    """Let a method run on a new instance of its class when it runs again."""
    if isinstance(item.parent, pytest.Class):
        # Private names. pytest before 8.2 keeps the instance only in the bound method `_obj`.
        vars(item).pop("_instance", None)
        item._obj = None  # type: ignore[attr-defined]


def _merge(runs: Sequence[Run], threshold: float) -> Run:
    """Return the reports of one run, completed by the results of the others."""
    passed = list(filter(_has_passed, runs))
    failed = list(filter(_has_failed, runs))
    uncounted = _first_uncounted(runs, failed)
    is_enough = len(passed) / len(runs) >= threshold - _ROUNDING
    chosen = uncounted or (passed if is_enough else failed)[-1]
    # Before the reports of the chosen run change.
    failures = _list_failures(runs, failed)
    _sum_reports(runs, chosen)
    # With --setup-only no test is called.
    was_called = any(report.when == "call" for report in chosen)
    if uncounted is None and was_called:
        _add_pass_rate(
            chosen,
            {
                "runs": len(runs),
                "passed": len(passed),
                "threshold": threshold,
                "failures": failures,
            },
        )
    return chosen


def _has_passed(run: Run) -> bool:
    return all(report.passed for report in run)


def _has_failed(run: Run) -> bool:
    return any(report.failed for report in run)


def _first_uncounted(runs: Sequence[Run], failed: Sequence[Run]) -> Run | None:
    """Return the first run that alone decides the outcome: an error, a skip or an expected failure.

    A skip or an expected failure decides only if no run failed.
    """
    for run in runs:
        if not all(map(_is_counted, run)) and (run in failed or not failed):
            return run
    return None


def _list_failures(runs: Sequence[Run], failed: Sequence[Run]) -> list[Failure]:
    failures: list[Failure] = []
    for number, run in enumerate(runs, start=1):
        if run in failed:
            # The second report: that of the call, or of a teardown after a failed setup.
            report = run[1]
            duration = round(report.duration, 6)
            failures.append(
                {"run": number, "message": read_message(report), "duration_s": duration}
            )
    return failures


def _is_counted(report: pytest.TestReport) -> bool:
    """Return whether a report is about the application: not an error, a skip or an xfail."""
    if hasattr(report, "wasxfail"):
        return False
    return report.passed or (report.failed and report.when == "call")


def _sum_reports(runs: Sequence[Run], chosen: Run) -> None:
    """Add the durations, calls and costs of all runs to the reports of the chosen one."""
    durations: defaultdict[str | None, float] = defaultdict(float)
    for report in chain.from_iterable(runs):
        durations[report.when] += report.duration
    for report in chosen:
        report.duration = durations[report.when]
    teardowns = [run[-1] for run in runs]
    teardown = chosen[-1]
    shipped = [getattr(other, SHIPPED, None) for other in teardowns]
    shipped = list(filter(None, shipped))
    if shipped:
        setattr(teardown, SHIPPED, shipped)
    properties = [other.user_properties for other in teardowns]
    teardown.user_properties = sum_properties(properties, teardown.user_properties)
    if hasattr(chosen[1], _USED):
        from llm_mock.plugin.budget import merge_usage

        other_runs = [run for run in runs if run is not chosen]
        reports = [chosen[1], *chain.from_iterable(other_runs)]
        setattr(chosen[1], _USED, merge_usage(reports))


def _add_pass_rate(chosen: Run, repeats: Repeats) -> None:
    """Add the result of all runs to the reports of the chosen one."""
    _, call, teardown = chosen
    setattr(call, REPEATS, repeats)
    rate = PassRate(repeats["passed"], repeats["runs"])
    teardown.user_properties.append((PASS_RATE, str(rate)))
    if call.passed:
        return
    summary = (
        f"{rate.passed} of {rate.runs} runs passed ({format_percent(rate.share)}); "
        f"at least {format_percent(repeats['threshold'])} must pass"
    )
    lines = [f"{summary}:", *_format_failures(repeats)]
    call.sections.append(("Repeated runs", "\n".join(lines)))
    crash = getattr(call.longrepr, "reprcrash", None)
    if crash is not None:
        crash.message = f"{summary}: {crash.message}"
        setattr(call, MESSAGE, read_message(call))


def _format_failures(repeats: Repeats) -> Iterator[str]:
    failures = repeats["failures"]
    for failure in failures[:SHOWN_FAILURES]:
        first_line = (failure["message"] or "").partition("\n")[0]
        yield f"  run {failure['run']} failed: {shorten_name(first_line)}"
    hidden_count = len(failures) - SHOWN_FAILURES
    if hidden_count > 0:
        yield f"  … {hidden_count:,} more failed"


def format_repeats(found: Iterable[tuple[str, Repeats]]) -> str:
    """Return a table of repeated tests: the pass rate and the failed runs of each.

    Args:
        found: the ids of the tests, each with its result.
    """
    tests = sorted(found, key=itemgetter(0))
    rows = [("test", "passed", "rate", "95% interval", "at least")]
    for test, repeats in tests:
        rate = PassRate(repeats["passed"], repeats["runs"])
        interval = " to ".join(map(format_percent, rate.interval))
        threshold = format_percent(repeats["threshold"])
        passed = f"{rate.passed} of {rate.runs}"
        rows.append((shorten_name(test), passed, format_percent(rate.share), interval, threshold))
    # All rows are formatted before the failures come between them, so that the columns align.
    head, *formatted_rows = format_columns(rows, leading=1)
    lines = [head]
    for row, (_, repeats) in zip(formatted_rows, tests, strict=True):
        lines += [row, *_format_failures(repeats)]
    return "\n".join(lines)
