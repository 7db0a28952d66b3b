"""The fixtures of the plugin."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from llm_mock.core.context import LazyMock, current_mock
from llm_mock.errors import LLMMockError, MissingExtra
from llm_mock.plugin.marker_checks import get_strictness
from llm_mock.plugin.run import RUN, mock_of_test, new_run
from llm_mock.plugin.stash import CASSETTE, CASSETTE_CLAIMS, UNUSED_RECORDINGS

if TYPE_CHECKING:
    from llm_mock.agents import AgentResult
    from llm_mock.boundaries.http.server import MockServer
    from llm_mock.boundaries.llm.get_model import LLMMock
    from llm_mock.boundaries.llm.model import MockLLMModel
    from llm_mock.cassettes import Cassette, CassetteConfig
    from llm_mock.core.protocols import AppliedMisbehaviour


@pytest.fixture
def mock_llm_calls(_llm_mock_of_test: LazyMock) -> LLMMock:
    """The mock of this test: every model that it asks for, every call that it makes, and the replies it sets."""
    mock: LLMMock = _llm_mock_of_test.get()
    return mock


@pytest.fixture
def mock_llm_responses(mock_llm_calls: object, _llm_mock_of_test: LazyMock) -> LLMMock:
    """Say what the models answer in this test: `set`, `add`, `add_all`, `set_error`, `set_unknown`, `get_model`."""
    mock: LLMMock = _llm_mock_of_test.get()  # `mock_llm_calls` may be the project's own
    return mock


@pytest.fixture
def aitest_run() -> Callable[..., Coroutine[Any, Any, AgentResult]]:
    """`llm_mock.agents.aitest_run`, for async tests: `result = await aitest_run(agent, prompt)`."""
    return _of_agents("aitest_run_in_loop")


@pytest.fixture
def aitest_run_sync() -> Callable[..., AgentResult]:
    """`llm_mock.agents.aitest_run_sync`, for other tests: `result = aitest_run_sync(agent, prompt)`."""
    return _of_agents("aitest_run_sync")


def _of_agents(name: str) -> Callable[..., Any]:
    problem = ""
    try:
        from llm_mock.agents import run
    except MissingExtra as error:
        problem = str(error)
    if problem:
        pytest.fail(problem, pytrace=False)
    function: Callable[..., Any] = getattr(run, name)
    return function


@pytest.fixture(scope="session")
def llm_mock_session_server() -> Iterator[MockServer]:
    """The server of `llm_mock_server`, for fixtures of any scope: the test that runs answers."""
    from llm_mock.boundaries.http.server import MockServer

    with MockServer(current_mock) as server:
        yield server


@pytest.fixture
def llm_mock_server(
    llm_mock_session_server: MockServer, _llm_mock_of_test: LazyMock
) -> Iterator[MockServer]:
    """A server that answers other programs as this test says: `url`, `openai_url`, …, `environment()`."""
    mock = _llm_mock_of_test.get()
    mock.server_environment = llm_mock_session_server.adapt_environment
    yield llm_mock_session_server
    mock.server_environment = None
    llm_mock_session_server.end_calls()


@pytest.fixture(scope="session")
def llm_mock_cassette_config() -> CassetteConfig:
    """How calls are found in cassettes, and what never gets into one; a project overrides it."""
    from llm_mock.cassettes import CassetteConfig

    return CassetteConfig()


@pytest.fixture
def llm_mock_cassette(_llm_mock_cassette: Cassette) -> Cassette:
    """The cassette of this test: its calls are replayed from it, and recorded in it; see `--llm-mock-record`."""
    return _llm_mock_cassette


@pytest.fixture
def _llm_mock_cassette(
    request: pytest.FixtureRequest, _llm_mock_of_test: LazyMock
) -> Iterator[Cassette]:
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
    mock = _llm_mock_of_test.get()
    mock.autospec()
    mock.cassette = own.cassette
    yield own.cassette
    mock.cassette = None
    own.end()


@pytest.fixture
def debug_llm(
    mock_llm_calls: object, _llm_mock_of_test: LazyMock, caplog: pytest.LogCaptureFixture
) -> Iterator[LLMMock]:
    """Log each call as it happens (logger `llm_mock`, level DEBUG), and print every model's calls after the test."""
    caplog.set_level(logging.DEBUG, logger="llm_mock")
    mock: LLMMock = _llm_mock_of_test.get()
    yield mock
    print(_calls_by_model(mock.models))


@pytest.fixture
def llm_mock_misbehaviour(
    _llm_mock_misbehaviour: AppliedMisbehaviour | None,
) -> AppliedMisbehaviour | None:
    """What the models do wrong in this run of the test: `name`, `description`, `calls`; None without the marker."""
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
            "This test is marked llm_live and llm_mock_misbehaviour, but only mocked models can be made to misbehave: "
            "remove one of the two.",
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
    marker = request.node.get_closest_marker("llm_mock_strict")
    mock.settings = mock.settings._replace(strict=get_strictness(marker))


class OnRequest:
    """Where the project opted out: a test that asks for a fixture is mocked all the same."""

    @pytest.fixture
    def _llm_mock_of_test(self, pytestconfig: pytest.Config) -> Iterator[LazyMock]:
        run = new_run(pytestconfig, mocked=True, within_opted_out_run=True)
        run.start()
        if collector := pytestconfig.pluginmanager.get_plugin("llm_mock_collector"):
            collector.attach(run.mock)
        try:
            yield from mock_of_test()
        finally:
            run.stop()


def _calls_by_model(models: Mapping[str, MockLLMModel]) -> str:
    """Every model with the number of its calls and the start of each prompt."""
    from llm_mock.support.redaction import redact
    from llm_mock.support.text import escape_unprintable

    lines = []
    for name, model in list(models.items()):
        lines.append(f"\nModel {name} called {model.prompt_count} times")
        for call in model.call_history:
            prompt = redact(call["prompt"])
            lines.append(
                f"  - {escape_unprintable(prompt[:50])}{'...' if len(prompt) > 50 else ''}"
            )
    return "\n".join(lines)
