"""Google's Agent Development Kit, with Gemini."""

from __future__ import annotations

import asyncio

from google.adk.agents import Agent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.google_llm import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import types

from tests.libraries.scenario import PROMPT, Weather, weather

REQUIREMENTS = "google-adk>=2"
ENVIRONMENT = "agents"
ASKS = "Gemini"
MODEL = "gemini-2.5-pro"
RETRIES = types.HttpRetryOptions(attempts=2, initial_delay=0.01)


async def ask(mode: StreamingMode = StreamingMode.NONE, **settings: object) -> list[types.Content]:
    model = Gemini(model=MODEL, retry_options=RETRIES)
    runner = InMemoryRunner(Agent(name="assistant", model=model, **settings), app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="user")
    message = types.UserContent(PROMPT)
    events = runner.run_async(
        user_id="user",
        session_id=session.id,
        new_message=message,
        run_config=RunConfig(streaming_mode=mode),
    )
    found = [event async for event in events]
    if mode is StreamingMode.SSE:
        return [event.content for event in found if event.partial]
    return [event.content for event in found if event.is_final_response()]


def plain() -> str:
    return asyncio.run(asynchronous())


def streamed() -> list[str]:
    return [content.parts[0].text for content in asyncio.run(ask(StreamingMode.SSE))]


def tools() -> str:
    return asyncio.run(ask(tools=[weather]))[-1].parts[0].text


def structured() -> Weather:
    [content] = asyncio.run(ask(output_schema=Weather))
    return Weather.model_validate_json(content.parts[0].text)


async def asynchronous() -> str:
    return (await ask())[-1].parts[0].text


def retried() -> str:
    return plain()
