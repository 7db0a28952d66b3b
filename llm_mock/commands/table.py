"""What `llm-mock test` shows: the results of a suite as a table, and why cases failed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llm_mock.commands.terminal import Table, Terminal, Text
from llm_mock.report.suite_markdown import duration
from llm_mock.suites.failure import failed_case, said
from llm_mock.suites.results import CaseResult, SuiteResult
from llm_mock.support.text import count, dollars

STATUS = {"passed": ("PASS", "green"), "failed": ("FAIL", "red"), "skipped": ("SKIP", "yellow")}
STYLES = {True: "green", False: "red", None: "yellow"}


def show_result(terminal: Terminal, result: SuiteResult, path: Path | None, verbose: bool = False) -> None:
    """Show what came of a suite.

    Args:
        terminal: where.
        result: the result.
        path: the file of the suite; None for one made in Python.
        verbose: whether the table says what came of each assertion.
    """
    if result.case_results:
        terminal.print_table(_table(terminal, result.case_results, verbose))
    terminal.print()
    for case in result.case_results:
        if case.status == "failed":
            _show_failure(terminal, case, path)
    if result.stopped:
        terminal.print(terminal.text(f"Stopped: {result.stopped}"))
    _show_footer(terminal, result)


# --- The table ------------------------------------------------------------------------------------------------------


def _table(terminal: Terminal, results: Sequence[CaseResult], verbose: bool) -> Table:
    repeated = any(len(result.attempts) > 1 for result in results)
    table = Table()
    table.add_column("Case", overflow="fold", no_wrap=terminal.is_pipe)
    table.add_column("Status", no_wrap=True)
    table.add_column("Duration", no_wrap=True)
    if repeated:
        table.add_column("Pass rate", no_wrap=True)
    if verbose:
        table.add_column("Details", overflow="fold")
    for result in results:
        name = Text(terminal.line(result.case.name))
        rate = [Text(_pass_rate(result))] if repeated else []
        details = [_details(terminal, result)] if verbose else []
        table.add_row(name, Text(*STATUS[result.status]), duration(result.duration), *rate, *details)
    return table


def _pass_rate(result: CaseResult) -> str:
    passed = sum(attempt.status != "failed" for attempt in result.attempts)
    return f"{100 * result.pass_rate:.0f}% ({passed}/{len(result.attempts)})"


def _details(terminal: Terminal, result: CaseResult) -> Text:
    """A line for each assertion of a case, or its error."""
    if result.error is not None:
        return Text(f"{terminal.signs[False]} {terminal.text(result.error)}", STYLES[False])
    lines = [
        Text(f"{terminal.signs[each.passed]} {terminal.text(said(each, result))}", STYLES[each.passed])
        for each in result.assertion_results
    ]
    return Text("\n").join(lines)


# --- Failures -------------------------------------------------------------------------------------------------------


def _show_failure(terminal: Terminal, result: CaseResult, path: Path | None) -> None:
    """Why a case failed: where it stands, what was asked and answered, and what is wrong with it."""
    first, *lines = failed_case(result, path, terminal.signs).split("\n")
    terminal.print(terminal.text(first), "bold red")
    for line in lines:
        terminal.print(terminal.text(line))
    terminal.print()


# --- The footer -----------------------------------------------------------------------------------------------------


def _show_footer(terminal: Terminal, result: SuiteResult) -> None:
    passed = result.all_passed
    verdict = "All tests passed" if passed else f"Some tests {'failed' if result.failed else 'were not run'}"
    terminal.print(Text.assemble(f"{_counts(result)} ", (f"{terminal.signs[passed]} {verdict}", STYLES[passed])))
    if not result.dry_run:
        tokens = sum(attempt.tokens for case in result.case_results for attempt in case.attempts)
        terminal.print(f"{count(tokens, 'token')}, cost {dollars(result.cost)}", "dim")


def _counts(result: SuiteResult) -> str:
    """How many cases passed of those that were checked, and what became of the others."""
    parts = [f"{result.passed}/{result.passed + result.failed} passed"]
    parts += [f"{result.skipped} skipped"] if result.skipped else []
    parts += [f"{len(result.not_run)} not run"] if result.not_run else []
    return ", ".join(parts)
