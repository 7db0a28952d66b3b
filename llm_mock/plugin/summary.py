"""What a run says at its start and at its end; what the workers of xdist noticed is brought together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from llm_mock.plugin.guard import SHIPPED_FAULTS, report_faults_of_worker, reporting_hook
from llm_mock.plugin.run import RUN
from llm_mock.plugin.stash import PASS_RATE, RECORDINGS, UNUSED_RECORDINGS

BUDGET_OF_RUN = "llm_mock_budget_of_run"
ENVIRONMENT = "llm_mock_environment"
SHIPPED = "llm_mock_of_worker"
"""The keys of xdist's `workerinput` and `workeroutput` for what they hold: JSON in ASCII, which takes any text."""
OUTSIDE_TESTS = "outside of tests"
SHOWN_TESTS = 10


@reporting_hook(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput[ENVIRONMENT] = json.dumps(dict(node.config.stash[RUN].user_environment))


@reporting_hook()
def pytest_report_header(config: pytest.Config) -> str | None:
    if config.stash[RUN].pending is None:
        return None
    real = [*config.getini("llm_mock_passthrough")]
    real += ["in tests marked llm_live"] if config.getoption("--llm-mock-live") else []
    mode = config.getoption("--llm-mock-record") or config.getini("llm_mock_record")
    real += (
        [f"in tests with a cassette: real calls are made and recorded (mode {mode})"]
        if mode != "none"
        else []
    )
    return f"llm-mock: models of llm are mocked{', except ' if real else ''}{', '.join(real)}"


@reporting_hook()
def pytest_sessionfinish(session: pytest.Session) -> None:
    run = session.config.stash[RUN]
    mock = run.mock_if_made
    if mock is not None:
        mock.history.add_totals(mock.calls, OUTSIDE_TESTS, mock.settings.strict != "off")
    if hasattr(session.config, "workeroutput"):
        shipped: dict[str, Any] = {
            "totals": None
            if mock is None
            else [mock.history.totals, mock.history.answered_by_default],
            "unused": session.config.stash.get(UNUSED_RECORDINGS, []),
            "recorded": session.config.stash.get(RECORDINGS, {}),
            "agents": run.agents,
            "not_mocked": {} if mock is None else mock.not_mocked,
        }
        if mock is not None and mock.history.late_calls:
            from llm_mock.plugin.late_calls import to_worker_output

            shipped["late_calls"] = to_worker_output(mock.history.late_calls)
        session.config.workeroutput[SHIPPED] = json.dumps(shipped)


@reporting_hook(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    run = node.config.stash[RUN]
    output = getattr(node, "workeroutput", {})
    report_faults_of_worker(output.get(SHIPPED_FAULTS, {}))
    shipped = json.loads(output.get(SHIPPED, "{}"))
    if shipped.get("totals") and run.mock is not None:
        from llm_mock.core.records import add_totals

        totals, by_default = shipped["totals"]
        add_totals(run.mock.history.totals, totals)
        for test, number in by_default.items():
            of_run = run.mock.history.answered_by_default
            of_run[test] = of_run.get(test, 0) + number
    if "late_calls" in shipped and run.mock is not None:
        from llm_mock.plugin.late_calls import from_worker_output

        run.mock.history.late_calls.update(from_worker_output(shipped["late_calls"]))
    if shipped.get("not_mocked") and run.mock is not None:
        run.mock.add_not_mocked(shipped["not_mocked"])
    if agents := shipped.get("agents"):
        from llm_mock.agents.summary import add

        add(run.agents, agents)
    node.config.stash.setdefault(RECORDINGS, {}).update(shipped.get("recorded", {}))
    node.config.stash.setdefault(UNUSED_RECORDINGS, []).extend(shipped.get("unused", []))


@reporting_hook()
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if recorded := config.stash.get(RECORDINGS, {}):
        from llm_mock.support.text import format_count

        terminalreporter.section("Recorded LLM calls")
        lines = (
            f"  {path}: {format_count(number, 'real call')} recorded"
            for path, number in sorted(recorded.items())
        )
        terminalreporter.write_line("\n".join(lines))
    if unused := config.stash.get(UNUSED_RECORDINGS, []):
        from llm_mock.plugin.cassette_of_test import REMOVE_UNUSED

        terminalreporter.section("Recorded LLM calls that were not asked for")
        terminalreporter.write_line("\n".join([*sorted(unused), REMOVE_UNUSED]))
    if config.getini("llm_mock_suites") and (rates := _pass_rates(terminalreporter)):
        terminalreporter.section("Repeated cases")
        terminalreporter.write_line("\n".join(rates))
    _write_repeats(terminalreporter, config)
    _write_late_calls(terminalreporter, config)
    if (agents := config.stash[RUN].agents) and config.get_verbosity() >= 0:
        from llm_mock.agents.leaderboard import tables

        terminalreporter.section("Agents of the run")
        terminalreporter.write_line(tables(agents))
    _write_totals(terminalreporter, config)
    _write_not_mocked(terminalreporter, config)


def _write_not_mocked(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Count the calls of SDKs that reached servers on this machine, which are not mocked."""
    mock = config.stash[RUN].mock_if_made
    if mock is None or not mock.not_mocked:
        return
    from llm_mock.support.text import format_count

    terminalreporter.section("LLM calls that were not mocked")
    shown = sorted(mock.not_mocked.items(), key=lambda item: (-item[1], item[0]))
    lines = [
        f"  {request}  ({format_count(number, 'call')})" for request, number in shown[:SHOWN_TESTS]
    ]
    lines += (
        [f"  … {format_count(len(shown) - SHOWN_TESTS, 'more URL')}"]
        if len(shown) > SHOWN_TESTS
        else []
    )
    total = format_count(sum(mock.not_mocked.values()), "call")
    lines.append(
        f"{total} of SDKs reached servers on this machine that this run did not start. Name a server in ini "
        "llm_mock_hosts to have the mock answer (localhost:11434), or to leave it alone (!localhost:11434)."
    )
    terminalreporter.write_line("\n".join(lines))


def _pass_rates(terminalreporter: pytest.TerminalReporter) -> list[str]:
    """How often each repeated case of a suite passed, in the order of their names."""
    reports = (report for reports in terminalreporter.stats.values() for report in reports)
    ended = (report for report in reports if getattr(report, "when", None) == "call")
    found = ((report.nodeid, dict(report.user_properties).get(PASS_RATE)) for report in ended)
    return sorted(f"  {test}  {rate}" for test, rate in found if rate)


def _write_repeats(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The pass rates of the tests that were repeated."""
    reports = [*terminalreporter.stats.get("passed", ()), *terminalreporter.stats.get("failed", ())]
    repeats = [
        (report.nodeid, report.llm_mock_repeats)
        for report in reports
        if hasattr(report, "llm_mock_repeats")
    ]
    if repeats and config.get_verbosity() >= 0:
        from llm_mock.plugin.repeating import table

        terminalreporter.section("Repeated tests")
        terminalreporter.write_line(table(repeats))
    elif not repeats and (config.getoption("--llm-mock-repeat") or 1) > 1:
        terminalreporter.write_line(
            "--llm-mock-repeat: no test that ran is marked llm_mock_repeat; none was repeated."
        )


def _write_late_calls(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write which calls were made after the end of their test."""
    mock = config.stash[RUN].mock_if_made
    if mock is not None and mock.history.late_calls:
        from llm_mock.plugin.late_calls import TITLE, late_calls_text

        terminalreporter.section(TITLE)
        terminalreporter.write_line(late_calls_text(mock.history.late_calls))


def _write_totals(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    mock = config.stash[RUN].mock_if_made
    if mock is None or not mock.history.totals:
        return
    by_default = mock.history.answered_by_default
    if config.get_verbosity() > (-1 if by_default else 0):
        terminalreporter.section("LLM calls of the run")
        budget = config.pluginmanager.get_plugin(BUDGET_OF_RUN)
        terminalreporter.write_line(_totals_text(mock.history.totals, budget and budget.models))
        if by_default:
            terminalreporter.write_line(_by_default_text(by_default))


def _totals_text(
    sums: Mapping[str, Mapping[str, int]],
    costs: Mapping[str, tuple[Decimal | None, int]] | None = None,
) -> str:
    """The calls of a run, a line for each model, in columns; with what each model cost, where that is counted."""
    from llm_mock.support.text import format_columns, format_dollars, shorten_name

    rows: list[tuple[str, ...]] = [
        ("model", "calls", "tokens in", "tokens out", "errors", "answered by default")
    ]
    names = ("calls", "input_tokens", "output_tokens", "errors", "unconfigured")
    rows += [
        (shorten_name(model), *(str(sums[model][name]) for name in names)) for model in sorted(sums)
    ]
    if costs is not None:
        shown = [
            "cost",
            *(format_dollars(costs.get(model, (None, 0))[0]) for model in sorted(sums)),
        ]
        rows = [(*row, cost) for row, cost in zip(rows, shown, strict=True)]
    return "\n".join(format_columns(rows, leading=1))


def _by_default_text(tests: Mapping[str, int]) -> str:
    """Which tests got answers that nobody configured, those with the most calls first, and how to make them errors."""
    from llm_mock.support.text import format_count, shorten_name

    most = sorted(tests, key=lambda test: (-tests[test], test))
    lines = [
        f"  {shorten_name(test)}  ({format_count(tests[test], 'call')})"
        for test in most[:SHOWN_TESTS]
    ]
    lines += (
        [f"  … {format_count(len(most) - SHOWN_TESTS, 'more test')}"]
        if len(most) > SHOWN_TESTS
        else []
    )
    return "\n".join(
        [
            "Answered by default, as nothing was configured for the call:",
            *lines,
            "With ini llm_mock_strict = error such calls fail their test; with off they are not listed. "
            "The command llm-mock config prints the recommended settings.",
        ]
    )
