"""The tokens and the cost of recorded answers, by what each provider documents of its usage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
import requests

from llm_mock import LLMMock, create_mock_get_model
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.cassettes import Cassette
from llm_mock.cost.prices import compute_cost
from tests.cassettes.conftest import Run
from tests.cassettes.conftest import run as run
from tests.cassettes.fidelity.server import Served, Server, served

MODEL = "some-model"
TEXT = "Hello Ada."
QUESTION: list[Any] = [{"role": "user", "content": "Hi"}]


class Row(NamedTuple):
    """An answer of a provider, and the usage that it stands for."""

    api: str
    usage: list[dict[str, Any] | None]
    """The usage of each event of a stream, or of the whole answer."""
    input: int | None
    """The tokens that the record of the call has."""
    output: int | None
    details: dict[str, Any] | None
    cost: str
    """At one dollar per million tokens of input and ten of output."""
    own_input: int | None = None
    """The provider's own count of the input, where it leaves cached tokens out."""


CHAT = {
    "prompt_tokens": 2006,
    "completion_tokens": 300,
    "total_tokens": 2306,
    "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 256,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
}
CHAT_DETAILS = {
    "prompt_tokens_details": {"cached_tokens": 1920},
    "completion_tokens_details": {"reasoning_tokens": 256},
}
PLAIN_CHAT = {"prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29}
RESPONSES = {
    "input_tokens": 75,
    "input_tokens_details": {"cached_tokens": 64},
    "output_tokens": 1186,
    "output_tokens_details": {"reasoning_tokens": 1024},
    "total_tokens": 1261,
}
RESPONSES_DETAILS = {
    "input_tokens_details": {"cached_tokens": 64},
    "output_tokens_details": {"reasoning_tokens": 1024},
}
MESSAGES = {
    "input_tokens": 2095,
    "cache_creation_input_tokens": 456,
    "cache_read_input_tokens": 100_000,
    "cache_creation": {"ephemeral_5m_input_tokens": 456, "ephemeral_1h_input_tokens": 0},
    "output_tokens": 503,
    "service_tier": "standard",
}
MESSAGES_DETAILS = {
    "cache_creation_input_tokens": 456,
    "cache_read_input_tokens": 100_000,
    "cache_creation": {"ephemeral_5m_input_tokens": 456},
}
GEMINI = {
    "promptTokenCount": 9,
    "cachedContentTokenCount": 4,
    "candidatesTokenCount": 12,
    "toolUsePromptTokenCount": 100,
    "thoughtsTokenCount": 1116,
    "totalTokenCount": 1237,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 9}],
}
GEMINI_DETAILS = {
    "cachedContentTokenCount": 4,
    "toolUsePromptTokenCount": 100,
    "thoughtsTokenCount": 1116,
}
MISTRAL = {
    "prompt_tokens": 33,
    "completion_tokens": 20,
    "total_tokens": 53,
    "prompt_audio_seconds": None,
    "prompt_tokens_details": {"cached_tokens": 16},
}
ROWS = {
    "chat": Row("chat", [CHAT], 2006, 300, CHAT_DETAILS, "0.005006"),
    "chat without details": Row("chat", [PLAIN_CHAT], 19, 10, None, "0.000119"),
    # Without a count, four characters are a token: "Hi" is one, and the text of ten three.
    "chat without usage": Row("chat", [None], 1, 3, None, "0.000031"),
    "chat stream": Row("chat", [None, None, CHAT], 2006, 300, CHAT_DETAILS, "0.005006"),
    "chat stream without usage": Row("chat", [None, None, None], 1, 3, None, "0.000031"),
    "chat of a gateway to Anthropic": Row(
        *("chat", [{**PLAIN_CHAT, "cache_read_input_tokens": 16}], 19, 10),
        *({"cache_read_input_tokens": 16}, "0.000119"),
    ),
    "responses": Row("responses", [RESPONSES], 75, 1186, RESPONSES_DETAILS, "0.011935"),
    "responses stream": Row(
        "responses", [None, RESPONSES], 75, 1186, RESPONSES_DETAILS, "0.011935"
    ),
    # Anthropic's input tokens are those after the last cached one.
    "messages": Row(
        "messages", [MESSAGES], 102_551, 503, MESSAGES_DETAILS, "0.107581", own_input=2095
    ),
    "messages without cache": Row(
        *("messages", [{"input_tokens": 25, "output_tokens": 15}], 25, 15, None, "0.000175"),
        own_input=25,
    ),
    "messages stream": Row(
        *("messages", [{**MESSAGES, "output_tokens": 1}, {"output_tokens": 503}]),
        *(102_551, 503, MESSAGES_DETAILS, "0.107581", 2095),
    ),
    # The counts of the last event are cumulative: a web search adds input.
    "messages stream with a search": Row(
        "messages",
        [
            {"input_tokens": 2679, "cache_read_input_tokens": 0, "output_tokens": 3},
            {
                "input_tokens": 10_682,
                "cache_read_input_tokens": 0,
                "output_tokens": 510,
                "server_tool_use": {"web_search_requests": 1},
            },
        ],
        *(10_682, 510, {"server_tool_use": {"web_search_requests": 1}}, "0.015782", 10_682),
    ),
    # Google counts thoughts, and what its tools add to the prompt, on their own.
    "gemini": Row("gemini", [GEMINI], 109, 1128, GEMINI_DETAILS, "0.011389"),
    "gemini without thoughts": Row(
        *("gemini", [{"promptTokenCount": 8, "candidatesTokenCount": 2, "totalTokenCount": 10}]),
        *(8, 2, None, "0.000028"),
    ),
    "gemini stream": Row(
        *("gemini", [{"promptTokenCount": 9, "totalTokenCount": 9}, GEMINI]),
        *(109, 1128, GEMINI_DETAILS, "0.011389"),
    ),
    "gemini that only thinks": Row(
        *("gemini", [{"promptTokenCount": 8, "thoughtsTokenCount": 30, "totalTokenCount": 38}]),
        *(8, 30, {"thoughtsTokenCount": 30}, "0.000308"),
    ),
    "mistral": Row(
        *("mistral", [MISTRAL], 33, 20),
        *({"prompt_tokens_details": {"cached_tokens": 16}}, "0.000233"),
    ),
    "mistral stream": Row(
        *("mistral", [None, MISTRAL], 33, 20),
        *({"prompt_tokens_details": {"cached_tokens": 16}}, "0.000233"),
    ),
}


