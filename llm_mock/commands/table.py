"""What `llm-mock test` shows: the results of a suite as a table, and why cases failed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llm_mock.commands.terminal import Table, Terminal, Text
from llm_mock.cost.prices import available
from llm_mock.suites.failure import failed_case, said
from llm_mock.suites.pass_rates import pass_at_k_texts, percent
from llm_mock.suites.results import CaseResult, SuiteResult
from llm_mock.support.text import count, dollars, short_seconds

STATUS = {"passed": ("PASS", "green"), "failed": ("FAIL", "red"), "skipped": ("SKIP", "yellow")}
PRICES_OF_PROVIDERS = "for the prices of the providers: pip install 'pytest-llm-mock[cost]'"
STYLES = {True: "green", False: "red", None: "yellow"}


def show_result(terminal: Terminal, result: SuiteResult, path: Path | None, verbose: bool = False) -> None:
    """Show what came of the suite of a file; where `verbose`, also what came of each assertion."""
    if result.case_results:
        terminal.print_table(_table(terminal, result.case_results, verbose))
    terminal.print()
    for case in result.case_results:
        if case.status == "failed":
            first, *lines = map(terminal.text, failed_case(case, path, terminal.signs).split("\n"))
            terminal.print(first, "bold red")
            terminal.print("\n".join([*lines, ""]))
    if result.stopped:
        terminal.print(terminal.text(f"Stopped: {result.stopped}"))
    _show_footer(terminal, result)


def _table(terminal: Terminal, results: Sequence[CaseResult], verbose: bool) -> Table:
    repeated = any(len(result.attempts) > 1 for result in results)
    skipped = not verbose and any(checked < there for checked, there in (result.checks for result in results))
    table = Table()
    table.add_column("Case", overflow="fold", no_wrap=terminal.is_pipe)
    table.add_column("Status", no_wrap=True)
    table.add_column("Duration", no_wrap=True)
    if skipped:
        table.add_column("Checked", no_wrap=True)
    if repeated:
        for heading in ("Pass rate", "95% interval", "pass@k"):
            table.add_column(heading, no_wrap=True)
    if verbose:
        table.add_column("Details", overflow="fold")
    for result in results:
        name = Text(terminal.line(result.case.name))
        checks = [Text("{} of {}".format(*result.checks))] if skipped else []
        rate = list(map(Text, _pass_rate(result))) if repeated else []
        details = [_details(terminal, result)] if verbose else []
        table.add_row(name, Text(*STATUS[result.status]), short_seconds(result.duration), *checks, *rate, *details)
    return table


def _pass_rate(result: CaseResult) -> tuple[str, str, str]:
    """How often a case passed, within which bounds that may be by chance, and how often at least one of k runs does."""
    rate = result.rate
    interval = " to ".join(map(percent, rate.interval)) if rate.runs > 1 else ""
    return f"{percent(rate.share)} ({rate.passed}/{rate.runs})", interval, "\n".join(pass_at_k_texts(rate.pass_at_k))


def _details(terminal: Terminal, result: CaseResult) -> Text:
    """A line for each assertion of a case, or its error."""
    lines = [(each.passed, said(each, result)) for each in result.assertion_results]
    if result.error is not None:
        lines = [(False, result.error)]
    return Text("\n").join(Text(f"{terminal.signs[how]} {terminal.text(line)}", STYLES[how]) for how, line in lines)


def _show_footer(terminal: Terminal, result: SuiteResult) -> None:
    counts = f"{result.passed}/{result.passed + result.failed} passed"
    counts += f", {result.skipped} skipped" if result.skipped else ""
    counts += f", {len(result.not_run)} not run" if result.not_run else ""
    checked, there = result.checks
    if result.dry_run and checked < there:
        counts += f", {there - checked} of {count(there, 'check')} skipped in a dry run"
    passed = result.all_passed
    verdict = "All tests passed" if passed else f"Some tests {'failed' if result.failed else 'were not run'}"
    terminal.print(Text.assemble(f"{counts} ", (f"{terminal.signs[passed]} {verdict}", STYLES[passed])))
    if texts := pass_at_k_texts(result.pass_at_k):
        mean = f"pass rate {percent(result.pass_at_k[1])}, {', '.join(texts)}"
        terminal.print(f"Mean of the repeated cases: {mean}", "dim")
    if not result.dry_run and result.target is None:
        tokens = sum(attempt.tokens for case in result.case_results for attempt in case.attempts)
        no_prices = result.cost is None and not available()
        advice = f"; {PRICES_OF_PROVIDERS}" if no_prices else ""
        terminal.print(f"{count(tokens, 'token')}, cost {dollars(result.cost)}{advice}", "dim")
