"""What models cost, and with it a call: tokens, and US dollars at the prices of the providers or of the project.

The prices of the providers come from `genai-prices` (the extra `cost`), which carries them with it: nothing is fetched.
"""

from __future__ import annotations

import fnmatch
import importlib.util
from collections.abc import Iterable
from datetime import datetime, timezone
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, NamedTuple

from llm_mock.core.active import active
from llm_mock.errors import InvalidBudget, MissingExtra
from llm_mock.support.text import described

if TYPE_CHECKING:
    import llm

    from llm_mock.core.records import CallRecord

__tracebackhide__ = True  # of comprehensions, too
MILLION = 1_000_000
FREE = ":free"
"""How OpenRouter's ids of free models end. Any other model that has no price for text has an unknown one."""


class Price(NamedTuple):
    """What a model costs, in US dollars for a million tokens."""

    input: Decimal
    output: Decimal


Prices = tuple[tuple[str, Price], ...]
"""The prices of a project: globs of model ids, and what these models cost. The last that fits counts."""


def available() -> bool:
    """Whether `genai-prices` is installed, so that the prices of the providers are known."""
    return importlib.util.find_spec("genai_prices") is not None


def tokens_of(call: CallRecord) -> int:
    """How many tokens a call took, input and output together; those of a call that failed at once are 0."""
    return (call["input_tokens"] or 0) + (call["output_tokens"] or 0)


def cost_of(call: CallRecord, mock: Any = None) -> Decimal | None:
    """What a call costs in US dollars; None where no price is known for the model.

    The prices of the mock, by default of the active one, come first. A call that used no tokens, because it failed,
    costs nothing. Without a price and without `genai-prices` it is a `MissingExtra`.
    """
    return _cost(call["model_id"], call["input_tokens"] or 0, call["output_tokens"] or 0, call["timestamp"], mock)


def cost_of_usage(model_id: str, usage: llm.Usage, timestamp: str) -> Decimal | None:
    """What the tokens of an answer to what was asked at a time (ISO 8601) cost; None where the price is not known."""
    try:
        return _cost(model_id, usage.input or 0, usage.output or 0, timestamp, None)
    except MissingExtra:  # the prices of the providers are not installed
        return None


def _cost(model_id: str, input: int, output: int, timestamp: str, mock: Any) -> Decimal | None:
    if not input and not output:
        return Decimal(0)
    prices: Prices = getattr(mock or active(), "prices", ())
    for pattern, price in reversed(prices):
        if fnmatch.fnmatchcase(model_id, pattern):
            return (price.input * input + price.output * output) / MILLION
    return _provider_cost(model_id, input, output, timestamp)


def _provider_cost(model_id: str, input: int, output: int, timestamp: str) -> Decimal | None:
    """What the provider asks. `openrouter/openai/gpt-4o` is the model `openai/gpt-4o` of the provider openrouter."""
    if not available():
        raise MissingExtra(no_price_library(model_id))
    from genai_prices import Usage, calc_price

    provider, slash, rest = model_id.partition("/")
    # Prices that change with the time of day are those of noon, so that a test costs the same at any hour.
    noon = datetime.fromisoformat(timestamp).replace(hour=12, tzinfo=timezone.utc)
    try:
        price = calc_price(
            Usage(input_tokens=input, output_tokens=output),
            rest if slash else model_id,
            provider_id=provider if slash else None,
            genai_request_timestamp=noon,
        )
    except LookupError:
        return None
    if price.model_price.input_mtok is None and not model_id.endswith(FREE):
        return None
    return price.total_price


def no_price_library(model: str) -> str:
    """What a model costs is asked, and the prices of the providers are not installed."""
    return (
        f"What {model!r} costs is not known without the prices of the providers: pip install 'pytest-llm-mock[cost]'. "
        f"Or {how_to_price(model)}"
    )


def how_to_price(model: str) -> str:
    """How to say what a model costs."""
    return (
        "give the price that its provider asks, in US dollars for a million tokens of input and of output: "
        f"mock_llm_responses.set_price({model!r}, INPUT, OUTPUT), or for the whole run a line in ini llm_mock_prices: "
        f"{model} = INPUT OUTPUT"
    )


def price(model: str, input: Any, output: Any) -> tuple[str, Price]:
    """An entry of the prices of a project: of a model id or a glob of ids, US dollars for a million tokens."""
    return model, Price(amount(input, f"the price of {model!r}"), amount(output, f"the price of {model!r}"))


def prices_from(lines: Iterable[str]) -> Prices:
    """The prices that ini `llm_mock_prices` gives, each line `glob = input output`; else an `InvalidBudget`."""
    return tuple(_price_from(line) for line in lines)


def _price_from(line: str) -> tuple[str, Price]:
    model, _, rest = line.rpartition("=")
    numbers = rest.split()
    if not model.strip() or len(numbers) != 2:
        raise InvalidBudget(
            f"ini llm_mock_prices: {line!r} should be model = input output, as my-model = 0.15 0.60: an id or a glob "
            "of ids, and US dollars for a million tokens of input and of output."
        )
    return price(model.strip(), *numbers)


def amount(value: Any, what: str) -> Decimal:
    """A number of dollars from 0, exactly as it was written; anything else is an `InvalidBudget`."""
    try:
        dollars = Decimal(str(value))
    except (InvalidOperation, ValueError):  # ValueError: a number of more digits than Python writes
        dollars = Decimal("NaN")
    if isinstance(value, bool) or not dollars.is_finite() or dollars < 0:
        raise InvalidBudget(
            f"This is not an amount of US dollars: {described(value)}, given as {what}. Write a number from 0, as 0.05."
        )
    return dollars
