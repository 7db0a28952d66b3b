"""The SDKs, each asked in the same few ways, so that one test holds them all."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import anthropic
import openai
import pytest
from google import genai
from google.genai import types
from mistralai.client import Mistral
from mistralai.client import errors as mistral_errors
from pydantic import BaseModel

TOOL_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
DESCRIPTION = "Says the weather."


class Weather(BaseModel):
    """A structured answer."""

    city: str
    degrees: int


class Said(NamedTuple):
    """The answer as an SDK returns it."""

    text: str
    tool_calls: list[tuple[str, Any]]
    finish_reason: str | None
    tokens: tuple[int, int] | None
    reasoning: str = ""


class SDK:
    """One way to ask a model."""

    model: str
    api: str
    status_error: type[Exception]
    timeout_error: type[Exception]
    ends: ClassVar[dict[str, str]]
    """The words for `stop`, `tool_calls` and `length`."""
    option: ClassVar[dict[str, Any]] = {"temperature": 0.5}

    def ask(self, prompt: str, **more: Any) -> Said:
        """Ask for an answer in one piece: `system`, `temperature`, `tools=True`."""
        raise NotImplementedError

    def stream(self, prompt: str, **more: Any) -> list[str]:
        """Ask for a streamed answer; its texts as they come."""
        raise NotImplementedError

    def structured(self, prompt: str) -> Weather:
        """Ask for a structured answer, in the best way that the SDK has."""
        raise NotImplementedError

    def after_tool(self, prompt: str, result: str) -> Said:
        """Ask again with a tool's result, after the call that the model made."""
        raise NotImplementedError


