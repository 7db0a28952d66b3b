"""Runs a test that is marked `llm_mock_repeat` several times; it passes where enough of its runs do."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import TypedDict

import pytest

from llm_mock.plugin.call_collector import SHIPPED
from llm_mock.plugin.failures import MESSAGE, message_of
from llm_mock.plugin.guard import deciding_hook
from llm_mock.plugin.marker_checks import WRONG_MARKERS, repeats_wanted
from llm_mock.plugin.stash import PASS_RATE
from llm_mock.report.calls import sum_properties
from llm_mock.suites.pass_rates import PassRate, format_percent
from llm_mock.support.text import format_columns, shorten_name

MARKER = "llm_mock_repeat"
REPEATS = "llm_mock_repeats"
"""The attribute of the report of a test's call with its `Repeats`, which travels from a worker."""
SHOWN_FAILURES = 5
_ROUNDING = 1e-9


class Failure(TypedDict):
    """A run that failed."""

    run: int
    """From 1."""
    message: str | None
    duration_s: float


class Repeats(TypedDict):
    """What came of the runs of a test: plain values."""

    runs: int
    passed: int
    threshold: float
    """The share that must pass."""
    failures: list[Failure]


def _fail_test(
    fault: str, repeating: object, item: pytest.Item, nextitem: pytest.Item | None
) -> None:
    """Have pytest run a test once, as any other, and fail it."""
    item.stash[WRONG_MARKERS] = fault


class RepeatingTests:
    """A pytest plugin that runs marked tests as often as is wanted, with one outcome for all runs of a test.

    Every run has fixtures of its own, those of a wider scope are shared. A run in which a fixture has an error is the
    outcome of the test, whatever the others are; one that is skipped, or expected to fail, is so where no run failed.

    Args:
        times: how often, before what the markers say; None is as they say, else once.
    """

    def __init__(self, times: int | None) -> None:
        self._times = times

    @deciding_hook(_fail_test, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        mark = item.get_closest_marker(MARKER)
        if mark is None or item.stash.get(WRONG_MARKERS, None):
            return None
        times, threshold = repeats_wanted(mark)
        times = self._times or times or 1
        if times == 1:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in _one_outcome(list(_runs(item, nextitem, times)), threshold):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True


Run = Sequence[pytest.TestReport]
"""The reports of one run: of its setup, its call if there was one, and its teardown."""


def _runs(item: pytest.Item, nextitem: pytest.Item | None, times: int) -> Iterator[Run]:
    from _pytest.runner import runtestprotocol

    # pytest's private list of what a test printed. Without it, a run shows what those before it printed, too.
    captured = getattr(item, "_report_sections", [])
    sections, properties = list(captured), list(item.user_properties)
    for number in range(1, times + 1):
        captured[:], item.user_properties[:] = sections, properties
        if number > 1 and isinstance(
            item.parent, pytest.Class
        ):  # each run is made by an instance of its own
            vars(item).pop(
                "_instance", None
            )  # which pytest before 8.2 has in the bound method alone
            item._obj = None  # type: ignore[attr-defined]
        # another item beside this one: what is torn down is this test, and nothing that it shares with others
        yield runtestprotocol(
            item, log=False, nextitem=nextitem if number == times else copy.copy(item)
        )


def _one_outcome(runs: Sequence[Run], threshold: float) -> Run:
    """The reports of the test: those of one run, which have what came of the others."""
    passed = [run for run in runs if all(report.passed for report in run)]
    failed = [run for run in runs if any(report.failed for report in run)]
    others = [run for run in runs if not all(map(_is_counted, run))]
    other = next((run for run in others if run in failed or not failed), None)
    enough = len(passed) / len(runs) >= threshold - _ROUNDING
    chosen = other or (passed[-1] if enough else failed[-1])
    failures: list[Failure] = [
        {"run": number, "message": message_of(run[1]), "duration_s": round(run[1].duration, 6)}
        for number, run in enumerate(runs, start=1)
        if run in failed
    ]
    _carry(runs, chosen)
    if other is None and any(
        report.when == "call" for report in chosen
    ):  # with --setup-only nothing is called
        _tell(
            chosen,
            {
                "runs": len(runs),
                "passed": len(passed),
                "threshold": threshold,
                "failures": failures,
            },
        )
    return chosen


def _is_counted(report: pytest.TestReport) -> bool:
    """Whether a report says of the application that it did or did not do what it should."""
    return (report.passed or (report.failed and report.when == "call")) and not hasattr(
        report, "wasxfail"
    )


def _carry(runs: Sequence[Run], chosen: Run) -> None:
    """Have the reports of the chosen run hand on what the others took, and their calls."""
    for report in chosen:
        report.duration = sum(
            other.duration for run in runs for other in run if other.when == report.when
        )
    teardown = chosen[-1]
    shipped = [each for run in runs if (each := getattr(run[-1], SHIPPED, None))]
    if shipped:
        setattr(teardown, SHIPPED, shipped)
    teardown.user_properties = sum_properties(
        [run[-1].user_properties for run in runs], teardown.user_properties
    )
    if hasattr(chosen[1], "llm_mock_used"):
        from llm_mock.plugin.budget import merge_usage

        others = [report for run in runs if run is not chosen for report in run]
        setattr(chosen[1], "llm_mock_used", merge_usage([chosen[1], *others]))  # noqa: B010 (no attribute to mypy)


def _tell(chosen: Run, repeats: Repeats) -> None:
    """Have the reports of the chosen run say what came of all."""
    _, call, teardown = chosen
    setattr(call, REPEATS, repeats)
    teardown.user_properties.append((PASS_RATE, str(PassRate(repeats["passed"], repeats["runs"]))))
    if call.passed:
        return
    short = f"{_rate(repeats)}, and {format_percent(repeats['threshold'])} must"
    call.sections.append(("Repeated runs", "\n".join([f"{short}:", *_failures(repeats)])))
    if (crash := getattr(call.longrepr, "reprcrash", None)) is not None:
        crash.message = f"{short}: {crash.message}"
        setattr(call, MESSAGE, message_of(call))


def _rate(repeats: Repeats) -> str:
    return f"{repeats['passed']} of {repeats['runs']} runs passed ({format_percent(repeats['passed'] / repeats['runs'])})"


def _failures(repeats: Repeats) -> Iterator[str]:
    for failure in repeats["failures"][:SHOWN_FAILURES]:
        said = shorten_name((failure["message"] or "").partition("\n")[0])
        yield f"  run {failure['run']} failed: {said}"
    if (more := len(repeats["failures"]) - SHOWN_FAILURES) > 0:
        yield f"  … {more:,} more failed"


def table(found: Iterable[tuple[str, Repeats]]) -> str:
    """The tests that were repeated, each with its pass rate, and which of its runs failed."""
    known = sorted(found, key=itemgetter(0))
    rows = [("test", "passed", "rate", "95% interval", "at least")]
    for test, repeats in known:
        rate = PassRate(repeats["passed"], repeats["runs"])
        shown = (
            f"{rate.passed} of {rate.runs}",
            format_percent(rate.share),
            " to ".join(map(format_percent, rate.interval)),
        )
        rows.append((shorten_name(test), *shown, format_percent(repeats["threshold"])))
    head, *lines = format_columns(rows, leading=1)
    with_failures = (
        [line, *_failures(repeats)] for line, (_, repeats) in zip(lines, known, strict=True)
    )
    return "\n".join([head, *chain.from_iterable(with_failures)])
