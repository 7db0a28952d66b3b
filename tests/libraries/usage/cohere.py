"""Cohere's SDK, with version 2 of its API."""

from __future__ import annotations

import json
from typing import Any

from cohere import AsyncClientV2, ClientV2

from tests.libraries.scenario import PROMPT, SCHEMA, Weather, weather

REQUIREMENTS = "cohere>=7"
ENVIRONMENT = "sdks"
ASKS = "Cohere"
MODEL = "command-a-03-2025"
MESSAGES: list[Any] = [{"role": "user", "content": PROMPT}]
TOOL: Any = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}


def plain() -> str:
    return ClientV2().chat(model=MODEL, messages=MESSAGES).message.content[0].text


def streamed() -> list[str]:
    client = ClientV2()
    return [
        event.delta.message.content.text
        for event in client.chat_stream(model=MODEL, messages=MESSAGES)
        if event.type == "content-delta"
    ]


def tools() -> str:
    client = ClientV2()
    messages = [*MESSAGES]
    while True:
        message = client.chat(model=MODEL, messages=messages, tools=[TOOL]).message
        if not message.tool_calls:
            return message.content[0].text
        messages.append(message)
        for call in message.tool_calls:
            result = weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def structured() -> Weather:
    answer_format: Any = {"type": "json_object", "json_schema": Weather.model_json_schema()}
    answer = ClientV2().chat(model=MODEL, messages=MESSAGES, response_format=answer_format)
    return Weather.model_validate_json(answer.message.content[0].text)


async def asynchronous() -> str:
    async with AsyncClientV2() as client:
        answer = await client.chat(model=MODEL, messages=MESSAGES)
    return answer.message.content[0].text


def retried() -> str:
    return plain()
