"""Answers of Bedrock are recorded, and replayed as they came."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from llm_mock.boundaries.http.event_stream import encode_event, encode_exception
from llm_mock.cassettes import Cassette
from tests.boundaries.http.request_senders import KEY, has_converse
from tests.cassettes.conftest import Run, serve_as_provider
from tests.cassettes.test_received_bytes import ByteServer

if not has_converse():
    pytest.skip("needs botocore 1.40 or newer", allow_module_level=True)

import botocore.exceptions
import botocore.session

MODEL = "amazon.nova-lite-v1:0"
HELLO: Any = [{"role": "user", "content": [{"text": "Hello"}]}]
USAGE = {"inputTokens": 5, "outputTokens": 6, "totalTokens": 11}
WHOLE = {
    "output": {"message": {"role": "assistant", "content": [{"text": "Hi!"}]}},
    "stopReason": "max_tokens",
    "usage": USAGE,
    "metrics": {"latencyMs": 7},
}
EVENTS: list[Any] = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hi"}}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "!"}}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {"messageStop": {"stopReason": "max_tokens"}},
    {"metadata": {"usage": USAGE, "metrics": {"latencyMs": 7}}},
]
STREAM = "application/vnd.amazon.eventstream"
Ask = Callable[[ByteServer], list[Any]]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ByteServer]:
    with serve_as_provider(ByteServer(), monkeypatch) as server:
        yield server


def make_client(provider: ByteServer) -> Any:
    return botocore.session.get_session().create_client(
        "bedrock-runtime",
        "us-east-1",
        endpoint_url=f"http://127.0.0.1:{provider.server_port}",
        aws_access_key_id=KEY,
        aws_secret_access_key="secret-of-ada",
    )


def converse(provider: ByteServer) -> Any:
    answer = make_client(provider).converse(modelId=MODEL, messages=HELLO)
    del answer["ResponseMetadata"]
    return answer


def stream(provider: ByteServer) -> list[Any]:
    return list(make_client(provider).converse_stream(modelId=MODEL, messages=HELLO)["stream"])


def encode(events: list[Any]) -> bytes:
    """Return events as a stream."""
    pairs = [next(iter(event.items())) for event in events]
    return b"".join(encode_event(kind, json.dumps(fields).encode()) for kind, fields in pairs)


def test_an_answer_in_one_piece_is_recorded_and_replayed(run: Run, provider: ByteServer) -> None:
    provider.content = json.dumps(WHOLE).encode()
    assert run("all", lambda: converse(provider)) == WHOLE
    assert run.problems == []
    assert run("none", lambda: converse(provider)) == WHOLE
    [call] = run.calls
    assert (call["response"], call["finish_reason"]) == ("Hi!", "length")
    assert KEY not in run.path.read_text()


def test_a_stream_is_recorded_and_replayed(run: Run, provider: ByteServer) -> None:
    provider.content = encode(EVENTS)
    provider.headers["content-type"] = STREAM
    assert run("all", lambda: stream(provider)) == EVENTS
    assert run.problems == []
    [recorded] = Cassette(run.path).calls
    [text] = recorded.response.events
    assert (text.text, text.chunks) == ("Hi!", [2, 1])
    assert run("none", lambda: stream(provider)) == EVENTS
    [call] = run.calls
    assert (call["response"], call["finish_reason"]) == ("Hi!", "length")
    assert call.usage == {"input_tokens": 5, "output_tokens": 6}


CHUNKS = [
    {
        "generation": "Hi",
        "prompt_token_count": 5,
        "generation_token_count": 1,
        "stop_reason": None,
    },
    {
        "generation": "!",
        "prompt_token_count": None,
        "generation_token_count": 2,
        "stop_reason": "length",
    },
]


def stream_invoke(provider: ByteServer) -> list[Any]:
    """Return the chunks of InvokeModelWithResponseStream."""
    answer = make_client(provider).invoke_model_with_response_stream(
        modelId="meta.llama3-1-8b-instruct-v1:0", body=json.dumps({"prompt": "Hello"})
    )
    return [json.loads(event["chunk"]["bytes"]) for event in answer["body"]]


def encode_chunks(chunks: list[Any]) -> bytes:
    """Return the chunks of InvokeModel as a stream."""
    encoded = [base64.b64encode(json.dumps(chunk).encode()).decode() for chunk in chunks]
    return encode([{"chunk": {"bytes": data}} for data in encoded])


def test_a_stream_of_invoke_model_is_recorded_and_replayed(run: Run, provider: ByteServer) -> None:
    provider.content = encode_chunks(CHUNKS)
    provider.headers["content-type"] = STREAM
    assert run("all", lambda: stream_invoke(provider)) == CHUNKS
    assert run.problems == []
    assert run("none", lambda: stream_invoke(provider)) == CHUNKS
    [call] = run.calls
    assert (call["response"], call["finish_reason"]) == ("Hi!", "length")
    assert call.usage == {"input_tokens": 5, "output_tokens": 2}


@pytest.mark.parametrize("ask", [stream, stream_invoke], ids=["Converse", "InvokeModel"])
def test_an_error_within_a_stream_is_replayed(ask: Ask, run: Run, provider: ByteServer) -> None:
    provider.content = encode(EVENTS[:2]) if ask is stream else encode_chunks(CHUNKS[:1])
    provider.content += encode_exception("throttlingException", b'{"message": "slow down"}')
    provider.headers["content-type"] = STREAM
    for mode in ("all", "none"):
        with pytest.raises(
            botocore.exceptions.EventStreamError,
            match=re.escape("An error occurred (throttlingException)") + ".*: slow down",
        ):
            run(mode, lambda: ask(provider))  # type: ignore[arg-type]
        assert run.problems == []


def test_a_damaged_stream_is_a_problem_and_reaches_the_client(
    run: Run, provider: ByteServer
) -> None:
    provider.content = b"no event stream at all"
    provider.headers["content-type"] = STREAM
    with pytest.raises(Exception, match=r"[Cc]hecksum"):
        run("all", lambda: stream(provider))
    [message] = run.problems
    assert "the checksum of an event stream is wrong" in message
