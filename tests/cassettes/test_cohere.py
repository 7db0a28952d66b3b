"""Answers of Cohere are recorded, and replayed as they came."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from llm_mock.cassettes import Cassette
from tests.boundaries.http.request_senders import KEY, has_cohere
from tests.cassettes.conftest import Run, serve_as_provider
from tests.cassettes.test_received_bytes import ByteServer

if not has_cohere():
    pytest.skip("needs cohere 7 or newer", allow_module_level=True)

import cohere

pytestmark = pytest.mark.filterwarnings("ignore:The `__fields__` attribute is deprecated")
HELLO: Any = [{"role": "user", "content": "Hello"}]
USAGE = {
    "billed_units": {"input_tokens": 3, "output_tokens": 6},
    "tokens": {"input_tokens": 5, "output_tokens": 6},
}
CALL = {"id": "w_1", "type": "function", "function": {"name": "weather", "arguments": '{"a": 1}'}}
WHOLE = {
    "id": "1",
    "finish_reason": "TOOL_CALL",
    "message": {"role": "assistant", "tool_plan": "I look.", "tool_calls": [CALL]},
    "usage": USAGE,
}
EVENTS: list[Any] = [
    {"id": "1", "type": "message-start", "delta": {"message": {"role": "assistant"}}},
    {
        "type": "content-start",
        "index": 0,
        "delta": {"message": {"content": {"type": "text", "text": ""}}},
    },
    {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "Hi"}}}},
    {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "!"}}}},
    {"type": "content-end", "index": 0},
    {"type": "message-end", "delta": {"finish_reason": "MAX_TOKENS", "usage": USAGE}},
]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ByteServer]:
    with serve_as_provider(ByteServer(), monkeypatch) as server:
        yield server


def make_client(provider: ByteServer) -> cohere.ClientV2:
    return cohere.ClientV2(KEY, base_url=f"http://127.0.0.1:{provider.server_port}")


def encode(events: list[Any]) -> bytes:
    """Return events as a stream, each with its name."""
    text = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
    return f"{text}data: [DONE]\n\n".encode()


def test_an_answer_in_one_piece_is_recorded_and_replayed(run: Run, provider: ByteServer) -> None:
    provider.content = json.dumps(WHOLE).encode()

    def ask() -> Any:
        return make_client(provider).chat(model="command-a", messages=HELLO).dict()

    answer = run("all", ask)
    assert answer["message"]["tool_calls"][0]["function"]["arguments"] == '{"a": 1}'
    assert run.problems == []
    assert run("none", ask) == answer
    [call] = run.calls
    assert call["response"] == "I look."
    assert call["finish_reason"] == "tool_calls"
    assert call.usage == {"input_tokens": 5, "output_tokens": 6}
    assert KEY not in run.path.read_text()


def test_a_stream_is_recorded_and_replayed(run: Run, provider: ByteServer) -> None:
    provider.content = encode(EVENTS)
    provider.headers["content-type"] = "text/event-stream"

    def ask() -> list[Any]:
        stream = make_client(provider).chat_stream(model="command-a", messages=HELLO)
        return [event.dict() for event in stream]

    events = run("all", ask)
    assert [event["type"] for event in events] == [event["type"] for event in EVENTS]
    assert run.problems == []
    [recorded] = Cassette(run.path).calls
    [text] = recorded.response.events
    assert (text.text, text.chunks) == ("Hi!", [2, 1])
    assert run("none", ask) == events
    [call] = run.calls
    assert (call["response"], call["finish_reason"]) == ("Hi!", "length")
    assert call.usage == {"input_tokens": 5, "output_tokens": 6}


RANKING = {"id": "1", "results": [{"index": 1, "relevance_score": 0.9}]}


def test_a_ranking_is_recorded_and_replayed(run: Run, provider: ByteServer) -> None:
    provider.content = json.dumps(RANKING).encode()

    def ask() -> Any:
        client = make_client(provider)
        return client.rerank(model="rerank-v3.5", query="a", documents=["b", "a"]).dict()

    answer = run("all", ask)
    assert answer["results"][0]["index"] == 1
    assert run("none", ask) == answer
    assert run.problems == []


def test_a_cassette_of_an_unknown_api_is_refused(run: Run, provider: ByteServer) -> None:
    provider.content = json.dumps(WHOLE).encode()
    run("all", lambda: make_client(provider).chat(model="command-a", messages=HELLO))
    text = run.path.read_text()
    assert "cohere.chat" in text
    run.path.write_text(text.replace("cohere.chat", "cohere.talk"))
    with pytest.raises(Exception, match=r"should be 'chat\.completions', .* 'cohere\.chat'"):
        Cassette(run.path)
