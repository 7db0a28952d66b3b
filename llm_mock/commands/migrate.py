"""Rewrites old tests, or shows what would be rewritten and what is left to a person."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from llm_mock.commands.errors import not_writable, tell
from llm_mock.errors import InvalidFile, MissingExtra
from llm_mock.support.files import read_file, write_atomically
from llm_mock.support.redaction import redacted
from llm_mock.support.text import count, escaped, shown_path

try:
    from llm_mock.migrate.file import FileResult, rewrite_file
except ModuleNotFoundError as missing:
    if missing.name != "libcst":
        raise
    advice = "Run: pip install 'pytest-llm-mock[migrate]'"
    raise MissingExtra(f"Rewriting tests needs libcst, which is not installed. {advice}") from None
from llm_mock.migrate.model_discovery import DiscoveredModels, discover_models

SKIPPED = ("node_modules", "__pycache__", "site-packages")


@dataclass
class _Sums:
    rewritten: int = 0
    files: int = 0
    by_hand: int = 0
    errors: int = 0

    def __str__(self) -> str:
        text = f"{count(self.rewritten, 'test')} in {count(self.files, 'file')}"
        return f"{text}, {self.by_hand} left to you" if self.by_hand else text


def migrate(paths: Sequence[Path], *, check: bool, write: bool, learning: bool) -> int:
    """Rewrite the tests of files and folders; the exit code.

    Args:
        paths: files, and folders whose Python files are looked at.
        check: only say what is to do, and give 1 where something is.
        write: write the files. Without either the changes are shown.
        learning: run the old tests once, to see which models they ask for.
    """
    sums, files = _Sums(), []
    for path in paths:
        if path.exists():
            files += [path] if path.is_file() else sorted(_python_files(path))
        else:
            tell("Error", f"{shown_path(path)} does not exist.")
            sums.errors += 1
    files = list(dict.fromkeys(path.resolve() for path in files))
    learned = discover_models(files) if learning and files else DiscoveredModels()
    if learned.problem is not None:
        tell("Warning", f"Which models are asked for was not learned everywhere. {learned.problem}")
    for path in files:
        result = _result(path, learned, sums)
        if result is not None:
            _show(result, check, write, sums)
    _conclude(sums, check, write)
    return int(bool(sums.errors or (check and (sums.rewritten or sums.by_hand))))


def _python_files(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in SKIPPED)
        yield from (Path(root, name) for name in names if name.endswith(".py"))


def _result(path: Path, learned: DiscoveredModels, sums: _Sums) -> FileResult | None:
    try:
        get_requested_models = partial(learned.get_requested_models, path)
        return rewrite_file(path, read_file(path), get_requested_models, _id_of)
    except OSError as error:
        tell("Error", f"{shown_path(path)} cannot be read: {error.strerror or error}.")
    except InvalidFile as error:
        tell("Error", str(error))
    sums.errors += 1
    return None


def _id_of(name: str) -> str:
    """The id of a model, where an alias is named; only then is `llm` needed."""
    from llm_mock.boundaries.llm.names import LLMNames

    return LLMNames().model_id(name)


def _show(result: FileResult, check: bool, write: bool, sums: _Sums) -> None:
    if result.changed:
        sums.rewritten += len(result.changed)
        sums.files += 1
        if write:
            _write(result, sums)
        elif check:
            click.echo(f"{shown_path(result.path)}: {', '.join(result.changed)} can be rewritten.")
        else:
            _show_difference(result)
    for finding in result.manual_changes:
        sums.by_hand += 1
        click.echo(escaped(redacted(str(finding))))


def _write(result: FileResult, sums: _Sums) -> None:
    try:
        write_atomically(result.path, result.encoded, mode=result.path.stat().st_mode & 0o777)
        click.echo(f"{shown_path(result.path)}: {', '.join(result.changed)} rewritten.")
    except OSError as error:
        tell("Error", not_writable(result.path, error))
        sums.errors += 1


def _show_difference(result: FileResult) -> None:
    name = shown_path(result.path)
    before, after = (text.splitlines(keepends=True) for text in (result.before, result.after))
    for line in difflib.unified_diff(before, after, name, name):
        click.echo(line.rstrip("\r\n"))


def _conclude(sums: _Sums, check: bool, write: bool) -> None:
    if not sums.rewritten and not sums.by_hand:
        click.echo("No mocks of llm were found.")
    elif write:
        click.echo(f"Rewritten: {sums}. Run the tests, then look at the changes.")
    elif check:
        click.echo(f"To rewrite: {sums}.")
    else:
        click.echo(f"To rewrite: {sums}. Nothing was written: --write does.")
