"""Budgets of a test and of the whole run: the part of the plugin that is there only where there is one."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest

from llm_mock.core.context import current_mock
from llm_mock.cost.budgets import (
    UsageBudget,
    UsageRow,
    describe_unknown_prices,
    format_usage_table,
    parse_budget,
)
from llm_mock.cost.prices import cost_of, describe_missing_prices, has_provider_prices, tokens_of
from llm_mock.errors import InvalidBudget, LLMMockError, MissingExtra
from llm_mock.plugin.guard import reporting_hook
from llm_mock.plugin.runtest import calls_of_test
from llm_mock.support.redaction import redact
from llm_mock.support.text import format_dollars, shorten_name

SHOWN_TESTS = 10
CostAndTokens = tuple["Decimal | None", int]
"""US dollars, None where a price is not known; and tokens."""
Sent = str
"""The same of each model as JSON in ASCII: a worker can send no enum that names a model, and no lone surrogate."""


class BudgetsOfTests:
    """Fails a test whose calls exceed the budget that its marker `llm_mock_budget` gives."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        result = yield
        if (budget := budget_of(item)) and (message := _broken(budget, item)):
            pytest.fail(message, pytrace=False)
        return result


def _broken(budget: UsageBudget, item: pytest.Item) -> str | None:
    calls = calls_of_test(item)
    if calls is None:
        return "llm_mock_budget: the calls of this test are not mocked, so what they use is not known here."
    try:
        return budget.check(calls, current_mock())
    except LLMMockError as error:
        return str(error)


def budget_of(item: pytest.Item) -> UsageBudget | None:
    """The budget of a test, whose markers are right; None where it has none."""
    marker = item.get_closest_marker("llm_mock_budget")
    return marker and parse_budget(
        marker.name, marker.kwargs.get("cost"), marker.kwargs.get("tokens")
    )


def budget_of_run(config: pytest.Config, run_mock: Any) -> BudgetOfRun:
    """What counts for the run, with the limits that the ini gives; `run_mock` is None where the project opted out."""
    limits = (config.getini(name) or None for name in ("llm_mock_max_cost", "llm_mock_max_tokens"))
    try:
        return BudgetOfRun(config, parse_budget("the ini", *limits), run_mock)
    except InvalidBudget as error:
        raise pytest.UsageError(str(error)) from None


class BudgetOfRun:
    """Counts what the tests of all processes use, and fails each test that uses more once the budget is spent.

    What a test used travels with its reports, so under pytest-xdist the controller counts for all workers, and the
    limit is exact there too. With a limited cost a test that calls a model of unknown price fails as well. A budget
    without any limit is only counted.
    """

    def __init__(self, config: pytest.Config, budget: UsageBudget, run_mock: Any) -> None:
        self._is_worker = hasattr(config, "workerinput")
        self._budget = budget
        self._run_mock = run_mock
        self._counted: dict[Any, int] = {} if run_mock is None else {run_mock: 0}
        """Of the mock of the run and that of the test the number of the last call that was counted."""
        self.models: dict[str, CostAndTokens] = {}
        """What each model used so far."""
        self._tests: dict[str, CostAndTokens] = {}
        self._in_setup: dict[str, list[tuple[str, CostAndTokens]]] = {}

    @reporting_hook(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        mock = current_mock()
        if mock is not None and mock not in self._counted:
            self._counted = {
                mock: 0,
                **{run: last for run, last in self._counted.items() if run is self._run_mock},
            }
        report.llm_mock_used = self._used_since_the_last()  # type: ignore[attr-defined]
        return report

    def _used_since_the_last(self) -> Sent:
        """What each model used since the last report, in a form that a worker can send."""
        used: dict[str, CostAndTokens] = {}
        for mock, last in self._counted.items():
            for call in [call for call in mock.calls if call["number"] > last]:
                self._counted[mock] = max(self._counted[mock], call["number"])
                try:
                    cost = cost_of(call, mock)
                except MissingExtra:
                    cost = None
                _add(used, call["model_id"], (cost, tokens_of(call)))
        return _sent(used)

    @reporting_hook(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        used = [] if self._is_worker else _received(report)
        for model, amounts in used:
            _add(self.models, model, amounts)
            _add(self._tests, report.nodeid, amounts)
        if report.when == "setup":
            self._in_setup[report.nodeid] = (
                used if report.passed else []
            )  # for the call to fail with
            return
        used = self._in_setup.pop(report.nodeid, []) + used
        if used and report.passed and (message := self._problem(used)):
            report.outcome = "failed"
            report.longrepr = redact(message)

    def _problem(self, used: Sequence[tuple[str, CostAndTokens]]) -> str | None:
        limited = self._budget.cost is not None
        if limited and (unknown := sorted({model for model, (cost, _) in used if cost is None})):
            return (
                describe_unknown_prices(unknown)
                if has_provider_prices()
                else describe_missing_prices(unknown[0])
            )
        exceeded = (
            self._budget.exceeded(*self._total())
            if any(tokens for _, (_, tokens) in used)
            else None
        )
        if not exceeded:
            return None
        tests = (
            UsageRow(cost, (tokens,), shorten_name(test))
            for test, (cost, tokens) in self._tests.items()
        )
        lines = format_usage_table(("cost", "tokens", "test"), tests, SHOWN_TESTS, limited)
        return "\n".join(
            [f"The calls of the run so far {' and '.join(exceeded)}. The largest:", *lines]
        )

    def _total(self) -> tuple[Decimal, int]:
        """What all models used together; those of an unknown price only tokens."""
        costs = sum((cost for cost, _ in self.models.values() if cost is not None), Decimal(0))
        return costs, sum(tokens for _, tokens in self.models.values())

    @reporting_hook(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        (cost, tokens), budget, parts = self._total(), self._budget, []
        if budget.cost is not None:
            unknown = sorted(
                model for model, (known_cost, _) in self.models.items() if known_cost is None
            )
            without = (
                f" (without {', '.join(map(shorten_name, unknown))}, of unknown price)"
                if unknown
                else ""
            )
            parts.append(f"{format_dollars(cost)} of {format_dollars(budget.cost)}{without}")
        if budget.tokens is not None:
            parts.append(f"{tokens} of {budget.tokens} tokens")
        if parts and terminalreporter.config.get_verbosity() >= 0:
            terminalreporter.section("LLM budget of the run")
            terminalreporter.write_line(", ".join(parts))


def _add(sums: dict[str, CostAndTokens], name: str, used: CostAndTokens) -> None:
    cost, tokens = sums.get(name, (Decimal(0), 0))
    sums[name] = (None if cost is None or used[0] is None else cost + used[0], tokens + used[1])


def _sent(used: Mapping[str, CostAndTokens]) -> Sent:
    return json.dumps(
        {
            model: (None if cost is None else str(cost), tokens)
            for model, (cost, tokens) in used.items()
        }
    )


def _received(report: pytest.TestReport) -> list[tuple[str, CostAndTokens]]:
    sent = json.loads(getattr(report, "llm_mock_used", "{}"))
    return [
        (model, (None if cost is None else Decimal(cost), tokens))
        for model, (cost, tokens) in sent.items()
    ]


def used_in(reports: Iterable[pytest.TestReport]) -> Sent:
    """What the calls of several reports used together, as one of them says it."""
    used: dict[str, CostAndTokens] = {}
    for report in reports:
        for model, amounts in _received(report):
            _add(used, model, amounts)
    return _sent(used)
