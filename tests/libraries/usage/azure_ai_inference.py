"""Azure AI Inference."""

from __future__ import annotations

import json
from typing import Any

from azure.ai.inference import ChatCompletionsClient, aio
from azure.ai.inference.models import JsonSchemaFormat
from azure.core.credentials import AzureKeyCredential

from tests.libraries.scenario import PROMPT, SCHEMA, Weather, weather

REQUIREMENTS = "azure-ai-inference"
ENVIRONMENT = "sdks"
ASKS = "Azure AI (Chat Completions)"
MODEL = "gpt-4o"
REQUEST: dict[str, Any] = {"messages": [{"role": "user", "content": PROMPT}], "model": MODEL}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}
ENDPOINT = "https://example.services.ai.azure.com/models"
CREDENTIAL = AzureKeyCredential("test")


def make_client() -> ChatCompletionsClient:
    return ChatCompletionsClient(ENDPOINT, CREDENTIAL)


def plain() -> str:
    return make_client().complete(**REQUEST).choices[0].message.content


def streamed() -> list[str]:
    chunks = make_client().complete(**REQUEST, stream=True)
    return [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]


def tools() -> str:
    client = make_client()
    messages = [*REQUEST["messages"]]
    while True:
        answer = client.complete(messages=messages, model=MODEL, tools=[TOOL])
        message = answer.choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message.as_dict())
        for call in message.tool_calls:
            result = weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def structured() -> Weather:
    schema = JsonSchemaFormat(name="weather", schema=Weather.model_json_schema())
    answer = make_client().complete(**REQUEST, response_format=schema)
    return Weather.model_validate_json(answer.choices[0].message.content)


async def asynchronous() -> str:
    async with aio.ChatCompletionsClient(ENDPOINT, CREDENTIAL) as client:
        return (await client.complete(**REQUEST)).choices[0].message.content


def retried() -> str:
    return plain()
