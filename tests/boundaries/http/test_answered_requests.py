"""Requests that are answered, refused or left alone."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
from mistralai.client import Mistral

from llm_mock import Latency, LLMMock, Reply

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
CHAT = "https://api.openai.com/v1/chat/completions"
QUESTION = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}


class _Echo(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        answer = json.dumps({"path": self.path, "sent": body.decode()}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def local_server() -> Iterator[str]:
    """Yield a server of the test's own, which says what it was sent."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as server:
        # Half a second of the default interval would pass at the end of each test.
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def by_httpx(url: str) -> Any:
    return httpx.post(url, json=QUESTION).json()


def by_httpx2(url: str) -> Any:
    return httpx2.post(url, json=QUESTION).json()


def by_requests(url: str) -> Any:
    return requests.post(url, json=QUESTION, timeout=10).json()


def by_httpx_in_trio(url: str) -> Any:
    async def ask() -> Any:
        async with httpx.AsyncClient() as client:
            return (await client.post(url, json=QUESTION)).json()

    return trio.run(ask)


def by_aiohttp(url: str) -> Any:
    async def ask() -> Any:
        async with aiohttp.ClientSession() as session, session.post(url, json=QUESTION) as response:
            return await response.json()

    return asyncio.run(ask())


libraries = pytest.mark.parametrize(
    "ask", [by_httpx, by_httpx2, by_requests, by_httpx_in_trio, by_aiohttp]
)


@libraries
def test_every_library_is_answered_without_a_socket(ask: Any, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", "Hi!")
    assert ask(CHAT)["choices"][0]["message"]["content"] == "Hi!"


@libraries
def test_other_hosts_are_left_alone(ask: Any, local_server: str, mock_llm_calls: LLMMock) -> None:
    assert ask(f"{local_server}/v1/chat/completions")["sent"].replace(" ", "") == json.dumps(
        QUESTION
    ).replace(" ", "")
    assert mock_llm_calls.calls == []


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("library", [httpx, httpx2])
def test_a_stream_is_read_piece_by_piece(
    library: Any, streamed: bool, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-4o", Reply(chunks=["a", "b"]))
    with library.stream("POST", CHAT, json={**QUESTION, "stream": streamed}) as response:
        lines = [line for line in response.iter_lines() if line]
    assert len(lines) == (5 if streamed else 1)
    assert response.headers["content-type"].startswith(
        "text/event-stream" if streamed else "application/json"
    )


def test_requests_reads_a_stream_too(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", Reply(chunks=["a", "b"]))
    with requests.post(
        CHAT, json={**QUESTION, "stream": True}, stream=True, timeout=10
    ) as response:
        lines = [line for line in response.iter_lines() if line]
    assert lines[-1] == b"data: [DONE]"


def test_latency_in_real_time_is_waited_for(mock_llm_responses: LLMMock) -> None:
    latency = Latency(first_chunk=0.01, chunks_per_second=1000, real_time=True)
    mock_llm_responses.set("gpt-4o", Reply("Hi!", latency=latency))
    for ask in (by_httpx, by_requests, by_aiohttp, by_httpx_in_trio):
        assert ask(CHAT)["choices"][0]["message"]["content"] == "Hi!"


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"no JSON", 400, "could not parse the JSON body"),
        (b"[]", 400, "could not parse the JSON body"),
        (b'{"model": "gpt-4o"}', 400, "Missing required parameter: 'messages'"),
        (
            b'{"model": "gpt-4o", "messages": "Hello"}',
            400,
            "Invalid type for 'messages': expected an array of objects, but got a string instead.",
        ),
        (b'{"model": "gpt-4o", "messages": []}', 400, "empty array"),
        (
            b'{"messages": [{"role": "user", "content": "Hello"}]}',
            400,
            "Missing required parameter: 'model'",
        ),
    ],
)
def test_a_malformed_request_is_answered_as_the_provider_does(
    body: bytes, status: int, message: str
) -> None:
    response = httpx.post(CHAT, content=body)
    assert response.status_code == status
    assert message in response.json()["error"]["message"]


