"""OpenAI's Agents SDK."""

from __future__ import annotations

import asyncio

import pytest

agents = pytest.importorskip("agents", reason="openai-agents is not installed")

from openai import RateLimitError
from pydantic import BaseModel

from llm_mock import LLMMock, Reply, ToolCall

pytestmark = pytest.mark.filterwarnings("default")


class Place(BaseModel):
    city: str


@pytest.fixture(autouse=True)
def no_tracing() -> None:
    """Disable tracing, which would send every run to OpenAI."""
    agents.set_tracing_disabled(True)


@pytest.fixture(params=["responses", "chat_completions"])
def api(request: pytest.FixtureRequest) -> str:
    agents.set_default_openai_api(request.param)
    return request.param


@agents.function_tool
def weather(city: str) -> str:
    """Say the weather."""
    return f"sunny in {city}"


def test_a_text_whole_and_streamed(api: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-5", Reply(chunks=["Hel", "lo!"]))
    agent = agents.Agent(name="a", model="gpt-5", instructions="Be brief.")
    assert agents.Runner.run_sync(agent, "Say hello").final_output == "Hello!"

    async def stream() -> str:
        run = agents.Runner.run_streamed(agent, "Say hello")
        async for _ in run.stream_events():
            pass
        return run.final_output

    assert asyncio.run(stream()) == "Hello!"
    assert [call["kwargs"]["system"] for call in mock_llm_responses.calls] == ["Be brief."] * 2


def test_a_tool_is_run(api: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.add("gpt-5", Reply(tool_calls=[ToolCall("weather", {"city": "Bern"})]))
    mock_llm_responses.add("gpt-5", "It is sunny.", turn=2)
    agent = agents.Agent(name="a", model="gpt-5", tools=[weather])
    assert agents.Runner.run_sync(agent, "How is it?").final_output == "It is sunny."
    results = mock_llm_responses.calls[1]["kwargs"]["tool_results"]
    assert results == [{"name": "weather", "output": "sunny in Bern"}]


def test_a_structured_answer(api: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-5", {"city": "Bern"})
    agent = agents.Agent(name="a", model="gpt-5", output_type=Place)
    assert agents.Runner.run_sync(agent, "Where?").final_output == Place(city="Bern")


def test_a_handoff(api: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.add("gpt-5", Reply(tool_calls=[ToolCall("transfer_to_other", {})]))
    mock_llm_responses.add("gpt-5", "Here I am.")
    other = agents.Agent(name="other", model="gpt-5")
    agent = agents.Agent(name="a", model="gpt-5", handoffs=[other])
    assert agents.Runner.run_sync(agent, "Other, please").last_agent is other


def test_an_error_of_the_provider(api: str, mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.misbehave("rate-limit")
    with pytest.raises(RateLimitError):
        agents.Runner.run_sync(agents.Agent(name="a", model="gpt-5"), "Hello")


def test_a_tool_is_run_over_a_websocket(mock_llm_responses: LLMMock) -> None:
    call = ToolCall("weather", {"city": "Bern"})
    for number in range(2):
        mock_llm_responses.add("gpt-5", Reply(tool_calls=[call]))
        mock_llm_responses.add("gpt-5", f"It is sunny, {number}.", tool_result="sunny in Bern")
    agent = agents.Agent(name="a", model="gpt-5", tools=[weather])

    async def run() -> list[str]:
        async with agents.responses_websocket_session() as session:
            outputs = []
            for _ in range(2):
                streamed = session.run_streamed(agent, "How is it?")
                async for _ in streamed.stream_events():
                    pass
                outputs.append(streamed.final_output)
            return outputs

    assert asyncio.run(run()) == ["It is sunny, 0.", "It is sunny, 1."]
    for call_of_model in mock_llm_responses.calls:
        assert call_of_model.request.url == "wss://api.openai.com/v1/responses"


def test_a_realtime_session_has_text(mock_llm_responses: LLMMock) -> None:
    realtime = pytest.importorskip("agents.realtime")
    mock_llm_responses.set("gpt-realtime", "Hello!")
    settings = {"model_name": "gpt-realtime", "output_modalities": ["text"]}
    runner = realtime.RealtimeRunner(
        realtime.RealtimeAgent(name="a", instructions="Be brief."),
        config={"model_settings": settings},
    )

    async def run() -> str:
        async with await runner.run() as session:
            await session.send_message("Say hello")
            async for event in session:
                if event.type == "agent_end":
                    break
                assert event.type != "error", event
            return str(session._history[-1])

    assert "Hello!" in asyncio.run(asyncio.wait_for(run(), 30))
    call = mock_llm_responses.last_call
    assert (call.system, call.prompt) == ("Be brief.", "Say hello")
