"""The terminal that the results of suites are shown on: whatever it can show, and nothing in a text acts on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from llm_mock.errors import MissingExtra
from llm_mock.suites.failure import SIGNS
from llm_mock.support.redaction import redacted
from llm_mock.support.text import escaped

try:
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table as Table
    from rich.text import Text as Text
except ModuleNotFoundError as missing:
    advice = "Run: pip install 'pytest-llm-mock[suites]'"
    raise MissingExtra(f"Running suites needs {missing.name}, which is not installed. {advice}") from None

PIPE_WIDTH = 80
ASCII_SIGNS = {True: "+", False: "x", None: "-"}


class Terminal:
    """Standard output: a terminal, a pipe or a file. NO_COLOR and a pipe refuse colors."""

    def __init__(self, color: bool = True) -> None:
        self.is_pipe = not sys.stdout.isatty()
        wanted = color and not os.environ.get("NO_COLOR") and not self.is_pipe
        self._console = Console(
            color_system="auto" if wanted else None,
            width=max(PIPE_WIDTH, _columns()) if self.is_pipe else None,
            highlight=False,
            markup=False,
            emoji=False,
        )
        signs = "".join(SIGNS.values())
        self.signs = SIGNS if self._shown(signs) == signs else ASCII_SIGNS

    def _shown(self, text: str) -> str:
        """A text with what the encoding of the output lacks escaped."""
        encoding = self._console.encoding
        return text.encode(encoding, "backslashreplace").decode(encoding)

    def text(self, value: str) -> str:
        """A text without secrets, in which nothing acts on a terminal; its lines are kept."""
        lines = redacted(value).splitlines()
        return self._shown("\n".join(escaped(line.expandtabs(4).rstrip()) for line in lines))

    def line(self, value: str) -> str:
        """The same on one line."""
        return self.text(" ".join(value.split()))

    def print(self, text: str | Text = "", style: str = "") -> None:
        """Show lines, which the terminal may wrap."""
        self._console.print(Text(text, style=style) if isinstance(text, str) else text, soft_wrap=True)

    def print_table(self, table: Table) -> None:
        """Show a table; in a pipe it is so wide that nothing of a column is cut off that may not be wrapped."""
        if self.is_pipe:
            for column in (each for each in table.columns if each.no_wrap):
                cells = (str(cell) for cell in (column.header, *column.cells))
                column.min_width = max(cell_len(line) for cell in cells for line in cell.split("\n"))
            unlimited = self._console.options.update(max_width=sys.maxsize)
            least = self._console.measure(table, options=unlimited).minimum
            self._console.width = max(PIPE_WIDTH, _columns(), least)
        self._console.print(table)

    @contextmanager
    def status(self) -> Iterator[Callable[[str], None]]:
        """What to tell how far the work is; it shows nothing where there is no terminal."""
        if self.is_pipe or not self._console.is_terminal:
            yield lambda text: None
            return
        with self._console.status("", spinner="line") as status:
            yield lambda text: status.update(Text(text))  # a plain text would be taken for markup


def _columns() -> int:
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() else 0
