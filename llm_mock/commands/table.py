"""Terminal output of a suite: a table of the results, the failures, and the totals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

from llm_mock.commands.terminal import Table, Terminal, Text
from llm_mock.cost.prices import has_provider_prices
from llm_mock.suites.failure import format_assertion, format_cassette_usage, format_failed_case
from llm_mock.suites.matrix import format_variant_name
from llm_mock.suites.pass_rates import format_pass_k, format_percent
from llm_mock.suites.results import CaseResult, SuiteResult, total_cost
from llm_mock.suites.scores import format_score_cell, format_scores
from llm_mock.support.text import format_count, format_dollars, format_short_seconds

STATUS_STYLES = {
    "passed": ("PASS", "green"),
    "failed": ("FAIL", "red"),
    "not checked": ("NOT CHECKED", "yellow"),
}
VERDICT_STYLES = {True: "green", False: "red", None: "yellow"}
SUCCESS_VERDICTS = {True: "The score is high enough", False: "All tests passed"}
"""The verdicts on suites with and without a score to reach."""
FAILURE_VERDICTS = {True: "The score is too low", False: "Some tests failed"}
PRICES_ADVICE = "for the prices of the providers: pip install 'pytest-llm-mock[cost]'"
JUDGE_ADVICE = "set another judge with --judge MODEL or with judge: in the defaults of the suite"


def show_result(
    terminal: Terminal,
    result: SuiteResult,
    path: Path | None,
    verbose: bool = False,
) -> None:
    """Show the result of a suite.

    Args:
        terminal: the terminal.
        result: the result.
        path: the file of the suite.
        verbose: whether to show each assertion.
    """
    if result.case_results:
        terminal.print_table(_create_table(terminal, result.case_results, verbose))
    terminal.print()
    # With `verbose` the table has the errors and the assertions.
    show_failures(terminal, result, path, has_assertions=not verbose)
    show_footer(terminal, [result])


def show_failures(
    terminal: Terminal,
    result: SuiteResult,
    path: Path | None,
    has_assertions: bool = True,
) -> None:
    """Show why cases failed, and why others were not run.

    Args:
        terminal: the terminal.
        result: the result of the suite.
        path: the file of the suite.
        has_assertions: whether to show errors and assertions, too.
    """
    variant = format_variant_name(result.variant)
    for case in result.case_results:
        if case.status != "failed":
            continue
        failure = format_failed_case(case, path, terminal.signs, variant, has_assertions)
        title, *details = [terminal.text(line) for line in failure.split("\n")]
        terminal.print(title, "bold red")
        # An empty line separates it from the next one.
        details.append("")
        terminal.print("\n".join(details))
    if result.stopped:
        reason = result.stopped
        if variant:
            reason = f"{variant}: {reason}"
        terminal.print(terminal.text(f"Stopped: {reason}"))


Column = tuple[str, Callable[[CaseResult], str | Text]]
"""The heading of a column, and the function that formats the cell of a case."""


def _create_table(terminal: Terminal, results: Sequence[CaseResult], verbose: bool) -> Table:
    columns = _select_columns(results, verbose)
    table = Table()
    # In a pipe, each row is one line, so that `grep` finds the whole row.
    table.add_column("Case", overflow="fold", no_wrap=terminal.is_pipe)
    for heading, _ in columns:
        table.add_column(heading, no_wrap=True)
    if verbose:
        table.add_column("Details", overflow="fold")
    for result in results:
        # As `Text`, a name in brackets is not parsed as markup.
        cells: list[str | Text] = [Text(terminal.line(result.case.name))]
        cells += [format_cell(result) for _, format_cell in columns]
        if verbose:
            cells.append(_format_details(terminal, result))
        table.add_row(*cells)
    return table


def _select_columns(results: Sequence[CaseResult], verbose: bool) -> list[Column]:
    """Return the columns that say something about these results."""
    columns: list[Column] = [
        ("Status", _format_status),
        ("Duration", _format_duration),
    ]
    # With `verbose` the details show which checks were skipped.
    if not verbose and any(map(_has_skipped_checks, results)):
        columns.append(("Checked", _format_checks))
    if any(result.is_scored for result in results):
        columns.append(("Score", _format_score))
    if any(len(result.attempts) > 1 for result in results):
        columns += [
            ("Pass rate", _format_pass_rate),
            ("95% interval", _format_interval),
            ("pass@k, pass^k", _format_pass_k),
        ]
    return columns


def _format_status(result: CaseResult) -> Text:
    return Text(*STATUS_STYLES[result.status])


def _format_duration(result: CaseResult) -> str:
    return format_short_seconds(result.duration)


def _has_skipped_checks(result: CaseResult) -> bool:
    checked, total = result.checks
    return checked < total


def _format_checks(result: CaseResult) -> str:
    checked, total = result.checks
    return f"{checked} of {total}"


def _format_score(result: CaseResult) -> str:
    return format_score_cell(result.score)


def _format_pass_rate(result: CaseResult) -> str:
    rate = result.rate
    if rate is None:
        return ""
    return f"{format_percent(rate.share)} ({rate.passed}/{rate.runs})"


def _format_interval(result: CaseResult) -> str:
    rate = result.rate
    # One run says nothing about further ones.
    if rate is None or rate.runs == 1:
        return ""
    return " to ".join(map(format_percent, rate.interval))


def _format_pass_k(result: CaseResult) -> str:
    rate = result.rate
    if rate is None:
        return ""
    return "\n".join(format_pass_k(rate.pass_at_k, rate.pass_hat_k))


def _format_details(terminal: Terminal, result: CaseResult) -> Text:
    """Return a line for each assertion of a case, or its error."""
    lines: list[tuple[bool | None, str]] = []
    if result.error is not None:
        lines.append((False, result.error))
    else:
        for each in result.assertion_results:
            text = format_assertion(each, result)
            lines.append((each.passed, text))
    styled_lines: list[Text] = []
    for passed, line in lines:
        sign = terminal.signs[passed]
        style = VERDICT_STYLES[passed]
        text = terminal.text(line)
        styled_lines.append(Text(f"{sign} {text}", style))
    return Text("\n").join(styled_lines)


def _format_verdict(
    results: Sequence[SuiteResult], not_checked: int, not_run: int
) -> tuple[bool | None, str]:
    """Return the verdict on a suite, and its text; None if not everything was checked."""
    failed = sum([result.failed for result in results])
    if not_run and not failed:
        return False, "Some tests were not run"
    # A score is only final once all cases were run.
    has_score = results[0].min_score is not None and not not_run
    succeeded = [result.succeeded for result in results]
    if not all(succeeded):
        return False, FAILURE_VERDICTS[has_score]
    if not any(result.is_checked for result in results):
        return None, "Nothing was checked"
    if not_checked:
        return None, "Some tests were not checked"
    return True, SUCCESS_VERDICTS[has_score]


def show_footer(terminal: Terminal, results: Sequence[SuiteResult]) -> None:
    """Show the totals of a suite: of its one result, or of all its variants."""
    # Variants share the suite and the options of the run.
    first = results[0]
    _show_verdict(terminal, results)
    _show_scores(terminal, results)
    _show_cases_without_assertions(terminal, results)
    if first.cassette is not None:
        calls = [result.calls for result in results]
        totals = [sum(numbers) for numbers in zip(*calls, strict=True)]
        usage = format_cassette_usage(*totals)
        terminal.print(usage, "dim")
    pass_k = format_pass_k(first.pass_at_k, first.pass_hat_k)
    if pass_k and len(results) == 1:
        pass_rate = format_percent(first.pass_at_k[1])
        means = ", ".join([f"pass rate {pass_rate}", *pass_k])
        terminal.print(f"Mean of the repeated cases: {means}", "dim")
    # The tokens of a target are not known, and a dry run costs nothing.
    is_priced = not first.dry_run and first.target is None
    if is_priced:
        _show_cost(terminal, results)


def _show_verdict(terminal: Terminal, results: Sequence[SuiteResult]) -> None:
    passed = 0
    failed = 0
    not_checked = 0
    not_run = 0
    for result in results:
        passed += result.passed
        failed += result.failed
        not_checked += result.not_checked
        not_run += len(result.not_run)
    run = passed + failed
    counts = f"{passed}/{run} passed"
    if not_checked:
        counts += f", {not_checked} not checked"
    if not_run:
        counts += f", {not_run} not run"
    counts += _format_skipped_checks(results)
    succeeded, verdict = _format_verdict(results, not_checked, not_run)
    sign = terminal.signs[succeeded]
    style = VERDICT_STYLES[succeeded]
    line = Text(f"{counts} ")
    line.append(f"{sign} {verdict}", style)
    terminal.print(line)


def _format_skipped_checks(results: Sequence[SuiteResult]) -> str:
    """Return the number of checks that were skipped, and by what; empty if none were."""
    if results[0].dry_run:
        reason = "in a dry run"
    elif results[0].cassette:
        reason = "with a cassette"
    else:
        reason = ""
    checked = sum(result.checks[0] for result in results)
    total = sum(result.checks[1] for result in results)
    if checked == total:
        return ""
    return f", {total - checked} of {format_count(total, 'check')} skipped {reason}".rstrip()


def _show_scores(terminal: Terminal, results: Sequence[SuiteResult]) -> None:
    """Show informative scores, and the number of checks judged by the model under test itself."""
    for result in results:
        if result.variant:
            prefix = f"{format_variant_name(result.variant)}: "
        else:
            prefix = ""
        # The table of variants has the score of each, but not the score that it must reach.
        is_in_table = bool(prefix) and result.min_score is None
        if result.is_scored and not is_in_table:
            scores = format_scores(result.score, result.min_score, result.metrics)
            terminal.print(terminal.line(f"{prefix}{scores}"), "dim")
        if result.judged_itself:
            checks = format_count(result.judged_itself, "check")
            problem = f"{prefix}{checks} judged by the model under test itself"
            terminal.print(terminal.line(f"{problem}: {JUDGE_ADVICE}"), "yellow")


def _show_cases_without_assertions(terminal: Terminal, results: Sequence[SuiteResult]) -> None:
    """Show how many cases passed only because nothing failed in their runs."""
    number = 0
    for result in results:
        for case in result.case_results:
            number += case.passed and not case.assertion_results
    if number:
        cases = format_count(number, "case")
        text = f"{cases} without assertions: nothing in the answers was checked"
        terminal.print(text, "yellow")


def _show_cost(terminal: Terminal, results: Sequence[SuiteResult]) -> None:
    tokens = 0
    costs: list[Decimal | None] = []
    for result in results:
        for case in result.case_results:
            tokens += case.tokens
            costs.append(case.cost)
    cost = total_cost(costs)
    text = f"{format_count(tokens, 'token')}, cost {format_dollars(cost)}"
    if cost is None and not has_provider_prices():
        text += f"; {PRICES_ADVICE}"
    terminal.print(text, "dim")
