"""Makes the cases of a suite runnable as they stand: files read, defaults applied, rows and variables replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import pydantic

from llm_mock.errors import InvalidFile, LLMMockError
from llm_mock.suites.case_files import CaseFiles
from llm_mock.suites.schema import (
    Assertion,
    Defaults,
    LLMJudgeAssertion,
    TestCase,
    TestSuiteDefinition,
    Turn,
)
from llm_mock.suites.variables import Size, Variables, has_reference, text_of
from llm_mock.support import yaml_files
from llm_mock.support.interpolation import NAME
from llm_mock.support.text import shorten, shorten_name, suggestion
from llm_mock.support.validation import described, problems_of

SHOWN_VALUES = 60
"""How many characters of the values of a row stand in the name of its case."""
SIZE_OF_PART = 100
"""For how many of these an assertion or a variable of a case counts."""
_ASSERTION: pydantic.TypeAdapter[Assertion] = pydantic.TypeAdapter(Assertion)

_LIMITS = ("repeat", "threshold", "min_score", "timeout")
"""What a case says itself, or the defaults say for it."""

Place = tuple[str | int, ...]
Problem = tuple[Place, str]
"""Where something is wrong with a suite, and what."""
AnyTurn = TypeVar("AnyTurn", bound=Turn)


def case_label(name: Any, position: int) -> str:
    """How messages call a case."""
    return f"case {shorten(name, 80)}" if isinstance(name, str) and name else f"case {position + 1}"


def expand(
    suite: TestSuiteDefinition, folder: Path, files_in: Path | None = None, judge: str | None = None
) -> tuple[TestSuiteDefinition, list[Problem]]:
    """The suite with cases that are runnable as they stand, and what is wrong with it.

    The names of its files are relative to the folder; they must lie in it, or in `files_in`. `judge` judges where the
    suite names nobody.
    """
    defaults = suite.defaults.model_copy(update={"judge": suite.defaults.judge or judge})
    files = CaseFiles(folder, files_in or folder)
    problems = [*_bad_variables(("defaults", "variables"), suite.defaults.variables)]
    made: list[tuple[int, TestCase]] = []
    size = Size()
    for position, case in enumerate(suite.cases):
        owner = case_label(case.name, position)
        try:
            expansion = _Expansion(position, case, defaults, files, size)
            made += [(position, runnable) for runnable in expansion.cases()]
        except LLMMockError as error:
            problems.append((("cases", position), f"{owner}: {error}"))
            break  # as the others may be as large
        problems += [(location, f"{owner}: {text}") for location, text in expansion.problems]
    problems += _bad_names(made)
    cases = tuple(case for _, case in made)
    return suite.model_copy(update={"defaults": Defaults(), "cases": cases}), list(dict.fromkeys(problems))


class _Expansion:
    """What becomes of one case, and what is wrong with it."""

    def __init__(self, position: int, case: TestCase, defaults: Defaults, files: CaseFiles, size: Size) -> None:
        self._where: Place = ("cases", position)
        self._defaults = defaults
        self._files = files
        self._size = size
        self.problems = list(_bad_shape(self._where, case))
        turns = tuple(self._with_files((*self._where, "turns", n), turn) for n, turn in enumerate(case.turns))
        case = self._with_files(self._where, case).model_copy(update={"turns": turns})
        self._case = case if case.rows_file is None else self._with_rows(case, case.rows_file)

    def cases(self) -> list[TestCase]:
        """The case, or one for each of its rows."""
        case, shared = self._case, {**self._defaults.variables, **self._case.variables}
        self._size.add(len(case.rows) * (len(shared) + 1) * SIZE_OF_PART)
        rows = [Variables({**shared, **row}, self._size) for row in case.rows or ({},)]
        names = _row_names(case) if case.rows else [case.name]
        cases = [self._runnable(name, variables) for name, variables in zip(names, rows, strict=True)]
        known = list(dict.fromkeys([*shared, *(key for row in case.rows for key in row)]))
        unknown = dict.fromkeys(name for variables in rows for name in variables.unknown)
        for name in islice(unknown, yaml_files.SHOWN_PROBLEMS):
            self.problems.append((self._where, _unknown_variable(name, known)))
        return cases

    def _with_files(self, where: Place, turn: AnyTurn) -> AnyTurn:
        """A turn with the texts that it names the files of."""
        texts: dict[str, str | None] = {}
        for key in ("prompt", "expected_output"):
            name = getattr(turn, f"{key}_file")
            if name is not None and getattr(turn, key) is None:
                texts |= {key: self._content((*where, f"{key}_file"), name), f"{key}_file": None}
        return turn.model_copy(update=texts)

    def _with_rows(self, case: TestCase, name: str) -> TestCase:
        """The case with the rows of its file, or files."""
        where, rows = (*self._where, "rows_file"), []
        try:
            for path, line, row in self._files.rows(name):
                self._size.add(len(row) * SIZE_OF_PART)
                rows.append(row)
                self.problems += [(where, f"{path}:{line}: {text}") for _, text in _bad_variables((), row)]
        except InvalidFile as error:
            self.problems.append((where, f"rows_file: {shorten_name(str(error), 500)}"))
        return case.model_copy(update={"rows": tuple(rows), "rows_file": None})

    def _content(self, where: Place, name: str) -> str:
        try:
            text = self._files.read(name)
        except InvalidFile as error:
            self.problems.append((where, f"{where[-1]}: {shorten_name(str(error), 500)}"))
            return ""
        self._size.add(len(text))
        return text

    def _runnable(self, name: str, variables: Variables) -> TestCase:
        case, defaults = self._case, self._defaults
        first = self._assertions(("defaults",), defaults.assertions, variables)
        last = self._assertions(self._where, case.assertions, variables)
        each = self._assertions(("defaults",), defaults.each_turn, variables, "each_turn")
        each += self._assertions(self._where, case.each_turn, variables, "each_turn")
        turns = []
        for number, turn in enumerate(case.turns):
            own = self._assertions((*self._where, "turns", number), turn.assertions, variables)
            wanted = (*first, *each, *own, *last) if number == len(case.turns) - 1 else (*each, *own)
            transform = turn.transform or case.transform or defaults.transform
            turns.append(
                turn.model_copy(update={**variables.in_turn(turn), "assertions": wanted, "transform": transform})
            )
        runnable = case.model_copy(
            update={
                **variables.in_turn(case),
                "name": variables.in_text(name) if name == case.name or has_reference(case.name) else name,
                "assertions": () if turns else (*first, *each, *last),
                "each_turn": (),
                "turns": tuple(turns),
                "transform": case.transform or defaults.transform,
                "tags": tuple(dict.fromkeys((*defaults.tags, *case.tags))),
                "variables": {},
                "rows": (),
                **{key: _own_or_default(case, defaults, key) for key in _LIMITS},
            }
        )
        runnable._values = variables.values or case.values
        return runnable

    def _assertions(
        self, where: Place, given: Sequence[Assertion], variables: Variables, key: str = "assertions"
    ) -> list[Assertion]:
        self._size.add(len(given) * SIZE_OF_PART)
        if variables.values:
            given = [self._assertion((*where, key, n), each, variables) for n, each in enumerate(given)]
        return [self._with_judge(each) for each in given] if self._defaults.judge else list(given)

    def _with_judge(self, assertion: Assertion) -> Assertion:
        if not isinstance(assertion, LLMJudgeAssertion) or assertion.model is not None:
            return assertion
        return assertion.model_copy(update={"model": self._defaults.judge})

    def _assertion(self, where: Place, assertion: Assertion, variables: Variables) -> Assertion:
        """An assertion at a place with its variables replaced; validated again, as a pattern may have become none."""
        try:
            return _ASSERTION.validate_python(variables.in_assertion(assertion))
        except pydantic.ValidationError as error:
            for problem in problems_of(error, _ASSERTION.json_schema()):
                self.problems.append(((*where, *problem.location), yaml_files.placed(problem)))
            return assertion


def _own_or_default(case: TestCase, defaults: Defaults, key: str) -> Any:
    """What a case says itself, else what the defaults say; None where neither says anything."""
    own = getattr(case, key)
    return getattr(defaults, key) if own is None and key in defaults.model_fields_set else own


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


def _bad_names(made: Iterable[tuple[int, TestCase]]) -> Iterator[Problem]:
    """Names that are empty, or stand twice."""
    owners: dict[str, tuple[int, TestCase]] = {}
    for position, case in made:
        first, owner = owners.setdefault(case.name, (position, case))
        where, name = ("cases", position), shorten(case.name, 80)
        if not case.name:
            yield where, f"{case_label('', position)}: the name is empty where its variables are replaced"
        elif owner is not case and first == position:
            yield where, f"two rows give the name {name}: put a variable into it that differs"
        elif owner is not case:
            line = f", and the case at line {owner.line} has it" if owner.line else ""
            yield where, f"the name {name} stands twice{line}"


def _bad_shape(where: Place, case: TestCase) -> Iterator[Problem]:
    """Keys of a case that are missing, or exclude each other, and bad variables."""
    yield from _bad_choice(where, case, ("prompt", "prompt_file", "turns"), needed=True)
    outputs = ("expected_output", "expected_output_file")
    if case.turns:
        for key in _given(case, outputs):
            yield (*where, key), f"{key!r} belongs to each of the turns where there are 'turns'"
    else:
        yield from _bad_choice(where, case, outputs)
    yield from _bad_choice(where, case, ("rows", "rows_file"))
    for number, turn in enumerate(case.turns):
        there = (*where, "turns", number)
        yield from _bad_choice(there, turn, ("prompt", "prompt_file"), needed=True)
        yield from _bad_choice(there, turn, outputs)
    yield from _bad_variables((*where, "variables"), case.variables)
    for number, row in enumerate(case.rows):
        yield from _bad_variables((*where, "rows", number), row)


def _bad_choice(where: Place, turn: Turn, keys: Sequence[str], needed: bool = False) -> Iterator[Problem]:
    given = _given(turn, keys)
    if len(given) > 1:
        yield (*where, given[1]), f"{' and '.join(map(repr, given))} exclude each other: leave all out but one"
    elif needed and not given:
        yield where, "'prompt' is missing"


def _given(turn: Turn, keys: Sequence[str]) -> list[str]:
    return [key for key in keys if getattr(turn, key) not in (None, ())]


def _bad_variables(where: Place, variables: Mapping[str, Any]) -> Iterator[Problem]:
    wanted = "text, a number, true, false or null"
    for name, value in variables.items():
        if not NAME.fullmatch(name):
            rule = "letters, digits and _ make a name, and no digit begins it"
            yield (*where, name), f"no variable can be called {shorten(name, 60)}: {rule}"
        if not isinstance(value, (str, bool, int, float, type(None))):
            yield (*where, name), f"the variable {name!r} should be {wanted}, not {described(value)}"


def _unknown_variable(name: str, known: Sequence[str]) -> str:
    if name in known:
        return f"${{{name}}} has no value in every row: give it one in each, or in 'variables'"
    return f"${{{name}}} is no variable{suggestion(name, known)}"
