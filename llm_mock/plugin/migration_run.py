"""A pytest plugin that runs tests before and after `llm-mock migrate` rewrites them.

The command loads it into a run of pytest. New texts of files are imported in place of the files,
so that nothing is written before its tests have passed.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import ast
import importlib.machinery
import inspect
import json
import os
import re
import signal
import sys
import types
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from llm_mock.core.context import current_mock_if_created
from llm_mock.core.settings import ACCEPT_EVERY_CALL
from llm_mock.migrate.test_runs import RUN_VARIABLE
from llm_mock.plugin.guard import begin, reporting_hook
from llm_mock.plugin.mutate import PLUGIN as MUTATION_PLUGIN
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import format_path

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock

PACKAGE = str(Path(__file__).parents[1])
OUR_FIXTURES = ("mock_llm_responses", "mock_llm_calls")
ENTRY = "llm_mock_migration"
"""The attribute of a report with the notes of the process that runs the test, maybe a worker."""
_SERVER = re.compile(r"To have the mock answer, add (\S+) to ini llm_mock_hosts")
"""A server on this machine, in the message about a call of it."""


class _NewSource(importlib.machinery.SourceFileLoader):
    """A loader of a file that reads another one in its place."""

    def __init__(
        self,
        name: str,
        path: str,
        new_path: str,
    ) -> None:
        super().__init__(name, path)
        self._new_path = new_path

    def get_code(self, fullname: str) -> types.CodeType:
        """Compile the new text, with the assertions of pytest; past the cache of bytecode."""
        source = Path(self._new_path).read_bytes()
        tree = ast.parse(source, self.path)
        # Private, and only for the messages of failing assertions.
        from _pytest.assertion.rewrite import rewrite_asserts

        rewrite_asserts(tree, source, self.path)
        code: types.CodeType = compile(tree, self.path, "exec", dont_inherit=True)
        return code


class _NewSources(MetaPathFinder):
    """A finder of the files that have a new text.

    Args:
        paths: the file with the new text of each file.
    """

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module whose file has a new text, None for any other."""
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None:
            return None
        origin = os.path.realpath(spec.origin)
        new_path = self._paths.get(origin)
        if new_path is None:
            return None
        spec.loader = _NewSource(fullname, spec.origin, new_path)
        return spec


