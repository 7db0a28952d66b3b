"""What was found out about an output, before it is said whether that was wanted."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple


class Outcome(NamedTuple):
    """What was found out."""

    holds: bool | None
    """Whether the output is as the assertion without `not_` says; None where that could not be found out."""
    message: str
    tokens: int = 0
    """What asking a model took, input and output together."""
    cost: Decimal | None = Decimal(0)
    """What asking a model cost in US dollars; None where the price is not known."""
