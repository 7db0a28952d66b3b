"""An application with every kind of call of an SDK. `BROKEN` of `reviews` breaks it."""

from __future__ import annotations

import anthropic
import openai
import reviews
from openai import AsyncOpenAI, OpenAI
from reviews import broken, said, without


TOKENS = 4
CLIENT = OpenAI(api_key="test")


class Assistant:
    """Talks to a model through a client of its own."""

    def __init__(
        self, model: str = "gpt-4o-mini", on_answer: object = None, client: object = None
    ) -> None:
        self.client = client or OpenAI(api_key="test")
        self.model = model
        self.on_answer = on_answer

    def complete(self, text: str, **options: object) -> object:
        system = {"role": "system", "content": broken("system", "Be long", "Be brief")}
        text = broken("prompt", "Something else", text)
        options |= {
            "model": broken("model", "gpt-4.1", self.model),
            "messages": [system, {"role": "user", "content": text}],
        }
        if reviews.BROKEN == "no call":
            raise LookupError("the application asks nobody")
        if reviews.BROKEN == "twice":
            self.client.chat.completions.create(**options)
        return self.client.chat.completions.create(**options)

    def answer(self, text: str) -> str:
        options = without("option", {"temperature": broken("option", 1, 0.5)})
        response = self.complete(f"Answer: {text}", **options)
        answer = said(response.choices[0].message.content)
        if self.on_answer is not None:
            self.on_answer(answer)
        return answer

    def answer_if_any(self, text: str) -> str:
        return self.answer(text) if text or reviews.BROKEN == "call" else ""

    def call_tool(self, text: str) -> tuple[str, str]:
        response = self.complete(text, tools=[TOOL])
        call = response.choices[0].message.tool_calls[0]
        return said(call.function.name), said(call.function.arguments)

    def count_tokens(self, text: str) -> int:
        usage = self.complete(text).usage
        return broken("answer", 0, usage.prompt_tokens + usage.completion_tokens)

    def describe_answer(self, text: str) -> str:
        response = self.complete(text)
        message = response.choices[0].message
        details = response.usage.prompt_tokens_details
        thoughts = getattr(message, "reasoning_content", None)
        parts = [message.refusal, thoughts, response.service_tier, details.cached_tokens]
        return broken("answer", "…", "/".join(map(str, parts)))

    def stream_answer(self, text: str) -> list[object]:
        parts: list[object] = []
        usage = {"include_usage": True}
        for chunk in self.complete(text, stream=True, stream_options=usage):
            for choice in chunk.choices:
                parts += [choice.delta.content, choice.finish_reason]
            if chunk.usage is not None and chunk.usage.completion_tokens == TOKENS:
                parts.append(TOKENS)
        # The first chunk of a real answer has the role and no text.
        return [broken("answer", "…", part) for part in parts if part]

    def is_cut_off(self, text: str) -> bool:
        return self.complete(text).choices[0].finish_reason == broken("answer", "…", "length")

    def answer_patiently(self, text: str) -> str:
        for _ in range(broken("retry", 1, 3)):
            try:
                return self.answer(text)
            except openai.OpenAIError:
                pass
        return "gave up"

    def answer_twice(self, text: str) -> list[str]:
        return [self.answer(text), self.answer(f"{text}, again")]


TOOL = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}},
}


def respond(text: str, client: object = None, **options: object) -> object:
    client = client or OpenAI(api_key="test", max_retries=0)
    if reviews.BROKEN == "no call":
        raise LookupError("the application asks nobody")
    options |= {
        "model": broken("model", "gpt-4.1", "gpt-4o-mini"),
        "instructions": broken("system", "Be long", "Be brief"),
        "input": broken("prompt", "Something else", text),
    }
    if reviews.BROKEN == "twice":
        client.responses.create(**options)
    return client.responses.create(**options)


def respond_with_text(text: str, client: object = None) -> str:
    return said(respond(text, client).output_text)


def get_response_id(text: str) -> str:
    response = respond(text)
    # Old servers give a dict.
    return response["id"] if isinstance(response, dict) else response.id


def respond_with_output(text: str) -> str:
    return said(respond(text).output[0].content[0].text)


def respond_with_call(text: str) -> tuple[str, str]:
    tool = {"type": "function", "name": "weather", "parameters": {"type": "object"}}
    call = respond(text, tools=[tool]).output[-1]
    return said(call.name), said(call.arguments)


def count_response(text: str) -> int:
    usage = respond(text).usage
    return broken("answer", 0, usage.input_tokens + usage.output_tokens)


