"""Guidance, with its model for OpenAI."""

from __future__ import annotations

from guidance import assistant, gen, guidance, json, models, user

from tests.libraries.scenario import PROMPT, Weather

REQUIREMENTS = "guidance>=0.3 openai"
ENVIRONMENT = "sdks"
ASKS = "OpenAI (Chat Completions)"
MODEL = "gpt-4o-mini"
LACKS = {
    "tools": "The library calls tools only with models whose token generation it controls.",
    "asynchronous": "The library runs programs only synchronously.",
}


def ask(grammar: object) -> models.OpenAI:
    lm = models.OpenAI(MODEL, echo=False)
    with user():
        lm += PROMPT
    with assistant():
        lm += grammar
    return lm


@guidance
def answer_prompt(lm: models.OpenAI) -> models.OpenAI:
    with user():
        lm += PROMPT
    with assistant():
        lm += gen("answer")
    return lm


def plain() -> str:
    return ask(gen("answer"))["answer"]


def streamed() -> list[str]:
    stream = models.OpenAI(MODEL, echo=False).stream() + answer_prompt()
    texts = [str(part).partition("assistant\n")[2] for part in stream]
    return [text[len(before) :] for before, text in zip(["", *texts], texts, strict=False)]


class StrictWeather(Weather, extra="forbid"):
    """Data without other fields, as OpenAI requires."""


def structured() -> Weather:
    answer = ask(json("answer", schema=StrictWeather))["answer"]
    return Weather.model_validate_json(answer)


def retried() -> str:
    return plain()
