"""The pytest plugin: hooks and fixtures.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

import pytest


class _OwnModules:
    """Finds this package's modules without pytest's rewriting of assertions, which would double their import time."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, path, target) if name.startswith("llm_mock.") else None


sys.meta_path.insert(0, _OwnModules)
try:
    from llm_mock import boundary, explain
    from llm_mock.activation import TestRun
    from llm_mock.check import Settings
    from llm_mock.configurator import ResponseConfigurator
    from llm_mock.errors import LLMMockError
    from llm_mock.history import add_totals
    from llm_mock.legacy import LegacyMockDetector
    from llm_mock.registry import MockGetModel
finally:
    sys.meta_path.remove(_OwnModules)

RUN = pytest.StashKey[TestRun]()
EARLIER_CALLS = pytest.StashKey[int]()
ASKED = pytest.StashKey[set[Any]]()
LEGACY = pytest.StashKey[LegacyMockDetector]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("llm_mock", "mocking of the llm library")
    group.addoption("--llm-mock-live", action="store_true", help="Run the tests marked llm_live, with real models.")
    parser.addini("llm_mock", "Mock llm in the whole run (default: true).", type="bool", default=True)
    parser.addini("llm_mock_lazy", "Decide a call when its response is read (default: false).", type="bool")
    parser.addini("llm_mock_strict", "A call that no configured reply fits fails (default: false).", type="bool")
    parser.addini("llm_mock_autospec", "Refuse what the real model would refuse (default: false).", type="bool")
    parser.addini("llm_mock_generate", "Answer schemas with generated instances (default: false).", type="bool")
    parser.addini("llm_mock_schema", "A reply that breaks the schema: warn (default), error or off.", default="warn")
    parser.addini("llm_mock_real_models", "A real model that executes: answer (default) or refuse.", default="answer")
    parser.addini("llm_mock_passthrough", "Globs of the ids of models that run for real.", type="args")
    parser.addini("llm_mock_legacy_modules", "Old mocks to warn of, each module=Text.", type="linelist")


class HookSpecs:
    """The hook that the plugin calls."""

    @staticmethod
    @pytest.hookspec
    def pytest_llm_mock_configure(config: pytest.Config, mock: ResponseConfigurator) -> None:
        """Say in a conftest what is always answered, outside tests too.

        Called once a run (with pytest-xdist once in each worker) for each conftest or plugin that has it, that of an
        outer folder first, so that an inner one has the last word. Standing answers only: `mock.set`,
        `mock.set_error`, `mock.set_unknown`. What a test configures goes before them.

        Args:
            config: the pytest configuration.
            mock: the mock of the whole run.
        """


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(HookSpecs)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    _start(early_config)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "llm_live: call real models; skipped unless --llm-mock-live is given.")
    config.addinivalue_line(
        "markers", "llm_mock_strict(strict=True): whether a call that no configured reply fits fails the test."
    )
    run = _start(config)
    if hasattr(config, "workerinput"):
        run.user_environment = config.workerinput["llm_mock_environment"]
    config.pluginmanager.register(_EveryTest() if run.mock else _OnRequest(), "llm_mock_fixtures")
    try:
        config.stash[LEGACY] = LegacyMockDetector(config.getini("llm_mock_legacy_modules"))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    _configure_standing_answers(config)


def pytest_plugin_registered(manager: pytest.PytestPluginManager) -> None:
    """A conftest of a subfolder is loaded when the run is under way."""
    config = getattr(manager, "llm_mock_config", None)
    if config is not None:
        _configure_standing_answers(config)


def _configure_standing_answers(config: pytest.Config) -> None:
    """Call each `pytest_llm_mock_configure` once, that of an outer folder before that of an inner one."""
    config.pluginmanager.llm_mock_config = config  # type: ignore[attr-defined]
    arguments = {"config": config, "mock": config.stash[RUN].mock}
    asked = config.stash.setdefault(ASKED, set())
    for implementation in config.hook.pytest_llm_mock_configure.get_hookimpls():
        if arguments["mock"] is None or implementation.function in asked:
            continue
        asked.add(implementation.function)
        try:
            implementation.function(*(arguments[name] for name in implementation.argnames))
        except LLMMockError as error:
            raise pytest.UsageError(str(error)) from None


def _start(config: pytest.Config) -> TestRun:
    """The run of a configuration, started when it is first asked for."""
    if RUN not in config.stash:
        config.stash[RUN] = _new_run(config, _boolean(config, "llm_mock"))
        config.stash[RUN].start()
        config.add_cleanup(config.stash[RUN].stop)
    return config.stash[RUN]


def _new_run(config: pytest.Config, mocked: bool, within_opted_out_run: bool = False) -> TestRun:
    refuse = _choice(config, "llm_mock_real_models", "answer", "refuse") == "refuse"
    passthrough = config.getini("llm_mock_passthrough")
    return TestRun(mocked, passthrough, refuse, _settings(config), within_opted_out_run)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["llm_mock_environment"] = dict(node.config.stash[RUN].user_environment)


def _settings(config: pytest.Config) -> Settings:
    return Settings(
        lazy=_boolean(config, "llm_mock_lazy"),
        strict=_boolean(config, "llm_mock_strict"),
        schema=_choice(config, "llm_mock_schema", "warn", "error", "off"),
        autospec=_boolean(config, "llm_mock_autospec"),
        generate=_boolean(config, "llm_mock_generate"),
    )


