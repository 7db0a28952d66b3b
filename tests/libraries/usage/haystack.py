"""Haystack, with its generator for OpenAI."""

from __future__ import annotations

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function

from tests.libraries.scenario import PROMPT, Weather, weather

REQUIREMENTS = "haystack-ai>=3"
ENVIRONMENT = "sdks"
ASKS = "OpenAI (Chat Completions)"
MODEL = "gpt-4o"
VARIABLES = {"OPENAI_API_KEY": "test"}
MESSAGES = [ChatMessage.from_user(PROMPT)]


def plain() -> str:
    return OpenAIChatGenerator(model=MODEL).run(MESSAGES)["replies"][0].text


def streamed() -> list[str]:
    chunks = []
    generator = OpenAIChatGenerator(
        model=MODEL, streaming_callback=lambda chunk: chunks.append(chunk.content)
    )
    generator.run(MESSAGES)
    return chunks


def tools() -> str:
    tool = create_tool_from_function(weather)
    agent = Agent(chat_generator=OpenAIChatGenerator(model=MODEL), tools=[tool])
    return agent.run(MESSAGES)["messages"][-1].text


def structured() -> Weather:
    generator = OpenAIChatGenerator(model=MODEL, generation_kwargs={"response_format": Weather})
    return Weather.model_validate_json(generator.run(MESSAGES)["replies"][0].text)


async def asynchronous() -> str:
    return (await OpenAIChatGenerator(model=MODEL).run_async(MESSAGES))["replies"][0].text


def retried() -> str:
    return plain()
