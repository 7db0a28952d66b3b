"""Expand the cases of a suite: apply files, defaults, rows and variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import pydantic

from llm_mock.core.judge_choice import get_judge_choice
from llm_mock.errors import InvalidFile, LLMMockError
from llm_mock.suites.case_files import CaseFiles
from llm_mock.suites.chats import find_history_problem
from llm_mock.suites.matrix import SuiteProblem
from llm_mock.suites.schema import (
    Assertion,
    CaseTurn,
    Defaults,
    LLMJudgeAssertion,
    TestCase,
    TestSuiteDefinition,
)
from llm_mock.suites.variables import SuiteSize, VariableReplacer, has_reference
from llm_mock.support import yaml_files
from llm_mock.support.interpolation import DOTTED_NAME
from llm_mock.support.text import shorten, shorten_message, suggest_name
from llm_mock.support.validation import describe_data, list_problems

# An assertion or a variable takes memory even if its text is short.
PART_SIZE = 100
"""The size of an assertion or a variable of a case, in characters."""
_ASSERTION: pydantic.TypeAdapter[Assertion] = pydantic.TypeAdapter(Assertion)

_LIMITS = ("repeat", "threshold", "min_score", "timeout")
"""The fields of a case that `defaults` can set."""

Place = tuple[str | int, ...]
"""The keys and positions that lead to a part of a suite."""
AnyTurn = TypeVar("AnyTurn", bound=CaseTurn)


def format_case_label(name: object, position: int) -> str:
    """Return the name of a case in messages; its number if it has no name."""
    if isinstance(name, str) and name:
        return f"case {shorten(name)}"
    return f"case {position + 1}"


def expand_cases(
    suite: TestSuiteDefinition,
    folder: Path,
    allowed: Path,
) -> tuple[TestSuiteDefinition, list[SuiteProblem]]:
    """Return the suite with its cases expanded, and the problems found.

    Args:
        suite: the suite.
        folder: the folder that names of files are relative to.
        allowed: the folder that files must be in.
    """
    defaults = suite.defaults
    if not defaults.judge:
        defaults = defaults.model_copy(update={"judge": get_judge_choice().default})
    files = CaseFiles(folder, allowed)
    place = ("defaults", "variables")
    problems = list(_check_variables(place, defaults.variables))
    expanded: list[tuple[int, TestCase]] = []
    size = SuiteSize()
    for position, case in enumerate(suite.cases):
        try:
            expansion = _CaseExpansion(position, case, defaults, files, size)
            for runnable in expansion.expand():
                expanded.append((position, runnable))
        except LLMMockError as error:
            label = format_case_label(case.name, position)
            problems.append((("cases", position), f"{label}: {error}"))
            # The suite is too large, and expanding other cases would make it larger.
            break
        for location, text in expansion.problems:
            label = format_case_label(case.name, position)
            problems.append((location, f"{label}: {text}"))
    problems += _check_names(expanded)
    fields = {
        # The defaults are applied now.
        "defaults": Defaults(),
        "cases": tuple(case for _, case in expanded),
    }
    suite = suite.model_copy(update=fields)
    # Without duplicates: each case reports a mistake in the defaults.
    return suite, list(dict.fromkeys(problems))


class _CaseExpansion:
    """The expansion of one case, and the problems with it."""

    def __init__(
        self,
        position: int,
        case: TestCase,
        defaults: Defaults,
        files: CaseFiles,
        size: SuiteSize,
    ) -> None:
        self._place: Place = ("cases", position)
        self._defaults = defaults
        self._files = files
        self._size = size
        self.problems = list(_check_shape(self._place, case))
        turns = []
        for number, turn in enumerate(case.turns):
            place = (*self._place, "turns", number)
            turns.append(self._read_texts(place, turn))
        case = self._read_texts(self._place, case)
        case = case.model_copy(update={"turns": tuple(turns)})
        if case.rows_file is not None:
            case = self._read_rows(case, case.rows_file)
        self._case = case

    def expand(self) -> list[TestCase]:
        """Return the runnable case, or one case per row."""
        case = self._case
        shared = {**self._defaults.variables, **case.variables}
        rows = case.rows or ({},)
        # Counted before the rows are expanded, as they may not fit into memory.
        parts_per_row = self._count_assertions()
        if case.rows:
            parts_per_row += len(shared) + 1
        self._size.add(len(rows) * parts_per_row * PART_SIZE)
        if case.rows:
            names = _make_row_names(case)
        else:
            names = [case.name]
        cases = []
        unknown: dict[str, None] = {}
        for name, row in zip(names, rows, strict=True):
            variables = VariableReplacer({**shared, **row}, self._size)
            cases.append(self._make_runnable(name, variables))
            unknown |= variables.unknown
        known = dict.fromkeys(shared)
        for row in case.rows:
            known |= dict.fromkeys(row)
        for name in islice(unknown, yaml_files.SHOWN_PROBLEMS):
            self.problems.append((self._place, _describe_unknown(name, list(known))))
        return cases

    def _count_assertions(self) -> int:
        """Return the number of assertions of one row, including those of the defaults."""
        case = self._case
        defaults = self._defaults
        of_each_turn = len(defaults.each_turn) + len(case.each_turn)
        number = len(defaults.assertions) + len(case.assertions)
        number += of_each_turn * max(1, len(case.turns))
        return number + sum(len(turn.assertions) for turn in case.turns)

    def _read_texts(self, place: Place, turn: AnyTurn) -> AnyTurn:
        """Return a turn with the content of the text files that it names."""
        texts: dict[str, str | None] = {}
        for key in ("prompt", "expected_output"):
            file_key = f"{key}_file"
            name = getattr(turn, file_key)
            # Setting both keys is a problem, which `_check_shape` reports.
            if name is None or getattr(turn, key) is not None:
                continue
            file_place = (*place, file_key)
            texts[key] = self._read_text(file_place, name)
            texts[file_key] = None
        return turn.model_copy(update=texts)

    def _read_text(self, place: Place, name: str) -> str:
        try:
            text = self._files.read_text(name)
        except InvalidFile as error:
            message = shorten_message(str(error))
            self.problems.append((place, f"{place[-1]}: {message}"))
            return ""
        self._size.add(len(text))
        return text

    def _read_rows(self, case: TestCase, name: str) -> TestCase:
        """Return the case with the rows of its file or files."""
        place = (*self._place, "rows_file")
        rows = []
        try:
            for path, line, row in self._files.read_rows(name):
                self._size.add(len(row) * PART_SIZE)
                rows.append(row)
                for _, text in _check_variables((), row):
                    self.problems.append((place, f"{path}:{line}: {text}"))
        except InvalidFile as error:
            message = shorten_message(str(error))
            self.problems.append((place, f"rows_file: {message}"))
        return case.model_copy(update={"rows": tuple(rows), "rows_file": None})

    def _make_runnable(self, name: str, variables: VariableReplacer) -> TestCase:
        """Return the case with defaults and variables applied."""
        case = self._case
        defaults = self._defaults
        # A generated name of a row, such as `name[1]`, contains no variables.
        if variables.values and (name == case.name or has_reference(case.name)):
            name = variables.replace_text(name)
        first = self._expand_assertions(("defaults",), defaults.assertions, variables)
        last = self._expand_assertions(self._place, case.assertions, variables)
        each = self._expand_assertions(("defaults",), defaults.each_turn, variables, "each_turn")
        each += self._expand_assertions(
            self._place,
            case.each_turn,
            variables,
            "each_turn",
        )
        turns = self._expand_turns(first, each, last, variables)
        fields = {**variables.replace_turn(case), **variables.replace_chat(case)}
        for key in _LIMITS:
            fields[key] = _get_limit(case, defaults, key)
        fields["name"] = name
        if case.user is not None:
            fields["user"] = variables.replace_user(case.user)
        fields |= _place_assertions(case, first, each, last)
        fields["turns"] = turns
        fields["transform"] = case.transform or defaults.transform
        tags = (*defaults.tags, *case.tags)
        fields["tags"] = tuple(dict.fromkeys(tags))
        fields["variables"] = {}
        fields["rows"] = ()
        runnable = case.model_copy(update=fields)
        # A suite that is expanded again keeps the values of the first expansion.
        runnable._values = variables.values or case._values
        return runnable

    def _expand_turns(
        self,
        first: Sequence[Assertion],
        each: Sequence[Assertion],
        last: Sequence[Assertion],
        variables: VariableReplacer,
    ) -> tuple[CaseTurn, ...]:
        """Return the turns of the case, expanded.

        Args:
            first: assertions of the defaults, for the last turn.
            each: assertions for each turn.
            last: assertions of the case, for the last turn.
            variables: the variables.
        """
        case = self._case
        turns = []
        for number, turn in enumerate(case.turns):
            place = (*self._place, "turns", number)
            own = self._expand_assertions(place, turn.assertions, variables)
            assertions = (*each, *own)
            if number == len(case.turns) - 1:
                assertions = (*first, *each, *own, *last)
            fields = variables.replace_turn(turn)
            fields["assertions"] = assertions
            fields["transform"] = turn.transform or case.transform or self._defaults.transform
            turns.append(turn.model_copy(update=fields))
        return tuple(turns)

    def _expand_assertions(
        self,
        place: Place,
        assertions: Sequence[Assertion],
        variables: VariableReplacer,
        key: str = "assertions",
    ) -> list[Assertion]:
        """Return the assertions at a key of a part, with variables and the judge applied."""
        expanded = []
        for number, assertion in enumerate(assertions):
            if variables.values:
                assertion = self._replace_variables(
                    (*place, key, number),
                    assertion,
                    variables,
                )
            expanded.append(self._set_judge(assertion))
        return expanded

    def _set_judge(self, assertion: Assertion) -> Assertion:
        judge = self._defaults.judge
        if not judge or not isinstance(assertion, LLMJudgeAssertion):
            return assertion
        if assertion.model is not None:
            return assertion
        return assertion.model_copy(update={"model": judge})

    def _replace_variables(
        self,
        place: Place,
        assertion: Assertion,
        variables: VariableReplacer,
    ) -> Assertion:
        """Return an assertion with its variables replaced."""
        try:
            # Validated again: a value may make a pattern invalid.
            return _ASSERTION.validate_python(variables.replace_assertion(assertion))
        except pydantic.ValidationError as error:
            for problem in list_problems(error, _ASSERTION.json_schema()):
                location = (*place, *problem.location)
                self.problems.append((location, yaml_files.locate_problem(problem)))
            return assertion


def _place_assertions(
    case: TestCase,
    first: Sequence[Assertion],
    each: Sequence[Assertion],
    last: Sequence[Assertion],
) -> dict[str, tuple[Assertion, ...]]:
    """Return the assertions of a runnable case outside of its turns."""
    # Turns, if there are any, have all assertions.
    if case.turns:
        return {"assertions": (), "each_turn": ()}
    # Only the run shows which turn of a simulated user is the last one.
    if case.user is not None:
        return {"assertions": (*first, *last), "each_turn": tuple(each)}
    return {"assertions": (*first, *each, *last), "each_turn": ()}


def _get_limit(case: TestCase, defaults: Defaults, key: str) -> Any:
    """Return a field of the case, or else of the defaults; None if neither sets it."""
    own = getattr(case, key)
    # Only values that the suite sets: the built-in defaults are applied when a case runs.
    if own is None and key in defaults.model_fields_set:
        return getattr(defaults, key)
    return own


def _make_row_names(case: TestCase) -> list[str]:
    """Return a unique name for each row; the template itself if the name has variables."""
    if has_reference(case.name):
        return [case.name] * len(case.rows)
    # Values may be long, or secret, and change; a number is enough for `-k`.
    return [f"{case.name}[{number}]" for number in range(1, len(case.rows) + 1)]


def _check_names(expanded: Iterable[tuple[int, TestCase]]) -> Iterator[SuiteProblem]:
    """Yield a problem for each name that is empty or used twice."""
    owners: dict[str, tuple[int, TestCase]] = {}
    for position, case in expanded:
        first, owner = owners.setdefault(case.name, (position, case))
        place = ("cases", position)
        if not case.name:
            label = format_case_label("", position)
            yield place, f"{label}: the name is empty after its variables are replaced"
        elif owner is case:
            continue
        elif first == position:
            name = shorten(case.name)
            yield place, f"two rows have the name {name}: add a variable to it that differs"
        else:
            line = ""
            if owner.line:
                line = f": the case at line {owner.line} has the same name"
            yield place, f"duplicate name {shorten(case.name)}{line}"


def _check_shape(place: Place, case: TestCase) -> Iterator[SuiteProblem]:
    """Yield the problems with a case: missing or contradictory keys, invalid variables."""
    prompts = ("prompt", "prompt_file", "prompt_function", "turns")
    yield from _check_choice(place, case, prompts, is_required=case.user is None)
    yield from _check_choice(place, case, ("turns", "user"))
    problem = find_history_problem([message.role for message in case.history])
    if problem is not None:
        yield (*place, "history"), f"history: {problem}"
    outputs = ("expected_output", "expected_output_file")
    if case.turns:
        for key in _find_present(case, outputs):
            yield (*place, key), f"add {key!r} to the turns, not to the case"
    else:
        yield from _check_choice(place, case, outputs)
    yield from _check_choice(place, case, ("rows", "rows_file"))
    for number, turn in enumerate(case.turns):
        turn_place = (*place, "turns", number)
        yield from _check_choice(turn_place, turn, ("prompt", "prompt_file"), is_required=True)
        yield from _check_choice(turn_place, turn, outputs)
    yield from _check_variables((*place, "variables"), case.variables)
    for number, row in enumerate(case.rows):
        yield from _check_variables((*place, "rows", number), row)


def _check_choice(
    place: Place,
    turn: CaseTurn,
    keys: Sequence[str],
    is_required: bool = False,
) -> Iterator[SuiteProblem]:
    """Yield a problem if several of the keys are present, or if all are missing but required."""
    present = _find_present(turn, keys)
    if len(present) > 1:
        names = " and ".join(map(repr, present))
        yield (*place, present[1]), f"{names} cannot be combined: keep one of them"
    elif is_required and not present:
        yield place, "'prompt' is missing"


def _find_present(turn: CaseTurn, keys: Sequence[str]) -> list[str]:
    present = []
    for key in keys:
        # Texts may be empty; empty lists are absent.
        if getattr(turn, key) not in (None, ()):
            present.append(key)
    return present


def _check_variables(place: Place, variables: Mapping[str, object]) -> Iterator[SuiteProblem]:
    """Yield a problem for each variable with an invalid name or value."""
    expected = "text, a number, true, false or null"
    for name, value in variables.items():
        if not DOTTED_NAME.fullmatch(name):
            rule = "use letters, digits, _ and single dots, with a letter or _ at the start"
            label = shorten(name)
            yield (*place, name), f"invalid variable name {label}: {rule}"
        if value is not None and not isinstance(value, (str, bool, int, float)):
            actual = describe_data(value)
            problem = f"the variable {name!r} must be {expected}, not {actual}"
            yield (*place, name), problem


def _describe_unknown(name: str, known: Sequence[str]) -> str:
    if name in known:
        return f"${{{name}}} has no value in some rows: set it in each row, or in 'variables'"
    return f"unknown variable ${{{name}}}{suggest_name(name, known)}"
