"""The rows of the table, and their Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

HEADER = ("measured", "llm_mock", "beside it", "ratio", "goal")


@dataclass(frozen=True)
class Row:
    """One comparison."""

    measured: str
    ours: str
    beside: str = ""
    ratio: float | None = None
    """Ours divided by the other; None where there is nothing to divide by."""
    goal: str = ""

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the row, as Markdown."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        return self.measured, self.ours, self.beside, ratio, self.goal


def markdown(rows: Iterable[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = [HEADER, ("---", "---", "---", "---:", "---"), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def compared(what: str, ours: float, name: str, other: float, goal: str = "") -> Row:
    """Return the row of two times in seconds, shown in microseconds."""
    return Row(what, microseconds(ours), f"{name}: {microseconds(other)}", ours / other, goal)


def microseconds(seconds: float) -> str:
    """Return a time, to three digits at most."""
    figure = seconds * 1e6
    return f"{figure:.1f} µs" if figure < 100 else f"{figure:.0f} µs"
