"""A model API is recognised by its request; every other request is left alone."""

from __future__ import annotations

import asyncio
import io
import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import aiohttp
import anthropic
import httpx
import httpx2
import openai
import pytest
import requests
import urllib3
from google import genai
from mistralai.client import Mistral

from llm_mock import LLMMock
from llm_mock.boundaries.http.interception import find_provider
from llm_mock.boundaries.http.settings import http_settings
from tests.boundaries.http.test_answered_requests import local_server  # noqa: F401 (a fixture)

HOST = "llm-gateway.corp.test"
GATEWAY = f"https://{HOST}/openai/v1"
MESSAGES: Any = [{"role": "user", "content": "Hello"}]
QUESTION: Any = {"model": "gpt-4o", "messages": MESSAGES}
ANY_KEY = {"Authorization": "Bearer any"}


def by_openai(url: str | None) -> Any:
    client = openai.OpenAI(base_url=url, api_key="any", max_retries=0)
    return client.chat.completions.create(**QUESTION).choices[0].message.content


def by_openai_responses(url: str | None) -> Any:
    client = openai.OpenAI(base_url=url, api_key="any", max_retries=0)
    return client.responses.create(model="gpt-4o", input="Hello").output_text


def by_anthropic(url: str | None) -> Any:
    client = anthropic.Anthropic(base_url=url, api_key="any", max_retries=0)
    return client.messages.create(max_tokens=5, **QUESTION).content[0].text


def by_google(url: str | None) -> Any:
    options: Any = {"base_url": url} if url else None
    client = genai.Client(api_key="any", http_options=options)
    return client.models.generate_content(model="gpt-4o", contents="Hello").text


def by_mistral(url: str | None) -> Any:
    with Mistral(api_key="any", server_url=url) as client:
        return client.chat.complete(**QUESTION).choices[0].message.content


def text_of(completion: Any) -> Any:
    return completion["choices"][0]["message"]["content"]


def by_httpx(url: str) -> Any:
    return text_of(httpx.post(f"{url}/chat/completions", json=QUESTION).json())


def by_httpx2(url: str) -> Any:
    return text_of(httpx2.post(f"{url}/chat/completions", json=QUESTION).json())


def by_requests(url: str) -> Any:
    return text_of(requests.post(f"{url}/chat/completions", json=QUESTION, timeout=10).json())


def by_aiohttp(url: str) -> Any:
    async def ask() -> Any:
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{url}/chat/completions", json=QUESTION) as response,
        ):
            return text_of(await response.json())

    return asyncio.run(ask())


SDKS = (by_openai, by_openai_responses, by_anthropic, by_google, by_mistral)
LIBRARIES = (by_httpx, by_httpx2, by_requests, by_aiohttp)


