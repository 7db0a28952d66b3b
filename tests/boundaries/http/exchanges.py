"""Requests to all endpoints and for all kinds of replies, whose answers are validated.

An exchange sends requests through an `Ask`, which hands each answer to the test. The cases of the
folders `replies` and `refused` are exchanges without further ado.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import httpx

from llm_mock import (
    Audio,
    Citation,
    CodeInterpreter,
    FileSearch,
    ImageGeneration,
    LLMMock,
    Logprob,
    McpCall,
    Reply,
    ToolCall,
    WebSearch,
)
from tests.boundaries.http import test_refused_requests as refused
from tests.boundaries.http import test_replies as replies
from tests.boundaries.http.request_senders import BINARY

OPENAI, MISTRAL = "https://api.openai.com/v1", "https://api.mistral.ai/v1"
COHERE = "https://api.cohere.com"
JSON_LINES = "application/x-ndjson"
ANTHROPIC = "https://api.anthropic.com/v1"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models"
MESSAGES = [{"role": "user", "content": "Hello"}]
CONTENTS = [{"role": "user", "parts": [{"text": "Hello"}]}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {"name": "weather", "description": "Says the weather.", "parameters": SCHEMA}
AUDIO = ("a.wav", b"RIFF")
ERROR_KINDS = ("rate-limit", "context-overflow", "invalid-key", "overloaded")
"""The misbehaviours that are errors of the provider."""
MISBEHAVIOURS = (
    *("empty-text", "refusal", "wrong-language", "content-filter", "length"),
    *("endless-tool-calls", "unknown-tool", "bad-tool-arguments"),
)
"""The misbehaviours whose answers have the form of others."""


class Ask:
    """A client that hands each answer to a function.

    Args:
        check: is called with each response.
    """

    def __init__(self, check: Callable[[httpx.Response], None]) -> None:
        self._check = check
        self._client = httpx.Client()

    def __call__(self, method: str, url: str, **options: Any) -> Any:
        """Send a request, and return the JSON value of its answer; None for other answers."""
        response = self._client.request(method, url, **options)
        self._check(response)
        is_json = response.headers["content-type"] == "application/json"
        return response.json() if is_json else None


class Event(NamedTuple):
    """An event of a stream."""

    name: str | None
    data: Any

    def as_object(self) -> dict[str, Any]:
        """Return the event with its name, as Mistral's types have it."""
        return {"data": self.data} if self.name is None else {"event": self.name, "data": self.data}


def read_events(response: httpx.Response) -> Iterator[Event]:
    """Yield the events of a stream; those of Ollama are lines."""
    if response.headers["content-type"] == JSON_LINES:
        for line in response.text.splitlines():
            yield Event(None, json.loads(line))
        return
    for block in response.text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        if fields and fields["data"] != "[DONE]":
            yield Event(fields.get("event"), json.loads(fields["data"]))


def is_error(event: Any) -> bool:
    """Return True for the data of an event that is an error."""
    # The events of Responses, and the chunks of Chat Completions, Gemini and Mistral.
    return event.get("type") == "error" or "error" in event or event.get("object") == "error"


Send: TypeAlias = Callable[[Ask, LLMMock], None]


class Exchange(NamedTuple):
    """Requests whose answers are validated."""

    name: str
    host: str
    """The host that is asked."""
    send: Send


# The replies of the corpus


def send_reply(case: replies.Case, is_streamed: bool, ask: Ask, mock: LLMMock) -> None:
    """Send the request of a case of the folder `replies`."""
    mock.set("*", case.reply)
    body = case.request
    url = case.file["url"]
    if not is_streamed:
        body.pop("stream_options", None)
    elif "stream_url" in case.file:
        url = case.file["stream_url"]
    else:
        body["stream"] = True
    ask("POST", url, json=body)


