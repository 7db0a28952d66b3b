"""The pytest plugin: hooks and fixtures.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from typing import Any, cast

import pytest

from llm_mock import boundary, explain, hookspecs
from llm_mock.activation import MockedRun
from llm_mock.errors import LLMMockError
from llm_mock.legacy import LegacyMockDetector
from llm_mock.registry import MockGetModel, ResponseConfigurator

RUN = pytest.StashKey[MockedRun]()
LEGACY = pytest.StashKey[LegacyMockDetector]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("llm_mock", "mocking of the llm library")
    group.addoption("--llm-mock-live", action="store_true", help="Run the tests marked llm_live, with real models.")
    parser.addini("llm_mock", "Mock llm in the whole run (default: true).", type="bool", default=True)
    parser.addini("llm_mock_lazy", "Decide a call when its response is read (default: false).", type="bool")
    parser.addini("llm_mock_passthrough", "Globs of the ids of models that run for real.", type="linelist")
    parser.addini("llm_mock_legacy_modules", "Old mocks to warn of, each module=Text.", type="linelist")


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    _start(early_config)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "llm_live: call real models; skipped unless --llm-mock-live is given.")
    run = _start(config)
    config.pluginmanager.register(_EveryTest() if run else _OnRequest(), "llm_mock_fixtures")
    try:
        config.stash[LEGACY] = LegacyMockDetector(config.getini("llm_mock_legacy_modules"))
        if run:
            hook = config.hook.pytest_llm_mock_configure
            hook.call_historic(kwargs={"config": config, "mock": run.mock})
    except (LLMMockError, ValueError) as error:
        raise pytest.UsageError(str(error)) from None


def _start(config: pytest.Config) -> MockedRun | None:
    """The mocked run of a configuration, started when it is first asked for; None where the project opted out."""
    if not _boolean(config, "llm_mock"):
        return None
    if RUN not in config.stash:
        config.stash[RUN] = MockedRun(config.getini("llm_mock_passthrough"), _boolean(config, "llm_mock_lazy"))
        config.stash[RUN].start()
    return config.stash[RUN]


def _boolean(config: pytest.Config, name: str) -> bool:
    try:
        return bool(config.getini(name))
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(explain.bad_ini_boolean(name, error)) from None


def pytest_unconfigure(config: pytest.Config) -> None:
    if run := config.stash.get(RUN, None):
        run.stop()


def pytest_report_header(config: pytest.Config) -> str | None:
    if RUN not in config.stash:
        return None
    passthrough = config.getini("llm_mock_passthrough")
    real = f", except {', '.join(passthrough)}" if passthrough else ""
    live = " and tests marked llm_live" if config.getoption("--llm-mock-live") else ""
    return f"llm-mock: models of llm are mocked{real}{live}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("llm_live"):
            if config.getoption("--llm-mock-live"):
                cast("Any", item).fixturenames.insert(0, "_llm_mock_live")
            else:
                item.add_marker(pytest.mark.skip(reason=explain.skipped_live_test()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    result = yield
    mock = cast("MockGetModel | None", boundary.active())
    if mock is not None and (message := mock.unused_replies()):
        pytest.fail(message, pytrace=False)
    item.config.stash[LEGACY].check(item.warn)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and call.when != "teardown":
        mock = cast("MockGetModel | None", boundary.active())
        if mock is not None and mock.calls:
            report.sections.append(("LLM calls", explain.call_list(mock.calls)))
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
    run = request.config.stash.get(RUN, None)
    if run is None:
        yield
        return
    with run.live():
        yield


class _EveryTest:
    """The fixture where the whole run is mocked."""

    @pytest.fixture(autouse=True)
    def mock_llm_calls(self) -> Iterator[MockGetModel]:
        """The mock of this test: every model that it asks for, every call that it makes, and the replies it sets."""
        yield from _mock_one_test()


class _OnRequest:
    """The fixture where the project opted out: a test that asks for it is mocked all the same."""

    @pytest.fixture
    def mock_llm_calls(self) -> Iterator[MockGetModel]:
        """The mock of this test; tests that do not ask for it use real models."""
        boundary.attach()
        yield from _mock_one_test()


def _mock_one_test() -> Iterator[MockGetModel]:
    mock = MockGetModel(outer=cast("MockGetModel | None", boundary.active()), at_boundary=True)
    previous = boundary.activate(mock)
    try:
        yield mock
    finally:
        boundary.activate(previous)
