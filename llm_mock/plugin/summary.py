"""The report header and the terminal summary, with the data of all workers of pytest-xdist."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from llm_mock.plugin import (
    CASSETTE_USE,
    MISSPELT_MODELS,
    NOT_CHECKED,
    PASS_RATE,
    RECORDINGS,
    UNUSED_RECORDINGS,
    VERIFIED,
    VERIFY,
    MisspeltModel,
)
from llm_mock.plugin.guard import SHIPPED_FAULTS, report_faults_of_worker, reporting_hook
from llm_mock.plugin.options import has_quoted_ini
from llm_mock.plugin.run import RUN

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.get_model import LLMMock
    from llm_mock.support.json_types import JSONObject

RUN_BUDGET = "llm_mock_run_budget"
"""The name of the plugin that counts the usage of the run."""
ENVIRONMENT = "llm_mock_environment"
"""The key of `workerinput` of pytest-xdist for the user's environment variables."""
WORKER_OUTPUT = "llm_mock_of_worker"
"""The key of `workeroutput` of pytest-xdist for the results of a worker.

The values are JSON in ASCII: execnet can send no lone surrogates.
"""
OUTSIDE_TESTS = "outside of tests"
SHOWN_TESTS = 10
LLM_PLUGIN = re.compile(r"""^\[project\.entry-points\.["']?llm["']?\]""", re.MULTILINE)
"""The table of a pyproject.toml that registers a plugin of `llm`."""


