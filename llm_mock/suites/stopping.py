"""Whether further cases of a suite may start: what they may cost, and whether the agent can run at all."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from llm_mock.agents.result import now
from llm_mock.cost.prices import amount, cost_of
from llm_mock.errors import InvalidBudget
from llm_mock.suites.results import CaseResult
from llm_mock.support.text import dollars, shorten, shorten_name


class Budget:
    """What the cases may cost; the price of the model must be known, unless it is None, as it costs nothing."""

    def __init__(self, limit: Decimal | float, model_id: str | None) -> None:
        __tracebackhide__ = True
        self.stopped: str | None = None
        """Why no further case may start; None while one may."""
        self._limit = amount(limit, "max_cost")
        self._spent = Decimal(0)
        tokens: Any = {"model_id": model_id, "timestamp": now(), "input_tokens": 1, "output_tokens": 1}
        if model_id is not None and cost_of(tokens) is None:
            raise InvalidBudget(
                f"max_cost cannot be checked: the price of the model {shorten_name(model_id)!r} is not known. "
                "Leave the limit out, or choose a model whose price is known."
            )
        self._stop_at_limit()

    def spend(self, result: CaseResult) -> None:
        """A case was run."""
        if result.spent is None:
            case = shorten(result.case.name)
            self.stopped = f"what the case {case} cost is not known, so max_cost cannot be checked"
            return
        self._spent += result.spent
        self._stop_at_limit()

    def _stop_at_limit(self) -> None:
        if self._spent >= self._limit and self.stopped is None:
            self.stopped = f"the cases cost {dollars(self._spent)}, and max_cost is {dollars(self._limit)}"


class Stop:
    """Whether a further case may start."""

    def __init__(self, budget: Budget | None) -> None:
        self._budget = budget
        self._failing_agent: str | None = None

    def see(self, result: CaseResult) -> None:
        """A case was run."""
        if result.attempts[-1].agent_fails and self._failing_agent is None:
            self._failing_agent = f"the case {shorten_name(result.case.name)!r} failed of what every case needs"
        if self._budget is not None:
            self._budget.spend(result)

    @property
    def reason(self) -> str | None:
        """Why no further case may start; None while one may."""
        spent = None if self._budget is None else self._budget.stopped
        return self._failing_agent or spent


def until_stopped(number: int, stop: Stop) -> Iterator[int]:
    """The positions of the cases to start."""
    for position in range(number):
        if stop.reason is not None:
            return
        yield position
