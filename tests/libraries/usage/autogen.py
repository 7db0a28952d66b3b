"""AutoGen, with its client for OpenAI."""

from __future__ import annotations

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import ModelClientStreamingChunkEvent
from autogen_core.models import UserMessage
from autogen_ext.models.openai import OpenAIChatCompletionClient

from tests.libraries.scenario import PROMPT, Weather, weather

REQUIREMENTS = "autogen-agentchat>=0.7 autogen-ext[openai]>=0.7"
ENVIRONMENT = "sdks"
ASKS = "OpenAI (Chat Completions)"
MODEL = "gpt-4o"


def plain() -> str:
    return asyncio.run(asynchronous())


def streamed() -> list[str]:
    async def read() -> list[str]:
        client = OpenAIChatCompletionClient(model=MODEL)
        agent = AssistantAgent("assistant", client, model_client_stream=True)
        return [
            event.content
            async for event in agent.run_stream(task=PROMPT)
            if isinstance(event, ModelClientStreamingChunkEvent)
        ]

    return asyncio.run(read())


def tools() -> str:
    async def ask() -> str:
        client = OpenAIChatCompletionClient(model=MODEL)
        agent = AssistantAgent("assistant", client, tools=[weather], max_tool_iterations=5)
        return (await agent.run(task=PROMPT)).messages[-1].content

    return asyncio.run(ask())


def structured() -> Weather:
    async def ask() -> Weather:
        client = OpenAIChatCompletionClient(model=MODEL)
        agent = AssistantAgent("assistant", client, output_content_type=Weather)
        return (await agent.run(task=PROMPT)).messages[-1].content

    return asyncio.run(ask())


async def asynchronous() -> str:
    client = OpenAIChatCompletionClient(model=MODEL)
    return (await client.create([UserMessage(content=PROMPT, source="user")])).content


def retried() -> str:
    return plain()