@reporting_hook(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Send the environment variables of the user to a worker."""
    node.workerinput[ENVIRONMENT] = json.dumps(dict(node.config.stash[RUN].user_environment))


@reporting_hook()
def pytest_report_header(config: pytest.Config) -> list[str]:
    """Return a line that says which calls are mocked, and one where models may pass through."""
    if config.stash[RUN].pending is None:
        return []
    passing = config.getini("llm_mock_passthrough")
    lines = [_describe_mode(config, passing)]
    if not passing and _is_plugin_of_llm(config.rootpath / "pyproject.toml"):
        lines.append(
            "llm-mock: this project is a plugin of llm; ini llm_mock_passthrough = * runs its own "
            "models (llm-mock docs plugins)"
        )
    return lines


def _is_plugin_of_llm(path: Path) -> bool:
    """Return True if a pyproject.toml registers models or commands of `llm`."""
    if not path.is_file():
        return False
    # Its text, as Python 3.10 has no parser of TOML.
    return LLM_PLUGIN.search(path.read_text("utf-8", "replace")) is not None


def _describe_mode(config: pytest.Config, passing: Sequence[str]) -> str:
    """Return the line about mocked calls and its exceptions."""
    exceptions = [*passing]
    if config.getoption("--llm-mock-live"):
        exceptions.append("tests marked llm_live")
    mode = config.getoption("--llm-mock-record") or config.getini("llm_mock_record")
    if mode == VERIFY:
        exceptions.append("recorded calls, which are repeated and compared (mode verify)")
    elif mode != "none":
        exceptions.append(f"tests with a cassette, which make and record real calls (mode {mode})")
    if exceptions:
        return f"llm-mock: LLM calls are mocked, except {', '.join(exceptions)}"
    return "llm-mock: LLM calls are mocked"


@reporting_hook()
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Add up the calls outside of tests, and send the results of a worker."""
    run = session.config.stash[RUN]
    mock = run.created_mock
    if mock is not None:
        history = mock.history
        history.add_totals(
            mock.calls, OUTSIDE_TESTS, mock.settings.strict != "off", history.generated_embeddings
        )
    if not hasattr(session.config, "workeroutput"):
        if session.config.getoption("--llm-mock-record"):
            from llm_mock.plugin.recording_summary import check_recordings

            check_recordings(session)
        return
    results: JSONObject = {
        "totals": None,
        "unused": session.config.stash.get(UNUSED_RECORDINGS, []),
        "recorded": session.config.stash.get(RECORDINGS, {}),
        "cassette_use": session.config.stash.get(CASSETTE_USE, {}),
        "verified": session.config.stash.get(VERIFIED, {}),
        "misspelt_models": session.config.stash.get(MISSPELT_MODELS, {}),
        "agents": run.agents,
        "not_mocked": {},
    }
    if mock is not None:
        results["totals"] = [mock.history.totals, mock.history.answered_by_default]
        results["not_mocked"] = mock.not_mocked
        if mock.history.late_calls:
            from llm_mock.plugin.late_calls import serialize_late_calls

            results["late_calls"] = serialize_late_calls(mock.history.late_calls)
    session.config.workeroutput[WORKER_OUTPUT] = json.dumps(results)


@reporting_hook(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the results of a worker to those of the run."""
    output = getattr(node, "workeroutput", {})
    report_faults_of_worker(output.get(SHIPPED_FAULTS, {}))
    # Missing if the worker crashed.
    results = json.loads(output.get(WORKER_OUTPUT, "{}"))
    run = node.config.stash[RUN]
    # Without calls the mock of the controller is not created, which would import `llm`.
    if results.get("totals") and run.mock is not None:
        _add_worker_calls(run.mock, results)
    agents = results.get("agents")
    if agents:
        from llm_mock.agents.summary import add

        add(run.agents, agents)
    misspelt = node.config.stash.setdefault(MISSPELT_MODELS, {})
    for test, row in results.get("misspelt_models", {}).items():
        misspelt[test] = MisspeltModel(*row)
    node.config.stash.setdefault(RECORDINGS, {}).update(results.get("recorded", {}))
    node.config.stash.setdefault(UNUSED_RECORDINGS, []).extend(results.get("unused", []))
    node.config.stash.setdefault(VERIFIED, {}).update(results.get("verified", {}))
    node.config.stash.setdefault(CASSETTE_USE, {}).update(results.get("cassette_use", {}))


def _add_worker_calls(mock: LLMMock, results: Mapping[str, Any]) -> None:
    """Add the numbers of calls in a worker to the mock of the controller."""
    from llm_mock.core.records import add_totals

    history = mock.history
    totals, answered_by_default = results["totals"]
    add_totals(history.totals, totals)
    for test, count in answered_by_default.items():
        history.answered_by_default[test] = history.answered_by_default.get(test, 0) + count
    if "late_calls" in results:
        from llm_mock.plugin.late_calls import read_late_calls

        history.late_calls.update(read_late_calls(results["late_calls"]))
    mock.add_not_mocked(results["not_mocked"])


@reporting_hook()
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Write the recordings, pass rates, late calls, agents and totals of the run.

    If pytest collected nothing, also write which YAML tests need a setting or an option.
    """
    # With pytest-xdist, an argument without tests ends with NO_TESTS_COLLECTED.
    if exitstatus in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        _explain_missing_tests(terminalreporter, config)
    _write_recordings(terminalreporter, config)
    if config.getini("llm_mock_suites"):
        rates = _list_properties(terminalreporter, PASS_RATE)
        if rates:
            terminalreporter.section("Repeated cases")
            terminalreporter.write_line("\n".join(rates))
    _write_not_checked(terminalreporter, config)
    _write_repeats(terminalreporter, config)
    _write_late_calls(terminalreporter, config)
    agents = config.stash[RUN].agents
    if agents and config.get_verbosity() >= 0:
        from llm_mock.agents.leaderboard import tables

        terminalreporter.section("Agents of the run")
        terminalreporter.write_line(tables(agents))
    _write_totals(terminalreporter, config)
    _write_not_mocked(terminalreporter, config)


def _explain_missing_tests(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Write why pytest does not collect the YAML tests on its command line."""
    names = [argument.partition("::")[0] for argument in config.args]
    files = [name for name in dict.fromkeys(names) if name.endswith((".yaml", ".yml"))]
    # Other plugins may collect YAML files, too.
    if not files or "deselected" in terminalreporter.stats:
        return
    from llm_mock.plugin.yaml_arguments import explain_missing_tests

    for line in explain_missing_tests(files, config):
        terminalreporter.write_line(f"llm-mock: {line}")


def _write_recordings(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the numbers of recorded calls, and the recordings that no test used."""
    recorded = config.stash.get(RECORDINGS, {})
    if recorded:
        from llm_mock.support.text import format_count

        terminalreporter.section("Recorded LLM calls")
        for path, count in sorted(recorded.items()):
            line = f"  {path}: {format_count(count, 'real call')} recorded"
            terminalreporter.write_line(line)
    unused = config.stash.get(UNUSED_RECORDINGS, [])
    if unused:
        from llm_mock.plugin.cassettes import REMOVE_UNUSED

        terminalreporter.section("Recorded LLM calls that the tests do not make")
        terminalreporter.write_line("\n".join([*sorted(unused), REMOVE_UNUSED]))
    if CASSETTE_USE in config.stash or config.getoption("--llm-mock-record"):
        from llm_mock.plugin.recording_summary import write_cassette_use

        write_cassette_use(terminalreporter, config)


def _write_not_mocked(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the numbers of calls to servers on this machine, which are not mocked."""
    mock = config.stash[RUN].created_mock
    if mock is None or not mock.not_mocked:
        return
    from llm_mock.support.text import format_count

    terminalreporter.section("LLM calls that were not mocked")
    requests = sorted(mock.not_mocked.items(), key=lambda item: (-item[1], item[0]))
    lines = [
        f"  {request}  ({format_count(count, 'call')})" for request, count in requests[:SHOWN_TESTS]
    ]
    if len(requests) > SHOWN_TESTS:
        lines.append(f"  … {format_count(len(requests) - SHOWN_TESTS, 'more URL')}")
    total = format_count(sum(mock.not_mocked.values()), "call")
    lines.append(
        f"SDKs sent {total} to servers on this machine that this run did not start. Add each "
        "server to ini llm_mock_hosts, to mock the server (localhost:11434) or to allow the calls "
        "(!localhost:11434)."
    )
    terminalreporter.write_line("\n".join(lines))


def _list_properties(terminalreporter: pytest.TerminalReporter, name: str) -> list[str]:
    """Return a line for each test of a YAML file with a user property, sorted by name."""
    lines = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            # Other plugins put other objects into the stats.
            if getattr(report, "when", None) != "call":
                continue
            value = dict(report.user_properties).get(name)
            if value:
                lines.append(f"  {report.nodeid}  {value}")
    return sorted(lines)


def _write_not_checked(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write which passed tests of YAML files had skipped checks or no checks."""
    has_files = config.getoption("--llm") or config.getini("llm_mock_suites")
    if not has_files or config.get_verbosity() < 0:
        return
    lines = _list_properties(terminalreporter, NOT_CHECKED)
    if not lines:
        return
    from llm_mock.support.text import format_count

    shown = lines[:SHOWN_TESTS]
    if len(lines) > SHOWN_TESTS:
        shown.append(f"  … {format_count(len(lines) - SHOWN_TESTS, 'more test')}")
    terminalreporter.section("Passed tests that were not fully checked")
    terminalreporter.write_line("\n".join(shown))


def _write_repeats(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the pass rates of repeated tests."""
    reports = [*terminalreporter.stats.get("passed", ()), *terminalreporter.stats.get("failed", ())]
    repeats = [
        (report.nodeid, report.llm_mock_repeats)
        for report in reports
        if hasattr(report, "llm_mock_repeats")
    ]
    if repeats and config.get_verbosity() >= 0:
        from llm_mock.plugin.repeats import format_repeats

        terminalreporter.section("Repeated tests")
        terminalreporter.write_line(format_repeats(repeats))
    elif not repeats and (config.getoption("--llm-mock-repeat") or 1) > 1:
        terminalreporter.write_line(
            "--llm-mock-repeat had no effect: none of the tests is marked llm_mock_repeat."
        )


def _write_late_calls(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the calls that were made after the end of their test."""
    mock = config.stash[RUN].created_mock
    if mock is not None and mock.history.late_calls:
        from llm_mock.plugin.late_calls import TITLE, format_late_calls

        terminalreporter.section(TITLE)
        terminalreporter.write_line(format_late_calls(mock.history.late_calls))


def _write_totals(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the calls and tokens of each model."""
    mock = config.stash[RUN].created_mock
    if mock is None:
        return
    answered_by_default = mock.history.answered_by_default
    if not mock.history.totals and not answered_by_default:
        return
    # Listed without -v, too, because default replies may hide a mistake.
    lowest_verbosity = 0 if answered_by_default else 1
    notes = _describe_misspelt_models(config, mock.history.totals)
    if config.get_verbosity() < lowest_verbosity:
        # A misspelt model is a mistake: one -q does not hide it.
        if config.get_verbosity() == -1:
            _write_misspelt_models(terminalreporter, notes)
        return
    terminalreporter.section("LLM calls of the run")
    budget = config.pluginmanager.get_plugin(RUN_BUDGET)
    costs = None if budget is None else budget.models
    # Embeddings do not count as calls, but may have default replies.
    if mock.history.totals:
        terminalreporter.write_line(_format_totals(mock.history.totals, costs))
    if answered_by_default:
        replies = _format_default_replies(answered_by_default, notes, has_quoted_ini(config))
        terminalreporter.write_line(replies)


def _write_misspelt_models(
    terminalreporter: pytest.TerminalReporter, notes: Mapping[str, str]
) -> None:
    """Write the tests that misspelt the model of a reply, each with a note."""
    for test in list(notes)[:SHOWN_TESTS]:
        terminalreporter.write_line(f"llm-mock: {test}: {notes[test]}")
    if len(notes) > SHOWN_TESTS:
        terminalreporter.write_line(f"llm-mock: … {len(notes) - SHOWN_TESTS} more")


def _format_totals(
    totals: Mapping[str, Mapping[str, int]],
    costs: Mapping[str, tuple[Decimal | None, int]] | None,
) -> str:
    """Return a table with a line for each model.

    Args:
        totals: the sums of each model.
        costs: the cost and tokens of each model; None without a column of costs.
    """
    from llm_mock.support.text import format_columns, format_dollars, shorten_name

    header = ["model", "calls", "tokens in", "tokens out", "errors", "answered by default"]
    if costs is not None:
        header.append("cost")
    rows = [tuple(header)]
    for model in sorted(totals):
        row = [shorten_name(model)]
        for name in ("calls", "input_tokens", "output_tokens", "errors", "unconfigured"):
            row.append(str(totals[model][name]))
        if costs is not None:
            cost, _ = costs.get(model, (None, 0))
            row.append(format_dollars(cost))
        rows.append(tuple(row))
    return "\n".join(format_columns(rows, leading=1))


def _describe_misspelt_models(config: pytest.Config, called: Collection[str]) -> dict[str, str]:
    """Return a line for each test that misspelt the model of a reply, by its node id.

    Args:
        config: the configuration.
        called: the models that the tests of the run called.
    """
    from llm_mock.support.text import shorten_name

    lines = {}
    for test, misspelt in config.stash.get(MISSPELT_MODELS, {}).items():
        # A model that another test calls is a real one.
        if misspelt.configured not in called:
            lines[test] = (
                f"not used: the reply for {shorten_name(misspelt.configured)!r} "
                f"({misspelt.place}). If its model is misspelt, write {misspelt.called!r}."
            )
    return lines


def _format_default_replies(
    tests: Mapping[str, int], notes: Mapping[str, str], is_quoted: bool
) -> str:
    """Return the tests with calls that got the default reply, those with the most calls first.

    Args:
        tests: the number of these calls of each test.
        notes: a line about the likely mistake of some tests, which are listed first.
        is_quoted: whether the configuration file has texts in quotes.
    """
    from llm_mock.core.settings import format_ini
    from llm_mock.support.text import format_count, shorten_name

    ordered = sorted(tests, key=lambda test: (test not in notes, -tests[test], test))
    lines = ["Answered by default, because no reply was configured for the call:"]
    for test in ordered[:SHOWN_TESTS]:
        lines.append(f"  {shorten_name(test)}  ({format_count(tests[test], 'call')})")
        if test in notes:
            lines.append(f"    {notes[test]}")
    if len(ordered) > SHOWN_TESTS:
        lines.append(f"  … {format_count(len(ordered) - SHOWN_TESTS, 'more test')}")
    level = format_ini("llm_mock_strict", "error", is_quoted)
    mode = format_ini("llm_mock", "strict", is_quoted)
    lines.append(
        f"To fail the tests with these calls, set ini {level}. To hide this list, use off instead. "
        f"Ini {mode} sets all recommended settings."
    )
    return "\n".join(lines)