def with_usage(body: dict[str, Any], usage: dict[str, Any] | None, name: str) -> dict[str, Any]:
    return body if usage is None else {**body, name: usage}


def chat_answer(usage: list[Any]) -> list[dict[str, Any]]:
    """Return a completion, or its chunks if there are several."""
    head = {"id": "chatcmpl-1", "created": 1_700_000_000, "model": MODEL}
    if len(usage) == 1:
        choice = {"index": 0, "finish_reason": "stop"}
        message = {"role": "assistant", "content": TEXT}
        whole = {**head, "object": "chat.completion", "choices": [{**choice, "message": message}]}
        return [with_usage(whole, usage[0], "usage")]
    choices = [
        [{"index": 0, "delta": {"role": "assistant", "content": TEXT}, "finish_reason": None}],
        [{"index": 0, "delta": {}, "finish_reason": "stop"}],
        [],
    ]
    # Mistral's usage is in the chunk that ends the answer.
    chunks = zip(choices[: len(usage)], usage, strict=True)
    head["object"] = "chat.completion.chunk"
    return [{**head, "choices": choice, "usage": each} for choice, each in chunks]


def responses_answer(usage: list[Any]) -> list[dict[str, Any]]:
    part = {"type": "output_text", "text": TEXT, "annotations": []}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    whole = {
        **{"id": "resp_1", "object": "response", "created_at": 1_700_000_000, "model": MODEL},
        **{"status": "completed", "output": [{**item, "content": [part]}], "usage": usage[-1]},
    }
    if len(usage) == 1:
        return [whole]
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    created = {"type": "response.created", "response": begun}
    return [created, {"type": "response.completed", "response": whole}]


def messages_answer(usage: list[Any]) -> list[dict[str, Any]]:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL}
    block = {"type": "text", "text": TEXT}
    if len(usage) == 1:
        return [{**head, "content": [block], "stop_reason": "end_turn", "usage": usage[0]}]
    begun = {**head, "content": [], "stop_reason": None, "usage": usage[0]}
    delta = {"type": "text_delta", "text": TEXT}
    empty = {**block, "text": ""}
    return [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage[1]},
        {"type": "message_stop"},
    ]


def gemini_answer(usage: list[Any]) -> list[dict[str, Any]]:
    texts = [TEXT] if len(usage) == 1 else [TEXT, ""]
    events = []
    for position, (text, each) in enumerate(zip(texts, usage, strict=True), start=1):
        candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
        if position == len(usage):
            candidate["finishReason"] = "STOP"
        events.append({"candidates": [candidate], "modelVersion": MODEL, "usageMetadata": each})
    return events


