"""Rules about requests that no single call shows: tokens, options, tools, stored responses."""

from __future__ import annotations

import gzip
import json
from typing import Any

import httpx
import pytest

from llm_mock import Latency, LLMMock, Reply, ToolCall, create_mock_get_model
from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http import content_encodings
from llm_mock.boundaries.http.client_clock import ClientClock
from llm_mock.boundaries.http.dispatch import ModelRequest, dispatch_request, parse_request
from llm_mock.boundaries.http.request import HTTPRequest
from llm_mock.boundaries.http.request_rules.rule import Memo, Violation
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.http.wire import WireRequest
from llm_mock.core.events import Event, Wait

CHAT = "https://api.openai.com/v1/chat/completions"
RESPONSES = "https://api.openai.com/v1/responses"
MESSAGES = "https://api.anthropic.com/v1/messages"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"
HELLO = [{"role": "user", "content": "Hello"}]


def user(*parts: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": list(parts)}]


SCHEMA = {"a": 1}
"""A schema of 8 characters."""
SENT_BODIES: dict[str, tuple[dict[str, Any], int]] = {
    "nothing": ({"messages": user()}, 1),
    "four characters": ({"messages": user({"type": "text", "text": "1234"})}, 1),
    "five characters": ({"messages": user({"type": "text", "text": "12345"})}, 2),
    "system prompt": ({"messages": HELLO, "system": "1234"}, 3),
    "earlier messages": (
        {"messages": [{"role": "user", "content": "12"}, {"role": "assistant", "content": "34"}]},
        1,
    ),
    "thinking, which the model does not see again": (
        {
            "messages": [
                {"role": "assistant", "content": [{"type": "thinking", "thinking": "x" * 99}]},
                *HELLO,
            ]
        },
        2,
    ),
    "tool call": (
        {
            "messages": [
                *user({"type": "text", "text": "1"}),
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "x", "name": "1234", "input": SCHEMA}],
                },
            ]
        },
        4,
    ),
    "tool result": (
        {"messages": user({"type": "tool_result", "tool_use_id": "x", "content": "12345"})},
        2,
    ),
    "image": (
        {"messages": user({"type": "image", "source": {"type": "url", "url": "https://a"}})},
        765,
    ),
    "image beside a text": (
        {
            "messages": user(
                {"type": "text", "text": "12345"},
                {"type": "image", "source": {"type": "url", "url": "https://a"}},
            )
        },
        767,
    ),
    "document as text": (
        {
            "messages": user(
                {"type": "document", "source": {"type": "text", "data": "1" * 41}},
            )
        },
        11,
    ),
    "tool": (
        {
            "messages": user({"type": "text", "text": "1"}),
            "tools": [{"name": "1234", "description": "12345678", "input_schema": SCHEMA}],
        },
        6,
    ),
    "tool that must be called": (
        {
            "messages": user({"type": "text", "text": "1"}),
            "tools": [{"name": "1234", "description": "12345678", "input_schema": SCHEMA}],
            "tool_choice": {"type": "tool", "name": "1234"},
        },
        6,
    ),
    "schema": (
        {
            "messages": user({"type": "text", "text": "1"}),
            "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        },
        3,
    ),
}
"""Bodies, each with one token for every four characters of what is sent."""


@pytest.mark.parametrize("name", SENT_BODIES)
def test_a_token_is_counted_for_every_four_characters(name: str, mock_llm_calls: LLMMock) -> None:
    body, tokens = SENT_BODIES[name]
    answer = httpx.post(f"{MESSAGES}/count_tokens", json={"model": "m", "max_tokens": 9, **body})
    assert answer.json() == {"input_tokens": tokens}
    assert mock_llm_calls.calls == []


def parse(url: str, body: dict[str, Any], provider: str = "openai") -> HTTPRequest:
    """Return a request as the core knows it."""
    parts = httpx.URL(url)
    content = json.dumps({"model": "m", **body}).encode()
    sent = WireRequest("POST", parts.host, parts.path, "", {}, content)
    parsed = parse_request(sent, provider, create_mock_get_model({}))
    assert isinstance(parsed, ModelRequest)
    return parsed.request


