"""What stands on Amazon Bedrock: Strands, LangChain and pydantic-ai, without an account."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

strands = pytest.importorskip("strands", reason="strands-agents is not installed")
langchain_aws = pytest.importorskip("langchain_aws", reason="langchain-aws is not installed")
pydantic_ai = pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")

from langchain_core.messages import HumanMessage, ToolMessage
from pydantic import BaseModel
from strands.models import BedrockModel

from llm_mock import LLMMock, Reply, ToolCall, templates

pytestmark = pytest.mark.filterwarnings("default")
MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


class Weather(BaseModel):
    """The weather."""

    city: str
    degrees: int


SUNNY = Weather(city="Bern", degrees=21)


def make_agent(*tools: Any, **settings: Any) -> Any:
    """Return an agent of Strands that prints nothing."""
    model = BedrockModel(model_id=MODEL, **settings)
    return strands.Agent(model=model, tools=list(tools), callback_handler=None)


@strands.tool
def weather(city: str) -> str:
    """Say the weather of a city."""
    return f"{city}: 21"


def get_weather(city: str) -> str:
    """Say the weather of a city."""
    return f"{city}: 21"


def script_three_turns(mock: LLMMock) -> None:
    for city in ("Bern", "Basel"):
        mock.add(MODEL, Reply(tool_calls=[ToolCall("weather", {"city": city})]))
    mock.add(MODEL, "Both are warm.")


@pytest.mark.parametrize("streaming", [False, True])
def test_strands_gets_a_text(streaming: bool, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply(chunks=["Hel", "lo!"]))
    assert str(make_agent(streaming=streaming)("Hi")).strip() == "Hello!"
    assert mock_llm_responses.last_call.stream is streaming


def test_strands_asks_bedrock_if_nothing_else_is_said(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", "Hello!")
    assert str(strands.Agent(callback_handler=None)("Hi")).strip() == "Hello!"
    assert mock_llm_responses.last_call["provider"] == "bedrock"


def test_strands_runs_tools_over_three_turns(mock_llm_responses: LLMMock) -> None:
    script_three_turns(mock_llm_responses)
    assert str(make_agent(weather)("How is it?")).strip() == "Both are warm."
    assert mock_llm_responses.last_call.turn == 3
    [result] = mock_llm_responses.last_call.tool_results
    assert result["output"] == "Basel: 21"


def test_strands_gets_data(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, SUNNY)
    answer = make_agent()("How is it?", structured_output_model=Weather)
    assert answer.structured_output == SUNNY


def test_strands_is_asynchronous(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply(chunks=["Hel", "lo!"]))

    async def ask() -> list[str]:
        events = make_agent().stream_async("Hi")
        return [event["data"] async for event in events if "data" in event]

    assert asyncio.run(ask()) == ["Hel", "lo!"]


def test_strands_asks_again_after_an_error(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.add(MODEL, templates.overloaded())
    mock_llm_responses.add(MODEL, "Hello!")
    assert str(make_agent()("Hi")).strip() == "Hello!"


def make_converse() -> Any:
    """Return LangChain's model that calls Converse."""
    return langchain_aws.ChatBedrockConverse(model=MODEL)


def make_invoke() -> Any:
    """Return LangChain's model that calls InvokeModel."""
    return langchain_aws.ChatBedrock(model=MODEL, beta_use_converse_api=False)


both_models = pytest.mark.parametrize(
    ("make", "api"), [(make_converse, "converse"), (make_invoke, "invoke_model")]
)


@both_models
def test_langchain_gets_a_text(make: Any, api: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply(chunks=["Hel", "lo!"]))
    model = make()
    assert model.invoke("Hi").content == "Hello!"
    assert "".join(str(chunk.text) for chunk in model.stream("Hi")) == "Hello!"
    assert asyncio.run(model.ainvoke("Hi")).content == "Hello!"
    assert {call["api"] for call in mock_llm_responses.calls} == {api}


@both_models
def test_langchain_runs_tools_over_three_turns(
    make: Any, api: str, mock_llm_responses: LLMMock
) -> None:
    for city in ("Bern", "Basel"):
        mock_llm_responses.add(MODEL, Reply(tool_calls=[ToolCall("get_weather", {"city": city})]))
    mock_llm_responses.add(MODEL, "Both are warm.")
    model = make().bind_tools([get_weather])
    messages: list[Any] = [HumanMessage("How is it?")]
    for _ in range(2):
        answer = model.invoke(messages)
        [call] = answer.tool_calls
        messages += [answer, ToolMessage(get_weather(**call["args"]), tool_call_id=call["id"])]
    assert model.invoke(messages).content == "Both are warm."
    assert mock_llm_responses.last_call.turn == 3


@both_models
def test_langchain_gets_data(make: Any, api: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, SUNNY)
    assert make().with_structured_output(Weather).invoke("How is it?") == SUNNY


@both_models
def test_langchain_asks_again_after_an_error(
    make: Any, api: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add(MODEL, templates.rate_limit())
    mock_llm_responses.add(MODEL, "Hello!")
    assert make().invoke("Hi").content == "Hello!"


def test_pydantic_ai_gets_a_text_and_data(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.add(MODEL, "Hello!")
    mock_llm_responses.add(MODEL, SUNNY)
    name = f"bedrock:{MODEL}"
    assert pydantic_ai.Agent(name).run_sync("Hi").output == "Hello!"
    assert pydantic_ai.Agent(name, output_type=Weather).run_sync("Hi").output == SUNNY
