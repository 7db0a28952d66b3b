"""What `llm-mock test` shows of variants: a table of cases by variants, and why cases failed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llm_mock.commands.table import STATUS, show_failures, show_footer, show_result
from llm_mock.commands.terminal import Table, Terminal, Text
from llm_mock.report.suite_document import FinishedSuite, new_document
from llm_mock.report.suite_grid import Grid
from llm_mock.suites.matrix import format_variant_name
from llm_mock.suites.results import SuiteResult

COLUMNS_AT_ONCE = 6
"""How many variants stand in one table: more do not fit a terminal. The others follow in the next."""


def show_side_by_side(
    terminal: Terminal, results: Sequence[SuiteResult], path: Path | None, verbose: bool = False
) -> None:
    """Show what came of the variants of a suite; where `verbose`, first of each alone."""
    for result in results if verbose else ():
        terminal.print(terminal.line(format_variant_name(result.variant)), "bold")
        show_result(terminal, result, path, verbose)
        terminal.print()
    suites = new_document(FinishedSuite(result, path) for result in results)["suites"]
    for first in range(0, len(suites), COLUMNS_AT_ONCE):
        terminal.print_table(_table(terminal, Grid(suites[first : first + COLUMNS_AT_ONCE])))
    terminal.print()
    for result in () if verbose else results:
        show_failures(terminal, result, path)
    show_footer(terminal, results)


def _table(terminal: Terminal, grid: Grid) -> Table:
    table = Table()
    table.add_column("Case", overflow="fold", no_wrap=terminal.is_pipe)
    for name in grid.variants:
        table.add_column(Text(terminal.line(name)), overflow="fold", min_width=4)
    for name, cases in grid.rows():
        table.add_row(Text(terminal.line(name)), *map(_cell, cases))
    table.add_section()
    for label, texts in grid.sums():
        table.add_row(terminal.line(label), *texts)
    return table


def _cell(case: dict[str, Any] | None) -> Text:
    """The status of a case, and of one that ran several times how often it passed."""
    if case is None or not case["attempts"]:
        return Text("-", "dim")
    (word, style), repeats = STATUS[case["status"]], case["repeats"]
    return Text(f"{word} {repeats['passed']}/{repeats['runs']}" if repeats else word, style)
