"""Budgets: what calls may use, and how what they used is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from llm_mock.core.records import call_line
from llm_mock.cost.prices import amount, cost_of, how_to_price, tokens_of
from llm_mock.errors import InvalidBudget
from llm_mock.support.numbers import is_whole
from llm_mock.support.text import columns, described, shorten_name
from llm_mock.support.text import dollars as money

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock
    from llm_mock.core.records import CallRecord

__tracebackhide__ = True  # of comprehensions, too
SHOWN_CALLS = 20
MOST_TOKENS = 10**18


class Used(NamedTuple):
    """What a call, or another part of a run, used."""

    cost: Decimal | None
    """US dollars; None where the price is not known, or was not asked for."""
    tokens: tuple[int, ...]
    """One number, or those of input and output."""
    name: str


def used_table(head: tuple[str, ...], used: Iterable[Used], most: int, with_cost: bool) -> list[str]:
    """The lines of a table of what used the most: first what has an unknown price, then the largest."""

    def size(each: Used) -> tuple[bool, Decimal, int]:
        return with_cost and each.cost is None, each.cost or Decimal(0), sum(each.tokens)

    shown = sorted(used, key=size, reverse=True)[:most]
    rows = [head, *((money(each.cost), *map(str, each.tokens), each.name) for each in shown)]
    numbers = columns([row[0 if with_cost else 1 : -1] for row in rows], leading=0)
    return [f"  {line}  {row[-1]}" for line, row in zip(numbers, rows, strict=True)]


class Bills:
    """What calls used, by default with what they cost (see `cost_of`); its text is a table of them."""

    def __init__(self, calls: Iterable[CallRecord], mock: Any = None, with_cost: bool = True) -> None:
        self._with_cost = with_cost
        self._calls = [(call, cost_of(call, mock) if with_cost else None) for call in calls]
        self.tokens = sum(tokens_of(call) for call, _ in self._calls)
        self.cost = sum((cost for _, cost in self._calls if cost is not None), Decimal(0))
        self.unknown_models = sorted({call["model_id"] for call, cost in self._calls if with_cost and cost is None})

    def __str__(self) -> str:
        if not self._calls:
            return "  (no calls)"
        used = (
            Used(cost, (call["input_tokens"] or 0, call["output_tokens"] or 0), f"{call['number']}. {call_line(call)}")
            for call, cost in self._calls
        )
        lines = used_table(("cost", "tokens in", "tokens out", "call"), used, SHOWN_CALLS, self._with_cost)
        left_out = len(self._calls) - SHOWN_CALLS
        return "\n".join([*lines, f"  … {left_out} smaller calls"] if left_out > 0 else lines)


class Budget(NamedTuple):
    """What may be used at most; None where there is no limit."""

    cost: Decimal | None = None
    """US dollars."""
    tokens: int | None = None

    def broken(self, calls: Iterable[CallRecord], mock: Any) -> str | None:
        """What to say of calls that exceed this budget; None where they keep it."""
        bills = Bills(calls, mock, with_cost=self.cost is not None)
        if unknown := bills.unknown_models:
            return unknown_prices(unknown, bills)
        exceeded = self.exceeded(bills.cost, bills.tokens)
        return f"llm_mock_budget: the calls of this test {' and '.join(exceeded)}.\n{bills}" if exceeded else None

    def exceeded(self, cost: Decimal, tokens: int) -> list[str]:
        """Which of its limits sums exceed, a phrase for each."""
        phrases = []
        if self.cost is not None and cost > self.cost:
            phrases.append(f"cost {money(cost)} (budget {money(self.cost)})")
        if self.tokens is not None and tokens > self.tokens:
            phrases.append(f"took {tokens} tokens (budget {self.tokens})")
        return phrases


def budget_from(where: str, cost: Any, tokens: Any) -> Budget:
    """A budget as a marker or the ini (`where`, for the message) gives it; a wrong value is an `InvalidBudget`."""
    return Budget(
        None if cost is None else amount(cost, f"the cost of {where}"),
        None if tokens is None else _whole_number(tokens, f"the tokens of {where}"),
    )


def _whole_number(value: Any, what: str) -> int:
    """A number of tokens from 0, such as 5000 or "5000"."""
    if not is_whole(value, most=MOST_TOKENS) and not (isinstance(value, str) and value.isdecimal() and len(value) < 19):
        raise InvalidBudget(
            f"This is not a number of tokens: {described(value)}, given as {what}. Write a whole number from 0."
        )
    return int(value)


def unknown_prices(models: Sequence[str], bills: Bills | None = None) -> str:
    """What to say where a cost is limited, and some of the models have no known price."""
    named, remedy = ", ".join(map(shorten_name, models)), how_to_price(models[0])
    shown = "" if bills is None else f"\n{bills}"
    return f"What the calls cost is not known: no price is known for {named}.{shown}\nG{remedy[1:]}"


def assert_cost_below(mock_llm_calls: Mock, dollars: Any, model: str | None = None) -> None:
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
    limit = amount(dollars, "assert_cost_below")
    bills = Bills(_calls(mock_llm_calls, model), mock_llm_calls)
    if unknown := bills.unknown_models:
        raise AssertionError(unknown_prices(unknown, bills))
    if bills.cost >= limit:
        raise AssertionError(f"The calls cost {money(bills.cost)}, which is not below {money(limit)}.\n{bills}")


def assert_tokens_below(mock_llm_calls: Mock, tokens: int, model: str | None = None) -> None:
    """Assert that the calls together took fewer tokens than a number, input and output together.

    Args:
        mock_llm_calls: the fixture of that name, or what `create_mock_get_model` returned.
        tokens: the number.
        model: the id or an alias of the only model that counts; by default all do.

    Raises:
        AssertionError: they took as many or more. The message shows the calls.
        InvalidBudget: `tokens` is not a whole number from 0.
    """
    limit = _whole_number(tokens, "assert_tokens_below")
    bills = Bills(_calls(mock_llm_calls, model), with_cost=False)
    if bills.tokens >= limit:
        raise AssertionError(f"The calls took {bills.tokens} tokens, which is not below {limit}.\n{bills}")


def _calls(mock: Mock, model: str | None) -> list[CallRecord]:
    return mock.calls if model is None else mock.calls_of(model)
