"""Budgets of a test and of the whole run: the part of the plugin that is there only where there is one.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from llm_mock.core.active import active
from llm_mock.cost.budgets import Budget, budget_from, unknown_prices
from llm_mock.cost.prices import available, cost_of, no_price_library, tokens_of
from llm_mock.errors import InvalidBudget, LLMMockError, MissingExtra
from llm_mock.support.text import columns, dollars, shorten_name

if TYPE_CHECKING:
    from llm_mock.core.records import CallRecord

SHOWN_TESTS = 10
Used = tuple["Decimal | None", int]
"""US dollars, None where a price is not known; and tokens."""


class BudgetsOfTests:
    """Fails a test whose calls exceed the budget that its marker `llm_mock_budget` gives.

    Args:
        calls_of: says which calls a test made so far; None where nobody counts them.
    """

    def __init__(self, calls_of: Callable[[pytest.Item], Sequence[CallRecord] | None]) -> None:
        self._calls_of = calls_of

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        result = yield
        if budget := budget_of(item):
            calls = self._calls_of(item)
            if message := _NOTHING_TO_COUNT if calls is None else _broken(budget, calls):
                pytest.fail(message, pytrace=False)
        return result


_NOTHING_TO_COUNT = "llm_mock_budget: the calls of this test are not mocked, so what they use is not known here."


def budget_of_run(config: pytest.Config, run_mock: Any) -> BudgetOfRun:
    """What counts for the run, with the limits that the ini gives.

    Args:
        config: the configuration of pytest.
        run_mock: the mock of the whole run; None where the project opted out.

    Raises:
        pytest.UsageError: a limit is not an amount.
    """
    limits = (config.getini(name) or None for name in ("llm_mock_max_cost", "llm_mock_max_tokens"))
    try:
        return BudgetOfRun(config, budget_from("the ini", *limits), run_mock)
    except InvalidBudget as error:
        raise pytest.UsageError(str(error)) from None


def _broken(budget: Budget, calls: Iterable[CallRecord]) -> str | None:
    try:
        return budget.broken(calls, active())
    except LLMMockError as error:
        return str(error)


def budget_of(item: pytest.Item) -> Budget | None:
    """The budget of a test; None where it has none.

    Raises:
        pytest.UsageError: its marker does not give one.
    """
    marker = item.get_closest_marker("llm_mock_budget")
    if marker is None:
        return None
    try:
        if marker.args or not marker.kwargs or not marker.kwargs.keys() <= {"cost", "tokens"}:
            raise InvalidBudget("Nothing else is taken.")
        return budget_from("llm_mock_budget", marker.kwargs.get("cost"), marker.kwargs.get("tokens"))
    except InvalidBudget as error:
        wanted = "write @pytest.mark.llm_mock_budget(cost=0.01, tokens=5000), or one of the two"
        raise pytest.UsageError(f"{item.nodeid}: {wanted}. {error}") from None


class BudgetOfRun:
    """Counts what the tests of all processes use, and fails each test that uses more once the budget is spent.

    What a test used travels with its reports, so under pytest-xdist the controller counts for all workers, and the
    limit is exact there too. With a limited cost a test that calls a model of unknown price fails as well.

    Args:
        config: the configuration of pytest.
        budget: what the run may use; without any limit it is only counted.
        run_mock: the mock of the whole run; None where the project opted out.
    """

    def __init__(self, config: pytest.Config, budget: Budget, run_mock: Any) -> None:
        self._is_worker = hasattr(config, "workerinput")
        self._budget = budget
        self._of_run = _Counter(run_mock)
        self._of_test = _Counter(None)
        self.models: dict[str, Used] = {}
        """What each model used so far."""
        self._tests: dict[str, Used] = {}
        self._in_setup: dict[str, list[tuple[str, Used]]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        mock = active()
        if mock is not None and mock is not self._of_run.mock and mock is not self._of_test.mock:
            self._of_test = _Counter(mock)
        report.llm_mock_used = self._used_since_the_last()  # type: ignore[attr-defined]
        return report

    def _used_since_the_last(self) -> dict[str, tuple[str | None, int]]:
        """What each model used since the last report, in a form that a worker can send."""
        used: dict[str, Used] = {}
        for counter in (self._of_run, self._of_test):
            for call in counter.new_calls():
                _add(used, call["model_id"], (_known_cost(call, counter.mock), tokens_of(call)))
        return {model: (None if cost is None else str(cost), tokens) for model, (cost, tokens) in used.items()}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        sent: dict[str, tuple[str | None, int]]
        sent = {} if self._is_worker else getattr(report, "llm_mock_used", {})
        used = [(model, (None if cost is None else Decimal(cost), tokens)) for model, (cost, tokens) in sent.items()]
        for model, amounts in used:
            _add(self.models, model, amounts)
            _add(self._tests, report.nodeid, amounts)
        if report.when == "setup":
            self._in_setup[report.nodeid] = used if report.passed else []  # for the call to fail with
            return
        used = self._in_setup.pop(report.nodeid, []) + used
        if used and report.passed and (message := self._problem(used)):
            report.outcome = "failed"
            report.longrepr = message

    def _problem(self, used: Sequence[tuple[str, Used]]) -> str | None:
        limited = self._budget.cost is not None
        unknown = sorted({model for model, (cost, _) in used if cost is None})
        if limited and unknown:
            return unknown_prices(unknown) if available() else no_price_library(unknown[0])
        exceeded = self._budget.exceeded(*self._total()) if any(tokens for _, (_, tokens) in used) else None
        return self._over_budget(exceeded) if exceeded else None

    def _over_budget(self, exceeded: Sequence[str]) -> str:
        limited = self._budget.cost is not None
        order = sorted(self._tests.items(), key=lambda test: _size(test[1], limited), reverse=True)[:SHOWN_TESTS]
        first = 0 if limited else 1
        rows = [("cost", "tokens")[first:], *((dollars(cost), str(tokens))[first:] for _, (cost, tokens) in order)]
        names = ["test", *(shorten_name(test) for test, _ in order)]
        lines = [f"  {numbers}  {name}" for numbers, name in zip(columns(rows, leading=0), names, strict=True)]
        return "\n".join([f"The calls of the run so far {' and '.join(exceeded)}. The largest:", *lines])

    def _total(self) -> tuple[Decimal, int]:
        """What all models used together; those of an unknown price only tokens."""
        costs = sum((cost for cost, _ in self.models.values() if cost is not None), Decimal(0))
        return costs, sum(tokens for _, tokens in self.models.values())

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._budget == Budget() or terminalreporter.config.get_verbosity() < 0:
            return
        terminalreporter.write_sep("=", "LLM budget of the run")
        terminalreporter.write_line(self._summary())

    def _summary(self) -> str:
        (cost, tokens), budget, parts = self._total(), self._budget, []
        if budget.cost is not None:
            unknown = sorted(model for model, (known_cost, _) in self.models.items() if known_cost is None)
            without = f" (without {', '.join(map(shorten_name, unknown))}, of unknown price)" if unknown else ""
            parts.append(f"{dollars(cost)} of {dollars(budget.cost)}{without}")
        if budget.tokens is not None:
            parts.append(f"{tokens} of {budget.tokens} tokens")
        return ", ".join(parts)


def _size(used: Used, limited: bool) -> tuple[bool, Decimal, int]:
    cost, tokens = used
    return limited and cost is None, cost or Decimal(0), tokens


class _Counter:
    """Gives each call of a mock once."""

    def __init__(self, mock: Any) -> None:
        self.mock = mock
        self._last = 0

    def new_calls(self) -> list[CallRecord]:
        """The calls since the last time."""
        if self.mock is None:
            return []
        new = [call for call in self.mock.calls if call["number"] > self._last]
        self._last = max([self._last, *(call["number"] for call in new)])
        return new


def _add(sums: dict[str, Used], name: str, used: Used) -> None:
    cost, tokens = sums.get(name, (Decimal(0), 0))
    sums[name] = (None if cost is None or used[0] is None else cost + used[0], tokens + used[1])


def _known_cost(call: CallRecord, mock: Any) -> Decimal | None:
    try:
        return cost_of(call, mock)
    except MissingExtra:
        return None
