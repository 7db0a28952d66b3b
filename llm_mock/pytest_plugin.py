"""The pytest plugin: hooks and fixtures.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Generator, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from llm_mock.behaviour.misbehaviour import Misbehaviour
    from llm_mock.cassettes import Cassette, CassetteConfig
    from llm_mock.core.records import CallRecord
    from llm_mock.cost.prices import Prices


class _OwnModules:
    """Finds this package's modules without pytest's rewriting of assertions, which would double their import time."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, path, target) if name.startswith("llm_mock.") else None


sys.meta_path.insert(0, _OwnModules)
try:
    from llm_mock import explain
    from llm_mock.boundaries.activation import TestRun, mock_of_test
    from llm_mock.boundaries.llm import boundary
    from llm_mock.boundaries.llm.registry import MockGetModel
    from llm_mock.core.checks import Settings
    from llm_mock.core.configurator import ResponseConfigurator
    from llm_mock.core.records import add_totals
    from llm_mock.errors import LLMMockError
    from llm_mock.plugin.legacy import LegacyMockDetector
    from llm_mock.plugin.spec_drivers import DRIVERS
finally:
    sys.meta_path.remove(_OwnModules)

RUN = pytest.StashKey[TestRun]()
EARLIER_CALLS = pytest.StashKey[int]()
ASKED = pytest.StashKey[set[Any]]()
LEGACY = pytest.StashKey[LegacyMockDetector]()
BUDGET_OF_RUN, BUDGETS_OF_TESTS = "llm_mock_budget_of_run", "llm_mock_budgets_of_tests"
MISBEHAVIOUR = "llm_mock_misbehaviour"
CASSETTE_CLAIMS = pytest.StashKey[dict[str, str]]()
CASSETTE = pytest.StashKey[Any]()
RECORD_MODES = ("none", "once", "new_episodes", "all", "rewrite")
UNUSED_RECORDINGS = pytest.StashKey[list[str]]()
AGENT_RUNS = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("llm_mock", "mocking of the llm library")
    group.addoption("--llm-mock-live", action="store_true", help="Run the tests marked llm_live, with real models.")
    group.addoption(
        "--llm-mock-record",
        choices=RECORD_MODES,
        help="Record mode of the tests with a cassette: none, once, new_episodes, all or rewrite.",
    )
    group.addoption(
        "--llm-mock-report",
        action="append",
        default=[],
        metavar="PATH",
        help="Write every test's calls to PATH: a page (.html) or data (.json). May be given more than once.",
    )
    group.addoption("--llm", action="store_true", help="Collect plain-language tests: YAML files in folders named llm.")
    group.addoption("--llm-verbose", action="store_true", help="Show the steps of plain-language tests as they happen.")
    group.addoption("--llm-timeout", type=int, metavar="SECONDS", help="What a plain-language test may take.")
    group.addoption(
        "--llm-mock-dry-run", action="store_true", help="Run plain-language tests without a model: only their tools."
    )
    parser.addini("llm_mock", "Mock llm in the whole run (default: true).", type="bool", default=True)
    parser.addini("llm_mock_lazy", "Decide a call when its response is read (default: false).", type="bool")
    parser.addini("llm_mock_strict", "A call that no configured reply fits fails (default: false).", type="bool")
    parser.addini("llm_mock_autospec", "Refuse what the real model would refuse (default: false).", type="bool")
    parser.addini("llm_mock_generate", "Answer schemas with generated instances (default: false).", type="bool")
    parser.addini("llm_mock_schema", "A reply that breaks the schema: warn (default), error or off.", default="warn")
    parser.addini("llm_mock_real_models", "A real model that executes: answer (default) or refuse.", default="answer")
    parser.addini("llm_mock_passthrough", "Globs of the ids of models that run for real.", type="args")
    parser.addini("llm_mock_record", "The record mode of cassettes (default: none).", default="none")
    parser.addini("llm_mock_unused_recordings", "Recorded calls not asked for: report or error.", default="report")
    parser.addini("llm_mock_max_cost", "What the calls of the run may cost together, in US dollars.", default="")
    parser.addini("llm_mock_max_tokens", "How many tokens the calls of the run may take together.", default="")
    parser.addini("llm_mock_prices", "Prices, each model = input output, US dollars a million.", type="linelist")
    parser.addini("llm_mock_suites", "Suites to collect, and their role, each GLOB = ROLE.", type="linelist")
    parser.addini("llm_mock_spec_driver", f"Who does plain-language tests: {' or '.join(DRIVERS)}.", default="llm")
    parser.addini("llm_mock_spec_model", "The model that does plain-language tests.", default="")
    parser.addini("llm_mock_allowed_hosts", "Globs of hosts that plain-language tests may reach.", type="args")
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
    config.addinivalue_line(
        "markers",
        "llm_mock_misbehaviour(*names, times=None): run the test once for each misbehaviour of the models, by default "
        "all that `llm-mock misbehaviours` lists; in every call that it can be applied to, or in the first `times`.",
    )
    config.addinivalue_line(
        "markers", "llm_mock_cassette(name=None, record=None): record the test's calls, and replay them from then on."
    )
    config.addinivalue_line(
        "markers", "llm_mock_budget(cost=None, tokens=None): what the test's calls may use: US dollars, tokens."
    )
    config.addinivalue_line("markers", "llm: a plain-language test; collected with --llm.")
    _choice(config, "llm_mock_record", *RECORD_MODES)
    _choice(config, "llm_mock_unused_recordings", "report", "error")
    run = _start(config)
    if hasattr(config, "workerinput"):
        run.user_environment = config.workerinput["llm_mock_environment"]
    config.pluginmanager.register(_EveryTest() if run.mock else _OnRequest(), "llm_mock_fixtures")
    if config.getoption("--llm-mock-report") or config.getoption("xmlpath", None):
        from llm_mock.plugin import report as plugins

        plugins.register(config, run)
    if any(config.getini(f"llm_mock_{name}") for name in ("max_cost", "max_tokens", "prices")):
        from llm_mock.plugin.budget import budget_of_run

        config.pluginmanager.register(budget_of_run(config, run.mock), BUDGET_OF_RUN)
    if config.getini("llm_mock_suites"):
        from llm_mock.plugin.suite_items import SuiteCollector

        config.pluginmanager.register(SuiteCollector(config, run), "llm_mock_suites")
    if config.getoption("--llm"):
        from llm_mock.plugin.spec_items import SpecCollector

        config.pluginmanager.register(SpecCollector(config, run), "llm_mock_specs")
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
        config.add_cleanup(_end_servers)  # also after Ctrl-C
    return config.stash[RUN]


