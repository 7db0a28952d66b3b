"""Requests that ask no model for text, and structured answers, are recorded and replayed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import openai
import pydantic
import pytest

from llm_mock import LLMMock
from llm_mock.boundaries.http.server import MockServer
from llm_mock.cassettes import Cassette
from llm_mock.core.context import current_mock
from tests.boundaries.http.test_forwarding import Connections
from tests.boundaries.http.test_forwarding import provider as forwarding_provider
from tests.cassettes.conftest import Run
from tests.cassettes.sdk_calls import (
    new_anthropic,
    new_gemini,
    new_mistral,
    new_openai,
    said,
    user,
    using,
)
from tests.provider_server import KEY, ProviderServer

server = forwarding_provider
SMALL = "text-embedding-3-small"


class Place(pydantic.BaseModel):
    """The structured answer."""

    city: str


Ask = Callable[[Any], Any]
OPENAI: dict[str, Ask] = {
    "embeddings": lambda client: client.embeddings.create(
        model=SMALL, input="Bern", encoding_format="float"
    ),
    "embeddings of a list": lambda client: client.embeddings.create(
        model=SMALL, input=["Bern"], encoding_format="float"
    ),
    "models": lambda client: list(client.models.list()),
    "model": lambda client: client.models.retrieve("gpt-4o"),
    "tokens": lambda client: client.responses.input_tokens.count(model="gpt-5", input="Bern"),
    "moderation": lambda client: client.moderations.create(input="Bern"),
    "speech": lambda client: (
        client.audio.speech.create(model="tts-1", voice="alloy", input="Bern").content
    ),
    "transcription": lambda client: client.audio.transcriptions.create(
        model="whisper-1", file=("a.mp3", b"\xff\xfb")
    ),
    "chat parse": lambda client: (
        client.chat.completions.parse(
            model="gpt-4o", messages=user("Bern as JSON"), response_format=Place
        )
        .choices[0]
        .message.parsed
    ),
    "responses parse": lambda client: (
        client.responses.parse(model="gpt-5", input="Bern as JSON", text_format=Place).output_parsed
    ),
}
ANTHROPIC: dict[str, Ask] = {
    "tokens": lambda client: client.messages.count_tokens(model="claude-1", messages=user("Bern")),
    "models": lambda client: list(client.models.list()),
    "parse": lambda client: (
        client.messages.parse(
            model="claude-1", max_tokens=9, messages=user("Bern as JSON"), output_format=Place
        ).parsed_output
    ),
}
GEMINI: dict[str, Ask] = {
    "embeddings": lambda client: (
        client.models.embed_content(model="gemini-embedding-001", contents="Bern").embeddings
    ),
    "tokens": lambda client: (
        client.models.count_tokens(model="gemini-3-pro", contents="Bern").total_tokens
    ),
    "models": lambda client: [model.name for model in client.models.list()],
    "parse": lambda client: (
        client.models.generate_content(
            model="gemini-3-pro",
            contents="Bern as JSON",
            config={"response_mime_type": "application/json", "response_schema": Place},
        ).parsed
    ),
}
MISTRAL: dict[str, Ask] = {
    "embeddings": lambda client: client.embeddings.create(model="mistral-embed", inputs=["Bern"]),
    "models": lambda client: client.models.list(),
}
SDKS: dict[str, tuple[Callable[[str], Any], str, dict[str, Ask]]] = {
    "openai": (new_openai, "", OPENAI),
    "anthropic": (new_anthropic, "/anthropic", ANTHROPIC),
    "google": (new_gemini, "", GEMINI),
    "mistral": (new_mistral, "", MISTRAL),
}
CASES = [(sdk, name) for sdk, (_, _, asks) in SDKS.items() for name in asks]


@pytest.mark.parametrize(("sdk", "name"), CASES, ids=[f"{sdk} {name}" for sdk, name in CASES])
def test_what_an_sdk_asks_beside_answers_is_recorded_and_replayed(
    sdk: str, name: str, run: Run, provider: ProviderServer
) -> None:
    make, path, asks = SDKS[sdk]

    def ask() -> Any:
        with using(make, f"{provider.url}{path}") as client:
            return said(asks[name](client))

    recorded = run("once", ask)
    assert run.problems == []
    assert (len(provider.requests), len(run.cassette.recorded)) == (1, 1)
    assert KEY not in run.path.read_text()
    assert run("none", ask) == recorded
    assert (len(provider.requests), run.problems) == (1, [])
    assert "mock" not in str(recorded)
    if "parse" in name:
        assert recorded["city"] == "Bern" if isinstance(recorded, dict) else recorded.city == "Bern"


def test_a_vector_stands_on_one_line_and_comes_back_exactly(
    run: Run, provider: ProviderServer
) -> None:
    def ask() -> Any:
        with using(new_openai, provider.url) as client:
            return OPENAI["embeddings"](client).data[0].embedding

    assert run("once", ask) == run("none", ask) == [0.1, -2.5, 1e-07, 3.0]
    assert any("[0.1, -2.5, " in line for line in run.path.read_text().splitlines())


def test_requests_differ_by_method_path_query_and_body(run: Run, provider: ProviderServer) -> None:
    requests: list[tuple[str, str, Any]] = [
        ("GET", "/v1/models", None),
        ("GET", "/v1/models?limit=2", None),
        ("GET", "/v1/models?limit=", None),
        ("GET", "/v1/models/gpt-4o", None),
        ("DELETE", "/v1/models/gpt-4o", None),
        ("POST", "/v1/rerank", {"query": "a", "documents": ["b"]}),
        ("POST", "/v1/rerank", {"query": "a", "documents": ["c"]}),
        ("POST", "/v1/rerank", {"query": "b", "documents": ["b"]}),
        ("POST", "/v1/embeddings", {"model": SMALL, "input": [1, 2]}),
        ("POST", "/v1/embeddings", {"model": SMALL, "input": [1, 3]}),
        ("POST", "/v1/embeddings", ["a"]),
    ]

    def send(each: tuple[str, str, Any]) -> int:
        method, path, body = each
        headers = {"authorization": f"Bearer {KEY}"}
        url = f"{provider.url}{path}"
        return httpx.request(method, url, json=body, headers=headers).status_code

    assert run("once", lambda: [send(each) for each in requests]) == [200] * len(requests)
    for each in requests:
        assert run("none", lambda each=each: send(each)) == 200
        assert len(run.cassette.unused()) == len(requests) - 1
    for method, path, body in (("GET", "/v1/models?limit=3", None), ("POST", "/v1/rerank", {})):
        run("none", lambda each=(method, path, body): send(each))
        assert "does not contain this call" in run.problems[0]
    assert len(provider.requests) == len(requests)


def test_a_secret_in_the_query_is_not_recorded(run: Run, provider: ProviderServer) -> None:
    def ask(key: str = "key=query-7716-a&") -> Any:
        return httpx.get(f"{provider.url}/v1/models?{key}pageSize=2").json()

    recorded = run("once", ask)
    assert "7716" not in run.path.read_text()
    assert run("none", lambda: ask("key=another&")) == recorded
    # The header may hold the key, too.
    assert run("none", lambda: ask("")) == recorded


def test_an_error_of_an_endpoint_is_replayed_with_its_status(
    run: Run, provider: ProviderServer
) -> None:
    def ask() -> Any:
        with using(new_openai, provider.url) as client, pytest.raises(openai.APIError) as caught:
            client.embeddings.create(model=SMALL, input="to fail")
        return caught.type, caught.value.body

    recorded = run("once", ask)
    assert recorded[0] is openai.RateLimitError
    assert run("none", ask) == recorded
    assert run.calls[0]["error"]
    assert len(provider.requests) == 1


def test_async_clients_and_other_libraries_are_recorded(run: Run, provider: ProviderServer) -> None:
    import requests

    async def ask_async() -> Any:
        url = f"{provider.url}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
            return said(await client.embeddings.create(model=SMALL, input="Bern"))

    def ask() -> Any:
        answer = requests.get(
            f"{provider.url}/v1/models", headers={"x-api-key": KEY}, timeout=9
        ).json()
        return [asyncio.run(ask_async()), answer]

    assert run("once", ask) == run("none", ask)
    assert len(provider.requests) == 2


def test_vectors_that_the_test_sets_go_before_the_cassette(
    run: Run, provider: ProviderServer
) -> None:
    def ask() -> Any:
        current_mock().set_embedding(SMALL, "Bern", [1.0] * 1536)
        with using(new_openai, provider.url) as client:
            return OPENAI["embeddings"](client).data[0].embedding

    assert run("once", ask) == [1.0] * 1536
    assert provider.requests == []


def test_a_recorded_request_is_in_the_history_with_its_usage(
    run: Run, provider: ProviderServer
) -> None:
    def ask() -> None:
        with using(new_openai, provider.url) as client:
            OPENAI["embeddings"](client)

    for mode in ("once", "none"):
        run(mode, ask)
        [call] = run.calls
        assert (call["model_id"], call["prompt"]) == (SMALL, "Bern")
        assert call["input_tokens"] == 3


def test_traces_are_neither_sent_nor_recorded(run: Run, provider: ProviderServer) -> None:
    def ask() -> int:
        return httpx.post(f"{provider.url}/v1/traces/ingest", json={"data": []}).status_code

    assert run("once", ask) == 200
    assert (provider.requests, run.cassette.recorded, run.problems) == ([], [], [])


def test_the_server_records_them_too(server: ProviderServer, tmp_path: Path) -> None:
    assert Connections.target == server.host

    def ask() -> Any:
        mock = LLMMock(at_boundary=True)
        mock.cassette = Cassette(tmp_path / "cassette.yaml", "new_episodes")
        with (
            MockServer(lambda: mock) as served,
            openai.OpenAI(base_url=served.openai_url, api_key=KEY, max_retries=0) as client,
        ):
            answers = [said(client.embeddings.create(model=SMALL, input="Bern"))]
            answers += [client.audio.speech.create(model="t", voice="alloy", input="B").content]
        mock.cassette.save(passed=True)
        assert mock.problems == []
        return answers

    assert ask() == ask()
    assert len(server.requests) == 2


def test_a_speech_beside_the_cassette_is_replayed_by_another_process(
    run: Run, provider: ProviderServer
) -> None:
    def ask() -> Any:
        with using(new_openai, provider.url) as client:
            return OPENAI["speech"](client)

    content = run("once", ask)
    assert [path.suffix for path in run.path.parent.glob("*.attachment-*")] == [".mp3"]
    assert run("none", ask) == content


def test_the_recording_of_text_imports_no_module_for_it() -> None:
    code = (
        "import sys, llm_mock.boundaries.http.dispatch\n"
        "print('llm_mock.boundaries.http.endpoint_recording' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
def test_a_request_that_the_mock_cannot_read_is_recorded_as_it_came(
    path: str, run: Run, provider: ProviderServer
) -> None:
    def ask() -> Any:
        body = {"model": "gpt-4o", "unknown": {"a": [1]}}
        headers = {"authorization": f"Bearer {KEY}"}
        return httpx.post(f"{provider.url}{path}", json=body, headers=headers).json()

    recorded = run("once", ask)
    assert (len(provider.requests), run.problems) == (1, [])
    assert run("none", ask) == recorded
    assert (len(provider.requests), run.problems) == (1, [])