def describe_response(text: str) -> str:
    response = respond(text)
    thoughts = [item.summary[0].text for item in response.output if item.type == "reasoning"]
    usage = response.usage
    parts = [*thoughts, response.service_tier, usage.output_tokens_details.reasoning_tokens]
    return broken("answer", "…", "/".join(map(str, parts)))


def respond_in_parts(text: str) -> list[str]:
    events = respond(text, stream=True)
    parts = [event.delta for event in events if event.type == "response.output_text.delta"]
    return [said(part) for part in parts]


def respond_patiently(text: str) -> str:
    for _ in range(broken("retry", 1, 3)):
        try:
            return respond_with_text(text)
        except openai.OpenAIError:
            pass
    return "gave up"


async def respond_async(text: str) -> str:
    client = AsyncOpenAI(api_key="test")
    given = broken("prompt", "Something else", text)
    response = await client.responses.create(model="gpt-4o-mini", input=given)
    return said(response.output_text)


def ask_openai(text: str) -> str:
    messages = [{"role": "user", "content": broken("prompt", "Something else", text)}]
    client = openai.OpenAI(api_key="test")
    response = client.chat.completions.create(model="gpt-4o", messages=messages)
    return said(response.choices[0].message.content)


def ask_client(text: str) -> str:
    messages = [{"role": "user", "content": broken("prompt", "Something else", text)}]
    response = CLIENT.chat.completions.create(model="gpt-4o", messages=messages)
    return said(response.choices[0].message.content)


async def ask_async(text: str) -> str:
    messages = [{"role": "user", "content": broken("prompt", "Something else", text)}]
    client = AsyncOpenAI(api_key="test")
    response = await client.chat.completions.create(model="gpt-4o", messages=messages)
    return said(response.choices[0].message.content)


def ask_claude(text: str, **options: object) -> object:
    messages = [{"role": "user", "content": broken("prompt", "Something else", text)}]
    client = anthropic.Anthropic(api_key="test")
    model = broken("model", "claude-haiku-4-5", "claude-sonnet-4-5")
    options = {"max_tokens": 100, **options}
    if reviews.BROKEN == "twice":
        client.messages.create(model=model, messages=messages, **options)
    return client.messages.create(model=model, messages=messages, **options)


def get_claudes_text(text: str) -> str:
    return said(ask_claude(text).content[0].text)


def get_claudes_tool(text: str) -> tuple[str, object]:
    tool = {"name": "weather", "input_schema": {"type": "object", "properties": {}}}
    block = ask_claude(text, tools=[tool]).content[-1]
    return said(block.name), block.input


def get_claudes_end(text: str) -> str:
    response = ask_claude(text)
    return broken("answer", "…", f"{response.stop_reason}, {response.usage.output_tokens}")


def get_claudes_thoughts(text: str) -> str:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    response = ask_claude(text, thinking=thinking, max_tokens=2000)
    parts = [response.content[0].thinking, response.usage.cache_read_input_tokens]
    return broken("answer", "…", "/".join(map(str, parts)))


async def ask_claude_async(text: str, client: object = None) -> str:
    messages = [{"role": "user", "content": broken("prompt", "Something else", text)}]
    client = client or anthropic.AsyncAnthropic(api_key="test")
    response = await client.messages.create(
        model="claude-sonnet-4-5", max_tokens=100, messages=messages
    )
    return said(response.content[0].text)


def embed(*texts: str, client: object = None, **options: object) -> list[list[float]]:
    if reviews.BROKEN == "no call":
        raise LookupError("the application asks nobody")
    client = client or OpenAI(api_key="test", max_retries=0)
    options |= {"model": broken("model", "text-embedding-ada-002", "text-embedding-3-small")}
    options["input"] = broken("one", list(texts[:1]), list(texts))
    if reviews.BROKEN == "twice":
        client.embeddings.create(**options)
    response = client.embeddings.create(**options)
    vectors = sorted(response.data, key=lambda item: item.index)
    return broken("answer", [], [item.embedding for item in vectors])


async def embed_async(text: str) -> object:
    client = AsyncOpenAI(api_key="test")
    response = await client.embeddings.create(model="text-embedding-3-small", input=text)
    return [response.model, response.usage.prompt_tokens, response.data[0].embedding]


def embed_and_answer(text: str) -> str:
    client = OpenAI(api_key="test")
    vectors = embed(text, client=client)
    return f"{Assistant(client=client).answer(text)} {vectors}"
