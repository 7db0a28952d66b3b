"""The fixtures of the plugin."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from llm_mock.core.context import LazyMock, current_mock
from llm_mock.errors import JudgeError, LLMMockError, MissingExtra
from llm_mock.plugin import CASSETTE_CLAIMS, UNUSED_RECORDINGS
from llm_mock.plugin.guard import reporting_hook
from llm_mock.plugin.run import RUN, activate_test_mock, create_run
from llm_mock.plugin.runtest import CURRENT_TEST

if TYPE_CHECKING:
    from llm_mock.agents import AgentResult, Score
    from llm_mock.agents.result import Finding
    from llm_mock.boundaries.http.server import MockServer
    from llm_mock.boundaries.llm.get_model import LLMMock
    from llm_mock.boundaries.llm.model import MockLLMModel
    from llm_mock.cassettes import Cassette, CassetteConfig
    from llm_mock.core.protocols import AppliedMisbehaviour


@pytest.fixture
def mock_llm_calls(_llm_mock_of_test: LazyMock) -> LLMMock:
    """Return the mock of this test, with its models, calls and replies."""
    mock: LLMMock = _llm_mock_of_test.get()
    return mock


@pytest.fixture
def mock_llm_responses(mock_llm_calls: object, _llm_mock_of_test: LazyMock) -> LLMMock:
    """Configure the replies of the models in this test.

    See `set`, `add`, `script`, `set_error`, `set_unknown` and `get_model`.
    """
    # Not the value of `mock_llm_calls`, which may be a fixture of the project.
    mock: LLMMock = _llm_mock_of_test.get()
    return mock


@pytest.fixture
def aitest_run() -> Callable[..., Coroutine[Any, Any, AgentResult]]:
    """Return the function that runs an agent in an async test.

    Example: `result = await aitest_run(agent, prompt)`.
    """
    return _import_agent_function("aitest_run_in_loop")


@pytest.fixture
def aitest_run_sync() -> Callable[..., AgentResult]:
    """Return the function that runs an agent in a test that is not async.

    Example: `result = aitest_run_sync(agent, prompt)`.
    """
    return _import_agent_function("aitest_run_sync")


def _import_agent_function(name: str) -> Callable[..., Any]:
    # `pytest.fail` outside of the handler: else pytest shows the import error as well.
    problem = ""
    try:
        from llm_mock.agents import run
    except MissingExtra as error:
        problem = str(error)
    if problem:
        pytest.fail(problem, pytrace=False)
    function: Callable[..., Any] = getattr(run, name)
    return function


@pytest.fixture
def llm_assert(request: pytest.FixtureRequest) -> Callable[..., Finding]:
    """Ask a model whether a text or an image meets a criterion.

    Example: `llm_assert(text, "Is a greeting")`.
    """
    from llm_mock.agents import assertions

    _check_judge(request)
    return assertions.llm_assert


@pytest.fixture
def llm_score(request: pytest.FixtureRequest) -> Callable[..., Score]:
    """Ask a model for a score from 0 to 1.

    Example: `assert llm_score(text, "Is polite") >= 0.8`.
    """
    from llm_mock.agents import assertions

    _check_judge(request)
    return assertions.llm_score


def _check_judge(request: pytest.FixtureRequest) -> None:
    """Raise an error if the test is live and `llm` does not know the judge of the project."""
    __tracebackhide__ = True
    # The mock answers for any name.
    if not request.node.get_closest_marker("llm_live"):
        return
    from llm_mock.core.judge_choice import get_judge_choice
    from llm_mock.suites.asked_models import AskedModel, find_unknown_models

    name = get_judge_choice().resolve(None)
    if name is None:
        return
    for unknown in find_unknown_models([AskedModel("judge", name, None)]):
        # Raised before the test runs, so that no call costs money.
        raise JudgeError(f"{unknown} The name comes from ini llm_mock_judge or --llm-mock-judge.")


@reporting_hook()
def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain a failed comparison with a score: the judge's reason and the model."""
    # Where the module was not imported, no value is a score.
    assertions = sys.modules.get("llm_mock.agents.assertions")
    if assertions is None:
        return None
    scores = [value for value in (left, right) if isinstance(value, assertions.Score)]
    if not scores:
        return None
    return [f"{_format_value(left)} {op} {_format_value(right)}", *scores[0].explain()]


def _format_value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


@pytest.fixture(scope="session")
def llm_mock_session_server() -> Iterator[MockServer]:
    """Return the server of `llm_mock_server`, for fixtures of any scope.

    The mock of the running test answers.
    """
    from llm_mock.boundaries.http.server import MockServer

    with MockServer(current_mock) as server:
        yield server


