"""OpenRouter's SDK."""

from __future__ import annotations

import json
from typing import Any

from openrouter import OpenRouter
from openrouter.utils import BackoffStrategy, RetryConfig

from llm_mock import templates
from tests.libraries.scenario import ANSWER, PROMPT, SCHEMA, Weather, weather

REQUIREMENTS = "openrouter"
ENVIRONMENT = "sdks"
ASKS = "OpenRouter"
MODEL = "deepseek/deepseek-chat"
# It retries after errors of the server alone.
REPLIES = {"retried": [templates.overloaded(), ANSWER]}
MESSAGES: list[Any] = [{"role": "user", "content": PROMPT}]
TOOL: Any = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}


def plain() -> str:
    with OpenRouter() as client:
        answer = client.chat.send(model=MODEL, messages=MESSAGES)
    return answer.choices[0].message.content


def streamed() -> list[str]:
    with OpenRouter() as client:
        stream = client.chat.send(model=MODEL, messages=MESSAGES, stream=True)
        return [chunk.choices[0].delta.content for chunk in stream]


def tools() -> str:
    messages = [*MESSAGES]
    with OpenRouter() as client:
        while True:
            answer = client.chat.send(model=MODEL, messages=messages, tools=[TOOL])
            message = answer.choices[0].message
            if not message.tool_calls:
                return message.content
            messages.append(message)
            for call in message.tool_calls:
                result = weather(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def structured() -> Weather:
    schema: Any = {"name": "weather", "schema": Weather.model_json_schema()}
    with OpenRouter() as client:
        answer = client.chat.send(
            model=MODEL,
            messages=MESSAGES,
            response_format={"type": "json_schema", "json_schema": schema},
        )
    return Weather.model_validate_json(answer.choices[0].message.content)


async def asynchronous() -> str:
    async with OpenRouter() as client:
        answer = await client.chat.send_async(model=MODEL, messages=MESSAGES)
    return answer.choices[0].message.content


def retried() -> str:
    backoff = BackoffStrategy(10, 100, 1.5, 600_000)
    retries = RetryConfig("backoff", backoff, retry_connection_errors=False)
    with OpenRouter(retry_config=retries) as client:
        answer = client.chat.send(model=MODEL, messages=MESSAGES)
    return answer.choices[0].message.content
