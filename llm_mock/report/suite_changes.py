"""Describe the changes against a baseline in words, for the terminal, Markdown and the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from llm_mock.report.suite_document import format_full_name, suite_name
from llm_mock.report.suite_grid import to_decimal
from llm_mock.suites.matrix import format_case_name, format_variant_name
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import format_dollars, format_short_seconds

KINDS = ("broke", "fell", "unchecked", "mended", "lower", "new", "gone")
MAX_CASES = 50
"""The number of cases that are named for each kind of change."""


class Change(NamedTuple):
    """A case whose status changed.

    Attributes:
        kind: one of `KINDS`.
        name: the case, with its variant.
        remark: its earlier status, the values of a fall, or the status of a new case.
    """

    kind: str
    name: str
    remark: str


def describe_changes(document: JSONObject) -> JSONObject:
    """Return what changed in a compared document as JSON values, for the page."""
    suites = []
    for suite in document["suites"]:
        changes = [list(change) for change in list_changes(suite)]
        summary = summarize_changes(suite)
        suites.append({"summary": summary, "changes": changes})
    return {"file": document["baseline"], "suites": suites}


def list_changes(suite: JSONObject) -> list[Change]:
    """Return the changed cases of a suite, ordered by kind: what broke comes first."""
    return sorted(_find_changes(suite), key=lambda change: KINDS.index(change.kind))


def _find_changes(suite: JSONObject) -> Iterator[Change]:
    """Yield the changed cases of a suite; new ones only if some are not new."""
    baseline = suite["baseline"]
    for case in suite["cases"]:
        kind = case["baseline"]["change"]
        name = format_full_name(suite, case)
        if kind == "new" and baseline is not None:
            yield Change(kind, name, case["status"])
        elif kind == "fell":
            yield Change(kind, name, case["baseline"]["fall"])
        elif kind == "lower":
            yield Change(kind, name, f"{case['baseline']['fall']}, which may be chance")
        elif kind in ("broke", "unchecked", "mended"):
            yield Change(kind, name, f"{case['baseline']['status']} before")
    if baseline is not None:
        variant = format_variant_name(suite["variant"])
        for name in baseline["gone"]:
            yield Change("gone", format_case_name(name, variant), "")


def format_changes(suite: JSONObject) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each changed case of a suite, ordered by kind."""
    changes = list_changes(suite)
    for kind in KINDS:
        changes_of_kind = [change for change in changes if change.kind == kind]
        for change in changes_of_kind[:MAX_CASES]:
            if change.remark:
                remark = f" ({change.remark})"
            else:
                remark = ""
            yield kind, f"{kind}: {change.name}{remark}"
        left = len(changes_of_kind) - MAX_CASES
        if left > 0:
            yield kind, f"{kind}: {left} more"


def summarize_changes(suite: JSONObject) -> str:
    """Return a line with the number of changed cases, and the change in cost and time."""
    name = suite_name(suite)
    baseline = suite["baseline"]
    if baseline is None:
        return f"{name}: no earlier result, all cases are new"
    kinds = [change.kind for change in list_changes(suite)]
    counts = []
    for kind in KINDS:
        if kind in kinds:
            counts.append(f"{kinds.count(kind)} {kind}")
    same = sum(case["baseline"]["change"] == "same" for case in suite["cases"])
    counts.append(f"{same} as before")
    text = f"{name}: {', '.join(counts)}"
    if baseline["dry_run"] != suite["dry_run"]:
        if suite["dry_run"]:
            now, before = ("dry", "live")
        else:
            now, before = ("live", "dry")
        return (
            f"{text}; cost and time are not compared, "
            f"as this run is {now} and that one was {before}"
        )
    # A dry run costs nothing, and its time means nothing.
    if suite["dry_run"]:
        differences = []
    else:
        differences = list(_describe_differences(baseline))
    if differences:
        return f"{text}; {', '.join(differences)}"
    return text


def _describe_differences(baseline: JSONObject) -> Iterator[str]:
    cases = baseline["compared"]
    if baseline["cost_usd"]:
        yield _describe_difference(
            "cost",
            baseline["cost_usd"],
            lambda cost: format_dollars(to_decimal(cost)),
        )
    if baseline["duration_s"] and cases:
        yield _describe_difference(
            "time per case",
            baseline["duration_s"],
            lambda duration: format_short_seconds(duration / cases),
        )


def _describe_difference(
    label: str,
    sums: dict[str, float],
    format_amount: Callable[[float], str],
) -> str:
    before = sums["before"]
    now = sums["now"]
    text = f"{label} {format_amount(now)}, before {format_amount(before)}"
    if not before:
        return text
    percent = 100 * (now / before - 1)
    return f"{text} ({percent:+.0f}%)"