def list_replies() -> Iterator[Exchange]:
    """Yield the exchanges of the folder `replies`."""
    for case in replies.CASES:
        # `test_bedrock.py` compares these with botocore's model of the service.
        if case.api in BINARY:
            continue
        host = httpx.URL(case.file["url"]).host
        yield Exchange(f"{case.api}: {case.name}", host, partial(send_reply, case, False))
        if case in replies.STREAMED:
            name = f"{case.api}, streamed: {case.name}"
            yield Exchange(name, host, partial(send_reply, case, True))


# The same replies of all APIs


BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": (
        f"{OPENAI}/chat/completions",
        {
            "model": "m",
            "messages": MESSAGES,
            "tools": [{"type": "function", "function": FUNCTION}],
        },
    ),
    "responses": (
        f"{OPENAI}/responses",
        {
            "model": "m",
            "input": "Hello",
            "tools": [{"type": "function", "strict": False, **FUNCTION}],
        },
    ),
    "anthropic": (
        f"{ANTHROPIC}/messages",
        {
            "model": "m",
            "max_tokens": 9,
            "messages": MESSAGES,
            "tools": [{"name": "weather", "input_schema": SCHEMA}],
        },
    ),
    "google": (
        f"{GEMINI}/m:generateContent",
        {"contents": CONTENTS, "tools": [{"functionDeclarations": [FUNCTION]}]},
    ),
    "mistral": (
        f"{MISTRAL}/chat/completions",
        {
            "model": "m",
            "messages": MESSAGES,
            "tools": [{"type": "function", "function": FUNCTION}],
        },
    ),
    "cohere": (
        f"{COHERE}/v2/chat",
        {
            "model": "m",
            "messages": MESSAGES,
            "tools": [{"type": "function", "function": FUNCTION}],
        },
    ),
    "ollama": (
        "https://ollama.com/api/chat",
        {
            "model": "m",
            "messages": MESSAGES,
            "tools": [{"type": "function", "function": FUNCTION}],
            "stream": False,
        },
    ),
}
"""The request to each API."""
WEATHER = ToolCall("weather", {"city": "Bern"})
REPLIES: dict[str, Any] = {
    "text": "Hello!",
    "nothing": "",
    "data": {"answer": 42},
    "chunks": Reply(chunks=["Hel", "lo"]),
    "tool call": Reply(tool_calls=[WEATHER]),
    "text and two tool calls": Reply(
        "See:", tool_calls=[ToolCall("weather", {"city": city}) for city in ("Bern", "Basel")]
    ),
    "parts": Reply(parts=["See:", WEATHER, "and then"]),
    "refusal": Reply(refusal="I can't help."),
    "reasoning and a refusal": Reply(refusal="I can't help.", reasoning="Hm"),
    "reasoning": Reply("42", reasoning="6 times 7"),
    "reasoning and a tool call": Reply(reasoning="Hm", tool_calls=[WEATHER]),
    "usage": Reply("Hello!", usage={"input_tokens": 1000, "output_tokens": 7}),
    "no usage": Reply("Hello!", usage=None),
    "length": Reply("Hel", finish_reason="length"),
    "content filter": Reply("Hel", finish_reason="content_filter"),
}


