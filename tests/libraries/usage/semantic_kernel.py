"""Semantic Kernel, with its service for OpenAI."""

from __future__ import annotations

import asyncio

from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import (
    OpenAIChatCompletion,
    OpenAIChatPromptExecutionSettings,
)
from semantic_kernel.functions import KernelArguments, kernel_function

from llm_mock import call
from tests.libraries.scenario import ANSWER, CITIES, PROMPT, Weather, weather

REQUIREMENTS = "semantic-kernel>=1.45"
ENVIRONMENT = "crews"
ASKS = "OpenAI (Chat Completions)"
MODEL = "gpt-4o"
VARIABLES = {"OPENAI_API_KEY": "test"}
# It puts the name of the plugin before that of the function.
REPLIES = {"tools": [*(call("WeatherPlugin-weather", city=city) for city in CITIES), ANSWER]}


class WeatherPlugin:
    """The tool, as a plugin."""

    @kernel_function(name="weather", description="Return the weather of a city.")
    def weather(self, city: str) -> str:
        return weather(city)


def make_agent(**settings: object) -> ChatCompletionAgent:
    return ChatCompletionAgent(service=OpenAIChatCompletion(ai_model_id=MODEL), **settings)


def plain() -> str:
    return asyncio.run(asynchronous())


def streamed() -> list[str]:
    async def read() -> list[str]:
        return [str(part.content) async for part in make_agent().invoke_stream(PROMPT)]

    return asyncio.run(read())


def tools() -> str:
    async def ask() -> str:
        return str(await make_agent(plugins=[WeatherPlugin()]).get_response(PROMPT))

    return asyncio.run(ask())


def structured() -> Weather:
    async def ask() -> str:
        settings = OpenAIChatPromptExecutionSettings(response_format=Weather)
        agent = make_agent(arguments=KernelArguments(settings))
        return str(await agent.get_response(PROMPT))

    return Weather.model_validate_json(asyncio.run(ask()))


async def asynchronous() -> str:
    return str(await make_agent().get_response(PROMPT))


def retried() -> str:
    return plain()
