"""Retries of turns against a real HTTP server, with `llm`'s own OpenAI models."""

from __future__ import annotations

import asyncio
import http.client
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import httpx
import llm
import openai
import pytest
import requests
from llm.default_plugins.openai_models import AsyncChat, Chat

from llm_mock import LLMMock, ResponseConfigurator
from llm_mock.agents import Agent, CLIServer, Provider, retry
from llm_mock.cassettes import Cassette
from llm_mock.core.context import activate, set_passthrough
from llm_mock.support.deadline import Deadline
from tests.agents.flaky_server import FlakyServer, flaky_server
from tests.agents.runs import Run

WAITED = 0.25
"""Seconds; a short `Retry-After`."""


@pytest.fixture(scope="module")
def running() -> Iterator[FlakyServer]:
    with flaky_server() as started:
        yield started


@pytest.fixture
def server(running: FlakyServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[FlakyServer]:
    """Yield the server, and a registered model `loopback` that asks it and is not mocked."""
    from llm.plugins import pm

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)
    running.requests.clear()
    running.failures.clear()
    running.attempts = 0
    options: dict[str, Any] = {"api_base": running.url, "supports_tools": True, "vision": True}

    class Plugin:
        @staticmethod
        @llm.hookimpl
        def register_models(register: Any) -> None:
            register(
                Chat("loopback", key="none", **options),
                AsyncChat("loopback", key="none", **options),
            )

    pm.register(Plugin, "loopback")
    previous = set_passthrough(["loopback"])
    yield running
    set_passthrough(previous)
    pm.unregister(name="loopback")


AGENT = Agent(Provider("loopback", key="none"), system_prompt="Be brief")


def test_a_rate_limit_a_broken_server_and_a_dropped_connection_are_survived(
    server: FlakyServer, run: Run
) -> None:
    server.failures = [(429, {"Retry-After": str(WAITED)}), (500, {}), "drop"]
    start = time.perf_counter()
    result = run(AGENT, "Hello")
    assert result
    assert result.final_response == "Answer 1 to: Hello"
    assert time.perf_counter() - start >= WAITED
    assert server.attempts == 4, "the SDK does not retry beside us"
    assert [error.split(":")[0] for error in result.turns[0].retried] == [
        "RateLimitError",
        "InternalServerError",
        "APIConnectionError",
    ]
    assert (result.usage.input or 0) > 0


def test_a_stream_that_is_cut_is_asked_for_again_from_its_beginning(
    server: FlakyServer, run: Run
) -> None:
    server.failures = ["cut"]
    result = run(AGENT, "Hello")
    assert result.final_response == "Answer 1 to: Hello"
    assert server.attempts == 2


def test_only_the_turn_that_failed_is_repeated(
    server: FlakyServer, run: Run, tmp_path: Path
) -> None:
    log = tmp_path / "calls"
    script = f'echo call >> "{log}"; echo sunny'
    tool = CLIServer("weather", ["sh", "-c", script])
    server.failures = [None, (503, {}), (503, {})]
    result = run(Agent(AGENT.provider, cli_servers=[tool]), "What is the weather?")
    assert result
    assert result.final_response.startswith("The tool says sunny")
    assert log.read_text() == "call\n"
    assert server.attempts == 4
    assert [len(turn.retried) for turn in result.turns] == [0, 2]


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_after_the_last_retry_the_run_fails(retries: int, server: FlakyServer, run: Run) -> None:
    server.failures = [(503, {"Retry-After": "0"})] * 20
    result = run(Agent(Provider("loopback", key="none", retries=retries)), "Hello")
    assert not result
    assert server.attempts == retries + 1
    after = f" (after {retries + 1} attempts)" if retries else ""
    assert (result.error or "").startswith("InternalServerError: ")
    assert (result.error or "").endswith(after)
    assert retry.get_status(result.exception or Exception()) == 503


@pytest.mark.parametrize("status", [400, 401, 404])
def test_other_errors_are_not_retried(status: int, server: FlakyServer, run: Run) -> None:
    server.failures = [(status, {})] * 5
    assert not run(AGENT, "Hello").success
    assert server.attempts == 1


def test_a_provider_that_wants_a_very_long_pause_is_not_waited_for(
    server: FlakyServer, run: Run
) -> None:
    server.failures = [(429, {"Retry-After": "3600"})] * 5
    start = time.perf_counter()
    assert not run(AGENT, "Hello").success
    assert time.perf_counter() - start < 10
    assert server.attempts == 1


