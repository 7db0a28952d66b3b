"""Collects the calls of each test in the process that runs it."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest

from llm_mock.boundaries.llm.get_model import LLMMock
from llm_mock.core.call_log import LoggedCall
from llm_mock.core.context import current_mock
from llm_mock.plugin.failures import MESSAGE, TRACEBACK, read_message, read_traceback
from llm_mock.plugin.guard import reporting_hook
from llm_mock.plugin.runtest import AGENT_RUNS
from llm_mock.report.calls import (
    PROPERTIES,
    describe_calls,
    get_junit_properties,
    redact_calls,
)
from llm_mock.support.json_types import JSONObject
from llm_mock.support.redaction import KNOWN, redact

STEPS = pytest.StashKey["Sequence[dict[str, Any]]"]()
"""The steps of a plain-language test.

Each has `name`, `status` (pass, fail or skip), `details` and `tool_output`.
"""
SHIPPED = "llm_mock_calls"
"""The attribute of a test report, and the key of xdist's `workeroutput`, for collected calls.

The value is JSON in ASCII.
"""


class CallCollector:
    """A pytest plugin that adds the calls of a test to the report of its teardown.

    Args:
        run_mock: the mock of the run; None if the project opted out.
        detailed: whether a report is written, and not only the properties of pytest's JUnit file.
        junit: whether pytest writes a JUnit file.
    """

    def __init__(self, run_mock: LLMMock | None, detailed: bool, junit: bool) -> None:
        self._run_mock, self._detailed, self._junit = run_mock, detailed, junit
        self._seen = 0
        """How many calls of the mock of the run were taken already."""
        self._started = False
        self._test_mock: LLMMock | None = None
        self._run_calls: list[LoggedCall] = []
        """Calls of a test without fixtures, which has no mock of its own."""
        self._outside: list[JSONObject] = []
        """Calls outside of tests since they were last serialized."""
        self.last = ""
        """The calls of an interrupted test and those outside of tests, at the end of the run."""
        if run_mock is not None:
            self.attach(run_mock)

    def attach(self, mock: LLMMock) -> None:
        """Let a mock, and the mocks of tests on top of it, keep every call."""
        mock.history.keep_log(detailed=self._detailed)

    @reporting_hook()
    def pytest_runtest_logstart(self) -> None:
        """Take the calls before the test, which belong to no test."""
        self._take_outside("between tests" if self._started else "before the first test")
        self._started = True

    @reporting_hook(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Take the calls of a phase, and add those of the test to its last report."""
        # Before the environment variables that the test set are gone.
        KNOWN.refresh()
        mock = current_mock()
        if mock is not None and mock is not self._run_mock:
            self._test_mock = mock
        if call.when == "call":
            self._run_calls = self._take_run_calls()
        else:
            self._take_outside(f"{call.when} of {item.nodeid}")
        serialized = self._serialize_test(item) if call.when == "teardown" else None
        report = yield
        if serialized is not None:
            setattr(report, SHIPPED, serialized)
        if self._detailed and report.outcome != "passed":
            setattr(report, MESSAGE, read_message(report))
            setattr(report, TRACEBACK, read_traceback(report))
        return report

    def skip_calls(self) -> None:
        """Forget the calls since the last report."""
        self._take_run_calls()
        self._test_mock = None

    def _take_run_calls(self) -> list[LoggedCall]:
        """Return the calls of the mock of the run since the last time."""
        if self._run_mock is None:
            return []
        calls = self._run_mock.logged_calls(self._seen)
        self._seen += len(calls)
        return calls

    def _take_outside(self, during: str) -> None:
        calls = self._take_run_calls()
        if calls:
            self._outside.append({"during": during, "calls": calls})

    def _serialize_test(self, item: pytest.Item) -> str | None:
        """Return the calls of a test as JSON, if a report is written; set its JUnit properties."""
        # Before `_take_test_calls`, which forgets the mock.
        not_mocked = {} if self._test_mock is None else dict(self._test_mock.not_mocked)
        calls = self._take_test_calls()
        if self._junit:
            # A test that another plugin runs again has the properties of its earlier run.
            others = [each for each in item.user_properties if each[0] not in PROPERTIES]
            item.user_properties[:] = others + get_junit_properties(calls)
        if not self._detailed:
            return None
        runs, checks = _describe_runs(item)
        steps = item.stash.get(STEPS, [])
        return self._serialize(calls, steps=steps, runs=runs, checks=checks, not_mocked=not_mocked)

    def _take_test_calls(self) -> list[JSONObject]:
        """Return the calls of the running test, each once."""
        test_calls = [] if self._test_mock is None else self._test_mock.logged_calls()
        calls = describe_calls(test_calls + self._run_calls, self._test_mock or self._run_mock)
        self._test_mock, self._run_calls = None, []
        return calls

    def _serialize(
        self,
        calls: list[JSONObject],
        *,
        steps: Sequence[JSONObject] = (),
        runs: Sequence[JSONObject] = (),
        checks: Sequence[JSONObject] = (),
        not_mocked: Mapping[str, int] | None = None,
    ) -> str:
        """Return the calls of a test, and those outside of tests since the last time, as JSON.

        They are redacted here, because only this process knows all secrets of the test.
        """
        outside = []
        for group in self._outside:
            described = describe_calls(group["calls"], self._run_mock)
            outside.append({**group, "calls": redact_calls(described)})
        self._outside = []
        document = {
            "calls": redact_calls(calls),
            "steps": redact(steps),
            "runs": redact(runs),
            "checks": redact(checks),
            "not_mocked": redact([f"not mocked: {request}" for request in not_mocked or ()]),
            "outside": outside,
        }
        return json.dumps(document, default=_to_json_value)

    @reporting_hook()
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Take the calls of an interrupted test and those after the last test."""
        self._take_outside("after the last test" if self._started else "before the first test")
        if not self._detailed:
            return
        mock = current_mock()
        # The fixtures of an interrupted test are not torn down yet.
        if mock is not None and mock is not self._run_mock:
            self._test_mock = mock
        self.last = self._serialize(self._take_test_calls())
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[SHIPPED] = self.last


def _to_json_value(value: object) -> Any:
    return float(value) if isinstance(value, Decimal) else repr(value)


def _describe_runs(item: pytest.Item) -> tuple[list[JSONObject], list[JSONObject]]:
    """Return the runs of agents in a test, and its checks, in the form of the report."""
    # Looked up in `sys.modules`, so that runs without agents and checks import nothing.
    check_log = sys.modules.get("llm_mock.agents.check_log")
    checks = check_log.take_checks() if check_log else []
    runs = item.stash.get(AGENT_RUNS, None)
    # The cases of suites have results of their own.
    results = runs.results if runs is not None and isinstance(item, pytest.Function) else []
    if not results and not checks:
        return [], []
    from llm_mock.report.agent_runs import describe_checks, describe_runs

    return describe_runs(results, checks), describe_checks(checks, results)
