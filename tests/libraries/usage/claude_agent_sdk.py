"""Claude's Agent SDK, which runs Claude Code in its own process."""

from __future__ import annotations

import asyncio
from typing import Any

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ResultMessage,
    StreamEvent,
    create_sdk_mcp_server,
    query,
    tool,
)

from llm_mock import call
from tests.libraries.scenario import ANSWER, CITIES, PROMPT, SCHEMA, Weather
from tests.libraries.scenario import weather as get_weather

REQUIREMENTS = "claude-agent-sdk"
ENVIRONMENT = "sdks"
ASKS = "Anthropic, through the server"
MODEL = "claude-opus-4-6"
SERVED = ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
VARIABLES = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ENABLE_TOOL_SEARCH": "false"}
SETTING = (
    "The library starts a process that calls the [server](server.md). Pass `ANTHROPIC_BASE_URL` "
    "and `ANTHROPIC_API_KEY` from `llm_mock_server.environment()` to this process."
)
NAME = "mcp__cities__weather"
REPLIES = {"tools": [*(call(NAME, city=city) for city in CITIES), ANSWER]}


@tool("weather", "Return the weather of a city.", SCHEMA)
async def weather(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": get_weather(**arguments)}]}


async def ask(**settings: Any) -> list[Any]:
    options = ClaudeAgentOptions(model=MODEL, setting_sources=[], **settings)
    return [message async for message in query(prompt=PROMPT, options=options)]


def find_result(messages: list[Any]) -> ResultMessage:
    [result] = [message for message in messages if isinstance(message, ResultMessage)]
    return result


def plain() -> str:
    return asyncio.run(asynchronous())


def streamed() -> list[str]:
    messages = asyncio.run(ask(include_partial_messages=True))
    events = [message.event for message in messages if isinstance(message, StreamEvent)]
    return [
        event["delta"]["text"]
        for event in events
        if event["type"] == "content_block_delta" and "text" in event["delta"]
    ]


def tools() -> str:
    cities = create_sdk_mcp_server("cities", tools=[weather])
    messages = asyncio.run(ask(mcp_servers={"cities": cities}, allowed_tools=[NAME]))
    return find_result(messages).result


def structured() -> Weather:
    schema = {"type": "json_schema", "schema": Weather.model_json_schema()}
    result = find_result(asyncio.run(ask(output_format=schema)))
    return Weather.model_validate(result.structured_output)


async def asynchronous() -> str:
    return find_result(await ask()).result


def retried() -> str:
    return plain()