def _choice(config: pytest.Config, name: str, *values: str) -> str:
    value = str(config.getini(name))
    if value not in values:
        raise pytest.UsageError(explain.bad_ini_choice(name, value, values))
    return value


def _boolean(config: pytest.Config, name: str) -> bool:
    try:
        return bool(config.getini(name))
    except (TypeError, ValueError, pytest.UsageError):
        raise pytest.UsageError(explain.bad_ini_boolean(name, config.inicfg.get(name))) from None


def pytest_report_header(config: pytest.Config) -> str | None:
    if config.stash[RUN].mock is None:
        return None
    real = [*config.getini("llm_mock_passthrough")]
    real += ["in tests marked llm_live"] if config.getoption("--llm-mock-live") else []
    return f"llm-mock: models of llm are mocked{', except ' if real else ''}{', '.join(real)}"


def pytest_sessionfinish(session: pytest.Session) -> None:
    mock = session.config.stash[RUN].mock
    if mock is not None:
        mock.add_totals(mock.calls)
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["llm_mock_totals"] = mock.totals


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    mock = node.config.stash[RUN].mock
    if mock is not None:
        add_totals(mock.totals, getattr(node, "workeroutput", {}).get("llm_mock_totals", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    mock = config.stash[RUN].mock
    if mock is None or not mock.totals:
        return
    something_to_say = any(sums["unconfigured"] for sums in mock.totals.values())
    if config.get_verbosity() > (-1 if something_to_say else 0):
        terminalreporter.section("LLM calls of the run")
        terminalreporter.write_line(explain.totals(mock.totals))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        markers = {marker.name for marker in item.iter_markers()}
        if "llm_live" in markers:
            if config.getoption("--llm-mock-live"):
                _use_fixture(item, "_llm_mock_live")
            else:
                item.add_marker(pytest.mark.skip(reason=explain.skipped_live_test()))
        if "llm_mock_strict" in markers:
            _use_fixture(item, "_llm_mock_strict")


def _use_fixture(item: pytest.Item, name: str) -> None:
    """Set a fixture up before all others of a test; other items than functions have none."""
    getattr(item, "fixturenames", []).insert(0, name)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    mock = item.config.stash[RUN].mock
    item.stash[EARLIER_CALLS] = len(mock.calls) if mock else 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    if warning := item.config.stash[LEGACY].check():
        _warn(item, warning)
    result = yield
    mock: Any = boundary.active()
    if mock is not None and (message := next(iter(mock.problems), None) or mock.unused_replies()):
        pytest.fail(message, pytrace=False)
    return result


def _warn(item: pytest.Item, warning: Warning) -> None:
    try:
        item.warn(warning)
        return
    except type(warning):  # where warnings are errors
        pass
    pytest.fail(str(warning), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.outcome == "failed" and call.when != "teardown":
        mock: Any = boundary.active()
        of_the_run = mock is not None and mock is item.config.stash[RUN].mock
        calls = mock.calls[item.stash.get(EARLIER_CALLS, 0) if of_the_run else 0 :] if mock is not None else []
        if calls:
            report.sections.append(("LLM calls", explain.call_list(calls)))
    return report


@pytest.fixture
def mock_llm_responses(mock_llm_calls: MockGetModel) -> ResponseConfigurator:
    """Say what the models answer in this test: `set`, `add`, `set_error`, `set_unknown`, `get_model`."""
    return mock_llm_calls


@pytest.fixture
def debug_llm(mock_llm_calls: MockGetModel, caplog: pytest.LogCaptureFixture) -> Iterator[MockGetModel]:
    """Log each call as it happens (logger `llm_mock`, level DEBUG), and print every model's calls after the test."""
    caplog.set_level(logging.DEBUG, logger="llm_mock")
    yield mock_llm_calls
    print(explain.calls_by_model(mock_llm_calls.models))


@pytest.fixture
def _llm_mock_live(request: pytest.FixtureRequest) -> Iterator[None]:
    with request.config.stash[RUN].live():
        yield


@pytest.fixture
def _llm_mock_strict(request: pytest.FixtureRequest, mock_llm_calls: MockGetModel) -> None:
    marker = request.node.get_closest_marker("llm_mock_strict")
    strict = marker.args[0] if marker.args else marker.kwargs.get("strict", True)
    mock_llm_calls.settings = mock_llm_calls.settings._replace(strict=strict)


class _EveryTest:
    """The fixture where the whole run is mocked."""

    @pytest.fixture(autouse=True)
    def mock_llm_calls(self) -> Iterator[MockGetModel]:
        """The mock of this test: every model that it asks for, every call that it makes, and the replies it sets."""
        yield from _mock_one_test()


class _OnRequest:
    """The fixture where the project opted out: a test that asks for it is mocked all the same."""

    @pytest.fixture
    def mock_llm_calls(self, pytestconfig: pytest.Config) -> Iterator[MockGetModel]:
        """The mock of this test; tests that do not ask for it use real models."""
        run = _new_run(pytestconfig, mocked=True, within_opted_out_run=True)
        run.start()
        try:
            yield from _mock_one_test()
        finally:
            run.stop()


def _mock_one_test() -> Iterator[MockGetModel]:
    outer: Any = boundary.active()
    mock = MockGetModel(outer=outer, at_boundary=True)
    previous = boundary.activate(mock)
    try:
        yield mock
    finally:
        boundary.activate(previous)
        if mock.calls and outer is not None:
            outer.add_totals(mock.calls)
