"""The report of a run of pytest: one process, the controller's, writes what all of them collected."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from llm_mock.plugin.call_collector import SHIPPED, CallCollector
from llm_mock.plugin.failures import MESSAGE, TRACEBACK, message_of
from llm_mock.plugin.guard import reporting_hook
from llm_mock.plugin.run import TestRun
from llm_mock.plugin.stash import PASS_RATE
from llm_mock.report.document import new_document, new_test, render_json
from llm_mock.report.page import render_page
from llm_mock.support.files import check_writable, write_atomically
from llm_mock.support.redaction import redact
from llm_mock.support.text import shorten_name

SEVERITY = ("passed", "skipped", "xfailed", "xpassed", "rerun", "interrupted", "failed", "error")
"""Outcomes of a test; what happens later counts only where it is worse."""


def register(config: pytest.Config, run: TestRun) -> None:
    """Collect calls in this process, and write the report unless this is an xdist worker."""
    names = config.getoption("--llm-mock-report")
    collector = CallCollector(
        run.mock, detailed=bool(names), junit=bool(config.getoption("xmlpath", None))
    )
    config.pluginmanager.register(collector, "llm_mock_collector")
    if names and not hasattr(config, "workerinput"):
        for name in _mistaken_for_tests(names, config):
            warning = pytest.PytestConfigWarning(
                f"pytest takes {name!r}, which exists, for a file of tests, and looks for its configuration there. "
                f"Write it with an equals sign: --llm-mock-report={name}"
            )
            config.issue_config_time_warning(warning, stacklevel=2)
        paths = [_checked_path(name) for name in names]
        config.pluginmanager.register(ReportWriter(paths, collector, run), "llm_mock_report")


def _mistaken_for_tests(names: Iterable[str], config: pytest.Config) -> Iterator[str]:
    """The reports that pytest took for files of tests when it looked for its configuration file.

    It does not know a plugin's options then, so it takes a word after one, where such a file exists, for an argument.
    """
    folder = config.invocation_params.dir
    for name in names:
        path = (folder / name).absolute()
        elsewhere = (
            path.exists() and folder not in path.parents and name in config.invocation_params.args
        )
        if elsewhere and (
            config.inipath is None or config.rootpath not in (folder, *folder.parents)
        ):
            yield name


def _checked_path(name: str) -> Path:
    path = Path(name).expanduser().absolute()
    if path.suffix.lower() not in (".html", ".htm", ".json"):
        raise pytest.UsageError(
            f"--llm-mock-report: {str(path)!r} should end in .html for a page, or in .json for the data."
        )
    try:
        check_writable(path)
    except OSError as error:
        raise pytest.UsageError(_not_written(path, error)) from None
    return path


def _not_written(path: Path, error: OSError) -> str:
    reason = error.strerror or f"{type(error).__name__}: {error}"
    return f"--llm-mock-report: {str(path)!r} cannot be written: {shorten_name(reason)}"


class ReportWriter:
    """A pytest plugin that puts the tests and their calls together and writes them at the end, as JSON or as a page."""

    def __init__(self, paths: Sequence[Path], collector: CallCollector, run: TestRun) -> None:
        self._paths, self._run, self._collector = paths, run, collector
        self._start = time.time()
        self._tests: list[dict[str, Any]] = []
        self._begun: set[str] = set()  # of these tests no phase was reported yet
        self._running: dict[tuple[str, str | None], dict[str, Any]] = {}
        self._interruption = "The run ended before this test did."
        self._outside: list[dict[str, Any]] = []
        self._positions: dict[str, int] | None = None
        self._received: list[tuple[dict[str, Any], str]] = []  # parsed at the end
        self._lines: list[str] = []
        self._broken: set[str] = set()

    @reporting_hook(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._positions = self._positions or {
            nodeid: position for position, nodeid in enumerate(ids)
        }

    @reporting_hook()
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._begun.add(nodeid)

    @reporting_hook()
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        worker = getattr(getattr(report, "node", None), "gateway", None)
        self._begun.discard(report.nodeid)
        key = report.nodeid, getattr(worker, "id", None)
        test = (
            self._begin(key)
            if report.when == "setup" or key not in self._running
            else self._running[key]
        )
        _add_phase(test, report)
        if rate := dict(report.user_properties).get(PASS_RATE):
            test["pass_rate"] = rate
        if report.when not in ("setup", "call") and test["outcome"] != "rerun":
            del self._running[key]
        if shipped := getattr(report, SHIPPED, None):
            self._received += [
                (test, each) for each in (shipped if isinstance(shipped, list) else [shipped])
            ]
        if repeats := getattr(report, "llm_mock_repeats", None):
            test["repeats"] = _described_repeats(repeats)

    def _begin(self, key: tuple[str, str | None]) -> dict[str, Any]:
        """The test of a key: a new one, or the one that another plugin runs again."""
        test = self._running.get(key)
        if test is None:
            test = self._running[key] = new_test(key[0], worker=key[1])
            self._tests.append(test)
        elif test["outcome"] == "rerun":
            run = {name: test[name] for name in ("message", "duration_s")}
            test.update(
                outcome="passed",
                message=None,
                traceback=None,
                duration_s=0.0,
                reruns=[*test.get("reruns", ()), run],
            )
        return test

    @reporting_hook()
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        error = excinfo.value
        by = (
            f"pytest.exit: {error}"
            if isinstance(error, pytest.exit.Exception)
            else excinfo.typename
        )
        self._interruption = f"Interrupted by {by}"

    def _mark_interrupted(self) -> None:
        """Tests that began, and did not end, have not passed."""
        for nodeid in self._begun:
            self._begin((nodeid, None))
        for test in self._running.values():
            if SEVERITY.index(test["outcome"]) < SEVERITY.index("interrupted"):
                test.update(outcome="interrupted", message=self._interruption)

    def _test_on(self, worker: str | None) -> dict[str, Any]:
        """The test that was interrupted on a worker; else what stands for calls outside tests."""
        return next(
            (test for key, test in self._running.items() if key[1] == worker),
            {"calls": [], "worker": worker},
        )

    @reporting_hook()
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be collected is an error too; each xdist worker reports it."""
        if report.failed and report.nodeid not in self._broken:
            self._broken.add(report.nodeid)
            self._tests.append(new_test(report.nodeid, outcome="error", message=_message(report)))

    @reporting_hook(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        if shipped := getattr(node, "workeroutput", {}).pop(
            SHIPPED, None
        ):  # it is down twice if it was interrupted
            self._received.append((self._test_on(node.gateway.id), shipped))

    @reporting_hook(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.config.getoption("collectonly"):
            return
        self._mark_interrupted()
        positions = self._positions
        if positions is None:
            if self._collector.last:
                self._received.append((self._test_on(None), self._collector.last))
        else:  # each worker sends its own
            self._tests.sort(key=lambda test: positions.get(test["id"], len(positions)))
        data = render_json(self._document())
        for path in self._paths:
            is_page = path.suffix.lower() != ".json"
            try:
                write_atomically(path, render_page(data) if is_page else data)
                self._lines.append(f"LLM report: {path.as_uri() if is_page else path}")
            except OSError as error:  # the outcome of the run is that of its tests
                self._lines.append(_not_written(path, error))

    def _document(self) -> dict[str, Any]:
        """The document without secrets. The fewer objects there are at once, the less garbage collection takes."""
        for test in self._tests:
            test.update(redact(test))
        for test, shipped in self._received:
            received = redact(json.loads(shipped))
            test["calls"] += _continued(received["calls"], len(test["calls"]))
            if received["steps"]:
                test["steps"] = received["steps"]
            if received["not_mocked"]:
                test["not_mocked"] = received["not_mocked"]
            if received["checks"]:
                test["checks"] = [*test.get("checks", ()), *received["checks"]]
            self._outside += [{"worker": test["worker"], **group} for group in received["outside"]]
        return new_document(self._tests, self._outside, self._run.agents, time.time() - self._start)

    @reporting_hook()
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in self._lines:
            terminalreporter.write_sep("-", line)


def _continued(calls: list[dict[str, Any]], earlier: int) -> list[dict[str, Any]]:
    """The calls of a test that was run again, numbered after those of its earlier runs."""
    for call in calls if earlier else ():
        call["number"] += earlier
        call["conversation"] = (
            call["conversation"] and f"{call['conversation']}, after {earlier} calls"
        )
    return calls


def _add_phase(test: dict[str, Any], report: pytest.TestReport) -> None:
    test["duration_s"] = round(test["duration_s"] + report.duration, 6)
    outcome = _outcome(report)
    if SEVERITY.index(outcome) > SEVERITY.index(test["outcome"]):
        test["outcome"] = outcome
        test["message"] = _message(report)
        test["traceback"] = getattr(report, TRACEBACK, None)


def _described_repeats(repeats: Mapping[str, Any]) -> dict[str, Any]:
    from llm_mock.report.suite_document import describe_pass_rate
    from llm_mock.suites.pass_rates import PassRate

    return {**repeats, **describe_pass_rate(PassRate(repeats["passed"], repeats["runs"]))}


def _outcome(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail") and report.outcome != "failed":
        return "xfailed" if report.skipped else "xpassed"
    if report.failed and report.when != "call":
        return "error"
    return report.outcome if report.outcome in SEVERITY else "failed"


def _message(report: pytest.TestReport | pytest.CollectReport) -> str | None:
    known: str | None = getattr(report, MESSAGE, None)
    return known or message_of(report)