def test_the_system_prompt_and_the_conversation_are_sent_once(
    server: FlakyServer, run: Run, echo: CLIServer
) -> None:
    assert run(Agent(AGENT.provider, cli_servers=[echo], system_prompt="Be brief"), "Hello")
    assert [
        [message["role"] for message in request["messages"]] for request in server.requests
    ] == [
        ["system", "user"],
        ["system", "user", "assistant", "tool"],
    ]


def test_no_test_waits_where_a_mock_answers(
    run: Run, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.add("m", ConnectionError("no route"), times=3)
    mock_llm_responses.add("m", "Here I am")
    start = time.perf_counter()
    result = run(Agent("m"), "Hello")
    assert result.turns[0].retried == ("ConnectionError: no route",) * 3
    # The real waits are 0.5, 1 and 2 seconds at least.
    assert time.perf_counter() - start < 3


def recorded(folder: Path, run: Run, mode: Any) -> Any:
    """Return the result of a run with a cassette."""
    mock = LLMMock(at_boundary=True)
    mock.autospec()
    cassette = mock.cassette = Cassette(folder / "cassette.yaml", mode)
    previous = activate(mock)
    try:
        result = run(AGENT, "Hello")
    finally:
        activate(previous)
    cassette.save(passed=True)
    return result


def test_a_recorded_run_is_replayed_with_its_failures(
    server: FlakyServer, run: Run, tmp_path: Path
) -> None:
    set_passthrough([])

    server.failures = [(400, {})]
    first = recorded(tmp_path, run, "once")
    made = server.attempts
    assert made == 1
    assert recorded(tmp_path, run, "none") == first
    assert server.attempts == made


def test_a_recorded_failure_and_its_retry_are_replayed_without_a_wait(
    server: FlakyServer, run: Run, tmp_path: Path
) -> None:
    set_passthrough([])
    server.failures = [(503, {"Retry-After-Ms": "10"})] * 3  # as often as the SDK asks by itself
    first = recorded(tmp_path, run, "once")
    assert first
    assert len(first.turns[0].retried) == 1
    server.attempts = 0
    assert recorded(tmp_path, run, "none") == first
    assert server.attempts == 0


# What counts as what


class WithStatus(Exception):
    """An error as an SDK raises it."""

    def __init__(self, message: str = "", **values: Any) -> None:
        super().__init__(message)
        self.__dict__.update(values)


class Answered:
    """The HTTP response in an error."""

    def __init__(self, status_code: int, headers: dict[str, str]) -> None:
        self.status_code, self.headers = status_code, headers


def caused(cause: BaseException) -> BaseException:
    error = llm.ModelError("it failed")
    error.__cause__ = cause
    return error


def circular(error: BaseException) -> BaseException:
    error.__cause__ = caused(error)
    return error


CONNECTION_ERRORS = """
APIConnectionError ClientConnectionError ConnectionError IncompleteRead TransportError Timeout
TimeoutError
"""
TRANSIENT_TEXTS = ("HTTP 503", "status 500", "status: 429", "status code=529", "error CODE 599")
OTHER_TEXTS = ("HTTP 5031", "HTTP 50", "xHTTP 503", "the code 503", "HTTP is 503", "status 404")
REQUEST: Any = httpx.Request("POST", "https://api.openai.com")


@pytest.mark.parametrize(
    ("error", "transient"),
    [
        (WithStatus(status_code=429), True),
        (WithStatus(status_code=529), True),
        (WithStatus(status_code=409), False),
        (WithStatus(status_code=499), False),
        (WithStatus(status_code=500), True),
        (WithStatus(status_code=599), True),
        (WithStatus(status_code=600), False),
        (WithStatus(status_code=100, code=503), False),
        (WithStatus(status_code=99, code=503), True),
        (WithStatus(status_code=True, code=429), True),
        (WithStatus(code=503), True),
        (WithStatus(code="rate_limit_exceeded"), False),
        (WithStatus(response=Answered(502, {})), True),
        (llm.ModelError("Error code: 429 - Slow down"), True),
        (llm.ModelError("Error code: 400 - 429 is no prompt"), False),
        (llm.ModelError("The answer is 500 words too long"), False),
        (ValueError("Error code: 429"), False),
        (ConnectionResetError(), True),
        (TimeoutError(), True),
        (type("ReadTimeout", (type("TransportError", (Exception,), {}),), {})(), True),
        (caused(ConnectionError()), True),
        (caused(WithStatus(status_code=400)), False),
        (circular(WithStatus()), False),
        *((type(name, (Exception,), {})(), True) for name in CONNECTION_ERRORS.split()),
        (RuntimeError("anything else"), False),
        *((WithStatus(status_code=status), False) for status in (428, 430, 499, 600)),
        *((WithStatus(status_code=status), True) for status in (500, 501, 599)),
        # What is no status is looked for elsewhere in the error.
        *((WithStatus(status_code=none, code=503), True) for none in (99, 600, True, "400")),
        (WithStatus(status_code=400, code=503), False),
        (WithStatus(response=Answered(400, {}), code=503), False),
        *((llm.ModelError(f"It failed: {text}"), True) for text in TRANSIENT_TEXTS),
        *((llm.ModelError(f"It failed: {text}"), False) for text in OTHER_TEXTS),
        (http.client.IncompleteRead(b""), True),
        (httpx.ConnectError(""), True),
        (httpx.InvalidURL(""), False),
        (requests.ConnectionError(), True),
        (requests.ReadTimeout(), True),
        (requests.TooManyRedirects(), False),
        (aiohttp.ServerDisconnectedError(), True),
        (aiohttp.ClientPayloadError(), False),
        (openai.APIConnectionError(request=REQUEST), True),
        (openai.APITimeoutError(request=REQUEST), True),
        (openai.APIError("", REQUEST, body=None), False),
        (OSError(), False),
    ],
)
def test_what_is_retried(error: BaseException, transient: bool) -> None:
    assert retry.is_transient(error) is transient


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "soon"}, None),
        ({"Retry-After": "7"}, 7),
        ({"retry-after-ms": "-250"}, 0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"retry-after": "Wed, 21 Oct 2099 07:28:00 -0000"}, None),
        ({"retry-after-ms": "soon", "retry-after": "9"}, None),
        ({}, None),
    ],
)
def test_how_long_the_provider_wants_to_be_left_alone(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry.retry_after(WithStatus(response=Answered(429, headers))) == seconds
    assert retry.retry_after(WithStatus(headers=headers)) == seconds
    assert retry.retry_after(caused(WithStatus(headers=headers))) == seconds


def test_a_date_to_come_again_is_understood() -> None:
    then = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=30), usegmt=True)
    seconds = retry.retry_after(caused(WithStatus(response=Answered(429, {"retry-after": then}))))
    assert seconds is not None
    assert 25 < seconds <= 30