def in_loop(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a coroutine function as one that runs in a loop of its own."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return asyncio.run(function(*args, **kwargs))

    return run


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


class OpenAIChat(SDK):
    """`openai`, Chat Completions."""

    model, api = "gpt-4o", "chat.completions"
    status_error, timeout_error = openai.APIStatusError, openai.APITimeoutError
    ends: ClassVar = {"stop": "stop", "tool_calls": "tool_calls", "length": "length"}
    tools: ClassVar[Any] = [
        {"type": "function", "function": {"name": "weather", "parameters": TOOL_SCHEMA}}
    ]

    def __init__(self, **options: Any) -> None:
        self.client = openai.OpenAI(max_retries=0, **options)

    def arguments(
        self, prompt: str, system: str = "", tools: bool = False, **more: Any
    ) -> dict[str, Any]:
        messages = [{"role": "system", "content": system}] if system else []
        offered = {"tools": self.tools} if tools else {}
        return {
            "model": self.model,
            "messages": [*messages, {"role": "user", "content": prompt}],
            **offered,
            **more,
        }

    def ask(self, prompt: str, **more: Any) -> Said:
        return self.said(self.client.chat.completions.create(**self.arguments(prompt, **more)))

    def said(self, completion: Any) -> Said:
        choice = completion.choices[0]
        calls = [
            (call.function.name, call.function.arguments)
            for call in choice.message.tool_calls or ()
        ]
        tokens = completion.usage.prompt_tokens, completion.usage.completion_tokens
        reasoning = getattr(choice.message, "reasoning_content", None) or ""
        return Said(choice.message.content or "", calls, choice.finish_reason, tokens, reasoning)

    def stream(self, prompt: str, **more: Any) -> list[str]:
        chunks = self.client.chat.completions.create(**self.arguments(prompt, **more), stream=True)
        return [
            chunk.choices[0].delta.content
            for chunk in chunks
            if chunk.choices and chunk.choices[0].delta.content
        ]

    def structured(self, prompt: str) -> Weather:
        completion = self.client.chat.completions.parse(
            **self.arguments(prompt), response_format=Weather
        )
        return completion.choices[0].message.parsed

    def after_tool(self, prompt: str, result: str) -> Said:
        first = (
            self.client.chat.completions.create(**self.arguments(prompt, tools=True))
            .choices[0]
            .message
        )
        answer = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": result}
        messages = [
            {"role": "user", "content": prompt},
            first.model_dump(exclude_none=True),
            answer,
        ]
        return self.said(
            self.client.chat.completions.create(
                model=self.model, messages=messages, tools=self.tools
            )
        )


class AsyncOpenAIChat(OpenAIChat):
    """The asynchronous client."""

    def new_client(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(max_retries=0)

    @in_loop
    async def ask(self, prompt: str, **more: Any) -> Said:
        async with self.new_client() as client:
            return self.said(await client.chat.completions.create(**self.arguments(prompt, **more)))

    @in_loop
    async def stream(self, prompt: str, **more: Any) -> list[str]:
        async with self.new_client() as client:
            chunks = await client.chat.completions.create(
                **self.arguments(prompt, **more), stream=True
            )
            return [
                c.choices[0].delta.content
                async for c in chunks
                if c.choices and c.choices[0].delta.content
            ]


class OpenAIResponses(SDK):
    """`openai`, Responses."""

    model, api = "gpt-4o", "responses"
    status_error, timeout_error = openai.APIStatusError, openai.APITimeoutError
    ends: ClassVar = {"stop": "completed", "tool_calls": "completed", "length": "incomplete"}
    tools: ClassVar[Any] = [{"type": "function", "name": "weather", "parameters": TOOL_SCHEMA}]

    def __init__(self, **options: Any) -> None:
        self.client = openai.OpenAI(max_retries=0, **options)

    def arguments(
        self, prompt: Any, system: str = "", tools: bool = False, **more: Any
    ) -> dict[str, Any]:
        given = _given(instructions=system or None, tools=self.tools if tools else None)
        return {"model": self.model, "input": prompt, **given, **more}

    def ask(self, prompt: str, **more: Any) -> Said:
        return self.said(self.client.responses.create(**self.arguments(prompt, **more)))

    def said(self, response: Any) -> Said:
        calls = [
            (item.name, item.arguments) for item in response.output if item.type == "function_call"
        ]
        thought = [
            part.text
            for item in response.output
            if item.type == "reasoning"
            for part in item.summary
        ]
        tokens = response.usage.input_tokens, response.usage.output_tokens
        return Said(response.output_text, calls, response.status, tokens, "".join(thought))

    def stream(self, prompt: str, **more: Any) -> list[str]:
        events = self.client.responses.create(**self.arguments(prompt, **more), stream=True)
        return [event.delta for event in events if event.type == "response.output_text.delta"]

    def structured(self, prompt: str) -> Weather:
        return self.client.responses.parse(
            **self.arguments(prompt), text_format=Weather
        ).output_parsed

    def after_tool(self, prompt: str, result: str) -> Said:
        first = self.client.responses.create(**self.arguments(prompt, tools=True))
        call = next(item for item in first.output if item.type == "function_call")
        answer = {"type": "function_call_output", "call_id": call.call_id, "output": result}
        return self.said(
            self.client.responses.create(
                **self.arguments([answer], tools=True), previous_response_id=first.id
            )
        )


class Anthropic(SDK):
    """`anthropic`, Messages."""

    model, api = "claude-opus-4-9", "messages"
    status_error, timeout_error = anthropic.APIStatusError, anthropic.APITimeoutError
    option: ClassVar = {"service_tier": "auto"}
    ends: ClassVar = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
    tools: ClassVar[Any] = [
        {"name": "weather", "description": DESCRIPTION, "input_schema": TOOL_SCHEMA}
    ]

    def __init__(self, **options: Any) -> None:
        self.client = anthropic.Anthropic(max_retries=0, **options)

    def arguments(self, prompt: str, tools: bool = False, **more: Any) -> dict[str, Any]:
        messages = [{"role": "user", "content": prompt}]
        offered = {"tools": self.tools} if tools else {}
        return {"model": self.model, "max_tokens": 100, "messages": messages, **offered, **more}

    def ask(self, prompt: str, **more: Any) -> Said:
        return self.said(self.client.messages.create(**self.arguments(prompt, **more)))

    def said(self, message: Any) -> Said:
        text = "".join(block.text for block in message.content if block.type == "text")
        calls = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
        thought = "".join(block.thinking for block in message.content if block.type == "thinking")
        tokens = message.usage.input_tokens, message.usage.output_tokens
        return Said(text, calls, message.stop_reason, tokens, thought)

    def stream(self, prompt: str, **more: Any) -> list[str]:
        with self.client.messages.stream(**self.arguments(prompt, **more)) as stream:
            return list(stream.text_stream)

    def structured(self, prompt: str) -> Weather:
        return self.client.messages.parse(
            **self.arguments(prompt), output_format=Weather
        ).parsed_output

    def after_tool(self, prompt: str, result: str) -> Said:
        first = self.client.messages.create(**self.arguments(prompt, tools=True))
        call = next(block for block in first.content if block.type == "tool_use")
        answer = {"type": "tool_result", "tool_use_id": call.id, "content": result}
        said = [
            {
                "role": "assistant",
                "content": [block.model_dump(exclude_none=True) for block in first.content],
            }
        ]
        messages = [
            {"role": "user", "content": prompt},
            *said,
            {"role": "user", "content": [answer]},
        ]
        return self.said(
            self.client.messages.create(
                model=self.model, max_tokens=100, messages=messages, tools=self.tools
            )
        )


class AsyncAnthropic(Anthropic):
    """The asynchronous client."""

    @in_loop
    async def ask(self, prompt: str, **more: Any) -> Said:
        async with anthropic.AsyncAnthropic(max_retries=0) as client:
            return self.said(await client.messages.create(**self.arguments(prompt, **more)))

    @in_loop
    async def stream(self, prompt: str, **more: Any) -> list[str]:
        async with (
            anthropic.AsyncAnthropic(max_retries=0) as client,
            client.messages.stream(**self.arguments(prompt, **more)) as stream,
        ):
            return [text async for text in stream.text_stream]


class Gemini(SDK):
    """`google-genai`."""

    model, api = "gemini-3-pro", "generate_content"
    status_error = genai.errors.APIError
    timeout_error = Exception
    ends: ClassVar = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS"}
    tools: ClassVar[Any] = [
        {"function_declarations": [{"name": "weather", "parameters_json_schema": TOOL_SCHEMA}]}
    ]

    def __init__(self, **options: Any) -> None:
        self.client = genai.Client(**options)

    def arguments(
        self, prompt: Any, system: str = "", tools: bool = False, temperature: float | None = None
    ) -> dict[str, Any]:
        offered = self.tools if tools else None
        config = _given(system_instruction=system or None, temperature=temperature, tools=offered)
        return {"model": self.model, "contents": prompt, "config": config}

    def ask(self, prompt: str, **more: Any) -> Said:
        return self.said(self.client.models.generate_content(**self.arguments(prompt, **more)))

    def said(self, response: Any) -> Said:
        parts = response.candidates[0].content.parts
        text = "".join(part.text for part in parts if part.text and not part.thought)
        thought = "".join(part.text for part in parts if part.text and part.thought)
        calls = [
            (part.function_call.name, part.function_call.args)
            for part in parts
            if part.function_call
        ]
        used = response.usage_metadata
        tokens = used.prompt_token_count, used.candidates_token_count
        return Said(text, calls, response.candidates[0].finish_reason.value, tokens, thought)

    def stream(self, prompt: str, **more: Any) -> list[str]:
        chunks = self.client.models.generate_content_stream(**self.arguments(prompt, **more))
        return [chunk.text for chunk in chunks if chunk.text]

    def structured(self, prompt: str) -> Weather:
        config = {"response_mime_type": "application/json", "response_schema": Weather}
        return self.client.models.generate_content(
            model=self.model, contents=prompt, config=config
        ).parsed

    def after_tool(self, prompt: str, result: str) -> Said:
        first = (
            self.client.models.generate_content(**self.arguments(prompt, tools=True))
            .candidates[0]
            .content
        )
        answer = types.Part.from_function_response(name="weather", response={"result": result})
        contents = [prompt, first, types.Content(role="user", parts=[answer])]
        return self.said(
            self.client.models.generate_content(**self.arguments(contents, tools=True))
        )


class AsyncGemini(Gemini):
    """The asynchronous client, which sends by `aiohttp`."""

    @in_loop
    async def ask(self, prompt: str, **more: Any) -> Said:
        async with genai.Client().aio as client:
            return self.said(await client.models.generate_content(**self.arguments(prompt, **more)))

    @in_loop
    async def stream(self, prompt: str, **more: Any) -> list[str]:
        async with genai.Client().aio as client:
            chunks = await client.models.generate_content_stream(**self.arguments(prompt, **more))
            return [chunk.text async for chunk in chunks if chunk.text]


class MistralChat(SDK):
    """`mistralai`."""

    model, api = "mistral-large", "chat.completions"
    status_error = mistral_errors.SDKError
    timeout_error = Exception
    ends: ClassVar = {"stop": "stop", "tool_calls": "tool_calls", "length": "length"}
    tools: ClassVar[Any] = [
        {"type": "function", "function": {"name": "weather", "parameters": TOOL_SCHEMA}}
    ]

    def __init__(self, **options: Any) -> None:
        url = os.environ.get("MISTRAL_BASE_URL", "").removesuffix(
            "/v1"
        )  # which this SDK itself does not look for
        self.client = Mistral(
            **{"api_key": "any" if url else "", "server_url": url or None, **options}
        )

    def arguments(
        self, prompt: str, system: str = "", tools: bool = False, **more: Any
    ) -> dict[str, Any]:
        messages = [{"role": "system", "content": system}] if system else []
        offered = {"tools": self.tools} if tools else {}
        return {
            "model": self.model,
            "messages": [*messages, {"role": "user", "content": prompt}],
            **offered,
            **more,
        }

    def ask(self, prompt: str, **more: Any) -> Said:
        return self.said(self.client.chat.complete(**self.arguments(prompt, **more)))

    def said(self, completion: Any) -> Said:
        choice = completion.choices[0]
        calls = [
            (call.function.name, call.function.arguments)
            for call in choice.message.tool_calls or ()
        ]
        tokens = completion.usage.prompt_tokens, completion.usage.completion_tokens
        content, thought = choice.message.content or "", ""
        if not isinstance(content, str):
            thought = "".join(
                piece.text for part in content if part.type == "thinking" for piece in part.thinking
            )
            content = "".join(part.text for part in content if part.type == "text")
        return Said(content, calls, choice.finish_reason, tokens, thought)

    def stream(self, prompt: str, **more: Any) -> list[str]:
        events = self.client.chat.stream(**self.arguments(prompt, **more))
        pieces = [event.data.choices[0].delta.content for event in events]
        return [piece for piece in pieces if piece and isinstance(piece, str)]

    def structured(self, prompt: str) -> Weather:
        completion = self.client.chat.parse(response_format=Weather, **self.arguments(prompt))
        return completion.choices[0].message.parsed

    def after_tool(self, prompt: str, result: str) -> Said:
        first = self.client.chat.complete(**self.arguments(prompt, tools=True)).choices[0].message
        answer = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": result}
        messages: Any = [{"role": "user", "content": prompt}, first, answer]
        return self.said(
            self.client.chat.complete(model=self.model, messages=messages, tools=self.tools)
        )


SYNC = (OpenAIChat, OpenAIResponses, Anthropic, Gemini, MistralChat)
ALL = (*SYNC, AsyncOpenAIChat, AsyncAnthropic, AsyncGemini)

every_sdk = pytest.mark.parametrize("sdk", [pytest.param(kind, id=kind.__name__) for kind in ALL])
every_sync_sdk = pytest.mark.parametrize(
    "sdk", [pytest.param(kind, id=kind.__name__) for kind in SYNC]
)
