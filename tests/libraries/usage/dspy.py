"""DSPy, with LiteLLM as its engine."""

from __future__ import annotations

import re
from typing import Any

import dspy

from llm_mock import Reply
from tests.libraries.scenario import ANSWER, CITIES, PROMPT, Weather, weather

REQUIREMENTS = "dspy>=3.4"
ENVIRONMENT = "litellm"
ASKS = "OpenAI (Chat Completions)"
MODEL = "gpt-4o"
VARIABLES = {"OPENAI_API_KEY": "test"}
SETTING = 'Use `dspy.LM(…, engine="litellm")`, because the default engine opens its own sockets.'


class Ask(dspy.Signature):
    """Answer the question."""

    question: str = dspy.InputField()
    answer: str = dspy.OutputField()


class Measure(dspy.Signature):
    """Answer the question."""

    question: str = dspy.InputField()
    weather: Weather = dspy.OutputField()


def format_fields(**fields: str) -> str:
    """Return an answer in the format that DSPy requests."""
    texts = [f"[[ ## {name} ## ]]\n{value}\n" for name, value in fields.items()]
    return "\n".join([*texts, "[[ ## completed ## ]]"])


def format_step(tool: str, arguments: str) -> str:
    return format_fields(next_thought="I look.", next_tool_name=tool, next_tool_args=arguments)


REPLIES = {
    "streamed": [Reply(chunks=re.findall(r"\S*\s*", format_fields(answer=ANSWER)))],
    "tools": [
        *(format_step("weather", f'{{"city": "{city}"}}') for city in CITIES),
        format_step("finish", "{}"),
        format_fields(reasoning="I looked.", answer=ANSWER),
    ],
    "structured": [format_fields(weather='{"city": "Bern", "degrees": 21}')],
}


def make_lm() -> Any:
    return dspy.LM(f"openai/{MODEL}", engine="litellm", cache=False)


def plain() -> str:
    return make_lm()(PROMPT)[0]


def streamed() -> list[str]:
    listeners = [dspy.streaming.StreamListener("answer")]
    program = dspy.streamify(dspy.Predict(Ask), stream_listeners=listeners, async_streaming=False)
    with dspy.context(lm=make_lm()):
        parts = list(program(question=PROMPT))
    return [part.chunk for part in parts if isinstance(part, dspy.streaming.StreamResponse)]


def tools() -> str:
    with dspy.context(lm=make_lm()):
        return dspy.ReAct(Ask, tools=[weather])(question=PROMPT).answer


def structured() -> Weather:
    with dspy.context(lm=make_lm()):
        return dspy.Predict(Measure)(question=PROMPT).weather


async def asynchronous() -> str:
    return (await make_lm().acall(PROMPT))[0]


def retried() -> str:
    return plain()
