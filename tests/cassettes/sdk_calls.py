"""Calls of each SDK, sync and async, plain and streamed, and all that they return."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import anthropic
import openai
from google import genai
from google.genai import types
from mistralai.client import Mistral

from tests.provider_server import KEY

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION = {"name": "weather", "description": "Says it.", "parameters": SCHEMA}


def said(value: Any) -> Any:
    """Return what an SDK got of a response, as JSON values with the fields that were sent."""
    if isinstance(value, (list, tuple)):
        return [said(item) for item in value]
    if not hasattr(value, "model_dump"):
        return value
    if isinstance(value, types.GenerateContentResponse):
        # It has the headers of the response, with its date, and all fields that there are.
        return value.model_dump(mode="json", exclude_none=True, exclude={"sdk_http_response"})
    dumped = value.model_dump(mode="json", exclude_unset=True)
    request_id = getattr(value, "_request_id", None)
    return {**dumped, "_request_id": request_id} if request_id else dumped


@contextmanager
def using(make: Callable[[str], Any], at: Any) -> Iterator[Any]:
    """Yield a new client of the server at a URL, or the client that is given in its place."""
    if not isinstance(at, str):
        yield at
        return
    client = make(at)
    with closing(client) if hasattr(client, "close") else client:
        yield client


def user(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def new_openai(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)


def _chat_request(text: str, stream: bool) -> dict[str, Any]:
    options = {"stream_options": {"include_usage": True}} if stream else {}
    tools = [{"type": "function", "function": FUNCTION}]
    request = {"model": "gpt-4o", "messages": user(text), "tools": tools, "temperature": 0.5}
    return {**request, **options, "stream": stream}


def chat(at: Any, text: str, stream: bool) -> Any:
    with using(new_openai, at) as client:
        answer = client.chat.completions.create(**_chat_request(text, stream))
        return list(answer) if stream else answer


def async_chat(url: str, text: str, stream: bool) -> Any:
    async def ask() -> Any:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
            answer = await client.chat.completions.create(**_chat_request(text, stream))
            return [chunk async for chunk in answer] if stream else answer

    return asyncio.run(ask())


def responses(at: Any, text: str, stream: bool) -> Any:
    with using(new_openai, at) as client:
        answer = client.responses.create(
            model="gpt-5", input=text, instructions="Be brief.", stream=stream
        )
        return list(answer) if stream else answer


def async_responses(url: str, text: str, stream: bool) -> Any:
    async def ask() -> Any:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
            answer: Any = await client.responses.create(
                model="gpt-5", input=text, instructions="Be brief.", stream=stream
            )
            return [event async for event in answer] if stream else answer

    return asyncio.run(ask())


def _messages_request(text: str) -> dict[str, Any]:
    return {"model": "claude-opus-4-9", "max_tokens": 99, "messages": user(text)}


def new_anthropic(url: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)


def messages(at: Any, text: str, stream: bool) -> Any:
    with using(new_anthropic, at) as client:
        answer = client.messages.create(**_messages_request(text), stream=stream)
        return list(answer) if stream else answer


def async_messages(url: str, text: str, stream: bool) -> Any:
    async def ask() -> Any:
        async with anthropic.AsyncAnthropic(base_url=url, api_key=KEY, max_retries=0) as client:
            answer = await client.messages.create(**_messages_request(text), stream=stream)
            return [event async for event in answer] if stream else answer

    return asyncio.run(ask())


def new_gemini(url: str) -> genai.Client:
    return genai.Client(api_key=KEY, http_options={"base_url": url})


def gemini(at: Any, text: str, stream: bool) -> Any:
    asked: Any = {"model": "gemini-3-pro", "contents": text, "config": {"temperature": 0.5}}
    with using(new_gemini, at) as client:
        if stream:
            return list(client.models.generate_content_stream(**asked))
        return client.models.generate_content(**asked)


def async_gemini(url: str, text: str, stream: bool) -> Any:
    asked: Any = {"model": "gemini-3-pro", "contents": text, "config": {"temperature": 0.5}}

    async def ask() -> Any:
        async with new_gemini(url).aio as client:
            if stream:
                chunks = await client.models.generate_content_stream(**asked)
                return [chunk async for chunk in chunks]
            return await client.models.generate_content(**asked)

    return asyncio.run(ask())


def new_mistral(url: str) -> Mistral:
    return Mistral(api_key=KEY, server_url=url)


def mistral(at: Any, text: str, stream: bool) -> Any:
    with using(new_mistral, at) as client:
        if stream:
            events = client.chat.stream(model="mistral-large", messages=user(text))
            return [event.data for event in events]
        return client.chat.complete(model="mistral-large", messages=user(text))


def async_mistral(url: str, text: str, stream: bool) -> Any:
    async def ask() -> Any:
        async with Mistral(api_key=KEY, server_url=url) as client:
            asked: Any = {"model": "mistral-large", "messages": user(text)}
            if stream:
                events = await client.chat.stream_async(**asked)
                return [event.data async for event in events]
            return await client.chat.complete_async(**asked)

    return asyncio.run(ask())


CLIENTS: dict[str, Callable[[str], Any]] = {
    "chat": new_openai,
    "responses": new_openai,
    "messages": new_anthropic,
    "gemini": new_gemini,
    "mistral": new_mistral,
}
SYNC = [chat, responses, messages, gemini, mistral]
ASYNC = [async_chat, async_responses, async_messages, async_gemini, async_mistral]
