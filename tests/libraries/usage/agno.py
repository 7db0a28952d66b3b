"""Agno, with its model for OpenAI."""

from __future__ import annotations

from agno.agent import Agent
from agno.models.openai import OpenAIChat

from tests.libraries.scenario import PROMPT, Weather, weather

REQUIREMENTS = "agno>=3 openai"
ENVIRONMENT = "sdks"
ASKS = "OpenAI (Chat Completions)"
MODEL = "gpt-4o"
VARIABLES = {"OPENAI_API_KEY": "test"}


def make_agent(**settings: object) -> Agent:
    return Agent(model=OpenAIChat(id=MODEL), **settings)


def plain() -> str:
    return make_agent().run(PROMPT).content


def streamed() -> list[str]:
    return [event.content for event in make_agent().run(PROMPT, stream=True)]


def tools() -> str:
    return make_agent(tools=[weather]).run(PROMPT).content


def structured() -> Weather:
    return make_agent(output_schema=Weather).run(PROMPT).content


async def asynchronous() -> str:
    return (await make_agent().arun(PROMPT)).content


def retried() -> str:
    return plain()
