"""The files of `llm-mock test`, told apart by their kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from llm_mock.errors import InvalidFile
from llm_mock.specs.file_kinds import find_kind, get_kind, list_yaml_files
from llm_mock.support import yaml_files


@dataclass
class TestFiles:
    """The files to run, in the order of the command line."""

    __test__ = False

    role: str | None = None
    """The role file of all suites that need one."""
    suites: list[str] = field(default_factory=list)
    specs: list[Path] = field(default_factory=list)
    """The plain-language tests."""


def sort_files(
    names: Sequence[str], suites: Sequence[str], report: Callable[[str], None]
) -> TestFiles:
    """Return the files by their kinds.

    Args:
        names: files and folders of any kind.
        suites: files that are suites.
        report: a function for the message of a file that cannot be used; the others are.

    Raises:
        click.UsageError: there is no test, or there are several roles.
    """
    if len(names) == 1 and suites:
        # It must be the role; if it is not, loading it as a role fails with a message.
        return TestFiles(names[0], list(suites))
    files = TestFiles()
    problems: list[str] = []
    for name in names:
        try:
            _add(files, name)
        except InvalidFile as error:
            problems.append(str(error))
    for problem in problems:
        report(problem)
    files.suites += suites
    if not problems and not files.suites and not files.specs:
        subject = "a run needs suites or plain-language tests"
        if files.role is not None:
            subject = f"{files.role} is a role, and {subject}"
        raise click.UsageError(f"Missing option '-s' / '--suite': {subject}.")
    return files


def _add(files: TestFiles, name: str) -> None:
    """Add a file, or the tests in a folder."""
    path = Path(name)
    if path.is_dir():
        _add_folder(files, path)
        return
    kind = get_kind(yaml_files.load(path))
    if kind == "suite":
        files.suites.append(name)
    elif kind == "spec":
        files.specs.append(path)
    elif files.role is None:
        files.role = name
    else:
        raise click.UsageError(f"{files.role} and {name} are both roles: pass only one of them.")


def _add_folder(files: TestFiles, folder: Path) -> None:
    """Add the tests in a folder; its roles are those that suites or settings name."""
    found = 0
    problems: list[str] = []
    for path in list_yaml_files(folder):
        try:
            kind = find_kind(yaml_files.load(path))
        except InvalidFile as error:
            # It may be a test, so it must not be ignored.
            problems.append(str(error))
            continue
        if kind == "suite":
            files.suites.append(str(path))
        elif kind == "spec":
            files.specs.append(path)
        found += kind in ("suite", "spec")
    if problems:
        raise InvalidFile("\n".join(problems))
    if not found:
        raise InvalidFile(f"{folder}: the folder has no suite and no plain-language test")
