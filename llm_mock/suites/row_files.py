"""Files of rows, which a case is made into several by: CSV, JSON Lines, YAML."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from llm_mock.errors import InvalidFile
from llm_mock.support import yaml_files
from llm_mock.support.text import shorten
from llm_mock.support.validation import described

Row = tuple[int, dict[str, Any]]
"""The line at which a row begins, from 1, and its values by the names of the variables."""


def parse_rows(path: Path, text: str) -> list[Row]:
    """The rows of a file, from its text.

    Raises:
        InvalidFile: it is no file of rows, or has none; the message names its line.
    """
    readers = {".csv": _csv, ".jsonl": _json_lines, ".yaml": _yaml, ".yml": _yaml}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InvalidFile(f"{path}: a file of rows ends in {', '.join(readers)}")
    rows = list(reader(path, text))
    if not rows:
        raise InvalidFile(f"{path}: there are no rows in it")
    return rows


def _csv(path: Path, text: str) -> Iterator[Row]:
    """The first line names the variables; all values are texts."""
    reader = csv.reader(text.splitlines(keepends=True), strict=True)
    names: list[str] = []
    line = 1
    try:
        for values in reader:
            if not names:
                names = [value.strip() for value in values]
                if twice := next((name for name in names if names.count(name) > 1), None):
                    raise InvalidFile(f"{path}:{line}: the column {shorten(twice, 60)} stands twice")
            elif values:
                if len(values) != len(names):
                    raise InvalidFile(f"{path}:{line}: has {len(values)} values, and there are {len(names)} columns")
                yield line, dict(zip(names, values, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        raise InvalidFile(f"{path}:{line}: is not valid CSV: {error}") from None


def _json_lines(path: Path, text: str) -> Iterator[Row]:
    """An object a line; empty lines do not count."""
    for line, part in enumerate(text.split("\n"), start=1):
        if not part.strip():
            continue
        try:
            row = json.loads(part)
        except (ValueError, RecursionError) as error:
            raise InvalidFile(f"{path}:{line}: is not JSON: {error}") from None
        yield line, _mapping(path, line, row)


def _yaml(path: Path, text: str) -> Iterator[Row]:
    """A list of mappings."""
    document = yaml_files.parse(path, text)
    if not isinstance(document.data, list):
        raise document.error(f"should be a list of mappings, not {described(document.data)}")
    for position, row in enumerate(document.data):
        line = document.line_of((position,))
        yield line, _mapping(path, line, row)


def _mapping(path: Path, line: int, row: Any) -> dict[str, Any]:
    if not isinstance(row, dict) or not all(isinstance(name, str) for name in row):
        raise InvalidFile(f"{path}:{line}: a row should be a mapping of names to values, not {described(row)}")
    return row
