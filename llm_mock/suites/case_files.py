"""Access to the files that the cases of a suite name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from llm_mock.errors import InvalidFile
from llm_mock.suites.row_files import parse_rows
from llm_mock.support import yaml_files
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import shorten


class CaseFiles(NamedTuple):
    """The files of the cases of a suite."""

    folder: Path
    """The folder that file names are relative to."""
    allowed: Path
    """The folder that files must be in."""

    def read_rows(self, name: str) -> Iterator[tuple[Path, int, JSONObject]]:
        """Yield the rows of a file, or of all files that match a glob, ordered by name.

        Raises:
            InvalidFile: no file matches, or one is unreadable, not allowed or invalid.
        """
        for each in self._expand_glob(name):
            path = self.folder / each
            text = self.read_text(each)
            for line, row in parse_rows(path, text):
                yield path, line, row

    def _expand_glob(self, name: str) -> list[str]:
        if not set(name) & set("*?["):
            return [name]
        try:
            found = list(self.folder.glob(name))
        except (NotImplementedError, ValueError) as error:
            # An absolute pattern, or `**` inside of a name.
            raise InvalidFile(f"{shorten(name)} is not a valid glob: {error}") from None
        paths = sorted(path for path in found if path.is_file())
        if not paths:
            raise InvalidFile(f"no file in {self.folder} matches {shorten(name)}")
        return [str(path.relative_to(self.folder)) for path in paths]

    def read_text(self, name: str) -> str:
        """Return the text of a file without a final newline.

        Raises:
            InvalidFile: the file is unreadable, or not in the allowed folder.
        """
        path = self.folder / name
        try:
            # Resolved, as a symbolic link may lead out of the folder.
            is_allowed = path.resolve().is_relative_to(self.allowed.resolve())
        except (OSError, RuntimeError, ValueError):
            # Reading the file fails below, with a better message.
            is_allowed = True
        if not is_allowed:
            raise InvalidFile(
                f"{name} is outside of the folder {self.allowed.resolve()}: move it there, or set "
                "--files-in FOLDER or ini llm_mock_files_in to a folder that contains both"
            )
        text = yaml_files.read(path).replace("\r\n", "\n")
        return text.removesuffix("\n")
