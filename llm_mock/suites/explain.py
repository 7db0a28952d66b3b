"""The wording of every message about suite files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llm_mock.support.text import shorten, shorten_name, suggestion
from llm_mock.support.validation import described

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
    return f"{key}: {shorten_name(str(error), 500)}"


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
