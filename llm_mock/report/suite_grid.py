"""Arrange cases by variants, side by side, for the terminal, Markdown and the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import groupby
from typing import NamedTuple

from llm_mock.report.suite_document import get_answer
from llm_mock.suites.matrix import format_variant_name
from llm_mock.suites.pass_rates import format_percent
from llm_mock.suites.scores import format_score_cell
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import format_dollars, format_short_seconds


class Grid(NamedTuple):
    """The variants of one suite.

    Attributes:
        suites: the suite of the document for each variant.
    """

    suites: list[JSONObject]

    @property
    def variants(self) -> list[str]:
        """The names of the variants."""
        return [format_variant_name(suite["variant"]) for suite in self.suites]

    def rows(self) -> Iterator[tuple[str, list[JSONObject | None]]]:
        """Yield the name of each case, and the case in each variant, or None."""
        columns = []
        # A dict keeps the order of the first occurrence.
        names: dict[str, None] = {}
        for suite in self.suites:
            column = {case["name"]: case for case in suite["cases"]}
            columns.append(column)
            names.update(dict.fromkeys(column))
        for name in names:
            yield name, [column.get(name) for column in columns]

    def different(self) -> Iterator[bool]:
        """Yield for each case whether its answers or statuses differ between the variants."""
        for _, cases in self.rows():
            results = {case and (get_answer(case), case["status"]) for case in cases}
            yield len(results) > 1

    def sums(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the rows of totals: a label, and a text for each variant."""
        suites = self.suites
        yield "Passed", [_format_passed(suite) for suite in suites]
        if any(suite["scored"] for suite in suites):
            scores = [suite["score"] for suite in suites]
            yield "Score", list(map(format_score_cell, scores))
        yield from self._metrics()
        yield from self._pass_rates()
        # Dry runs cost nothing, and the cost of a target is unknown.
        if not any(suite["dry_run"] or suite["target"] for suite in suites):
            costs = [to_decimal(suite["cost_usd"]) for suite in suites]
            yield "Cost", list(map(format_dollars, costs))
        # The mean, as variants may have run different numbers of cases.
        yield "Time per case", list(map(_format_time_per_case, suites))

    def _metrics(self) -> Iterator[tuple[str, list[str]]]:
        names: dict[str, None] = {}
        for suite in self.suites:
            names.update(dict.fromkeys(suite["metrics"]))
        for name in names:
            scores = [suite["metrics"].get(name) for suite in self.suites]
            yield f"Metric {name}", [format_score_cell(score) for score in scores]

    def _pass_rates(self) -> Iterator[tuple[str, list[str]]]:
        for k in self.suites[0]["pass_at_k"]:
            if k == "1":
                yield "Mean pass rate", self._list_rates("pass_at_k", k)
                continue
            yield f"pass@{k}", self._list_rates("pass_at_k", k)
            yield f"pass^{k}", self._list_rates("pass_hat_k", k)

    def _list_rates(self, key: str, k: str) -> list[str]:
        texts = []
        for suite in self.suites:
            rate = suite[key].get(k, 0)
            texts.append(format_percent(rate))
        return texts


def group_variants(suites: Iterable[JSONObject]) -> Iterator[Grid | JSONObject]:
    """Yield the suites of a document in order; variants of one suite as a grid."""
    for (_, _, is_grid), group in groupby(suites, _get_group):
        if is_grid:
            yield Grid(list(group))
        else:
            yield from group


def _get_group(suite: JSONObject) -> tuple[str, str | None, bool]:
    return suite["suite"], suite["file"], bool(suite["variant"])


def to_decimal(amount: float | None) -> Decimal | None:
    """Return a cost of the document as a decimal, with the digits that it shows."""
    if amount is None:
        return None
    # `str` has the shortest digits; Decimal(float) would show the binary fraction.
    return Decimal(str(amount))


def _format_passed(suite: JSONObject) -> str:
    checked = suite["passed"] + suite["failed"]
    return f"{suite['passed']}/{checked}"


def _format_time_per_case(suite: JSONObject) -> str:
    durations = [case["duration_s"] for case in suite["cases"] if case["attempts"]]
    if not durations:
        return ""
    return format_short_seconds(sum(durations) / len(durations))