@pytest.mark.parametrize("ask", [*SDKS, *LIBRARIES])
def test_a_gateway_that_nobody_named_is_answered(
    ask: Callable[[str], Any], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-4o", "Hi!")
    assert ask(GATEWAY) == "Hi!"
    assert [call["model_id"] for call in mock_llm_responses.calls] == ["gpt-4o"]


@pytest.mark.parametrize(
    ("variable", "ask"),
    [
        ("OPENAI_BASE_URL", by_openai),
        ("ANTHROPIC_BASE_URL", by_anthropic),
        ("GOOGLE_GEMINI_BASE_URL", by_google),
    ],
)
def test_a_gateway_of_the_environment_is_answered(
    variable: str, ask: Any, mock_llm_responses: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, f"https://{HOST}/any")
    mock_llm_responses.set("gpt-4o", "Hi!")
    assert ask(None) == "Hi!"


def test_whatever_is_sent_to_a_host_of_the_environment_is_for_a_model(
    mock_llm_calls: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"https://{HOST}/v1")
    assert httpx.get(f"https://{HOST}/v1/models").json()["object"] == "list"
    with pytest.raises(OSError, match=rf"Connection to {HOST} refused"):
        socket.create_connection((HOST, 443))
    mock_llm_calls.problems.clear()


@pytest.mark.usefixtures("mock_llm_calls")
def test_a_variable_that_changes_during_a_test_counts_from_the_next_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def providers() -> list[str | None]:
        return [find_provider(host, None, "/v1/models") for host in (HOST, "other.corp.test")]

    assert providers() == [None, None]
    monkeypatch.setenv("MISTRAL_BASE_URL", f"https://{HOST}/v1")
    assert providers() == ["mistral", None]
    monkeypatch.setenv("MISTRAL_BASE_URL", "https://other.corp.test/v1")
    assert providers() == [None, "mistral"]
    monkeypatch.setenv("GROQ_BASE_URL", f"https://{HOST}/v1")
    assert providers() == ["groq", "mistral"]
    monkeypatch.delenv("MISTRAL_BASE_URL")
    assert providers() == ["groq", None]


@pytest.mark.usefixtures("mock_llm_calls")
def test_the_first_variable_in_the_alphabet_decides_about_a_host_that_several_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("XAI_BASE_URL", "MISTRAL_BASE_URL", "GROQ_BASE_URL", "TOGETHER_BASE_URL"):
        monkeypatch.setenv(name, f"https://{HOST}/v1")
    assert find_provider(HOST, None, "/v1/models") == "groq"


@pytest.mark.usefixtures("mock_llm_calls")
@pytest.mark.parametrize("value", ["https://[no-address/v1", "https://corp.test:port/v1"])
def test_a_variable_without_a_valid_url_is_skipped(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_BASE_URL", value)
    assert find_provider(HOST, None, "/v1/models") is None
    monkeypatch.setenv("MISTRAL_BASE_URL", f"https://{HOST}/v1")
    assert find_provider(HOST, None, "/v1/models") == "mistral"


PROVIDERS = ("bedrock-runtime.eu-west-1.amazonaws.com", "API.OpenAI.com.", "oai.helicone.ai")


@pytest.mark.parametrize("host", PROVIDERS)
def test_connections_to_a_provider_are_refused(host: str, mock_llm_calls: LLMMock) -> None:
    with pytest.raises(OSError, match="refused: llm_mock cannot answer on this kind of connection"):
        socket.create_connection((host, 443))
    mock_llm_calls.problems.clear()


@pytest.mark.parametrize(
    "url",
    [
        "https://chatgpt.com/backend-api/codex/anything",
        f"https://{HOST}/v1/completions",
    ],
)
def test_what_looks_like_a_model_api_and_is_not_understood_is_refused(
    url: str, mock_llm_calls: LLMMock
) -> None:
    response = httpx.post(url, json={"model": "gpt-4o", "prompt": "Hello"})
    assert response.status_code == 404
    host = httpx.URL(url).host
    assert host in response.text
    (refusal,) = mock_llm_calls.refusals
    for part in (
        host,
        httpx.URL(url).path,
        "test_interception.py:",
        f"add !{host} to ini llm_mock_hosts",
    ):
        assert part in refusal


@pytest.fixture
def application(local_server: str, monkeypatch: pytest.MonkeyPatch) -> str:  # noqa: F811
    """Start an ordinary server under the name of another host; it echoes its requests."""
    original = socket.getaddrinfo
    port = int(local_server.rpartition(":")[2])

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        return original(
            "127.0.0.1" if host in ("app.corp.test", b"app.corp.test") else host, *args, **kwargs
        )

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return f"http://app.corp.test:{port}"


BODIES = (
    ("/messages", {"text": "Hello", "to": "someone"}),
    ("/messages", {"model": "T-800", "year": 1984}),
    ("/responses", {"answers": ["yes", "no"]}),
    ("/orders", {"model": "gpt-4o", "messages": MESSAGES}),
    ("/api/chat", {"message": "Hello"}),
    ("/chat/completions", ["no object"]),
)


def sent_by_aiohttp(url: str, body: Any, headers: Any) -> Any:
    async def ask() -> Any:
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, headers=headers, **body) as response,
        ):
            return await response.json()

    return asyncio.run(ask())


def pieces_of(body: Any) -> Iterator[bytes]:
    text = json.dumps(body).encode()
    yield text[:5]
    yield text[5:]


@pytest.mark.parametrize(("path", "body"), BODIES)
def test_ordinary_requests_are_left_alone(
    path: str, body: Any, application: str, mock_llm_calls: LLMMock
) -> None:
    for post in (httpx.post, httpx2.post, requests.post):
        assert json.loads(post(application + path, json=body).json()["sent"]) == body
    assert json.loads(sent_by_aiohttp(application + path, {"json": body}, {})["sent"]) == body
    assert mock_llm_calls.problems == []


