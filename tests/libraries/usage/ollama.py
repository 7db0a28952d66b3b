"""Ollama's SDK, for an Ollama on this machine."""

from __future__ import annotations

from typing import Any

import ollama

from tests.libraries.scenario import PROMPT, Weather, weather

REQUIREMENTS = "ollama>=0.6"
ENVIRONMENT = "sdks"
ASKS = "Ollama, on this machine"
MODEL = "llama3.2"
HOSTS = ("127.0.0.1:11434",)
SETTING = (
    'Set `llm_mock_hosts = ["127.0.0.1:11434"]`, because by default the mock does not intercept '
    "requests to servers on this machine."
)
LACKS = {"retried": "The library does not retry."}
MESSAGES: list[Any] = [{"role": "user", "content": PROMPT}]


def plain() -> str:
    return ollama.chat(MODEL, MESSAGES).message.content


def streamed() -> list[str]:
    return [line.message.content for line in ollama.chat(MODEL, MESSAGES, stream=True)]


def tools() -> str:
    messages = [*MESSAGES]
    while True:
        message = ollama.chat(MODEL, messages, tools=[weather]).message
        if not message.tool_calls:
            return message.content
        messages.append(message)
        for call in message.tool_calls:
            name, arguments = call.function.name, call.function.arguments
            messages.append({"role": "tool", "tool_name": name, "content": weather(**arguments)})


def structured() -> Weather:
    answer = ollama.chat(MODEL, MESSAGES, format=Weather.model_json_schema())
    return Weather.model_validate_json(answer.message.content)


async def asynchronous() -> str:
    return (await ollama.AsyncClient().chat(MODEL, MESSAGES)).message.content
