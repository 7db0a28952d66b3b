"""Strands Agents, whose default is a model of Bedrock."""

from __future__ import annotations

import asyncio

from strands import Agent, tool
from strands.models import BedrockModel

from tests.libraries.scenario import PROMPT, Weather, weather

REQUIREMENTS = "strands-agents>=1.60"
ENVIRONMENT = "agents"
ASKS = "Bedrock (Converse)"
MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


def make_agent(*tools: object) -> Agent:
    return Agent(BedrockModel(model_id=MODEL), tools=list(tools), callback_handler=None)


def plain() -> str:
    return str(make_agent()(PROMPT))


def streamed() -> list[str]:
    async def read() -> list[str]:
        events = make_agent().stream_async(PROMPT)
        return [event["data"] async for event in events if "data" in event]

    return asyncio.run(read())


def tools() -> str:
    return str(make_agent(tool(weather))(PROMPT))


def structured() -> Weather:
    return make_agent()(PROMPT, structured_output_model=Weather).structured_output


async def asynchronous() -> str:
    return str(await make_agent().invoke_async(PROMPT))


def retried() -> str:
    return plain()
