"""Mirascope."""

from __future__ import annotations

from mirascope import llm

from tests.libraries.scenario import PROMPT, Weather, weather

REQUIREMENTS = "mirascope[openai]>=2.8"
ENVIRONMENT = "apps"
ASKS = "OpenAI (Chat Completions)"
MODEL = "gpt-4o"
VARIABLES = {"OPENAI_API_KEY": "test"}
NAME = f"openai/{MODEL}:completions"


@llm.call(NAME)
def ask() -> str:
    return PROMPT


@llm.call(NAME, tools=[llm.tool(weather)])
def ask_with_tools() -> str:
    return PROMPT


@llm.call(NAME, format=Weather)
def ask_for_data() -> str:
    return PROMPT


@llm.call(NAME)
async def ask_later() -> str:
    return PROMPT


def plain() -> str:
    return ask().text()


def streamed() -> list[str]:
    return list(ask.stream().text_stream())


def tools() -> str:
    response = ask_with_tools()
    while response.tool_calls:
        response = response.resume(response.execute_tools())
    return response.text()


def structured() -> Weather:
    return ask_for_data().parse()


async def asynchronous() -> str:
    return (await ask_later()).text()


def retried() -> str:
    return plain()
