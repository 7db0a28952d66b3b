"""A refused request ends at once: nothing is retried or waited for, whatever sends it."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import anthropic
import httpx
import httpx2
import openai
import pytest
import requests
import trio
from google import genai
from mistralai.client import Mistral

from llm_mock import LLMMock
from llm_mock.boundaries.http.server import MockServer
from llm_mock.boundaries.http.settings import http_settings

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
FILES = "https://api.openai.com/v1/files"
CHAT = "https://api.openai.com/v1/chat/completions"
HELLO: Any = [{"role": "user", "content": "Hello"}]
QUESTION = {"model": "m", "messages": HELLO}
OUTDATED = {"user-agent": "OpenAI/Python 1.0.0"}


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the seconds that anything waits for; none of them takes any time."""
    waited: list[float] = []
    yielding = asyncio.sleep

    async def sleep(seconds: float, result: object = None) -> object:
        waited.append(seconds)
        return await yielding(0, result)

    monkeypatch.setattr(time, "sleep", waited.append)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    return waited


@pytest.fixture(autouse=True)
def _ends_within_a_second() -> Iterator[None]:
    """Fail a test that waited: a second in itself, and some for a busy machine."""
    started = time.monotonic()
    yield
    assert time.monotonic() - started < 4


def by_aiohttp(method: str, url: str, **more: Any) -> int:
    async def ask() -> int:
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, url, **more) as response,
        ):
            await response.read()
            return response.status

    return asyncio.run(ask())


def by_httpx_async(method: str, url: str, **more: Any) -> int:
    async def ask() -> int:
        async with httpx.AsyncClient() as client:
            return (await client.request(method, url, **more)).status_code

    return asyncio.run(ask())


def by_httpx2_in_trio(method: str, url: str, **more: Any) -> int:
    async def ask() -> int:
        async with httpx2.AsyncClient() as client:
            return (await client.request(method, url, **more)).status_code

    return trio.run(ask)


def by_requests(method: str, url: str, **more: Any) -> int:
    return requests.request(method, url, timeout=10, **more).status_code


LIBRARIES: tuple[Callable[..., int], ...] = (
    lambda *args, **more: httpx.request(*args, **more).status_code,
    lambda *args, **more: httpx2.request(*args, **more).status_code,
    by_requests,
    by_aiohttp,
    by_httpx_async,
    by_httpx2_in_trio,
)


@pytest.mark.parametrize("send", LIBRARIES)
def test_each_library_gets_each_refusal_at_once(
    send: Callable[..., int],
    waits: list[float],
    mock_llm_calls: LLMMock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    statuses = [send("GET", FILES), send("POST", CHAT, json=QUESTION, headers=OUTDATED)]
    monkeypatch.setattr(http_settings, "mode", "error")
    statuses.append(send("POST", CHAT, json=QUESTION))
    statuses.append(send("POST", "https://api.openai.com/v1/embeddings", json={"model": "m"}))
    assert statuses == [404, 400, 400, 400]
    assert set(waits) <= {0}
    assert (len(mock_llm_calls.refusals), len(mock_llm_calls.problems)) == (1, 3)
    assert mock_llm_calls.calls == []
    mock_llm_calls.refusals.clear()
    mock_llm_calls.problems.clear()


def ask_openai() -> None:
    client = openai.OpenAI(api_key="any", max_retries=5)
    client.chat.completions.create(**QUESTION)  # type: ignore[call-overload]


def ask_openai_async() -> None:
    async def ask() -> None:
        async with openai.AsyncOpenAI(api_key="any", max_retries=5) as client:
            await client.chat.completions.create(**QUESTION)  # type: ignore[call-overload]

    asyncio.run(ask())


def ask_anthropic() -> None:
    client = anthropic.Anthropic(api_key="any", max_retries=5)
    client.messages.create(model="m", max_tokens=9, messages=HELLO)


def ask_google() -> None:
    client = genai.Client(api_key="any")
    client.models.generate_content(model="m", contents="Hello")


def ask_mistral() -> None:
    with Mistral(api_key="any") as client:
        client.chat.complete(model="m", messages=HELLO)


@pytest.mark.parametrize(
    "ask", [ask_openai, ask_openai_async, ask_anthropic, ask_google, ask_mistral]
)
def test_no_sdk_retries_a_refused_call(
    ask: Callable[[], None],
    waits: list[float],
    mock_llm_calls: LLMMock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_settings, "mode", "error")
    with pytest.raises(Exception, match=r"was about to reach (api|generativelanguage)\."):
        ask()
    assert set(waits) <= {0}
    [problem] = mock_llm_calls.problems
    assert "llm_mock_http = answer the mock answers it" in problem
    mock_llm_calls.problems.clear()


HEAD = b"POST /openai/v1/files HTTP/1.1\r\nhost: localhost\r\n"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET\r\n\r\n", 400),
        (HEAD.replace(b"localhost", b"evil.example") + b"\r\n", 421),
        (HEAD + b"\r\n", 404),
        (HEAD + b"content-length: 67108865\r\n\r\n", 413),
        (HEAD.replace(b"files", b"chat/completions") + b"content-length: 1\r\n\r\n{", 400),
        (HEAD + b"transfer-encoding: gzip\r\n\r\n", 501),
    ],
)
def test_the_server_refuses_at_once_and_ends_the_connection(
    request_: bytes, status: int, mock_llm_calls: LLMMock
) -> None:
    with MockServer(lambda: mock_llm_calls) as server:
        address = urlsplit(server.url)
        with closing(socket.create_connection((address.hostname, address.port or 0), 10)) as client:
            client.sendall(request_)
            answer = b"".join(iter(lambda: client.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert b"\r\nconnection: close\r\n" in answer
    mock_llm_calls.refusals.clear()
    mock_llm_calls.problems.clear()