@pytest.mark.parametrize(
    "host", ["api.openai.com", "api.mistral.ai", "openrouter.ai", "x.openai.azure.com"]
)
def test_a_path_may_have_any_prefix(host: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", "Hi!")
    url = f"https://{host}/some/prefix/chat/completions?api-version=1"
    assert by_httpx(url)["choices"][0]["message"]["content"] == "Hi!"


def test_calls_of_threads_are_those_of_the_test(mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.set("*", "Hi!")
    client = openai.OpenAI()
    threads = [
        threading.Thread(target=lambda: client.chat.completions.create(**QUESTION))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [call["number"] for call in mock_llm_calls.calls] == list(range(1, 9))


def test_embeddings_are_those_of_the_mock(mock_llm_calls: LLMMock) -> None:
    model = mock_llm_calls.get_embedding_model("text-embedding-3-small")
    model.set("a", [1.0] * 1536)
    client = openai.OpenAI()
    first, second = client.embeddings.create(model="text-embedding-3-small", input=["a", "b"]).data
    assert (first.embedding, len(second.embedding)) == ([1.0] * 1536, 1536)
    assert [call["items"] for call in model.call_history] == [["a", "b"]]
    shorter = client.embeddings.create(model="text-embedding-3-small", input="b", dimensions=8)
    assert len(shorter.data[0].embedding) == 8


def test_the_models_are_those_that_were_configured_and_called(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", "Hi!")
    mock_llm_responses.add("gpt-5", "Hi!", optional=True)
    assert [model.id for model in openai.OpenAI().models.list()] == ["gpt-4o", "gpt-5"]
    assert [model.id for model in anthropic.Anthropic().models.list()] == ["gpt-4o", "gpt-5"]
    assert openai.OpenAI().models.retrieve("gpt-4o").id == "gpt-4o"


def test_tokens_are_counted(mock_llm_calls: LLMMock) -> None:
    messages: Any = [{"role": "user", "content": "x" * 400}]
    assert (
        anthropic.Anthropic().messages.count_tokens(model="claude", messages=messages).input_tokens
        >= 100
    )
    assert mock_llm_calls.calls == []


def test_each_sdk_lists_and_retrieves_the_models(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("ft:gpt-4o:acme::9f", "Hi!")
    mock_llm_responses.set("meta-llama/llama-4:free", "Hi!")
    ids = ["ft:gpt-4o:acme::9f", "meta-llama/llama-4:free"]
    with Mistral(api_key="any") as mistral:
        listed = mistral.models.list().data or []
        assert [model.id for model in listed] == ids
        assert [mistral.models.retrieve(model_id=name).id for name in ids] == ids
    openais = openai.OpenAI()
    assert [model.id for model in openais.models.list()] == ids
    assert [openais.models.retrieve(name).id for name in ids] == ids
    google = genai.Client()
    assert [model.name for model in google.models.list()] == [f"models/{name}" for name in ids]
    assert google.models.get(model="gemini-3-pro").name == "models/gemini-3-pro"
    anthropics = anthropic.Anthropic()
    assert [model.id for model in anthropics.models.list()] == ids
    assert anthropics.models.retrieve(ids[0]).id == ids[0]


def test_each_sdk_embeds_and_counts_tokens(mock_llm_calls: LLMMock) -> None:
    with Mistral(api_key="any") as mistral:
        answered = mistral.embeddings.create(model="mistral-embed", inputs=["a", "b"])
        assert [len(item.embedding or []) for item in answered.data] == [1024, 1024]
    google = genai.Client()
    embedded = (
        google.models.embed_content(model="gemini-embedding-001", contents=["a", "b"]).embeddings
        or []
    )
    assert [len(item.values or []) for item in embedded] == [3072, 3072]
    assert google.models.count_tokens(model="gemini-3-pro", contents="x" * 400).total_tokens == 100
    assert mock_llm_calls.calls == []


@pytest.mark.parametrize(
    ("configured", "passes"),
    [
        ("pass", False),
        ("model.set('another', [1.0] * 64)", False),
        ("model.set('a', [1.0] * 64)", True),
        ("model.dimensions = 8", True),
    ],
)
@pytest.mark.parametrize("way", ["http", "llm"])
def test_an_embedding_that_was_not_configured_fails_a_strict_test(
    way: str, configured: str, passes: bool, pytester: pytest.Pytester
) -> None:
    asks = {
        "http": "openai.OpenAI(max_retries=0).embeddings.create(model='e', input='a')",
        "llm": "llm.get_embedding_model('e').embed('a')",
    }
    pytester.makepyfile(
        f"""
        import llm, openai, pytest

        @pytest.mark.llm_mock_strict
        def test_it(mock_llm_calls):
            model = mock_llm_calls.get_embedding_model("e")
            {configured}
            try:
                {asks[way]}
            except Exception:
                pass
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=passes, failed=not passes)
    if not passes:
        result.stdout.fnmatch_lines(
            ["*No vector was configured for this input of the embedding model 'e': *"]
        )


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/chat/completions"),
        ("POST", "/embeddings"),
        ("GET", "/models"),
        ("GET", "/responses/resp_1"),
    ],
)
def test_openai_has_no_path_without_its_version(
    method: str, path: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", "Hi!")
    answer = httpx.request(method, f"https://api.openai.com{path}", json={"model": "gpt-4o"})
    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == f"Invalid URL ({method} {path})"
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert not mock_llm_responses.calls
