"""A pytest plugin that tells coverage, in all processes, which test runs."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest
from coverage import Coverage
from coverage.exceptions import CoverageException

DURATIONS = f"{os.environ['MUTATION_DURATIONS']}.{os.getpid()}"
"""The file of this process. Tests may change the environment."""
FINISHED = Path(DURATIONS).with_name("finished")
"""The file that a run leaves which came to its end."""
ADDED_VARIABLES = ("PYTEST_ADDOPTS", "PYTHONPATH")
"""What loads this plugin; runs inside tests do without it."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Measure a test, and the processes that it starts, under its name."""
    for variable in ADDED_VARIABLES:
        os.environ.pop(variable, None)
    os.environ["MUTATION_TEST"] = item.nodeid
    coverage = Coverage.current()
    if coverage is None:
        return (yield)
    coverage.switch_context(item.nodeid)
    # A test of time measures the code alone.
    measured = item.get_closest_marker("benchmark") is None
    if not measured:
        coverage.stop()
    try:
        return (yield)
    finally:
        os.environ["MUTATION_TEST"] = ""
        if not measured:
            coverage.start()
        coverage.switch_context("")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Measure what the tests of a file or class share, such as a server, under its name."""
    if fixturedef.scope not in ("class", "module"):
        return (yield)
    test = os.environ["MUTATION_TEST"]
    switch_context(request.node.nodeid)
    try:
        return (yield)
    finally:
        switch_context(test)


def switch_context(name: str) -> None:
    """Measure what follows, in this process and those that it starts, under a name."""
    os.environ["MUTATION_TEST"] = name
    coverage = Coverage.current()
    if coverage is not None:
        # It is stopped during a test of time.
        with suppress(CoverageException):
            coverage.switch_context(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the seconds of each phase, and whether it passed."""
    report = yield
    line = [item.nodeid, not report.failed, report.duration]
    with open(DURATIONS, "a", encoding="utf-8") as lines:
        lines.write(json.dumps(line) + "\n")
    return report


@pytest.hookimpl
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Note that all tests ran, in the process that started the others."""
    is_worker = hasattr(session.config, "workerinput")
    if not is_worker and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        FINISHED.touch()
