"""An application that calls Gemini and Mistral. `BROKEN` of `reviews` breaks it."""

from __future__ import annotations

import asyncio

import reviews
from google import genai
from mistralai.client import Mistral
from reviews import broken, said

FLASH = "gemini-2.5-flash"
SMALL = "mistral-small-latest"


def new_options(text: str) -> dict[str, object]:
    if reviews.BROKEN == "no call":
        raise LookupError("the application asks nobody")
    return {
        "model": broken("model", "gemini-2.5-pro", FLASH),
        "contents": broken("prompt", "Something else", text),
    }


def generate(text: str, client: object = None, **options: object) -> object:
    client = client or genai.Client(api_key="test")
    options |= new_options(text)
    if reviews.BROKEN == "twice":
        client.models.generate_content(**options)
    return client.models.generate_content(**options)


def translate(text: str, client: object = None, **options: object) -> str:
    return said(generate(text, client, **options).text)


def translate_part(text: str) -> str:
    return said(generate(text).candidates[0].content.parts[0].text)


def count_tokens(text: str) -> int:
    usage = generate(text).usage_metadata
    return broken("answer", 0, usage.prompt_token_count + usage.candidates_token_count)


def call_tool(text: str) -> tuple[str, dict[str, object]]:
    tool = {"function_declarations": [{"name": "weather"}]}
    [call] = generate(text, config={"tools": [tool]}).function_calls
    return said(call.name), call.args


def is_cut_off(text: str) -> bool:
    reason = generate(text).candidates[0].finish_reason
    return broken("answer", "…", "MAX_TOKENS") in str(reason)


async def translate_async(text: str) -> str:
    client = genai.Client(api_key="test")
    response = await client.aio.models.generate_content(**new_options(text))
    return said(response.text)


def translate_later(text: str) -> str:
    return asyncio.run(translate_async(text))


def stream(text: str) -> list[str]:
    client = genai.Client(api_key="test")
    chunks = client.models.generate_content_stream(**new_options(text))
    # The last chunk of a real stream has no text.
    return [said(chunk.text) for chunk in chunks if chunk.text]


def complete(text: str, client: object = None) -> str:
    client = client or Mistral(api_key="test")
    messages = [{"role": "user", "content": broken("prompt", "Something else", text)}]
    options = {"model": broken("model", "codestral-latest", SMALL), "messages": messages}
    if reviews.BROKEN == "no call":
        raise LookupError("the application asks nobody")
    if reviews.BROKEN == "twice":
        client.chat.complete(**options)
    return said(client.chat.complete(**options).choices[0].message.content)


def complete_later(text: str, client: object) -> str:
    messages = [{"role": "user", "content": broken("prompt", "Something else", text)}]
    response = asyncio.run(client.chat.complete_async(model=SMALL, messages=messages))
    return said(response.choices[0].message.content)
