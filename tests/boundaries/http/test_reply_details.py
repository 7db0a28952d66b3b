"""Details of a reply reach the SDKs whose API can say them, and are refused by the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic
import httpx
import llm
import openai
import pytest

from llm_mock import InvalidReply, LLMMock, Reply, ToolCall
from tests.boundaries.http.request_senders import (
    make_anthropic,
    make_gemini,
    make_openai,
)

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")

HELLO: list[Any] = [{"role": "user", "content": "Hello"}]
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3:generateContent"
VERTEX = (
    "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1"
    "/publishers/google/models/gemini-3:generateContent"
)
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
CHAT = {"model": "gpt-5", "messages": HELLO}
RESPONSES = {"model": "gpt-5", "input": "Hello"}
MESSAGES = {"model": "claude-opus-4-9", "max_tokens": 100, "messages": HELLO}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "Chat Completions": ("https://api.openai.com/v1/chat/completions", CHAT),
    "Responses": ("https://api.openai.com/v1/responses", RESPONSES),
    "Anthropic": ("https://api.anthropic.com/v1/messages", MESSAGES),
    "Gemini": (GEMINI, CONTENTS),
    "Vertex AI": (VERTEX, CONTENTS),
    "Mistral": ("https://api.mistral.ai/v1/chat/completions", CHAT),
    "Groq": ("https://api.groq.com/openai/v1/chat/completions", CHAT),
}
"""The URL and the body of a request, by the name of its API."""


def read_problem(mock: LLMMock) -> str:
    """Return the only problem of a test, which is expected."""
    [problem] = mock.problems
    mock.problems.clear()
    return problem


TIERS = {
    "Chat Completions": ("auto", "default", "flex", "scale", "priority"),
    "Responses": ("auto", "default", "flex", "scale", "priority", "ultrafast"),
    "Anthropic": ("standard", "priority", "batch"),
    "Gemini": ("standard", "flex", "priority"),
    "Vertex AI": (),
    "Mistral": ("standard", "priority"),
    "Groq": ("default", "on_demand", "performance"),
}


@pytest.mark.parametrize(
    ("name", "tier"), [(name, tier) for name, tiers in TIERS.items() for tier in tiers]
)
def test_a_service_tier_of_the_provider_is_answered(
    name: str, tier: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply("Hi", service_tier=tier))
    url, body = REQUESTS[name]
    response = httpx.post(url, json=body)
    assert response.status_code == 200
    assert tier in response.text or response.headers["x-gemini-service-tier"] == tier


@pytest.mark.parametrize(
    ("name", "tier", "known"),
    [
        ("Chat Completions", "fast", "'auto' or 'default' or 'flex' or 'scale' or 'priority'"),
        ("Responses", "standard", "'priority' or 'ultrafast'"),
        ("Anthropic", "flex", "'standard' or 'priority' or 'batch'"),
        ("Gemini", "default", "'standard' or 'flex' or 'priority'"),
        ("Vertex AI", "standard", "none"),
        ("Mistral", "flex", "'standard' or 'priority'"),
    ],
)
def test_a_service_tier_of_another_provider_is_an_error(
    name: str, tier: str, known: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply("Hi", service_tier=tier))
    url, body = REQUESTS[name]
    assert httpx.post(url, json=body).status_code == 400
    problem = read_problem(mock_llm_responses)
    assert problem.startswith("The reply (tests/boundaries/http/test_reply_details.py:")
    assert f"has service_tier={tier!r}, but an answer of {name} has" in problem
    assert problem.endswith(f"{known}.")


def test_a_service_tier_is_checked_in_candidates_too(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply(candidates=["a", "b"], service_tier="batch"))
    url, body = REQUESTS["Chat Completions"]
    assert httpx.post(url, json={**body, "n": 2}).status_code == 400
    assert "has service_tier='batch'" in read_problem(mock_llm_responses)


def read_openai_headers(server_url: str | None) -> Any:
    client = make_openai(server_url)
    return client.chat.completions.with_raw_response.create(model="gpt-5", messages=HELLO).headers


def read_openai_stream_headers(server_url: str | None) -> Any:
    client = make_openai(server_url)
    with client.responses.with_streaming_response.create(
        model="gpt-5", input="Hello", stream=True
    ) as response:
        return response.headers


def read_anthropic_headers(server_url: str | None) -> Any:
    client = make_anthropic(server_url)
    return client.messages.with_raw_response.create(
        model="claude-opus-4-9", max_tokens=100, messages=HELLO
    ).headers


def read_gemini_headers(server_url: str | None) -> Any:
    client = make_gemini(server_url)
    answer = client.models.generate_content(model="gemini-3", contents="Hi")
    return answer.sdk_http_response.headers


@pytest.mark.parametrize(
    "read_headers",
    [
        read_openai_headers,
        read_openai_stream_headers,
        read_anthropic_headers,
        read_gemini_headers,
    ],
)
def test_headers_reach_the_sdk(
    read_headers: Callable[[str | None], Any], server_url: str | None, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply("Hi", headers={"Deprecation": "true", "x-left": 0}))
    headers = read_headers(server_url)
    assert (headers["deprecation"], headers["x-left"]) == ("true", "0")


@pytest.mark.parametrize("stream", [False, True])
def test_headers_belong_to_own_json_too(stream: bool, mock_llm_responses: LLMMock) -> None:
    reply = Reply(body={"id": "mine"}, events=[{"id": "mine"}], headers={"x-left": "1"})
    mock_llm_responses.set("*", reply)
    url, body = REQUESTS["Chat Completions"]
    response = httpx.post(url, json={**body, "stream": stream})
    assert "mine" in response.text
    assert response.headers["x-left"] == "1"


def test_headers_replace_those_of_the_mock(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_quota("*", rpm=9)
    headers = {"X-Request-ID": "req_1", "x-ratelimit-remaining-requests": "3"}
    mock_llm_responses.set("*", Reply("Hi", headers=headers))
    url, body = REQUESTS["Chat Completions"]
    found = httpx.post(url, json=body).headers
    assert found.get_list("x-request-id") == ["req_1"]
    assert found.get_list("x-ratelimit-remaining-requests") == ["3"]
    assert found["x-ratelimit-limit-requests"] == "9"


def test_a_reply_with_details_takes_its_time(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply("Hi", service_tier="flex", latency=9))
    with openai.OpenAI(api_key="none", timeout=2, max_retries=0) as client:
        for stream in (False, True):
            with pytest.raises(openai.APITimeoutError):
                client.chat.completions.create(model="m", messages=HELLO, stream=stream)  # type: ignore[call-overload]


def test_a_reply_with_details_may_break_off(mock_llm_responses: LLMMock) -> None:
    error = ConnectionError("cut")
    reply = Reply(chunks=["Hel", "lo"], error=error, error_after=1, headers={"x-left": "1"})
    mock_llm_responses.set("*", reply)
    with anthropic.Anthropic(api_key="none", max_retries=0) as client:
        events = client.messages.create(**MESSAGES, stream=True)
        assert events.response.headers["x-left"] == "1"
        with pytest.raises(Exception, match="cut"):
            list(events)


def test_llm_reads_the_text_alone(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply("Hi", service_tier="flex", headers={"x-left": "1"}))
    assert llm.get_model("gpt-4o-mini").prompt("Hello").text() == "Hi"
    assert mock_llm_responses.last_call.response == "Hi"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"headers": 5}, "These are not headers: 5"),
        ({"headers": {"a": None}}, "This is not a header: 'a': None"),
        ({"headers": {5: "a"}}, "This is not a header: 5: 'a'"),
        ({"headers": {"a": "ü"}}, "This is not a header: 'a': 'ü'"),
        ({"headers": {"a": "b\nc"}}, "This is not a header: 'a'"),
        *(
            ({"headers": {name: "9"}}, f"The header '{name}' is set by the mock")
            for name in ("Connection", "Content-Encoding", "Content-Length", "Transfer-Encoding")
        ),
        ({"headers": {"a": "b"}, "error": ValueError("c")}, "headers belong to an answer"),
        ({"service_tier": 5}, "service_tier=5 must be a str"),
        ({"service_tier": ""}, "service_tier='' must be a str"),
        ({"service_tier": "flex", "body": {}}, "service_tier is part of the body"),
    ],
)
def test_details_are_checked(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidReply) as caught:
        Reply(**arguments)
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize("details", [{"service_tier": "flex"}, {"headers": {"a": "b"}}])
def test_a_candidate_has_no_details_of_the_response(details: dict[str, Any]) -> None:
    with pytest.raises(InvalidReply, match="This is not a candidate"):
        Reply(candidates=["a", Reply("b", **details)])


def test_tool_calls_have_details_too(mock_llm_responses: LLMMock) -> None:
    reply = Reply(tool_calls=ToolCall("weather", {"city": "Rome"}), service_tier="flex")
    mock_llm_responses.set("*", reply)
    tools = [{"type": "function", "function": {"name": "weather"}}]
    url, body = REQUESTS["Chat Completions"]
    answer = httpx.post(url, json={**body, "tools": tools}).json()
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    assert answer["service_tier"] == "flex"
