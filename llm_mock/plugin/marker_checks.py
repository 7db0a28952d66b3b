"""Whether the markers of a test are written right: the same check for all of them, and each mistake fails its test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import pytest

from llm_mock.errors import LLMMockError
from llm_mock.support.strictness import STRICTNESS_LEVELS

WRONG_MARKERS = pytest.StashKey[str]()
"""Of a test: what to say of its markers; not there where they are right."""
PREFIX = "llm_mock"


class _Takes(NamedTuple):
    """What a marker takes."""

    example: str
    names: tuple[str, ...] = ()
    """What it takes by name."""
    unnamed: float = 0
    """How many values without a name; they are the first of the names."""
    check: Callable[[pytest.Mark], object] = lambda mark: None
    """Raises an `LLMMockError` for values that make no sense."""


def _check_strict(mark: pytest.Mark) -> None:
    level = get_strictness(mark)
    if level not in STRICTNESS_LEVELS:
        from llm_mock.support.text import shorten_name

        given = shorten_name(repr(level))
        raise LLMMockError(f"Unknown level {given}; it must be off, warn or error.")


def get_strictness(mark: pytest.Mark) -> Any:
    """Return the level of a marker `llm_mock_strict`, which may be wrong."""
    return mark.args[0] if mark.args else mark.kwargs.get("level", "error")


def _check_budget(mark: pytest.Mark) -> None:
    from llm_mock.cost.budgets import parse_budget

    if parse_budget(mark.name, mark.kwargs.get("cost"), mark.kwargs.get("tokens")) == (None, None):
        raise LLMMockError("It limits nothing.")


def _check_misbehaviour(mark: pytest.Mark) -> None:
    from llm_mock.behaviour.misbehaviour import read_markers

    read_markers([mark])


def repeats_wanted(mark: pytest.Mark) -> tuple[int | None, float]:
    """How often a marker wants a test to be run (None: not said), and which share of the runs must pass.

    Raises:
        LLMMockError: a value makes no sense.
    """
    from llm_mock.support.numbers import MOST_REPETITIONS, is_number, is_whole
    from llm_mock.support.text import shorten

    times = mark.args[0] if mark.args else mark.kwargs.get("times")
    threshold = mark.kwargs.get("threshold", 1.0)
    if times is not None and not is_whole(times, 1, MOST_REPETITIONS):
        raise LLMMockError(
            f"times is {shorten(times)}, and no whole number from 1 to {MOST_REPETITIONS:,}."
        )
    if not (is_number(threshold, most=1) and threshold):
        raise LLMMockError(
            f"threshold is {shorten(threshold)}, and no share above 0, and at most 1."
        )
    return times, threshold


TAKES = {
    "llm_live": _Takes("llm_live"),
    "llm_mock_strict": _Takes("llm_mock_strict('error')", ("level",), 1, _check_strict),
    "llm_mock_misbehaviour": _Takes(
        "llm_mock_misbehaviour('rate-limit', times=1)",
        ("times",),
        float("inf"),
        _check_misbehaviour,
    ),
    "llm_mock_cassette": _Takes(
        "llm_mock_cassette('greeting', record='once')", ("name", "record"), 1
    ),
    "llm_mock_budget": _Takes(
        "llm_mock_budget(cost=0.01, tokens=5000)", ("cost", "tokens"), check=_check_budget
    ),
    "llm_mock_repeat": _Takes(
        "llm_mock_repeat(5, threshold=0.8)", ("times", "threshold"), 1, repeats_wanted
    ),
}


def wrong_markers(markers: Iterable[pytest.Mark], config: pytest.Config) -> str | None:
    """What to say of the markers of a test, if one is wrong."""
    return "\n".join(_problems(markers, config)) or None


def _problems(markers: Iterable[pytest.Mark], config: pytest.Config) -> Iterator[str]:
    for mark in markers:
        if mark.name in TAKES:
            try:
                _check_arguments(mark, TAKES[mark.name])
                TAKES[mark.name].check(mark)
            except LLMMockError as error:
                yield f"{_as_written(mark)}: {error} Write @pytest.mark.{TAKES[mark.name].example}"
        elif mark.name.startswith(PREFIX) and mark.name not in _registered(config):
            from llm_mock.support.text import suggest_name

            known = [name for name in TAKES if name.startswith(PREFIX)]
            yield f"There is no marker {mark.name}{suggest_name(mark.name, known)}"


def _registered(config: pytest.Config) -> set[str]:
    """The names of all markers that plugins and the project have told pytest."""
    return {line.partition(":")[0].partition("(")[0].strip() for line in config.getini("markers")}


def _check_arguments(mark: pytest.Mark, takes: _Takes) -> None:
    if unknown := [name for name in mark.kwargs if name not in takes.names]:
        from llm_mock.support.text import suggest_nearest

        raise LLMMockError(
            f"It takes no {unknown[0]}={suggest_nearest(unknown[0], takes.names) or '.'}"
        )
    if len(mark.args) > takes.unnamed:
        many = "one value" if takes.unnamed else "no value"
        raise LLMMockError(
            f"It takes {many} without a name." if takes.names else "It takes nothing."
        )
    if mark.args and takes.unnamed == 1 and takes.names[0] in mark.kwargs:
        raise LLMMockError(f"It is given {takes.names[0]} twice.")


def _as_written(mark: pytest.Mark) -> str:
    from llm_mock.support.text import shorten_name

    given = ", ".join(
        [*map(repr, mark.args), *(f"{name}={value!r}" for name, value in mark.kwargs.items())]
    )
    return shorten_name(f"@pytest.mark.{mark.name}({given})")
