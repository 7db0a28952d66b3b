"""Reads suite files. What is wrong with one is said with its line."""

from __future__ import annotations

import functools
from pathlib import Path

from llm_mock.errors import InvalidFile
from llm_mock.suites.case_files import CaseFiles
from llm_mock.suites.expansion import Problem, case_label, expand
from llm_mock.suites.matrix import problems_with_matrix
from llm_mock.suites.matrix_files import with_files
from llm_mock.suites.schema import TestSuiteDefinition
from llm_mock.suites.target_checks import problems_with_target
from llm_mock.support import yaml_files
from llm_mock.support.text import shorten
from llm_mock.support.validation import Location, described

_SHAPE = "a suite holds apiVersion, kind: TestSuite, metadata and cases"


def load_suite(
    path: str | Path, *, files_in: str | Path | None = None, judge: str | None = None
) -> TestSuiteDefinition:
    """Read a suite, and make every case runnable as it stands.

    Args:
        path: the YAML file. The files that its cases name lie in its folder.
        files_in: another folder in which these files may lie.
        judge: the model that judges where neither the suite nor an assertion names one.

    Returns:
        The suite: each case has `prompt` or `turns`, and all that the defaults give it; a case with rows became one for
        each. `defaults`, `variables`, `rows` and the keys that end in `_file` are empty.

    Raises:
        InvalidFile: it cannot be read, or is no suite; the message has a line for each problem, `path:line: problem`.
    """
    __tracebackhide__ = True
    document = yaml_files.load(Path(path))
    data = document.data
    if data is None:
        raise document.error(f"the file is empty; {_SHAPE}")
    if not isinstance(data, dict):
        raise document.error(f"this is {described(data)}; {_SHAPE}")
    if data.get("kind") == "Agent":
        raise document.error("this is a role (kind: Agent), not a suite (kind: TestSuite)", ["kind"])
    suite = document.as_model(TestSuiteDefinition, functools.partial(_case_of, data.get("cases")))
    suite._path = document.path
    for position, case in enumerate(suite.cases):
        case._line = document.line_of(("cases", position))
    for axis, entries in suite.matrix.axes.items() if suite.matrix else ():
        for position, entry in enumerate(entries):
            entry._line = document.line_of(("matrix", axis, position))
    suite, problems = _runnable(suite, document.path.parent, None if files_in is None else Path(files_in), judge)
    if problems:
        raise document.errors(problems)
    return suite


def expanded(suite: TestSuiteDefinition) -> TestSuiteDefinition:
    """A suite that was made in Python as `load_suite` returns one; one that is so already stays as it is.

    The files that its cases name lie in the folder of its own file, or in the working directory.
    """
    __tracebackhide__ = True
    suite, problems = _runnable(suite, suite.path.parent if suite.path else Path())
    if problems:
        raise InvalidFile("\n".join(f"{owner_of(suite)}: {text}" for _, text in problems))
    return suite


def owner_of(suite: TestSuiteDefinition) -> str:
    """How messages begin that are about a suite."""
    return str(suite.path or f"suite {shorten(suite.metadata.name)}")


def _runnable(
    suite: TestSuiteDefinition, folder: Path, files_in: Path | None = None, judge: str | None = None
) -> tuple[TestSuiteDefinition, list[Problem]]:
    """The suite with all that its files, defaults, rows and variables give, and what is wrong with it."""
    problems = list(problems_with_target(suite))
    if suite.matrix is not None:
        problems += problems_with_matrix(suite.matrix, suite.target)
        matrix, unreadable = with_files(suite.matrix, CaseFiles(folder, files_in or folder))
        problems += unreadable
        suite = suite.model_copy(update={"matrix": matrix})
    suite, wrong = expand(suite, folder, files_in, judge)
    return suite, [*problems, *wrong]


def _case_of(cases: object, location: Location) -> tuple[str, int]:
    """The case that a location belongs to, and how many steps lead to it."""
    if len(location) < 2 or location[0] != "cases" or not isinstance(cases, list) or not isinstance(location[1], int):
        return "", 0
    case = cases[location[1]]
    return case_label(case.get("name") if isinstance(case, dict) else None, location[1]), 2
