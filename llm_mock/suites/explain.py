"""The wording of every message about suites and their assertions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from llm_mock.explain import shorten, shorten_name
from llm_mock.validation import described, suggestion

# --- Suite files ----------------------------------------------------------------------------------------------------

_SHAPE = "a suite holds apiVersion, kind: TestSuite, metadata and cases"


def empty_suite() -> str:
    """There is nothing in the file."""
    return f"the file is empty; {_SHAPE}"


def no_suite(value: Any) -> str:
    """The file holds no mapping."""
    return f"this is {described(value)}; {_SHAPE}"


def role_for_suite() -> str:
    """A role was given where a suite belongs."""
    return "this is a role (kind: Agent), not a suite (kind: TestSuite)"


def case_name(name: Any, position: int) -> str:
    """How messages call a case."""
    return f"case {shorten(name, 80)}" if isinstance(name, str) and name else f"case {position + 1}"


def nothing_to_say() -> str:
    """A case or a turn without a prompt."""
    return "'prompt' is missing"


def exclude_each_other(names: Sequence[str]) -> str:
    """Several keys are given of which only one makes sense."""
    return f"{' and '.join(map(repr, names))} exclude each other: leave all out but one"


def output_of_turns(name: str) -> str:
    """An expected output beside turns."""
    return f"{name!r} belongs to each of the turns where there are 'turns'"


def unreadable_file(key: str, error: Exception) -> str:
    """A file that a case names."""
    return f"{key}: {error}"


def bad_variable(name: str, value: Any) -> str:
    """The value of a variable is nothing that a text could have in it."""
    return f"the variable {name!r} should be text, a number, true, false or null, not {described(value)}"


def bad_variable_name(name: str) -> str:
    """The name of a variable that no `${…}` can have."""
    return f"no variable can be called {shorten(name, 60)}: letters, digits and _ make a name, and no digit begins it"


def unknown_variable(name: str, known: Sequence[str]) -> str:
    """`${name}` without a variable."""
    if name in known:
        return f"${{{name}}} has no value in every row: give it one in each, or in 'variables'"
    return f"${{{name}}} is no variable{suggestion(name, known)}"


def name_twice(name: str, line: int | None) -> str:
    """Two cases have one name."""
    where = f", and the case at line {line} has it" if line else ""
    return f"the name {shorten(name, 80)} stands twice{where}"


def rows_of_one_name(name: str) -> str:
    """The name that rows make is the same for two of them."""
    return f"two rows give the name {shorten(name, 80)}: put a variable into it that differs"


def no_name() -> str:
    """Variables made an empty name."""
    return "the name is empty where its variables are replaced"


# --- Assertions -----------------------------------------------------------------------------------------------------

SHOWN = 120


def quoted(text: str, length: int = SHOWN) -> str:
    """A text in quotes, cut, backslashes as they are; what a terminal could act on is escaped."""
    cut = text if len(text) <= length else f"{text[: length - 1]}…"
    return "'" + "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in cut) + "'"


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


def is_json(with_schema: bool) -> str:
    """The output is JSON."""
    return "Output is JSON that fits the schema" if with_schema else "Output is JSON"


def not_json(error: Exception) -> str:
    """The output is none."""
    if isinstance(error, json.JSONDecodeError):
        return f"Output is not JSON: {error.msg} at line {error.lineno} column {error.colno}"
    return f"Output is not JSON: {error}"


def breaks_schema(problems: Sequence[str]) -> str:
    """The output is JSON that a schema does not allow."""
    listed = "; ".join(shorten_name(problem, 200) for problem in problems[:3])
    more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
    return f"Output breaks the schema: {listed}{more}"
