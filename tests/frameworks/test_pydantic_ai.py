"""pydantic-ai's agents, with OpenAI's, Anthropic's, Google's and other providers' models."""

from __future__ import annotations

import pytest

pytest.importorskip("pydantic_ai")

from pydantic import BaseModel
from pydantic_ai import Agent, Embedder, ModelHTTPError

from llm_mock import LLMMock, Reply, ToolCall

pytestmark = pytest.mark.filterwarnings("default")

MODELS = {
    "openai-chat:gpt-4o": "gpt-4o",
    "openai-responses:gpt-5": "gpt-5",
    "anthropic:claude-opus-4-5": "claude-opus-4-5",
    "google:gemini-2.5-pro": "gemini-2.5-pro",
    "groq:llama-3.3-70b-versatile": "llama-3.3-70b-versatile",
    "mistral:mistral-large-latest": "mistral-large-latest",
    "openrouter:deepseek/deepseek-chat": "deepseek/deepseek-chat",
}

every_model = pytest.mark.parametrize(("name", "model"), MODELS.items(), ids=MODELS)


class Place(BaseModel):
    city: str


@every_model
def test_a_text_whole_and_streamed(name: str, model: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(model, Reply(chunks=["Hel", "lo!"]))
    agent = Agent(name, instructions="Be brief.")
    assert agent.run_sync("Say hello").output == "Hello!"
    assert list(agent.run_stream_sync("Say hello").stream_text(debounce_by=None))[-1] == "Hello!"
    assert [call["kwargs"]["system"] for call in mock_llm_responses.calls] == ["Be brief."] * 2


@every_model
def test_a_tool_is_run(name: str, model: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.add(model, Reply(tool_calls=[ToolCall("weather", {"city": "Bern"})]))
    mock_llm_responses.add(model, "It is sunny.", turn=2)
    asked = []
    agent = Agent(name)

    @agent.tool_plain
    def weather(city: str) -> str:
        asked.append(city)
        return "sunny"

    assert agent.run_sync("How is it?").output == "It is sunny."
    assert asked == ["Bern"]
    assert mock_llm_responses.calls[1]["kwargs"]["tool_results"] == [
        {"name": "weather", "output": "sunny"}
    ]


@every_model
def test_a_structured_answer(name: str, model: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(model, {"city": "Bern"})
    assert Agent(name, output_type=Place).run_sync("Where?").output == Place(city="Bern")
    assert Agent(name, output_type=[Place, str]).run_sync("Where?").output == Place(city="Bern")


@every_model
def test_an_error_of_the_provider(name: str, model: str, mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.misbehave("context-overflow")
    with pytest.raises(ModelHTTPError) as raised:
        Agent(name).run_sync("Hello")
    assert raised.value.status_code == 400


def test_embeddings_of_openai(mock_llm_calls: LLMMock) -> None:
    found = Embedder("openai:text-embedding-3-small").embed_query_sync("Hello")
    assert len(found.embeddings) == 1


def test_claude_on_vertex_ai(mock_llm_responses: LLMMock) -> None:
    pytest.importorskip("google.auth")
    from anthropic import AsyncAnthropicVertex
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    mock_llm_responses.set("claude-opus-4-5", Reply(chunks=["Hel", "lo!"]))
    client = AsyncAnthropicVertex(region="us-east5", project_id="p")
    provider = AnthropicProvider(anthropic_client=client)
    agent = Agent(AnthropicModel("claude-opus-4-5", provider=provider))
    assert agent.run_sync("Say hello").output == "Hello!"
    assert list(agent.run_stream_sync("Say hello").stream_text(debounce_by=None))[-1] == "Hello!"
    assert mock_llm_responses.last_call["provider"] == "vertex"
