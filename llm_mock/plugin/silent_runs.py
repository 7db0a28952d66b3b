"""Run tests again after all others, without reporting them."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Generator, Mapping

import pytest

from llm_mock.plugin.guard import reporting_hook
from llm_mock.plugin.repeats import new_instance


class SilentRuns:
    """Hooks of a pytest plugin that runs tests again."""

    def __init__(self) -> None:
        self.reports: dict[str | None, pytest.TestReport] = {}
        """The reports of the test that runs, or of the last one."""
        self.is_rerun = False
        """Whether tests run again from now on."""
        self.has_protocol = False
        """Whether the hook that runs a test again has been called without a fault."""
        self._fault: Exception | None = None
        """The fault that kept a test from being run again."""

    @reporting_hook(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin with a test that runs for the first time."""
        if not self.is_rerun:
            self.reports = {}
            self.begin_test(item)

    @reporting_hook(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Plan the runs of a test that ended."""
        report = yield
        self.reports[report.when] = report
        if report.when == "teardown" and not self.is_rerun:
            self.end_test(item, report)
        return report

    @reporting_hook(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        """Run a test again without reporting it."""
        if not self.is_rerun:
            self.has_protocol = True
            return None
        # Private, but the function that plugins use that run a test again.
        from _pytest.runner import runtestprotocol

        with warnings.catch_warnings():
            # pytest records shown warnings, and would list those of each run.
            warnings.showwarning = _ignore_warning
            try:
                runtestprotocol(item, log=False, nextitem=nextitem)
            except Exception as fault:
                # Raised here, pytest would run the test once more, and report it.
                self._fault = fault
        return True

    def begin_test(self, item: pytest.Item) -> None:
        """Prepare for a test that runs for the first time."""

    def end_test(self, item: pytest.Item, teardown: pytest.TestReport) -> None:
        """Note a test that ran for the first time."""

    def run_silently(self, item: pytest.Item) -> bool:
        """Run a test again, and return whether it failed."""
        self.reports = {}
        properties, captured = list(item.user_properties), getattr(item, "_report_sections", [])
        sections = list(captured)
        new_instance(item)
        try:
            # The hook, because wrappers of it set the filters of warnings and time limits.
            item.ihook.pytest_runtest_protocol(item=item, nextitem=copy.copy(item))
        finally:
            item.user_properties[:] = properties
            captured[:] = sections
        if self._fault is not None:
            raise self._fault
        reports = self.reports.values()
        return not reports or any(report.failed for report in reports)


def has_passed(reports: Mapping[str | None, pytest.TestReport]) -> bool:
    """Return whether a test was called and passed, as it was expected to."""
    if "call" not in reports or hasattr(reports["call"], "wasxfail"):
        return False
    return all(report.passed for report in reports.values())


def tear_down(session: pytest.Session, next_item: pytest.Item | None) -> None:
    """End the fixtures that the next test does not use."""
    try:
        # Private: pytest only tears down fixtures after a test.
        session._setupstate.teardown_exact(next_item)
    except (KeyboardInterrupt, pytest.exit.Exception):
        raise
    except BaseException:
        # A fixture of a changed test may fail, which must not count for the unchanged test.
        return


def _ignore_warning(*args: object, **kwargs: object) -> None:
    """Show no warning."""
