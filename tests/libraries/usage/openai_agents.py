"""OpenAI's Agents SDK, with its default model and its tracing."""

from __future__ import annotations

import asyncio

from agents import Agent, Runner, function_tool

from tests.libraries.scenario import PROMPT, Weather, weather

REQUIREMENTS = "openai-agents>=0.24"
ENVIRONMENT = "sdks"
ASKS = "OpenAI (Responses)"
MODEL = "gpt-5"


def plain() -> str:
    return Runner.run_sync(Agent("Assistant", model=MODEL), PROMPT).final_output


def streamed() -> list[str]:
    async def read() -> list[str]:
        run = Runner.run_streamed(Agent("Assistant", model=MODEL), PROMPT)
        return [
            event.data.delta
            async for event in run.stream_events()
            if event.type == "raw_response_event"
            and event.data.type == "response.output_text.delta"
        ]

    return asyncio.run(read())


def tools() -> str:
    agent = Agent("Assistant", model=MODEL, tools=[function_tool(weather)])
    return Runner.run_sync(agent, PROMPT).final_output


def structured() -> Weather:
    return Runner.run_sync(
        Agent("Assistant", model=MODEL, output_type=Weather), PROMPT
    ).final_output


async def asynchronous() -> str:
    return (await Runner.run(Agent("Assistant", model=MODEL), PROMPT)).final_output


def retried() -> str:
    return plain()