CONTENTS = [{"parts": [{"text": "Hello"}]}]
JSON_TYPE = "application/json"
COMMON_OPTIONS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (CHAT, {"max_completion_tokens": 9}, {"max_tokens": 9}),
    (CHAT, {"max_tokens": 9, "temperature": 0}, {"max_tokens": 9, "temperature": 0}),
    (CHAT, {"response_format": {"type": "json_object"}}, {"json_object": True}),
    (CHAT, {"response_format": {"type": "text"}}, {}),
    (CHAT, {"response_format": {"type": "json_schema"}}, {}),
    (CHAT, {"reasoning_effort": "low"}, {"reasoning_effort": "low"}),
    (RESPONSES, {"max_output_tokens": 9}, {"max_tokens": 9}),
    (RESPONSES, {"reasoning": {"effort": "low"}}, {"reasoning_effort": "low"}),
    (
        RESPONSES,
        {"reasoning": {"effort": "low", "summary": "auto"}},
        {"reasoning": {"effort": "low", "summary": "auto"}},
    ),
    (RESPONSES, {"reasoning": {}}, {"reasoning": {}}),
    (
        GEMINI,
        {"generationConfig": {"maxOutputTokens": 9, "topP": 0.5}},
        {"max_output_tokens": 9, "top_p": 0.5},
    ),
    (GEMINI, {"generationConfig": {"responseMimeType": JSON_TYPE}}, {"json_object": True}),
    (
        GEMINI,
        {"generationConfig": {"responseMimeType": "text/plain"}},
        {"response_mime_type": "text/plain"},
    ),
    (
        GEMINI,
        {"generationConfig": {"responseMimeType": JSON_TYPE, "responseJsonSchema": SCHEMA}},
        {},
    ),
]
"""Options of an API, and their names in `llm`'s plugins, by which cassettes are compared."""


def test_options_of_converse_have_the_names_of_llm() -> None:
    config = {"maxTokens": 9, "topP": 0.5, "stopSequences": ["a"]}
    body = {"messages": [{"role": "user", "content": [{"text": "a"}]}], "inferenceConfig": config}
    request = parse("https://a/model/m/converse", body, "bedrock")
    expected = {"max_tokens": 9, "top_p": 0.5, "stop_sequences": ["a"]}
    assert request.common_options() == {**expected, "model": "m"}


@pytest.mark.parametrize(("url", "body", "expected"), COMMON_OPTIONS)
def test_options_have_the_names_of_llm(
    url: str, body: dict[str, Any], expected: dict[str, Any]
) -> None:
    further = {CHAT: {"messages": HELLO}, RESPONSES: {"input": "Hello"}}
    request = parse(
        url,
        {**further.get(url, {"contents": CONTENTS}), **body},
        "google" if url == GEMINI else "openai",
    )
    assert request.common_options() == expected


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({}, None),
        ({"authorization": "Bearer a"}, "a"),
        ({"authorization": "a"}, "a"),
        ({"authorization": "Bearer "}, None),
        ({"authorization": f"Bearer {PLACEHOLDER_KEY}"}, None),
        ({"authorization": "Bearer a", "x-api-key": "b"}, "b"),
        ({"authorization": "Bearer a", "api-key": "b"}, "b"),
        ({"authorization": "Bearer a", "x-goog-api-key": "b"}, "b"),
        ({"authorization": "Bearer a", "x-api-key": ""}, None),
        ({"authorization": "Bearer a", "x-key": "b"}, "a"),
    ],
)
def test_the_key_is_that_of_the_providers_own_header(
    headers: dict[str, str], key: str | None, mock_llm_calls: LLMMock
) -> None:
    mock_llm_calls.set("*", "Hi!")
    httpx.post(CHAT, headers=headers, json={"model": "m", "messages": HELLO})
    assert mock_llm_calls.last_call["key"] == key


WEATHER = {
    "name": "weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
        "required": ["city"],
    },
}
TIME = {"name": "time", "parameters": {"type": "object", "properties": {"zone": {}}}}
BARE = {"name": "bare"}
CALLED = [
    {"role": "user", "content": "How is it?"},
    {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "weather"}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "warm"},
]


