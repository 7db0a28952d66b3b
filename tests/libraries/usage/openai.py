"""OpenAI's SDK, with Chat Completions."""

from __future__ import annotations

from openai import AsyncOpenAI, OpenAI

from tests.libraries.chat_completions import MESSAGES, ChatCompletionsUsage
from tests.libraries.scenario import Weather

REQUIREMENTS = "openai>=3.50"
ENVIRONMENT = "sdks"
ASKS = "OpenAI (Chat Completions)"
MODEL = "gpt-5"
usage = ChatCompletionsUsage(OpenAI, AsyncOpenAI, MODEL)
plain, streamed, tools, _, asynchronous, retried = usage.functions


def structured() -> Weather:
    completions = OpenAI().chat.completions
    answer = completions.parse(model=MODEL, messages=MESSAGES, response_format=Weather)
    return answer.choices[0].message.parsed