DOCUMENT = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "Hello"},
    "citations": {"enabled": True},
}
DOCUMENT_MESSAGES = [{"role": "user", "content": [DOCUMENT, {"type": "text", "text": "Hello"}]}]
GEMINI_TOOLS = {"tools": [{"googleSearch": {}}, {"codeExecution": {}}, {"fileSearch": {}}]}
FOUND_FILE = Citation(file_id="file-1", filename="a.txt", cited_text="Hot.")
Asked: TypeAlias = dict[str, dict[str, Any]]
"""Further fields of a request by the name of an API that can say a reply."""
DETAILED: dict[str, tuple[Reply, Asked]] = {
    "a citation of a page": (
        Reply("Hello!", citations=[Citation("https://a.example", "A", text="Hello")]),
        {"chat": {}, "responses": {}, "anthropic": {}, "google": {}},
    ),
    "a citation of a file": (
        Reply("Hello!", citations=[Citation(file_id="file-1", filename="a.txt")]),
        {"responses": {}, "google": {}},
    ),
    "a citation of a document": (
        Reply("Hello!", citations=[Citation(document_index=0, cited_text="Hel")]),
        {"anthropic": {"messages": DOCUMENT_MESSAGES}},
    ),
    "log probabilities": (
        Reply("Hello!", logprobs=[Logprob("Hel", -1, {"Hel": -1, "Hi": -2}), Logprob("lo!", 0.0)]),
        {
            "chat": {"logprobs": True, "top_logprobs": 2},
            "responses": {"top_logprobs": 2},
            "google": {"generationConfig": {"responseLogprobs": True, "logprobs": 2}},
            "mistral": {"logprobs": True, "top_logprobs": 2},
        },
    ),
    "a web search": (
        Reply(parts=["I look.", WebSearch("rome", ["https://a.example"]), "Sun."]),
        {
            "responses": {
                "tools": [{"type": "web_search"}],
                "include": ["web_search_call.action.sources"],
            },
            "anthropic": {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
            "google": GEMINI_TOOLS,
        },
    ),
    "code that is run": (
        Reply(parts=[CodeInterpreter("print(1)", "1"), CodeInterpreter("f()", error="No f")]),
        {
            "responses": {
                "tools": [{"type": "code_interpreter", "container": {"type": "auto"}}],
                "include": ["code_interpreter_call.outputs"],
            },
            "anthropic": {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]},
            "google": GEMINI_TOOLS,
        },
    ),
    "calls of an MCP server": (
        Reply(parts=[McpCall("wiki", "ask", {"q": 1}, "42"), McpCall("wiki", "ask", error="No")]),
        {
            "responses": {
                "tools": [
                    {"type": "mcp", "server_label": "wiki", "server_url": "https://w.example"}
                ]
            },
            "anthropic": {
                "mcp_servers": [{"type": "url", "url": "https://w.example", "name": "wiki"}]
            },
        },
    ),
    "a file search": (
        Reply(parts=[FileSearch("rome", [FOUND_FILE]), "Hot."], citations=[FOUND_FILE]),
        {
            "responses": {
                "tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}],
                "include": ["file_search_call.results"],
            },
            "google": GEMINI_TOOLS,
        },
    ),
    "an image": (
        Reply(parts=["A sun:", ImageGeneration(b"png", "A sun")]),
        {"responses": {"tools": [{"type": "image_generation"}]}, "google": {}},
    ),
    "speech": (
        Reply(parts=[Audio(b"wav", "Hello!")]),
        {
            "chat": {
                "modalities": ["text", "audio"],
                "audio": {"voice": "alloy", "format": "pcm16"},
            },
            "google": {"generationConfig": {"responseModalities": ["AUDIO"]}},
        },
    ),
    "encrypted reasoning": (
        Reply("Sun.", reasoning="Hm"),
        {"responses": {"include": ["reasoning.encrypted_content"]}},
    ),
    "a service tier": (
        Reply("Hello!", service_tier="priority"),
        {"chat": {}, "responses": {}, "anthropic": {}, "google": {}, "mistral": {}},
    ),
}
"""Replies with details, and the APIs that can say them."""
USAGE_REQUIRED = ("anthropic", "mistral")
"""The APIs that never leave out the usage, so that a reply without it is not theirs."""


def send_any_reply(api: str, reply: Any, more: dict[str, Any], ask: Ask, mock: LLMMock) -> None:
    """Ask for a reply, in one piece and streamed.

    Args:
        api: the API.
        reply: the reply of the mock.
        more: further fields of the request.
        ask: sends requests.
        mock: the mock that answers.
    """
    mock.set("m", reply)
    url, body = BODIES[api]
    body = {**body, **more}
    ask("POST", url, json=body)
    if api == "google":
        ask("POST", f"{GEMINI}/m:streamGenerateContent?alt=sse", json=body)
    else:
        ask("POST", url, json={**body, "stream": True})


