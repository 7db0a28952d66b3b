"""litellm, of whatever provider, is answered by the mock."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it downloads prices otherwise
litellm = pytest.importorskip("litellm")

from llm_mock import LLMMock, Reply, ToolCall

pytestmark = pytest.mark.filterwarnings("default")

QUESTION = [{"role": "user", "content": "Hello"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [
    {
        "type": "function",
        "function": {"name": "weather", "description": "Says it.", "parameters": SCHEMA},
    }
]
MODELS = {
    "openai/gpt-4o": "gpt-4o",
    "anthropic/claude-opus-4-6": "claude-opus-4-6",
    "gemini/gemini-2.5-pro": "gemini-2.5-pro",
    "mistral/mistral-large-latest": "mistral-large-latest",
    "groq/llama-3.3-70b-versatile": "llama-3.3-70b-versatile",
    "openrouter/deepseek/deepseek-chat": "deepseek/deepseek-chat",
    "deepseek/deepseek-chat": "deepseek-chat",
    "xai/grok-4": "grok-4",
    "vertex_ai/claude-opus-4-6": "claude-opus-4-6",
}

every_model = pytest.mark.parametrize(("name", "model"), MODELS.items(), ids=MODELS)


@pytest.fixture(autouse=True)
def place_of_vertex(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name a project and a region, without which litellm does not ask Vertex AI."""
    monkeypatch.setenv("VERTEXAI_PROJECT", "p")
    monkeypatch.setenv("VERTEXAI_LOCATION", "us-east5")


@every_model
def test_a_text_whole_and_streamed(name: str, model: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(model, Reply(chunks=["Hel", "lo!"]))
    whole = litellm.completion(name, QUESTION)
    assert (whole.choices[0].message.content, whole.choices[0].finish_reason) == ("Hello!", "stop")
    chunks = litellm.completion(name, QUESTION, stream=True)
    assert (
        "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        == "Hello!"
    )
    assert [(call["model_id"], call["stream"]) for call in mock_llm_responses.calls] == [
        (model, False),
        (model, True),
    ]


@every_model
def test_a_text_asked_for_asynchronously(
    name: str, model: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(model, Reply(chunks=["Hel", "lo!"]))

    async def ask() -> tuple[str, str]:
        whole = await litellm.acompletion(name, QUESTION)
        chunks = await litellm.acompletion(name, QUESTION, stream=True)
        pieces = [chunk.choices[0].delta.content or "" async for chunk in chunks if chunk.choices]
        return whole.choices[0].message.content, "".join(pieces)

    assert asyncio.run(ask()) == ("Hello!", "Hello!")


@every_model
@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_call(name: str, model: str, stream: bool, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(model, Reply(tool_calls=[ToolCall("weather", {"city": "Bern"})]))
    answer: Any = litellm.completion(name, QUESTION, tools=TOOLS, stream=stream)
    whole = litellm.stream_chunk_builder(list(answer)) if stream else answer
    [call] = whole.choices[0].message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == (
        "weather",
        {"city": "Bern"},
    )


@every_model
def test_a_structured_answer(name: str, model: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(model, {"city": "Bern"})
    strict = {**SCHEMA, "additionalProperties": False}
    schema = {
        "type": "json_schema",
        "json_schema": {"name": "Place", "schema": strict, "strict": True},
    }
    answer = litellm.completion(name, QUESTION, response_format=schema)
    assert json.loads(answer.choices[0].message.content) == {"city": "Bern"}


@every_model
def test_an_error_of_the_provider(name: str, model: str, mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.misbehave("rate-limit")
    with pytest.raises(litellm.RateLimitError):
        litellm.completion(name, QUESTION, num_retries=0)


def test_embeddings(mock_llm_calls: LLMMock) -> None:
    for name in (
        "openai/text-embedding-3-small",
        "mistral/mistral-embed",
        "gemini/gemini-embedding-001",
    ):
        assert len(litellm.embedding(name, ["a", "b"]).data) == 2
