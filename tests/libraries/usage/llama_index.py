"""LlamaIndex, with its package for OpenAI."""

from __future__ import annotations

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai import OpenAI

from tests.libraries.scenario import PROMPT, Weather, weather

REQUIREMENTS = "llama-index-llms-openai>=0.8"
ENVIRONMENT = "litellm"
ASKS = "OpenAI (Chat Completions)"
MODEL = "gpt-4o"


def plain() -> str:
    return OpenAI(MODEL).complete(PROMPT).text


def streamed() -> list[str]:
    return [part.delta for part in OpenAI(MODEL).stream_complete(PROMPT)]


def tools() -> str:
    agent = FunctionAgent(tools=[weather], llm=OpenAI(MODEL), streaming=False)

    async def ask() -> str:
        return str(await agent.run(PROMPT))

    return asyncio.run(ask())


def structured() -> Weather:
    return OpenAI(MODEL).as_structured_llm(Weather).complete(PROMPT).raw


async def asynchronous() -> str:
    return (await OpenAI(MODEL).acomplete(PROMPT)).text


def retried() -> str:
    return plain()
