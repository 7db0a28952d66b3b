"""Run the tests of some files with pytest, before and after they are rewritten."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from llm_mock.migrate.model_discovery import (
    FILE_VARIABLE,
    DiscoveredModels,
    read_models,
)
from llm_mock.support.json_types import JSON, JSONObject
from llm_mock.support.text import format_count

RUN_PLUGIN = "llm_mock.plugin.migration_run"
RECORDER_PLUGIN = "llm_mock.plugin.model_recorder"
CHANGES_PLUGIN = "llm_mock.plugin.double_changes"
RUN_VARIABLE = "LLM_MOCK_MIGRATION"
"""The variable with the path of the JSON file that tells the plugin what to do.

Its keys are `results` (the file to which a JSON line is appended for each phase of a test),
`sources` (the file with the new text of each rewritten file), `names` (the functions whose tests
run; empty for all), `changes` (the path, the name of the test, the kind and the number of the call
of each change of a double), `new_runs` (the path, the id in its file and the `NewRun` of each
rewritten test) and `seconds` (the time limit of a test).
"""
SECONDS = 60.0
"""The time that a test may take."""
SILENT_SECONDS = 300.0
"""The time without a result after which pytest is killed: some hanging tests ignore the limit."""

TestKey = tuple[str, str]
"""The path of a file, and the name of a test with its class."""
Change = tuple[str, int]
"""The kind of a change, and the number of the call from 1."""


class NewRun(TypedDict):
    """The calls of a rewritten test with one set of parameters.

    Attributes:
        calls: the number of calls; a failed call and its retries count as one.
        answers: the kind, the number of the call, and the changed answer of each change that has
            one: an object with the `text`, and the `arguments` of the tool calls.
    """

    calls: int
    answers: list[tuple[str, int, JSONObject]]


@dataclass
class TestOutcome:
    """The combined result of a test function with all its parameters.

    Attributes:
        passed: whether it ran and passed.
        problem: why it did not pass.
        calls: the number of calls that it made; None if it is unknown.
        errors: the number of errors that an old mock raised in place of a model.
        unused: the number of queued replies that were left.
        servers: the servers on this machine that it called without a mock.
        is_refused: whether a model that a plugin of `llm` registers refused a call.
        fixtures: the fixtures that it used.
        noticed: the number of changes of calls that it noticed.
        changes: the number of changes that were made.
        missed: the changes that it does not notice with any of its parameters.
        new_runs: its calls, by the id of the test in its file; without calls it has none.
    """

    __test__ = False  # pytest would collect a class with this name

    passed: bool = False
    problem: str = ""
    calls: int | None = None
    errors: int = 0
    unused: int = 0
    servers: set[str] = field(default_factory=set)
    is_refused: bool = False
    fixtures: set[str] = field(default_factory=set)
    noticed: int = 0
    changes: int = 0
    missed: list[Change] = field(default_factory=list)
    new_runs: dict[str, NewRun] = field(default_factory=dict)


@dataclass
class PytestRun:
    """The results of one process of pytest.

    Attributes:
        results: the results of its tests.
        models: the models that old tests requested.
        problem: the last line of pytest, if tests failed or it was ended.
        was_ended: whether it gave no result for a long time.
        broken: the files that could not be collected, with the reason.
        ids: the names of the tests by their id in pytest.
        noticed: the changes of doubles that old tests noticed.
    """

    __test__ = False

    results: dict[TestKey, TestOutcome] = field(default_factory=dict)
    models: DiscoveredModels = field(default_factory=DiscoveredModels)
    problem: str | None = None
    was_ended: bool = False
    broken: dict[str, str] = field(default_factory=dict)
    ids: dict[str, TestKey] = field(default_factory=dict)
    noticed: dict[TestKey, list[Change]] = field(default_factory=dict)

    def get_result(self, key: TestKey) -> TestOutcome:
        """Return the result of a test, or one that says why it did not run."""
        result = self.results.get(key)
        if result is not None and (result.passed or result.problem):
            return result
        reason = self.broken.get(key[0])
        if reason is not None:
            return TestOutcome(problem=f"its file cannot be collected: {reason}")
        if self.was_ended:
            return TestOutcome(problem="it has no result because another test did not end")
        if not self.results and self.problem is not None:
            return TestOutcome(problem=f"pytest does not run it: {self.problem}")
        return TestOutcome(problem="pytest does not run it")


def run_old_tests(paths: Sequence[Path]) -> PytestRun:
    """Run the tests of files and folders as they are, and record the models that they request."""
    with tempfile.TemporaryDirectory(prefix="llm-mock-") as folder:
        models = Path(folder, "models")
        models.touch()
        run = _run(Path(folder), paths, {}, (), ["-p", RECORDER_PLUGIN], {FILE_VARIABLE: models})
        requested, calls = read_models(models)
    for result in run.results.values():
        # These calls did not reach the old mock, such as the usage reports of a library.
        result.calls = None
    for key, old_calls in calls.items():
        if key in run.results:
            run.results[key].calls = old_calls.number
            run.results[key].errors = old_calls.errors
    run.models = DiscoveredModels(requested, run.problem)
    return run


def run_new_tests(
    sources: Mapping[Path, bytes],
    names: Iterable[TestKey],
    conftests: Mapping[Path, bytes],
) -> PytestRun:
    """Run the rewritten tests, and count the changes of calls that they notice.

    The files stay as they are: pytest imports the new texts in their place.

    Args:
        sources: the new text of each rewritten file.
        names: the rewritten tests and fixtures; tests that use none of them are left out. All
            tests of the files run if there are none.
        conftests: the new text of each conftest.py whose folder does not run as a whole.
    """
    paths = _list_test_paths(sources)
    sources = {**sources, **conftests}
    with tempfile.TemporaryDirectory(prefix="llm-mock-") as folder:
        document = Path(folder, "changes.json")
        options = ["--llm-mock-mutate", f"--llm-mock-mutate-json={document}"]
        run = _run(Path(folder), paths, sources, names, options, {})
        with suppress(OSError, ValueError):
            _add_changes(run, json.loads(document.read_text(encoding="utf-8")))
    return run


def find_noticed_changes(
    paths: Iterable[Path],
    new_tests: Mapping[TestKey, TestOutcome],
) -> Mapping[TestKey, Sequence[Change]]:
    """Run old tests with changes of their doubles, and return the changes that they notice.

    Args:
        paths: the files that were rewritten.
        new_tests: the results of the new tests, which have the changes to make.
    """
    changes: list[JSON] = []
    new_runs: list[JSON] = []
    for key, test in new_tests.items():
        path, _ = key
        for change in test.missed:
            changes.append([*key, *change])
        for test_id, new_run in test.new_runs.items():
            new_runs.append([path, test_id, new_run])
    more: JSONObject = {
        "changes": changes,
        "new_runs": new_runs,
    }
    options = ["-p", CHANGES_PLUGIN]
    test_paths = _list_test_paths(paths)
    with tempfile.TemporaryDirectory(prefix="llm-mock-") as folder:
        run = _run(
            Path(folder),
            test_paths,
            {},
            new_tests,
            options,
            {},
            more,
        )
    return run.noticed


def get_id_in_file(node_id: str) -> str:
    """Return the id of a test without the path, which depends on the folder of the run."""
    return node_id.partition("::")[2]


def _list_test_paths(paths: Iterable[Path]) -> list[Path]:
    # A fixture of a conftest.py is used by tests of the whole folder.
    return [path.parent if path.name == "conftest.py" else path for path in paths]


def _run(
    folder: Path,
    paths: Sequence[Path],
    sources: Mapping[Path, bytes],
    names: Iterable[TestKey],
    options: Sequence[str],
    variables: Mapping[str, Path],
    more: JSONObject | None = None,
) -> PytestRun:
    results = folder / "results"
    results.touch()
    new_paths = {}
    for number, (path, source) in enumerate(sources.items()):
        new_path = folder / f"source-{number}"
        new_path.write_bytes(source)
        new_paths[str(path)] = str(new_path)
    plan: JSONObject = {
        "results": str(results),
        "sources": new_paths,
        "names": list(map(list, names)),
        "seconds": SECONDS,
        **(more or {}),
    }
    plan_file = folder / "plan.json"
    plan_file.write_text(json.dumps(plan), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", RUN_PLUGIN, *options]
    # Run all tests whatever the options of the project, and leave its cache unchanged.
    command += ["--maxfail=0", "--continue-on-collection-errors"]
    command += ["-o", f"cache_dir={folder / 'cache'}"]
    environment = dict(os.environ)
    for name, path in variables.items():
        environment[name] = str(path)
    environment[RUN_VARIABLE] = str(plan_file)
    # Keep the coverage data of the project, unless all processes are measured.
    if "COVERAGE_PROCESS_START" not in environment:
        environment["COVERAGE_FILE"] = str(folder / "coverage")
    output = folder / "output"
    code = _wait([*command, *map(str, paths)], environment, output, results)
    run = _read_results(results)
    if code is None:
        run.was_ended = True
        run.problem = f"pytest was stopped after {SILENT_SECONDS:.0f} seconds without a result"
    elif code != 0:
        text = output.read_text(encoding="utf-8", errors="replace")
        lines = text.strip().splitlines()
        last_line = lines[-1] if lines else "no output"
        run.problem = f"pytest ended with exit code {code}: {last_line}"
    return run


def _wait(
    command: Sequence[str],
    environment: Mapping[str, str],
    output: Path,
    results: Path,
) -> int | None:
    """Run pytest and return its exit code; None if it gave no result for a long time."""
    with output.open("wb") as file:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            # A separate process group, so that processes started by tests are killed too.
            start_new_session=True,
        )
        try:
            return _watch(process, results)
        finally:
            # Also after Ctrl-C, which reaches only this process.
            if process.poll() is None:
                _kill(process)


def _watch(process: subprocess.Popen[bytes], results: Path) -> int | None:
    size, changed = 0, time.monotonic()
    while time.monotonic() - changed < SILENT_SECONDS:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(timeout=1)
        if results.stat().st_size != size:
            size, changed = results.stat().st_size, time.monotonic()
    return None


def _kill(process: subprocess.Popen[bytes]) -> None:
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _read_results(path: Path) -> PytestRun:
    run = PytestRun()
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            # An interrupted process may have written half of the last line.
            with suppress(ValueError):
                _add_entry(run, json.loads(line))
    return run


def _add_entry(run: PytestRun, entry: JSONObject) -> None:
    if "broken" in entry:
        run.broken[entry["broken"]] = entry["problem"]
    if "name" not in entry:
        # The entry only shows that a test has started.
        return
    key = entry["path"], entry["name"]
    if "noticed" in entry:
        kind, number = entry["noticed"]
        run.noticed.setdefault(key, []).append((kind, number))
        return
    run.ids[entry["id"]] = key
    result = run.results.setdefault(key, TestOutcome())
    result.fixtures.update(entry["fixtures"])
    result.servers.update(entry["servers"])
    result.is_refused |= entry["is_refused"]
    result.unused = max(result.unused, entry["unused"])
    if entry["calls"] is not None:
        result.calls = (result.calls or 0) + entry["calls"]
    if entry["problem"]:
        result.problem = result.problem or entry["problem"]
        result.passed = False
    elif entry["when"] == "call":
        result.passed = not result.problem


def _add_changes(run: PytestRun, document: JSONObject) -> None:
    """Add the changes of calls that the tests notice, from the JSON of --llm-mock-mutate."""
    made: dict[TestKey, dict[Change, bool]] = {}
    for test in document["tests"]:
        key = run.ids[test["id"]]
        result = run.results[key]
        result.noticed += test["noticed"]
        result.changes += len(test["changes"])
        changes = made.setdefault(key, {})
        new_run: NewRun = {
            "calls": len(test["calls"]),
            "answers": [],
        }
        for each in test["changes"]:
            number = each["call"]["number"]
            change = each["kind"], number
            is_noticed = changes.get(change, False)
            changes[change] = is_noticed or each["noticed"]
            answer = each["answer"]
            if answer is not None:
                row = (each["kind"], number, answer)
                new_run["answers"].append(row)
        test_id = get_id_in_file(test["id"])
        result.new_runs[test_id] = new_run
    for key, changes in made.items():
        run.results[key].missed = [change for change in changes if not changes[change]]


def describe_noticed(result: TestOutcome) -> str:
    """Return how many changes of calls a test notices."""
    return f"{result.noticed} of {format_count(result.changes, 'change')}"