def _end_servers() -> None:
    """End the servers of agents, where some were started."""
    if pool := sys.modules.get("llm_mock.agents.pool"):
        pool.pool_of_process().close()


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
        prices=_prices(config),
    )


def _prices(config: pytest.Config) -> Prices:
    lines = config.getini("llm_mock_prices")
    if not lines:
        return ()
    from llm_mock.cost.prices import prices_from

    try:
        return prices_from(lines)
    except LLMMockError as error:
        raise pytest.UsageError(str(error)) from None


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
    run = session.config.stash[RUN]
    output = getattr(session.config, "workeroutput", None)
    if run.mock is not None:
        run.mock.add_totals(run.mock.calls)
        if output is not None:
            output["llm_mock_totals"] = run.mock.totals
    if output is not None:
        output["llm_mock_unused"] = session.config.stash.get(UNUSED_RECORDINGS, [])
        output["llm_mock_agents"] = run.agents


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    run = node.config.stash[RUN]
    output = getattr(node, "workeroutput", {})
    if run.mock is not None:
        add_totals(run.mock.totals, output.get("llm_mock_totals", {}))
    if agents := output.get("llm_mock_agents"):
        from llm_mock.agents.summary import add

        add(run.agents, agents)
    node.config.stash.setdefault(UNUSED_RECORDINGS, []).extend(output.get("llm_mock_unused", []))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if unused := config.stash.get(UNUSED_RECORDINGS, []):
        from llm_mock.plugin.cassette_of_test import REMOVE_UNUSED

        terminalreporter.section("Recorded LLM calls that were not asked for")
        terminalreporter.write_line("\n".join([*sorted(unused), REMOVE_UNUSED]))
    if (agents := config.stash[RUN].agents) and config.get_verbosity() >= 0:
        from llm_mock.agents import summary

        terminalreporter.section("Agents of the run")
        terminalreporter.write_line(summary.table(agents))
    _write_totals(terminalreporter, config)