@pytest.fixture
def llm_mock_server(
    llm_mock_session_server: MockServer, _llm_mock_of_test: LazyMock
) -> Iterator[MockServer]:
    """Return a server that answers other programs with the replies of this test.

    See `url`, `openai_url`, … and `environment()`.
    """
    mock = _llm_mock_of_test.get()
    mock.server_environment = llm_mock_session_server.adapt_environment
    yield llm_mock_session_server
    mock.server_environment = None
    llm_mock_session_server.end_calls()


@pytest.fixture(scope="session")
def llm_mock_cassette_config() -> CassetteConfig:
    """Return the settings of cassettes: matching and redaction. Projects override this fixture."""
    from llm_mock.cassettes import CassetteConfig

    return CassetteConfig()


@pytest.fixture
def llm_mock_cassette(_llm_mock_cassette: Cassette) -> Cassette:
    """Record and replay the calls of this test; see `--llm-mock-record`."""
    return _llm_mock_cassette


@pytest.fixture
def _llm_mock_cassette(
    request: pytest.FixtureRequest, _llm_mock_of_test: LazyMock
) -> Iterator[Cassette]:
    from llm_mock.plugin.cassettes import ItemCassette

    config = request.config
    unused = config.stash.setdefault(UNUSED_RECORDINGS, [])
    conflict = config.stash.get(CASSETTE_CLAIMS, {}).get(request.node.nodeid)
    item_cassette = problem = None
    try:
        item_cassette = ItemCassette(request, config.stash[RUN], conflict, unused.append)
    except LLMMockError as error:
        problem = str(error)
    if item_cassette is None:
        # Outside of the handler: else pytest shows the exception as well.
        pytest.fail(str(problem), pytrace=False)
    config.stash[CURRENT_TEST].cassette = item_cassette
    mock = _llm_mock_of_test.get()
    mock.autospec()
    mock.cassette = item_cassette.cassette
    yield item_cassette.cassette
    mock.cassette = None
    item_cassette.end()


@pytest.fixture
def debug_llm(
    mock_llm_calls: object, _llm_mock_of_test: LazyMock, caplog: pytest.LogCaptureFixture
) -> Iterator[LLMMock]:
    """Log each call (logger `llm_mock`, level DEBUG), and print the calls after the test."""
    caplog.set_level(logging.DEBUG, logger="llm_mock")
    mock: LLMMock = _llm_mock_of_test.get()
    yield mock
    print(_format_calls_by_model(mock.models))


@pytest.fixture
def llm_mock_misbehaviour(
    _llm_mock_misbehaviour: AppliedMisbehaviour | None,
) -> AppliedMisbehaviour | None:
    """Return the misbehaviour of the models in this run of the test; None without the marker.

    See `name`, `description` and `calls`.
    """
    return _llm_mock_misbehaviour


@pytest.fixture
def _llm_mock_misbehaviour(
    request: pytest.FixtureRequest, _llm_mock_of_test: LazyMock
) -> Iterator[AppliedMisbehaviour | None]:
    if not hasattr(request, "param"):
        yield None
        return
    if request.node.get_closest_marker("llm_live"):
        pytest.fail(
            "This test is marked llm_live and llm_mock_misbehaviour, but only mocked models can "
            "misbehave: remove one of the markers.",
            pytrace=False,
        )
    mock = _llm_mock_of_test.get()
    yield mock.misbehave(*request.param)
    mock.misbehaviour = None


@pytest.fixture
def _llm_mock_live(request: pytest.FixtureRequest) -> Iterator[None]:
    with request.config.stash[RUN].live():
        yield


@pytest.fixture
def _llm_mock_strict(request: pytest.FixtureRequest, _llm_mock_of_test: LazyMock) -> None:
    mock = _llm_mock_of_test.get()
    from llm_mock.plugin.marker_checks import get_strictness

    marker = request.node.get_closest_marker("llm_mock_strict")
    level = get_strictness(marker)
    mock.settings = mock.settings._replace(strict=level, schema_check=level)


class OnRequest:
    """Mocks the tests that use one of our fixtures, in a project that opted out."""

    @pytest.fixture
    def _llm_mock_of_test(self, pytestconfig: pytest.Config) -> Iterator[LazyMock]:
        run = create_run(pytestconfig, mocked=True, within_opted_out_run=True)
        run.start()
        collector = pytestconfig.pluginmanager.get_plugin("llm_mock_collector")
        if collector is not None:
            collector.attach(run.mock)
        try:
            yield from activate_test_mock()
        finally:
            run.stop()


def _format_calls_by_model(models: Mapping[str, MockLLMModel]) -> str:
    """Return a text with each model, the number of its calls and the start of each prompt."""
    from llm_mock.support.redaction import redact
    from llm_mock.support.text import escape_unprintable

    lines = []
    for name, model in list(models.items()):
        lines.append(f"\nModel {name} called {model.prompt_count} times")
        for call in model.call_history:
            prompt = redact(call["prompt"])
            ellipsis = "..." if len(prompt) > 50 else ""
            lines.append(f"  - {escape_unprintable(prompt[:50])}{ellipsis}")
    return "\n".join(lines)
