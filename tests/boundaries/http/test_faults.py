"""Faults of models and providers as SDKs meet them."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import aiohttp
import httpx
import openai
import pytest

from llm_mock import LLMMock, Reply
from llm_mock.boundaries.http.server import MockServer
from llm_mock.boundaries.http.streaming import split_frames
from llm_mock.core.events import Wait
from tests.boundaries.http.sdks import (
    SDK,
    Anthropic,
    Gemini,
    MistralChat,
    OpenAIChat,
    OpenAIResponses,
    every_sync_sdk,
)

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
KEY_NOT_VALID = "API key not valid. Please pass a valid API key."
TEXT = ["Once ", "upon ", "a ", "time"]
WORDS = {
    OpenAIChat: (
        "Rate limit reached for gpt-4o",
        "maximum context length is",
        "Incorrect API key",
        "overloaded",
    ),
    OpenAIResponses: (
        "Rate limit reached for gpt-4o",
        "maximum context length is",
        "Incorrect API key",
        "overloaded",
    ),
    Anthropic: (
        "exceed your organization",
        "prompt is too long",
        "invalid x-api-key",
        "Overloaded",
    ),
    Gemini: (
        "RESOURCE_EXHAUSTED",
        "input token count",
        "API key not valid",
        "experiencing high demand",
    ),
    MistralChat: ("Rate limit exceeded", "Prompt contains", "Unauthorized", "Service unavailable"),
}
STATUSES: dict[type[SDK], tuple[int, ...]] = {
    Anthropic: (429, 400, 401, 529),
    Gemini: (429, 400, 400, 503),
}
REFUSALS = ("rate-limit", "context-overflow", "invalid-key", "overloaded")


@every_sync_sdk
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("position", range(4), ids=REFUSALS)
def test_a_refusal_is_in_the_words_of_the_provider(
    sdk: type[SDK], position: int, streamed: bool, mock_llm_calls: LLMMock
) -> None:
    mock_llm_calls.misbehave(REFUSALS[position])
    with pytest.raises(sdk.status_error) as raised:
        (sdk().stream if streamed else sdk().ask)("Hello")
    error: Any = raised.value
    status = STATUSES.get(sdk, (429, 400, 401, 503))[position]
    assert (getattr(error, "status_code", None) or error.code) == status
    assert WORDS[sdk][position] in str(error)
    [call] = mock_llm_calls.calls
    assert (call["misbehaviour"], call["response"]) == (REFUSALS[position], None)
    assert str(call["error"]).startswith(f"Error code: {status} - ")


@every_sync_sdk
@pytest.mark.parametrize(
    ("name", "end"), [("length", "length"), ("content-filter", "content_filter")]
)
def test_an_answer_that_is_cut_off_says_why(
    sdk: type[SDK], name: str, end: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(sdk.model, Reply(chunks=TEXT))
    mock_llm_responses.misbehave(name)
    said = sdk().ask("Hello")
    assert said.text == "Once upon "
    assert mock_llm_responses.calls[0]["finish_reason"] == end
    assert said.finish_reason == sdk.ends["length"] or end != "length"
    assert said.finish_reason != sdk.ends["stop"]


@every_sync_sdk
def test_a_truncated_stream_ends_silently(sdk: type[SDK], mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(sdk.model, Reply(chunks=TEXT))
    mock_llm_responses.misbehave("truncated-stream")
    assert sdk().stream("Hello") == ["Once ", "upon "]
    assert mock_llm_responses.calls[0]["response"] == "Once upon "


@every_sync_sdk
@pytest.mark.parametrize("name", ["malformed-chunk", "error-event"])
def test_a_stream_that_goes_wrong_is_an_error_of_the_sdk(
    sdk: type[SDK], name: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(sdk.model, Reply(chunks=TEXT))
    mock_llm_responses.misbehave(name)
    with pytest.raises(Exception) as raised:  # noqa: PT011
        sdk().stream("Hello")
    assert "llm_mock" not in type(raised.value).__module__
    assert mock_llm_responses.calls[0]["response"] == "Once upon "


def test_a_malformed_chunk_is_half_an_event(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", Reply(chunks=TEXT))
    mock_llm_responses.misbehave("malformed-chunk")
    body = {"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
    events = httpx.post("https://api.openai.com/v1/chat/completions", json=body).text.split("\n\n")
    assert [json.loads(event.removeprefix("data: "))["object"] for event in events[:3]] == [
        "chat.completion.chunk"
    ] * 3
    with pytest.raises(json.JSONDecodeError):
        json.loads(events[3].removeprefix("data: "))
    assert events[4:] == [""]


def test_the_errors_of_providers_do_not_need_llm(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys
        import openai, pytest

        @pytest.mark.llm_mock_misbehaviour("rate-limit", times=1)
        def test_it(mock_llm_responses):
            mock_llm_responses.set("some-model", "Hi!")
            client = openai.OpenAI(base_url="https://openrouter.ai/api/v1", max_retries=0)
            messages = [{"role": "user", "content": "Hello"}]
            with pytest.raises(openai.RateLimitError) as raised:
                client.chat.completions.create(model="some-model", messages=messages)
            assert raised.value.response.headers["retry-after"] == "1"
            assert "llm" not in sys.modules
        """
    )
    pytester.runpytest_subprocess("-p", "no:randomly").assert_outcomes(passed=1)


