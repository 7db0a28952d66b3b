"""Collects the calls of each test where tests run: in the only process, or in each xdist worker."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest

from llm_mock.boundaries.llm.get_model import LLMMock
from llm_mock.core.call_log import LoggedCall
from llm_mock.core.context import current_mock
from llm_mock.plugin.failures import MESSAGE, TRACEBACK, message_of, traceback_of
from llm_mock.plugin.guard import reporting_hook
from llm_mock.plugin.judged import judged_since
from llm_mock.report.calls import (
    PROPERTIES,
    describe_calls,
    junit_properties,
    keep_calls,
    redacted_calls,
)
from llm_mock.support.redaction import KNOWN, redact

STEPS = pytest.StashKey["Sequence[dict[str, Any]]"]()
"""What a plain-language test did: of each step `name`, `status` (pass, fail or skip), `details` and `tool_output`."""
SHIPPED = "llm_mock_calls"
"""The attribute of a report, and the key of xdist's `workeroutput`, under which calls travel: JSON, in ASCII."""


class CallCollector:
    """A pytest plugin that hands the calls of a test on with the report of its teardown.

    Without `detailed` there is no report to write, only the properties in pytest's JUnit file.
    """

    def __init__(self, run_mock: LLMMock | None, detailed: bool, junit: bool) -> None:
        self._run_mock, self._detailed, self._junit = run_mock, detailed, junit
        self._seen = 0
        self._started = False
        self._mock_of_test: LLMMock | None = None
        self._calls_of_test: list[
            LoggedCall
        ] = []  # of an item that has no fixtures, and so no mock of its own
        self._outside: list[dict[str, Any]] = []
        self.last = ""
        """What is left at the end of the run: the calls of a test that was interrupted, and those outside tests."""
        if run_mock is not None:
            self.attach(run_mock)

    def attach(self, mock: LLMMock) -> None:
        """Have a mock, and those that are put on top of it from now on, keep every call."""
        keep_calls(mock, self._detailed)

    @reporting_hook()
    def pytest_runtest_logstart(self) -> None:
        self._take_outside("between tests" if self._started else "before the first test")
        self._started = True

    @reporting_hook(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        KNOWN.refresh()  # before the variables that the test set are gone
        mock = current_mock()
        if mock is not None and mock is not self._run_mock:
            self._mock_of_test = mock
        if call.when == "call":
            self._calls_of_test = self._new_calls_of_the_run()
        else:
            self._take_outside(f"{call.when} of {item.nodeid}")
        shipped = self._ship(item) if call.when == "teardown" else None
        report = yield
        if shipped is not None:
            setattr(report, SHIPPED, shipped)
        if self._detailed and report.outcome != "passed":
            setattr(report, MESSAGE, message_of(report))
            setattr(report, TRACEBACK, traceback_of(report))
        return report

    def _new_calls_of_the_run(self) -> list[LoggedCall]:
        """The calls that reached the mock of the run since the last time."""
        new = self._run_mock.logged_calls(self._seen) if self._run_mock is not None else []
        self._seen += len(new)
        return new

    def _take_outside(self, during: str) -> None:
        if new := self._new_calls_of_the_run():
            self._outside.append({"during": during, "calls": new})

    def _ship(self, item: pytest.Item) -> str | None:
        not_mocked = dict(self._mock_of_test.not_mocked) if self._mock_of_test is not None else {}
        calls = self._calls_so_far()
        if self._junit:
            others = [each for each in item.user_properties if each[0] not in PROPERTIES]
            item.user_properties[:] = others + junit_properties(calls)
        return (
            self.shipped(calls, item.stash.get(STEPS, []), judged_since(), not_mocked)
            if self._detailed
            else None
        )

    def _calls_so_far(self) -> list[dict[str, Any]]:
        """The calls of the test that runs, each once."""
        mock = self._mock_of_test or self._run_mock
        own = self._mock_of_test.logged_calls() if self._mock_of_test is not None else []
        calls = describe_calls(own + self._calls_of_test, mock)
        self._mock_of_test, self._calls_of_test = None, []
        return calls

    def _of_interrupted_test(self) -> str:
        mock = current_mock()  # its fixtures are not torn down yet
        if mock is not None and mock is not self._run_mock:
            self._mock_of_test = mock
        return self.shipped(self._calls_so_far())

    def shipped(
        self,
        calls: list[dict[str, Any]],
        steps: Sequence[dict[str, Any]] = (),
        checks: Sequence[dict[str, str]] = (),
        not_mocked: Mapping[str, int] | None = None,
    ) -> str:
        """What is known of a test, and the calls outside tests since the last time, as they travel: without secrets.

        Only where a test ran all of its secrets are known.
        """
        groups = [
            {**group, "calls": redacted_calls(describe_calls(group["calls"], self._run_mock))}
            for group in self._outside
        ]
        self._outside = []
        shipped = {
            "calls": redacted_calls(calls),
            "steps": redact(steps),
            "checks": redact(checks),
            "not_mocked": redact([f"not mocked: {request}" for request in not_mocked or ()]),
            "outside": groups,
        }
        return json.dumps(shipped, default=_as_json)

    @reporting_hook(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._take_outside("after the last test" if self._started else "before the first test")
        if self._detailed:
            self.last = self._of_interrupted_test()
            if hasattr(session.config, "workeroutput"):
                session.config.workeroutput[SHIPPED] = self.last


def _as_json(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else repr(value)
