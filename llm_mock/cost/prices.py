"""Compute the cost of calls in US dollars, at the prices of the providers or of the project.

The prices of the providers are part of the package `genai-prices` (the extra `cost`), so nothing is
downloaded.
"""

from __future__ import annotations

import fnmatch
import importlib.util
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, NamedTuple

from llm_mock.core.context import current_mock
from llm_mock.errors import InvalidBudget, MissingExtra
from llm_mock.support.text import described

if TYPE_CHECKING:
    import llm

    from llm_mock.core.call import Call

# Read by pytest. In the module, because comprehensions have their own frames before Python 3.12.
__tracebackhide__ = True
MILLION = 1_000_000
# OpenRouter's suffix for free models. For other models without a price for text, it is unknown.
FREE = ":free"


class Price(NamedTuple):
    """The price of a model in US dollars per million tokens."""

    input: Decimal
    output: Decimal


Prices = tuple[tuple[str, Price], ...]
"""The prices of a project by glob of model ids; the last match applies."""


def has_provider_prices() -> bool:
    """Return whether `genai-prices` is installed, which contains the prices of the providers."""
    return importlib.util.find_spec("genai_prices") is not None


def count_tokens(call: Call) -> int:
    """Return the total of input and output tokens of a call; 0 for an immediate error."""
    input_tokens = call["input_tokens"] or 0
    output_tokens = call["output_tokens"] or 0
    return input_tokens + output_tokens


def compute_cost(call: Call, mock: object = None) -> Decimal | None:
    """Return the cost of a call in US dollars, or None if the price of the model is unknown.

    A call that used no tokens, because it failed, costs nothing.

    Args:
        call: the call.
        mock: the mock whose prices override those of the providers; by default the active one.

    Raises:
        MissingExtra: the model has no configured price, and `genai-prices` is not installed.
    """
    input_tokens = call["input_tokens"] or 0
    output_tokens = call["output_tokens"] or 0
    return _compute_cost(
        call["model_id"],
        input_tokens,
        output_tokens,
        call["timestamp"],
        mock,
    )


_project_prices: Prices = ()
"""The project's prices for a command; within pytest, the mocks have them."""


@contextmanager
def apply_project_prices(prices: Prices) -> Iterator[None]:
    """Apply the prices of a project within the context; prices of mocks take precedence."""
    global _project_prices
    previous = _project_prices
    _project_prices = prices
    try:
        yield
    finally:
        _project_prices = previous


def compute_usage_cost(model_id: str, usage: llm.Usage, timestamp: str) -> Decimal | None:
    """Return the cost of a response to a request at a time (ISO 8601); None if it is unknown."""
    input_tokens = usage.input or 0
    output_tokens = usage.output or 0
    try:
        return _compute_cost(model_id, input_tokens, output_tokens, timestamp, None)
    except MissingExtra:
        # The prices of the providers are not installed. The cost is only shown, so no error.
        return None


def _compute_cost(
    model_id: str,
    input: int,
    output: int,
    timestamp: str,
    mock: object,
) -> Decimal | None:
    if not input and not output:
        return Decimal(0)
    prices: Prices = getattr(mock or current_mock(), "prices", ())
    for pattern, price in reversed((*_project_prices, *prices)):
        if fnmatch.fnmatchcase(model_id, pattern):
            cost = price.input * input + price.output * output
            return cost / MILLION
    return _compute_provider_cost(model_id, input, output, timestamp)


def _compute_provider_cost(
    model_id: str,
    input: int,
    output: int,
    timestamp: str,
) -> Decimal | None:
    if not has_provider_prices():
        raise MissingExtra(describe_missing_prices(model_id))
    from genai_prices import Usage, calc_price

    # `openrouter/openai/gpt-4o` is the model `openai/gpt-4o` of the provider openrouter.
    provider, slash, rest = model_id.partition("/")
    # Some prices depend on the time of day. Using noon, a test always costs the same.
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
    # A model without a price for text is free only if its id says so.
    if price.model_price.input_mtok is None and not model_id.endswith(FREE):
        return None
    return price.total_price


def describe_missing_prices(model: str) -> str:
    """Return the message for a model whose price needs `genai-prices`."""
    return (
        f"The cost of {model!r} is unknown without the prices of the providers. "
        f"Run: pip install 'pytest-llm-mock[cost]'. Or {describe_price_setting(model)}"
    )


def describe_price_setting(model: str) -> str:
    """Return advice on how to set the price of a model."""
    return (
        "set the price in US dollars per million input and output tokens: "
        f"mock_llm_responses.set_price({model!r}, INPUT, OUTPUT), "
        f"or for the whole run a line in ini llm_mock_prices: {model} = INPUT OUTPUT"
    )


def price(model: str, input: object, output: object) -> tuple[str, Price]:
    """Return an entry for the prices of a project.

    Args:
        model: a model id or a glob of ids.
        input: US dollars per million input tokens.
        output: US dollars per million output tokens.

    Raises:
        InvalidBudget: a price is not an amount.
    """
    what = f"the price of {model!r}"
    return model, Price(amount(input, what), amount(output, what))


def parse_prices(lines: Iterable[str]) -> Prices:
    """Parse the lines of ini `llm_mock_prices`, each `glob = input output`.

    Raises:
        InvalidBudget: a line is invalid.
    """
    return tuple(_parse_price(line) for line in lines)


def _parse_price(line: str) -> tuple[str, Price]:
    # A model id may have "=" in it.
    model, _, rest = line.rpartition("=")
    numbers = rest.split()
    if not model.strip() or len(numbers) != 2:
        raise InvalidBudget(
            f"Invalid line in ini llm_mock_prices: {line!r}. Write MODEL = INPUT OUTPUT, such as "
            "my-model = 0.15 0.60: an id or a glob of ids, and US dollars per million input and "
            "output tokens."
        )
    return price(model.strip(), *numbers)


def amount(value: object, what: str) -> Decimal:
    """Parse an amount of dollars of at least 0, without rounding.

    Args:
        value: a number or a string.
        what: the name of the setting, for the message.

    Raises:
        InvalidBudget: the value is not an amount.
    """
    try:
        dollars = Decimal(str(value))
    except (InvalidOperation, ValueError):
        # Python raises ValueError for an int of more than 4,300 digits.
        dollars = Decimal("NaN")
    if isinstance(value, bool) or not dollars.is_finite() or dollars < 0:
        raise InvalidBudget(
            f"Invalid amount of US dollars: {described(value)}, set as {what}. "
            "Write a number of at least 0, such as 0.05."
        )
    return dollars
