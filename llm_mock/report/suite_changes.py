"""What changed against a baseline, in words, for the terminal, Markdown and the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from llm_mock.report.suite_document import full_name, suite_name
from llm_mock.report.suite_grid import decimal_of
from llm_mock.suites.matrix import case_name, variant_name
from llm_mock.support.text import dollars, short_seconds

KINDS = ("broke", "mended", "new", "gone")


class Change(NamedTuple):
    """A case that is not as it was."""

    kind: str
    """One of `KINDS`."""
    name: str
    """The case, with its variant."""
    remark: str
    """What it was, or what a new one is."""


def changes(suite: dict[str, Any]) -> Iterator[Change]:
    """The cases of a suite that are not as they were; none is said to be new where all are."""
    for case in suite["cases"]:
        kind, before = case["baseline"]["change"], case["baseline"]["status"]
        if kind == "new" and suite["baseline"] is not None:
            yield Change(kind, full_name(suite, case), case["status"])
        elif kind in KINDS and kind != "new":
            yield Change(kind, full_name(suite, case), f"{before} before")
    for name in (suite["baseline"] or {}).get("gone", ()):
        yield Change("gone", case_name(name, variant_name(suite["variant"])), "")


def headline(suite: dict[str, Any]) -> str:
    """How many cases changed, and what the ones that are there both times cost and take."""
    name, baseline = suite_name(suite), suite["baseline"]
    if baseline is None:
        return f"{name}: no earlier result, all cases are new"
    kinds = [change.kind for change in changes(suite)]
    same = sum(case["baseline"]["change"] == "same" for case in suite["cases"])
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in KINDS if kind in kinds)
    text = f"{name}: {f'{counts}, ' if counts else ''}{same} as before"
    if baseline["dry_run"] != suite["dry_run"]:
        now, before = ("dry", "live") if suite["dry_run"] else ("live", "dry")
        return f"{text}; cost and time are not compared, as this run is {now} and that one was {before}"
    differences = "" if suite["dry_run"] else ", ".join(_differences(suite["baseline"]))
    return "; ".join(filter(None, (text, differences)))


def _differences(baseline: dict[str, Any]) -> Iterator[str]:
    """What is different in cost and time, of a live run: a dry one costs nothing, and its time says nothing."""
    cases = baseline["compared"]
    if baseline["cost_usd"]:
        yield _difference("cost", baseline["cost_usd"], lambda cost: dollars(decimal_of(cost)))
    if baseline["duration_s"] and cases:
        yield _difference("time per case", baseline["duration_s"], lambda duration: short_seconds(duration / cases))


def _difference(what: str, sums: dict[str, float], shown: Callable[[float], str]) -> str:
    before, now = sums["before"], sums["now"]
    share = f" ({100 * (now / before - 1):+.0f}%)" if before else ""
    return f"{what} {shown(now)}, before {shown(before)}{share}"
