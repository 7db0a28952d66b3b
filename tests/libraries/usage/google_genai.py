"""Google's SDK, which calls functions by itself."""

from __future__ import annotations

from google import genai
from google.genai import types

from tests.libraries.scenario import PROMPT, Weather, weather

REQUIREMENTS = "google-genai>=3"
ENVIRONMENT = "sdks"
ASKS = "Gemini"
MODEL = "gemini-2.5-pro"


def plain() -> str:
    client = genai.Client()
    return client.models.generate_content(model=MODEL, contents=PROMPT).text


def streamed() -> list[str]:
    client = genai.Client()
    return [
        chunk.text for chunk in client.models.generate_content_stream(model=MODEL, contents=PROMPT)
    ]


def tools() -> str:
    config = types.GenerateContentConfig(tools=[weather])
    client = genai.Client()
    return client.models.generate_content(model=MODEL, contents=PROMPT, config=config).text


def structured() -> Weather:
    config = types.GenerateContentConfig(
        response_mime_type="application/json", response_schema=Weather
    )
    client = genai.Client()
    return client.models.generate_content(model=MODEL, contents=PROMPT, config=config).parsed


async def asynchronous() -> str:
    async with genai.Client().aio as client:
        return (await client.models.generate_content(model=MODEL, contents=PROMPT)).text


def retried() -> str:
    options = types.HttpOptions(retry_options=types.HttpRetryOptions(attempts=2))
    client = genai.Client(http_options=options)
    return client.models.generate_content(model=MODEL, contents=PROMPT).text
