"""Makes the cases of a suite runnable as they stand: files read, defaults applied, rows and variables replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pydantic

from llm_mock.errors import InvalidFile
from llm_mock.suites.schema import Assertion, Defaults, TestCase, TestSuiteDefinition, Turn
from llm_mock.suites.variables import Variables, has_reference, text_of
from llm_mock.support import yaml_files
from llm_mock.support.interpolation import NAME
from llm_mock.support.text import shorten, shorten_name, suggestion
from llm_mock.support.validation import described, problems_of

SHOWN_VALUES = 60
"""How many characters of the values of a row stand in the name of its case."""
_ASSERTION: pydantic.TypeAdapter[Assertion] = pydantic.TypeAdapter(Assertion)

Place = tuple[str | int, ...]
AnyTurn = TypeVar("AnyTurn", bound=Turn)


class Found(NamedTuple):
    """Something that is wrong with a suite."""

    location: Place
    text: str


def case_label(name: Any, position: int) -> str:
    """How messages call a case."""
    return f"case {shorten(name, 80)}" if isinstance(name, str) and name else f"case {position + 1}"


def expand(suite: TestSuiteDefinition, folder: Path) -> tuple[TestSuiteDefinition, list[Found]]:
    """The suite with cases that are runnable as they stand, and what is wrong with it.

    Args:
        suite: the suite.
        folder: where the files lie that it names.
    """
    problems = [*_bad_variables(("defaults", "variables"), suite.defaults.variables)]
    made: list[tuple[int, TestCase]] = []
    for position, case in enumerate(suite.cases):
        expansion = _Expansion(position, case, suite.defaults, folder)
        made += [(position, runnable) for runnable in expansion.cases()]
        owner = case_label(case.name, position)
        problems += [Found(location, f"{owner}: {text}") for location, text in expansion.problems]
    problems += _bad_names(made)
    cases = tuple(case for _, case in made)
    return suite.model_copy(update={"defaults": Defaults(), "cases": cases}), list(dict.fromkeys(problems))


class _Expansion:
    """What becomes of one case, and what is wrong with it."""

    def __init__(self, position: int, case: TestCase, defaults: Defaults, folder: Path) -> None:
        self._where: Place = ("cases", position)
        self._defaults = defaults
        self._folder = folder
        self.problems = list(_bad_shape(self._where, case))
        turns = tuple(self._with_files((*self._where, "turns", n), turn) for n, turn in enumerate(case.turns))
        self._case = self._with_files(self._where, case).model_copy(update={"turns": turns})

    def cases(self) -> list[TestCase]:
        """The case, or one for each of its rows."""
        case, shared = self._case, {**self._defaults.variables, **self._case.variables}
        rows = [Variables({**shared, **row}) for row in case.rows or ({},)]
        names = _row_names(case) if case.rows else [case.name]
        cases = [self._runnable(name, variables) for name, variables in zip(names, rows, strict=True)]
        known = list(dict.fromkeys([*shared, *(key for row in case.rows for key in row)]))
        for name in dict.fromkeys(name for variables in rows for name in variables.unknown):
            self.problems.append(Found(self._where, _unknown_variable(name, known)))
        return cases

    def _with_files(self, where: Place, turn: AnyTurn) -> AnyTurn:
        """A turn with the texts that it names the files of."""
        texts: dict[str, str | None] = {}
        for key in ("prompt", "expected_output"):
            name = getattr(turn, f"{key}_file")
            if name is not None and getattr(turn, key) is None:
                texts |= {key: self._content((*where, f"{key}_file"), name), f"{key}_file": None}
        return turn.model_copy(update=texts) if texts else turn

    def _content(self, where: Place, name: str) -> str:
        try:
            return yaml_files.read(self._folder / name).replace("\r\n", "\n").removesuffix("\n")
        except InvalidFile as error:
            self.problems.append(Found(where, f"{where[-1]}: {shorten_name(str(error), 500)}"))
            return ""

    def _runnable(self, name: str, variables: Variables) -> TestCase:
        case, defaults = self._case, self._defaults
        first = self._assertions(("defaults", "assertions"), defaults.assertions, variables)
        last = self._assertions((*self._where, "assertions"), case.assertions, variables)
        turns = [self._replaced((*self._where, "turns", n), turn, variables) for n, turn in enumerate(case.turns)]
        if turns:
            turns[-1] = turns[-1].model_copy(update={"assertions": (*first, *turns[-1].assertions, *last)})
        return case.model_copy(
            update={
                **_texts(case, variables),
                "name": variables.in_text(name) if name == case.name or has_reference(case.name) else name,
                "assertions": () if turns else (*first, *last),
                "turns": tuple(turns),
                "tags": tuple(dict.fromkeys((*defaults.tags, *case.tags))),
                "variables": {},
                "rows": (),
                **{key: _own_or_default(case, defaults, key) for key in ("repeat", "threshold")},
            }
        )

    def _replaced(self, where: Place, turn: Turn, variables: Variables) -> Turn:
        assertions = self._assertions((*where, "assertions"), turn.assertions, variables)
        return turn.model_copy(update={**_texts(turn, variables), "assertions": assertions})

    def _assertions(self, where: Place, given: Sequence[Assertion], variables: Variables) -> list[Assertion]:
        if not variables:
            return list(given)
        return [self._assertion((*where, n), assertion, variables) for n, assertion in enumerate(given)]

    def _assertion(self, where: Place, assertion: Assertion, variables: Variables) -> Assertion:
        """An assertion with its variables replaced; it is validated again, as a pattern may have become none."""
        try:
            return _ASSERTION.validate_python(variables.in_assertion(assertion))
        except pydantic.ValidationError as error:
            for problem in problems_of(error, _ASSERTION.json_schema()):
                self.problems.append(Found((*where, *problem.location), yaml_files.placed(problem)))
            return assertion


def _texts(turn: Turn, variables: Variables) -> dict[str, str | None]:
    texts = {"prompt": turn.prompt, "expected_output": turn.expected_output}
    return {key: None if text is None else variables.in_text(text) for key, text in texts.items()}


def _own_or_default(case: TestCase, defaults: Defaults, key: str) -> Any:
    """What a case says itself, else what the defaults say; None where neither says anything."""
    own = getattr(case, key)
    return getattr(defaults, key) if own is None and key in defaults.model_fields_set else own


# --- Names ----------------------------------------------------------------------------------------------------------


def _row_names(case: TestCase) -> list[str]:
    """The names of what the rows make, each another, unless the name itself says where the variables stand."""
    if has_reference(case.name):
        return [case.name] * len(case.rows)
    names: dict[str, None] = {}
    times: Counter[str] = Counter()
    for row in case.rows:
        values = shorten_name("-".join(map(text_of, row.values())), SHOWN_VALUES)
        name = f"{case.name}[{values}]"
        while name in names:
            times[values] += 1
            name = f"{case.name}[{values} {times[values] + 1}]"
        names[name] = None
    return list(names)


def _bad_names(made: Iterable[tuple[int, TestCase]]) -> Iterator[Found]:
    """Names that are empty, or stand twice."""
    first: dict[str, tuple[int, TestCase]] = {}
    for position, case in made:
        owner, where = first.setdefault(case.name, (position, case)), ("cases", position)
        if not case.name:
            yield Found(where, f"{case_label('', position)}: the name is empty where its variables are replaced")
        elif owner[1] is not case:
            yield Found(where, _rows_of_one_name(case) if owner[0] == position else _name_twice(*owner))


def _rows_of_one_name(case: TestCase) -> str:
    return f"two rows give the name {shorten(case.name, 80)}: put a variable into it that differs"


def _name_twice(position: int, case: TestCase) -> str:
    where = f", and the case at line {case.line} has it" if case.line else ""
    return f"the name {shorten(case.name, 80)} stands twice{where}"


# --- Checks ---------------------------------------------------------------------------------------------------------


def _bad_shape(where: Place, case: TestCase) -> Iterator[Found]:
    """Keys of a case that are missing, or exclude each other, and bad variables."""
    yield from _bad_choice(where, case, ("prompt", "prompt_file", "turns"), needed=True)
    outputs = ("expected_output", "expected_output_file")
    if case.turns:
        for key in _given(case, outputs):
            yield Found((*where, key), f"{key!r} belongs to each of the turns where there are 'turns'")
    else:
        yield from _bad_choice(where, case, outputs)
    for number, turn in enumerate(case.turns):
        there = (*where, "turns", number)
        yield from _bad_choice(there, turn, ("prompt", "prompt_file"), needed=True)
        yield from _bad_choice(there, turn, outputs)
    yield from _bad_variables((*where, "variables"), case.variables)
    for number, row in enumerate(case.rows):
        yield from _bad_variables((*where, "rows", number), row)


def _bad_choice(where: Place, turn: Turn, keys: Sequence[str], needed: bool = False) -> Iterator[Found]:
    given = _given(turn, keys)
    if len(given) > 1:
        both = " and ".join(map(repr, given))
        yield Found((*where, given[1]), f"{both} exclude each other: leave all out but one")
    elif needed and not given:
        yield Found(where, "'prompt' is missing")


def _given(turn: Turn, keys: Sequence[str]) -> list[str]:
    return [key for key in keys if getattr(turn, key) not in (None, ())]


def _bad_variables(where: Place, variables: Mapping[str, Any]) -> Iterator[Found]:
    for name, value in variables.items():
        if not NAME.fullmatch(name):
            yield Found((*where, name), _bad_name(name))
        if not isinstance(value, (str, bool, int, float, type(None))):
            wanted = "text, a number, true, false or null"
            yield Found((*where, name), f"the variable {name!r} should be {wanted}, not {described(value)}")


def _bad_name(name: str) -> str:
    return f"no variable can be called {shorten(name, 60)}: letters, digits and _ make a name, and no digit begins it"


def _unknown_variable(name: str, known: Sequence[str]) -> str:
    if name in known:
        return f"${{{name}}} has no value in every row: give it one in each, or in 'variables'"
    return f"${{{name}}} is no variable{suggestion(name, known)}"
