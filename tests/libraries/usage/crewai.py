"""CrewAI, with OpenAI's models."""

from __future__ import annotations

from crewai import LLM, Agent
from crewai.tools import tool

from tests.libraries.scenario import PROMPT, Weather, weather

REQUIREMENTS = "crewai>=1.15"
ENVIRONMENT = "crews"
ASKS = "OpenAI (Chat Completions)"
MODEL = "gpt-4o"
VARIABLES = {"OPENAI_API_KEY": "test"}


def make_agent(**settings: object) -> Agent:
    return Agent(
        role="Assistant", goal="Answer", backstory="None", llm=LLM(f"openai/{MODEL}"), **settings
    )


def plain() -> str:
    return LLM(f"openai/{MODEL}").call(PROMPT)


def streamed() -> list[str]:
    from crewai.events import LLMStreamChunkEvent, crewai_event_bus

    chunks = []
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(LLMStreamChunkEvent)
        def collect(source: object, event: LLMStreamChunkEvent) -> None:
            chunks.append(event.chunk)

        LLM(f"openai/{MODEL}", stream=True).call(PROMPT)
        crewai_event_bus.flush()
    return chunks


def tools() -> str:
    return make_agent(tools=[tool(weather)]).kickoff(PROMPT).raw


def structured() -> Weather:
    return LLM(f"openai/{MODEL}").call(PROMPT, response_model=Weather)


async def asynchronous() -> str:
    return await LLM(f"openai/{MODEL}").acall(PROMPT)


def retried() -> str:
    return plain()
