"""What numbers may be, wherever one is given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

LONGEST = 86_400
"""Seconds that anything may take: a day. What Python waits with fails for far more."""
MOST_REPETITIONS = 10_000
"""How often a case or a step may be done."""
MOST_RETRIES = 1_000
"""How often what failed may be tried again."""


def is_whole(value: Any, least: int = 0, most: float = math.inf) -> bool:
    """Whether a value is a whole number of a range; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def is_number(value: Any, least: float = 0, most: float = math.inf) -> bool:
    """Whether a value is a finite number of a range; true and false are none."""
    is_one = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_one and (isinstance(value, int) or math.isfinite(value)) and least <= value <= most


def check_finite(value: Any) -> Any:
    """Return a JSON value as it is.

    Raises:
        ValueError: a number in it is NaN or infinite.
    """
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            waiting += part.values()
        elif isinstance(part, (list, tuple)):
            waiting += part
        elif isinstance(part, float) and not math.isfinite(part):
            raise ValueError(f"{part} is not a number of JSON")
    return value