def test_a_body_that_was_read_is_sent_on_unharmed(
    application: str, mock_llm_calls: LLMMock
) -> None:
    url, body, headers = f"{application}/messages", {"text": "Hello"}, {"content-length": "17"}
    for library in (httpx, httpx2):
        assert library.post(url, content=pieces_of(body), headers=headers).json()[
            "sent"
        ] == json.dumps(body)
        with library.Client(transport=library.HTTPTransport()) as client:
            assert client.post(url, content=pieces_of(body), headers=headers).json()[
                "sent"
            ] == json.dumps(body)
    given = {"data": b"".join(pieces_of(body))}
    assert requests.post(url, timeout=10, **given).json()["sent"] == json.dumps(body)
    assert sent_by_aiohttp(url, given, {})["sent"] == json.dumps(body)

    async def pieces() -> Any:
        for piece in pieces_of(body):
            yield piece

    assert sent_by_aiohttp(url, {"data": pieces()}, headers)["sent"] == json.dumps(body)


BODIES_OF_URLLIB3: dict[str, Callable[[], Any]] = {
    "text": lambda: "Gr\u00fc\u00dfe",
    "bytes": lambda: b"Hello",
    "bytearray": lambda: bytearray(b"Hello"),
    "memoryview": lambda: memoryview(b"Hello"),
    "file": lambda: io.BytesIO(b"Hello"),
    "pieces": lambda: iter((b"Hel", b"lo")),
    "no pieces": lambda: iter(()),
}


@pytest.mark.parametrize("make_body", BODIES_OF_URLLIB3.values(), ids=BODIES_OF_URLLIB3)
def test_urllib3_frames_a_body_that_was_read_as_any_other(
    make_body: Callable[[], Any], application: str, mock_llm_calls: LLMMock
) -> None:
    bodies = []
    framed = []

    def note(pool: Any, connection: Any, method: str, url: str, **kwargs: Any) -> None:
        body = kwargs["body"]
        is_sized = isinstance(body, (str, bytes, bytearray, memoryview))
        framed.append(is_sized)
        bodies.append(body if is_sized else b"".join(body))
        raise LookupError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(urllib3.HTTPConnectionPool, "_make_request", note)
        for path in ("/orders", "/messages"):
            with pytest.raises(LookupError):
                urllib3.request("POST", application + path, body=make_body(), retries=False)
    assert bodies[0] == bodies[1]
    assert framed[0] == framed[1]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_only_a_post_asks_a_model(method: str, application: str, mock_llm_calls: LLMMock) -> None:
    url = f"{application}/v1/chat/completions"
    for library in (httpx, requests):
        assert library.request(method, url, json=QUESTION, timeout=10).status_code == 501
    assert mock_llm_calls.problems == []


def test_other_media_types_are_not_looked_into(application: str, mock_llm_calls: LLMMock) -> None:
    sent = httpx.post(f"{application}/messages", data={"model": "a", "messages": "b"}).json()[
        "sent"
    ]
    assert sent == "model=a&messages=b"


def test_a_host_may_be_taken_out(
    application: str, mock_llm_calls: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    mock_llm_calls.set("*", "Hi!")
    url = f"{application}/v1/chat/completions"
    assert text_of(httpx.post(url, json=QUESTION).json())
    monkeypatch.setattr(http_settings, "hosts", ("!app.corp.test",))
    assert json.loads(httpx.post(url, json=QUESTION).json()["sent"]) == QUESTION


def test_token_counts_traces_and_warm_ups_are_answered(mock_llm_calls: LLMMock) -> None:
    client = openai.OpenAI()
    assert client.responses.input_tokens.count(model="gpt-4o", input="x" * 400).input_tokens >= 100
    assert httpx.post("https://api.openai.com/v1/traces/ingest", json={"data": []}).is_success
    assert httpx.get("https://api.cerebras.ai/v1/tcp_warming").is_success
    assert (mock_llm_calls.calls, mock_llm_calls.problems) == ([], [])


@pytest.mark.parametrize("post", [httpx.post, httpx2.post, requests.post])
def test_telemetry_of_frameworks_is_dropped(post: Any, mock_llm_calls: LLMMock) -> None:
    assert post("https://telemetry.crewai.com:4319/", json={"event": "started"}).json() == {}
    assert mock_llm_calls.problems == []


def test_telemetry_may_be_let_through(
    application: str, monkeypatch: pytest.MonkeyPatch, mock_llm_calls: LLMMock
) -> None:
    monkeypatch.setattr(
        "llm_mock.boundaries.http.providers.hosts.TELEMETRY_DOMAINS", ("app.corp.test",)
    )
    assert requests.post(f"{application}/batch/", json={}, timeout=10).json() == {}
    monkeypatch.setattr(http_settings, "hosts", ("!app.corp.test",))
    assert requests.post(f"{application}/batch/", json={}, timeout=10).json()["path"] == "/batch/"