def send_unknown_model(api: str, ask: Ask, mock: LLMMock) -> None:
    """Ask for a model that does not exist."""
    mock.set_unknown("m")
    url, body = BODIES[api]
    ask("POST", url, json=body)


def send_error(api: str, misbehaviour: str, ask: Ask, mock: LLMMock) -> None:
    """Ask a provider that answers with an error."""
    mock.misbehave(misbehaviour)
    url, body = BODIES[api]
    ask("POST", url, json=body)


def send_misbehaviour(api: str, misbehaviour: str, ask: Ask, mock: LLMMock) -> None:
    """Ask a model that misbehaves, in one piece and streamed."""
    mock.misbehave(misbehaviour)
    reply = WEATHER if "tool" in misbehaviour else "Hello, you there!"
    send_any_reply(api, reply, {}, ask, mock)


def send_too_many(api: str, ask: Ask, mock: LLMMock) -> None:
    """Send more requests than the quota allows."""
    mock.set_quota("m", rpm=1)
    send_any_reply(api, "Hello!", {}, ask, mock)


def send_unfit_reply(api: str, ask: Ask, mock: LLMMock) -> None:
    """Ask for a reply that does not fit the request, which is an error in the provider's form."""
    send_any_reply(api, ToolCall("unknown", {}), {}, ask, mock)


def send_candidates(api: str, ask: Ask, mock: LLMMock) -> None:
    """Ask for several answers that end for different reasons."""
    candidates = ["No", Reply("Per", finish_reason="length"), WEATHER]
    counts = {"google": {"generationConfig": {"candidateCount": 3}}}
    send_any_reply(api, Reply(candidates=candidates), counts.get(api, {"n": 3}), ask, mock)


def send_error_event(api: str, ask: Ask, mock: LLMMock) -> None:
    """Ask a provider that sends an error in the middle of a stream."""
    mock.set("m", "Hello, you there!")
    mock.misbehave("error-event")
    url, body = BODIES[api]
    ask("POST", url, json={**body, "stream": True})


def list_all_apis() -> Iterator[Exchange]:
    """Yield the exchanges that all APIs have."""
    for api, (url, _) in BODIES.items():
        host = httpx.URL(url).host
        for name, reply in REPLIES.items():
            if name == "no usage" and api in USAGE_REQUIRED:
                continue
            yield Exchange(f"{api}, any: {name}", host, partial(send_any_reply, api, reply, {}))
        for name, (reply, asked) in DETAILED.items():
            if api in asked:
                send = partial(send_any_reply, api, reply, asked[api])
                yield Exchange(f"{api}, any: {name}", host, send)
        yield Exchange(f"{api}: quota", host, partial(send_too_many, api))
        if api in ("chat", "google", "mistral"):
            yield Exchange(f"{api}: candidates", host, partial(send_candidates, api))
        for kind in MISBEHAVIOURS:
            yield Exchange(f"{api}: {kind}", host, partial(send_misbehaviour, api, kind))


def list_errors() -> Iterator[Exchange]:
    """Yield the exchanges in which an API answers with an error."""
    for api, (url, _) in BODIES.items():
        host = httpx.URL(url).host
        yield Exchange(f"{api}: unknown model", host, partial(send_unknown_model, api))
        yield Exchange(f"{api}: unfit reply", host, partial(send_unfit_reply, api))
        for kind in ERROR_KINDS:
            yield Exchange(f"{api}: {kind}", host, partial(send_error, api, kind))
        if api != "google":
            # Gemini's stream has another URL, and an error ends it without an event.
            yield Exchange(f"{api}: error event", host, partial(send_error_event, api))


