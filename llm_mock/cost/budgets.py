"""Check calls against budgets of cost and tokens, and show their usage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from llm_mock.core.records import format_call
from llm_mock.cost.prices import amount, compute_cost, count_tokens, describe_price_setting
from llm_mock.errors import InvalidBudget
from llm_mock.support.numbers import is_whole
from llm_mock.support.text import described, format_columns, shorten_name
from llm_mock.support.text import format_dollars as money

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.mock import Mock

# Read by pytest. In the module, because comprehensions have their own frames before Python 3.12.
__tracebackhide__ = True
SHOWN_CALLS = 20
# The largest power of ten that fits into 64 bits.
MAX_TOKENS = 10**18


class UsageRow(NamedTuple):
    """The usage of a call or of another part of a run.

    Attributes:
        cost: US dollars; None if the price is unknown or not needed.
        tokens: one number, or the numbers of input and output tokens.
        name: the call or part.
    """

    cost: Decimal | None
    tokens: tuple[int, ...]
    name: str


def format_usage_table(
    header: tuple[str, ...],
    rows: Iterable[UsageRow],
    limit: int,
    with_cost: bool,
) -> list[str]:
    """Return the lines of a table with the largest usage first.

    Args:
        header: the titles of cost, numbers of tokens and name.
        rows: the rows; unknown costs come first.
        limit: the number of rows to show.
        with_cost: whether to show the costs.
    """

    def get_size(row: UsageRow) -> tuple[bool, Decimal, int]:
        is_unknown = with_cost and row.cost is None
        cost = row.cost or Decimal(0)
        return is_unknown, cost, sum(row.tokens)

    *titles, name_title = header
    numbers = [titles]
    names = [name_title]
    largest = sorted(rows, key=get_size, reverse=True)
    for row in largest[:limit]:
        tokens = map(str, row.tokens)
        numbers.append([money(row.cost), *tokens])
        names.append(row.name)
    if not with_cost:
        numbers = [cells[1:] for cells in numbers]
    lines = []
    # Names are not aligned, because they may be long.
    for aligned, name in zip(format_columns(numbers, leading=0), names, strict=True):
        lines.append(f"  {aligned}  {name}")
    return lines


class CallUsage:
    """The usage of calls; its text is a table of the calls.

    Args:
        calls: the calls.
        mock: the mock whose prices apply; see `compute_cost`.
        with_cost: whether to compute the cost, which needs prices.
    """

    def __init__(
        self,
        calls: Iterable[Call],
        mock: object = None,
        with_cost: bool = True,
    ) -> None:
        self._with_cost = with_cost
        self._calls: list[tuple[Call, Decimal | None]] = []
        self.tokens = 0
        self.cost = Decimal(0)
        unknown = set()
        for call in calls:
            cost = compute_cost(call, mock) if with_cost else None
            self._calls.append((call, cost))
            self.tokens += count_tokens(call)
            if cost is not None:
                self.cost += cost
            elif with_cost:
                unknown.add(call["model_id"])
        self.unknown_models = sorted(unknown)

    def __str__(self) -> str:
        if not self._calls:
            return "  (no calls)"
        rows = []
        for call, cost in self._calls:
            input_tokens = call["input_tokens"] or 0
            output_tokens = call["output_tokens"] or 0
            name = f"{call['number']}. {format_call(call)}"
            rows.append(UsageRow(cost, (input_tokens, output_tokens), name))
        header = ("cost", "tokens in", "tokens out", "call")
        lines = format_usage_table(header, rows, SHOWN_CALLS, self._with_cost)
        left_out = len(self._calls) - SHOWN_CALLS
        if left_out > 0:
            lines.append(f"  … {left_out} smaller calls")
        return "\n".join(lines)


class UsageBudget(NamedTuple):
    """The limits of usage; None means no limit.

    Attributes:
        cost: US dollars.
        tokens: input and output tokens together.
    """

    cost: Decimal | None = None
    tokens: int | None = None

    def check(self, calls: Iterable[Call], mock: object) -> str | None:
        """Return the message for calls that exceed the budget, or None."""
        usage = CallUsage(calls, mock, with_cost=self.cost is not None)
        if usage.unknown_models:
            return describe_unknown_prices(usage.unknown_models, usage)
        exceeded = self.exceeded(usage.cost, usage.tokens)
        if not exceeded:
            return None
        return f"llm_mock_budget: the calls of this test {' and '.join(exceeded)}.\n{usage}"

    def exceeded(self, cost: Decimal, tokens: int) -> list[str]:
        """Return a phrase for each limit that the totals exceed."""
        phrases = []
        if self.cost is not None and cost > self.cost:
            limit = money(self.cost)
            phrases.append(f"cost {money(cost)} (budget {limit})")
        if self.tokens is not None and tokens > self.tokens:
            phrases.append(f"took {tokens} tokens (budget {self.tokens})")
        return phrases


def parse_budget(source: str, cost: object, tokens: object) -> UsageBudget:
    """Parse a budget.

    Args:
        source: the marker or ini key that sets the budget, for the message.
        cost: US dollars, or None.
        tokens: a number of tokens, or None.

    Raises:
        InvalidBudget: a value is not a number of at least 0.
    """
    max_cost = None
    if cost is not None:
        max_cost = amount(cost, f"the cost of {source}")
    max_tokens = None
    if tokens is not None:
        max_tokens = _parse_tokens(tokens, f"the tokens of {source}")
    return UsageBudget(max_cost, max_tokens)


def parse_budget_setting(words: Iterable[str]) -> UsageBudget:
    """Parse the value of ini `llm_mock_budget`, such as `cost=0.05 tokens=20000`.

    Args:
        words: the limits.

    Raises:
        InvalidBudget: a word is not a limit, or its value is not a number of at least 0.
    """
    limits: dict[str, str] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name not in UsageBudget._fields or name in limits:
            raise InvalidBudget(
                f"Invalid limit in ini llm_mock_budget: {word!r}. Write cost=DOLLARS, "
                "tokens=NUMBER, or both with a space between them."
            )
        limits[name] = value
    return parse_budget("ini llm_mock_budget", limits.get("cost"), limits.get("tokens"))


def _parse_tokens(value: Any, what: str) -> int:
    """Return a number of tokens from an int or a text, such as 5000 or "5000"."""
    # The length is checked first, because `int` raises another error for very long texts.
    is_text = isinstance(value, str) and value.isdecimal() and len(value) < 19
    if not is_text and not is_whole(value, most=MAX_TOKENS):
        raise InvalidBudget(
            f"Invalid number of tokens: {described(value)}, set as {what}. "
            "Write a whole number of at least 0."
        )
    return int(value)


def describe_unknown_prices(models: Sequence[str], usage: CallUsage | None = None) -> str:
    """Return the message about models without a known price, for a limit of the cost."""
    names = ", ".join(map(shorten_name, models))
    lines = [f"The cost of the calls is unknown: no price is known for {names}."]
    if usage is not None:
        lines.append(str(usage))
    advice = describe_price_setting(models[0])
    lines.append(advice[0].upper() + advice[1:])
    return "\n".join(lines)


def assert_cost_below(mock_llm_calls: Mock, dollars: object, model: str | None = None) -> None:
    """Assert that the total cost of the calls is below an amount.

    Args:
        mock_llm_calls: the fixture of that name, or a result of `create_mock_get_model`.
        dollars: US dollars, as a number, text or `Decimal`.
        model: the id or an alias of the only model to count; by default all models count.

    Raises:
        AssertionError: the total cost is not below the amount, or the price of a model is unknown.
            The message lists the calls.
        InvalidBudget: `dollars` is not an amount.
        MissingExtra: a price is not configured, and `genai-prices` is not installed.
    """
    limit = amount(dollars, "assert_cost_below")
    usage = CallUsage(_get_calls(mock_llm_calls, model), mock_llm_calls)
    if usage.unknown_models:
        raise AssertionError(describe_unknown_prices(usage.unknown_models, usage))
    if usage.cost >= limit:
        raise AssertionError(
            f"The calls cost {money(usage.cost)}, which is not below {money(limit)}.\n{usage}"
        )


def assert_tokens_below(mock_llm_calls: Mock, tokens: int, model: str | None = None) -> None:
    """Assert that the total number of input and output tokens of the calls is below a number.

    Args:
        mock_llm_calls: the fixture of that name, or a result of `create_mock_get_model`.
        tokens: the number.
        model: the id or an alias of the only model to count; by default all models count.

    Raises:
        AssertionError: the total is not below the number. The message lists the calls.
        InvalidBudget: `tokens` is not a whole number of at least 0.
    """
    limit = _parse_tokens(tokens, "assert_tokens_below")
    usage = CallUsage(_get_calls(mock_llm_calls, model), with_cost=False)
    if usage.tokens >= limit:
        raise AssertionError(
            f"The calls took {usage.tokens} tokens, which is not below {limit}.\n{usage}"
        )


def _get_calls(mock: Mock, model: str | None) -> list[Call]:
    if model is None:
        return mock.calls
    return mock.calls_of(model)
