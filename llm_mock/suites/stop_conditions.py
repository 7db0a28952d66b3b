"""Conditions that stop a suite: its cost, and an agent that cannot run at all."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from llm_mock.agents.result import now
from llm_mock.cost.prices import amount, compute_cost
from llm_mock.errors import InvalidBudget
from llm_mock.suites.results import CaseResult
from llm_mock.support.text import format_dollars, shorten, shorten_name


class CostLimit:
    """A limit for the total cost of all cases.

    Args:
        limit: US dollars.
        model_id: the model, whose price must be known; None if calls cost nothing.

    Raises:
        InvalidBudget: the limit is invalid, or the price of the model is unknown.
    """

    def __init__(self, limit: Decimal | float, model_id: str | None) -> None:
        __tracebackhide__ = True
        self.stop_reason: str | None = None
        """The reason to start no further case; None while one may start."""
        self._limit = amount(limit, "max_cost")
        self._spent = Decimal(0)
        if model_id is not None:
            _require_price(model_id)
        self._compare()

    def add(self, result: CaseResult) -> None:
        """Add the cost of a case."""
        if result.spent is None:
            case = shorten(result.case.name)
            unknown = f"the cost of the case {case} is unknown"
            self.stop_reason = f"{unknown}, so max_cost cannot be checked"
            return
        self._spent += result.spent
        self._compare()

    def _compare(self) -> None:
        # The first reason counts: an unknown cost stays one.
        if self._spent >= self._limit and self.stop_reason is None:
            spent = format_dollars(self._spent)
            self.stop_reason = (
                f"the cases cost {spent}, and max_cost is {format_dollars(self._limit)}"
            )


def _require_price(model_id: str) -> None:
    """Raise InvalidBudget if the price of a model is unknown."""
    call: Any = {
        "model_id": model_id,
        "timestamp": now(),
        "input_tokens": 1,
        "output_tokens": 1,
    }
    if compute_cost(call) is None:
        model = shorten_name(model_id)
        raise InvalidBudget(
            f"max_cost cannot be checked: the price of the model {model!r} is unknown. "
            "Remove the limit, or choose a model whose price is known."
        )


class StopCondition:
    """The decision to start a further case."""

    def __init__(self, cost_limit: CostLimit | None) -> None:
        self._cost_limit = cost_limit
        self._failing_agent: str | None = None

    def add(self, result: CaseResult) -> None:
        """Add the result of a case."""
        # No other case can pass, for instance without a key.
        if result.attempts[-1].agent_fails and self._failing_agent is None:
            case = shorten_name(result.case.name)
            self._failing_agent = f"the case {case!r} failed for a reason that affects every case"
        if self._cost_limit is not None:
            self._cost_limit.add(result)

    @property
    def reason(self) -> str | None:
        """Return the reason to start no further case; None while one may start."""
        if self._failing_agent is not None or self._cost_limit is None:
            return self._failing_agent
        return self._cost_limit.stop_reason


def iterate_until_stopped(number: int, condition: StopCondition) -> Iterator[int]:
    """Yield the positions of the cases to start, until the condition stops them."""
    for position in range(number):
        # Checked when the next case would start, as results arrive in the meantime.
        if condition.reason is not None:
            return
        yield position
