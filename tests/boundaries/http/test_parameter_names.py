"""Assertions find a parameter of a request by whatever name the provider has for it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from llm_mock import ABSENT, LLMMock

GOOGLE = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent"
BEDROCK = "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-lite-v1:0/converse"
MESSAGES = [{"role": "user", "content": "Hi"}]
KEY = {"Authorization": "Bearer any", "x-api-key": "any", "x-goog-api-key": "any"}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "Gemini": (
        GOOGLE,
        {
            "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
            "generationConfig": {
                "maxOutputTokens": 19,
                "stopSequences": ["x"],
                "temperature": 0.1,
                "topK": 3,
                "topP": 0.5,
            },
        },
    ),
    "Bedrock": (
        BEDROCK,
        {
            "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
            "inferenceConfig": {"maxTokens": 19, "stopSequences": ["x"], "topP": 0.5},
        },
    ),
    "Messages": (
        "https://api.anthropic.com/v1/messages",
        {
            "model": "claude-sonnet-4-5",
            "messages": MESSAGES,
            "max_tokens": 19,
            "stop_sequences": ["x"],
            "top_k": 3,
        },
    ),
    "Cohere": (
        "https://api.cohere.com/v2/chat",
        {
            "model": "command-a-03-2025",
            "messages": MESSAGES,
            "max_tokens": 19,
            "stop_sequences": ["x"],
            "k": 3,
            "p": 0.5,
        },
    ),
    "Ollama": (
        "http://mock.test:11434/api/chat",
        {
            "model": "llama3.2",
            "messages": MESSAGES,
            "stream": False,
            "options": {"num_predict": 19, "stop": ["x"], "temperature": 0.1, "top_k": 3},
        },
    ),
    "Mistral": (
        "https://api.mistral.ai/v1/chat/completions",
        {
            "model": "mistral-large-latest",
            "messages": MESSAGES,
            "max_tokens": 19,
            "random_seed": 7,
            "stop": ["x"],
        },
    ),
    "Responses": (
        "https://api.openai.com/v1/responses",
        {
            "model": "gpt-5",
            "input": "Hi",
            "max_output_tokens": 19,
            "reasoning": {"effort": "low"},
        },
    ),
    "Chat Completions": (
        "https://api.openai.com/v1/chat/completions",
        {
            "model": "gpt-5",
            "messages": MESSAGES,
            "max_completion_tokens": 19,
            "reasoning_effort": "low",
        },
    ),
}
LIMITS = dict.fromkeys(("max_tokens", "max_completion_tokens", "max_output_tokens"), 19)
SENT: dict[str, dict[str, Any]] = {
    "Gemini": {**LIMITS, "stop": ["x"], "temperature": 0.1, "top_k": 3, "top_p": 0.5},
    "Bedrock": {**LIMITS, "stop": ["x"], "top_p": 0.5},
    "Messages": {**LIMITS, "stop": ["x"], "top_k": 3},
    "Cohere": {**LIMITS, "stop": ["x"], "top_k": 3, "top_p": 0.5},
    "Ollama": {**LIMITS, "stop": ["x"], "temperature": 0.1, "top_k": 3},
    "Mistral": {"max_tokens": 19, "max_output_tokens": 19, "seed": 7, "stop": ["x"]},
    "Responses": {**LIMITS, "reasoning_effort": "low"},
    "Chat Completions": {
        "max_completion_tokens": 19,
        "max_output_tokens": 19,
        "reasoning_effort": "low",
    },
}
NAMES = (*LIMITS, "reasoning_effort", "seed", "stop", "temperature", "top_k", "top_p")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("api", REQUESTS)
def test_a_parameter_has_its_usual_name_in_assertions(
    mock_llm_responses: LLMMock, api: str, name: str
) -> None:
    mock_llm_responses.set("*", "Hello!")
    url, body = REQUESTS[api]
    httpx.post(url, json=body, headers=KEY).raise_for_status()
    if name in SENT[api]:
        mock_llm_responses.assert_called_with(**{name: SENT[api][name]})  # type: ignore[arg-type]
        with pytest.raises(AssertionError, match=f"{name} is .*, but it must be absent"):
            mock_llm_responses.assert_called_with(**{name: ABSENT})  # type: ignore[arg-type]
    else:
        mock_llm_responses.assert_called_with(**{name: ABSENT})  # type: ignore[arg-type]
        with pytest.raises(AssertionError, match=f"{name} was not sent, expected 19"):
            mock_llm_responses.assert_called_with(**{name: 19})  # type: ignore[arg-type]


def test_an_option_in_the_style_of_an_sdk_is_not_absent(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", "Hello!")
    url, body = REQUESTS["Gemini"]
    httpx.post(url, json=body, headers=KEY).raise_for_status()
    for name in ("max_output_tokens", "maxOutputTokens"):
        with pytest.raises(AssertionError, match=f"the option {name} is 19, but it must be absent"):
            mock_llm_responses.assert_called_with(options={name: ABSENT})
    with pytest.raises(AssertionError) as raised:
        mock_llm_responses.assert_called_with(options={"max_output_tokens": 19})
    message = "the option max_output_tokens was not set; the request has maxOutputTokens=19"
    assert message in str(raised.value)
    mock_llm_responses.assert_called_with(options={"seed": ABSENT})
    with pytest.raises(AssertionError, match="the option topp was not set; did you mean 'topP'"):
        mock_llm_responses.assert_called_with(options={"topp": 1})
