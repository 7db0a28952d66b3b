"""pydantic-ai."""

from __future__ import annotations

from pydantic_ai import Agent

from tests.libraries.scenario import PROMPT, Weather, weather

REQUIREMENTS = "pydantic-ai-slim[openai,anthropic,google,groq,mistral,bedrock]>=2.60"
ENVIRONMENT = "agents"
ASKS = "Anthropic"
MODEL = "claude-opus-4-6"
VARIABLES = {"ANTHROPIC_API_KEY": "test"}
NAME = f"anthropic:{MODEL}"


def plain() -> str:
    return Agent(NAME).run_sync(PROMPT).output


def streamed() -> list[str]:
    run = Agent(NAME).run_stream_sync(PROMPT)
    return list(run.stream_text(delta=True, debounce_by=None))


def tools() -> str:
    return Agent(NAME, tools=[weather]).run_sync(PROMPT).output


def structured() -> Weather:
    return Agent(NAME, output_type=Weather).run_sync(PROMPT).output


async def asynchronous() -> str:
    return (await Agent(NAME).run(PROMPT)).output


def retried() -> str:
    return plain()
