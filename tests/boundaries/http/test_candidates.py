"""A request for several answers gets as many, and they may differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic
import llm
import openai
import pytest
from google import genai
from mistralai.client import Mistral

from llm_mock import InvalidReply, Latency, LLMMock, Reply, ToolCall
from tests.boundaries.http.request_senders import make_gemini, make_mistral, make_openai

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")

HELLO: list[Any] = [{"role": "user", "content": "Hello"}]
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION = {"name": "weather", "parameters": SCHEMA}
TOOLS: list[Any] = [{"type": "function", "function": FUNCTION}]
ROME = ToolCall("weather", {"city": "Rome"})
CUT = Reply(chunks=["Hel", "lo"], finish_reason="length")
Found = list[tuple[int, str, list[str], str]]
"""The index, the text, the names of called tools and the finish reason of each answer."""


def read_choices(choices: Any) -> Found:
    found = []
    for choice in choices:
        message = choice.message
        names = [call.function.name for call in message.tool_calls or ()]
        found.append((choice.index, message.content or "", names, choice.finish_reason))
    return found


def ask_openai(server_url: str | None) -> Found:
    client = make_openai(server_url)
    return read_choices(
        client.chat.completions.create(model="gpt-4o", messages=HELLO, tools=TOOLS, n=3).choices
    )


def stream_openai(server_url: str | None) -> Found:
    client = make_openai(server_url)
    chunks = client.chat.completions.create(
        model="gpt-4o",
        messages=HELLO,
        tools=TOOLS,
        n=3,
        stream=True,
        stream_options={"include_usage": True},
    )
    whole: dict[int, tuple[str, list[str], str]] = {}
    usages = []
    for chunk in chunks:
        if chunk.usage is not None:
            usages.append(chunk.usage)
        for choice in chunk.choices:
            text, names, reason = whole.get(choice.index, ("", [], ""))
            calls = choice.delta.tool_calls or []
            made = [call.function.name for call in calls if call.function and call.function.name]
            text += choice.delta.content or ""
            whole[choice.index] = (text, names + made, choice.finish_reason or reason)
    assert len(usages) == 1
    return [(index, *values) for index, values in whole.items()]


def ask_mistral(server_url: str | None) -> Found:
    client: Mistral = make_mistral(server_url)
    answer = client.chat.complete(model="mistral-large", messages=HELLO, tools=TOOLS, n=3)
    return read_choices(answer.choices)


def read_candidates(candidates: Any) -> Found:
    found = []
    for candidate in candidates:
        text, names = "", []
        for part in candidate.content.parts:
            text += part.text or ""
            if part.function_call is not None:
                names.append(part.function_call.name)
        reason = candidate.finish_reason.name if candidate.finish_reason is not None else ""
        found.append((candidate.index or 0, text, names, reason))
    return found


GEMINI_CONFIG: Any = {"candidate_count": 3, "tools": [{"function_declarations": [FUNCTION]}]}


def ask_gemini(server_url: str | None) -> Found:
    client: genai.Client = make_gemini(server_url)
    answer = client.models.generate_content(model="gemini-3", contents="Hi", config=GEMINI_CONFIG)
    return read_candidates(answer.candidates)


def stream_gemini(server_url: str | None) -> Found:
    client: genai.Client = make_gemini(server_url)
    chunks = client.models.generate_content_stream(
        model="gemini-3", contents="Hi", config=GEMINI_CONFIG
    )
    whole: dict[int, tuple[str, list[str], str]] = {}
    for chunk in chunks:
        for index, text, names, reason in read_candidates(chunk.candidates):
            before = whole.get(index, ("", [], ""))
            whole[index] = (before[0] + text, before[1] + names, before[2] or reason)
    return [(index, *values) for index, values in whole.items()]


OPENAI_REASONS, GEMINI_REASONS = ("stop", "length", "tool_calls"), ("STOP", "MAX_TOKENS", "STOP")
READERS: dict[str, tuple[Callable[[str | None], Found], tuple[str, str, str]]] = {
    "openai": (ask_openai, OPENAI_REASONS),
    "openai, streamed": (stream_openai, OPENAI_REASONS),
    "mistral": (ask_mistral, OPENAI_REASONS),
    "gemini": (ask_gemini, GEMINI_REASONS),
    "gemini, streamed": (stream_gemini, GEMINI_REASONS),
}


@pytest.mark.parametrize(("read", "reasons"), READERS.values(), ids=READERS)
def test_candidates_are_different_answers(
    read: Callable[[str | None], Found],
    reasons: tuple[str, str, str],
    server_url: str | None,
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set("*", Reply(candidates=["Hi", CUT, ROME]))
    expected = [
        (0, "Hi", [], reasons[0]),
        (1, "Hello", [], reasons[1]),
        (2, "", ["weather"], reasons[2]),
    ]
    assert read(server_url) == expected
    call = mock_llm_responses.last_call
    assert call.response[:2] == ["Hi", "Hello"]
    assert call["finish_reason"] == "stop"


def test_usage_is_that_of_the_whole_reply(mock_llm_responses: LLMMock) -> None:
    usage = {"input": 7, "output": 30}
    mock_llm_responses.set("*", Reply(candidates=["a", "b"], usage=usage))
    completion = make_openai(None).chat.completions.create(model="m", messages=HELLO, n=2)
    assert completion.usage is not None
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (7, 30)
    mock_llm_responses.set("*", Reply(candidates=["a", "b"], usage=None))
    completion = make_openai(None).chat.completions.create(model="m", messages=HELLO, n=2)
    assert completion.usage is None


def read_problem(mock: LLMMock) -> str:
    [problem] = mock.problems
    mock.problems.clear()
    return problem


@pytest.mark.parametrize(
    ("fields", "number"), [({"n": 3}, 3), ({"n": 1}, 1), ({}, 1)], ids=["3", "1", "none"]
)
def test_another_number_than_asked_is_an_error(
    fields: dict[str, Any], number: int, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply(candidates=["a", "b"]))
    with pytest.raises(openai.APIStatusError):
        make_openai(None).chat.completions.create(model="m", messages=HELLO, **fields)
    problem = read_problem(mock_llm_responses)
    assert problem.startswith("The reply (tests/boundaries/http/test_candidates.py:")
    assert f"has 2 candidates, but the request asks for {number}." in problem


def test_apis_with_one_answer_and_llm_get_no_candidates(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply(candidates=["a", "b"]))
    with anthropic.Anthropic(api_key="none") as client, pytest.raises(anthropic.APIStatusError):
        client.messages.create(model="claude-opus-5", max_tokens=9, messages=HELLO)
    assert "asks for 1" in read_problem(mock_llm_responses)
    with pytest.raises(InvalidReply, match="has 2 candidates, but the request asks for 1"):
        llm.get_model("gpt-4o").prompt("Hi").text()
    assert "asks for 1" in read_problem(mock_llm_responses)


def test_each_candidate_is_checked(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply(candidates=["a", ROME]))
    with pytest.raises(openai.APIStatusError):
        make_openai(None).chat.completions.create(model="m", messages=HELLO, n=2)
    assert "which the call does not offer" in read_problem(mock_llm_responses)


def test_candidates_take_the_time_of_their_reply(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply(candidates=["a", "b"], latency=Latency(9)))
    with openai.OpenAI(api_key="none", timeout=2, max_retries=0) as client:
        for stream in (False, True):
            with pytest.raises(openai.APITimeoutError):
                client.chat.completions.create(model="m", messages=HELLO, n=2, stream=stream)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("candidates", "problem"),
    [
        ("ab", "These are not candidates: 'ab'"),
        (5, "These are not candidates: 5"),
        (["a"], "at least two replies, but got 1"),
        (["a", ValueError("b")], "This is not a candidate"),
        (["a", lambda prompt: "b"], "This is not a candidate"),
        (["a", Reply(body={})], "This is not a candidate"),
        (["a", Reply(candidates=["b", "c"])], "This is not a candidate"),
        (["a", 5], "This is not a reply: 5"),
    ],
)
def test_candidates_are_simple_replies(candidates: Any, problem: str) -> None:
    with pytest.raises(InvalidReply, match=problem):
        Reply(candidates=candidates)
    with pytest.raises(InvalidReply, match="either text or candidates"):
        Reply("a", candidates=["b", "c"])
