"""What calls cost: tokens, and US dollars at the prices of the providers or of the project.

The prices of the providers come from `genai-prices` (the extra `cost`), which carries them with it: nothing is fetched.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import fnmatch
import importlib.util
from collections.abc import Iterable
from datetime import datetime, timezone
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, NamedTuple

from llm_mock import explain
from llm_mock.boundaries.llm import boundary
from llm_mock.errors import InvalidBudget, MissingExtra

if TYPE_CHECKING:
    import llm

    from llm_mock.boundaries.llm.registry import MockGetModel
    from llm_mock.core.records import CallRecord

MILLION = 1_000_000
FREE = ":free"
"""How OpenRouter's ids of free models end. Any other model that has no price for text has an unknown one."""


class Price(NamedTuple):
    """What a model costs, in US dollars for a million tokens."""

    input: Decimal
    output: Decimal


Prices = tuple[tuple[str, Price], ...]
"""The prices of a project: globs of model ids, and what these models cost. The last that fits counts."""


class Bill(NamedTuple):
    """One call with what it used."""

    call: CallRecord
    tokens: int
    cost: Decimal | None
    """US dollars; None where the price is not known, or was not asked for."""


def available() -> bool:
    """Whether `genai-prices` is installed, so that the prices of the providers are known."""
    return importlib.util.find_spec("genai_prices") is not None


def tokens_of(call: CallRecord) -> int:
    """How many tokens a call took, input and output together; those of a call that failed at once are 0."""
    return (call["input_tokens"] or 0) + (call["output_tokens"] or 0)


def cost_of(call: CallRecord, mock: Any = None) -> Decimal | None:
    """What a call costs in US dollars.

    A call that used no tokens, because it failed, costs nothing. Prices that change with the time of day are those of
    noon (UTC) on the day of the call, so that a test costs the same at any hour.

    Args:
        call: the record of the call.
        mock: the mock whose prices are asked first; by default the active one.

    Returns:
        The cost, or None where no price is known for the model.

    Raises:
        MissingExtra: the project gives no price for the model, and `genai-prices` is not installed.
    """
    __tracebackhide__ = True
    if not tokens_of(call):
        return Decimal(0)
    tokens = call["input_tokens"] or 0, call["output_tokens"] or 0
    settings = getattr(mock or boundary.active(), "settings", None)
    prices: Prices = settings.prices if settings else ()
    for pattern, price in reversed(prices):
        if fnmatch.fnmatchcase(call["model_id"], pattern):
            return (price.input * tokens[0] + price.output * tokens[1]) / MILLION
    return _provider_cost(call["model_id"], tokens, call["timestamp"])


def cost_of_usage(model_id: str, usage: llm.Usage, timestamp: str) -> Decimal | None:
    """What the tokens of an answer cost in US dollars; None where the price is not known.

    Args:
        model_id: the model that answered.
        usage: the tokens.
        timestamp: when it was asked: ISO 8601.
    """
    used = {"input_tokens": usage.input, "output_tokens": usage.output}
    call: Any = {"model_id": model_id, "timestamp": timestamp, **used}
    try:
        return cost_of(call)
    except MissingExtra:  # the prices of the providers are not installed
        return None


def _provider_cost(model_id: str, tokens: tuple[int, int], timestamp: str) -> Decimal | None:
    """What the provider asks. `openrouter/openai/gpt-4o` is the model `openai/gpt-4o` of the provider openrouter."""
    __tracebackhide__ = True
    if not available():
        raise MissingExtra(explain.no_price_library(model_id))
    from genai_prices import Usage, calc_price

    provider, slash, rest = model_id.partition("/")
    noon = datetime.fromisoformat(timestamp).replace(hour=12, tzinfo=timezone.utc)
    try:
        price = calc_price(
            Usage(input_tokens=tokens[0], output_tokens=tokens[1]),
            rest if slash else model_id,
            provider_id=provider if slash else None,
            genai_request_timestamp=noon,
        )
    except LookupError:
        return None
    if price.model_price.input_mtok is None and not model_id.endswith(FREE):
        return None
    return price.total_price


def price(model: str, input: Any, output: Any) -> tuple[str, Price]:
    """An entry of the prices of a project.

    Args:
        model: a model id, or a glob of ids.
        input: US dollars for a million tokens of input, from 0.
        output: the same for the output.

    Raises:
        InvalidBudget: one is not an amount.
    """
    __tracebackhide__ = True
    return model, Price(amount(input, f"the price of {model!r}"), amount(output, f"the price of {model!r}"))