def send_refused(api: str, ask: Ask, mock: LLMMock) -> None:
    """Send all requests of a file of the folder `refused`."""
    content = refused.load(api)
    for case in content["cases"].values():
        url = case.get("url", content["url"])
        body = {**content["body"], **case["body"]}
        ask("POST", url, json=body, headers=case.get("headers"))


def list_refused() -> Iterator[Exchange]:
    """Yield the exchanges of the folder `refused`."""
    for api in refused.APIS:
        host = httpx.URL(refused.load(api)["url"]).host
        yield Exchange(f"{api}: refused", host, partial(send_refused, api))


# What a request asks for beside its messages


def ask_for_settings_of_chat(ask: Ask, mock: LLMMock) -> None:
    """Ask OpenAI for completions with settings that change the answer."""
    url, body = BODIES["chat"]
    mock.set("m", "Hello!")
    for more in (
        {"stream": True, "stream_options": {"include_usage": True}},
        {"n": 3},
        {"n": 2, "stream": True},
        {"logprobs": True, "top_logprobs": 2},
        {"store": True, "metadata": {"a": "b"}},
        {"service_tier": "flex"},
        {"functions": [FUNCTION], "tools": None},
    ):
        ask("POST", url, json={**body, **more})
    mock.set("m", WEATHER)
    for is_streamed in (False, True):
        legacy = {"functions": [FUNCTION], "stream": is_streamed}
        ask("POST", url, json={"model": "m", "messages": MESSAGES, **legacy})


def ask_for_settings_of_responses(ask: Ask, mock: LLMMock) -> None:
    """Ask OpenAI for responses with settings that the answer repeats."""
    url, body = BODIES["responses"]
    schema = {**SCHEMA, "additionalProperties": False}
    text_format = {"type": "json_schema", "name": "City", "schema": schema, "strict": True}
    mock.set("*", "Hello!")
    for more in (
        {"instructions": "Be brief.", "metadata": {"a": "b"}, "temperature": 0.5, "top_p": 0.5},
        {"reasoning": {"effort": "low", "summary": "auto"}, "model": "gpt-5"},
        {"text": {"format": text_format, "verbosity": "low"}},
        {"tool_choice": {"type": "function", "name": "weather"}, "parallel_tool_calls": False},
        {"tools": [{"type": "web_search"}, {"type": "code_interpreter", "container": "c"}]},
        {"tools": [{"type": "custom", "name": "sql"}], "truncation": "auto"},
        {"max_output_tokens": 100, "max_tool_calls": 2, "user": "ann", "service_tier": "flex"},
        {"prompt_cache_key": "a", "safety_identifier": "b", "top_logprobs": 2},
        {"include": ["message.output_text.logprobs"], "store": False},
        {"prompt": {"id": "pmpt_1", "variables": {"city": "Bern"}}},
        {"stream": True, "background": True},
    ):
        if "tool_choice" in more:
            mock.add("*", WEATHER)
        elif "text" in more:
            mock.add("*", {"city": "Bern"})
        ask("POST", url, json={**body, **more})


def ask_for_settings_of_anthropic(ask: Ask, mock: LLMMock) -> None:
    """Ask Anthropic for messages with settings that change the answer."""
    url, body = BODIES["anthropic"]
    mock.set("*", Reply("Hello!", reasoning="Hm"))
    for more in (
        {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000},
        {"service_tier": "standard_only", "metadata": {"user_id": "ann"}},
        {"stop_sequences": ["Hm"], "system": "Be brief."},
    ):
        ask("POST", url, json={**body, **more})
        ask("POST", url, json={**body, **more, "stream": True})


def ask_for_settings_of_gemini(ask: Ask, mock: LLMMock) -> None:
    """Ask Google for content with settings that change the answer."""
    _, body = BODIES["google"]
    mock.set("m", "Hello!")
    for config in (
        {"candidateCount": 2},
        {"thinkingConfig": {"includeThoughts": True}},
        {"responseMimeType": "application/json"},
    ):
        for path in ("m:generateContent", "m:streamGenerateContent?alt=sse"):
            ask("POST", f"{GEMINI}/{path}", json={**body, "generationConfig": config})


