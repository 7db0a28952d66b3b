"""The wording of what assertions find, and of why they cannot find it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from llm_mock.agents.result import without_secrets
from llm_mock.support.text import dollars, escaped, shorten, shorten_name, suggestion

SHOWN = 120


def quoted(text: str, length: int = SHOWN) -> str:
    """A text in quotes, cut, backslashes as they are; what a terminal could act on is escaped."""
    cut = text if len(text) <= length else f"{text[: length - 1]}…"
    return f"'{escaped(cut)}'"


def _all_quoted(texts: Sequence[str]) -> str:
    return ", ".join(quoted(text, 60) for text in texts)


def contains(value: str, found: bool) -> str:
    """Whether a text is there."""
    return f"Output contains {quoted(value)}" if found else f"Output does not contain {quoted(value)}"


def contains_any(values: Sequence[str], found: Sequence[str]) -> str:
    """Which of several texts are there."""
    return f"Output contains {_all_quoted(found)}" if found else f"Output contains none of {_all_quoted(values)}"


def contains_all(values: Sequence[str], missing: Sequence[str]) -> str:
    """Which of several texts are missing."""
    if missing:
        return f"Output does not contain {_all_quoted(missing)}"
    return f"Output contains all of {_all_quoted(values)}"


def equals(value: str, output: str, holds: bool) -> str:
    """Whether the output is a text, and from where on it is another."""
    if holds:
        return f"Output equals {quoted(value)}"
    pairs = zip(value, output, strict=False)
    same = next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(value), len(output)))
    if same <= SHOWN // 2:
        return f"Output does not equal {quoted(value)}, it is {quoted(output)}"
    start = same - 20
    there, wanted = quoted(f"…{output[start:]}", 60), quoted(f"…{value[start:]}", 60)
    return f"Output does not equal {quoted(value, 60)}: from character {same + 1:,} it is {there}, not {wanted}"


def starts_with(value: str, output: str, holds: bool) -> str:
    """Whether the output begins with a text, and how it begins."""
    if holds:
        return f"Output starts with {quoted(value)}"
    return f"Output does not start with {quoted(value)}, but with {quoted(output, max(20, min(len(value), SHOWN)))}"


def matches(pattern: str, found: bool) -> str:
    """Whether a pattern is found."""
    return f"Output matches pattern {quoted(pattern)}" if found else f"Output does not match pattern {quoted(pattern)}"


def is_json() -> str:
    """The output is JSON."""
    return "Output is JSON"


def not_json(error: Exception) -> str:
    """The output is none."""
    if isinstance(error, json.JSONDecodeError):
        return f"Output is not JSON: {error.msg} at line {error.lineno} column {error.colno}"
    return f"Output is not JSON: {error}"


def fits_schema(problems: Sequence[str]) -> str:
    """The output is JSON, and where a schema does not allow it."""
    if not problems:
        return "Output is JSON that fits the schema"
    listed = "; ".join(shorten_name(problem.lstrip(".: "), 200) for problem in problems[:3])
    more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
    return f"Output breaks the schema: {listed}{more}"


def unusable_schema(error: Exception) -> str:
    """A schema by which this output cannot be checked."""
    return f"Output cannot be checked by the schema: {_error(error)}"


def unexpected(message: str) -> str:
    """What was found is what must not be."""
    return f"{message} (unexpected)"


_NEEDS = {
    "tool_calls": "only a real model chooses the tools that it calls",
    "max_tokens": "only a real model takes tokens",
    "max_latency": "only a real model takes time",
    "max_cost": "only a real model costs something",
    "similar": "it asks an embedding model",
    "llm_judge": "it asks a model",
}


def skipped_dry(kind: str) -> str:
    """What is not evaluated in a dry run."""
    return f"Skipped in a dry run: {kind}, {_NEEDS[kind.removeprefix('not_')]}"


def skipped_without_run() -> str:
    """What needs more than an output."""
    return "Skipped: there is an output, but no run that gave it"


def tool_not_offered(name: str, offered: Sequence[str]) -> str:
    """A call is expected of a tool that there is not."""
    there = suggestion(name, offered) if offered else "; it offers no tools"
    return f"The agent offers no tool {shorten(name, 60)}{there}"


def tool_calls(reason: str, holds: bool) -> str:
    """Whether the calls are those that were expected."""
    return f"{reason[:1].upper()}{reason[1:]}" if holds else f"Tool calls: {reason}"


def _limited(used: str, limit: str, within: bool) -> str:
    return f"{used}, at most {limit}" if within else f"{used}, more than {limit}"


def took_tokens(tokens: int, limit: int) -> str:
    """How many tokens it took."""
    return _limited(f"Took {tokens:,} tokens", f"{limit:,}", tokens <= limit)


def took_seconds(duration: float, limit: float) -> str:
    """How long it took."""
    return _limited(f"Took {duration:.3g} s", f"{limit:g} s", duration <= limit)


def took_dollars(cost: Decimal, limit: Decimal) -> str:
    """What it cost."""
    return _limited(f"Cost {dollars(cost)}", dollars(limit), cost <= limit)


def unknown_tokens(model: str) -> str:
    """The model did not say what it used."""
    return f"The model {shorten_name(model)!r} did not say how many tokens it took"


def unknown_price(model: str) -> str:
    """There is no price."""
    return (
        f"The price of the model {shorten_name(model)!r} is not known: give it (ini llm_mock_prices), or install the "
        "prices of the providers: pip install 'pytest-llm-mock[cost]'"
    )


# --- Assertions that ask a model ------------------------------------------------------------------------------------


def no_judge() -> str:
    """Nobody said which model judges."""
    return "No model judges: name one in the assertion, model: …"


def judge_without_schema(model: str) -> str:
    """A model that cannot be told the form of its answer."""
    return f"The model {shorten_name(model)!r} cannot judge, as it supports no schemas: name another, model: …"


def judge_failed(model: str, error: Exception) -> str:
    """A judging model raised an error."""
    return f"The model {shorten_name(model)!r} that judges failed: {_error(error)}"


def no_verdict(model: str, text: str) -> str:
    """A judging model answered something else."""
    return f"The model {shorten_name(model)!r} that judges gave no verdict, but {quoted(without_secrets(text))}"


def verdict(criteria: str, met: bool, reason: str) -> str:
    """What a judging model found."""
    said = shorten_name(without_secrets(reason), 500)
    return f"Output {'meets' if met else 'does not meet'} the criteria {quoted(criteria, 80)}: {said}"


def no_embedding_model() -> str:
    """`llm` has no default embedding model."""
    return "No embedding model: name one in the assertion, model: …, or set one for all: llm embed-models default MODEL"


def embedding_failed(model: str | None, error: Exception) -> str:
    """An embedding model raised an error."""
    named = f" {shorten_name(model)!r}" if model else ""
    return f"The embedding model{named} failed: {_error(error)}"


def similar(value: str, similarity: float, threshold: float, holds: bool) -> str:
    """How near two texts are."""
    figure = f"{similarity:.3f}, {'at least' if holds else 'less than'} {threshold:g}"
    return f"Output is {'' if holds else 'not '}similar to {quoted(value, 80)}: {figure}"


def _error(error: BaseException) -> str:
    """An error on a line; of a KeyError its text, which Python shows in quotes."""
    text = error.args[0] if isinstance(error, KeyError) and error.args else error
    said = shorten_name(without_secrets(str(text)), 500)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


# --- Assertions that call a function --------------------------------------------------------------------------------


def no_file(reference: str, path: Path, error: OSError) -> str:
    """The file of a function cannot be read."""
    return f"{shorten_name(reference)}: {path} cannot be read: {error.strerror}"


def no_module(reference: str, missing: str) -> str:
    """The module of a function is not there, or one that it imports."""
    return f"{shorten_name(reference)}: there is no module {missing!r}; a file beside the suite is {missing}.py:…"


def not_loaded(reference: str, error: BaseException, place: str) -> str:
    """The code around a function raised an error."""
    return f"{shorten_name(reference)} cannot be loaded: {_error(error)} ({place})"


def no_function(reference: str, function: str, module: str, there: Sequence[str]) -> str:
    """There is no such function."""
    return f"{shorten_name(reference)}: {module} has no function {function!r}{suggestion(function, there)}"


def function_raised(reference: str, error: BaseException, place: str) -> str:
    """A function raised an error."""
    return f"{shorten_name(reference)} raised {_error(error)}{_at(place)}"


def function_asserted(reference: str, message: str, place: str) -> str:
    """A function raised AssertionError."""
    return f"{shorten_name(reference)}: {shorten_name(without_secrets(message), 500)}{_at(place)}"


def _at(place: str) -> str:
    return f" ({place})" if place else ""


def function_returned(reference: str, holds: bool, message: str) -> str:
    """A function said whether the output is right."""
    said = shorten_name(without_secrets(message), 500) or ("true" if holds else "false")
    return f"{shorten_name(reference)}: {said}"


def function_returned_nonsense(reference: str, returned: Any) -> str:
    """A function did not say whether the output is right."""
    hint = ". Is a return statement missing?" if returned is None else ""
    hint = ". It is async: give a plain function" if inspect.iscoroutine(returned) else hint
    shown = "None" if returned is None else f"an object of type {type(returned).__name__}"
    return f"{shorten_name(reference)} returned {shown}, not true or false, or (true or false, message){hint}"
