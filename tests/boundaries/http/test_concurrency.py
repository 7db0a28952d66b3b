"""Many calls at once, calls that are given up, and streams that nobody reads."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import aiohttp
import anthropic
import httpx2
import openai
import pytest
import trio

from llm_mock import Latency, LLMMock, Reply
from llm_mock.boundaries.http.settings import http_settings

CHAT = "https://api.openai.com/v1/chat/completions"
QUESTION: Any = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
LONG = Reply(chunks=["a"] * 200, latency=Latency(chunks_per_second=1000, real_time=True))


def test_threads_use_each_queued_reply_once(mock_llm_responses: LLMMock) -> None:
    for number in range(320):
        mock_llm_responses.add("gpt-4o", str(number))
    client = openai.OpenAI()
    with ThreadPoolExecutor(32) as pool:
        asked = [pool.submit(client.chat.completions.create, **QUESTION) for _ in range(320)]
    answers = {int(future.result().choices[0].message.content) for future in asked}
    assert answers == set(range(320))
    assert [call["number"] for call in mock_llm_responses.calls] == list(range(1, 321))


async def by_openai() -> None:
    async with openai.AsyncOpenAI() as client:
        await asyncio.gather(*[client.chat.completions.create(**QUESTION) for _ in range(200)])


async def by_aiohttp() -> None:
    async with aiohttp.ClientSession() as session:

        async def ask() -> Any:
            async with session.post(CHAT, json=QUESTION) as response:
                return await response.json()

        await asyncio.gather(*[ask() for _ in range(200)])


@pytest.mark.parametrize("ask", [by_openai, by_aiohttp])
def test_tasks_ask_at_once(ask: Any, mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.set("*", "Hi!")
    asyncio.run(ask())
    assert len(mock_llm_calls.calls) == 200


async def stream_by_openai() -> None:
    async with openai.AsyncOpenAI() as client:
        async for _ in await client.chat.completions.create(**QUESTION, stream=True):
            await asyncio.sleep(0)


async def stream_by_aiohttp() -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.post(CHAT, json={**QUESTION, "stream": True}) as response,
    ):
        async for _ in response.content:
            pass


@pytest.mark.parametrize("read", [stream_by_openai, stream_by_aiohttp])
def test_a_task_may_be_cancelled_within_a_stream(read: Any, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", LONG)

    async def main() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(read(), 0.05)

    asyncio.run(main())
    gc.collect()
    assert len(mock_llm_responses.calls) == 1


def test_trio_may_cancel_within_a_stream(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", LONG)

    async def main() -> None:
        with trio.move_on_after(0.05) as scope:
            async with (
                httpx2.AsyncClient() as client,
                client.stream("POST", CHAT, json={**QUESTION, "stream": True}) as response,
            ):
                async for _ in response.aiter_lines():
                    pass
        assert scope.cancelled_caught

    trio.run(main)
    gc.collect()
    assert len(mock_llm_responses.calls) == 1


def test_a_stream_that_nobody_reads_is_a_call(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply(chunks=["a"] * 20))
    client = openai.OpenAI()
    client.chat.completions.create(**QUESTION, stream=True)
    begun = client.chat.completions.create(**QUESTION, stream=True)
    next(iter(begun))
    client.close()
    with anthropic.Anthropic().messages.stream(max_tokens=9, **QUESTION) as stream:
        next(iter(stream))
    del begun, stream
    gc.collect()
    assert [call["response"] for call in mock_llm_responses.calls] == ["a" * 20] * 3


def test_raw_and_streaming_responses(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", "Hi!")
    completions = openai.OpenAI().chat.completions
    raw = completions.with_raw_response.create(**QUESTION)
    assert (raw.status_code, raw.parse().choices[0].message.content) == (200, "Hi!")
    with completions.with_streaming_response.create(**QUESTION) as response:
        assert "Hi!" in "".join(response.iter_text())
    assert len(mock_llm_responses.calls) == 2


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError("nobody there"), TimeoutError("too long")]
)
def test_a_call_that_is_tried_again_gets_the_next_reply(
    error: Exception, mock_llm_responses: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    mock_llm_responses.add("gpt-4o", error)
    mock_llm_responses.add("gpt-4o", "Hi!")
    completion = openai.OpenAI(max_retries=2).chat.completions.create(**QUESTION)
    assert completion.choices[0].message.content == "Hi!"
    assert [bool(call["error"]) for call in mock_llm_responses.calls] == [True, False]
    assert len(waited) == 1


@pytest.mark.parametrize(("fast", "seconds"), [(True, 0.05), (False, 1.0)])
def test_retry_after_is_what_the_client_waits(
    fast: bool, seconds: float, mock_llm_responses: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_settings, "fast_retries", fast)
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    mock_llm_responses.set("gpt-4o", "Hi!")
    mock_llm_responses.misbehave("rate-limit", times=2)
    openai.OpenAI(max_retries=2).chat.completions.create(**QUESTION)
    assert len(mock_llm_responses.calls) == 3
    assert waited == [seconds, seconds]


@pytest.mark.llm_mock_strict("warn")
def test_a_process_without_pytest_is_mocked(tmp_path: Any, mock_llm_calls: LLMMock) -> None:
    code = f"""
import asyncio, sys, urllib.request
import openai
print(openai.OpenAI().chat.completions.create(**{QUESTION!r}).choices[0].message.content)
try:
    urllib.request.urlopen({CHAT!r}, b"{{}}")
except OSError as error:
    print(error)
print("pytest" in sys.modules, "llm" in sys.modules)
"""
    environment = {"PFLOW_TESTING": "1", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert ran.stderr == ""
    answer, refused, imported = ran.stdout.splitlines()
    assert answer == '{"success": true}'
    assert "Connection to api.openai.com refused" in refused
    assert imported == "False False"
    assert [
        "Connection to api.openai.com refused" in problem for problem in mock_llm_calls.problems
    ] == [True]
    mock_llm_calls.problems.clear()