def ask_for_settings_of_mistral(ask: Ask, mock: LLMMock) -> None:
    """Ask Mistral for completions with settings that change the answer."""
    url, body = BODIES["mistral"]
    mock.set("m", "Hello!")
    for more in ({"n": 2}, {"n": 2, "stream": True}, {"response_format": {"type": "json_object"}}):
        ask("POST", url, json={**body, **more})


# Other endpoints


def ask_openai_for_embeddings(ask: Ask, mock: LLMMock) -> None:
    """Ask OpenAI for vectors."""
    url = f"{OPENAI}/embeddings"
    ask("POST", url, json={"model": "text-embedding-3-small", "input": ["a", "b"]})
    ask("POST", url, json={"model": "m", "input": "a", "dimensions": 3})
    ask("POST", url, json={"model": "m"})


def ask_openai_for_models(ask: Ask, mock: LLMMock) -> None:
    """Ask OpenAI for its models."""
    mock.set("gpt-5", "Hello!")
    ask("GET", f"{OPENAI}/models")
    ask("GET", f"{OPENAI}/models/gpt-5")
    ask("DELETE", f"{OPENAI}/models/ft:gpt-4o:acme::9f")


def ask_openai_for_moderations(ask: Ask, mock: LLMMock) -> None:
    """Ask OpenAI for moderations."""
    ask("POST", f"{OPENAI}/moderations", json={"input": ["a", "b"]})
    ask("POST", f"{OPENAI}/moderations", json={"input": "a", "model": "omni-moderation-latest"})


def ask_openai_for_images(ask: Ask, mock: LLMMock) -> None:
    """Ask OpenAI for images."""
    url, prompt = f"{OPENAI}/images", {"prompt": "A cat"}
    files = {"image": ("a.png", b"PNG")}
    ask("POST", f"{url}/generations", json=prompt)
    ask("POST", f"{url}/generations", json={**prompt, "model": "gpt-image-1", "n": 2})
    ask("POST", f"{url}/generations", json={**prompt, "model": "gpt-image-1", "stream": True})
    ask("POST", f"{url}/edits", data={**prompt, "model": "dall-e-2"}, files=files)
    streamed = {**prompt, "model": "gpt-image-1", "stream": "true"}
    ask("POST", f"{url}/edits", data=streamed, files=files)
    ask("POST", f"{url}/variations", data={"response_format": "b64_json"}, files=files)


def ask_openai_for_audio(ask: Ask, mock: LLMMock) -> None:
    """Ask OpenAI for speech, and for its text."""
    mock.set("*", "Hello there.")
    speech = {"model": "gpt-4o-mini-tts", "input": "Hello", "voice": "alloy"}
    ask("POST", f"{OPENAI}/audio/speech", json=speech)
    ask("POST", f"{OPENAI}/audio/speech", json={**speech, "stream_format": "sse"})
    for endpoint in ("transcriptions", "translations"):
        url = f"{OPENAI}/audio/{endpoint}"
        ask("POST", url, data={"model": "whisper-1"}, files={"file": AUDIO})
        verbose = {"model": "whisper-1", "response_format": "verbose_json"}
        ask("POST", url, data=verbose, files={"file": AUDIO})
    for form in (
        {"model": "gpt-4o-transcribe"},
        {"model": "gpt-4o-transcribe", "stream": "true"},
        {"model": "gpt-4o-transcribe-diarize", "response_format": "diarized_json"},
    ):
        ask("POST", f"{OPENAI}/audio/transcriptions", data=form, files={"file": AUDIO})


