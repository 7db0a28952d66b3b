"""The files of a configuration: what is read of them, and what has no counterpart in a suite, by file and line."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from llm_mock.errors import InvalidFile
from llm_mock.support import yaml_files
from llm_mock.support.interpolation import literal
from llm_mock.support.text import shown_path
from llm_mock.support.yaml_files import Document

FILE = "file://"
TABLES = (".yaml", ".yml", ".json")
"""How files of data end, tables of another kind apart."""
_HINTS = {"outputPath": "give the file to the command, -o FILE", "maxConcurrency": "give the command -j N"}
"""What to do instead, of keys that have no counterpart."""
Place = tuple[str | int, ...]
_VARIABLE = re.compile(r"\{\{-?\s*([A-Za-z_]\w*)\s*-?\}\}")
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)


class Part(NamedTuple):
    """A part of a file: what it holds, and where it stands."""

    data: Any
    document: Document
    place: Place = ()

    def at(self, *steps: str | int) -> Part:
        """What keys and positions lead to from here; None where they lead nowhere."""
        data = self.data
        for step in steps:
            known = isinstance(data, dict) or (isinstance(data, list) and isinstance(step, int))
            data = (data.get(step) if isinstance(data, dict) else data[step]) if known else None
        return Part(data, self.document, (*self.place, *steps))

    def items(self) -> Iterator[Part]:
        """The parts of a list; of anything else but None the part itself."""
        if isinstance(self.data, list):
            yield from (self.at(position) for position in range(len(self.data)))
        elif self.data is not None:
            yield self

    @property
    def names(self) -> list[str]:
        """The keys of a mapping that are texts."""
        return [key for key in self.data if isinstance(key, str)] if isinstance(self.data, dict) else []


@dataclass
class Findings:
    """What has no counterpart, in the order of the files."""

    _found: dict[tuple[str, int, str], None] = field(default_factory=dict)

    def lost(self, part: Part, what: str) -> None:
        """Say that a part has no counterpart, or one that is not the same."""
        self._found[shown_path(part.document.path), part.document.line_of(part.place), what] = None

    def lost_keys(self, part: Part, known: Collection[str], of: str = "") -> None:
        """Say so of all keys of a mapping but the known ones."""
        for key in part.names:
            if key not in known:
                hint = f": {_HINTS[key]}" if key in _HINTS else ""
                self.lost(part.at(key), f"{key}{of} has no counterpart{hint}")

    def lines(self) -> list[str]:
        """Each as `file:line: what`."""
        return [f"{path}:{line}: {what}" for path, line, what in sorted(self._found)]

    def text(self, part: Part, template: str, variables: Collection[str]) -> str:
        """A template of promptfoo's as a text of a suite, where the case has these variables."""
        if other := next((each[0] for each in _TEMPLATE.finditer(template) if not _VARIABLE.fullmatch(each[0])), None):
            self.lost(part, f"{other} stays as it stands: only {{{{name}}}} has a counterpart")
        if not variables:
            return template
        return _VARIABLE.sub(lambda match: f"${{{match[1]}}}", literal(template))


def variables_in(template: Any) -> list[str]:
    """The names of the variables in the texts of a template."""
    if isinstance(template, (dict, list)):
        inside = template.values() if isinstance(template, dict) else template
        return [name for value in inside for name in variables_in(value)]
    return [match[1] for match in _VARIABLE.finditer(template)] if isinstance(template, str) else []


def files_of(part: Part, findings: Findings, endings: Collection[str]) -> list[Path]:
    """The files that a text names, which may be a glob, relative to its own file."""
    name = str(part.data).removeprefix(FILE)
    folder = part.document.path.parent
    try:
        found = sorted(folder.glob(name)) if set(name) & set("*?[") else [folder / name]
    except (NotImplementedError, ValueError):
        found = []
    readable = [path for path in found if path.suffix.lower() in endings and path.is_file()]
    if not readable or len(readable) < len(found):
        findings.lost(part, f"{part.data} is not taken over: it is no file that ends in {', '.join(endings)}")
    return readable


def loaded(path: Path, part: Part, findings: Findings) -> Part | None:
    """The content of a YAML or JSON file; None, which is said, where it cannot be read."""
    try:
        document = yaml_files.load(path)
    except InvalidFile as error:
        findings.lost(part, str(error))
        return None
    return Part(document.data, document)
