"""Hugging Face's InferenceClient, through its router."""

from __future__ import annotations

import json
from typing import Any

from huggingface_hub import AsyncInferenceClient, InferenceClient

from tests.libraries.scenario import PROMPT, SCHEMA, Weather, weather

REQUIREMENTS = "huggingface_hub>=2"
ENVIRONMENT = "sdks"
ASKS = "Hugging Face (Together)"
MODEL = "meta-llama/Llama-3.3-70B-Instruct"
MESSAGES: list[Any] = [{"role": "user", "content": PROMPT}]
TOOL = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}
VARIABLES = {"HF_TOKEN": "hf_test"}
LACKS = {"retried": "The library does not retry requests to models."}


def make_client() -> InferenceClient:
    return InferenceClient(provider="together")


def plain() -> str:
    answer = make_client().chat_completion(MESSAGES, model=MODEL)
    return answer.choices[0].message.content


def streamed() -> list[str]:
    client = make_client()
    stream = client.chat_completion(MESSAGES, model=MODEL, stream=True)
    return [chunk.choices[0].delta.content for chunk in stream]


def tools() -> str:
    client = make_client()
    messages = [*MESSAGES]
    while True:
        answer = client.chat_completion(messages, model=MODEL, tools=[TOOL])
        message = answer.choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message)
        for call in message.tool_calls:
            result = weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def structured() -> Weather:
    schema = {"name": "weather", "schema": Weather.model_json_schema()}
    answer = make_client().chat_completion(
        MESSAGES, model=MODEL, response_format={"type": "json_schema", "json_schema": schema}
    )
    return Weather.model_validate_json(answer.choices[0].message.content)


async def asynchronous() -> str:
    async with AsyncInferenceClient(provider="together") as client:
        answer = await client.chat_completion(MESSAGES, model=MODEL)
    return answer.choices[0].message.content
