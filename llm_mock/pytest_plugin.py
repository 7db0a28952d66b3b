"""The entry point of the pytest plugin, with the hooks and fixtures of `llm_mock.plugin`.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import ExitStack, suppress
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

import pytest


class _OwnModules:
    """A finder for the modules of this package.

    It bypasses pytest's rewriting of assertions, which would double their import time.
    """

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, path, target) if name.startswith("llm_mock.") else None


if not any(getattr(finder, "__qualname__", "") == "_OwnModules" for finder in sys.meta_path):
    sys.meta_path.insert(0, _OwnModules)

# ruff: noqa: E402, F401 (the names that pytest finds here are hooks and fixtures)
from llm_mock.boundaries.threads import follow_threads
from llm_mock.cassettes import RECORD_MODES
from llm_mock.plugin import autouse, markers
from llm_mock.plugin.fixtures import (
    OnRequest,
    _llm_mock_cassette,
    _llm_mock_live,
    _llm_mock_misbehaviour,
    _llm_mock_strict,
    aitest_run,
    aitest_run_sync,
    debug_llm,
    llm_assert,
    llm_mock_cassette,
    llm_mock_cassette_config,
    llm_mock_misbehaviour,
    llm_mock_server,
    llm_mock_session_server,
    llm_score,
    mock_llm_calls,
    mock_llm_responses,
    pytest_assertrepr_compare,
)
from llm_mock.plugin.guard import begin, guard, reporting_hook
from llm_mock.plugin.hooks import (
    call_configure_hooks,
    pytest_addhooks,
    pytest_plugin_registered,
)
from llm_mock.plugin.markers import pytest_collection_modifyitems, pytest_generate_tests
from llm_mock.plugin.options import (
    MUTATION_OPTIONS,
    list_written_keys,
    pytest_addoption,
    read_budget,
    read_choice,
)
from llm_mock.plugin.run import TestRun, get_run
from llm_mock.plugin.runtest import (
    CURRENT_TEST,
    CurrentTest,
    pytest_exception_interact,
    pytest_report_from_serializable,
    pytest_runtest_call,
    pytest_runtest_makereport,
    pytest_runtest_setup,
)
from llm_mock.plugin.summary import (
    ENVIRONMENT,
    RUN_BUDGET,
    pytest_configure_node,
    pytest_report_header,
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, object, object]:
    """Start the run before conftests are imported, because they may import models."""
    get_run(early_config)
    result = yield
    # After the conftests, because they add options, too. An error here must not hide pytest's own.
    with suppress(Exception):
        _explain_unknown_options(parser, args)
    return result


def _explain_unknown_options(parser: pytest.Parser, args: list[str]) -> None:
    """Let the error of pytest about a misspelt option of this plugin name the right one."""
    if any(arg.startswith(("--llm", "--record")) for arg in args):
        from llm_mock.plugin.misspelt_options import explain_unknown_options

        explain_unknown_options(parser, args)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Check the ini keys, and register the parts of the plugin that the run needs."""
    markers.register(config)
    try:
        _check_ini_keys(config)
        read_choice(config, "llm_mock_record", RECORD_MODES)
        if config.getini("llm_mock_budget"):
            read_budget(config)
    except pytest.UsageError:
        from llm_mock.plugin.ini_errors import collect_ini_errors

        raise collect_ini_errors(config, has_all_keys=True) from None
    run = get_run(config)
    begin(config)
    # Only a worker of pytest-xdist has it.
    environment = getattr(config, "workerinput", {}).get(ENVIRONMENT)
    if environment:
        run.user_environment = json.loads(environment)
    config.pluginmanager.register(autouse if run.pending else OnRequest(), "llm_mock_fixtures")
    config.add_cleanup(guard(follow_threads()))
    _choose_judge(config)
    _register_parts(config, run)
    try:
        current = CurrentTest(config, run)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[CURRENT_TEST] = current
    config.add_cleanup(guard(current.patches.end))
    call_configure_hooks(config)


def _check_ini_keys(config: pytest.Config) -> None:
    """Raise a pytest.UsageError for an ini key that is probably a misspelt key of the plugin."""
    if not list_written_keys(config):
        return
    from llm_mock.plugin.misspelt_names import find_unknown_keys

    unknown = find_unknown_keys(config)
    if unknown:
        raise pytest.UsageError(*unknown.values())


def _choose_judge(config: pytest.Config) -> None:
    """Set the judge for all checks of the run that do not name one."""
    override = config.getoption("--llm-mock-judge") or None
    default = config.getini("llm_mock_judge") or None
    if override is None and default is None:
        return
    # Imported here, because few projects have a judge.
    from llm_mock.core.judge_choice import JudgeChoice, choose_judge

    stack = ExitStack()
    stack.enter_context(choose_judge(JudgeChoice(override, default)))
    config.add_cleanup(guard(stack.close))


def _register_parts(config: pytest.Config, run: TestRun) -> None:
    """Register the parts of the plugin that options and ini keys ask for."""
    if any(config.getoption(name) for name in MUTATION_OPTIONS):
        from llm_mock.plugin import mutate

        mutate.register(config, run)
    reports = ("--llm-mock-report", "--llm-mock-baseline")
    if any(map(config.getoption, reports)) or config.getoption("xmlpath", None):
        from llm_mock.plugin import report

        report.register(config, run)
    if any(config.getini(f"llm_mock_{name}") for name in ("budget", "prices")):
        from llm_mock.plugin.budget import create_run_budget

        config.pluginmanager.register(create_run_budget(config, run.mock), RUN_BUDGET)
    if config.getini("llm_mock_suites"):
        from llm_mock.plugin.suite_items import SuiteCollector

        config.pluginmanager.register(SuiteCollector(config), "llm_mock_suites")
    if config.getoption("--llm"):
        from llm_mock.plugin.spec_items import SpecCollector

        config.pluginmanager.register(SpecCollector(config), "llm_mock_specs")


@reporting_hook(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Mock the processes that tests start."""
    get_run(session.config).mock_processes()


@reporting_hook()
def pytest_make_parametrize_id(val: object) -> str | None:
    """Name agents and their parts in the ids of tests by their own `llm_mock_id`."""
    # Checked on the type, because a mock object of the project has every attribute.
    if getattr(type(val), "llm_mock_id", None) is None:
        return None
    # Not `val.llm_mock_id`, because mypy refuses unknown attributes of an `object`.
    return str(getattr(val, "llm_mock_id"))  # noqa: B009
