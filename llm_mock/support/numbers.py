"""Validation of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeVar

Value = TypeVar("Value")

LONGEST = 86_400
"""The maximum duration in seconds: a day. Python's wait functions fail for very large numbers."""
MOST_REPETITIONS = 10_000
"""The maximum number of repetitions of a case or a step."""
MOST_RETRIES = 1_000
"""The maximum number of retries."""


def is_whole(value: object, least: int = 0, most: float = math.inf) -> bool:
    """Return whether a value is a whole number in a range; a bool is not."""
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    return least <= value <= most


def is_number(value: object, least: float = 0, most: float = math.inf) -> bool:
    """Return whether a value is a finite number in a range; a bool is not."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    # `math.isfinite` raises an error for an int that is too large for a float.
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return least <= value <= most


def check_finite(value: Value) -> Value:
    """Return a JSON value as it is.

    Raises:
        ValueError: a number in it is NaN or infinite.
    """
    waiting: list[object] = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            waiting += part.values()
        elif isinstance(part, (list, tuple)):
            waiting += part
        elif isinstance(part, float) and not math.isfinite(part):
            raise ValueError(f"{part} is not a valid JSON number")
    return value
