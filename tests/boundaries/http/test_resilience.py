"""`assert_resilient` judges clients by their requests after faults."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import time
from collections.abc import Callable
from typing import Any

import anthropic
import httpx
import llm
import openai
import pytest
import requests

from llm_mock import LLMMock, Reply
from llm_mock.boundaries.http.settings import http_settings

TEXT = ["Once ", "upon ", "a ", "time"]


def ask(prompt: str = "Hello", tries: int = 1, **options: Any) -> str:
    """Return an application that asks again at once, whatever the answer was."""
    client = openai.OpenAI(max_retries=0, api_key=options.pop("api_key", "one"))
    for _ in range(tries):
        try:
            chunks = client.chat.completions.create(
                model="gpt-4o",
                messages=[{"role": "user", "content": prompt}],
                stream=True,
                **options,
            )
            return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        except openai.APIError:
            continue
    return ""


def what_is_wrong(mock: LLMMock, **settings: Any) -> str:
    with pytest.raises(AssertionError) as raised:
        mock.assert_resilient(**settings)
    return str(raised.value)


@pytest.fixture
def mock(mock_llm_responses: LLMMock) -> LLMMock:
    mock_llm_responses.set("*", Reply(chunks=TEXT))
    return mock_llm_responses


def test_the_sdks_wait_as_long_as_they_are_told_which_is_a_moment(mock: LLMMock) -> None:
    mock.misbehave("rate-limit", times=2)
    messages: Any = [{"role": "user", "content": "Hello"}]
    started = time.monotonic()
    openai.OpenAI().chat.completions.create(model="gpt-4o", messages=messages)
    mock.misbehave("rate-limit", times=2)
    anthropic.Anthropic().messages.create(model="claude-4", max_tokens=9, messages=messages)
    assert time.monotonic() - started >= 0.2
    assert [call.get("status") for call in mock.calls] == [429, 429, None, 429, 429, None]
    assert [call.get("retry_after") for call in mock.calls] == [1.0, 1.0, None, 1.0, 1.0, None]
    waits = [call.get("shortened_wait") for call in mock.calls]
    assert waits == [0.05, 0.05, None, 0.05, 0.05, None]
    mock.assert_resilient()


@pytest.mark.parametrize(("fast", "milliseconds"), [(True, "50"), (False, None)])
@pytest.mark.parametrize(
    ("url", "has_it"),
    [
        ("https://api.openai.com/v1/chat/completions", True),
        ("https://api.anthropic.com/v1/messages", True),
        ("https://api.mistral.ai/v1/chat/completions", True),
        ("https://generativelanguage.googleapis.com/v1beta/models/m:generateContent", False),
    ],
)
def test_retry_after_stays_what_the_provider_says(
    url: str,
    has_it: bool,
    fast: bool,
    milliseconds: Any,
    mock: LLMMock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_settings, "fast_retries", fast)
    mock.misbehave("rate-limit")
    body: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}
    if "google" in url:
        body = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
    headers = httpx.post(url, json=body).headers
    assert headers["retry-after"] == "1"
    assert headers.get("retry-after-ms") == (milliseconds if has_it else None)
    assert mock.calls[0]["retry_after"] == 1.0
    assert mock.calls[0].get("shortened_wait") == (0.05 if has_it and fast else None)


def test_a_client_that_does_not_wait_is_told_what_it_sent(
    mock: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_settings, "fast_retries", False)
    mock.misbehave("rate-limit", times=2)
    assert ask(tries=3) == "Once upon a time"
    message = re.sub(r"\d\.\d{3}", "0.000", what_is_wrong(mock))
    advice = (
        "whose response asked for a wait of 1 s. Wait as long as Retry-After says, or let the SDK "
        "retry. If the test replaces the wait function, or the application sends equal requests "
        "in parallel on purpose, pass waits=False."
    )
    assert message.splitlines() == [
        "The client is not resilient.",
        f"- Call 2 came 0.000 s after call 1, {advice}",
        f"- Call 3 came 0.000 s after call 2, {advice}",
        "Requests:",
        "  1. +0.000 s  gpt-4o  'Hello'  → status 429, retry after 1 s",
        "  2. +0.000 s  gpt-4o  'Hello'  → status 429, retry after 1 s",
        "  3. +0.000 s  gpt-4o  'Hello'  → status 200",
    ]
    mock.assert_resilient(waits=False)


@pytest.mark.parametrize("replaced", ["time.sleep", "asyncio.sleep"])
def test_waits_are_not_judged_where_the_test_replaces_them(
    replaced: str, mock: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replaced, lambda seconds: None)
    mock.misbehave("rate-limit", times=1)
    ask(tries=2)
    mock.assert_resilient()


@pytest.mark.parametrize(("name", "status"), [("context-overflow", 400), ("invalid-key", 401)])
def test_what_was_refused_is_not_to_be_sent_again_unchanged(
    name: str, status: int, mock: LLMMock
) -> None:
    mock.misbehave(name)
    ask(tries=2)
    assert (
        f"Call 2 repeated the request of call 1, which was refused with status {status}."
        in what_is_wrong(mock)
    )


FINAL = [400, 401, 403, 404, 422]
TRANSIENT = [408, 429, 502, 503, 504, 529]
NEITHER = [402, 405, 409, 423, 500, 501, 505, 528, 530]


def error_with(status: int) -> openai.APIStatusError:
    """Return the error of an answer with a status, which the SDK makes of it again."""
    response = httpx.Response(status, request=httpx.Request("POST", "https://api.openai.com"))
    return openai.APIStatusError("It failed.", response=response, body=None)


@pytest.mark.parametrize("status", [*FINAL, *TRANSIENT, *NEITHER])
def test_a_status_tells_whether_the_same_request_may_be_sent_again(
    status: int, mock: LLMMock
) -> None:
    mock.set_error("gpt-4o", error_with(status))
    ask(tries=2)
    assert [call["status"] for call in mock.calls] == [status, status]
    if status in FINAL:
        assert f"which was refused with status {status}." in what_is_wrong(mock)
    else:
        mock.assert_resilient()


@pytest.mark.parametrize("status", [*FINAL, *TRANSIENT, *NEITHER])
def test_a_status_tells_whether_to_try_again(status: int, mock: LLMMock) -> None:
    mock.set_error("gpt-4o", error_with(status))
    ask()
    if status in TRANSIENT:
        assert f"which failed with status {status}." in what_is_wrong(mock, strict=True)
    else:
        mock.assert_resilient(strict=True)


@pytest.mark.parametrize("change", [{"prompt": "Hi"}, {"temperature": 0}, {"api_key": "two"}])
def test_another_request_is_no_retry(change: Any, mock: LLMMock) -> None:
    mock.misbehave("invalid-key", times=1)
    ask()
    ask(**change)
    mock.assert_resilient()


def test_a_request_is_not_to_be_sent_too_often(mock: LLMMock) -> None:
    mock.misbehave("overloaded", times=6)
    ask(tries=7)
    assert "- The request of call 1 was sent 7 times, more than 5. Retry " in what_is_wrong(mock)
    mock.assert_resilient(attempts=7)


def test_the_same_question_may_be_asked_often_where_it_was_answered(mock: LLMMock) -> None:
    for _ in range(9):
        ask()
    mock.assert_resilient()


def test_a_stream_that_ended_in_the_middle_is_to_be_asked_for_again(mock: LLMMock) -> None:
    mock.misbehave("truncated-stream", times=1)
    assert ask() == "Once upon "
    assert mock.calls[0]["cut_off"] is True
    message = what_is_wrong(mock)
    assert "- The stream of call 1 ended in the middle, and the client did not retry." in message
    assert message.endswith("→ a stream that ended in the middle")
    mock.assert_resilient(gave_up=True)
    ask()
    mock.assert_resilient()


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("malformed-chunk", "The stream ended within an event."),
        ("error-event", "The engine is currently overloaded, please try again later"),
        ("broken-stream", "peer closed connection without sending complete message body"),
        ("stalled", "The stream stalled."),
    ],
)
def test_an_end_that_raises_in_the_client_is_none_that_it_could_miss(
    name: str, error: str, mock: LLMMock
) -> None:
    mock.misbehave(name)
    with contextlib.suppress(Exception):
        ask(timeout=9)
    assert error in mock.calls[0]["error"]
    assert not {"cut_off", "status"} & mock.calls[0].keys()
    mock.assert_resilient()


def test_calls_by_llm_alone_show_nothing(mock: LLMMock) -> None:
    llm.get_model("gpt-4o").prompt("Hello").text()
    assert "No call to any model was made over HTTP" in what_is_wrong(mock)


@pytest.mark.parametrize("attempts", [0, 1.5, "3"])
def test_attempts_is_a_number(attempts: Any, mock: LLMMock) -> None:
    with pytest.raises(ValueError, match="attempts is"):
        mock.assert_resilient(attempts=attempts)


# Strict


def stream_text(**options: Any) -> str:
    """Return an application that takes what it got, whatever happens then."""
    client = openai.OpenAI(max_retries=0, api_key="one", **options)
    messages: Any = [{"role": "user", "content": "Hello"}]
    text = ""
    with contextlib.suppress(openai.APIError, ValueError):
        for chunk in client.chat.completions.create(model="gpt-4o", messages=messages, stream=True):
            text += chunk.choices[0].delta.content or ""
    return text


@pytest.mark.parametrize(("name", "status"), [("overloaded", 503), ("rate-limit", 429)])
def test_a_client_that_gives_up_at_once_is_found_if_the_assertion_is_strict(
    mock: LLMMock, name: str, status: int
) -> None:
    mock.misbehave(name, times=1)
    assert ask(tries=1) == ""
    mock.assert_resilient()
    message = what_is_wrong(mock, strict=True)
    assert f"The client did not retry after call 1, which failed with status {status}." in message


def test_the_sdk_does_not_give_up_at_once(mock: LLMMock) -> None:
    mock.misbehave("overloaded", times=2)
    messages: Any = [{"role": "user", "content": "Hello"}]
    openai.OpenAI(api_key="any").chat.completions.create(model="gpt-4o", messages=messages)
    mock.misbehave("overloaded")
    with pytest.raises(openai.InternalServerError):
        openai.OpenAI(api_key="any").chat.completions.create(model="gpt-5", messages=messages)
    mock.assert_resilient(strict=True)


@pytest.mark.parametrize("name", ["invalid-key", "context-overflow"])
def test_a_final_error_is_given_up_at_once(mock: LLMMock, name: str) -> None:
    mock.misbehave(name)
    ask(tries=1)
    mock.assert_resilient(strict=True)


@pytest.fixture(params=[1, 44, 46, 1000])
def milliseconds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Let so many milliseconds pass from call to call, however busy the machine is."""
    moments = itertools.count(time.time_ns(), request.param * 1_000_000)
    monkeypatch.setattr("llm_mock.core.call.time_ns", lambda: next(moments))
    return int(request.param)