@pytest.mark.parametrize(
    ("data", "body", "called"),
    [
        ({"city": "Bern"}, {}, "weather"),
        ({"city": "Bern", "unit": "C"}, {}, "weather"),
        ({"zone": "CET"}, {}, "time"),
        # Near misses: a field is missing, unknown, or all are.
        ({"unit": "C"}, {}, None),
        ({"city": "Bern", "zone": "CET"}, {}, None),
        ({}, {}, None),
        # The call asks for something else, or for nothing.
        ({"city": "Bern"}, {"tool_choice": "none"}, None),
        ({"city": "Bern"}, {"tool_choice": "auto"}, "weather"),
        (
            {"city": "Bern"},
            {"tool_choice": {"type": "function", "function": {"name": "bare"}}},
            "bare",
        ),
        ({"city": "Bern"}, {"messages": CALLED}, None),
        ({"zone": "CET"}, {"messages": CALLED}, "time"),
        ({"city": "Bern"}, {"tools": None}, None),
        (
            {"city": "Bern"},
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "s", "schema": {"type": "object"}},
                }
            },
            None,
        ),
    ],
)
def test_data_are_the_arguments_of_the_tool_whose_fields_they_are(
    data: dict[str, str], body: dict[str, Any], called: str | None, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("m", Reply(data=data))
    tools = [{"type": "function", "function": function} for function in (BARE, WEATHER, TIME)]
    request = {"model": "m", "messages": HELLO, "tools": tools, **body}
    message = httpx.post(CHAT, json=request).json()["choices"][0]["message"]
    calls = message.get("tool_calls", [])
    assert [call["function"]["name"] for call in calls] == ([] if called is None else [called])
    given = message["content"] if called is None else calls[0]["function"]["arguments"]
    assert json.loads(given) == data


EVENTS = [
    Event("reasoning", "I look."),
    "See:",
    Event("tool_call_name", "weather", tool_call_id="c"),
    Event("tool_call_args", '{"city": ', tool_call_id="c"),
    Event("tool_call_args", '"Bern"}', tool_call_id="c"),
    Event("text", " and"),
]
STREAMED_REPLY = Reply(
    chunks=EVENTS,
    tool_calls=[ToolCall("weather", {"city": "Bern"}, "c"), ToolCall("time", {"zone": "é"}, "d")],
)


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_call_with_its_own_events_is_sent_once(
    stream: bool, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("m", STREAMED_REPLY)
    tools = [{"type": "function", "function": function} for function in (WEATHER, TIME)]
    body = {"model": "m", "messages": HELLO, "tools": tools, "stream": stream}
    answer = httpx.post(CHAT, json=body)
    calls: dict[int, list[str]] = {}
    if stream:
        text = ""
        for line in answer.text.splitlines():
            if not line.startswith("data: {"):
                continue
            delta = json.loads(line[6:])["choices"][0]["delta"]
            text += delta.get("content", "")
            for call in delta.get("tool_calls", ()):
                known = calls.setdefault(call["index"], [call.get("id"), "", ""])
                known[1] += call["function"].get("name", "")
                known[2] += call["function"].get("arguments", "")
    else:
        message = answer.json()["choices"][0]["message"]
        text = message["content"]
        for index, call in enumerate(message["tool_calls"]):
            function = call["function"]
            calls[index] = [call["id"], function["name"], function["arguments"]]
    assert text == "See: and"
    assert calls == {
        0: ["c", "weather", '{"city": "Bern"}'],
        1: ["d", "time", '{"zone": "é"}'],
    }


URLS = {
    "openai": (CHAT, {"model": "m", "messages": HELLO, "stream": True}),
    "mistral": (CHAT, {"model": "m", "messages": HELLO, "stream": True}),
    "responses": (RESPONSES, {"model": "m", "input": "Hello", "stream": True}),
    "anthropic": (MESSAGES, {"model": "m", "messages": HELLO, "stream": True}),
    "google": (
        GEMINI.replace(":generate", ":streamGenerate"),
        {"contents": [{"parts": [{"text": "Hello"}]}]},
    ),
}


@pytest.mark.parametrize("provider", URLS)
@pytest.mark.parametrize("first", [0, 2])
def test_a_stream_waits_before_each_chunk(provider: str, first: float) -> None:
    latency = Latency(first_chunk=first, chunks_per_second=4)
    mock = create_mock_get_model({"*": Reply(chunks=["a", "b", "c"], latency=latency)})
    url, body = URLS[provider]
    parts = httpx.URL(url)
    content = json.dumps(body).encode()
    sent = WireRequest("POST", parts.host, parts.path, "", {}, content)
    name = "openai" if provider == "responses" else provider
    response: Any = dispatch_request(sent, name, mock, ClientClock(None))
    events = list(response.body)
    waits = [event for event in events if isinstance(event, Wait)]
    assert response.delay == first
    assert waits == [0.25, 0.25]
    # Each wait is before the event of its chunk.
    texts = [b"b" if b'"b"' in event else b"c" for event in events[events.index(waits[0]) + 1 :: 2]]
    assert texts[:2] == [b"b", b"c"]


def test_the_latest_responses_are_kept_for_conversations() -> None:
    mock = create_mock_get_model({"*": "Hi!"})
    mock.history.limit = 2

    def ask(**more: str) -> Any:
        content = json.dumps({"model": "m", "input": "Hello", **more}).encode()
        sent = WireRequest("POST", "api.openai.com", "/v1/responses", "", {}, content)
        response: Any = dispatch_request(sent, "openai", mock, ClientClock(None))
        return json.loads(response.body)

    ids = [ask()["id"] for _ in range(3)]
    assert ask(previous_response_id=ids[0])["error"] == {
        "message": f"Previous response with id '{ids[0]}' not found.",
        "type": "invalid_request_error",
        "param": "previous_response_id",
        "code": "previous_response_not_found",
    }
    # Before an answer, as an answer takes the place of another one.
    assert ask(previous_response_id=ids[1])["previous_response_id"] == ids[1]
    assert mock.last_call.turn == 2


@pytest.mark.parametrize(("limit", "status"), [(0, 200), (-1, 413)])
def test_a_compressed_body_has_the_same_limit_as_any(
    limit: int, status: int, monkeypatch: pytest.MonkeyPatch, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("m", "Hi!")
    content = json.dumps({"model": "m", "messages": HELLO}).encode()
    monkeypatch.setattr(content_encodings, "MAX_BODY_BYTES", len(content) + limit)
    headers = {"content-encoding": "gzip"}
    answer = httpx.post(CHAT, headers=headers, content=gzip.compress(content))
    assert answer.status_code == status
    if status == 413:
        assert answer.json()["error"]["message"] == (
            f"The body is too large; it must have at most {len(content) - 1:,} bytes."
        )


def test_an_unsupported_encoding_is_a_refusal_that_the_test_hears_of() -> None:
    mock = create_mock_get_model({"*": "Hi!"})
    headers = {"content-encoding": "zstd"}
    sent = WireRequest("POST", "api.openai.com", "/v1/chat/completions", "", headers, b"(")
    response: Any = dispatch_request(sent, "openai", mock, ClientClock(None))
    message = (
        "Unsupported content encoding 'zstd' in a request to api.openai.com. llm_mock decodes gzip "
        "and deflate; configure the client to send uncompressed requests."
    )
    assert json.loads(response.body)["error"]["message"] == message
    assert mock.refusals == [message]
    assert dict(response.headers)["x-should-retry"] == "false"


def test_embeddings_and_token_counts_may_be_compressed_too(mock_llm_calls: LLMMock) -> None:
    headers = {"content-encoding": "gzip"}
    body = gzip.compress(json.dumps({"model": "m", "input": "Hello"}).encode())
    url = "https://api.openai.com/v1/embeddings"
    assert httpx.post(url, headers=headers, content=body).json()["usage"]["prompt_tokens"] == 2
    body = gzip.compress(json.dumps({"model": "m", "messages": HELLO}).encode())
    url = f"{MESSAGES}/count_tokens"
    assert httpx.post(url, headers=headers, content=body).json() == {"input_tokens": 2}
    assert mock_llm_calls.calls == []


def test_a_memo_keeps_a_limited_number_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memo, "LIMIT", 2)
    checked: list[str] = []

    def check(value: str) -> tuple[Violation, ...]:
        checked.append(value)
        return ()

    memo = Memo()
    for value in "abbaca":
        assert list(memo.check_once(value, check)) == []
    # The third value takes the place of both others.
    assert checked == ["a", "b", "c", "a"]


GEMINI_EMBEDDINGS = "generativelanguage.googleapis.com/v1beta/models/e-1:embedContent"


@pytest.mark.parametrize(
    ("address", "body", "model"),
    [
        ("api.openai.com/v1/embeddings", b'{"model": "e", "input": "Hello"}', "e"),
        ("api.openai.com/v1/embeddings", b"{", "unknown"),
        ("api.openai.com/v1/embeddings", b"\x1f\x8b", "unknown"),
        (GEMINI_EMBEDDINGS, b"{", "e-1"),
    ],
)
def test_embeddings_that_are_forbidden_are_refused_whatever_their_body(
    address: str, body: bytes, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_settings, "mode", "error")
    mock = create_mock_get_model({"*": "Hi!"})
    host, _, path = address.partition("/")
    sent = WireRequest("POST", host, f"/{path}", "", {}, body)
    provider = "google" if address == GEMINI_EMBEDDINGS else "openai"
    response: Any = dispatch_request(sent, provider, mock, ClientClock(None))
    [problem] = mock.problems
    assert problem.startswith(f"A call to the model '{model}' was about to reach {address}. ")
    assert json.loads(response.body)["error"]["message"] == problem
