"""Each intercepted library, from the oldest supported version to the newest.

It needs no more than the library of the parameter that is chosen, and nothing of the other tests.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llm_mock import LLMMock, Reply
from llm_mock.boundaries.http import supported_versions

pytestmark = pytest.mark.filterwarnings("default")  # those of old versions are theirs

URL = "https://api.openai.com/v1/chat/completions"
MESSAGES: list[Any] = [{"role": "user", "content": "Hi"}]
BODY = {"model": "gpt-4o", "messages": MESSAGES}
HEADERS = {"authorization": "Bearer none", "content-type": "application/json"}
TEXT = "Hello you"


def content_of(text: str | bytes) -> str:
    """Return the text of an answer of OpenAI's API."""
    content: str = json.loads(text)["choices"][0]["message"]["content"]
    return content


def streamed(lines: list[str]) -> str:
    """Return the text of a streamed answer of OpenAI's API."""
    events = [line.removeprefix("data: ") for line in lines if line.startswith("data: {")]
    deltas = [choice["delta"] for event in events for choice in json.loads(event)["choices"]]
    return "".join(delta.get("content") or "" for delta in deltas)


def by_httpx(module: str) -> list[str]:
    httpx = importlib.import_module(module)

    async def ask() -> str:
        async with httpx.AsyncClient() as client:
            return content_of((await client.post(URL, json=BODY)).text)

    with httpx.Client() as client:
        whole = content_of(client.post(URL, json=BODY).text)
        with client.stream("POST", URL, json={**BODY, "stream": True}) as response:
            stream = streamed([*response.iter_lines()])
    return [whole, stream, asyncio.run(ask())]


def by_urllib3() -> list[str]:
    import urllib3

    pool = urllib3.PoolManager()
    body = json.dumps(BODY).encode()
    whole = pool.request("POST", URL, body=body, headers=HEADERS)
    body = json.dumps({**BODY, "stream": True}).encode()
    stream = pool.request("POST", URL, body=body, headers=HEADERS, preload_content=False)
    return [content_of(whole.data), streamed(b"".join(stream.stream()).decode().splitlines())]


def by_requests() -> list[str]:
    import requests

    whole = requests.post(URL, json=BODY)
    stream = requests.post(URL, json={**BODY, "stream": True}, stream=True)
    return [content_of(whole.text), streamed([line.decode() for line in stream.iter_lines()])]


def by_aiohttp() -> list[str]:
    import aiohttp

    async def ask() -> list[str]:
        async with aiohttp.ClientSession() as session:
            async with session.post(URL, json=BODY) as response:
                whole = content_of(await response.text())
            async with session.post(URL, json={**BODY, "stream": True}) as response:
                return [whole, streamed([line.decode().strip() async for line in response.content])]

    return asyncio.run(ask())


def by_openai() -> list[str]:
    import openai

    async def ask() -> str:
        async with openai.AsyncOpenAI() as client:
            answer = await client.chat.completions.create(model="gpt-4o", messages=MESSAGES)
            return answer.choices[0].message.content or ""

    with openai.OpenAI() as client:
        whole = client.chat.completions.create(model="gpt-4o", messages=MESSAGES)
        stream = client.chat.completions.create(model="gpt-4o", messages=MESSAGES, stream=True)
        deltas = [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]
    return [whole.choices[0].message.content or "", "".join(deltas), asyncio.run(ask())]


def by_anthropic() -> list[str]:
    import anthropic

    async def ask() -> str:
        async with anthropic.AsyncAnthropic() as client:
            answer = await client.messages.create(model="claude", max_tokens=9, messages=MESSAGES)
            return answer.content[0].text  # type: ignore[union-attr]

    with anthropic.Anthropic() as client:
        whole = client.messages.create(model="claude", max_tokens=9, messages=MESSAGES)
        with client.messages.stream(model="claude", max_tokens=9, messages=MESSAGES) as stream:
            text = "".join(stream.text_stream)
    return [whole.content[0].text, text, asyncio.run(ask())]  # type: ignore[union-attr]


def by_google_genai() -> list[str]:
    from google import genai

    async def ask() -> str:
        return (
            await client.aio.models.generate_content(model="gemini-2.5-flash", contents="Hi")
        ).text or ""

    client = genai.Client()
    whole = client.models.generate_content(model="gemini-2.5-flash", contents="Hi")
    stream = client.models.generate_content_stream(model="gemini-2.5-flash", contents="Hi")
    return [whole.text or "", "".join(chunk.text or "" for chunk in stream), asyncio.run(ask())]