def test_an_attempt_at_once_after_a_timeout_is_found_if_the_assertion_is_strict(
    mock: LLMMock, milliseconds: int
) -> None:
    mock.misbehave("timeout", times=1)
    ask(tries=2)
    mock.assert_resilient()
    mock.assert_resilient(strict=True, waits=False)
    if milliseconds > 45:
        mock.assert_resilient(strict=True)
        return
    message = what_is_wrong(mock, strict=True)
    waited = f"{milliseconds / 1000:.3f}"
    assert f"Call 2 came {waited} s after call 1 failed. Wait before each" in message


CLIENTS: dict[str, tuple[Callable[[], Any], bool]] = {
    "httpx": (lambda: httpx.Client(), True),
    "httpx without": (lambda: httpx.Client(timeout=None), False),
    "httpx without a read timeout": (
        lambda: httpx.Client(timeout=httpx.Timeout(5, read=None)),
        False,
    ),
    "requests": (lambda: requests.Session(), False),
}


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_without_a_read_timeout_is_found_if_the_assertion_is_strict(
    mock: LLMMock, name: str, fails: bool
) -> None:
    new_client, has_timeout = CLIENTS[name]
    if fails:
        mock.misbehave("invalid-key")
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
    with new_client() as client:
        client.post("https://api.openai.com/v1/chat/completions", json=body)
    mock.assert_resilient()
    if has_timeout:
        mock.assert_resilient(strict=True)
    else:
        message = what_is_wrong(mock, strict=True)
        assert "The client of call 1 has no read timeout" in message


def test_async_clients_without_a_timeout_are_found_too(mock: LLMMock) -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}

    async def post(timeout: float | None) -> None:
        async with httpx.AsyncClient(timeout=timeout) as client:
            await client.post("https://api.openai.com/v1/chat/completions", json=body)

    asyncio.run(post(5))
    mock.assert_resilient(strict=True)
    asyncio.run(post(None))
    assert "The client of call 2 has no read timeout" in what_is_wrong(mock, strict=True)


def test_a_swallowed_malformed_chunk_is_found_if_the_assertion_is_strict(mock: LLMMock) -> None:
    mock.misbehave("malformed-chunk")
    assert stream_text() == "Once upon "
    mock.assert_resilient()
    message = what_is_wrong(mock, strict=True)
    assert "The stream of call 1 ended inside an event that is not valid JSON" in message
    assert "→ a stream that ended inside an event" in message
    mock.assert_resilient(strict=True, gave_up=True)


def test_a_client_that_asks_again_after_a_malformed_chunk_is_resilient(mock: LLMMock) -> None:
    mock.misbehave("malformed-chunk", times=1)
    stream_text()
    time.sleep(0.05)
    assert stream_text() == "".join(TEXT)
    mock.assert_resilient(strict=True)