def test_an_error_event_of_responses_is_numbered_and_has_an_error(
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set("*", Reply(chunks=TEXT))
    mock_llm_responses.misbehave("error-event")
    with pytest.raises(openai.APIError, match="overloaded") as raised:
        OpenAIResponses().stream("Hello")
    assert type(raised.value) is openai.APIError
    body = {"model": "gpt-5", "stream": True, "input": "Hello"}
    events = httpx.post("https://api.openai.com/v1/responses", json=body).text.split("\n\n")[:-1]
    sent = [json.loads(event.partition("data: ")[2]) for event in events]
    assert [event["sequence_number"] for event in sent] == [*range(len(sent))]
    assert sent[-1]["type"] == "error"
    assert sent[-1]["error"].keys() == {"message", "type", "param", "code"}


@pytest.mark.parametrize(
    ("sdk", "name", "body"),
    [
        (
            Gemini,
            "rate-limit",
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"},
        ),
        (
            Gemini,
            "invalid-key",
            {
                "@type": "type.googleapis.com/google.rpc.LocalizedMessage",
                "locale": "en-US",
                "message": KEY_NOT_VALID,
            },
        ),
        (
            MistralChat,
            "rate-limit",
            {
                **{
                    "object": "error",
                    "message": "Rate limit exceeded",
                    "type": "rate_limited",
                    "param": None,
                },
                **{"code": "1300", "raw_status_code": 429},
            },
        ),
        (MistralChat, "invalid-key", {"detail": "Unauthorized"}),
    ],
)
def test_programs_can_read_why(
    sdk: type[SDK], name: str, body: Any, mock_llm_calls: LLMMock
) -> None:
    mock_llm_calls.misbehave(name)
    with pytest.raises(sdk.status_error) as raised:
        sdk().ask("Hello")
    error: Any = raised.value
    said = error.details["error"]["details"][-1] if sdk is Gemini else json.loads(error.body)
    assert said == body


SPLIT_TEXT = ["Grüße ", "aus 東京, ", 'und "mehr" \\ ', "😀."]


@every_sync_sdk
@pytest.mark.parametrize("text", [SPLIT_TEXT, TEXT], ids=["long characters", "ASCII"])
def test_sdks_put_split_frames_together(
    sdk: type[SDK], text: list[str], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply(chunks=text))
    misbehaviour = mock_llm_responses.misbehave("split-frames")
    assert "".join(sdk().stream("Hello")) == "".join(text)
    assert misbehaviour.calls == [1]


@pytest.mark.parametrize("where", ["in process", "served"])
def test_split_frames_break_a_client_that_reads_each_chunk_by_itself(
    where: str, mock_llm_responses: LLMMock, llm_mock_server: MockServer
) -> None:
    urls = {"in process": "https://api.openai.com/v1", "served": llm_mock_server.openai_url}
    body = {"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}

    def read() -> list[bytes]:
        url = f"{urls[where]}/chat/completions"
        with httpx.stream(
            "POST", url, json=body, headers={"authorization": "Bearer any"}
        ) as answer:
            return list(answer.iter_raw())

    mock_llm_responses.set("*", Reply(chunks=SPLIT_TEXT))
    whole = read()
    for chunk in whole:
        chunk.decode()
    mock_llm_responses.misbehave("split-frames")
    split = read()
    changing = re.compile(rb'"id":"[^"]*"|"created":[0-9]+')
    assert changing.sub(b"", b"".join(split)) == changing.sub(b"", b"".join(whole))
    # An event for each of the four texts with a long character, two of which are cut.
    broken = [chunk for chunk in split if not is_text(chunk)]
    assert len(broken) >= 6
    with pytest.raises(json.JSONDecodeError):
        json.loads(split[0].decode(errors="replace").partition("data: ")[2])


def test_split_frames_reach_aiohttp_as_they_are_cut(mock_llm_responses: LLMMock) -> None:
    url = "https://api.openai.com/v1/chat/completions"
    body = {"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}

    async def read() -> list[bytes]:
        async with aiohttp.ClientSession() as session, session.post(url, json=body) as answer:
            return [chunk async for chunk, _ in answer.content.iter_chunks()]

    mock_llm_responses.set("*", Reply(chunks=SPLIT_TEXT))
    mock_llm_responses.misbehave("split-frames")
    split = asyncio.run(read())
    assert len([chunk for chunk in split if not is_text(chunk)]) >= 6
    lines = b"".join(split).decode().splitlines()
    deltas = [json.loads(line[6:])["choices"][0]["delta"] for line in lines if line[6:7] == "{"]
    assert "".join(delta.get("content", "") for delta in deltas) == "".join(SPLIT_TEXT)


def is_text(chunk: bytes) -> bool:
    try:
        chunk.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_split_frames_keep_the_waits_of_a_stream() -> None:
    event = 'data: {"text":"é"}\n\n'.encode()
    chunks = list(split_frames([event, Wait(1), event]))
    assert b"".join(chunk for chunk in chunks if isinstance(chunk, bytes)) == event * 2
    position = chunks.index(Wait(1))
    before = [chunk for chunk in chunks[:position] if isinstance(chunk, bytes)]
    assert b"".join(before) == event


def test_an_answer_in_one_piece_is_not_split(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", "Hi!")
    misbehaviour = mock_llm_responses.misbehave("split-frames")
    OpenAIChat().ask("Hello")
    assert misbehaviour.calls == []
    # A test whose misbehaviour changes no call is skipped.
    mock_llm_responses.misbehaviour = None