@pytest.mark.parametrize(
    ("attempt", "left", "headers", "seconds"),
    [
        (1, 60.0, {}, 0.75),
        (2, 60.0, {}, 1.25),
        (4, 60.0, {}, 4.25),
        (9, 60.0, {}, 8.25),
        (9, 5.0, {}, 5.0),
        (1, 60.0, {"retry-after": "7"}, 7.0),
        (1, 60.0, {"retry-after": "0"}, 0.0),
    ],
)
def test_each_wait_is_twice_as_long_and_ends_with_the_run(
    attempt: int,
    left: float,
    headers: dict[str, str],
    seconds: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The longest random part.
    monkeypatch.setattr("random.random", lambda: 1.0)
    error = WithStatus(response=Answered(429, headers))
    state = SimpleNamespace(
        outcome=SimpleNamespace(exception=lambda: error),
        attempt_number=attempt,
    )
    retries = retry.Retries(3, lambda: False, Deadline(left))
    assert retries._get_wait(state) == pytest.approx(seconds, abs=0.1)


@pytest.mark.parametrize(
    ("headers", "number"),
    [
        ({"x-stainless-retry-count": "2"}, 2),
        ({"x-stainless-retry-count": "two"}, 0),
        ({"x-stainless-retry-count": 2}, 0),
        ({}, 0),
        (None, 0),
    ],
)
def test_retries_of_an_sdk_are_those_in_its_header(
    headers: dict[str, object] | None, number: int
) -> None:
    request = SimpleNamespace(headers=headers)
    assert retry.get_sdk_retries(WithStatus(request=request)) == number


def test_what_an_sdk_retried_by_itself_counts() -> None:
    request = type("Request", (), {"headers": {"x-stainless-retry-count": "2"}})()
    attempts: list[int] = []

    class Response:
        def __iter__(self) -> Iterator[str]:
            attempts.append(1)
            raise WithStatus(status_code=500, request=request)

    retries = retry.Retries(3, lambda: True, Deadline(60.0))
    with pytest.raises(WithStatus):
        retries.read(Response())
    assert len(attempts) == 2


def test_a_cancelled_run_does_not_wait(server: FlakyServer) -> None:
    from llm_mock.agents import aitest_run

    server.failures = [(429, {"Retry-After": "60"})]

    async def impatient() -> None:
        await asyncio.wait_for(aitest_run(AGENT, "Hello"), 0.5)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(impatient())
