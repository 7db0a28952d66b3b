"""Microsoft's Agent Framework, with its client for OpenAI."""

from __future__ import annotations

import asyncio

from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient

from tests.libraries.scenario import PROMPT, Weather, weather

REQUIREMENTS = "agent-framework-core>=1.23 agent-framework-openai>=1.17"
ENVIRONMENT = "sdks"
ASKS = "OpenAI (Responses)"
MODEL = "gpt-5"
VARIABLES = {"OPENAI_API_KEY": "test"}


def make_agent(**settings: object) -> Agent:
    return Agent(OpenAIChatClient(model=MODEL), **settings)


def plain() -> str:
    return asyncio.run(asynchronous())


def streamed() -> list[str]:
    async def read() -> list[str]:
        updates = make_agent().run(PROMPT, stream=True)
        contents = [content async for update in updates for content in update.contents]
        # The last text is the whole one.
        return [content.text for content in contents if content.merge_mode == "append"]

    return asyncio.run(read())


def tools() -> str:
    async def ask() -> str:
        return (await make_agent(tools=[weather]).run(PROMPT)).text

    return asyncio.run(ask())


def structured() -> Weather:
    async def ask() -> Weather:
        answer = await make_agent().run(PROMPT, options={"response_format": Weather})
        return answer.value

    return asyncio.run(ask())


async def asynchronous() -> str:
    return (await make_agent().run(PROMPT)).text


def retried() -> str:
    return plain()
