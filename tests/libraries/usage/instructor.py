"""instructor, with OpenAI's SDK."""

from __future__ import annotations

from typing import Any

import instructor
import openai

from llm_mock import templates
from tests.libraries.scenario import PROMPT, Weather

REQUIREMENTS = "instructor>=1.17"
ENVIRONMENT = "apps"
ASKS = "OpenAI (Chat Completions)"
MODEL = "gpt-4o"
LACKS = {
    "plain": "All answers of the library are structured.",
    "tools": "The library does not call tools.",
}
UNTRIED = {
    "streamed": "The library streams partial objects. `tests/frameworks` tests these streams.",
}
REQUEST: dict[str, Any] = {"model": MODEL, "messages": [{"role": "user", "content": PROMPT}]}
SUNNY = {"city": "It is sunny.", "degrees": 21}
REPLIES = {"asynchronous": [SUNNY], "retried": [templates.rate_limit(), SUNNY]}


def structured() -> Weather:
    return instructor.from_openai(openai.OpenAI()).create(response_model=Weather, **REQUEST)


async def asynchronous() -> str:
    client = instructor.from_openai(openai.AsyncOpenAI())
    return (await client.create(response_model=Weather, **REQUEST)).city


def retried() -> str:
    client = instructor.from_openai(openai.OpenAI())
    return client.create(response_model=Weather, **REQUEST).city
