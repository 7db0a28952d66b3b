"""A finish reason may be written in the words of any provider."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from llm_mock import LLMMock, Reply

HELLO = [{"role": "user", "content": "Hello"}]
CHAT = ("https://api.openai.com/v1/chat/completions", {"model": "gpt-4o", "messages": HELLO})
MESSAGES = (
    "https://api.anthropic.com/v1/messages",
    {"model": "claude-sonnet-4-5", "messages": HELLO, "max_tokens": 9},
)
GEMINI = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
    {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
)
KEYS = {"Authorization": "Bearer any", "x-api-key": "any", "x-goog-api-key": "any"}


def ask(request: tuple[str, dict[str, Any]]) -> Any:
    url, body = request
    return httpx.post(url, json=body, headers=KEYS).raise_for_status().json()


@pytest.mark.parametrize(
    ("given", "common", "at_anthropic", "at_google"),
    [
        ("length", "length", "max_tokens", "MAX_TOKENS"),
        ("max_tokens", "length", "max_tokens", "MAX_TOKENS"),
        ("MAX_TOKENS", "length", "max_tokens", "MAX_TOKENS"),
        ("end_turn", "stop", "end_turn", "STOP"),
        ("STOP", "stop", "end_turn", "STOP"),
        ("COMPLETE", "stop", "end_turn", "STOP"),
        ("tool_use", "tool_calls", "tool_use", "STOP"),
        ("TOOL_CALL", "tool_calls", "tool_use", "STOP"),
        ("SAFETY", "content_filter", "refusal", "SAFETY"),
        ("content_filtered", "content_filter", "refusal", "SAFETY"),
        ("refusal", "content_filter", "refusal", "SAFETY"),
        ("pause_turn", "pause_turn", "pause_turn", "pause_turn"),
    ],
)
def test_each_api_gets_its_own_word(
    mock_llm_responses: LLMMock, given: str, common: str, at_anthropic: str, at_google: str
) -> None:
    mock_llm_responses.set("*", Reply("Hi", finish_reason=given))
    assert ask(CHAT)["choices"][0]["finish_reason"] == common
    assert ask(MESSAGES)["stop_reason"] == at_anthropic
    assert ask(GEMINI)["candidates"][0]["finishReason"] == at_google
    assert [call["finish_reason"] for call in mock_llm_responses.calls] == [common] * 3