def ask_openai_for_stored_responses(ask: Ask, mock: LLMMock) -> None:
    """Use the responses that OpenAI stores."""
    mock.set("*", "Hi!")
    url = f"{OPENAI}/responses"
    mock.add(
        "gpt-5", Reply(reasoning="Hm", tool_calls=[ToolCall("weather", {"city": "Bern"}, "call_7")])
    )
    body = BODIES["responses"][1] | {"model": "gpt-5"}
    first = ask("POST", url, json=body)["id"]
    result = {"type": "function_call_output", "call_id": "call_7", "output": "Sunny"}
    more = {**body, "input": [result], "previous_response_id": first}
    second = ask("POST", url, json=more)["id"]
    ask("GET", f"{url}/{second}")
    ask("GET", f"{url}/{second}/input_items")
    ask("GET", f"{url}/{second}/input_items?limit=0")
    ask("POST", f"{url}/compact", json={"model": "gpt-5", "previous_response_id": second})
    ask("POST", f"{url}/input_tokens", json={"model": "gpt-5", "input": "Hello"})
    background = ask("POST", url, json={**body, "background": True})["id"]
    ask("GET", f"{url}/{background}")
    ask("POST", f"{url}/{background}/cancel")
    ask("POST", f"{url}/{first}/cancel")
    ask("DELETE", f"{url}/{first}")
    ask("GET", f"{url}/{first}")


def ask_openai_for_conversations(ask: Ask, mock: LLMMock) -> None:
    """Use the conversations that OpenAI stores."""
    mock.set("*", "Hi!")
    url = f"{OPENAI}/conversations"
    created = ask("POST", url, json={"metadata": {"a": "b"}})["id"]
    ask("POST", f"{OPENAI}/responses", json={"model": "m", "input": "a", "conversation": created})
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
        {"type": "message", "role": "assistant", "content": "Hi!"},
        {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "Sunny"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]},
    ]
    added = ask("POST", f"{url}/{created}/items", json={"items": items})["data"]
    ask("GET", f"{url}/{created}")
    ask("GET", f"{url}/{created}/items")
    ask("GET", f"{url}/{created}/items/{added[0]['id']}")
    ask("DELETE", f"{url}/{created}/items/{added[0]['id']}")
    ask("POST", f"{url}/{created}", json={"metadata": {}})
    ask("DELETE", f"{url}/{created}")
    ask("GET", f"{url}/{created}")


def ask_openai_for_stored_completions(ask: Ask, mock: LLMMock) -> None:
    """Use the chat completions that OpenAI stores."""
    mock.set("*", "Hi!")
    url = f"{OPENAI}/chat/completions"
    ask("GET", url)
    parts = [{"type": "text", "text": "Hello"}]
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}]
    created = ask("POST", url, json={"model": "m", "messages": messages, "store": True})["id"]
    ask("GET", url)
    ask("GET", f"{url}/{created}")
    ask("GET", f"{url}/{created}/messages")
    ask("POST", f"{url}/{created}", json={"metadata": {"a": "b"}})
    ask("DELETE", f"{url}/{created}")
    ask("GET", f"{url}/{created}")


def ask_anthropic(ask: Ask, mock: LLMMock) -> None:
    """Ask Anthropic for its models and a count of tokens."""
    mock.set("claude-opus-5", "Hello!")
    headers = {"anthropic-version": "2023-06-01"}
    ask("GET", f"{ANTHROPIC}/models", headers=headers)
    ask("GET", f"{ANTHROPIC}/models/claude-opus-5", headers=headers)
    body = {"model": "claude-opus-5", "messages": MESSAGES}
    ask("POST", f"{ANTHROPIC}/messages/count_tokens", json=body)


def ask_google(ask: Ask, mock: LLMMock) -> None:
    """Ask Google for a count of tokens and vectors."""
    ask("POST", f"{GEMINI}/m:countTokens", json={"contents": CONTENTS})
    requests = [{"model": "models/m", "content": CONTENTS[0]}]
    ask("POST", f"{GEMINI}/m:batchEmbedContents", json={"requests": requests})
    ask("GET", GEMINI)


