"""Access to the parts of a configuration, and the report of those without a counterpart."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from llm_mock.errors import InvalidFile
from llm_mock.suites.variables import format_value
from llm_mock.support import yaml_files
from llm_mock.support.interpolation import DOTTED_NAME, escape_references
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import format_path
from llm_mock.support.yaml_files import Document

FILE = "file://"
DATA_SUFFIXES = (".yaml", ".yml", ".json")
"""The suffixes of data files, except tables."""
_HINTS = {
    "outputPath": "give the file to the command, -o FILE",
    "maxConcurrency": "give the command -j N",
    "tools": "give the role tools that can be called, spec.tools",
    "response_format": "ask for the form in the prompt, and check it, {type: json, schema: …}",
}
"""Replacements of keys without a counterpart."""
Place = tuple[str | int, ...]
# promptfoo's templates are Nunjucks; only plain variables can be converted.
_VARIABLE = re.compile(rf"\{{\{{-?\s*({DOTTED_NAME.pattern})\s*-?\}}\}}")
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)


class Part(NamedTuple):
    """A part of a file: its data and its place."""

    data: Any
    document: Document
    place: Place = ()

    def at(self, *steps: str | int) -> Part:
        """Return the part at these keys and positions; its data are None if there is none."""
        data = self.data
        for step in steps:
            if isinstance(data, dict):
                data = data.get(step)
            elif isinstance(data, list) and isinstance(step, int):
                data = data[step]
            else:
                data = None
        return Part(data, self.document, (*self.place, *steps))

    def items(self) -> Iterator[Part]:
        """Yield the items of a list, or the part itself if it is not a list; nothing for None."""
        if isinstance(self.data, list):
            for position in range(len(self.data)):
                yield self.at(position)
        elif self.data is not None:
            yield self

    @property
    def names(self) -> list[str]:
        """Return the keys of a mapping that are texts."""
        if not isinstance(self.data, dict):
            return []
        return [key for key in self.data if isinstance(key, str)]


@dataclass
class ImportFindings:
    """The report of parts without a counterpart."""

    # A dict as an ordered set: prompts and tests are combined, so a finding may come again.
    _findings: dict[tuple[str, int, str], None] = field(default_factory=dict)

    def report(self, part: Part, message: str) -> None:
        """Report a part that has no counterpart, or one that differs."""
        document = part.document
        path = format_path(document.path)
        line = document.line_of(part.place)
        self._findings[path, line, message] = None

    def report_keys(self, part: Part, known: Collection[str], owner: str = "") -> None:
        """Report all keys of a mapping except the known ones.

        Args:
            part: the mapping.
            known: the keys with a counterpart.
            owner: the phrase after the key in messages, such as " of a test".
        """
        for key in part.names:
            if key in known:
                continue
            message = f"{key}{owner} has no counterpart"
            if key in _HINTS:
                message += f": {_HINTS[key]}"
            self.report(part.at(key), message)

    def format_lines(self) -> list[str]:
        """Return a line `file:line: message` for each finding."""
        lines = []
        for path, line, message in sorted(self._findings):
            lines.append(f"{path}:{line}: {message}")
        return lines

    def convert_text(self, part: Part, template: str, variables: Collection[str]) -> str:
        """Return a template of promptfoo as a text of a suite.

        Args:
            part: the place of the template.
            template: the template.
            variables: the names of the variables of the case.
        """
        for match in _TEMPLATE.finditer(template):
            if not _VARIABLE.fullmatch(match[0]):
                problem = f"{match[0]} is left unchanged: only {{{{name}}}} has a counterpart"
                self.report(part, problem)
                break
        if not variables:
            # A case without variables replaces nothing, so nothing needs an escape.
            return template
        return _VARIABLE.sub(lambda match: f"${{{match[1]}}}", escape_references(template))


def find_variables(template: object) -> list[str]:
    """Return the names of the variables in all texts of a template."""
    if isinstance(template, str):
        return [match[1] for match in _VARIABLE.finditer(template)]
    values: Collection[Any] = ()
    if isinstance(template, dict):
        values = template.values()
    elif isinstance(template, list):
        values = template
    names: list[str] = []
    for value in values:
        names += find_variables(value)
    return names


def fill_variables(template: str, values: JSONObject) -> str:
    """Return a template with its variables replaced by values; unknown ones stay."""

    def replace(match: re.Match[str]) -> str:
        value = values.get(match[1], match[0])
        return format_value(value)

    return _VARIABLE.sub(replace, template)


def find_files(part: Part, findings: ImportFindings, suffixes: Collection[str]) -> list[Path]:
    """Return the files that a text or a glob names, relative to its own file.

    Files with other suffixes, and missing ones, are reported.
    """
    name = str(part.data).removeprefix(FILE)
    folder = part.document.path.parent
    paths = [folder / name]
    if set(name) & set("*?["):
        try:
            paths = sorted(folder.glob(name))
        except (NotImplementedError, ValueError):  # An absolute or an invalid pattern.
            paths = []
    readable = [path for path in paths if path.suffix.lower() in suffixes and path.is_file()]
    if not readable or len(readable) < len(paths):
        supported = ", ".join(suffixes)
        findings.report(
            part, f"{part.data} is not imported: expected files that end in {supported}"
        )
    return readable


def load_part(path: Path, part: Part, findings: ImportFindings) -> Part | None:
    """Return the content of a YAML or JSON file; report it and return None if it is invalid."""
    try:
        document = yaml_files.load(path)
    except InvalidFile as error:
        findings.report(part, str(error))
        return None
    return Part(document.data, document)
