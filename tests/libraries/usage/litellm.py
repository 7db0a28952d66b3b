"""litellm."""

from __future__ import annotations

import json
from typing import Any

import litellm

from tests.libraries.scenario import PROMPT, SCHEMA, Weather, weather

REQUIREMENTS = "litellm>=1.106 mcp>=2.3,<3"
ENVIRONMENT = "litellm"
ASKS = "Anthropic"
MODEL = "claude-opus-4-6"
VARIABLES = {"ANTHROPIC_API_KEY": "test"}
NAME = f"anthropic/{MODEL}"
MESSAGES: list[Any] = [{"role": "user", "content": PROMPT}]
TOOL = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}


def plain() -> str:
    return litellm.completion(NAME, MESSAGES).choices[0].message.content


def streamed() -> list[str]:
    stream = litellm.completion(NAME, MESSAGES, stream=True)
    return [chunk.choices[0].delta.content for chunk in stream]


def tools() -> str:
    messages = [*MESSAGES]
    while True:
        message = litellm.completion(NAME, messages, tools=[TOOL]).choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message)
        for call in message.tool_calls:
            result = weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def structured() -> Weather:
    answer = litellm.completion(NAME, MESSAGES, response_format=Weather)
    return Weather.model_validate_json(answer.choices[0].message.content)


async def asynchronous() -> str:
    return (await litellm.acompletion(NAME, MESSAGES)).choices[0].message.content


def retried() -> str:
    return litellm.completion(NAME, MESSAGES, num_retries=2).choices[0].message.content
