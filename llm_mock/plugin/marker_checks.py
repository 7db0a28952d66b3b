"""Validation of the markers of a test; an invalid marker fails its test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import pytest

from llm_mock.errors import LLMMockError
from llm_mock.support.strictness import STRICTNESS_LEVELS

PREFIX = "llm_mock"
"""The beginning of the names of all markers but `llm_live`."""


class _Signature(NamedTuple):
    """The parameters of a marker."""

    example: str
    names: tuple[str, ...] = ()
    """The names of the parameters."""
    positional: float = 0
    """The maximum number of positional arguments; the first names are for these."""
    check: Callable[[pytest.Mark], object] = lambda mark: None
    """A function that raises an `LLMMockError` for invalid values."""


def _check_strict(mark: pytest.Mark) -> None:
    level = get_strictness(mark)
    if level not in STRICTNESS_LEVELS:
        from llm_mock.support.text import shorten_name, suggest_nearest

        given = shorten_name(repr(level))
        nearest = suggest_nearest(str(level), STRICTNESS_LEVELS) or "."
        raise LLMMockError(f"Unknown level {given}{nearest} It must be off, warn or error.")


def get_strictness(mark: pytest.Mark) -> Any:
    """Return the level of a marker `llm_mock_strict`, which may be invalid."""
    return mark.args[0] if mark.args else mark.kwargs.get("level", "error")


def _check_budget(mark: pytest.Mark) -> None:
    from llm_mock.cost.budgets import parse_budget

    if parse_budget(mark.name, mark.kwargs.get("cost"), mark.kwargs.get("tokens")) == (None, None):
        raise LLMMockError("It must limit the cost, the tokens or both.")


def _check_misbehaviour(mark: pytest.Mark) -> None:
    from llm_mock.behaviour.misbehaviour import read_markers

    read_markers([mark])


def _check_cassette(mark: pytest.Mark) -> None:
    # Imported late: few tests have a cassette.
    from llm_mock.plugin.cassette_arguments import check_name, check_record_mode

    name = mark.args[0] if mark.args else mark.kwargs.get("name")
    if name is not None:
        check_name(name)
    mode = mark.kwargs.get("record")
    if mode is not None:
        check_record_mode(mode)


def parse_repeat(mark: pytest.Mark) -> tuple[int | None, float]:
    """Return the values of a marker `llm_mock_repeat`.

    Returns:
        The number of runs, None if the marker gives none; and the share of runs that must pass.

    Raises:
        LLMMockError: a value is invalid.
    """
    from llm_mock.support.numbers import MOST_REPETITIONS, is_number, is_whole
    from llm_mock.support.text import shorten

    times = mark.args[0] if mark.args else mark.kwargs.get("times")
    threshold = mark.kwargs.get("threshold", 1.0)
    if times is not None and not is_whole(times, 1, MOST_REPETITIONS):
        raise LLMMockError(
            f"times is {shorten(times)}; it must be a whole number from 1 to {MOST_REPETITIONS:,}."
        )
    if not (is_number(threshold, most=1) and threshold):
        raise LLMMockError(
            f"threshold is {shorten(threshold)}; it must be a number above 0 and at most 1."
        )
    return times, threshold


SIGNATURES = {
    "llm_live": _Signature("llm_live"),
    "llm_mock_strict": _Signature("llm_mock_strict('error')", ("level",), 1, _check_strict),
    "llm_mock_misbehaviour": _Signature(
        "llm_mock_misbehaviour('rate-limit', times=1)",
        ("times",),
        float("inf"),
        _check_misbehaviour,
    ),
    "llm_mock_cassette": _Signature(
        "llm_mock_cassette('greeting', record='once')", ("name", "record"), 1, _check_cassette
    ),
    "llm_mock_budget": _Signature(
        "llm_mock_budget(cost=0.01, tokens=5000)", ("cost", "tokens"), check=_check_budget
    ),
    "llm_mock_repeat": _Signature(
        "llm_mock_repeat(5, threshold=0.8)", ("times", "threshold"), 1, parse_repeat
    ),
}


BARE_NAMES = (PREFIX, f"{PREFIX}s", f"{PREFIX}ed")
"""Names of markers that consist only of the name of this plugin."""
REPLY_WORDS = frozenset(
    (
        *("add", "answer", "answers", "error", "errors", "replies", "reply", "response"),
        *("responses", "return", "returns", "script", "set", "text"),
    )
)
"""Words that newcomers guess for markers that configure replies."""
PARAMETER_SYNONYMS = {"mode": "record", "pass_rate": "threshold"}
"""Names that newcomers guess for a parameter, too different from it for a suggestion."""
SETTINGS = {
    "budget": ("llm_mock_budget", "cost"),
    "cassette": ("llm_mock_cassette", "name"),
    "cost": ("llm_mock_budget", "cost"),
    "misbehaviour": ("llm_mock_misbehaviour", "names"),
    "record": ("llm_mock_cassette", "record"),
    "repeat": ("llm_mock_repeat", "times"),
    "strict": ("llm_mock_strict", "level"),
    "threshold": ("llm_mock_repeat", "threshold"),
    "tokens": ("llm_mock_budget", "tokens"),
}
"""The marker and the parameter of each setting that a marker `llm_mock(…)` might give."""
OWN_NAMES = [name for name in SIGNATURES if name.startswith(PREFIX)]
"""The names that no other plugin has."""


def describe_invalid_markers(markers: Iterable[pytest.Mark], config: pytest.Config) -> str | None:
    """Return the message about the invalid markers of a test; None if all are valid."""
    return "\n".join(_find_problems(markers, config)) or None


def _find_problems(markers: Iterable[pytest.Mark], config: pytest.Config) -> Iterator[str]:
    for mark in markers:
        signature = SIGNATURES.get(mark.name)
        if signature is not None:
            try:
                _check_arguments(mark, signature)
                signature.check(mark)
            except LLMMockError as error:
                example = _correct_mark(mark, signature) or _format_example(mark, signature)
                yield f"{_format_mark(mark)}: {error} Write {example}"
        elif mark.name.startswith("llm") and _is_misspelt(mark.name, config):
            yield f"Unknown marker {mark.name}{_suggest_marker(mark)}"


def _suggest_marker(mark: pytest.Mark) -> str:
    """Return the end of a message about an unknown marker."""
    from llm_mock.plugin.misspelt_names import FIXTURES
    from llm_mock.support.text import join_names, suggest_nearest

    name = mark.name
    if name in FIXTURES:
        return (
            ". It is a fixture: add it to the parameters of the test, or write "
            f"@pytest.mark.usefixtures({name!r})."
        )
    if name in BARE_NAMES:
        meant = _find_meant_markers(mark)
        if meant:
            return f". Each setting has its own marker. Write {' and '.join(meant)}"
    if name in BARE_NAMES or not REPLY_WORDS.isdisjoint(name.split("_")):
        return (
            ". Markers cannot configure replies: request the fixture mock_llm_responses and write "
            f"mock_llm_responses.set({_format_reply_arguments(mark)}). Markers: "
            f"{join_names([*SIGNATURES])}."
        )
    nearest = suggest_nearest(name, OWN_NAMES, f"{PREFIX}_")
    return nearest or f"; known are {join_names(OWN_NAMES)}"


def _find_meant_markers(mark: pytest.Mark) -> list[str]:
    """Return the markers for the settings that a marker `llm_mock(…)` gives; empty if unclear."""
    from llm_mock.support.text import CERTAIN, find_nearest

    arguments: dict[str, dict[str, object]] = {}
    for value in mark.args:
        # Ini `llm_mock` has this value; its level is the part that a test can choose.
        if find_nearest(str(value), ["strict"], CERTAIN) is None:
            return []
        arguments["llm_mock_strict"] = {"level": "error"}
    for name, value in mark.kwargs.items():
        setting = find_nearest(name, SETTINGS, CERTAIN)
        if setting is None:
            return []
        marker, parameter = SETTINGS[setting]
        arguments.setdefault(marker, {})[parameter] = value
    return [_format_meant(marker, values) for marker, values in arguments.items()]


def _format_meant(name: str, arguments: dict[str, object]) -> str:
    """Return a marker with its arguments, as far as they are valid or can be corrected."""
    decorator = getattr(pytest.mark, name)
    positional = []
    if "names" in arguments:
        positional.append(arguments.pop("names"))
    mark = decorator.with_args(*positional, **arguments).mark
    signature = SIGNATURES[name]
    return _correct_mark(mark, signature) or _format_example(mark, signature)


def _format_reply_arguments(mark: pytest.Mark) -> str:
    """Return the model and the reply that a marker gives, as code, or both names."""
    from llm_mock.support.text import shorten_name

    values = [*mark.args]
    if "model" in mark.kwargs:
        values.insert(0, mark.kwargs["model"])
    for name, value in mark.kwargs.items():
        if name in REPLY_WORDS:
            values.append(value)
    # With fewer or more values, it is unclear which one is the reply.
    if len(values) != 2 or not isinstance(values[0], str):
        return "model, reply"
    return ", ".join(shorten_name(repr(value)) for value in values)


def _is_misspelt(name: str, config: pytest.Config) -> bool:
    """Return True if an unknown marker is surely meant for this plugin."""
    from llm_mock.support.text import CERTAIN, find_nearest

    # Another plugin may have registered a marker that begins so.
    if name in _registered_names(config):
        return False
    # The project may use markers like `llm_slow` without registering them.
    return name.startswith(PREFIX) or find_nearest(name, OWN_NAMES, CERTAIN) is not None


def _registered_names(config: pytest.Config) -> set[str]:
    """Return the names of all markers that plugins and the project registered."""
    lines = config.getini("markers")
    return {line.partition(":")[0].partition("(")[0].strip() for line in lines}


def _check_arguments(mark: pytest.Mark, signature: _Signature) -> None:
    """Raise an error for arguments that the marker does not have."""
    for name in mark.kwargs:
        if name not in signature.names:
            meant = _find_parameter(name, signature)
            suggestion = "." if meant is None else f"; did you mean {meant!r}?"
            raise LLMMockError(f"It has no parameter {name}{suggestion}")
    if len(mark.args) > signature.positional:
        if not signature.names:
            raise LLMMockError("It takes no arguments.")
        allowed = "one positional argument" if signature.positional else "no positional arguments"
        raise LLMMockError(f"It takes {allowed}.")
    # The only marker with more positional arguments takes any number of names.
    if mark.args and signature.positional == 1 and signature.names[0] in mark.kwargs:
        raise LLMMockError(f"It got {signature.names[0]} twice.")


def _find_parameter(name: str, signature: _Signature) -> str | None:
    """Return the parameter of a marker for a misspelt or guessed name; None if unknown."""
    from llm_mock.support.text import find_nearest

    synonym = PARAMETER_SYNONYMS.get(name)
    return synonym if synonym in signature.names else find_nearest(name, signature.names)


def _correct_mark(mark: pytest.Mark, signature: _Signature) -> str | None:
    """Return an invalid marker with its own values and correct names; None if unknown."""
    from llm_mock.plugin.marker_values import correct_names, correct_value

    names = signature.names
    arguments = {}
    for name, value in mark.kwargs.items():
        meant = name if name in names else _find_parameter(name, signature) or name
        arguments[meant] = correct_value(meant, value)
    positional = mark.args
    # Of most markers only the first value may be given by its position, and wins.
    if signature.positional == 1 and 0 < len(positional) <= len(names):
        arguments.pop(names[0], None)
        for name, value in zip(names[1:], positional[1:], strict=False):
            arguments[name] = correct_value(name, value)
        positional = (correct_value(names[0], positional[0]),)
    elif signature.positional > 1:
        positional = tuple(correct_names(positional))
    corrected = getattr(pytest.mark, mark.name).with_args(*positional, **arguments).mark
    return _format_mark(corrected) if _is_valid(corrected, signature) else None


def _format_example(mark: pytest.Mark, signature: _Signature) -> str:
    """Return the example of a marker, with the name that the marker gives its cassette."""
    from llm_mock.support.text import shorten_name

    example = signature.example
    name = mark.args[0] if mark.args else mark.kwargs.get("name")
    # Only the cassette has a name, which may be what is wrong.
    if isinstance(name, str) and _is_valid(pytest.mark.llm_mock_cassette(name).mark, signature):
        example = example.replace(repr("greeting"), shorten_name(repr(name)))
    return f"@pytest.mark.{example}"


def _is_valid(mark: pytest.Mark, signature: _Signature) -> bool:
    """Return whether a marker has the right arguments."""
    try:
        _check_arguments(mark, signature)
        signature.check(mark)
    except LLMMockError:
        return False
    return True


def _format_mark(mark: pytest.Mark) -> str:
    """Return a marker as a test has it."""
    from llm_mock.support.text import shorten_name

    arguments = [repr(value) for value in mark.args]
    arguments += [f"{name}={value!r}" for name, value in mark.kwargs.items()]
    return shorten_name(f"@pytest.mark.{mark.name}({', '.join(arguments)})")