def ask_mistral(ask: Ask, mock: LLMMock) -> None:
    """Ask Mistral for all but chats."""
    mock.set("*", "Hello there.")
    mock.set("mistral-large-latest", "Hello!")
    ask("POST", f"{MISTRAL}/embeddings", json={"model": "mistral-embed", "input": ["a", "b"]})
    ask("GET", f"{MISTRAL}/models")
    ask("GET", f"{MISTRAL}/models/mistral-large-latest")
    ask("DELETE", f"{MISTRAL}/models/ft:open-mistral-7b:587a6b29")
    ask("POST", f"{MISTRAL}/moderations", json={"model": "m", "input": ["a", "b"]})
    url, files = f"{MISTRAL}/audio/transcriptions", {"file": AUDIO}
    ask("POST", url, data={"model": "voxtral-mini-latest"}, files=files)
    ask("POST", url, data={"model": "voxtral-mini-latest", "stream": "true"}, files=files)
    ask("POST", f"{MISTRAL}/audio/speech", json={"input": "Hello", "voice_id": "v"})


def ask_cohere(ask: Ask, mock: LLMMock) -> None:
    """Ask Cohere for all but chats."""
    mock.set("command-a", "Hello!")
    kinds = ["float", "int8", "uint8", "binary", "ubinary", "base64"]
    body = {"model": "m", "texts": ["a", "b"], "input_type": "search_query"}
    ask("POST", f"{COHERE}/v2/embed", json={**body, "embedding_types": kinds})
    ask("POST", f"{COHERE}/v2/embed", json=body)
    ask("POST", f"{COHERE}/v1/embed", json=body)
    query = {"model": "m", "query": "a", "documents": ["a", "b"]}
    ask("POST", f"{COHERE}/v2/rerank", json=query)
    ask("POST", f"{COHERE}/v1/rerank", json={**query, "return_documents": True})
    ask("GET", f"{COHERE}/v1/models")
    ask("GET", f"{COHERE}/v1/models/command-a")


def ask_ollama(ask: Ask, mock: LLMMock) -> None:
    """Ask Ollama for all but chats."""
    mock.set("m", Reply("Hello!", reasoning="Hm"))
    url = "https://ollama.com/api"
    ask("POST", f"{url}/generate", json={"model": "m", "prompt": "Hello"})
    ask("POST", f"{url}/generate", json={"model": "m", "prompt": "Hello", "stream": False})
    ask("POST", f"{url}/embed", json={"model": "m", "input": ["a", "b"]})
    ask("POST", f"{url}/embed", json={"model": "m", "input": ""})
    ask("GET", f"{url}/tags")
    ask("POST", f"{url}/show", json={"model": "m"})


def list_others() -> Iterator[Exchange]:
    """Yield the exchanges that only one provider has."""
    table: dict[str, tuple[Send, ...]] = {
        "api.openai.com": (
            ask_for_settings_of_chat,
            ask_for_settings_of_responses,
            ask_openai_for_embeddings,
            ask_openai_for_models,
            ask_openai_for_moderations,
            ask_openai_for_images,
            ask_openai_for_audio,
            ask_openai_for_stored_responses,
            ask_openai_for_conversations,
            ask_openai_for_stored_completions,
        ),
        "api.anthropic.com": (ask_for_settings_of_anthropic, ask_anthropic),
        "generativelanguage.googleapis.com": (ask_for_settings_of_gemini, ask_google),
        "api.mistral.ai": (ask_for_settings_of_mistral, ask_mistral),
        "api.cohere.com": (ask_cohere,),
        "ollama.com": (ask_ollama,),
    }
    for host, functions in table.items():
        for function in functions:
            name = function.__name__.replace("_", " ")  # type: ignore[attr-defined]
            yield Exchange(name, host, function)


EXCHANGES = [
    *list_replies(),
    *list_all_apis(),
    *list_errors(),
    *list_refused(),
    *list_others(),
]
"""All exchanges."""
