"""The timeouts of clients in this process, which the virtual clock decides."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import aiohttp
import anthropic
import httpx
import httpx2
import openai
import pytest
import requests
import trio
from google import genai

from llm_mock import Latency, LLMMock, Reply

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
CHAT = "https://api.openai.com/v1/chat/completions"
QUESTION: Any = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
STREAM = {**QUESTION, "stream": True}


@pytest.fixture(autouse=True)
def no_time_passes() -> Iterator[None]:
    """Yield a wait of a minute would be noticed, on a busy machine too."""
    started = time.monotonic()
    yield
    assert time.monotonic() - started < 20


def by_httpx(timeout: float | None) -> list[str]:
    with httpx.stream("POST", CHAT, json=STREAM, timeout=timeout) as response:
        return list(response.iter_lines())


def by_httpx2_in_trio(timeout: float | None) -> list[str]:
    async def ask() -> list[str]:
        async with (
            httpx2.AsyncClient(timeout=timeout) as client,
            client.stream("POST", CHAT, json=STREAM) as response,
        ):
            return [line async for line in response.aiter_lines()]

    return trio.run(ask)


def by_requests(timeout: float | None) -> list[str]:
    with requests.post(CHAT, json=STREAM, stream=True, timeout=timeout) as response:
        return [line.decode() for line in response.iter_lines()]


def by_aiohttp(timeout: float | None) -> list[str]:
    return read_by_aiohttp(aiohttp.ClientTimeout(sock_read=timeout))


def by_aiohttp_in_all(timeout: float | None) -> list[str]:
    return read_by_aiohttp(aiohttp.ClientTimeout(total=timeout))


def read_by_aiohttp(timeout: aiohttp.ClientTimeout) -> list[str]:
    async def ask() -> list[str]:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(CHAT, json=STREAM) as response,
        ):
            return [line.decode() async for line in response.content]

    return asyncio.run(ask())


LIBRARIES = {
    by_httpx: httpx.ReadTimeout,
    by_httpx2_in_trio: httpx2.ReadTimeout,
    by_requests: requests.ConnectionError,  # it takes a timeout within a body for that
    by_aiohttp: aiohttp.SocketTimeoutError,
    by_aiohttp_in_all: asyncio.TimeoutError,
}
libraries = pytest.mark.parametrize(
    ("ask", "raised"), LIBRARIES.items(), ids=lambda value: value.__name__
)


@libraries
@pytest.mark.parametrize("name", ["stalled", "slow-first-token"])
def test_a_client_that_does_not_wait_so_long_gets_the_timeout_of_its_library(
    ask: Callable[[float | None], list[str]],
    raised: type[Exception],
    name: str,
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set("gpt-4o", Reply(chunks=["a", "b"]))
    mock_llm_responses.misbehave(name)
    expected = requests.ReadTimeout if (ask, name) == (by_requests, "slow-first-token") else raised
    with pytest.raises(expected) as error:
        ask(59)
    assert type(error.value) is expected
    assert mock_llm_responses.problems == []


@libraries
def test_a_client_that_waits_gets_a_slow_answer(
    ask: Callable[[float | None], list[str]], raised: type[Exception], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", "Hi!")
    mock_llm_responses.misbehave("slow-first-token")
    for timeout in (60, None):
        assert ask(timeout)[-2].startswith("data: [DONE]")


@libraries
def test_the_time_for_a_chunk_begins_with_the_one_before(
    ask: Callable[[float | None], list[str]], raised: type[Exception], mock_llm_responses: LLMMock
) -> None:
    latency = Latency(first_chunk=2, chunks_per_second=0.5)
    mock_llm_responses.set("gpt-4o", Reply(chunks=["a", "b", "c"], latency=latency))
    # This one limits the whole answer.
    enough = 6 if ask is by_aiohttp_in_all else 2
    assert ask(enough)[-2].startswith("data: [DONE]")
    with pytest.raises((raised, requests.ReadTimeout)):
        ask(enough - 0.1)


@pytest.mark.parametrize("ask", [by_httpx, by_httpx2_in_trio, by_requests, by_aiohttp])
def test_a_pace_in_real_time_is_kept(
    ask: Callable[[float | None], list[str]], mock_llm_responses: LLMMock
) -> None:
    latency = Latency(chunks_per_second=100, real_time=True)
    mock_llm_responses.set("gpt-4o", Reply(chunks=["a", "b", "c"], latency=latency))
    started = time.monotonic()
    assert ask(60)[-2].startswith("data: [DONE]")
    assert time.monotonic() - started >= 0.02


@libraries
def test_a_stream_that_stalls_without_a_timeout_is_a_problem_of_the_test(
    ask: Callable[[float | None], list[str]], raised: type[Exception], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-4o", Reply(chunks=["a", "b"]))
    mock_llm_responses.misbehave("stalled")
    with pytest.raises(Exception, match="no read timeout") as error:
        ask(None)
    assert isinstance(error.value, (raised, aiohttp.SocketTimeoutError))
    [problem] = mock_llm_responses.problems
    assert problem.startswith(
        "The stream stalled, and the client has no read timeout, so in production it would wait "
    )
    mock_llm_responses.problems.clear()


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("ask", "raised"),
    [
        (
            lambda more: openai.OpenAI(timeout=9, max_retries=0).chat.completions.create(
                **QUESTION, **more
            ),
            openai,
        ),
        (
            lambda more: anthropic.Anthropic(timeout=9, max_retries=0).messages.create(
                max_tokens=9, **QUESTION, **more
            ),
            anthropic,
        ),
    ],
    ids=["openai", "anthropic"],
)
def test_a_latency_counts_for_timeouts(
    ask: Callable[[Any], Any], raised: Any, streamed: bool, mock_llm_responses: LLMMock
) -> None:
    """Streamed it is the wait for each piece that counts, as each is read for itself."""
    more = {"stream": True} if streamed else {}
    mock_llm_responses.set("gpt-4o", Reply("Hello, world", latency=Latency(first_chunk=10)))
    with pytest.raises(raised.APITimeoutError):
        ask(more)
    mock_llm_responses.set(
        "gpt-4o", Reply("Hello, world", latency=Latency(first_chunk=8, chunks_per_second=0.25))
    )
    if streamed:
        list(ask(more))
    else:
        with pytest.raises(raised.APITimeoutError):
            ask(more)


def test_a_structured_answer_by_a_tool_is_as_slow(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", {"city": "Rome"})
    mock_llm_responses.misbehave("slow-first-token")
    tool = {
        "type": "function",
        "function": {
            "name": "f",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
    client = openai.OpenAI(timeout=9, max_retries=0)
    with pytest.raises(openai.APITimeoutError):
        client.chat.completions.create(**QUESTION, tools=[tool])


def test_google_over_aiohttp_counts_the_whole(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", "Hi!")

    async def ask() -> Any:
        async with genai.Client(http_options={"timeout": 59_000}).aio as client:
            return await client.models.generate_content(model="gpt-4o", contents="Hello")

    mock_llm_responses.misbehave("slow-first-token")
    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(ask())


@libraries
def test_the_record_of_a_call_has_the_timeout_of_the_client(
    ask: Callable[[float | None], list[str]], raised: type[Exception], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-4o", Reply("Hi!", latency=70))
    with pytest.raises((raised, requests.ReadTimeout)):
        ask(59)
    [call] = mock_llm_responses.calls
    assert call.error == "timed out after 59 s (latency: 70 s)"
    assert (call.response, call.usage) == (None, {"input_tokens": None, "output_tokens": None})


@libraries
def test_the_record_of_a_stream_keeps_the_answer_before_the_timeout(
    ask: Callable[[float | None], list[str]], raised: type[Exception], mock_llm_responses: LLMMock
) -> None:
    latency = Latency(first_chunk=10, chunks_per_second=0.01)
    mock_llm_responses.set("gpt-4o", Reply(chunks=["a", "b"], latency=latency))
    with pytest.raises(raised):
        ask(59)
    [call] = mock_llm_responses.calls
    assert call.error == "timed out after 59 s (latency: 110 s)"
    assert call.response == "ab"


def test_the_record_of_an_answer_in_time_has_no_error(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", Reply("Hi!", latency=50))
    by_httpx(59)
    [call] = mock_llm_responses.calls
    assert (call.response, call.error) == ("Hi!", None)


def test_the_record_of_a_stream_that_stalls_keeps_its_error(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", Reply(chunks=["a", "b"], latency=1))
    mock_llm_responses.misbehave("stalled")
    with pytest.raises(httpx.ReadTimeout):
        by_httpx(59)
    [call] = mock_llm_responses.calls
    assert "timed out after" not in str(call.error)


def test_an_sdk_that_retries_after_a_timeout_may_get_an_answer(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.script("gpt-4o", Reply("Late.", latency=70), "Hi!")
    answer = openai.OpenAI(timeout=59).chat.completions.create(**QUESTION)
    assert answer.choices[0].message.content == "Hi!"
    late, answered = mock_llm_responses.calls
    assert (late.error, answered.error) == ("timed out after 59 s (latency: 70 s)", None)
