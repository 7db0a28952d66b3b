"""Parsers for files of rows: CSV, JSON Lines, YAML."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from llm_mock.errors import InvalidFile
from llm_mock.support import yaml_files
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import shorten
from llm_mock.support.validation import describe_data

Row = tuple[int, JSONObject]
"""The first line of a row, from 1, and its values by the names of variables."""


def parse_rows(path: Path, text: str) -> list[Row]:
    """Parse the rows of a file.

    Args:
        path: the file; its suffix selects the format.
        text: the content.

    Raises:
        InvalidFile: the content is invalid, or has no rows; the message names the line.
    """
    parsers = {
        ".csv": _parse_csv,
        ".jsonl": _parse_json_lines,
        ".yaml": _parse_yaml,
        ".yml": _parse_yaml,
    }
    parser = parsers.get(path.suffix.lower())
    if parser is None:
        raise InvalidFile(f"{path}: a file of rows must end in {', '.join(parsers)}")
    rows = list(parser(path, text))
    if not rows:
        raise InvalidFile(f"{path}: the file contains no rows")
    return rows


def _parse_csv(path: Path, text: str) -> Iterator[Row]:
    """Yield the rows of a table; the first line names the variables, all values are texts."""
    # Lines keep their ends, as a quoted value may have several lines.
    reader = csv.reader(text.splitlines(keepends=True), strict=True)
    names: list[str] = []
    line = 1
    try:
        for values in reader:
            if not names:
                names = _parse_header(path, line, values)
            elif values:
                if len(values) != len(names):
                    counts = f"expected {len(names)} values, one for each column, got {len(values)}"
                    raise InvalidFile(f"{path}:{line}: {counts}")
                yield line, dict(zip(names, values, strict=True))
            # The reader counts the lines it has read: the next row begins after them.
            line = reader.line_num + 1
    except csv.Error as error:
        raise InvalidFile(f"{path}:{line}: invalid CSV: {error}") from None


def _parse_header(path: Path, line: int, values: list[str]) -> list[str]:
    names: list[str] = []
    for value in values:
        name = value.strip()
        if name in names:
            raise InvalidFile(f"{path}:{line}: duplicate column {shorten(name)}")
        names.append(name)
    return names


def _parse_json_lines(path: Path, text: str) -> Iterator[Row]:
    """Yield the object of each line; empty lines are ignored."""
    # Not splitlines(): JSON texts may contain other line ends, such as U+2028.
    for line, part in enumerate(text.split("\n"), start=1):
        if not part.strip():
            continue
        try:
            row = json.loads(part)
        except (ValueError, RecursionError) as error:
            raise InvalidFile(f"{path}:{line}: invalid JSON: {error}") from None
        yield line, _validate_row(path, line, row)


def _parse_yaml(path: Path, text: str) -> Iterator[Row]:
    """Yield the mappings of a list."""
    document = yaml_files.parse(path, text)
    if not isinstance(document.data, list):
        kind = describe_data(document.data)
        raise document.error(f"the file must contain a list of mappings, not {kind}")
    for position, row in enumerate(document.data):
        line = document.line_of([position])
        values = _validate_row(path, line, row)
        yield line, values


def _validate_row(path: Path, line: int, row: Any) -> JSONObject:
    is_valid = isinstance(row, dict)
    if is_valid:
        # Keys of JSON are texts; YAML allows other keys, too.
        is_valid = all(isinstance(name, str) for name in row)
    if not is_valid:
        kind = describe_data(row)
        problem = f"a row must be a mapping of names to values, not {kind}"
        raise InvalidFile(f"{path}:{line}: {problem}")
    return dict(row)
