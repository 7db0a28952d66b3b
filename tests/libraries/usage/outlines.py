"""Outlines, with its model for OpenAI."""

from __future__ import annotations

from typing import Any

import openai
import outlines

from tests.libraries.scenario import PROMPT, Weather

REQUIREMENTS = "outlines>=1.3 openai"
ENVIRONMENT = "sdks"
ASKS = "OpenAI (Chat Completions)"
MODEL = "gpt-4o"
LACKS = {"tools": "The library does not call tools."}


def make_model() -> Any:
    return outlines.from_openai(openai.OpenAI(), MODEL)


def plain() -> str:
    return make_model()(PROMPT)


def streamed() -> list[str]:
    return list(make_model().stream(PROMPT))


def structured() -> Weather:
    return Weather.model_validate_json(make_model()(PROMPT, Weather))


async def asynchronous() -> str:
    return await outlines.from_openai(openai.AsyncOpenAI(), MODEL)(PROMPT)


def retried() -> str:
    return plain()