def by_mistralai() -> list[str]:
    try:
        from mistralai.client import Mistral
    except ImportError:  # before mistralai 2
        from mistralai import Mistral  # type: ignore[attr-defined, no-redef]

    async def ask() -> str:
        answer = await client.chat.complete_async(model="mistral-small", messages=MESSAGES)
        return str(answer.choices[0].message.content)

    client = Mistral()
    whole = client.chat.complete(model="mistral-small", messages=MESSAGES)
    stream = client.chat.stream(model="mistral-small", messages=MESSAGES)
    deltas = [str(event.data.choices[0].delta.content or "") for event in stream]
    return [str(whole.choices[0].message.content), "".join(deltas), asyncio.run(ask())]


def by_botocore() -> list[str]:
    import botocore.session
    from botocore.awsrequest import AWSRequest
    from botocore.httpsession import URLLib3Session

    headers = {**HEADERS, "user-agent": botocore.session.Session().user_agent()}
    request = AWSRequest("POST", URL, headers=headers, data=json.dumps(BODY))
    answer = URLLib3Session().send(request.prepare())
    assert answer.status_code == 200
    return [content_of(answer.text)]


def by_websockets() -> list[str]:
    from websockets.asyncio.client import connect as connect_async
    from websockets.sync.client import connect

    url = "wss://api.openai.com/v1/responses"
    message = json.dumps({"type": "response.create", "model": "gpt-4o", "input": "Hi"})

    async def ask() -> str:
        async with connect_async(url) as connection:
            await connection.send(message)
            return text_of([await connection.recv() for _ in range(10)])

    with connect(url) as connection:
        connection.send(message)
        answer = text_of([connection.recv(timeout=10) for _ in range(10)])
    return [answer, asyncio.run(ask())]


def text_of(messages: list[str | bytes]) -> str:
    response = json.loads(messages[-1])["response"]
    return str(response["output"][0]["content"][0]["text"])


ASKED: dict[str, Callable[[], list[str]]] = {
    "aiohttp": by_aiohttp,
    "anthropic": by_anthropic,
    "botocore": by_botocore,
    "google-genai": by_google_genai,
    "httpx": lambda: by_httpx("httpx"),
    "httpx2": lambda: by_httpx("httpx2"),
    "mistralai": by_mistralai,
    "openai": by_openai,
    "requests": by_requests,
    "urllib3": by_urllib3,
    "websockets": by_websockets,
}


@pytest.mark.parametrize("library", ASKED)
def test_a_supported_version_is_answered(library: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply(chunks=["Hello ", "you"]))
    print(f"{library} {importlib.metadata.version(library)} on Python {platform.python_version()}")
    assert set(ASKED[library]()) == {TEXT}


def test_every_library_with_an_oldest_version_is_tested() -> None:
    assert set(ASKED) == set(supported_versions.OLDEST)


OUTDATED = """
import sys
sys.path.insert(0, {root!r})
import pytest
from llm_mock.boundaries.http import supported_versions
for name in {libraries!r}:
    supported_versions.OLDEST[name] = "999"
from tests.boundaries.http.test_supported_versions import ASKED

@pytest.mark.parametrize("library", {libraries!r})
def test_asked(library):
    with pytest.raises(Exception):
        ASKED[library]()
"""


LIBRARIES = ["aiohttp", "httpx", "httpx2", "urllib3"]


@pytest.mark.usefixtures("all_libraries")
def test_an_older_library_is_refused_with_its_name(pytester: pytest.Pytester) -> None:
    """Try those that are checked when they are imported, which needs a process."""
    root = str(Path(__file__).parents[3])
    pytester.makepyfile(OUTDATED.format(root=root, libraries=LIBRARIES))
    result = pytester.runpytest_subprocess("-W", "default")
    for library in LIBRARIES:
        version = importlib.metadata.version(library)
        result.stdout.fnmatch_lines_random(
            [f"*{library} {version} is older than 999, the oldest version that*"]
        )
    outcomes = result.parseoutcomes()
    assert outcomes.get("failed", 0) + outcomes.get("errors", 0) == len(LIBRARIES)


@pytest.mark.parametrize("library", sorted(supported_versions.USER_AGENTS))
def test_an_older_client_is_refused_with_its_name(
    library: str, mock_llm_calls: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(supported_versions.OLDEST, library, "999")
    supported_versions.explain_user_agent.cache_clear()
    try:
        # An assertion, or the exception of the SDK, which no base class has in common.
        with pytest.raises(Exception):  # noqa: B017, PT011
            ASKED[library]()
    finally:
        supported_versions.explain_user_agent.cache_clear()
    version = importlib.metadata.version(library)
    assert mock_llm_calls.problems
    for problem in mock_llm_calls.problems:
        assert problem.startswith(f"{library} {version} is older than 999, the oldest version that")
    assert mock_llm_calls.calls == []
    mock_llm_calls.problems.clear()
