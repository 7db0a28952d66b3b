"""Recorded and replayed calls of SDKs return the same, without the provider."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import openai
import pytest
import requests

from llm_mock.core.context import current_mock
from tests.cassettes.conftest import Run, serve_as_provider
from tests.cassettes.sdk_calls import chat, said, user
from tests.openai_server import QuietServer
from tests.provider_server import KEY, TEXT, ProviderServer


def raised(ask: Callable[..., Any], *args: Any) -> type[Exception]:
    """Return the class of what an SDK raises."""
    with pytest.raises(Exception) as caught:  # noqa: PT011
        ask(*args)
    return caught.type


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
    assert "or close its stream" in run.problems[0]
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


def test_a_recorded_stream_is_split_within_its_events(run: Run, provider: ProviderServer) -> None:
    body = {"model": "gpt-4o", "messages": user("Hello"), "stream": True}

    def read_chunks() -> list[bytes]:
        url = f"{provider.url}/v1/chat/completions"
        headers = {"authorization": f"Bearer {KEY}"}
        with httpx.stream("POST", url, json=body, headers=headers) as answer:
            return list(answer.iter_raw())

    def read_split_chunks() -> list[bytes]:
        current_mock().misbehave("split-frames")
        return read_chunks()

    run("all", read_chunks)
    whole = run("none", read_chunks)
    assert all(chunk.startswith(b"data: ") for chunk in whole)
    split = run("none", read_split_chunks)
    assert b"".join(split) == b"".join(whole)
    broken = [chunk for chunk in split if not chunk.startswith(b"data: ")]
    assert len(broken) >= len(whole) - 1


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


def begin(url: str, stream: bool) -> None:
    """Ask for an answer, and read none of its stream."""
    with openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        client.chat.completions.create(  # type: ignore[call-overload]
            model="gpt-4o", messages=user("Hello"), stream=stream
        )


@pytest.mark.parametrize("stream", [False, True])
def test_a_provider_that_is_down_is_so_again(
    stream: bool, run: Run, provider: ProviderServer
) -> None:
    provider.server_close()
    for mode in ("all", "none"):
        error = run(mode, lambda: raised(begin, provider.url, stream))
        assert error is openai.APIConnectionError


class Breaking(BaseHTTPRequestHandler):
    """A provider that closes the connection before the end of its answer."""

    def log_message(self, *args: Any) -> None: ...

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "1000")
        self.end_headers()
        self.wfile.write(b'{"id": "chatcmpl-1", "choices": [')


def test_an_answer_that_breaks_off_does_so_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_as_provider(QuietServer(("127.0.0.1", 0), Breaking), monkeypatch) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        for mode in ("all", "none"):
            assert run(mode, lambda: raised(begin, url, False)) is openai.APIConnectionError


def test_an_answer_is_complete_once_all_its_bytes_were_read(
    run: Run, provider: ProviderServer
) -> None:
    headers = {"authorization": f"Bearer {KEY}", "accept-encoding": "identity"}
    body = {"model": "gpt-4o", "messages": user("Hello")}

    def read_first_chunk() -> Any:
        url = f"{provider.url}/v1/chat/completions"
        with httpx.stream("POST", url, json=body, headers=headers) as response:
            return json.loads(next(response.iter_raw()))

    recorded = run("all", read_first_chunk)
    assert "unfinished" not in run.path.read_text()
    assert run("none", read_first_chunk) == recorded
    assert run.problems == []
