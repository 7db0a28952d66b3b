"""Output of results on a terminal, in a pipe or in a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from llm_mock.errors import MissingExtra
from llm_mock.suites.failure import SIGNS
from llm_mock.support.redaction import redact
from llm_mock.support.text import escape_unprintable

try:
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table as Table
    from rich.text import Text as Text
except ModuleNotFoundError as missing:
    problem = f"Running suites needs {missing.name}, which is not installed."
    advice = "Run: pip install 'pytest-llm-mock[suites]'"
    raise MissingExtra(f"{problem} {advice}") from None

PIPE_WIDTH = 80
"""The least number of columns in a pipe, which has none of its own."""
ASCII_SIGNS = {True: "+", False: "x", None: "-"}
TAB_SIZE = 4


class Terminal:
    """Standard output, with colors unless it is a pipe or NO_COLOR is set.

    Args:
        color: whether colors are allowed.
    """

    def __init__(self, color: bool = True) -> None:
        self.is_pipe = not sys.stdout.isatty()
        has_color = color and not os.environ.get("NO_COLOR") and not self.is_pipe
        self._console = Console(
            color_system="auto" if has_color else None,
            width=max(PIPE_WIDTH, _get_columns()) if self.is_pipe else None,
            # Texts of models and users must not be formatted.
            highlight=False,
            markup=False,
            emoji=False,
        )
        signs = "".join(SIGNS.values())
        can_print_signs = self._escape_unprintable(signs) == signs
        self.signs = SIGNS if can_print_signs else ASCII_SIGNS

    def _escape_unprintable(self, text: str) -> str:
        """Return a text with characters escaped that the output cannot encode."""
        encoding = self._console.encoding
        return text.encode(encoding, "backslashreplace").decode(encoding)

    def text(self, value: str) -> str:
        """Return a text without secrets and control characters, with the same lines."""
        # Redact first: escaping could change a secret so that it is not found.
        lines = redact(value).splitlines()
        safe_lines = [escape_unprintable(line.expandtabs(TAB_SIZE).rstrip()) for line in lines]
        return self._escape_unprintable("\n".join(safe_lines))

    def line(self, value: str) -> str:
        """Return a text without secrets and control characters, on one line."""
        return self.text(" ".join(value.split()))

    def print(self, text: str | Text = "", style: str = "") -> None:
        """Print lines, which the terminal may wrap."""
        if isinstance(text, str):
            styled_text = Text(text, style=style)
        else:
            styled_text = text
        self._console.print(styled_text, soft_wrap=True)

    def print_table(self, table: Table) -> None:
        """Print a table; in a pipe, wide enough for the columns that must not be wrapped."""
        if self.is_pipe:
            for column in table.columns:
                if not column.no_wrap:
                    continue
                # rich cuts off such cells unless the column has this width. Otherwise it would
                # also measure each cell, three times.
                width = 0
                for cell in (column.header, *column.cells):
                    for line in str(cell).split("\n"):
                        width = max(width, cell_len(line))
                column.width = width
            unlimited = self._console.options.update(max_width=sys.maxsize)
            measured = self._console.measure(table, options=unlimited)
            self._console.width = max(PIPE_WIDTH, _get_columns(), measured.minimum)
        self._console.print(table)

    @contextmanager
    def status(self) -> Iterator[Callable[[str], None]]:
        """Yield a function that shows the progress; without a terminal it shows nothing."""
        if self.is_pipe or not self._console.is_terminal:
            yield lambda text: None
            return
        with self._console.status("", spinner="line") as status:
            # A plain string would be parsed as markup.
            yield lambda text: status.update(Text(text))


def _get_columns() -> int:
    """Return COLUMNS of the environment; 0 if it is not a number."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() else 0