def prices_from(lines: Iterable[str]) -> Prices:
    """The prices that ini `llm_mock_prices` gives, each line `glob = input output`.

    Raises:
        InvalidBudget: a line is not of that form.
    """
    return tuple(_price_from(line) for line in lines)


def _price_from(line: str) -> tuple[str, Price]:
    model, _, rest = line.rpartition("=")
    numbers = rest.split()
    if not model.strip() or len(numbers) != 2:
        raise InvalidBudget(explain.bad_price_line(line))
    return price(model.strip(), *numbers)


def amount(value: Any, what: str) -> Decimal:
    """A number of dollars from 0, exactly as it was written.

    Raises:
        InvalidBudget: it is none; the message says of what.
    """
    __tracebackhide__ = True
    try:
        dollars = Decimal(str(value))
    except InvalidOperation:
        raise InvalidBudget(explain.bad_amount(value, what)) from None
    if isinstance(value, bool) or not dollars.is_finite() or dollars < 0:
        raise InvalidBudget(explain.bad_amount(value, what))
    return dollars


def whole_number(value: Any, what: str) -> int:
    """A number of tokens from 0, such as 5000 or "5000".

    Raises:
        InvalidBudget: it is none; the message says of what.
    """
    __tracebackhide__ = True
    if isinstance(value, bool) or not str(value).isdecimal():
        raise InvalidBudget(explain.bad_token_count(value, what))
    return int(value)


def assert_cost_below(mock_llm_calls: MockGetModel, dollars: Any, model: str | None = None) -> None:
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
    bills = bills_of(_calls(mock_llm_calls, model), mock_llm_calls)
    if unknown := unknown_models(bills):
        raise AssertionError(explain.unknown_prices(unknown, bills))
    if (total := total_cost(bills)) >= limit:
        raise AssertionError(explain.cost_not_below(total, limit, bills))


def assert_tokens_below(mock_llm_calls: MockGetModel, tokens: int, model: str | None = None) -> None:
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
    limit = whole_number(tokens, "assert_tokens_below")
    bills = token_bills_of(_calls(mock_llm_calls, model))
    if (total := total_tokens(bills)) >= limit:
        raise AssertionError(explain.tokens_not_below(total, limit, bills))


def _calls(mock: MockGetModel, model: str | None) -> list[CallRecord]:
    return mock.calls if model is None else mock.calls_of(model)


def bills_of(calls: Iterable[CallRecord], mock: Any = None) -> list[Bill]:
    """What each call used.

    Raises:
        MissingExtra: a price is not configured, and `genai-prices` is not installed.
    """
    __tracebackhide__ = True
    return [Bill(call, tokens_of(call), cost_of(call, mock)) for call in calls]


def token_bills_of(calls: Iterable[CallRecord]) -> list[Bill]:
    """What each call used, its cost left out."""
    return [Bill(call, tokens_of(call), None) for call in calls]


def total_tokens(bills: Iterable[Bill]) -> int:
    """The tokens of all calls."""
    return sum(bill.tokens for bill in bills)


def total_cost(bills: Iterable[Bill]) -> Decimal:
    """The cost of all calls whose price is known, in US dollars."""
    return sum((bill.cost for bill in bills if bill.cost is not None), Decimal(0))


def unknown_models(bills: Iterable[Bill]) -> list[str]:
    """The models whose price is not known, sorted."""
    return sorted({bill.call["model_id"] for bill in bills if bill.cost is None})


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
        bills = token_bills_of(calls) if self.cost is None else bills_of(calls, mock)
        if self.cost is not None and (unknown := unknown_models(bills)):
            return explain.unknown_prices(unknown, bills)
        exceeded = self.exceeded(total_cost(bills), total_tokens(bills))
        return explain.budget_exceeded(exceeded, bills, self.cost is not None) if exceeded else None

    def exceeded(self, dollars: Decimal, tokens: int) -> list[str]:
        """Which of its limits sums exceed, a phrase for each."""
        phrases = []
        if self.cost is not None and dollars > self.cost:
            phrases.append(explain.over_cost(dollars, self.cost))
        if self.tokens is not None and tokens > self.tokens:
            phrases.append(explain.over_tokens(tokens, self.tokens))
        return phrases


def budget_from(where: str, cost: Any, tokens: Any) -> Budget:
    """A budget as a marker or the ini gives it.

    Args:
        where: what gives it, for the message.
        cost: US dollars, or None.
        tokens: input and output together, or None.

    Raises:
        InvalidBudget: it is none.
    """
    __tracebackhide__ = True
    return Budget(
        None if cost is None else amount(cost, f"the cost of {where}"),
        None if tokens is None else whole_number(tokens, f"the tokens of {where}"),
    )