def _write_totals(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    mock = config.stash[RUN].mock
    if mock is None or not mock.totals:
        return
    something_to_say = any(sums["unconfigured"] for sums in mock.totals.values())
    if config.get_verbosity() > (-1 if something_to_say else 0):
        terminalreporter.section("LLM calls of the run")
        budget = config.pluginmanager.get_plugin(BUDGET_OF_RUN)
        terminalreporter.write_line(explain.totals(mock.totals, budget and budget.models))


def pytest_make_parametrize_id(val: object) -> str | None:
    """Agents, and what they are made of, name themselves."""
    name = getattr(type(val), "llm_mock_id", None)
    return None if name is None else str(getattr(val, "llm_mock_id"))  # noqa: B009 (no attribute to mypy)


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    node: Any = metafunc.definition
    markers: list[pytest.Mark] = []
    while node is not None and not markers:  # the closest ones; `iter_markers` would cost every test more
        for marker in node.own_markers:
            if marker.name == MISBEHAVIOUR:
                markers.append(marker)
        node = node.parent
    if not markers:
        return
    from llm_mock.behaviour.misbehaviour import marked

    try:
        chosen = marked(markers)
    except LLMMockError as error:
        raise pytest.fail.Exception(f"In {metafunc.definition.nodeid}: {error}", pytrace=False) from None
    if MISBEHAVIOUR not in metafunc.fixturenames:
        metafunc.fixturenames.append(MISBEHAVIOUR)  # else it could not be parametrized
    metafunc.parametrize(MISBEHAVIOUR, chosen, ids=[name for name, _ in chosen], indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    with_cassette = []
    for item in items:
        markers = {marker.name for marker in item.iter_markers()}
        if "llm_live" in markers:
            if config.getoption("--llm-mock-live"):
                _use_fixture(item, "_llm_mock_live")
            else:
                item.add_marker(pytest.mark.skip(reason=explain.skipped_live_test()))
        if "llm_mock_strict" in markers:
            _use_fixture(item, "_llm_mock_strict")
        if MISBEHAVIOUR in markers:
            _use_misbehaviour(item)
        if "llm_mock_budget" in markers:
            _watch_budget(item)
        if "llm_mock_cassette" in markers:
            _use_cassette(item)
            with_cassette.append(item)
    if with_cassette:
        from llm_mock.plugin.cassette_of_test import conflicting_claims

        config.stash[CASSETTE_CLAIMS] = conflicting_claims(with_cassette)


def _watch_budget(item: pytest.Item) -> None:
    from llm_mock.plugin.budget import BudgetsOfTests, budget_of

    budget_of(item)  # a marker that gives none is an error before the first test
    manager = item.config.pluginmanager
    if not manager.has_plugin(BUDGETS_OF_TESTS):
        manager.register(BudgetsOfTests(_calls_of_test), BUDGETS_OF_TESTS)


def _use_fixture(item: pytest.Item, name: str) -> None:
    """Set a fixture up before all others of a test; other items than functions have none."""
    getattr(item, "fixturenames", []).insert(0, name)


def _use_cassette(item: Any) -> None:
    """Set the cassette up before all other fixtures that are the test's own; those of more tests come before it."""
    names, definitions = getattr(item, "fixturenames", []), getattr(item, "_fixtureinfo", None)
    known = definitions.name2fixturedefs if definitions is not None else {}
    wider = [
        position for position, name in enumerate(names, 1) if name in known and known[name][-1].scope != "function"
    ]
    names.insert(max(wider, default=0), "llm_mock_cassette")


def _use_misbehaviour(item: Any) -> None:
    """Set the misbehaviour up after all other fixtures of a test: it is for the test, not for what prepares it."""
    if MISBEHAVIOUR not in getattr(getattr(item, "callspec", None), "params", ()):
        item.add_marker(pytest.mark.skip(reason=explain.misbehaviour_needs_function(item.nodeid)))
    elif MISBEHAVIOUR not in item.fixturenames:
        item.fixturenames.append(MISBEHAVIOUR)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    mock = item.config.stash[RUN].mock
    item.stash[EARLIER_CALLS] = len(mock.calls) if mock else 0
    if agents := sys.modules.get("llm_mock.agents.summary"):
        agents.taken()  # what was run between the tests


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    if warning := item.config.stash[LEGACY].check():
        _warn(item, warning)
    passed = False
    try:
        result = yield
        mock: Any = boundary.active()
        if mock is not None and (message := next(iter(mock.problems), None) or mock.unused_replies()):
            pytest.fail(message, pytrace=False)
        if mock is not None and mock.misbehaviour is not None and not mock.misbehaviour.calls:
            pytest.skip(mock.misbehaviour.not_applied(len(mock.calls)))
        passed = True
    finally:
        if CASSETTE in item.stash:
            item.stash[CASSETTE].finish(passed)
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
        if mock is not None and mock.misbehaviour is not None:
            report.sections.append(("LLM misbehaviour", str(mock.misbehaviour)))
        if (calls := _calls_of_test(item)) and not hasattr(item, "failure_shows_calls"):
            from llm_mock.support.redaction import default_redactor

            redactor = getattr(mock, "redactor", None) or default_redactor()
            report.sections.append(("LLM calls", redactor.clean(explain.call_list(calls))))
    if "llm_mock.agents.summary" in sys.modules:
        _take_agent_runs(item, report)
    if report.outcome == "skipped" and isinstance(report.longrepr, tuple) and report.longrepr[0] == __file__:
        report.longrepr = (str(item.path), (item.location[1] or 0) + 1, report.longrepr[2])  # not where we skipped it
    return report


def _take_agent_runs(item: pytest.Item, report: pytest.TestReport) -> None:
    from llm_mock.agents.summary import RunsOfTest

    runs = RunsOfTest() if report.when == "setup" else item.stash.get(AGENT_RUNS, None) or RunsOfTest()
    item.stash[AGENT_RUNS] = runs
    runs.take(report, shown=not hasattr(item, "failure_shows_calls"))
    if report.when == "teardown":
        runs.add_to(item.config.stash[RUN].agents)
        del item.stash[AGENT_RUNS]


def _calls_of_test(item: pytest.Item) -> list[CallRecord] | None:
    """The calls of a test so far; None where they are not mocked."""
    mock: Any = boundary.active()
    if mock is None:
        return None
    calls: list[CallRecord] = mock.calls
    return calls[item.stash.get(EARLIER_CALLS, 0) :] if mock is item.config.stash[RUN].mock else calls


@pytest.fixture
def mock_llm_responses(mock_llm_calls: MockGetModel) -> ResponseConfigurator:
    """Say what the models answer in this test: `set`, `add`, `set_error`, `set_unknown`, `get_model`."""
    return mock_llm_calls


@pytest.fixture
def aitest_run() -> Callable[..., Any]:
    """`llm_mock.agents.aitest_run`, for async tests: `result = await aitest_run(agent, prompt)`."""
    from llm_mock.agents.run import aitest_run_in_loop

    return aitest_run_in_loop


@pytest.fixture
def aitest_run_sync() -> Callable[..., Any]:
    """`llm_mock.agents.aitest_run_sync`, for other tests: `result = aitest_run_sync(agent, prompt)`."""
    from llm_mock.agents import aitest_run_sync

    return aitest_run_sync


@pytest.fixture(scope="session")
def llm_mock_cassette_config() -> CassetteConfig:
    """How calls are found in cassettes, and what never gets into one; a project overrides it."""
    from llm_mock.cassettes import CassetteConfig

    return CassetteConfig()


@pytest.fixture
def llm_mock_cassette(request: pytest.FixtureRequest, mock_llm_calls: MockGetModel) -> Iterator[Cassette]:
    """The cassette of this test: its calls are replayed from it, and recorded in it; see `--llm-mock-record`."""
    from llm_mock.plugin.cassette_of_test import CassetteOfTest

    config = request.config
    unused = config.stash.setdefault(UNUSED_RECORDINGS, [])
    conflict = config.stash.get(CASSETTE_CLAIMS, {}).get(request.node.nodeid)
    own = problem = None
    try:
        own = CassetteOfTest(request, config.stash[RUN], conflict, unused.append)
    except LLMMockError as error:
        problem = str(error)
    if own is None:
        pytest.fail(str(problem), pytrace=False)
    request.node.stash[CASSETTE] = own
    mock_llm_calls.autospec()
    mock_llm_calls.cassette, mock_llm_calls.redactor = own.cassette, own.redactor
    yield own.cassette
    mock_llm_calls.cassette = None
    own.end()


@pytest.fixture
def debug_llm(mock_llm_calls: MockGetModel, caplog: pytest.LogCaptureFixture) -> Iterator[MockGetModel]:
    """Log each call as it happens (logger `llm_mock`, level DEBUG), and print every model's calls after the test."""
    caplog.set_level(logging.DEBUG, logger="llm_mock")
    yield mock_llm_calls
    print(explain.calls_by_model(mock_llm_calls.models))


@pytest.fixture
def llm_mock_misbehaviour(
    request: pytest.FixtureRequest, mock_llm_calls: MockGetModel
) -> Iterator[Misbehaviour | None]:
    """What the models do wrong in this run of the test: `name`, `description`, `calls`; None without the marker."""
    if not hasattr(request, "param"):
        yield None
        return
    if request.node.get_closest_marker("llm_live"):
        pytest.fail(explain.live_with_misbehaviour(), pytrace=False)
    yield mock_llm_calls.misbehave(*request.param)
    mock_llm_calls.misbehaviour = None


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
        yield from mock_of_test()


class _OnRequest:
    """The fixture where the project opted out: a test that asks for it is mocked all the same."""

    @pytest.fixture
    def mock_llm_calls(self, pytestconfig: pytest.Config) -> Iterator[MockGetModel]:
        """The mock of this test; tests that do not ask for it use real models."""
        run = _new_run(pytestconfig, mocked=True, within_opted_out_run=True)
        run.start()
        if collector := pytestconfig.pluginmanager.get_plugin("llm_mock_collector"):
            collector.attach(run.mock)
        try:
            yield from mock_of_test()
        finally:
            run.stop()
