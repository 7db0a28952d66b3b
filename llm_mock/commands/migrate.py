"""The command `llm-mock migrate`: rewrite old tests, or show what it would change."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import click

from llm_mock.commands.errors import describe_write_error, print_message
from llm_mock.errors import InvalidFile, MissingExtra
from llm_mock.support.files import read_file, write_atomically
from llm_mock.support.redaction import redact
from llm_mock.support.text import (
    escape_unprintable,
    format_count,
    format_path,
    suggest_nearest,
)

try:
    from llm_mock.migrate.file import NO_FINDINGS, FileResult, Findings, rewrite_file
except ModuleNotFoundError as missing:
    if missing.name != "libcst":
        raise
    advice = "Run: pip install 'pytest-llm-mock[migrate]'"
    raise MissingExtra(f"Rewriting tests needs libcst, which is not installed. {advice}") from None
from llm_mock.migrate.model_discovery import DiscoveredModels
from llm_mock.migrate.test_runs import PytestRun, describe_noticed, run_old_tests
from llm_mock.migrate.verification import RewriteVerifier, VerifiedFile

SKIPPED_FOLDERS = ("node_modules", "__pycache__", "site-packages")


@dataclass
class _Totals:
    """The numbers of tests, fixtures and files that a run rewrote, and of those it left."""

    tests: int = 0
    fixtures: int = 0
    files: int = 0
    by_hand: int = 0
    errors: int = 0

    def add(self, result: FileResult) -> None:
        """Add a file with its rewritten tests and fixtures."""
        fixtures = len(result.fixtures)
        self.tests += len(result.changed) - fixtures
        self.fixtures += fixtures
        self.files += 1

    def add_unwritten(self, result: FileResult) -> None:
        """Add a file that could not be written."""
        self.errors += 1
        self.by_hand += len(result.changed)

    def __str__(self) -> str:
        counts = []
        if self.tests or not self.fixtures:
            counts.append(format_count(self.tests, "test"))
        if self.fixtures:
            counts.append(format_count(self.fixtures, "fixture"))
        text = f"{' and '.join(counts)} in {format_count(self.files, 'file')}"
        if self.by_hand:
            text += f", {self.by_hand} left to you"
        return text


def migrate(
    paths: Sequence[Path],
    *,
    check: bool,
    write: bool,
    learning: bool,
    verifying: bool,
    is_partial: bool,
) -> int:
    """Rewrite the tests of files and folders, and return the exit code.

    Args:
        paths: Python files, and folders that contain some.
        check: only print which tests can be rewritten; the exit code is 1 if there are any.
        write: write the files. Without `check` and `write`, the changes are printed.
        learning: run the old tests once, to learn which models they request.
        verifying: write only the tests that pass before and after.
        is_partial: keep an assertion that is not understood as a comment.
    """
    totals = _Totals()
    rewriter = _Rewriter(is_partial)
    results = _rewrite_all(paths, rewriter, totals)
    has_changes = any(result.changed for result in results)
    verifying = verifying and write and has_changes
    files = _run_tests(results, rewriter, learning, verifying)
    for file in files:
        _report_file(file, check, write, totals)
    _print_summary(totals, check, write, verifying)
    has_work = totals.files or totals.by_hand
    has_failed = totals.errors or (check and has_work)
    return 1 if has_failed else 0


@dataclass(frozen=True)
class _Rewriter:
    """Rewrites files in memory.

    Attributes:
        is_partial: whether an assertion that is not understood becomes a comment.
        models: the models that the old tests request.
    """

    is_partial: bool
    models: DiscoveredModels = field(default_factory=DiscoveredModels)

    def rewrite(
        self,
        path: Path,
        source: bytes,
        findings: Findings = NO_FINDINGS,
    ) -> FileResult:
        return rewrite_file(
            path,
            source,
            partial(self.models.get_requested_models, path),
            _get_model_id,
            findings,
            partial=self.is_partial,
        )

    def rewrite_again(self, result: FileResult, findings: Findings = NO_FINDINGS) -> FileResult:
        """Rewrite a file anew with what is known by now."""
        return self.rewrite(result.path, result.source, findings)

    def learn(self, models: DiscoveredModels) -> _Rewriter:
        return replace(self, models=models)


def _rewrite_all(
    paths: Sequence[Path],
    rewriter: _Rewriter,
    totals: _Totals,
) -> list[FileResult]:
    """Rewrite files in memory, and skip files that cannot be read."""
    results = []
    for path in _find_files(paths, totals):
        result = _read_and_rewrite(path, rewriter, totals)
        if result is not None:
            results.append(result)
    return results


def _run_tests(
    results: Sequence[FileResult],
    rewriter: _Rewriter,
    learning: bool,
    verifying: bool,
) -> list[VerifiedFile]:
    """Learn models from the old tests and verify the new ones, depending on the options."""
    old = PytestRun()
    if learning or verifying:
        old = _run_old_tests(results, learning, verifying)
    if learning:
        rewriter = rewriter.learn(old.models)
        results = [_rewrite_concerned(rewriter, result) for result in results]
    if not verifying:
        return [VerifiedFile(result) for result in results]
    return RewriteVerifier(results, old, rewriter.rewrite_again).verify()


def _rewrite_concerned(rewriter: _Rewriter, result: FileResult) -> FileResult:
    if not result.changed and not result.manual_changes:
        return result
    return rewriter.rewrite_again(result)


def _run_old_tests(
    results: Iterable[FileResult],
    learning: bool,
    verifying: bool,
) -> PytestRun:
    """Run the tests of the files that mock `llm`."""
    paths = list(_list_old_paths(results, verifying))
    if not paths:
        return PytestRun()
    run = run_old_tests(paths)
    if learning and run.problem is not None:
        warning = f"The models of some tests could not be learned. {run.problem}"
        print_message("Warning", warning)
    return run


def _list_old_paths(results: Iterable[FileResult], verifying: bool) -> Iterator[Path]:
    for result in results:
        if result.path.name == "conftest.py":
            # Its fixtures are used by tests of the whole folder.
            if result.changed or (verifying and result.hiding):
                yield result.path.parent
        elif result.changed or result.manual_changes:
            yield result.path


def _describe_missing(path: Path) -> str:
    """Return the message about a missing path, with the nearest name in its folder."""
    try:
        others = sorted(map(format_path, path.parent.iterdir()))
    except OSError:
        others = []
    hint = suggest_nearest(format_path(path), others, f"{format_path(path.parent)}{os.sep}") or "."
    return f"There is no file or folder {format_path(path)!r}{hint}"


def _find_files(paths: Sequence[Path], totals: _Totals) -> list[Path]:
    """Return the Python files of paths, each once."""
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            print_message("Error", _describe_missing(path))
            totals.errors += 1
        elif path.is_file():
            files.append(path)
        else:
            files += sorted(_walk_folder(path))
    return list(dict.fromkeys(path.resolve() for path in files))


def _walk_folder(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        # `os.walk` descends into what is left in this list.
        folders[:] = [
            name for name in folders if not name.startswith(".") and name not in SKIPPED_FOLDERS
        ]
        for name in names:
            if name.endswith(".py"):
                yield Path(root, name)


def _read_and_rewrite(path: Path, rewriter: _Rewriter, totals: _Totals) -> FileResult | None:
    """Rewrite a file in memory; None if it cannot be read."""
    try:
        return rewriter.rewrite(path, read_file(path))
    except OSError as error:
        problem = f"{format_path(path)} cannot be read: {error.strerror or error}."
        print_message("Error", problem)
    except InvalidFile as error:
        print_message("Error", str(error))
    totals.errors += 1
    return None


def _get_model_id(name: str) -> str:
    """Return the id of a model, given its id or alias."""
    # Imported here: files without an alias do not need `llm`.
    from llm_mock.boundaries.llm.names import LLMNames

    return LLMNames().model_id(name)


def _report_file(
    file: VerifiedFile,
    check: bool,
    write: bool,
    totals: _Totals,
) -> None:
    result = file.result
    if result.changed and write:
        _write(file, totals)
    elif result.changed:
        totals.add(result)
        if check:
            tests = ", ".join(result.changed)
            click.echo(f"{format_path(result.path)}: {tests} can be rewritten.")
        else:
            _print_diff(result)
    # Also in files without a change that can be made.
    for change in result.manual_changes:
        totals.by_hand += 1
        click.echo(escape_unprintable(redact(str(change))))


def _write(file: VerifiedFile, totals: _Totals) -> None:
    result = file.result
    path = format_path(result.path)
    try:
        if read_file(result.path) != result.source:
            problem = "was edited while the command ran, so it was not overwritten"
            print_message("Error", f"{path} {problem}. Run the command again.")
            totals.add_unwritten(result)
            return
        # The new file replaces the old one, and must have its permissions.
        permissions = result.path.stat().st_mode & 0o777
        write_atomically(result.path, result.encoded, mode=permissions)
    except OSError as error:
        print_message("Error", describe_write_error(result.path, error))
        totals.add_unwritten(result)
        return
    totals.add(result)
    for name, test in file.tests.items():
        click.echo(f"{path}: {name} verified: it passes, and notices {describe_noticed(test)}.")
    unverified = [name for name in result.changed if name not in file.tests]
    if unverified:
        click.echo(f"{path}: {', '.join(unverified)} rewritten.")


def _print_diff(result: FileResult) -> None:
    name = format_path(result.path)
    before = result.before.splitlines(keepends=True)
    after = result.after.splitlines(keepends=True)
    for line in difflib.unified_diff(before, after, name, name):
        click.echo(line.rstrip("\r\n"))


def _print_summary(
    totals: _Totals,
    check: bool,
    write: bool,
    verified: bool,
) -> None:
    if not totals.files and not totals.by_hand:
        # The mocks may be in the files that could not be read.
        if not totals.errors:
            click.echo("No mocks of llm or an SDK were found.")
    elif verified:
        click.echo(f"Rewritten: {totals}. Look at the changes.")
    elif write:
        click.echo(f"Rewritten: {totals}. Run the tests, then look at the changes.")
    elif check:
        click.echo(f"To rewrite: {totals}.")
    else:
        click.echo(f"To rewrite: {totals}. Nothing was written. To write the files, pass --write.")
