"""Marvin, with its default provider."""

from __future__ import annotations

import marvin

from tests.libraries.scenario import PROMPT, Weather, weather

REQUIREMENTS = "marvin>=3"
ENVIRONMENT = "sdks"
ASKS = "OpenAI"
MODEL = "gpt-4o"
VARIABLES = {"OPENAI_API_KEY": "test"}
UNTRIED = {"streamed": "The library streams its own events instead of the text of an answer."}
FAULTS = {
    "plain": "The library imports a name that pydantic-ai 2 no longer has.",
    "tools": "The library imports a name that pydantic-ai 2 no longer has.",
    "structured": "The library imports a name that pydantic-ai 2 no longer has.",
    "asynchronous": "The library imports a name that pydantic-ai 2 no longer has.",
    "retried": "The library imports a name that pydantic-ai 2 no longer has.",
}


def plain() -> str:
    return marvin.run(PROMPT)


def tools() -> str:
    return marvin.run(PROMPT, tools=[weather])


def structured() -> Weather:
    return marvin.run(PROMPT, result_type=Weather)


async def asynchronous() -> str:
    return await marvin.run_async(PROMPT)


def retried() -> str:
    return plain()
