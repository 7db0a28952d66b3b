"""smolagents, with its model for OpenAI."""

from __future__ import annotations

from smolagents import OpenAIModel, ToolCallingAgent, tool
from smolagents.models import ChatMessage

from llm_mock import call
from tests.libraries.scenario import ANSWER, CITIES, PROMPT, Weather, weather

REQUIREMENTS = "smolagents[openai]>=1.26"
ENVIRONMENT = "sdks"
ASKS = "OpenAI (Chat Completions)"
MODEL = "gpt-4o"
LACKS = {"asynchronous": "The models of the library do not support asynchronous calls."}
# Its agents answer by a tool.
REPLIES = {
    "tools": [
        *(call("weather", city=city) for city in CITIES),
        call("final_answer", answer=ANSWER),
    ]
}
MESSAGES = [ChatMessage(role="user", content=[{"type": "text", "text": PROMPT}])]


def plain() -> str:
    return OpenAIModel(MODEL).generate(MESSAGES).content


def streamed() -> list[str]:
    return [delta.content for delta in OpenAIModel(MODEL).generate_stream(MESSAGES)]


def tools() -> str:
    agent = ToolCallingAgent([tool(weather)], OpenAIModel(MODEL), verbosity_level=0)
    return agent.run(PROMPT)


def structured() -> Weather:
    schema = {"name": "weather", "schema": Weather.model_json_schema()}
    response_format = {"type": "json_schema", "json_schema": schema}
    answer = OpenAIModel(MODEL).generate(MESSAGES, response_format=response_format)
    return Weather.model_validate_json(answer.content)


def retried() -> str:
    return plain()
