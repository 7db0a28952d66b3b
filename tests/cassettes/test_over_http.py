"""Calls of SDKs, recorded from a provider and replayed without it: what the SDK returns is the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
import requests
from google import genai
from mistralai.client import Mistral

from llm_mock import MockGetModel
from llm_mock.boundaries.http.wanted import Wanted
from llm_mock.cassettes import Cassette
from llm_mock.cassettes.record_modes import RecordMode
from llm_mock.core.active import activate
from tests.provider_server import ARGUMENTS, KEY, TEXT, ProviderServer, served

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
        asked = {"model": "gpt-4o", "messages": user(text), "tools": tools, "temperature": 0.5, **options}
        answer = client.chat.completions.create(**asked, stream=stream)
        return list(answer) if stream else answer


def async_chat(url: str, text: str, stream: bool) -> Any:
    async def ask() -> Any:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
            answer = await client.chat.completions.create(model="gpt-4o", messages=user(text), stream=stream)
            return [chunk async for chunk in answer] if stream else answer

    return asyncio.run(ask())


def responses(url: str, text: str, stream: bool) -> Any:
    with openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        answer = client.responses.create(model="gpt-5", input=text, instructions="Be brief.", stream=stream)
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
    client = genai.Client(api_key=KEY, http_options={"base_url": url})
    if stream:
        return list(client.models.generate_content_stream(model="gemini-3-pro", contents=text))
    return client.models.generate_content(model="gemini-3-pro", contents=text, config={"temperature": 0.5})


def async_gemini(url: str, text: str, stream: bool) -> Any:
    async def ask() -> Any:
        async with genai.Client(api_key=KEY, http_options={"base_url": url}).aio as client:
            if stream:
                chunks = await client.models.generate_content_stream(model="gemini-3-pro", contents=text)
                return [chunk async for chunk in chunks]
            return await client.models.generate_content(model="gemini-3-pro", contents=text)

    return asyncio.run(ask())


def mistral(url: str, text: str, stream: bool) -> Any:
    with Mistral(api_key=KEY, server_url=url) as client:
        if stream:
            return [event.data for event in client.chat.stream(model="mistral-large", messages=user(text))]
        return client.chat.complete(model="mistral-large", messages=user(text))


WAYS = [chat, async_chat, responses, messages, async_messages, gemini, async_gemini, mistral]
every_way = pytest.mark.parametrize("ask", WAYS, ids=[way.__name__ for way in WAYS])


class Run:
    """Runs with one cassette, and a provider that may be down."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []
        self.calls: list[Any] = []

    def __call__(self, mode: RecordMode, use: Callable[[], Any]) -> Any:
        mock = MockGetModel(at_boundary=True)
        cassette = mock.cassette = Cassette(self.path, mode)
        previous = activate(mock)
        try:
            return use()
        finally:
            activate(previous)
            cassette.save(passed=True)
            self.problems = [*mock.problems, *filter(None, [cassette.lost()])]
            self.calls = mock.calls


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "cassette.yaml")


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with served(ProviderServer()) as server:
        monkeypatch.setattr(Wanted, "hosts", (server.host,))
        yield server


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
    """What an SDK raises, with what it tells of the response."""
    try:
        ask(*args)
    except Exception as error:
        response = getattr(error, "response", None) or getattr(error, "raw_response", None)
        headers = getattr(response, "headers", {})
        kept = [headers.get(name) for name in ("retry-after", "x-request-id", "content-type")]
        return [type(error), str(error), getattr(error, "body", None), getattr(response, "status_code", None), kept]
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    "ask", [chat, responses, messages, gemini, async_gemini, mistral], ids=lambda way: way.__name__
)
def test_an_error_of_the_provider_is_raised_again(ask: Callable[..., Any], run: Run, provider: ProviderServer) -> None:
    def everything() -> Any:
        return [raised(ask, provider.url, *each) for each in [("a fail", False), ("a crash", False), ("a fail", True)]]

    recorded = run("all", everything)
    assert "Slow down" in recorded[0][1]
    assert run("none", everything) == recorded
    assert (run.problems, len(provider.requests)) == ([], 3)


@pytest.mark.parametrize("stream", [False, True])
def test_a_key_that_the_provider_says_is_in_no_file(run: Run, provider: ProviderServer, stream: bool) -> None:
    run("all", lambda: chat(provider.url, "an echo", stream))
    assert KEY not in run.path.read_text()
    assert "You sent [redacted" in run.path.read_text()


