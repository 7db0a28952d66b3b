"""Cases by variants: what of the document of suites stands side by side, for the terminal, Markdown and the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import groupby
from typing import Any, NamedTuple

from llm_mock.suites.matrix import variant_name
from llm_mock.suites.pass_rates import percent
from llm_mock.suites.scores import score_of
from llm_mock.support.text import dollars, short_seconds


class Grid(NamedTuple):
    """The variants of one suite."""

    suites: list[dict[str, Any]]
    """A suite of the document for each."""

    @property
    def variants(self) -> list[str]:
        """Their names."""
        return [variant_name(suite["variant"]) for suite in self.suites]

    def rows(self) -> Iterator[tuple[str, list[dict[str, Any] | None]]]:
        """The name of each case, and the case in each variant; None where it is not there."""
        cases = [{case["name"]: case for case in suite["cases"]} for suite in self.suites]
        for name in dict.fromkeys(name for named in cases for name in named):
            yield name, [named.get(name) for named in cases]

    def sums(self) -> Iterator[tuple[str, list[str]]]:
        """What is said of each variant as a whole: the label, and a text for each."""
        yield "Passed", [f"{suite['passed']}/{suite['passed'] + suite['failed']}" for suite in self.suites]
        if any(suite["scored"] for suite in self.suites):
            yield "Score", [score_of(suite["score"]) for suite in self.suites]
        for metric in dict.fromkeys(name for suite in self.suites for name in suite["metrics"]):
            yield f"Metric {metric}", [score_of(suite["metrics"].get(metric)) for suite in self.suites]
        for k in self.suites[0]["pass_at_k"]:
            label = "Mean pass rate" if k == "1" else f"pass@{k}"
            yield label, [percent(suite["pass_at_k"].get(k, 0)) for suite in self.suites]
        if not any(suite["dry_run"] or suite["target"] for suite in self.suites):
            yield "Cost", [dollars(decimal_of(suite["cost_usd"])) for suite in self.suites]
        yield "Time per case", [_time_of_case(suite) for suite in self.suites]


def grids(suites: Iterable[dict[str, Any]]) -> Iterator[Grid | dict[str, Any]]:
    """The suites of a document in their order; those that stand side by side as a grid."""
    for (_, _, side_by_side), grouped in groupby(suites, _group):
        group = list(grouped)
        yield from [Grid(group)] if side_by_side else group


def _group(suite: dict[str, Any]) -> tuple[str, str | None, bool]:
    return suite["suite"], suite["file"], bool(suite["variant"])


def decimal_of(amount: float | None) -> Decimal | None:
    """A cost of the document in US dollars."""
    return None if amount is None else Decimal(str(amount))


def _time_of_case(suite: dict[str, Any]) -> str:
    taken = [case["duration_s"] for case in suite["cases"] if case["attempts"]]
    return short_seconds(sum(taken) / len(taken)) if taken else ""
