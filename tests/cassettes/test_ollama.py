"""Answers of Ollama are recorded, and replayed as they came."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from llm_mock.cassettes import Cassette
from tests.boundaries.http.request_senders import has_ollama
from tests.cassettes.conftest import Run, serve_as_provider
from tests.cassettes.test_received_bytes import ByteServer

if not has_ollama():
    pytest.skip("needs ollama 0.5 or newer", allow_module_level=True)

ollama: Any = pytest.importorskip("ollama")

HELLO = [{"role": "user", "content": "Hello"}]
HEAD = {"model": "llama3.2", "created_at": "2026-01-01T00:00:00Z"}
END = {
    "done": True,
    "done_reason": "length",
    "total_duration": 9,
    "load_duration": 1,
    "prompt_eval_count": 5,
    "prompt_eval_duration": 2,
    "eval_count": 6,
    "eval_duration": 3,
}
CALLS = [
    {"function": {"name": "weather", "arguments": {"city": city}}} for city in ("Bern", "Rome")
]
WHOLE = {
    **HEAD,
    "message": {"role": "assistant", "content": "I look.", "thinking": "Hm.", "tool_calls": CALLS},
    **END,
}
LINES: list[Any] = [
    {**HEAD, "message": {"role": "assistant", "content": "Hi"}, "done": False},
    {**HEAD, "message": {"role": "assistant", "content": "!"}, "done": False},
    {**HEAD, "message": {"role": "assistant", "content": ""}, **END},
]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ByteServer]:
    with serve_as_provider(ByteServer(), monkeypatch) as server:
        yield server


def make_client(provider: ByteServer) -> Any:
    return ollama.Client(f"http://127.0.0.1:{provider.server_port}")


def test_an_answer_in_one_piece_is_recorded_and_replayed(run: Run, provider: ByteServer) -> None:
    provider.content = json.dumps(WHOLE).encode()

    def ask() -> Any:
        return make_client(provider).chat("llama3.2", HELLO).model_dump()

    answer = run("all", ask)
    assert answer["message"]["content"] == "I look."
    assert run.problems == []
    assert run("none", ask) == answer
    [call] = run.calls
    assert (call["response"], call["finish_reason"]) == ("I look.", "length")
    assert call.usage == {"input_tokens": 5, "output_tokens": 6}
    [recorded] = Cassette(run.path).calls
    made = [(each.name, each.arguments) for each in recorded.response.tool_calls]
    assert made == [("weather", {"city": "Bern"}), ("weather", {"city": "Rome"})]


def test_a_completion_is_recorded_and_replayed(run: Run, provider: ByteServer) -> None:
    provider.content = json.dumps({**HEAD, "response": "Hi!", **END}).encode()

    def ask() -> Any:
        return make_client(provider).generate("llama3.2", "Hello").model_dump()

    answer = run("all", ask)
    assert answer["response"] == "Hi!"
    assert run("none", ask) == answer
    assert run.problems == []


@pytest.mark.parametrize("end", [b"\n", b"", b"\n\n"])
def test_a_stream_is_recorded_and_replayed(end: bytes, run: Run, provider: ByteServer) -> None:
    provider.content = b"\n".join(json.dumps(line).encode() for line in LINES) + end
    provider.headers["content-type"] = "application/x-ndjson"

    def ask() -> list[Any]:
        stream = make_client(provider)._client.stream
        body = {"model": "llama3.2", "messages": HELLO}
        with stream("POST", "/api/chat", json=body) as answer:
            assert answer.headers["content-type"] == "application/x-ndjson"
            return [json.loads(line) for line in answer.iter_lines() if line]

    assert run("all", ask) == LINES
    assert run.problems == []
    [recorded] = Cassette(run.path).calls
    [text] = recorded.response.events
    assert (text.text, text.chunks) == ("Hi!", [2, 1])
    assert run("none", ask) == LINES
    [call] = run.calls
    assert (call["response"], call["finish_reason"]) == ("Hi!", "length")
    assert call.usage == {"input_tokens": 5, "output_tokens": 6}
