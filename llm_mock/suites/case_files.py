"""The files that the cases of a suite name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from llm_mock.errors import InvalidFile
from llm_mock.suites.row_files import parse_rows
from llm_mock.support import yaml_files
from llm_mock.support.text import shorten


class CaseFiles(NamedTuple):
    """The files that cases name: relative to a folder, and in one that may be another."""

    folder: Path
    allowed: Path

    def rows(self, name: str) -> Iterator[tuple[Path, int, dict[str, Any]]]:
        """The rows of a file, or of all that a glob fits, in the order of their names: each with its file and line."""
        names = [name]
        if set(name) & set("*?["):
            try:
                found = sorted(path for path in self.folder.glob(name) if path.is_file())
            except (NotImplementedError, ValueError) as error:
                raise InvalidFile(f"{shorten(name)} is no glob: {error}") from None
            if not found:
                raise InvalidFile(f"no file in {self.folder} fits {shorten(name)}")
            names = [str(path.relative_to(self.folder)) for path in found]
        for each in names:
            path = self.folder / each
            for line, row in parse_rows(path, self.read(each)):
                yield path, line, row

    def read(self, name: str) -> str:
        """The text of a file, without the line end at its end; InvalidFile where it cannot be read, or may not be."""
        path = self.folder / name
        try:
            is_allowed = path.resolve().is_relative_to(self.allowed.resolve())
        except (OSError, RuntimeError, ValueError):  # what cannot be read, either
            is_allowed = True
        if not is_allowed:
            raise InvalidFile(
                f"{name} lies outside of {self.allowed}: put it there, or allow a folder that has both, "
                "by --files-in FOLDER or ini llm_mock_files_in"
            )
        return yaml_files.read(path).replace("\r\n", "\n").removesuffix("\n")