ANSWERS = {
    "chat": chat_answer,
    "mistral": chat_answer,
    "responses": responses_answer,
    "messages": messages_answer,
    "gemini": gemini_answer,
}
PATHS = {
    "chat": "/v1/chat/completions",
    "mistral": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "gemini": f"/v1beta/models/{MODEL}:generateContent",
}


def serve_answer(row: Row) -> Served:
    bodies = ANSWERS[row.api](row.usage)
    if len(row.usage) == 1:
        return Served(json.dumps(bodies[0]))
    texts = [f"data: {json.dumps(body)}\n\n" for body in bodies]
    if row.api in ("chat", "mistral"):
        texts.append("data: [DONE]\n\n")
    return Served("".join(texts), headers={"content-type": "text/event-stream"})


def post(url: str, api: str, stream: bool) -> str:
    """Ask over HTTP, as no SDK shows the usage as it was sent."""
    body: dict[str, Any] = {"model": MODEL, "messages": QUESTION, "stream": stream}
    path = PATHS[api]
    if path.endswith("completions") and stream:
        body["stream_options"] = {"include_usage": True}
    if api == "responses":
        body = {"model": MODEL, "input": "Hi", "stream": stream}
    if api == "messages":
        body["max_tokens"] = 99
    if api == "gemini":
        body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
        if stream:
            path = path.replace("generateContent", "streamGenerateContent?alt=sse")
    response = requests.post(url + path, json=body, headers={"anthropic-version": "2023-06-01"})
    assert response.status_code == 200, response.text
    return response.text


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    answers = {name.replace(" ", "-"): (serve_answer(row),) for name, row in ROWS.items()}
    with served(answers) as running:
        monkeypatch.setattr(http_settings, "hosts", (f"127.0.0.1:{running.server_port}",))
        yield running


def priced() -> LLMMock:
    mock = create_mock_get_model()
    mock.set_price(MODEL, 1, 10)
    return mock


def find_usage(text: str) -> list[dict[str, Any]]:
    """Return the usage objects of a response as it came over HTTP, in order."""
    lines = text.splitlines() if text.startswith(("data:", "event:")) else [f"data: {text}"]
    found = []
    for line in lines:
        if not line.startswith("data: {"):
            continue
        body = json.loads(line.removeprefix("data: "))
        for place in (body, body.get("message") or {}, body.get("response") or {}):
            usage = place.get("usage") or place.get("usageMetadata")
            if usage:
                found.append(usage)
    return found


@pytest.mark.parametrize("name", ROWS)
def test_the_usage_of_a_recorded_answer_is_that_of_the_provider(
    name: str, run: Run, server: Server
) -> None:
    row = ROWS[name]
    streamed = len(row.usage) > 1
    url = f"{server.url}/{name.replace(' ', '-')}"
    given = [each for each in row.usage if each is not None]
    for mode in ("all", "none"):
        text = run(mode, lambda: post(url, row.api, streamed))  # type: ignore[arg-type]
        assert run.problems == []
        assert find_usage(text) == given
        [call] = run.calls
        assert (call["input_tokens"], call["output_tokens"]) == (row.input, row.output)
        assert compute_cost(call, priced()) == Decimal(row.cost)
    [recorded] = Cassette(run.path).calls
    usage = recorded.response.usage
    assert usage.details == row.details
    own_input = row.input if row.own_input is None else row.own_input
    assert usage.input == (own_input if given else None)


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if len(row.usage) == 1])
def test_an_answer_that_is_streamed_in_the_replay_has_the_counts_of_the_whole_one(
    name: str, run: Run, server: Server
) -> None:
    row = ROWS[name]
    url = f"{server.url}/{name.replace(' ', '-')}"
    run("all", lambda: post(url, row.api, False))
    counts = dict[str, Any]()
    for usage in find_usage(run("none", lambda: post(url, row.api, True))):
        counts |= {key: value for key, value in usage.items() if isinstance(value, int)}
    expected = row.usage[0] or {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4}
    for key, value in expected.items():
        # The further counts of other providers are not part of the built answer.
        if isinstance(value, int) and not key.startswith(("cache_read", "cachedContent")):
            assert counts[key] == value, key
    assert row.api != "messages" or counts["cache_read_input_tokens"] == expected.get(
        "cache_read_input_tokens", 0
    )