def test_an_edited_text_is_what_the_sdk_returns(run: Run, provider: ProviderServer) -> None:
    def texts() -> list[Any]:
        chunks = chat(provider.url, "Hello", True)
        deltas = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
        return ["".join(filter(None, deltas)), chat(provider.url, "Hello", False).choices[0].message.content]

    assert run("all", texts) == [TEXT, TEXT]
    run.path.write_text(run.path.read_text().replace(TEXT, "It rains cats and dogs today."))
    assert run("none", texts) == ["It rains cats and dogs today."] * 2


def test_an_answer_is_replayed_by_another_api_and_in_another_way(run: Run, provider: ProviderServer) -> None:
    run("all", lambda: [chat_of("some-model", provider.url, "You think", False) for _ in range(3)])

    def otherwise() -> list[Any]:
        chunks = chat_of("some-model", provider.url, "You think", True)
        with anthropic.Anthropic(base_url=provider.url, api_key=KEY) as client:
            message = client.messages.create(model="some-model", max_tokens=9, messages=user("You think"))
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY) as client:
            response = client.responses.create(model="some-model", input="You think", max_output_tokens=9)
        streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        return [streamed, [block.type for block in message.content], message.usage.output_tokens, response.output_text]

    assert run("none", otherwise) == [TEXT, ["thinking", "text"], 7, TEXT]


def chat_of(model: str, url: str, text: str, stream: bool) -> Any:
    with openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        answer = client.chat.completions.create(model=model, max_tokens=9, messages=user(text), stream=stream)
        return list(answer) if stream else answer


def test_pieces_reach_the_client_when_they_come(run: Run, provider: ProviderServer) -> None:
    def first_piece() -> Any:
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY, max_retries=0) as client:
            stream = client.chat.completions.create(model="gpt-4o", messages=user("Go slowly"), stream=True)
            first = next(iter(stream))
            provider.go_on.set()
            return [said(first), said(list(stream))]

    provider.go_on.clear()
    recorded = run("all", first_piece)
    assert run("none", first_piece) == recorded


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_stream_that_is_read_no_further_is_recorded_so_far(run: Run, provider: ProviderServer) -> None:
    def some(pieces: int) -> list[Any]:
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY, max_retries=0) as client:
            stream = client.chat.completions.create(model="gpt-4o", messages=user("Go slowly"), stream=True)
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


def test_a_conversation_with_a_tool_is_found_turn_by_turn(run: Run, provider: ProviderServer) -> None:
    def converse() -> list[Any]:
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY, max_retries=0) as client:
            first = client.responses.create(model="gpt-5", input="A tool")
            result = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "warm"}
            second = client.responses.create(model="gpt-5", input=[result], previous_response_id=first.id, stream=True)
            ended = list(second)[-1].response
            third = client.responses.create(model="gpt-5", input="Sure?", previous_response_id=ended.id)
            return [said(each) for each in (first, ended, third)]

    recorded = run("all", converse)
    assert run.problems == []
    assert run("none", converse) == recorded
    assert [call["turn"] for call in run.calls] == [1, 2, 3]


def test_what_requests_sends_is_recorded(run: Run, provider: ProviderServer) -> None:
    def post() -> list[Any]:
        asked = {"model": "gpt-4o", "messages": user("Hello")}
        url, headers = f"{provider.url}/v1/chat/completions", {"Authorization": f"Bearer {KEY}"}
        with requests.post(url, json=asked, headers=headers) as whole:
            answer = whole.json()
        with requests.post(url, json={**asked, "stream": True}, headers=headers, stream=True) as stream:
            return [answer, [line for line in stream.iter_lines() if line]]

    answer, lines = run("all", post)
    replayed, again = run("none", post)
    assert replayed == answer
    assert [json.loads(line[6:]) for line in again[:-1]] == [json.loads(line[6:]) for line in lines[:-1]]
    assert run.problems == []


def test_a_provider_that_is_down_is_so_again(run: Run, provider: ProviderServer) -> None:
    provider.server_close()
    recorded = run("all", lambda: raised(chat, provider.url, "Hello", False))
    assert recorded[0] is openai.APIConnectionError
    assert run("none", lambda: raised(chat, provider.url, "Hello", False))[0] is openai.APIConnectionError


class ThroughLLM:
    """A model of `llm`'s OpenAI plugin that asks the provider."""

    def __init__(self, url: str) -> None:
        from llm.default_plugins.openai_models import Chat

        self.model = Chat("gpt-4o", key=KEY, api_base=f"{url}/v1", supports_tools=True, supports_schema=True)

    def ask(self, text: str, stream: bool = False, **more: Any) -> Any:
        response = self.model.prompt(text, stream=stream, **more)
        response.text()
        return response


