"""Anthropic's SDK."""

from __future__ import annotations

from typing import Any

from anthropic import Anthropic, AsyncAnthropic

from tests.libraries.scenario import PROMPT, SCHEMA, Weather, weather

REQUIREMENTS = "anthropic>=2"
ENVIRONMENT = "sdks"
ASKS = "Anthropic"
MODEL = "claude-opus-4-6"
REQUEST: dict[str, Any] = {
    "model": MODEL,
    "max_tokens": 500,
    "messages": [{"role": "user", "content": PROMPT}],
}
TOOL = {"name": "weather", "input_schema": SCHEMA}


def plain() -> str:
    return Anthropic().messages.create(**REQUEST).content[0].text


def streamed() -> list[str]:
    with Anthropic().messages.stream(**REQUEST) as stream:
        return list(stream.text_stream)


def tools() -> str:
    client = Anthropic()
    messages = [*REQUEST["messages"]]
    while True:
        answer = client.messages.create(**{**REQUEST, "messages": messages}, tools=[TOOL])
        if answer.stop_reason != "tool_use":
            return answer.content[0].text
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": weather(**block.input)}
            for block in answer.content
            if block.type == "tool_use"
        ]
        messages.append({"role": "assistant", "content": answer.content})
        messages.append({"role": "user", "content": results})


def structured() -> Weather:
    return Anthropic().messages.parse(**REQUEST, output_format=Weather).parsed_output


async def asynchronous() -> str:
    async with AsyncAnthropic() as client:
        return (await client.messages.create(**REQUEST)).content[0].text


def retried() -> str:
    return plain()
