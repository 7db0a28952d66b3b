"""The report of a run of pytest, written by the controller for all workers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from llm_mock.errors import InvalidFile
from llm_mock.plugin import MUTATIONS, PASS_RATE
from llm_mock.plugin.call_collector import SHIPPED, CallCollector
from llm_mock.plugin.failures import MESSAGE, TRACEBACK, read_message
from llm_mock.plugin.guard import reporting_hook
from llm_mock.plugin.run import TestRun
from llm_mock.report.document import new_document, new_test, render_json
from llm_mock.report.page import render_page
from llm_mock.support.files import check_writable, write_atomically
from llm_mock.support.json_types import JSONObject
from llm_mock.support.redaction import redact
from llm_mock.support.text import shorten_name

if TYPE_CHECKING:
    from llm_mock.report.run_baseline import RunBaseline

SEVERITY = ("passed", "skipped", "xfailed", "xpassed", "rerun", "interrupted", "failed", "error")
"""The outcomes of a test by severity; of the outcomes of its phases the worst one counts."""


def register(config: pytest.Config, run: TestRun) -> None:
    """Collect calls in this process, and write the report unless this is an xdist worker.

    Raises:
        pytest.UsageError: a report cannot be written, or a baseline cannot be read.
    """
    names = config.getoption("--llm-mock-report")
    baseline = config.getoption("--llm-mock-baseline")
    is_collected = bool(names or baseline)
    # Another plugin may replace that of JUnit, which has the option.
    has_junit_file = bool(config.getoption("xmlpath", None))
    collector = CallCollector(run.mock, detailed=is_collected, junit=has_junit_file)
    config.pluginmanager.register(collector, "llm_mock_collector")
    if is_collected and not hasattr(config, "workerinput"):
        for name in _find_reports_taken_for_tests(names, config):
            warning = pytest.PytestConfigWarning(
                f"pytest takes the existing file {name!r} for a test file, and looks for its "
                f"configuration there. Write an equals sign: --llm-mock-report={name}"
            )
            config.issue_config_time_warning(warning, stacklevel=2)
        paths = [_parse_path(name) for name in names]
        writer = ReportWriter(paths, collector, run)
        config.pluginmanager.register(writer, "llm_mock_report")
        if baseline:
            writer.baseline = _read_baseline(config.invocation_params.dir / baseline)


def _find_reports_taken_for_tests(names: Iterable[str], config: pytest.Config) -> Iterator[str]:
    """Yield the reports that pytest took for test files when it looked for its configuration.

    At that time pytest does not know the options of plugins. So it takes the value of an option
    for a path of tests if the file exists.
    """
    folder = config.invocation_params.dir
    if config.inipath is not None and config.rootpath in (folder, *folder.parents):
        return
    for name in names:
        path = (folder / name).absolute()
        is_elsewhere = path.exists() and folder not in path.parents
        if is_elsewhere and name in config.invocation_params.args:
            yield name


def _parse_path(name: str) -> Path:
    path = Path(name).expanduser().absolute()
    if path.suffix.lower() not in (".html", ".htm", ".json"):
        raise pytest.UsageError(
            f"--llm-mock-report: {str(path)!r} must end in .html for a page, or in .json for the "
            "data."
        )
    try:
        check_writable(path)
    except OSError as error:
        raise pytest.UsageError(_format_write_error(path, error)) from None
    return path


def _read_baseline(path: Path) -> RunBaseline:
    # Imported late: few runs have a baseline, and the module needs pydantic.
    from llm_mock.report.run_baseline import read_run_baseline

    try:
        return read_run_baseline(path)
    except InvalidFile as error:
        raise pytest.UsageError(f"--llm-mock-baseline: {error}") from None


def _format_write_error(path: Path, error: OSError) -> str:
    reason = error.strerror or f"{type(error).__name__}: {error}"
    return f"--llm-mock-report: {str(path)!r} cannot be written: {shorten_name(reason)}"


class ReportWriter:
    """A pytest plugin that collects the tests and their calls, and writes them after the run.

    Args:
        paths: the files to write; JSON or pages, by their suffixes.
        collector: the collector of calls in this process.
        run: the run.
    """

    def __init__(self, paths: Sequence[Path], collector: CallCollector, run: TestRun) -> None:
        self._paths, self._run, self._collector = paths, run, collector
        self._start = time.time()
        self._tests: list[JSONObject] = []
        self._started: set[str] = set()
        """The ids of tests that started but have no reported phase yet."""
        self._running: dict[tuple[str, str | None], JSONObject] = {}
        """The tests that have not ended, by their ids and their workers."""
        self._interruption = "The run ended before this test did."
        self._outside: list[JSONObject] = []
        self._positions: dict[str, int] | None = None
        """The position of each test in the order of collection; None without xdist."""
        self._received: list[tuple[JSONObject, str]] = []
        """The collected calls as JSON with their test; parsed after the run, to save memory."""
        self.baseline: RunBaseline | None = None
        """The earlier results that this run is compared with."""
        self._changes: list[str] = []
        self._lines: list[str] = []
        self._broken_files: set[str] = set()

    @reporting_hook(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Keep the order in which the tests were collected."""
        # All workers collect the same tests.
        if not self._positions:
            self._positions = {nodeid: position for position, nodeid in enumerate(ids)}

    @reporting_hook()
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note that a test started."""
        self._started.add(nodeid)

    @reporting_hook()
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase of a test."""
        worker = getattr(getattr(report, "node", None), "gateway", None)
        self._started.discard(report.nodeid)
        key = report.nodeid, getattr(worker, "id", None)
        if report.when == "setup" or key not in self._running:
            test = self._begin(key)
        else:
            test = self._running[key]
        _add_phase(test, report)
        pass_rate = dict(report.user_properties).get(PASS_RATE)
        if pass_rate:
            test["pass_rate"] = pass_rate
        if report.when not in ("setup", "call") and test["outcome"] != "rerun":
            del self._running[key]
        # A list, if the test was repeated.
        shipped = getattr(report, SHIPPED, None) or []
        for document in [shipped] if isinstance(shipped, str) else shipped:
            self._received.append((test, document))
        repeats = getattr(report, "llm_mock_repeats", None)
        if repeats:
            test["repeats"] = _describe_repeats(repeats)

    def _begin(self, key: tuple[str, str | None]) -> JSONObject:
        """Return a new test, or the test that another plugin runs again."""
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
        """Keep the reason why the run was interrupted."""
        error = excinfo.value
        cause = excinfo.typename
        if isinstance(error, pytest.exit.Exception):
            cause = f"pytest.exit: {error}"
        self._interruption = f"Interrupted by {cause}"

    def _mark_interrupted(self) -> None:
        """Mark the tests that started and did not end."""
        for nodeid in self._started:
            self._begin((nodeid, None))
        for test in self._running.values():
            if SEVERITY.index(test["outcome"]) < SEVERITY.index("interrupted"):
                test.update(outcome="interrupted", message=self._interruption)

    def _find_interrupted_test(self, worker: str | None) -> JSONObject:
        """Return the interrupted test of a worker; without one, a placeholder for other calls."""
        for (_, test_worker), test in self._running.items():
            if test_worker == worker:
                return test
        return {"calls": [], "worker": worker}

    @reporting_hook()
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Add a file that cannot be collected as an error."""
        # Each worker of pytest-xdist reports the same file.
        if report.failed and report.nodeid not in self._broken_files:
            self._broken_files.add(report.nodeid)
            message = _get_message(report)
            self._tests.append(new_test(report.nodeid, outcome="error", message=message))

    @reporting_hook(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Receive the last calls of a worker."""
        # Removed, as this hook is called twice for an interrupted worker.
        shipped = getattr(node, "workeroutput", {}).pop(SHIPPED, None)
        if shipped:
            self._received.append((self._find_interrupted_test(node.gateway.id), shipped))

    @reporting_hook(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the report."""
        if session.config.getoption("collectonly"):
            return
        self._mark_interrupted()
        positions = self._positions
        if positions is not None:
            self._tests.sort(key=lambda test: positions.get(test["id"], len(positions)))
        elif self._collector.last:
            # With xdist the workers send theirs.
            self._received.append((self._find_interrupted_test(None), self._collector.last))
        document = self._create_document()
        if MUTATIONS in session.config.stash:
            document["mutations"] = session.config.stash[MUTATIONS]
        if self.baseline is not None:
            self._compare(self.baseline, document)
        data = render_json(document)
        for path in self._paths:
            is_page = path.suffix.lower() != ".json"
            try:
                write_atomically(path, render_page(data) if is_page else data)
                self._lines.append(f"LLM report: {path.as_uri() if is_page else path}")
            except OSError as error:
                # No failure: the outcome of the run is that of its tests.
                self._lines.append(_format_write_error(path, error))

    def _compare(self, baseline: RunBaseline, document: JSONObject) -> None:
        """Compare the document with a baseline, and add what changed to it."""
        # Imported late, like the baseline.
        from llm_mock.report.run_baseline import format_comparison
        from llm_mock.report.suite_changes import describe_changes

        compared = baseline.compare(document["tests"])
        if compared is not None:
            self._changes = list(format_comparison(compared))
            document["changes"] = redact(describe_changes(compared))

    def _create_document(self) -> JSONObject:
        """Return the document of the report, redacted."""
        for test in self._tests:
            test.update(redact(test))
        # One after the other: garbage collection is slow with all objects at once.
        for test, shipped in self._received:
            received = redact(json.loads(shipped))
            test["calls"] += _renumber_calls(received["calls"], len(test["calls"]))
            if received["steps"]:
                test["steps"] = received["steps"]
            if received["not_mocked"]:
                test["not_mocked"] = received["not_mocked"]
            _add_runs(test, received)
            self._outside += [{"worker": test["worker"], **group} for group in received["outside"]]
        return new_document(self._tests, self._outside, self._run.agents, time.time() - self._start)

    @reporting_hook()
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write the changes against the baseline, and the paths of the report."""
        if self._changes:
            terminalreporter.section("Changes in tests of models")
            terminalreporter.write_line("\n".join(self._changes))
        for line in self._lines:
            terminalreporter.write_sep("-", line)


def _add_runs(test: JSONObject, received: JSONObject) -> None:
    """Add the runs of agents and the checks of a test, or of one more of its repetitions."""
    earlier = len(test.get("runs", ()))
    for check in received["checks"]:
        if "run" in check:
            check["run"] += earlier
    for name in ("runs", "checks"):
        if received[name]:
            test[name] = [*test.get(name, ()), *received[name]]


def _renumber_calls(calls: list[JSONObject], earlier: int) -> list[JSONObject]:
    """Continue the numbers of the earlier runs of a test that runs again."""
    if not earlier:
        return calls
    for call in calls:
        call["number"] += earlier
        if call["conversation"]:
            call["conversation"] = f"{call['conversation']}, after {earlier} calls"
    return calls


def _add_phase(test: JSONObject, report: pytest.TestReport) -> None:
    test["duration_s"] = round(test["duration_s"] + report.duration, 6)
    outcome = _get_outcome(report)
    if SEVERITY.index(outcome) > SEVERITY.index(test["outcome"]):
        test["outcome"] = outcome
        test["message"] = _get_message(report)
        test["traceback"] = getattr(report, TRACEBACK, None)


def _describe_repeats(repeats: Mapping[str, Any]) -> JSONObject:
    # Imported late: few tests are repeated, and the module needs pydantic.
    from llm_mock.report.suite_document import describe_pass_rate
    from llm_mock.suites.pass_rates import PassRate

    return {**repeats, **describe_pass_rate(PassRate(repeats["passed"], repeats["runs"]))}


def _get_outcome(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail") and report.outcome != "failed":
        return "xfailed" if report.skipped else "xpassed"
    if report.failed and report.when != "call":
        return "error"
    # Other plugins have outcomes of their own, such as "rerun".
    return report.outcome if report.outcome in SEVERITY else "failed"


def _get_message(report: pytest.TestReport | pytest.CollectReport) -> str | None:
    message: str | None = getattr(report, MESSAGE, None)
    return message or read_message(report)
