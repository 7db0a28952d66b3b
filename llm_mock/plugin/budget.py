"""Budgets of tests and of the whole run; imported only if a budget is set."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from llm_mock.core.context import current_mock
from llm_mock.cost.budgets import (
    UsageBudget,
    UsageRow,
    describe_unknown_prices,
    format_usage_table,
    parse_budget,
)
from llm_mock.cost.prices import (
    compute_cost,
    count_tokens,
    describe_missing_prices,
    has_provider_prices,
)
from llm_mock.errors import LLMMockError, MissingExtra
from llm_mock.plugin.guard import reporting_hook
from llm_mock.plugin.options import read_budget
from llm_mock.plugin.runtest import get_calls_of_test
from llm_mock.support.redaction import redact
from llm_mock.support.text import format_dollars, shorten_name

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock

SHOWN_TESTS = 10
Usage = tuple["Decimal | None", int]
"""The cost in US dollars, None if a price is unknown, and the number of tokens."""


class ItemBudgets:
    """A pytest plugin that fails tests whose calls exceed their marker `llm_mock_budget`."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Check the budget of a test after its call phase."""
        result = yield
        budget = parse_marker(item)
        message = None if budget is None else _check_budget(budget, item)
        if message:
            pytest.fail(message, pytrace=False)
        return result


def _check_budget(budget: UsageBudget, item: pytest.Item) -> str | None:
    """Return a message if the calls of a test exceed its budget."""
    calls = get_calls_of_test(item)
    if calls is None:
        return (
            "llm_mock_budget: the usage of this test is unknown, because its calls are not mocked."
        )
    try:
        return budget.check(calls, current_mock())
    except LLMMockError as error:
        return str(error)


def parse_marker(item: pytest.Item) -> UsageBudget | None:
    """Return the budget of a test; None if it has no marker. Markers were checked before."""
    marker = item.get_closest_marker("llm_mock_budget")
    if marker is None:
        return None
    return parse_budget(marker.name, marker.kwargs.get("cost"), marker.kwargs.get("tokens"))


def create_run_budget(config: pytest.Config, run_mock: Mock | None) -> RunBudget:
    """Return the plugin that counts the usage of the run, with the limits of the ini keys.

    Args:
        config: the pytest configuration.
        run_mock: the mock of the run; None if the project opted out.

    Raises:
        pytest.UsageError: a limit is wrong.
    """
    return RunBudget(config, read_budget(config), run_mock)


