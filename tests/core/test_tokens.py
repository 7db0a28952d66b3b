"""Tokens are estimated from all that is really sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import llm
import openai
import pytest

from llm_mock import LLMMock, Reply, ToolCall
from llm_mock.core.tokens import add_cached_tokens

SCHEMA = {"type": "object", "title": "Answer", "properties": {"value": {"type": "integer"}}}
PICTURE = 765
"""The tokens of an attachment that is no text."""


def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word} is a fruit, and it is green"


def asked(mock: LLMMock) -> list[int | None]:
    return [call["input_tokens"] for call in mock.calls]


@pytest.mark.parametrize(
    ("arguments", "tokens"),
    [
        ({}, 2),
        ({"system": "Be brief, please"}, 6),
        ({"fragments": ["A text of 20 letters"]}, 7),
        ({"schema": SCHEMA}, 2 + 21),
        ({"tools": [look_up]}, 2 + 28),
        ({"attachments": [llm.Attachment(type="image/png", content=b"...")]}, 2 + PICTURE),
        (
            {"attachments": [llm.Attachment(type="image/png", url="https://example.com/a.png")]},
            2 + PICTURE,
        ),
        ({"attachments": [llm.Attachment(type="text/plain", content=b"0123456789ab")]}, 2 + 3),
        ({"tool_results": [llm.ToolResult("look_up", "0123456789ab")]}, 2 + 3),
    ],
    ids=lambda value: next(iter(value), "prompt") if isinstance(value, dict) else "",
)
def test_all_that_is_sent_counts(
    arguments: dict[str, Any], tokens: int, mock_llm_calls: LLMMock
) -> None:
    model = llm.get_model("nobody/knows")
    model.prompt("12345678", **arguments).text()
    model.conversation().prompt("12345678", **arguments).text()
    assert asked(mock_llm_calls) == [pytest.approx(tokens, abs=1)] * 2


def test_a_text_file_counts_with_its_length(mock_llm_calls: LLMMock, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 400)
    attachment = llm.Attachment(type="text/plain", path=str(tmp_path / "a.txt"))
    llm.get_model("m").prompt("1234", attachments=[attachment]).text()
    assert asked(mock_llm_calls) == [101]


def test_a_conversation_grows(mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.set("*", "x" * 40)
    conversation = llm.get_model("m").conversation()
    for _ in range(3):
        conversation.prompt("y" * 20).text()
    assert asked(mock_llm_calls) == [5, 20, 35]


def test_a_chain_and_an_sdk_count_alike(mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.set("m", "It is green.")
    call = Reply(tool_calls=[ToolCall("look_up", {"word": "kiwi"}, "call_1")])
    mock_llm_calls.add("m", call)
    llm.get_model("m").chain("What is a kiwi?", system="Be brief", tools=[look_up]).text()
    mock_llm_calls.add("m", call)
    function = llm.Tool.function(look_up)
    definition = {
        "name": "look_up",
        "description": function.description,
        "parameters": function.input_schema,
    }
    messages: list[Any] = [
        {"role": "system", "content": "Be brief"},
        {"role": "user", "content": "What is a kiwi?"},
    ]
    with openai.OpenAI(api_key="none") as client:
        for _ in range(2):
            answer = client.chat.completions.create(
                model="m",
                messages=messages,
                tools=[{"type": "function", "function": definition}],  # type: ignore[list-item, misc]
            )
            messages.append(answer.choices[0].message.model_dump(exclude_none=True))
            messages.append({"role": "tool", "tool_call_id": "call_1", "content": look_up("kiwi")})
        assert answer.usage is not None
        assert answer.usage.prompt_tokens == asked(mock_llm_calls)[-1]
    first, second, *with_sdk = asked(mock_llm_calls)
    assert with_sdk == [first, second]
    assert first is not None
    assert second is not None
    assert second - first == pytest.approx(
        len(json.dumps({"word": "kiwi"}) + "look_up" + look_up("kiwi")) / 4, abs=1
    )
    assert [call["output_tokens"] for call in mock_llm_calls.calls] == [6, 3, 6, 3]


def test_a_schema_that_is_asked_for_by_a_tool_counts_once(mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.set("m", Reply(tool_calls=[ToolCall("answer", {"value": 3})]))
    with openai.OpenAI(api_key="none") as client:
        for choice in ("auto", {"type": "function", "function": {"name": "answer"}}):
            client.chat.completions.create(
                model="m",
                messages=[{"role": "user", "content": "How many?"}],
                tools=[{"type": "function", "function": {"name": "answer", "parameters": SCHEMA}}],
                tool_choice=choice,  # type: ignore[arg-type]
            )
    assert len({*asked(mock_llm_calls)}) == 1


CACHED = {
    "cache_creation_input_tokens": 1,
    "cache_read_input_tokens": 20,
    "cacheWriteInputTokens": 300,
    "cacheReadInputTokens": 4000,
    "cached_tokens": 50_000,
}


@pytest.mark.parametrize(
    ("api", "tokens"),
    [
        *((api, 4326) for api in (None, "messages", "converse", "invoke_model")),
        *((api, 5) for api in ("chat.completions", "responses", "generate_content", "")),
    ],
)
def test_cached_tokens_are_input_tokens_that_some_apis_count_apart(
    api: str | None, tokens: int
) -> None:
    assert add_cached_tokens(5, CACHED, api) == tokens
    assert add_cached_tokens(None, CACHED, api) is None
    assert add_cached_tokens(5, None, api) == 5
    assert add_cached_tokens(5, dict.fromkeys(CACHED, "1"), api) == 5


@pytest.mark.parametrize(
    ("kind", "tokens"),
    [
        *(("text/plain", 100), ("text/csv", 100), ("application/json", 100)),
        *(("image/png", 765), ("application/pdf", 765), ("audio/wav", 765)),
    ],
)
def test_an_attachment_that_is_no_text_counts_as_a_picture(
    kind: str, tokens: int, mock_llm_calls: LLMMock
) -> None:
    attachment = llm.Attachment(type=kind, content=b"x" * 400)
    llm.get_model("m").prompt("", attachments=[attachment]).text()
    assert mock_llm_calls.last_call["input_tokens"] == tokens
