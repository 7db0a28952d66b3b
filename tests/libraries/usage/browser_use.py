"""browser-use, whose models drive a browser that is not needed here."""

from __future__ import annotations

import asyncio

from browser_use.llm import ChatOpenAI
from browser_use.llm.messages import UserMessage

from tests.libraries.scenario import PROMPT, Weather

REQUIREMENTS = "browser-use>=0.13.14"
ENVIRONMENT = "apps"
ASKS = "OpenAI (Chat Completions)"
MODEL = "gpt-4o"
LACKS = {"streamed": "The models of the library do not stream."}
UNTRIED = {"tools": "The tools of the library need a browser, but our tests do not start one."}
MESSAGES = [UserMessage(content=PROMPT)]


def plain() -> str:
    return asyncio.run(asynchronous())


def structured() -> Weather:
    async def ask() -> Weather:
        return (await ChatOpenAI(model=MODEL).ainvoke(MESSAGES, output_format=Weather)).completion

    return asyncio.run(ask())


async def asynchronous() -> str:
    return (await ChatOpenAI(model=MODEL).ainvoke(MESSAGES)).completion


def retried() -> str:
    return plain()
