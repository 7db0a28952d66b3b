"""The command `llm-mock migrate`: rewrite old tests, or show what it would change."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from llm_mock.commands.errors import describe_write_error, print_message
from llm_mock.errors import InvalidFile, MissingExtra
from llm_mock.support.files import read_file, write_atomically
from llm_mock.support.redaction import redact
from llm_mock.support.text import escape_unprintable, format_count, format_path

try:
    from llm_mock.migrate.file import FileResult, rewrite_file
except ModuleNotFoundError as missing:
    if missing.name != "libcst":
        raise
    advice = "Run: pip install 'pytest-llm-mock[migrate]'"
    raise MissingExtra(f"Rewriting tests needs libcst, which is not installed. {advice}") from None
from llm_mock.migrate.model_discovery import DiscoveredModels, discover_models

SKIPPED_FOLDERS = ("node_modules", "__pycache__", "site-packages")


@dataclass
class _Totals:
    """The numbers of tests and files that a run rewrote or left."""

    rewritten: int = 0
    files: int = 0
    by_hand: int = 0
    errors: int = 0

    def __str__(self) -> str:
        text = f"{format_count(self.rewritten, 'test')} in {format_count(self.files, 'file')}"
        if self.by_hand:
            text += f", {self.by_hand} left to you"
        return text


def migrate(paths: Sequence[Path], *, check: bool, write: bool, learning: bool) -> int:
    """Rewrite the tests of files and folders, and return the exit code.

    Args:
        paths: Python files, and folders that contain some.
        check: only print which tests can be rewritten; the exit code is 1 if there are any.
        write: write the files. Without `check` and `write`, the changes are printed.
        learning: run the old tests once, to learn which models they request.
    """
    totals = _Totals()
    # All files first: the old tests are run once for all of them.
    files = _find_files(paths, totals)
    if learning and files:
        models = discover_models(files)
    else:
        models = DiscoveredModels()
    if models.problem is not None:
        warning = f"Which models are asked for was not learned everywhere. {models.problem}"
        print_message("Warning", warning)
    for path in files:
        result = _rewrite(path, models, totals)
        if result is not None:
            _report_result(result, check, write, totals)
    _print_summary(totals, check, write)
    has_work = totals.rewritten or totals.by_hand
    has_failed = totals.errors or (check and has_work)
    return 1 if has_failed else 0


def _find_files(paths: Sequence[Path], totals: _Totals) -> list[Path]:
    """Return the Python files of paths, each once."""
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            print_message("Error", f"{format_path(path)} does not exist.")
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


def _rewrite(path: Path, models: DiscoveredModels, totals: _Totals) -> FileResult | None:
    """Rewrite a file in memory; None if it cannot be read."""
    try:
        get_requested_models = partial(models.get_requested_models, path)
        return rewrite_file(path, read_file(path), get_requested_models, _get_model_id)
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


def _report_result(result: FileResult, check: bool, write: bool, totals: _Totals) -> None:
    if result.changed:
        totals.rewritten += len(result.changed)
        totals.files += 1
        if write:
            _write(result, totals)
        elif check:
            tests = ", ".join(result.changed)
            click.echo(f"{format_path(result.path)}: {tests} can be rewritten.")
        else:
            _print_diff(result)
    # Also in files without a change that can be made.
    for change in result.manual_changes:
        totals.by_hand += 1
        click.echo(escape_unprintable(redact(str(change))))


def _write(result: FileResult, totals: _Totals) -> None:
    try:
        # The new file replaces the old one, and must have its permissions.
        permissions = result.path.stat().st_mode & 0o777
        write_atomically(result.path, result.encoded, mode=permissions)
        click.echo(f"{format_path(result.path)}: {', '.join(result.changed)} rewritten.")
    except OSError as error:
        print_message("Error", describe_write_error(result.path, error))
        totals.errors += 1


def _print_diff(result: FileResult) -> None:
    name = format_path(result.path)
    before = result.before.splitlines(keepends=True)
    after = result.after.splitlines(keepends=True)
    for line in difflib.unified_diff(before, after, name, name):
        click.echo(line.rstrip("\r\n"))


def _print_summary(totals: _Totals, check: bool, write: bool) -> None:
    if not totals.rewritten and not totals.by_hand:
        click.echo("No mocks of llm were found.")
    elif write:
        click.echo(f"Rewritten: {totals}. Run the tests, then look at the changes.")
    elif check:
        click.echo(f"To rewrite: {totals}.")
    else:
        click.echo(f"To rewrite: {totals}. Nothing was written: --write does.")
