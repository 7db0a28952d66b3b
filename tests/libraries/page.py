"""The table of libraries in the documentation. It needs nothing but Python.

Usage: python -m tests.libraries.page [--write] RESULTS.json...

It compares the table with the outcomes that the tests of libraries wrote, and fails where a cell
differs; versions may differ. Libraries that are in no file keep their rows.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.libraries.catalogue import CAPABILITIES, Library, read_libraries

PAGE = Path(__file__).parents[2] / "docs" / "libraries.md"
TABLE = re.compile(r"(?<=<!-- table -->\n).*(?=<!-- end of the table -->)", re.DOTALL)
WORDS = {
    "passed": "yes",
    "fault": "fault",
    "failed": "fails",
    "skipped": "fails",
    "lacks": "no",
    "untried": "not tried",
}
"""The words of the table for the outcomes of cells."""


class Row(NamedTuple):
    """A row of the table."""

    distribution: str
    version: str
    asks: str
    cells: tuple[str, ...]

    def without_version(self) -> Row:
        """Return the row of any version."""
        return self._replace(version="")

    def __str__(self) -> str:
        return f"| {self.distribution} | {self.version} | {self.asks} | {' | '.join(self.cells)} |"


def make_row(library: Library, version: str, cells: Mapping[str, str]) -> Row:
    """Return the row of a library.

    Args:
        library: The library.
        version: Its version.
        cells: The outcomes of its cells; one that was not run fails.
    """
    if library.refused:
        cells = dict.fromkeys(CAPABILITIES, cells.get("refused", "failed"))
    words = []
    for capability in CAPABILITIES:
        missing = "lacks" if capability in library.lacks else "failed"
        if capability in library.untried:
            missing = "untried"
        word = WORDS[cells.get(capability, missing)]
        words.append("refused" if library.refused and word == "yes" else word)
    return Row(library.distributions[0], version, library.asks, tuple(words))


def read_rows(text: str) -> dict[str, Row]:
    """Return the rows of a page by the names of the libraries."""
    found = TABLE.search(text)
    assert found is not None
    by_heading = {(one.distributions[0], one.asks): one.name for one in read_libraries()}
    rows = {}
    for line in found[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        name = by_heading.get((cells[0], cells[2])) if len(cells) > 3 else None
        if name is not None:
            rows[name] = Row(cells[0], cells[1], cells[2], tuple(cells[3:]))
    return rows


def replace_table(text: str, rows: Mapping[str, Row]) -> str:
    """Return a page with these rows and the notes of the libraries."""
    libraries = read_libraries()
    lines = [
        f"| library | version | provider (API) | {' | '.join(CAPABILITIES.values())} |",
        "|---" * (len(CAPABILITIES) + 3) + "|",
        *(str(rows[library.name]) for library in libraries),
        "",
        *make_notes(libraries),
        "",
    ]
    return TABLE.sub("\n".join(lines).replace("\\", r"\\"), text)


def make_notes(libraries: list[Library]) -> list[str]:
    """Return a line for each library that lacks something, or that needs a setting."""
    notes = []
    for library in libraries:
        variables = [f"`{name}={value}`" for name, value in library.variables.items()]
        parts = [f"Set {' and '.join(variables)}."] if variables else []
        if library.refused:
            parts.append(library.refused)
        if library.setting:
            parts.append(library.setting)
        headings: dict[str, list[str]] = {}
        for capability, reason in {**library.lacks, **library.untried, **library.faults}.items():
            headings.setdefault(reason, []).append(CAPABILITIES[capability])
        parts += [f"*{', '.join(names)}*: {reason}" for reason, names in headings.items()]
        if parts:
            notes.append(f"- **{library.distributions[0]}** ({library.asks}): {' '.join(parts)}")
    return notes


def main(arguments: list[str]) -> int:
    """Write the table or compare it; return 1 where it says something else than the outcomes."""
    write = "--write" in arguments
    results = {}
    for path in arguments:
        if path != "--write":
            results.update(json.loads(Path(path).read_text(encoding="utf-8")))
    text = PAGE.read_text(encoding="utf-8")
    rows = read_rows(text)
    problems = []
    for library in read_libraries():
        if library.name not in results:
            continue
        row = make_row(library, **results[library.name])
        expected = rows.get(library.name)
        is_expected = expected is not None and row.without_version() == expected.without_version()
        if "fails" in row.cells or not (write or is_expected):
            problems.append(f"{library.name}: {row}, and the page has {expected}")
        rows[library.name] = row
    for problem in problems:
        print(problem)
    if write and not problems:
        PAGE.write_text(replace_table(text, rows), encoding="utf-8")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
