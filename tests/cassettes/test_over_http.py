"""Recorded and replayed calls of SDKs return the same, without the provider."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import closing
from typing import Any

import anthropic
import openai
import pytest
import requests
from google import genai
from mistralai.client import Mistral

from tests.cassettes.conftest import Run
from tests.provider_server import KEY, TEXT, ProviderServer

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION = {"name": "weather", "description": "Says it.", "parameters": SCHEMA}


def said(value: Any) -> Any:
    """All that an SDK returned, with what it keeps aside."""
    if isinstance(value, (list, tuple)):
        return [said(item) for item in value]
    dumped = value.model_dump(mode="json") if hasattr(value, "model_dump") else value
    if isinstance(dumped, dict) and isinstance(http := dumped.get("sdk_http_response"), dict):
        del http["headers"]  # of Google's, whose date is another one
    return [dumped, getattr(value, "_request_id", None)]


def user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def chat(url: str, text: str, stream: bool) -> Any:
    tools = [{"type": "function", "function": FUNCTION}]
    with openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        options = {"stream_options": {"include_usage": True}} if stream else {}
        asked = {
            "model": "gpt-4o",
            "messages": user(text),
            "tools": tools,
            "temperature": 0.5,
            **options,
        }
        answer = client.chat.completions.create(**asked, stream=stream)
        return list(answer) if stream else answer


def async_chat(url: str, text: str, stream: bool) -> Any:
    async def ask() -> Any:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
            answer = await client.chat.completions.create(
                model="gpt-4o", messages=user(text), stream=stream
            )
            return [chunk async for chunk in answer] if stream else answer

    return asyncio.run(ask())


def responses(url: str, text: str, stream: bool) -> Any:
    with openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        answer = client.responses.create(
            model="gpt-5", input=text, instructions="Be brief.", stream=stream
        )
        return list(answer) if stream else answer


def messages(url: str, text: str, stream: bool) -> Any:
    asked = {"model": "claude-opus-4-9", "max_tokens": 99, "messages": user(text)}
    with anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0) as client:
        if not stream:
            return client.messages.create(**asked)
        with client.messages.stream(**asked) as events:
            return [*events, events.get_final_message()]


def async_messages(url: str, text: str, stream: bool) -> Any:
    async def ask() -> Any:
        async with anthropic.AsyncAnthropic(base_url=url, api_key=KEY, max_retries=0) as client:
            answer = await client.messages.create(
                model="claude-opus-4-9", max_tokens=99, messages=user(text), stream=stream
            )
            return [event async for event in answer] if stream else answer

    return asyncio.run(ask())


def gemini(url: str, text: str, stream: bool) -> Any:
    with closing(genai.Client(api_key=KEY, http_options={"base_url": url})) as client:
        if stream:
            return list(client.models.generate_content_stream(model="gemini-3-pro", contents=text))
        return client.models.generate_content(
            model="gemini-3-pro", contents=text, config={"temperature": 0.5}
        )


def async_gemini(url: str, text: str, stream: bool) -> Any:
    async def ask() -> Any:
        async with genai.Client(api_key=KEY, http_options={"base_url": url}).aio as client:
            if stream:
                chunks = await client.models.generate_content_stream(
                    model="gemini-3-pro", contents=text
                )
                return [chunk async for chunk in chunks]
            return await client.models.generate_content(model="gemini-3-pro", contents=text)

    return asyncio.run(ask())


def mistral(url: str, text: str, stream: bool) -> Any:
    with Mistral(api_key=KEY, server_url=url) as client:
        if stream:
            return [
                event.data
                for event in client.chat.stream(model="mistral-large", messages=user(text))
            ]
        return client.chat.complete(model="mistral-large", messages=user(text))


WAYS = [chat, async_chat, responses, messages, async_messages, gemini, async_gemini, mistral]
every_way = pytest.mark.parametrize("ask", WAYS, ids=[way.__name__ for way in WAYS])


@every_way
def test_what_an_sdk_returns_is_the_same_when_it_is_replayed(
    ask: Callable[..., Any], run: Run, provider: ProviderServer
) -> None:
    def everything() -> Any:
        wanted = [("Hello", False), ("Hello", True), ("You think", False), ("You think", True)]
        wanted += [("A tool", False), ("A tool", True)]
        return [said(ask(provider.url, *each)) for each in wanted]

    recorded = run("all", everything)
    assert (run.problems, len(provider.requests)) == ([], 6)
    assert run("none", everything) == recorded
    assert (run.problems, len(provider.requests)) == ([], 6)
    secrets = (KEY, "cookie-of-mine", "org-of-mine")
    assert [secret for secret in secrets if secret in run.path.read_text()] == []


def raised(ask: Callable[..., Any], *args: Any) -> list[Any]:
    """Return what an SDK raises, with what it tells of the response."""
    try:
        ask(*args)
    except Exception as error:
        response = getattr(error, "response", None) or getattr(error, "raw_response", None)
        headers = getattr(response, "headers", {})
        kept = [headers.get(name) for name in ("retry-after", "x-request-id", "content-type")]
        return [
            type(error),
            str(error),
            getattr(error, "body", None),
            getattr(response, "status_code", None),
            kept,
        ]
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    "ask", [chat, responses, messages, gemini, async_gemini, mistral], ids=lambda way: way.__name__
)
def test_an_error_of_the_provider_is_raised_again(
    ask: Callable[..., Any], run: Run, provider: ProviderServer
) -> None:
    def everything() -> Any:
        return [
            raised(ask, provider.url, *each)
            for each in [("a fail", False), ("a crash", False), ("a fail", True)]
        ]

    recorded = run("all", everything)
    assert "Slow down" in recorded[0][1]
    assert run("none", everything) == recorded
    assert (run.problems, len(provider.requests)) == ([], 3)


@pytest.mark.parametrize("stream", [False, True])
def test_a_key_that_the_provider_says_is_in_no_file(
    run: Run, provider: ProviderServer, stream: bool
) -> None:
    run("all", lambda: chat(provider.url, "an echo", stream))
    assert KEY not in run.path.read_text()
    assert "You sent [redacted" in run.path.read_text()


def test_whatever_says_who_asks_is_in_no_file(run: Run, provider: ProviderServer) -> None:
    who = {
        "default_query": {"api-key": "query-7716-a"},
        "default_headers": {"X-Gateway-Token": "header-7716-b"},
    }

    def ask() -> None:
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY, **who) as client:  # type: ignore[arg-type]
            client.chat.completions.create(
                model="gpt-4o", messages=[{"role": "user", "content": str(who)}]
            )

    run("all", ask)
    assert "7716" not in run.path.read_text()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_stream_that_is_closed_after_the_test_is_told_once(
    run: Run, provider: ProviderServer
) -> None:
    streams = []

    def begin() -> None:
        client = openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY)
        streams.append(
            client.chat.completions.create(model="gpt-4o", messages=user("Hello"), stream=True)
        )  # type: ignore[call-overload]

    run("all", begin)
    assert "or close a stream that it stops reading" in run.problems[0]
    streams[0].close()
    assert run.cassette.describe_lost_calls() is None


def test_an_edited_text_is_what_the_sdk_returns(run: Run, provider: ProviderServer) -> None:
    def texts() -> list[Any]:
        chunks = chat(provider.url, "Hello", True)
        deltas = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
        return [
            "".join(filter(None, deltas)),
            chat(provider.url, "Hello", False).choices[0].message.content,
        ]

    assert run("all", texts) == [TEXT, TEXT]
    run.path.write_text(run.path.read_text().replace(TEXT, "It rains cats and dogs today."))
    assert run("none", texts) == ["It rains cats and dogs today."] * 2


def test_pieces_reach_the_client_when_they_come(run: Run, provider: ProviderServer) -> None:
    def first_piece() -> Any:
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY, max_retries=0) as client:
            stream = client.chat.completions.create(
                model="gpt-4o", messages=user("Go slowly"), stream=True
            )
            first = next(iter(stream))
            provider.go_on.set()
            return [said(first), said(list(stream))]

    provider.go_on.clear()
    recorded = run("all", first_piece)
    assert run("none", first_piece) == recorded


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_stream_that_is_read_no_further_is_recorded_so_far(
    run: Run, provider: ProviderServer
) -> None:
    def some(pieces: int) -> list[Any]:
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY, max_retries=0) as client:
            stream = client.chat.completions.create(
                model="gpt-4o", messages=user("Go slowly"), stream=True
            )
            chunks = iter(stream)
            read = [said(next(chunks)) for _ in range(pieces)]
            stream.close()
            return read

    provider.go_on.clear()
    recorded = run("all", lambda: some(2))
    assert "unfinished: true" in run.path.read_text()
    assert run("none", lambda: some(2)) == recorded
    assert run.problems == []
    with pytest.raises(openai.APIError):
        run("none", lambda: some(4))
    assert "the application stopped reading here" in run.problems[0]


def converse(url: str) -> list[Any]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        first = client.responses.create(model="gpt-5", input="A tool")
        result = {
            "type": "function_call_output",
            "call_id": first.output[0].call_id,
            "output": "warm",
        }
        second = client.responses.create(
            model="gpt-5", input=[result], previous_response_id=first.id, stream=True
        )
        ended = list(second)[-1].response
        third = client.responses.create(model="gpt-5", input="Sure?", previous_response_id=ended.id)
        return [said(each) for each in (first, ended, third)]


def test_a_conversation_with_a_tool_is_found_turn_by_turn(
    run: Run, provider: ProviderServer
) -> None:
    recorded = run("all", lambda: converse(provider.url))
    assert run.problems == []
    assert run("none", lambda: converse(provider.url)) == recorded
    assert [call["turn"] for call in run.calls] == [1, 2, 3]


def test_a_conversation_is_found_after_pytester_has_dropped_modules(
    run: Run, provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("all", lambda: converse(provider.url))
    for name in [name for name in sys.modules if name.startswith("llm_mock.boundaries.http.")]:
        if name.rpartition(".")[2] in ("recording", "openai_responses"):
            monkeypatch.delitem(sys.modules, name)
    run("all", lambda: converse(provider.url))
    assert [call["turn"] for call in run.calls] == [1, 2, 3]


def test_what_requests_sends_is_recorded(run: Run, provider: ProviderServer) -> None:
    def post() -> list[Any]:
        asked = {"model": "gpt-4o", "messages": user("Hello")}
        url, headers = f"{provider.url}/v1/chat/completions", {"Authorization": f"Bearer {KEY}"}
        with requests.post(url, json=asked, headers=headers) as whole:
            answer = whole.json()
        with requests.post(
            url, json={**asked, "stream": True}, headers=headers, stream=True
        ) as stream:
            return [answer, [line for line in stream.iter_lines() if line]]

    answer, lines = run("all", post)
    replayed, again = run("none", post)
    assert replayed == answer
    assert [json.loads(line[6:]) for line in again[:-1]] == [
        json.loads(line[6:]) for line in lines[:-1]
    ]
    assert run.problems == []


def test_a_provider_that_is_down_is_so_again(run: Run, provider: ProviderServer) -> None:
    provider.server_close()
    recorded = run("all", lambda: raised(chat, provider.url, "Hello", False))
    assert recorded[0] is openai.APIConnectionError
    assert (
        run("none", lambda: raised(chat, provider.url, "Hello", False))[0]
        is openai.APIConnectionError
    )
