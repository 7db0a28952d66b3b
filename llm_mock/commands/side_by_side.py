"""Terminal output of suites with variants: a table of cases by variants, and the failures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llm_mock.commands.table import STATUS_STYLES, show_failures, show_footer, show_result
from llm_mock.commands.terminal import Table, Terminal, Text
from llm_mock.report.suite_document import FinishedSuite, new_document
from llm_mock.report.suite_grid import Grid
from llm_mock.suites.matrix import format_variant_name
from llm_mock.suites.results import SuiteResult
from llm_mock.support.json_types import JSONObject

MAX_COLUMNS = 6
"""The number of variants in one table; a terminal has no room for more."""


def show_side_by_side(
    terminal: Terminal,
    results: Sequence[SuiteResult],
    path: Path | None,
    verbose: bool = False,
) -> None:
    """Show the results of a suite's variants in one table.

    Args:
        terminal: the terminal.
        results: the result of each variant.
        path: the file of the suite.
        verbose: whether to show each variant with its assertions first.
    """
    if verbose:
        for result in results:
            terminal.print(terminal.line(format_variant_name(result.variant)), "bold")
            show_result(terminal, result, path, verbose)
            terminal.print()
    finished = (FinishedSuite(result, path) for result in results)
    suites = new_document(finished)["suites"]
    for first in range(0, len(suites), MAX_COLUMNS):
        grid = Grid(suites[first : first + MAX_COLUMNS])
        terminal.print_table(_create_table(terminal, grid))
    terminal.print()
    # With `verbose` they were shown above.
    if not verbose:
        for result in results:
            show_failures(terminal, result, path)
    show_footer(terminal, results)


def _create_table(terminal: Terminal, grid: Grid) -> Table:
    table = Table()
    # In a pipe, each row is one line, so that `grep` finds the whole row.
    table.add_column("Case", overflow="fold", no_wrap=terminal.is_pipe)
    for name in grid.variants:
        header = Text(terminal.line(name))
        table.add_column(header, overflow="fold", min_width=4)
    for name, cases in grid.rows():
        title = Text(terminal.line(name))
        cells = map(_create_cell, cases)
        table.add_row(title, *cells)
    table.add_section()
    for label, texts in grid.sums():
        title_of_sum = terminal.line(label)
        table.add_row(title_of_sum, *texts)
    return table


def _create_cell(case: JSONObject | None) -> Text:
    """Return the status of a case, with its pass rate if it was repeated."""
    if case is None or not case["attempts"]:
        return Text("-", "dim")
    word, style = STATUS_STYLES[case["status"]]
    repeats = case["repeats"]
    if repeats:
        word += f" {repeats['passed']}/{repeats['runs']}"
    return Text(word, style)
