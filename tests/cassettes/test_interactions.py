"""Answers of Google's Interactions are recorded, and replayed as they came."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from llm_mock.cassettes import Cassette
from tests.boundaries.http.request_senders import KEY
from tests.cassettes.conftest import Run, serve_as_provider
from tests.cassettes.test_received_bytes import ByteServer

MODEL = "gemini-3.8-flash"
USAGE = {"total_input_tokens": 5, "total_output_tokens": 6, "total_tokens": 11}
HEAD = {"id": "v1_a", "object": "interaction", "model": MODEL}
CALL = {"type": "function_call", "id": "call_1", "name": "weather"}
WHOLE = {
    **HEAD,
    "status": "incomplete",
    "usage": USAGE,
    "steps": [
        {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "Hm."}]},
        {"type": "model_output", "content": [{"type": "text", "text": "Hi!"}]},
        {**CALL, "arguments": {"city": "Bern"}},
    ],
}
EVENTS: list[Any] = [
    {"event_type": "interaction.created", "interaction": {**HEAD, "status": "in_progress"}},
    {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
    {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "Hi"}},
    {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "!"}},
    {"event_type": "step.stop", "index": 0},
    {"event_type": "step.start", "index": 1, "step": {**CALL, "arguments": {}}},
    {
        "event_type": "step.delta",
        "index": 1,
        "delta": {"type": "arguments_delta", "arguments": '{"city": "Bern"}'},
    },
    {"event_type": "step.stop", "index": 1},
    {
        "event_type": "interaction.completed",
        "interaction": {**HEAD, "status": "incomplete", "usage": USAGE},
    },
]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ByteServer]:
    with serve_as_provider(ByteServer(), monkeypatch) as server:
        yield server


def ask(provider: ByteServer, **fields: Any) -> str:
    """Return the body of an answer."""
    url = f"http://127.0.0.1:{provider.server_port}/v1beta/interactions"
    body = {"model": MODEL, "input": "Hello", **fields}
    return httpx.post(url, json=body, headers={"x-goog-api-key": KEY}).text


def test_an_interaction_is_recorded_and_replayed(run: Run, provider: ByteServer) -> None:
    provider.content = json.dumps(WHOLE).encode()
    assert json.loads(run("all", lambda: ask(provider))) == WHOLE
    assert run.problems == []
    # What it continues need not be recorded.
    continued = {"previous_interaction_id": "v1_z"}
    assert json.loads(run("all", lambda: ask(provider, **continued))) == WHOLE
    assert json.loads(run("none", lambda: ask(provider, **continued))) == WHOLE
    [call] = run.calls
    assert (call.response, call["finish_reason"]) == ("Hi!", "length")
    assert call.usage == {"input_tokens": 5, "output_tokens": 6}
    assert KEY not in run.path.read_text()


def test_a_stream_is_recorded_and_replayed(run: Run, provider: ByteServer) -> None:
    blocks = [f"event: {event['event_type']}\ndata: {json.dumps(event)}\n\n" for event in EVENTS]
    content = "".join([*blocks, "event: done\ndata: [DONE]\n\n"])
    provider.content = content.encode()
    provider.headers["content-type"] = "text/event-stream"
    assert run("all", lambda: ask(provider, stream=True)) == content
    assert run.problems == []
    text, *others = Cassette(run.path).calls[0].response.events
    assert (text.text, text.chunks) == ("Hi!", [2, 1])
    assert [event.type for event in others] == ["tool_call_name", "tool_call_args"]
    replayed = run("none", lambda: ask(provider, stream=True))
    data = [block.partition("data: ")[2] for block in replayed.split("\n\n")[:-1]]
    assert [json.loads(each) for each in data[:-1]] == EVENTS
    assert data[-1] == "[DONE]"
    assert replayed.count("event: step.delta") == 3
