"""An application with every kind of call. `BROKEN` names one thing that it does wrong."""

from __future__ import annotations

import asyncio
import json

import llm
from llm import get_async_model, get_model
from pydantic import BaseModel

BROKEN = ""


class Review(BaseModel):
    stars: int
    title: str


class Topic(BaseModel):
    name: str


def broken(fault: str, wrong: object, right: object) -> object:
    return wrong if fault == BROKEN else right


def name_of(name: str = "gpt-4o-mini") -> str:
    return broken("model", "gpt-4.1", name)


def model_of(name: str = "gpt-4o-mini") -> object:
    if BROKEN == "model twice":
        get_model(name)
    return get_model(name_of(name))


def without(name: str, options: dict[str, object]) -> dict[str, object]:
    return {} if f"no {name}" == BROKEN else options


def ask(model: object, prompt: str, **options: object) -> object:
    prompt = broken("prompt", "Something else", prompt)
    if BROKEN == "twice":
        model.prompt(prompt, **options)
    if BROKEN == "no call":
        raise LookupError("the application asks nobody")
    return model.prompt(prompt, **options)


def said(text: str) -> str:
    return broken("answer", "…", text)


def summarize(text: str) -> str:
    options = without("system", {"system": broken("system", "Be long", "Be brief")})
    return said(ask(model_of(), f"Summarize: {text}", **options).text())


def greet(name: str) -> str:
    if BROKEN == "model twice":
        llm.get_model("gpt-4o-mini")
    return said(ask(llm.get_model(name_of()), f"Greet {name}").text())


def warm(text: str) -> str:
    options = without("option", {"temperature": broken("option", 1, 0.5)})
    return said(ask(model_of(), f"Warmly: {text}", **options).text())


def unstreamed(text: str) -> str:
    options = without("stream", {"stream": broken("stream", True, False)})
    return said(ask(model_of(), f"At once: {text}", **options).text())


def describe(*images: str) -> str:
    attachments = []
    for image in images:
        place = {"url": image} if image.startswith("https:") else {"path": image}
        place = broken("place", {"url": "https://example.com/other.png"}, place)
        attachments.append(llm.Attachment(type=broken("type", "image/gif", "image/png"), **place))
    options = without("attachments", {"attachments": broken("one", attachments[:1], attachments)})
    return said(ask(model_of(), "Describe them", **options).text())


def name_prompt(text: str) -> str:
    prompt = broken("prompt", "Something else", f"By name: {text}")
    return said(model_of().prompt(prompt=prompt, system="Be brief").text())


def review(text: str) -> Review:
    options = without("schema", {"schema": broken("schema", Topic, Review)})
    response = ask(model_of(), f"Review: {text}", **options)
    return Review.model_validate_json(said(response.text()))


def stars(text: str) -> int:
    return broken("answer", -1, ask(model_of(), f"Stars: {text}", schema=Review).json()["stars"])


def stars_and_summary(text: str) -> list[object]:
    return [stars(text), summarize(text)]


def patient(text: str) -> str:
    for attempt in range(broken("retry", 1, 3)):
        try:
            return said(ask(model_of(), f"Patiently: {text}").text())
        except ConnectionError:
            if attempt == 2:
                return "no connection"
    return "gave up"


def streamed(text: str) -> list[str]:
    return [said(chunk) for chunk in ask(model_of(), f"Stream: {text}")]


def chat(*texts: str) -> list[str]:
    conversation = model_of().conversation()
    return [
        said(conversation.prompt(broken("prompt", "Something else", text)).text()) for text in texts
    ]


def lookup(text: str) -> str:
    if BROKEN == "no call":
        raise LookupError("the application asks nobody")
    return said(model_of().chain(broken("prompt", "Something else", text), tools=[len]).text())


def draft_and_check(text: str) -> str:
    draft = ask(model_of("gpt-4o"), f"Draft: {text}").text()
    return said(ask(model_of("gpt-4o-mini"), f"Check: {draft}").text())


def careful(text: str) -> str:
    try:
        model = model_of("gpt-5-preview")
    except llm.UnknownModelError:
        return said("no such model")
    return model.prompt(text).text()


def if_any(text: str) -> str:
    return said(ask(model_of(), f"If any: {text}").text()) if text or BROKEN == "call" else ""


def nothing_else(text: str) -> str:
    return said(ask(model_of(), text, system=None, schema=None).text())


def tokens(text: str) -> int:
    usage = ask(model_of(), text).usage()
    return broken("answer", 0, usage.input + usage.output)


def counted(text: str) -> int:
    """Read the usage of any kind of response."""
    usage = ask(model_of(), text).usage
    if callable(usage):
        usage = usage()
    if isinstance(usage, dict):
        return usage["prompt_tokens"] + usage["completion_tokens"]
    return usage.input + usage.output


def cached_tokens(text: str) -> int:
    details = ask(model_of(), text).usage().details or {}
    return broken("answer", -1, details.get("cached_tokens", 0))


def twins(text: str) -> list[str]:
    """Ask two models, sync and async."""
    model = model_of("gpt-4o")
    return [said(ask(model, text).text()), asyncio.run(translate(text))]


async def translate(text: str) -> str:
    prompt = broken("prompt", "Something else", f"Translate: {text}")
    if BROKEN == "no call":
        raise LookupError("the application asks nobody")
    if BROKEN == "model twice":
        get_async_model("gpt-4o")
    model = get_async_model(name_of("gpt-4o"))
    if BROKEN == "twice":
        await model.prompt(prompt).text()
    return said(await model.prompt(prompt).text())


async def translate_later(text: str) -> str:
    response = llm.get_async_model("gpt-4o").prompt(f"Translate: {text}")
    return said(await response.text())


async def awaited(text: str) -> str:
    model = get_async_model(name_of("gpt-4o"))
    if BROKEN == "no call":
        raise LookupError("the application asks nobody")
    if BROKEN == "twice":
        await model.prompt(text)
    response = await model.prompt(broken("prompt", "Something else", text))
    return said(await response.text())


async def awaited_if_any(text: str) -> str:
    return await awaited(text) if text or BROKEN == "call" else ""


async def astreamed(text: str) -> list[str]:
    return [said(chunk) async for chunk in get_async_model("gpt-4o").prompt(f"Stream: {text}")]


def as_json(value: object) -> str:
    return json.dumps(value)
