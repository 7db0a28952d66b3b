"""Writes the report of a run: one process, the controller's, writes what all of them collected.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import json
import math
import platform
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from llm_mock import explain
from llm_mock.plugin.run import TestRun
from llm_mock.report.collect import SHIPPED, CallCollector
from llm_mock.report.page import page
from llm_mock.support.files import write_atomically
from llm_mock.support.garbage import no_garbage_collection
from llm_mock.support.redaction import default_redactor

VERSION = 1
"""Of the format of the JSON. What is added later is added beside what there is."""
LONGEST_MESSAGE = 10_000
SEVERITY = ("passed", "skipped", "xfailed", "xpassed", "rerun", "failed", "error")
"""Outcomes of a test; what happens later counts only where it is worse."""


def mistaken_for_tests(names: Iterable[str], config: pytest.Config) -> Iterator[str]:
    """The reports that pytest took for files of tests when it looked for its configuration file.

    It does not know a plugin's options then, so it takes a word after one, where such a file exists, for an argument.
    """
    folder = config.invocation_params.dir
    for name in names:
        path = (folder / name).absolute()
        elsewhere = path.exists() and folder not in path.parents and name in config.invocation_params.args
        if elsewhere and (config.inipath is None or config.rootpath not in (folder, *folder.parents)):
            yield name


def check_paths(names: Iterable[str]) -> list[Path]:
    """Where the reports are to be written, if they can be.

    Raises:
        pytest.UsageError: a name ends otherwise, or nothing can be written there.
    """
    paths = [Path(name).expanduser().absolute() for name in names]
    for path in paths:
        if path.suffix.lower() not in (".html", ".htm", ".json"):
            raise pytest.UsageError(explain.bad_report_name(str(path)))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                raise IsADirectoryError("it is a folder")
            probe = path.with_name(f".{path.name[:60]}.probe")
            write_atomically(probe, "")
            probe.unlink()
        except OSError as error:
            raise pytest.UsageError(explain.report_not_written(str(path), error)) from None
    return paths


class ReportWriter:
    """A pytest plugin that puts the tests and their calls together and writes them at the end.

    Args:
        paths: the files; a name that ends in `.json` holds JSON, any other the page.
        collector: what collects in this process.
        run: the run, which knows what each agent did (see `llm_mock.agents.summary`), and the keys that the user has
            stored, which must not be written.
    """

    def __init__(self, paths: Sequence[Path], collector: CallCollector, run: TestRun) -> None:
        self._paths = paths
        self._run = run
        self._collector = collector
        self._start = time.time()
        self._tests: list[dict[str, Any]] = []
        self._running: dict[tuple[str, str | None], dict[str, Any]] = {}
        self._outside: list[dict[str, Any]] = []
        self._positions: dict[str, int] = {}
        self._received: list[tuple[dict[str, Any], str]] = []  # parsed at the end: to keep few objects is faster
        self._lines: list[str] = []
        self._distributed = False
        self._broken: set[str] = set()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._distributed = True
        self._positions = self._positions or {nodeid: position for position, nodeid in enumerate(ids)}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        worker = getattr(getattr(report, "node", None), "gateway", None)
        key = report.nodeid, getattr(worker, "id", None)
        test = self._running.get(key)
        if test is None:
            test = self._running[key] = _new_test(*key)
            self._tests.append(test)
        _add_phase(test, report)
        if report.when not in ("setup", "call"):
            del self._running[key]
        if shipped := getattr(report, SHIPPED, None):
            self._received.append((test, shipped))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be collected is an error too; each xdist worker reports it."""
        if report.failed and report.nodeid not in self._broken:
            self._broken.add(report.nodeid)
            self._tests.append({**_new_test(report.nodeid, None), "outcome": "error", "message": _message(report)})

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        if shipped := getattr(node, "workeroutput", {}).get(SHIPPED):
            self._received.append(({"calls": [], "worker": node.gateway.id}, shipped))

    def _unpack(self) -> None:
        for test, shipped in self._received:
            received = json.loads(shipped)
            test["calls"] += received["calls"]
            if received["steps"]:
                test["steps"] = received["steps"]
            self._outside += [{"worker": test["worker"], **group} for group in received["outside"]]
        self._received.clear()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.config.getoption("collectonly"):
            return
        if not self._distributed:  # else each worker sends its own
            self._received.append(({"calls": [], "worker": None}, self._collector.shipped([])))
        self._tests.sort(key=lambda test: self._positions.get(test["id"], len(self._positions)))
        with no_garbage_collection():
            data = as_bytes(self.report())
        for path in self._paths:
            try:
                write_atomically(path, data if path.suffix.lower() == ".json" else page(data))
                self._lines.append(f"LLM report: {path}")
            except OSError as error:  # the outcome of the run is that of its tests
                self._lines.append(explain.report_not_written(str(path), error))

    def report(self) -> dict[str, Any]:
        """What is written: see `docs/report.md`."""
        self._unpack()
        groups = [*self._tests, *self._outside]
        report = {
            "version": VERSION,
            "generator": f"pytest-llm-mock {version('pytest-llm-mock')}",
            "created": datetime.now().astimezone().isoformat(timespec="seconds"),
            "duration_s": round(time.time() - self._start, 3),
            "python": platform.python_version(),
            "llm": version("llm"),
            "outcomes": Counter(test["outcome"] for test in self._tests),
            "models": totals(call for group in groups for call in group["calls"]),
            "agents": self._agent_rows(),
            "tests": self._tests,
            "outside_tests": self._outside,
        }
        cleaned: dict[str, Any] = default_redactor(self._run.stored_keys()).clean(report)
        return cleaned

    def _agent_rows(self) -> list[dict[str, Any]]:
        if not self._run.agents:
            return []
        from llm_mock.agents.summary import rows

        return rows(self._run.agents)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in self._lines:
            terminalreporter.write_sep("-", line)


