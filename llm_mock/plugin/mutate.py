"""`--llm-mock-mutate`: run tests again with changed calls, and report what they do not notice."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from llm_mock.behaviour.mutations import (
    MAX_CALLS,
    CallChange,
    MutationObserver,
    ObservedCall,
    describe_answer,
    describe_call,
    describe_change,
    list_changes,
    list_changes_of_rules,
)
from llm_mock.core.observation import observe
from llm_mock.plugin import (
    CASSETTE_USE,
    MISSPELT_MODELS,
    MUTATIONS,
    RECORDINGS,
    UNUSED_RECORDINGS,
    VERIFIED,
)
from llm_mock.plugin.guard import guard, reporting_hook
from llm_mock.plugin.repeats import MARKER as REPEAT_MARKER
from llm_mock.plugin.silent_runs import SilentRuns, has_passed, tear_down
from llm_mock.report.mutation import find_problem, format_table, new_document
from llm_mock.support.files import check_writable, write_atomically
from llm_mock.support.redaction import redact
from llm_mock.support.text import format_count, format_seconds

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock
    from llm_mock.plugin.run import TestRun
    from llm_mock.support.json_types import JSON, JSONObject

OPTION = "--llm-mock-mutate"
PLUGIN = "llm_mock_mutation"
"""The name under which pytest knows the plugin."""
PLANNED = "llm_mock_planned_changes"
"""The attribute of a report with the number of changes and seconds that an xdist worker plans."""
RESULTS = "llm_mock_mutation"
"""The key of `workeroutput` of xdist with the results of a worker, as JSON in ASCII."""
TITLE = "Which changes do the tests notice?"
SLOWEST = 10
"""The time limit of a changed test, as a multiple of the time of the unchanged test."""
LEAST_SECONDS = 5.0
"""The shortest time limit of a changed test, in seconds."""
NOTED: tuple[JSON, ...] = (
    CASSETTE_USE,
    MISSPELT_MODELS,
    RECORDINGS,
    UNUSED_RECORDINGS,
    VERIFIED,
)
"""The stash keys of the notes about tests."""
UNSTABLE = "it fails when it runs again without a change"


def register(config: pytest.Config, run: TestRun) -> None:
    """Register the plugin if the option is given.

    Raises:
        pytest.UsageError: another option conflicts, or the JSON file cannot be written.
    """
    options = config.option
    if not config.getoption(OPTION):
        for name in ("--llm-mock-mutate-min", "--llm-mock-mutate-json"):
            if config.getoption(name) is not None:
                raise pytest.UsageError(f"{name} needs {OPTION}.")
        return
    if getattr(options, "usepdb", False) or getattr(options, "trace", False):
        raise pytest.UsageError(
            f"{OPTION} makes tests fail on purpose, and --pdb or --trace would stop at each of "
            "them: leave out one of the options."
        )
    if config.getoption("--llm-mock-record") not in (None, "none"):
        raise pytest.UsageError(
            f"{OPTION} changes mocked calls, and --llm-mock-record makes real ones: leave out one "
            "of the options."
        )
    config.pluginmanager.register(MutationRun(config, run, _read_path(config)), PLUGIN)


def _read_path(config: pytest.Config) -> Path | None:
    """Return the path of the JSON file; None without the option."""
    name = config.getoption("--llm-mock-mutate-json")
    if name is None or hasattr(config, "workerinput"):
        return None
    path = Path(name).expanduser().absolute()
    try:
        check_writable(path)
    except OSError as error:
        raise pytest.UsageError(
            f"--llm-mock-mutate-json: {str(path)!r} cannot be written: {error.strerror or error}"
        ) from None
    return path


class Candidate:
    """A test that called a model and passed, with its planned changes."""

    def __init__(self, item: pytest.Item, calls: Sequence[ObservedCall], duration: float) -> None:
        self.item = item
        self.calls = calls
        self.duration = duration
        self.reason = ""
        """Why the test is not changed; empty if it is changed."""
        self.changes = list_changes(calls)
        self.rules = list_changes_of_rules(calls)
        self.results: list[tuple[CallChange, bool]] = []
        """The changes that were made, and whether the test noticed them."""

    def refuse(self, reason: str) -> None:
        """Leave the test unchanged."""
        self.reason = reason
        self.changes, self.rules = [], []

    @property
    def seconds(self) -> float:
        """The time for all runs, if each takes as long as the first one."""
        number = len(self.changes) + len(self.rules)
        return self.duration * (1 + number) if number else 0.0

    def describe(self, with_answers: bool) -> JSONObject:
        """Return the result as JSON, without the rules.

        Args:
            with_answers: whether each change of an answer has the changed one.
        """
        changes = []
        for change, noticed in self.results:
            if change.old:
                continue
            described = describe_change(change, self.calls)
            described["noticed"] = noticed
            if with_answers:
                described["answer"] = describe_answer(change, self.calls)
            changes.append(described)
        return {
            "id": self.item.nodeid,
            "noticed": sum(change["noticed"] for change in changes),
            "changes": changes,
            "calls": list(map(describe_call, self.calls)),
            "unchanged_calls": max(0, len(self.calls) - MAX_CALLS) if changes else 0,
            "not_changed": self.reason or self._find_stop(),
        }

    def _find_stop(self) -> str:
        """Return why a planned test was not changed."""
        return "" if self.results else "the run ended before"

    def describe_rules(self) -> list[JSONObject]:
        """Return the changes of rules that were made as JSON."""
        return [
            {
                **describe_change(change, self.calls),
                "noticed": noticed,
                "tests": [self.item.nodeid],
            }
            for change, noticed in self.results
            if change.old
        ]


class MutationRun(SilentRuns):
    """A pytest plugin that runs tests again with one change of their calls at a time.

    The changed runs follow all tests, so that their number and duration are known in advance, and
    the results of the tests themselves are complete.

    Args:
        config: the configuration.
        run: the run.
        path: the JSON file to write; None for none.
    """

    def __init__(self, config: pytest.Config, run: TestRun, path: Path | None) -> None:
        super().__init__()
        self._config, self._run, self._path = config, run, path
        self.changes_rules = True
        """Whether the rules of prompts are changed, too."""
        self.has_answers = False
        """Whether the document has the changed answers."""
        self._observer = MutationObserver(self._is_ignored)
        self._candidates: list[Candidate] = []
        self._with_subtests: set[str] = set()
        self._noticed_rules: set[CallChange] = set()
        self._interrupted: str | None = None
        self._problem: str | None = None
        self._received: list[JSONObject] = []
        """The results of the workers of xdist."""
        self._unfinished: set[str] | None = None
        """The ids of tests that have not ended under xdist; None without it."""
        self._planned = [0, 0.0]
        observation = contextlib.ExitStack()
        observation.enter_context(observe(self._observer))
        config.add_cleanup(guard(observation.close))

    def _is_ignored(self, mock: Mock) -> bool:
        """Return whether the calls of a mock belong to no test or to an ended test."""
        return mock is self._run.created_mock or mock.ended_test is not None

    # The unchanged tests

    def begin_test(self, item: pytest.Item) -> None:
        """Note the calls of a test from here on."""
        self._observer.start()

    @guard
    def end_test(self, item: pytest.Item, teardown: pytest.TestReport) -> None:
        """Plan the changes of a test that ended."""
        observer = self._observer
        if not observer.calls or not has_passed(self.reports):
            return
        duration = sum(report.duration for report in self.reports.values())
        candidate = Candidate(item, observer.calls, duration)
        if not self.changes_rules:
            candidate.rules = []
        reason = self._find_reason(item)
        if reason:
            candidate.refuse(reason)
        self._candidates.append(candidate)
        if hasattr(self._config, "workerinput"):
            number = len(candidate.changes) + len(candidate.rules)
            setattr(teardown, PLANNED, [number, candidate.seconds])

    def _find_reason(self, item: pytest.Item) -> str:
        """Return why a test must not be changed; empty if it can be changed."""
        if self._observer.has_real_calls or item.get_closest_marker("llm_live"):
            return "it may call a real model"
        if item.get_closest_marker(REPEAT_MARKER):
            return f"it is marked {REPEAT_MARKER}, so that some of its runs may fail"
        if item.nodeid in self._with_subtests:
            return "it has subtests, which pytest would report again"
        if not isinstance(item, pytest.Function):
            return "only test functions and methods are changed"
        return ""

    @reporting_hook()
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test with subtests; under xdist, add up the plans of the workers."""
        # pytest's class is private, and that of pytest-subtests has the same name.
        if type(report).__name__ == "SubtestReport":
            self._with_subtests.add(report.nodeid)
        if self._unfinished is None or report.when != "teardown":
            return
        number, seconds = getattr(report, PLANNED, (0, 0.0))
        self._planned[0] += number
        self._planned[1] += seconds

    @reporting_hook(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Under xdist, write the plan after the last test."""
        if self._unfinished is not None and nodeid in self._unfinished:
            self._unfinished.remove(nodeid)
            if not self._unfinished:
                self._announce(*self._planned)

    @reporting_hook(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Note the tests that the workers run."""
        if self._unfinished is None:
            self._unfinished = set(ids)

    # The changed tests

    @reporting_hook(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Run the changed tests after all others."""
        # First of all wrappers, so that tools that measure the tests, such as coverage, have ended.
        result = yield
        if self._unfinished is None and not self._config.option.collectonly:
            self._make_changes(session)
        return result

    @guard
    def _make_changes(self, session: pytest.Session) -> None:
        changed = [candidate for candidate in self._candidates if candidate.changes]
        if not changed:
            return
        if not self.has_protocol:
            # A fault in the hook was reported; pytest itself would run and report the tests.
            self._interrupted = "by a fault of pytest-llm-mock."
            return
        number = sum(len(each.changes) + len(each.rules) for each in changed)
        self._announce(number, sum(candidate.seconds for candidate in changed))
        self.is_rerun = True
        try:
            with self._keep_results():
                self._change_all(session, changed, number)
        except KeyboardInterrupt:
            self._interrupted = "by the keyboard."
            raise
        except pytest.exit.Exception as error:
            self._interrupted = f"by pytest.exit: {error}."
            raise
        except Exception:
            # The guard reports it. Changes that were not made must not count as noticed.
            self._interrupted = "by a fault of pytest-llm-mock."
            raise
        finally:
            self.is_rerun = False
            self._write_progress("")

    def _announce(self, number: float, seconds: float) -> None:
        """Write how many changes follow, and how long they take."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or not number:
            return
        # Not `ensure_newline`, which does not know xdist's line of dots.
        if self._config.get_terminal_writer().width_of_current_line:
            reporter.write_line("")
        workers = " of all workers together" if self._unfinished is not None else ""
        reporter.write_line(
            f"llm-mock: up to {format_count(int(number), 'change')} of calls and prompts, about "
            f"{format_seconds(seconds)}{workers}; Ctrl-C shows the results so far"
        )

    def _write_progress(self, text: str) -> None:
        """Write a line over the last one, if the terminal allows it."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and reporter.isatty:
            reporter.rewrite(text, erase=True)

    def _change_all(
        self, session: pytest.Session, candidates: Sequence[Candidate], number: int
    ) -> None:
        """Run the changed tests, one candidate after the other."""
        done = 0
        following = [candidate.item for candidate in candidates[1:]]
        for candidate, next_item in zip(candidates, [*following, None], strict=True):
            done += len(candidate.changes) + len(candidate.rules)
            try:
                self._change_test(candidate)
            finally:
                # Fixtures of wider scopes stay alive if the next test uses them.
                tear_down(session, next_item)
            self._write_progress(f"llm-mock: {done} of {number} changes made")

    def _change_test(self, candidate: Candidate) -> None:
        """Run a test unchanged, and then with each of its changes."""
        if self._run_again(candidate, None):
            candidate.refuse(UNSTABLE)
            return
        for change in candidate.changes:
            candidate.results.append((change, self._run_again(candidate, change)))
        for change in candidate.rules:
            # One test that pins a rule is enough.
            if change in self._noticed_rules:
                continue
            is_noticed = self._run_again(candidate, change)
            candidate.results.append((change, is_noticed))
            if is_noticed:
                self._noticed_rules.add(change)

    def _run_again(self, candidate: Candidate, change: CallChange | None) -> bool:
        """Run a test, and return whether it failed."""
        item = candidate.item
        seconds = max(LEAST_SECONDS, SLOWEST * candidate.duration)
        self._observer.start(change, len(candidate.calls), seconds)
        return self.run_silently(item)

    @contextlib.contextmanager
    def _keep_results(self) -> Iterator[None]:
        """Keep what the plugin noted of the unchanged tests."""
        stash = self._config.stash
        noted = {key: copy.deepcopy(stash[key]) for key in NOTED if key in stash}
        agents = copy.deepcopy(self._run.agents)
        mock = self._run.created_mock
        results = None if mock is None else MockResults(mock)
        collector = self._config.pluginmanager.unregister(name="llm_mock_collector")
        try:
            yield
        finally:
            for key in NOTED:
                stash.setdefault(key, None)
                del stash[key]
            for key, value in noted.items():
                stash[key] = value
            self._run.agents = agents
            if results is not None:
                results.restore()
            if collector is not None:
                collector.skip_calls()
                self._config.pluginmanager.register(collector, "llm_mock_collector")

    # The results

    def _create_document(self) -> JSONObject:
        tests = [candidate.describe(self.has_answers) for candidate in self._candidates]
        rules: list[JSONObject] = []
        for candidate in self._candidates:
            rules += candidate.describe_rules()
        interrupted = self._interrupted
        for results in self._received:
            tests += results["tests"]
            rules += results["rules"]
            interrupted = interrupted or results["interrupted"]
        tests.sort(key=lambda test: test["id"])
        document: JSONObject = redact(new_document(tests, rules, interrupted))
        return document

    @reporting_hook(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Receive the results of a worker."""
        # Removed, as this hook is called twice for an interrupted worker.
        results = getattr(node, "workeroutput", {}).pop(RESULTS, None)
        if results:
            self._received.append(json.loads(results))

    @reporting_hook()
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Add up the results, or send those of a worker; fail a run below the minimum."""
        config = self._config
        if config.option.collectonly:
            return
        document = self._create_document()
        if hasattr(config, "workeroutput"):
            config.workeroutput[RESULTS] = json.dumps(document)
            return
        config.stash[MUTATIONS] = document
        self._problem = find_problem(document, config.getoption("--llm-mock-mutate-min"))
        if self._problem is not None and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self._path is not None:
            text = json.dumps(document, ensure_ascii=False, indent=2)
            write_atomically(self._path, text.encode(errors="backslashreplace") + b"\n")

    @reporting_hook()
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write the table of changes."""
        document = self._config.stash.get(MUTATIONS, None)
        if document is None:
            return
        terminalreporter.section(TITLE)
        terminalreporter.write_line(format_table(document))
        if self._problem is not None:
            terminalreporter.write_line(self._problem, red=True)
        if self._path is not None:
            terminalreporter.write_line(f"Changes as JSON: {self._path}")


class MockResults:
    """The notes of the mock of the run so far.

    Args:
        mock: the mock of the run.
    """

    def __init__(self, mock: Mock) -> None:
        self._mock = mock
        self._calls = len(mock.history.calls)
        self._sums = copy.deepcopy(self._get_sums())

    def _get_sums(self) -> list[JSON]:
        history = self._mock.history
        totals = [history.totals, history.answered_by_default, history.late_calls]
        return [*totals, self._mock.not_mocked]

    def restore(self) -> None:
        """Remove what was noted since."""
        history = self._mock.history
        for call in history.calls[self._calls :]:
            history.remove(call)
        for current, noted in zip(self._get_sums(), self._sums, strict=True):
            current.clear()
            current.update(noted)
