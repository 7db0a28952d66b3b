"""What `llm-mock test` shows: the results of a suite as a table, and why cases failed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llm_mock.commands.terminal import Table, Terminal, Text
from llm_mock.cost.prices import has_provider_prices
from llm_mock.suites.failure import format_assertion, format_cassette_usage, format_failed_case
from llm_mock.suites.matrix import format_variant_name
from llm_mock.suites.pass_rates import format_pass_at_k, format_percent
from llm_mock.suites.results import CaseResult, SuiteResult, total_cost
from llm_mock.suites.scores import format_score_cell, format_scores
from llm_mock.support.text import count, dollars, short_seconds

STATUS = {"passed": ("PASS", "green"), "failed": ("FAIL", "red"), "skipped": ("SKIP", "yellow")}
PRICES_OF_PROVIDERS = "for the prices of the providers: pip install 'pytest-llm-mock[cost]'"
OTHER_JUDGE = "name another, --judge MODEL, or judge: in the defaults of the suite"
STYLES = {True: "green", False: "red", None: "yellow"}


def show_result(terminal: Terminal, result: SuiteResult, path: Path | None, verbose: bool = False) -> None:
    """Show what came of the suite of a file; where `verbose`, also what came of each assertion."""
    if result.case_results:
        terminal.print_table(_table(terminal, result.case_results, verbose))
    terminal.print()
    show_failures(terminal, result, path)
    show_footer(terminal, [result])


def show_failures(terminal: Terminal, result: SuiteResult, path: Path | None) -> None:
    """Show why cases failed, and why others were not run."""
    variant = format_variant_name(result.variant)
    for case in result.case_results:
        if case.status == "failed":
            first, *lines = map(terminal.text, format_failed_case(case, path, terminal.signs, variant).split("\n"))
            terminal.print(first, "bold red")
            terminal.print("\n".join([*lines, ""]))
    if result.stopped:
        terminal.print(terminal.text(f"Stopped: {f'{variant}: ' if variant else ''}{result.stopped}"))


def _table(terminal: Terminal, results: Sequence[CaseResult], verbose: bool) -> Table:
    repeated = any(len(result.attempts) > 1 for result in results)
    skipped = not verbose and any(checked < there for checked, there in (result.checks for result in results))
    scored = any(result.is_scored for result in results)
    table = Table()
    table.add_column("Case", overflow="fold", no_wrap=terminal.is_pipe)
    table.add_column("Status", no_wrap=True)
    table.add_column("Duration", no_wrap=True)
    if skipped:
        table.add_column("Checked", no_wrap=True)
    if scored:
        table.add_column("Score", no_wrap=True)
    if repeated:
        for heading in ("Pass rate", "95% interval", "pass@k"):
            table.add_column(heading, no_wrap=True)
    if verbose:
        table.add_column("Details", overflow="fold")
    for result in results:
        name = Text(terminal.line(result.case.name))
        checks = [Text("{} of {}".format(*result.checks))] if skipped else []
        score = [Text(format_score_cell(result.score))] if scored else []
        rate = list(map(Text, _pass_rate(result))) if repeated else []
        details = [_details(terminal, result)] if verbose else []
        took = short_seconds(result.duration)
        table.add_row(name, Text(*STATUS[result.status]), took, *checks, *score, *rate, *details)
    return table


def _pass_rate(result: CaseResult) -> tuple[str, str, str]:
    """How often a case passed, within which bounds that may be by chance, and how often at least one of k runs does."""
    rate = result.rate
    interval = " to ".join(map(format_percent, rate.interval)) if rate.runs > 1 else ""
    return (
        f"{format_percent(rate.share)} ({rate.passed}/{rate.runs})",
        interval,
        "\n".join(format_pass_at_k(rate.pass_at_k)),
    )


def _details(terminal: Terminal, result: CaseResult) -> Text:
    """A line for each assertion of a case, or its error."""
    lines = [(each.passed, format_assertion(each, result)) for each in result.assertion_results]
    if result.error is not None:
        lines = [(False, result.error)]
    return Text("\n").join(Text(f"{terminal.signs[how]} {terminal.text(line)}", STYLES[how]) for how, line in lines)


def _verdict(succeeded: bool, failed: int, not_run: int, min_score: float | None) -> str:
    if not_run and not failed:
        return "Some tests were not run"
    if min_score is not None and not not_run:
        return "The score is high enough" if succeeded else "The score is too low"
    return "All tests passed" if succeeded else "Some tests failed"


def _show_scores(terminal: Terminal, results: Sequence[SuiteResult]) -> None:
    """Show the scores where they say more than which cases passed, and how many the model under test gave itself."""
    for result in results:
        name = f"{format_variant_name(result.variant)}: " if result.variant else ""
        if result.is_scored and (result.min_score is not None or not name):
            scores = format_scores(result.score, result.min_score, result.metrics)
            terminal.print(terminal.line(f"{name}{scores}"), "dim")
        if result.judged_itself:
            judged = f"{name}{count(result.judged_itself, 'check')} judged by the model under test itself"
            terminal.print(terminal.line(f"{judged}: {OTHER_JUDGE}"), "yellow")


def show_footer(terminal: Terminal, results: Sequence[SuiteResult]) -> None:
    """Show the sums of a suite: of its one result, or of all its variants."""
    passed, failed, skipped = (sum(getattr(each, name) for each in results) for name in ("passed", "failed", "skipped"))
    not_run = sum(len(result.not_run) for result in results)
    counts = f"{passed}/{passed + failed} passed"
    counts += f", {skipped} skipped" if skipped else ""
    counts += f", {not_run} not run" if not_run else ""
    checked, there = (sum(numbers) for numbers in zip(*(result.checks for result in results), strict=True))
    how = "in a dry run" if results[0].dry_run else "with a cassette" if results[0].cassette else None
    if how is not None and checked < there:
        counts += f", {there - checked} of {count(there, 'check')} skipped {how}"
    succeeded = all(result.all_passed for result in results)
    verdict = _verdict(succeeded, failed, not_run, results[0].min_score)
    terminal.print(Text.assemble(f"{counts} ", (f"{terminal.signs[succeeded]} {verdict}", STYLES[succeeded])))
    _show_scores(terminal, results)
    if results[0].cassette is not None:
        calls = (sum(each) for each in zip(*(result.calls for result in results), strict=True))
        terminal.print(format_cassette_usage(*calls), "dim")
    texts = format_pass_at_k(results[0].pass_at_k)
    if texts and len(results) == 1:
        mean = f"pass rate {format_percent(results[0].pass_at_k[1])}, {', '.join(texts)}"
        terminal.print(f"Mean of the repeated cases: {mean}", "dim")
    if not results[0].dry_run and results[0].target is None:
        cases = [case for result in results for case in result.case_results]
        tokens = sum(attempt.tokens for case in cases for attempt in case.attempts)
        cost = total_cost([case.cost for case in cases])
        advice = f"; {PRICES_OF_PROVIDERS}" if cost is None and not has_provider_prices() else ""
        terminal.print(f"{count(tokens, 'token')}, cost {dollars(cost)}{advice}", "dim")
