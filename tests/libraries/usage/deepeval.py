"""DeepEval, with the model of its metrics."""

from __future__ import annotations

from deepeval.models import GPTModel

from tests.libraries.scenario import PROMPT, Weather

REQUIREMENTS = "deepeval>=4.3"
ENVIRONMENT = "apps"
ASKS = "OpenAI (Chat Completions)"
MODEL = "gpt-4o"
VARIABLES = {"OPENAI_API_KEY": "test"}
LACKS = {
    "streamed": "The library does not stream.",
    "tools": "The library does not call tools.",
}


def plain() -> str:
    return GPTModel(MODEL).generate(PROMPT)[0]


def structured() -> Weather:
    return GPTModel(MODEL).generate(PROMPT, schema=Weather)[0]


async def asynchronous() -> str:
    return (await GPTModel(MODEL).a_generate(PROMPT))[0]


def retried() -> str:
    return plain()
