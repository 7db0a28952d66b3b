"""AWS's SDK, with Bedrock's Converse API."""

from __future__ import annotations

from typing import Any

import boto3

from tests.libraries.scenario import PROMPT, SCHEMA, weather

REQUIREMENTS = "boto3"
ENVIRONMENT = "sdks"
ASKS = "Bedrock (Converse)"
MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
REQUEST: dict[str, Any] = {
    "modelId": MODEL,
    "messages": [{"role": "user", "content": [{"text": PROMPT}]}],
}
TOOLS = {"tools": [{"toolSpec": {"name": "weather", "inputSchema": {"json": SCHEMA}}}]}
LACKS = {
    "structured": "The library does not validate answers.",
    "asynchronous": "The library has no asynchronous client.",
}


def plain() -> str:
    answer = boto3.client("bedrock-runtime").converse(**REQUEST)
    return answer["output"]["message"]["content"][0]["text"]


def streamed() -> list[str]:
    stream = boto3.client("bedrock-runtime").converse_stream(**REQUEST)["stream"]
    return [
        event["contentBlockDelta"]["delta"]["text"]
        for event in stream
        if "contentBlockDelta" in event
    ]


def tools() -> str:
    client = boto3.client("bedrock-runtime")
    messages = [*REQUEST["messages"]]
    while True:
        answer = client.converse(modelId=MODEL, messages=messages, toolConfig=TOOLS)
        message = answer["output"]["message"]
        if answer["stopReason"] != "tool_use":
            return message["content"][0]["text"]
        results = []
        for block in message["content"]:
            if "toolUse" in block:
                content = [{"text": weather(**block["toolUse"]["input"])}]
                result = {"toolUseId": block["toolUse"]["toolUseId"], "content": content}
                results.append({"toolResult": result})
        messages += [message, {"role": "user", "content": results}]


def retried() -> str:
    return plain()
