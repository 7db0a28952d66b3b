"""Load suite files; errors name the line of each problem."""

from __future__ import annotations

import functools
from pathlib import Path

from llm_mock.errors import InvalidFile
from llm_mock.suites.case_files import CaseFiles
from llm_mock.suites.expansion import expand_cases, format_case_label
from llm_mock.suites.matrix import SuiteProblem, find_matrix_problems
from llm_mock.suites.matrix_files import load_matrix_files
from llm_mock.suites.schema import TestSuiteDefinition
from llm_mock.suites.target_checks import find_target_problems
from llm_mock.support import yaml_files
from llm_mock.support.text import shorten
from llm_mock.support.validation import Location, describe_data
from llm_mock.support.yaml_files import Document

_EXPECTED = "a suite has apiVersion, kind: TestSuite, metadata and cases"


def load_suite(
    path: str | Path,
    *,
    files_in: str | Path | None = None,
) -> TestSuiteDefinition:
    """Read a suite, and expand its cases so that each can run by itself.

    Args:
        path: the YAML file. The files that its cases name are relative to its folder.
        files_in: the folder that must contain these files; by default the folder of the YAML file.

    Returns:
        The suite. Each case has `prompt` or `turns`, and the defaults applied; a case with rows
        becomes one case per row. `defaults`, `variables`, `rows` and the keys that end in `_file`
        are empty.

    Raises:
        InvalidFile: the file is unreadable or invalid; the message has a line
            `path:line: problem` for each problem.
    """
    # pytest shows the message without our frames.
    __tracebackhide__ = True
    document = yaml_files.load(Path(path))
    data = document.data
    if data is None:
        raise document.error(f"the file is empty; {_EXPECTED}")
    if not isinstance(data, dict):
        raise document.error(f"this is {describe_data(data)}; {_EXPECTED}")
    if data.get("kind") == "Agent":
        problem = "this is a role (kind: Agent), not a suite (kind: TestSuite)"
        raise document.error(problem, ["kind"])
    find_case = functools.partial(_find_case, data.get("cases"))
    suite = document.as_model(TestSuiteDefinition, find_case)
    # Before the expansion, because its problems name these lines.
    _set_places(suite, document)
    folder = document.path.parent
    if files_in is None:
        allowed = folder
    else:
        allowed = Path(files_in)
    suite, problems = _expand(suite, folder, allowed)
    if problems:
        raise document.errors(problems)
    return suite


def _set_places(suite: TestSuiteDefinition, document: Document) -> None:
    """Store the file and the lines, which later messages name."""
    suite._path = document.path
    for position, case in enumerate(suite.cases):
        case._line = document.line_of(("cases", position))
    if suite.matrix is None:
        return
    for axis, entries in suite.matrix.axes.items():
        for position, entry in enumerate(entries):
            entry._line = document.line_of(("matrix", axis, position))


def expand_suite(suite: TestSuiteDefinition) -> TestSuiteDefinition:
    """Expand a suite made in Python as `load_suite` does; return an expanded suite unchanged.

    The files that its cases name must be in the folder of the suite, or the working directory.

    Raises:
        InvalidFile: the suite is invalid.
    """
    __tracebackhide__ = True
    if suite.is_expanded:
        return suite
    if suite.path:
        folder = suite.path.parent
    else:
        folder = Path()
    suite, problems = _expand(suite, folder, folder)
    if problems:
        label = get_suite_label(suite)
        lines = [f"{label}: {text}" for _, text in problems]
        raise InvalidFile("\n".join(lines))
    return suite


def get_suite_label(suite: TestSuiteDefinition) -> str:
    """Return the file of a suite, or its name, for the start of messages."""
    if suite.path:
        return str(suite.path)
    name = shorten(suite.metadata.name)
    return f"suite {name}"


def _expand(
    suite: TestSuiteDefinition,
    folder: Path,
    allowed: Path,
) -> tuple[TestSuiteDefinition, list[SuiteProblem]]:
    """Return the suite with files, defaults, rows and variables applied, and its problems."""
    # All problems are collected, so that one run shows everything to fix.
    problems = list(find_target_problems(suite))
    matrix = suite.matrix
    if matrix is not None:
        problems += find_matrix_problems(matrix, suite.target)
        files = CaseFiles(folder, allowed)
        matrix, file_problems = load_matrix_files(matrix, files)
        problems += file_problems
        suite = suite.model_copy(update={"matrix": matrix})
    suite, case_problems = expand_cases(suite, folder, allowed)
    suite.mark_expanded()
    return suite, [*problems, *case_problems]


def _find_case(cases: object, location: Location) -> tuple[str, int]:
    """Return the label of the case at a location, and the number of steps to it."""
    if len(location) < 2 or location[0] != "cases":
        return "", 0
    position = location[1]
    if not isinstance(cases, list) or not isinstance(position, int):
        return "", 0
    case = cases[position]
    name = None
    # The case may be invalid, such as a text.
    if isinstance(case, dict):
        name = case.get("name")
    return format_case_label(name, position), 2
