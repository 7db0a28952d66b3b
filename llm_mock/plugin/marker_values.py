"""Corrections of invalid values in markers, for the messages about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from llm_mock.cassettes import RECORD_MODES
from llm_mock.support.numbers import MOST_REPETITIONS
from llm_mock.support.strictness import STRICTNESS_LEVELS
from llm_mock.support.text import find_nearest


def correct_value(parameter: str, value: object) -> object:
    """Return the corrected value of a parameter of a marker; the value itself if unknown."""
    correct = CORRECTIONS.get(parameter)
    return value if correct is None else correct(value)


def correct_names(names: Iterable[object]) -> list[object]:
    """Return the corrected names of misbehaviours from names and lists of names."""
    from llm_mock.behaviour.catalogue import CATALOGUE

    corrected: list[object] = []
    for name in names:
        if isinstance(name, (list, tuple)):
            corrected += correct_names(name)
        else:
            corrected.append(_find_word(name, CATALOGUE))
    return corrected


def _correct_level(value: object) -> object:
    if isinstance(value, bool):
        return "error" if value else "off"
    return _find_word(value, STRICTNESS_LEVELS)


def _correct_mode(value: object) -> object:
    return _find_word(value, RECORD_MODES)


def _find_word(value: object, words: Iterable[str]) -> object:
    """Return the word that is nearest to a value; the value itself if none is near."""
    if not isinstance(value, str):
        return value
    return find_nearest(value.lower(), words) or value


def _correct_times(value: object) -> object:
    """Return the whole number in a text or a decimal number; else the value itself."""
    number = _read_number(value)
    if number.is_integer() and 1 <= number <= MOST_REPETITIONS:
        return int(number)
    return value


def _correct_threshold(value: object) -> object:
    """Return a share that is written as a text or as a percentage; else the value itself."""
    number = _read_number(value)
    if 0 < number <= 1:
        return number
    # Fractions such as 1.5 are hardly percentages of runs.
    if number.is_integer() and 2 <= number <= 100:
        return number / 100
    return value


def _read_number(value: object) -> float:
    """Return a value, or the number in a text; 0 for other values."""
    if not isinstance(value, (str, int, float)):
        return 0.0
    try:
        number = float(str(value))
    except ValueError:
        return 0.0
    return number if math.isfinite(number) else 0.0


CORRECTIONS: dict[str, Callable[[object], object]] = {
    "level": _correct_level,
    "record": _correct_mode,
    "threshold": _correct_threshold,
    "times": _correct_times,
}
"""The functions that correct the values of the parameters of markers."""
