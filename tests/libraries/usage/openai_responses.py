"""OpenAI's SDK, with Responses."""

from __future__ import annotations

import json
from typing import Any

from openai import AsyncOpenAI, OpenAI

from tests.libraries.scenario import PROMPT, SCHEMA, Weather, weather

REQUIREMENTS = "openai>=3.50"
ENVIRONMENT = "sdks"
ASKS = "OpenAI (Responses)"
MODEL = "gpt-5"
TOOL = {"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}


def plain() -> str:
    return OpenAI().responses.create(model=MODEL, input=PROMPT).output_text


def streamed() -> list[str]:
    with OpenAI().responses.stream(model=MODEL, input=PROMPT) as stream:
        return [event.delta for event in stream if event.type == "response.output_text.delta"]


def tools() -> str:
    client = OpenAI()
    items: list[Any] = [{"role": "user", "content": PROMPT}]
    while True:
        answer = client.responses.create(model=MODEL, input=items, tools=[TOOL])
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return answer.output_text
        items += answer.output
        for call in calls:
            output = weather(**json.loads(call.arguments))
            items.append(
                {"type": "function_call_output", "call_id": call.call_id, "output": output}
            )


def structured() -> Weather:
    return OpenAI().responses.parse(model=MODEL, input=PROMPT, text_format=Weather).output_parsed


async def asynchronous() -> str:
    async with AsyncOpenAI() as client:
        return (await client.responses.create(model=MODEL, input=PROMPT)).output_text


def retried() -> str:
    return plain()
