"""A run has the same environment, logging, warnings, signals and hooks with the plugin."""

from __future__ import annotations

import json
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.files import write

PROBE = """
    import asyncio, concurrent.futures, http.client, json, logging, multiprocessing.util, os, signal, socket, ssl
    import subprocess, sys, threading, unittest.mock, urllib.request, warnings
    from pathlib import Path

    def name(value):
        owner = value if hasattr(value, "__qualname__") else type(value)
        return f"{owner.__module__}.{owner.__qualname__}"

    def replaced():
        known = sys.stdlib_module_names
        standard = {name: module for name, module in sys.modules.items() if name.split(".")[0] in known}
        owners = {name: module for name, module in standard.items() if name != "__main__"}
        for module in standard.values():
            classes = [each for each in list(vars(module).values()) if isinstance(each, type)]
            owners.update({f"{each.__module__}.{each.__qualname__}": each for each in classes})
        return {
            f"{name}.{attribute}": 1
            for name, owner in owners.items()
            for attribute, value in list(vars(owner).items())
            if "llm_mock" in getattr(getattr(value, "__code__", None), "co_filename", "").split(os.sep)
        }

    def snapshot():
        loggers = {"root": logging.root, **logging.root.manager.loggerDict}
        handled = [number for number in signal.valid_signals()]
        return {
            "os.environ": dict(os.environ),
            "logging": {
                each: [logger.level, [name(handler) for handler in logger.handlers]]
                for each, logger in loggers.items()
                if isinstance(logger, logging.Logger) and (logger.handlers or logger.level)
            },
            "logging.disable": {"level": logging.root.manager.disable},
            "warnings.filters": {repr(each): 1 for each in warnings.filters},
            "signal": {str(number): repr(signal.getsignal(number)).partition(" at ")[0] for number in handled},
            "sys.path": dict.fromkeys(sys.path, 1),
            "sys.meta_path": {name(finder): 1 for finder in sys.meta_path},
            "sys.path_hooks": {name(hook): 1 for hook in sys.path_hooks},
            "sys": {
                hook: name(getattr(sys, hook))
                for hook in ("excepthook", "unraisablehook", "displayhook", "breakpointhook")
            },
            "sys.gettrace": {"trace": repr(sys.gettrace()), "profile": repr(sys.getprofile())},
            "threading": {
                "excepthook": name(threading.excepthook),
                "trace": repr(threading.gettrace()),
                "profile": repr(threading.getprofile()),
                "threads": sorted(thread.name for thread in threading.enumerate()),
            },
            "replaced": replaced(),
            "locale": {"cwd": os.getcwd(), "umask": os.umask(os.umask(0o22)), "recursion": sys.getrecursionlimit()},
        }

    def note(when):
        path = Path(os.environ["SNAPSHOTS"])
        known = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**known, when: snapshot()}))
"""  # noqa: E501
CONFTEST = """
    import probe
    import pytest

    probe.note("while a conftest is imported")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish():
        probe.note("at the end of the session")

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(config):
        config.add_cleanup(lambda: None)
        probe.note("at the end of the run")
"""
TEST = """
    import probe

    def test_first(): ...

    def test_it():
        probe.note("in a test")
"""
TABLE = "## What the plugin changes in the process of a run"


def documented(page: str) -> set[str]:
    """Return what the documentation says that differs, as globs: the first column of its table."""
    section = page.partition(f"{TABLE}\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("|")]
    return {row.replace("`", "") for row in rows[2:]}


def snapshots(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, *options: str
) -> dict[str, Any]:
    """Return what a run sees of its process, by when."""
    path = pytester.path / f"snapshots{len(options)}.json"
    monkeypatch.setenv("SNAPSHOTS", str(path))
    result = pytester.runpytest_subprocess(*options)
    result.assert_outcomes(passed=2)
    found: dict[str, Any] = json.loads(path.read_text())
    assert len(found) == 4
    return found


def differences(without: dict[str, Any], with_plugin: dict[str, Any]) -> set[str]:
    """Return what differs at any time, as `kind name`."""
    return {
        f"{kind} {name}"
        for when, before in without.items()
        for kind, values in before.items()
        for name in values.keys() | with_plugin[when][kind].keys()
        if values.get(name) != with_plugin[when][kind].get(name)
    } - {"os.environ SNAPSHOTS"}


@pytest.mark.skipif(sys.platform == "win32", reason="the table is of the other platforms")
def test_a_run_differs_from_one_without_the_plugin_in_nothing_but_what_the_documentation_lists(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    for variable in (
        "COVERAGE_PROCESS_START",  # traces the runs
        "LLM_MOCK",
        "LLM_MOCK_FOLDER",
        "LLM_USER_PATH",
        "PFLOW_TESTING",
        "PYTEST_CURRENT_TEST",
    ):
        monkeypatch.delenv(variable, raising=False)
    for file, text in {"probe.py": PROBE, "conftest.py": CONFTEST, "test_it.py": TEST}.items():
        write(pytester, file, text)
    without, with_plugin = (
        snapshots(pytester, monkeypatch, *options) for options in (("-p", "no:llm_mock"), ())
    )
    page = Path(pytestconfig.rootpath, "docs", "differences.md").read_text(encoding="utf-8")
    found, listed = differences(without, with_plugin), documented(page)
    assert [
        each for each in sorted(found) if not any(fnmatchcase(each, row) for row in listed)
    ] == []
    assert {row for row in listed if "*" not in row} <= found