class RunBudget:
    """A pytest plugin that counts the usage of all tests, and fails tests beyond the budget.

    The usage of a test travels with its reports. Under pytest-xdist the controller counts for all
    workers, so that the limit is exact there, too. With a limited cost, a test that calls a model
    of unknown price fails as well. A budget without limits only counts.
    """

    def __init__(self, config: pytest.Config, budget: UsageBudget, run_mock: Mock | None) -> None:
        self._is_worker = hasattr(config, "workerinput")
        self._budget = budget
        self._run_mock = run_mock
        self._counted: dict[Mock, int] = {} if run_mock is None else {run_mock: 0}
        """The number of the last counted call of the mock of the run, and of that of the test."""
        self.models: dict[str, Usage] = {}
        """The usage of each model so far."""
        self._tests: dict[str, Usage] = {}
        self._setups: dict[str, list[tuple[str, Usage]]] = {}
        """The usage of the setup of tests whose call phase is not reported yet."""

    @reporting_hook(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the usage since the last report to the report."""
        report = yield
        mock = current_mock()
        if mock is not None and mock not in self._counted:
            # The mock of a new test replaces that of the test before.
            counted = {mock: 0}
            if self._run_mock is not None:
                counted[self._run_mock] = self._counted[self._run_mock]
            self._counted = counted
        report.llm_mock_used = self._count_new_calls()  # type: ignore[attr-defined]
        return report

    def _count_new_calls(self) -> str:
        """Return the usage of each model since the last report, in the form of `_to_json`."""
        usage: dict[str, Usage] = {}
        for mock, last in self._counted.items():
            new_calls = [call for call in mock.calls if call["number"] > last]
            for call in new_calls:
                self._counted[mock] = max(self._counted[mock], call["number"])
                try:
                    cost = compute_cost(call, mock)
                except MissingExtra:
                    cost = None
                _add_usage(usage, call["model_id"], (cost, count_tokens(call)))
        return _to_json(usage)

    @reporting_hook(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the usage of a report, and fail the test if the budget is exceeded."""
        # A worker sends its reports to the controller, which counts.
        usage = [] if self._is_worker else _read_usage(report)
        for model, amount in usage:
            _add_usage(self.models, model, amount)
            _add_usage(self._tests, report.nodeid, amount)
        if report.when == "setup":
            # The call phase fails for the usage of the setup, too: the test still runs.
            self._setups[report.nodeid] = usage if report.passed else []
            return
        usage = self._setups.pop(report.nodeid, []) + usage
        if not usage or not report.passed:
            return
        message = self._explain_problem(usage)
        if message:
            report.outcome = "failed"
            report.longrepr = redact(message)

    def _explain_problem(self, usage: Sequence[tuple[str, Usage]]) -> str | None:
        """Return a message if the usage of a test has an unknown price or exceeds the budget."""
        has_cost_limit = self._budget.cost is not None
        unpriced = sorted({model for model, (cost, _) in usage if cost is None})
        if has_cost_limit and unpriced:
            if has_provider_prices():
                return describe_unknown_prices(unpriced)
            return describe_missing_prices(unpriced[0])
        # A test without tokens exceeds nothing, even if the budget is spent.
        if not any(tokens for _, (_, tokens) in usage):
            return None
        exceeded = self._budget.exceeded(*self._sum_usage())
        if not exceeded:
            return None
        rows = []
        for test, (cost, tokens) in self._tests.items():
            rows.append(UsageRow(cost, (tokens,), shorten_name(test)))
        header = ("cost", "tokens", "test")
        table = format_usage_table(header, rows, SHOWN_TESTS, has_cost_limit)
        title = f"The calls of the run so far {' and '.join(exceeded)}. The largest:"
        return "\n".join([title, *table])

    def _sum_usage(self) -> tuple[Decimal, int]:
        """Return the known cost and the tokens of all models."""
        cost, tokens = Decimal(0), 0
        for model_cost, model_tokens in self.models.values():
            tokens += model_tokens
            if model_cost is not None:
                cost += model_cost
        return cost, tokens

    @reporting_hook(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write the usage of the run beside its limits."""
        budget = self._budget
        cost, tokens = self._sum_usage()
        parts = []
        if budget.cost is not None:
            text = f"{format_dollars(cost)} of {format_dollars(budget.cost)}"
            unpriced = sorted(name for name, usage in self.models.items() if usage[0] is None)
            if unpriced:
                names = ", ".join(map(shorten_name, unpriced))
                text += f" (without {names}, of unknown price)"
            parts.append(text)
        if budget.tokens is not None:
            parts.append(f"{tokens} of {budget.tokens} tokens")
        if parts and terminalreporter.config.get_verbosity() >= 0:
            terminalreporter.section("LLM budget of the run")
            terminalreporter.write_line(", ".join(parts))


def _add_usage(sums: dict[str, Usage], name: str, usage: Usage) -> None:
    cost, tokens = sums.get(name, (Decimal(0), 0))
    added_cost, added_tokens = usage
    # One unknown cost makes the sum unknown.
    total = None if cost is None or added_cost is None else cost + added_cost
    sums[name] = (total, tokens + added_tokens)


def _to_json(usage: Mapping[str, Usage]) -> str:
    """Return usage by model as JSON in ASCII.

    A worker of pytest-xdist can send neither an enum that names a model nor a lone surrogate.
    """
    rows = {}
    for model, (cost, tokens) in usage.items():
        rows[model] = (None if cost is None else str(cost), tokens)
    return json.dumps(rows)


def _read_usage(report: pytest.TestReport) -> list[tuple[str, Usage]]:
    """Return the usage of each model that a report carries."""
    rows = json.loads(getattr(report, "llm_mock_used", "{}"))
    usage: list[tuple[str, Usage]] = []
    for model, (cost, tokens) in rows.items():
        usage.append((model, (None if cost is None else Decimal(cost), tokens)))
    return usage


def merge_usage(reports: Iterable[pytest.TestReport]) -> str:
    """Return the usage that several reports carry together, as one report carries it."""
    usage: dict[str, Usage] = {}
    for report in reports:
        for model, amount in _read_usage(report):
            _add_usage(usage, model, amount)
    return _to_json(usage)
