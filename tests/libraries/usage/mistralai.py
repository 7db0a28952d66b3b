"""Mistral's SDK."""

from __future__ import annotations

import json
from typing import Any

from mistralai.client import Mistral
from mistralai.client.utils import BackoffStrategy, RetryConfig

from tests.libraries.scenario import PROMPT, SCHEMA, Weather, weather

REQUIREMENTS = "mistralai>=3"
ENVIRONMENT = "sdks"
ASKS = "Mistral"
MODEL = "mistral-large-latest"
MESSAGES: list[Any] = [{"role": "user", "content": PROMPT}]
TOOL = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}


def plain() -> str:
    answer = Mistral().chat.complete(model=MODEL, messages=MESSAGES)
    return answer.choices[0].message.content


def streamed() -> list[str]:
    with Mistral().chat.stream(model=MODEL, messages=MESSAGES) as events:
        return [event.data.choices[0].delta.content for event in events]


def tools() -> str:
    client = Mistral()
    messages = [*MESSAGES]
    while True:
        answer = client.chat.complete(model=MODEL, messages=messages, tools=[TOOL])
        message = answer.choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message)
        for call in message.tool_calls:
            result = weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def structured() -> Weather:
    answer = Mistral().chat.parse(Weather, model=MODEL, messages=MESSAGES)
    return answer.choices[0].message.parsed


async def asynchronous() -> str:
    async with Mistral() as client:
        answer = await client.chat.complete_async(model=MODEL, messages=MESSAGES)
    return answer.choices[0].message.content


def retried() -> str:
    backoff = BackoffStrategy(10, 100, 1.5, 600_000)
    client = Mistral(retry_config=RetryConfig("backoff", backoff, retry_connection_errors=False))
    return client.chat.complete(model=MODEL, messages=MESSAGES).choices[0].message.content