def test_what_llm_recorded_answers_an_sdk_that_asks_the_same(run: Run, provider: ProviderServer) -> None:
    through_llm = ThroughLLM(provider.url)

    def record() -> None:
        through_llm.ask("Hello", system="Be brief.", temperature=0.5, max_tokens=9)
        through_llm.ask("Hello", stream=True)
        with pytest.raises(openai.RateLimitError):
            through_llm.ask("a fail")

    def ask() -> list[Any]:
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY, max_retries=0) as client:
            create = client.chat.completions.create
            said = [{"role": "system", "content": "Be brief."}, *user("Hello")]
            whole = create(model="gpt-4o", messages=said, temperature=0.5, max_completion_tokens=9)
            chunks = list(create(model="gpt-4o", messages=user("Hello"), stream=True))
            with pytest.raises(openai.RateLimitError) as caught:
                create(model="gpt-4o", messages=user("a fail"))
        texts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
        error = caught.value
        return [whole, texts, error.code, error.response.headers["retry-after"]]

    run("all", record)
    sent = len(provider.requests)
    whole, texts, *error = run("none", ask)
    assert (whole.choices[0].message.content, whole.usage.prompt_tokens, whole.usage.completion_tokens) == (TEXT, 11, 7)
    assert whole.usage.completion_tokens_details.reasoning_tokens == 3
    assert [text for text in texts if text] == [TEXT[start : start + 5] for start in range(0, len(TEXT), 5)]
    assert error == ["rate_limit_exceeded", "0.01"]
    assert (run.problems, len(provider.requests)) == ([], sent)


def test_what_an_sdk_recorded_answers_llm_where_it_asks_the_same(run: Run, provider: ProviderServer) -> None:
    def record() -> Any:
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY, max_retries=0) as client:
            create = client.chat.completions.create
            whole = create(model="gpt-4o", messages=user("Hello"), max_completion_tokens=9)
            list(create(model="gpt-4o", messages=user("Hello"), stream=True, stream_options={"include_usage": True}))
            with pytest.raises(openai.RateLimitError) as caught:
                create(model="gpt-4o", messages=user("a fail"))
            said = [*user("Hello"), {"role": "assistant", "content": TEXT}, *user("Sure?")]
            create(model="gpt-4o", messages=said)
            return whole, caught.value

    def ask() -> None:
        through_llm = ThroughLLM(provider.url)
        answer = through_llm.ask("Hello", max_tokens=9)
        assert (answer.text(), answer.usage().input, answer.usage().output) == (TEXT, 11, 7)
        assert answer.usage().details["completion_tokens_details"] == {"reasoning_tokens": 3}
        assert answer.response_json == {**whole.model_dump(exclude_unset=True)}
        conversation = through_llm.model.conversation()
        streamed = conversation.prompt("Hello", stream=True)
        assert [*streamed] == [TEXT[start : start + 5] for start in range(0, len(TEXT), 5)]
        assert conversation.prompt("Sure?", stream=False).text() == TEXT
        with pytest.raises(openai.RateLimitError) as caught:
            through_llm.ask("a fail")
        assert (caught.value.status_code, caught.value.body) == (429, error.body)

    whole, error = run("all", record)
    run("none", ask)
    assert (run.problems, len(provider.requests)) == ([], 4)


def test_a_conversation_of_llm_answers_an_sdk_that_says_all_of_it(run: Run, provider: ProviderServer) -> None:
    def weather(city: str, days: float) -> str:
        """Says the weather."""
        return "warm"

    def record() -> None:
        model = ThroughLLM(provider.url).model
        conversation = model.conversation()
        conversation.prompt("Hello", stream=False).text()
        conversation.prompt("Sure?", stream=False).text()
        call = model.prompt("A tool", tools=[weather], stream=False)
        call.text()

    def ask(earlier: str) -> list[Any]:
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY, max_retries=0) as client:
            create = client.chat.completions.create
            said = [*user("Hello"), {"role": "assistant", "content": earlier}, *user("Sure?")]
            parameters = provider.requests[-1]["tools"][0]["function"]["parameters"]
            function = {"name": "weather", "description": "Says the weather.", "parameters": parameters}
            tools = [{"type": "function", "function": function}]
            called = create(model="gpt-4o", messages=user("A tool"), tools=tools).choices[0]
            return [called, create(model="gpt-4o", messages=said).choices[0].message.content]

    run("all", record)
    called, text = run("none", lambda: ask(TEXT))
    assert (called.finish_reason, text) == ("tool_calls", TEXT)
    [call] = called.message.tool_calls
    assert (call.id, call.function.name, call.function.arguments) == ("call_3", "weather", ARGUMENTS)
    with pytest.raises(openai.BadRequestError):
        run("none", lambda: ask("Something else"))
    assert "+  - type: text\n+    text: Something else" in run.problems[0].replace("\n  ", "\n")
