"""A pytest plugin that notes which blocks of the package each test executes, in all processes."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path

import mutation_blocks
import mutation_hits
import pytest

OWN_FOLDER = Path(__file__).resolve().parent
PACKAGE = OWN_FOLDER.parent / "llm_mock"
MAP = Path(mutation_hits.FOLDER).parent
DURATIONS = MAP / f"durations.{os.getpid()}"

IS_FIRST = os.environ.setdefault("MUTATION_RUN", str(os.getpid())) == str(os.getpid())
"""Whether no other measured run started this one: a worker, or a run inside a test, changes no
bytecode."""

# Before the package is imported.
if IS_FIRST:
    (MAP / "blocks.json").write_text(json.dumps(mutation_blocks.write_bytecode(PACKAGE)))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note the blocks of a test, and of the processes that it starts, under its name."""
    hide_from_inner_runs()
    switch_test(item.nodeid)
    try:
        return (yield)
    finally:
        switch_test("")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Note what the tests of a file or class share, such as a server, under its name."""
    if fixturedef.scope not in ("class", "module"):
        return (yield)
    test = mutation_hits.current_test
    switch_test(request.node.nodeid)
    try:
        return (yield)
    finally:
        switch_test(test)


def hide_from_inner_runs() -> None:
    """Remove what loads this plugin from the environment of the runs inside tests."""
    os.environ.pop("PYTEST_ADDOPTS", None)
    paths = os.environ.pop("PYTHONPATH", "").split(os.pathsep)
    # The tests have a folder of their own there.
    others = [path for path in paths if path and Path(path).resolve() != OWN_FOLDER]
    if others:
        os.environ["PYTHONPATH"] = os.pathsep.join(others)


def switch_test(name: str) -> None:
    """Note what follows, in this process and those that it starts, under a name."""
    os.environ["MUTATION_TEST"] = name
    mutation_hits.switch_test(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the seconds of each phase, and whether it passed."""
    report = yield
    line = [item.nodeid, not report.failed, report.duration]
    with DURATIONS.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(line) + "\n")
    return report


@pytest.hookimpl
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Restore the bytecode, and note that all tests ran."""
    if not IS_FIRST:
        return
    mutation_blocks.remove_bytecode(PACKAGE)
    if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        (MAP / "finished").touch()
