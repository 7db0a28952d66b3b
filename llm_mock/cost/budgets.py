"""Budgets: what calls may use, and how what they used is shown.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from llm_mock.cost.prices import amount, cost_of, how_to_price, tokens_of
from llm_mock.errors import InvalidBudget
from llm_mock.explain import call_line
from llm_mock.support.text import columns, described, dollars, shorten_name

if TYPE_CHECKING:
    from llm_mock.core.answering import AnsweringMock
    from llm_mock.core.records import CallRecord

SHOWN_CALLS = 20


class _Bill(NamedTuple):
    """One call with what it used."""

    call: CallRecord
    tokens: int
    cost: Decimal | None
    """US dollars; None where the price is not known, or was not asked for."""


class Bills:
    """What calls used; its text is a table of them, those of an unknown price first, then the largest.

    Args:
        calls: the calls.
        mock: the mock whose prices are asked first; by default the active one.
        with_cost: whether to ask what they cost.

    Raises:
        MissingExtra: a price is not configured, and `genai-prices` is not installed.
    """

    def __init__(self, calls: Iterable[CallRecord], mock: Any = None, with_cost: bool = True) -> None:
        __tracebackhide__ = True
        self._with_cost = with_cost
        self._bills = [_Bill(call, tokens_of(call), cost_of(call, mock) if with_cost else None) for call in calls]

    @property
    def tokens(self) -> int:
        """The tokens of all calls."""
        return sum(bill.tokens for bill in self._bills)

    @property
    def cost(self) -> Decimal:
        """The cost of all calls whose price is known, in US dollars."""
        return sum((bill.cost for bill in self._bills if bill.cost is not None), Decimal(0))

    @property
    def unknown_models(self) -> list[str]:
        """The models whose price was asked for and is not known, sorted."""
        return sorted({bill.call["model_id"] for bill in self._bills if self._with_cost and bill.cost is None})

    def __str__(self) -> str:
        if not self._bills:
            return "  (no calls)"
        shown = sorted(self._bills, key=self._size, reverse=True)[:SHOWN_CALLS]
        first = 0 if self._with_cost else 1
        rows = [("cost", "tokens in", "tokens out")[first:], *(_numbers(bill)[first:] for bill in shown)]
        calls = ["call", *(f"{bill.call['number']}. {call_line(bill.call)}" for bill in shown)]
        lines = [f"  {numbers}  {call}" for numbers, call in zip(columns(rows, leading=0), calls, strict=True)]
        left_out = len(self._bills) - len(shown)
        return "\n".join([*lines, f"  … {left_out} smaller calls"] if left_out else lines)

    def _size(self, bill: _Bill) -> tuple[bool, Decimal, int]:
        return self._with_cost and bill.cost is None, bill.cost or Decimal(0), bill.tokens


def _numbers(bill: _Bill) -> tuple[str, str, str]:
    return dollars(bill.cost), str(bill.call["input_tokens"] or 0), str(bill.call["output_tokens"] or 0)


class Budget(NamedTuple):
    """What may be used at most; None where there is no limit."""

    cost: Decimal | None = None
    """US dollars."""
    tokens: int | None = None

    def broken(self, calls: Iterable[CallRecord], mock: Any) -> str | None:
        """What to say of calls that exceed this budget; None where they keep it.

        Raises:
            MissingExtra: a price is not configured, and `genai-prices` is not installed.
        """
        __tracebackhide__ = True
        bills = Bills(calls, mock, with_cost=self.cost is not None)
        if unknown := bills.unknown_models:
            return unknown_prices(unknown, bills)
        exceeded = self.exceeded(bills.cost, bills.tokens)
        return f"llm_mock_budget: the calls of this test {' and '.join(exceeded)}.\n{bills}" if exceeded else None

    def exceeded(self, cost: Decimal, tokens: int) -> list[str]:
        """Which of its limits sums exceed, a phrase for each."""
        phrases = []
        if self.cost is not None and cost > self.cost:
            phrases.append(f"cost {dollars(cost)} (budget {dollars(self.cost)})")
        if self.tokens is not None and tokens > self.tokens:
            phrases.append(f"took {tokens} tokens (budget {self.tokens})")
        return phrases


def budget_from(where: str, cost: Any, tokens: Any) -> Budget:
    """A budget as a marker or the ini gives it.

    Args:
        where: what gives it, for the message.
        cost: US dollars, or None.
        tokens: input and output together, or None.

    Raises:
        InvalidBudget: one of them is no amount, or no whole number.
    """
    __tracebackhide__ = True
    return Budget(
        None if cost is None else amount(cost, f"the cost of {where}"),
        None if tokens is None else _whole_number(tokens, f"the tokens of {where}"),
    )


def _whole_number(value: Any, what: str) -> int:
    """A number of tokens from 0, such as 5000 or "5000"."""
    __tracebackhide__ = True
    if isinstance(value, bool) or not str(value).isdecimal():
        raise InvalidBudget(
            f"This is not a number of tokens: {described(value)}, given as {what}. Write a whole number from 0."
        )
    return int(value)


def unknown_prices(models: Sequence[str], bills: Bills | None = None) -> str:
    """What to say where a cost is limited, and some of the models have no known price."""
    named, remedy = ", ".join(map(shorten_name, models)), how_to_price(models[0])
    shown = "" if bills is None else f"\n{bills}"
    return f"What the calls cost is not known: no price is known for {named}.{shown}\nG{remedy[1:]}"


def assert_cost_below(mock_llm_calls: AnsweringMock, dollars: Any, model: str | None = None) -> None:
    """Assert that the calls together cost less than an amount.

    Args:
        mock_llm_calls: the fixture of that name, or what `create_mock_get_model` returned.
        dollars: US dollars, as a number, text or `Decimal`.
        model: the id or an alias of the only model that counts; by default all do.

    Raises:
        AssertionError: they cost as much or more, or a model has no known price. The message shows the calls.
        InvalidBudget: `dollars` is not an amount.
        MissingExtra: a price is not configured, and `genai-prices` is not installed.
    """
    __tracebackhide__ = True
    limit = amount(dollars, "assert_cost_below")
    bills = Bills(_calls(mock_llm_calls, model), mock_llm_calls)
    if unknown := bills.unknown_models:
        raise AssertionError(unknown_prices(unknown, bills))
    if bills.cost >= limit:
        raise AssertionError(_cost_not_below(limit, bills))


def _cost_not_below(limit: Decimal, bills: Bills) -> str:
    return f"The calls cost {dollars(bills.cost)}, which is not below {dollars(limit)}.\n{bills}"


def assert_tokens_below(mock_llm_calls: AnsweringMock, tokens: int, model: str | None = None) -> None:
    """Assert that the calls together took fewer tokens than a number, input and output together.

    Args:
        mock_llm_calls: the fixture of that name, or what `create_mock_get_model` returned.
        tokens: the number.
        model: the id or an alias of the only model that counts; by default all do.

    Raises:
        AssertionError: they took as many or more. The message shows the calls.
        InvalidBudget: `tokens` is not a whole number from 0.
    """
    __tracebackhide__ = True
    limit = _whole_number(tokens, "assert_tokens_below")
    bills = Bills(_calls(mock_llm_calls, model), with_cost=False)
    if bills.tokens >= limit:
        raise AssertionError(f"The calls took {bills.tokens} tokens, which is not below {limit}.\n{bills}")


def _calls(mock: AnsweringMock, model: str | None) -> list[CallRecord]:
    return mock.calls if model is None else mock.calls_of(model)