class MigrationRun:
    """Selects the tests, limits their time and writes their results.

    Args:
        plan: the content of the JSON file; see `RUN_VARIABLE`.
        is_worker: whether this is a worker of xdist, whose reports arrive in another process.
    """

    def __init__(
        self,
        plan: JSONObject,
        is_worker: bool,
    ) -> None:
        self._results = Path(plan["results"])
        self._names = {tuple(name) for name in plan["names"]}
        self._seconds = plan["seconds"]
        self._is_worker = is_worker

    @reporting_hook(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out the tests that use nothing that was rewritten."""
        if self._names:
            items[:] = [item for item in items if self._is_concerned(item)]

    def _is_concerned(self, item: pytest.Item) -> bool:
        key = (
            str(item.path),
            get_function_name(item),
        )
        if key in self._names:
            return True
        fixtures = getattr(item, "fixturenames", ())
        # If another file has a fixture of this name, one test too many runs, which does no harm.
        return any(name in fixtures for _, name in self._names)

    @reporting_hook(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Report that a test begins, and limit its time."""
        write_result(self._results, {})
        with _limit_seconds(self._seconds):
            return (yield)

    @reporting_hook(wrapper=True)
    def pytest_runtest_makereport(
        self,
        item: pytest.Item,
        call: pytest.CallInfo[None],
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note the calls of a test, and the replies that it left."""
        report = yield
        self._note(item, call, report)
        return report

    def _note(
        self,
        item: pytest.Item,
        call: pytest.CallInfo[None],
        report: pytest.TestReport,
    ) -> None:
        entry: JSONObject = {
            "id": item.nodeid,
            "path": str(item.path),
            "name": get_function_name(item),
            "fixtures": list(getattr(item, "fixturenames", ())),
            "calls": None,
            "unused": 0,
            "servers": [],
            "is_refused": False,
            "hidden": _find_hiding_fixture(item),
        }
        mock = current_mock_if_created() if call.when == "call" else None
        if mock is not None:
            entry["calls"] = len(mock.history.calls)
            queued = mock.configurator.replies.get_queued()
            entry["unused"] = sum(reply.remaining for reply in queued if not reply.optional)
            entry["servers"] = _find_unmocked_servers(mock)
            entry["is_refused"] = any(ACCEPT_EVERY_CALL in message for message in mock.refusals)
        setattr(report, ENTRY, entry)

    @reporting_hook()
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the result of a phase of a test."""
        entry = getattr(report, ENTRY, None)
        if entry is not None and not self._is_worker:
            problem = _find_problem(report)
            if problem and entry["hidden"]:
                problem = f"{problem} {entry['hidden']}"
            write_result(self._results, {**entry, "when": report.when, "problem": problem})

    @reporting_hook()
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Write that a file cannot be collected."""
        if report.failed and not self._is_worker:
            path = os.path.realpath(report.fspath)
            write_result(self._results, {"broken": path, "problem": _get_message(report)})


def get_function_name(item: pytest.Item) -> str:
    """Return the name of a test with its class, without parameters."""
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    # All parameters of a test are one function of the source code.
    function = getattr(item, "originalname", None)
    names = [
        *classes,
        function or item.name,
    ]
    return "::".join(names)


def _find_unmocked_servers(mock: Mock) -> list[str]:
    """Return the servers on this machine that a test called and that the project does not list."""
    servers: list[str] = []
    for message in [*mock.refusals, *mock.problems]:
        servers += _SERVER.findall(message)
    for request in mock.not_mocked:
        _, _, url = request.partition(" ")
        server = urlsplit(url).netloc
        servers.append(server)
    return sorted(set(servers))


def _find_hiding_fixture(item: pytest.Item) -> str:
    """Return a hint at a fixture of the project that has the name of one of ours."""
    fixtures = getattr(item, "_fixtureinfo", None)  # private
    definitions = getattr(fixtures, "name2fixturedefs", {})
    for name in OUR_FIXTURES:
        if name not in definitions:
            continue
        function = inspect.unwrap(definitions[name][-1].func)
        path = function.__code__.co_filename
        if not path.startswith(PACKAGE):
            shown = format_path(Path(path))
            return (
                f"(The fixture {name} in {shown} hides the fixture of llm_mock with this name: "
                "rewrite the tests with --no-verify, then remove the fixture)"
            )
    return ""


def _find_problem(report: pytest.TestReport) -> str:
    """Return why a phase of a test is not passed; empty if it is."""
    if hasattr(report, "wasxfail"):
        return "it is expected to fail"
    if report.skipped:
        return "it is skipped"
    return _get_message(report) if report.failed else ""


def _get_message(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return the first informative line of a failure."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(getattr(crash, "message", None) or report.longrepr).strip()
    if crash is None:
        # The text of an error while collecting is a traceback.
        _, _, last = text.rpartition("\n")
        return last
    first, _, rest = text.partition("\n")
    # Some messages begin below the name of the exception.
    if first.rstrip().endswith(":") and rest:
        first = f"{first.rstrip()} {rest.strip().splitlines()[0]}"
    return first


@contextmanager
def _limit_seconds(seconds: float) -> Iterator[None]:
    """Fail a test that runs for longer, if the platform has a timer."""
    try:
        is_in_use = signal.getitimer(signal.ITIMER_REAL)[0] > 0
    except AttributeError:
        is_in_use = True
    # pytest-timeout may have set it.
    if is_in_use:
        yield
        return

    def fail(number: int, frame: object) -> None:
        pytest.fail(f"it does not end within {seconds:g} seconds", pytrace=False)

    try:
        before = signal.signal(signal.SIGALRM, fail)
    except ValueError:
        # Only the main thread can set it.
        yield
        return
    # The timer repeats, because the teardown may hang as well.
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def read_plan() -> JSONObject:
    """Return the plan of this process of pytest; see `RUN_VARIABLE`."""
    plan: JSONObject = json.loads(Path(os.environ[RUN_VARIABLE]).read_text(encoding="utf-8"))
    return plan


def write_result(results: Path, entry: JSONObject) -> None:
    """Add a line to the results of the run."""
    # Appended to, because several workers of pytest-xdist may write.
    with results.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin; its plan is named by an environment variable."""
    begin(config)
    run = MigrationRun(read_plan(), hasattr(config, "workerinput"))
    config.pluginmanager.register(run, "llm_mock_migration_run")
    mutation = config.pluginmanager.get_plugin(MUTATION_PLUGIN)
    if mutation is not None:
        # Not rules of prompts: a rewritten test need not check more rules than the old test.
        mutation.changes_rules = False
        # The old tests are changed in the same way.
        mutation.has_answers = True


# At once, because a conftest.py is imported before a plugin is configured.
if RUN_VARIABLE in os.environ:
    sys.meta_path.insert(0, _NewSources(read_plan()["sources"]))