def _new_test(nodeid: str, worker: str | None) -> dict[str, Any]:
    return {
        "id": nodeid,
        "file": nodeid.split("::")[0],
        "outcome": "passed",
        "duration_s": 0.0,
        "message": None,
        "worker": worker,
        "calls": [],
    }


def _add_phase(test: dict[str, Any], report: pytest.TestReport) -> None:
    test["duration_s"] = round(test["duration_s"] + report.duration, 6)
    outcome = _outcome(report)
    if SEVERITY.index(outcome) > SEVERITY.index(test["outcome"]):
        test["outcome"] = outcome
        test["message"] = _message(report)


def _outcome(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail") and report.outcome != "failed":
        return "xfailed" if report.skipped else "xpassed"
    if report.failed and report.when != "call":
        return "error"
    return report.outcome if report.outcome in SEVERITY else "failed"


def _message(report: pytest.TestReport | pytest.CollectReport) -> str | None:
    """Why a test failed or was skipped, without the traceback."""
    if getattr(report, "wasxfail", None):
        return str(report.wasxfail)
    longrepr: Any = report.longrepr
    if isinstance(longrepr, tuple):
        longrepr = longrepr[2]
    crash = getattr(longrepr, "reprcrash", None)
    message = str(longrepr if crash is None else crash.message)
    return message[:LONGEST_MESSAGE] if longrepr is not None else None


def totals(calls: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The sums of each model, sorted by its id.

    Returns:
        Of each: `model_id`, `calls`, `errors`, `unconfigured`, `input_tokens`, `output_tokens`, `cost_usd` (None where
        no price is known) and `unpriced` (the number of calls whose price is not known).
    """
    sums: dict[str, Any] = {}
    for call in calls:
        counted = sums.setdefault(call["model_id"], Counter())
        counted["calls"] += 1
        counted["errors"] += call["error"] is not None
        counted["unconfigured"] += not call["configured"]
        counted["unpriced"] += call["cost_usd"] is None
        for name in ("input_tokens", "output_tokens"):
            counted[name] += call["usage"][name] or 0
        counted["cost_usd"] += call["cost_usd"] or 0
    names = ("calls", "errors", "unconfigured", "unpriced", "input_tokens", "output_tokens", "cost_usd")
    rows: list[dict[str, Any]] = [
        {"model_id": model, **{name: sums[model][name] for name in names}} for model in sorted(sums)
    ]
    for row in rows:
        row["cost_usd"] = None if row["unpriced"] == row["calls"] else round(row["cost_usd"], 10)
    return rows


def as_bytes(report: dict[str, Any]) -> bytes:
    """A report as JSON in UTF-8, each test and each group of calls outside tests on a line of its own."""
    text = "{\n" + ",\n".join(_lines(report)) + "\n}\n"
    return text.encode(errors="backslashreplace")  # of half a surrogate pair, which UTF-8 does not have, the escape


def _lines(report: dict[str, Any]) -> Iterator[str]:
    for name, value in report.items():
        if isinstance(value, list) and value:
            items = ",\n".join(f"    {_dumps(item)}" for item in value)
            yield f'  "{name}": [\n{items}\n  ]'
        else:
            yield f'  "{name}": {_dumps(value)}'


def _dumps(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False)


def _finite(value: Any) -> Any:
    """A value in which numbers that JSON does not have are texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value
