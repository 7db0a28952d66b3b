"""Answers fit the SDKs' own models: no unknown key, no missing required key."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import anthropic.pagination
import anthropic.types
import httpx
import mistralai.client.models
import openai.pagination
import openai.types.chat
import openai.types.responses
import pytest
from google.genai import types as google
from pydantic import BaseModel, TypeAdapter, ValidationError

from llm_mock import Citation, LLMMock, Logprob, Reply, ToolCall

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")

UNKNOWN_BUT_SENT = (
    "ChatCompletionMessage.reasoning_content",  # sent by others who speak OpenAI's protocol
    "ChoiceDelta.reasoning_content",
    "ChoiceDelta.annotations",  # as OpenAI and OpenRouter send them
    "Logprob.bytes",  # the types of deltas leave them out
    "LogprobTopLogprob.bytes",
    "Response.store",  # in OpenAI's reference, not in its SDK
    "ResponseFunctionCallArgumentsDoneEvent.name",  # required in openai 2, not in openai 3
)


def problems(value: Any, annotation: Any, path: str = "$") -> list[str]:
    """Yield unknown keys, missing keys and values of wrong types, by the types of an SDK."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any or annotation is object or isinstance(annotation, typing.TypeVar):
        return []
    if origin is typing.Annotated:
        return problems(value, arguments[0], path)
    if hasattr(annotation, "__value__"):  # a `type` statement
        return problems(value, annotation.__value__, path)
    if origin in (typing.Union, types.UnionType):
        return min(
            (problems(value, argument, path) for argument in _of_type(value, arguments)), key=len
        )
    if origin is Literal:
        return [] if value in arguments else [f"{path}: {value!r} is none of {arguments}"]
    if origin is list and isinstance(value, list):
        return [
            found
            for i, item in enumerate(value)
            for found in problems(item, arguments[0], f"{path}[{i}]")
        ]
    if origin is dict and isinstance(value, dict):
        return [
            found
            for key, item in value.items()
            for found in problems(item, arguments[1], f"{path}.{key}")
        ]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _problems_of_object(value, annotation, path)
    try:
        TypeAdapter(annotation).validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        return [f"{path}: {value!r}: {error.errors()[0]['msg']}"]
    return []


def _of_type(value: Any, union: tuple[Any, ...]) -> Sequence[Any]:
    """Return the members of a union whose `type` is that of a value; all of them, where none is."""

    def says(member: Any) -> Any:
        field = getattr(member, "model_fields", {}).get("type")
        return typing.get_args(field.annotation) if field else ()

    kind = value.get("type") if isinstance(value, dict) else None
    return [member for member in union if kind in says(member)] or union


def _problems_of_object(value: Any, model: type[BaseModel], path: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: {value!r} is no {model.__name__}"]
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    unknown = [
        f"{path}.{key} is unknown to {model.__name__}"
        for key in value.keys() - fields.keys()
        if f"{model.__name__}.{key}" not in UNKNOWN_BUT_SENT
    ]
    missing = [
        f"{path}.{name} of {model.__name__} is missing"
        for name, field in fields.items()
        if field.is_required() and name not in value
    ]
    inner = [
        found
        for name, item in value.items()
        if name in fields
        for found in problems(item, fields[name].annotation, f"{path}.{name}")
    ]
    return unknown + missing + inner


class API(NamedTuple):
    """A way to ask a model, and the types of its answers."""

    url: str
    body: dict[str, Any]
    whole: Any
    event: Any
    streamed: str = ""
    """The URL where a stream is asked for, if it is another one."""

    def ask(self, **more: Any) -> Any:
        """Return the body of an answer in one piece."""
        return httpx.post(self.url, json={**self.body, **more}).json()

    def stream(self) -> list[Any]:
        """Return the events of a streamed answer."""
        asked = self.body if self.streamed else {**self.body, "stream": True}
        text = httpx.post(self.streamed or self.url, json=asked).text
        data = [
            line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")
        ]
        return [json.loads(item) for item in data if item != "[DONE]"]


MESSAGES = [{"role": "user", "content": "Hello"}]
DOCUMENT = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "Hello"},
    "citations": {"enabled": True},
}
DOCUMENT_MESSAGES = [{"role": "user", "content": [DOCUMENT, {"type": "text", "text": "Hello"}]}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {"name": "weather", "description": "Says the weather.", "parameters": SCHEMA}
TOOLS = [{"type": "function", "function": FUNCTION}]
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/m:"
APIS = {
    "openai chat": API(
        "https://api.openai.com/v1/chat/completions",
        {"model": "m", "messages": MESSAGES, "tools": TOOLS},
        openai.types.chat.ChatCompletion,
        openai.types.chat.ChatCompletionChunk,
    ),
    "openai responses": API(
        "https://api.openai.com/v1/responses",
        {
            "model": "m",
            "input": "Hello",
            "tools": [{"type": "function", "strict": False, **FUNCTION}],
        },
        openai.types.responses.Response,
        openai.types.responses.ResponseStreamEvent,
    ),
    "anthropic": API(
        "https://api.anthropic.com/v1/messages",
        {
            "model": "m",
            "max_tokens": 9,
            "messages": MESSAGES,
            "tools": [{"name": "weather", "input_schema": SCHEMA}],
        },
        anthropic.types.Message,
        anthropic.types.RawMessageStreamEvent,
    ),
    "google": API(
        f"{GEMINI}generateContent",
        {
            "contents": [{"parts": [{"text": "Hello"}]}],
            "tools": [{"functionDeclarations": [FUNCTION]}],
        },
        google.GenerateContentResponse,
        google.GenerateContentResponse,
        streamed=f"{GEMINI}streamGenerateContent?alt=sse",
    ),
    "mistral": API(
        "https://api.mistral.ai/v1/chat/completions",
        {"model": "m", "messages": MESSAGES, "tools": TOOLS},
        mistralai.client.models.ChatCompletionResponse,
        mistralai.client.models.CompletionChunk,
    ),
}
REPLIES = {
    "text": "Hello!",
    "nothing": "",
    "data": {"answer": 42},
    "chunks": Reply(chunks=["Hel", "lo"]),
    "tool call": Reply(tool_calls=[ToolCall("weather", {"city": "Bern"})]),
    "text and two tool calls": Reply(
        "See:", tool_calls=[ToolCall("weather", {"city": city}) for city in ("Bern", "Basel")]
    ),
    "parts": Reply(parts=["See:", ToolCall("weather", {"city": "Bern"}), "and then"]),
    "refusal": Reply(refusal="I can't help."),
    "reasoning and a refusal": Reply(refusal="I can't help.", reasoning="Hm"),
    "reasoning": Reply("42", reasoning="6 times 7"),
    "reasoning and a tool call": Reply(
        reasoning="Hm", tool_calls=[ToolCall("weather", {"city": "Bern"})]
    ),
    "usage": Reply("Hello!", usage={"input_tokens": 1000, "output_tokens": 7}),
    **{reason: Reply("Hel", finish_reason=reason) for reason in ("length", "content_filter")},
}

Asked = dict[str, dict[str, Any]]
"""Further fields of a request by the name of an API that can say a reply."""
DETAILED: dict[str, tuple[Reply, Asked]] = {
    "a citation of a page": (
        Reply("Hello!", citations=[Citation("https://a.example", "A", text="Hello")]),
        {"openai chat": {}, "openai responses": {}, "anthropic": {}, "google": {}},
    ),
    "a citation of a file": (
        Reply("Hello!", citations=[Citation(file_id="file-1", filename="a.txt")]),
        {"openai responses": {}, "google": {}},
    ),
    "a citation of a document": (
        Reply("Hello!", citations=[Citation(document_index=0, cited_text="Hel")]),
        {"anthropic": {"messages": DOCUMENT_MESSAGES}},
    ),
    "log probabilities": (
        Reply("Hello!", logprobs=[Logprob("Hel", -1, {"Hel": -1, "Hi": -2}), Logprob("lo!", 0.0)]),
        {
            "openai chat": {"logprobs": True, "top_logprobs": 2},
            "openai responses": {"top_logprobs": 2},
            "google": {"generationConfig": {"responseLogprobs": True, "logprobs": 2}},
            "mistral": {"logprobs": True, "top_logprobs": 2},
        },
    ),
    "a service tier": (
        Reply("Hello!", service_tier="priority"),
        {"openai chat": {}, "openai responses": {}, "anthropic": {}, "google": {}, "mistral": {}},
    ),
}
"""Replies with details, and the APIs that can say them."""
every_detail = pytest.mark.parametrize(
    ("api", "reply"),
    [
        pytest.param(
            APIS[name]._replace(body={**APIS[name].body, **more}), reply, id=f"{name}: {kind}"
        )
        for kind, (reply, asked) in DETAILED.items()
        for name, more in asked.items()
    ],
)

every_api = pytest.mark.parametrize(
    "api", [pytest.param(api, id=name) for name, api in APIS.items()]
)
every_reply = pytest.mark.parametrize(
    "reply", [pytest.param(reply, id=name) for name, reply in REPLIES.items()]
)


@every_api
@every_reply
def test_an_answer_is_what_the_sdk_says(api: API, reply: Any, mock_llm_responses: LLMMock) -> None:
    check_answer(api, reply, mock_llm_responses)


@every_detail
def test_an_answer_with_details_is_what_the_sdk_says(
    api: API, reply: Reply, mock_llm_responses: LLMMock
) -> None:
    check_answer(api, reply, mock_llm_responses)


def check_answer(api: API, reply: Any, mock: LLMMock) -> None:
    mock.set("m", reply)
    body = api.ask()
    assert "error" not in body or body["error"] is None
    assert problems(body, api.whole) == []


@every_api
@every_reply
def test_each_event_of_a_stream_is_what_the_sdk_says(
    api: API, reply: Any, mock_llm_responses: LLMMock
) -> None:
    check_events(api, reply, mock_llm_responses)


@every_detail
def test_each_event_of_a_stream_with_details_is_what_the_sdk_says(
    api: API, reply: Reply, mock_llm_responses: LLMMock
) -> None:
    check_events(api, reply, mock_llm_responses)


def check_events(api: API, reply: Any, mock: LLMMock) -> None:
    mock.set("m", reply)
    events = [
        event for event in api.stream() if event != {"type": "ping"}
    ]  # which Anthropic's types leave out
    assert [
        told for event in events for told in problems(event, api.event, event.get("type", "$"))
    ] == []
    assert events


def test_the_usage_of_a_stream_is_what_the_sdk_says(mock_llm_responses: LLMMock) -> None:
    api = APIS["openai chat"]
    mock_llm_responses.set("m", "Hello!")
    events = api._replace(body={**api.body, "stream_options": {"include_usage": True}}).stream()
    assert events[-1]["usage"]["completion_tokens"] == 2
    assert [told for event in events for told in problems(event, api.event)] == []


@pytest.mark.parametrize(
    "misbehaviour", ["rate-limit", "context-overflow", "invalid-key", "overloaded"]
)
@pytest.mark.parametrize("name", ["openai chat", "openai responses", "anthropic"])
def test_an_error_is_what_the_sdk_says(
    name: str, misbehaviour: str, mock_llm_calls: LLMMock
) -> None:
    mock_llm_calls.misbehave(misbehaviour)
    body = APIS[name].ask()
    if name == "anthropic":
        assert problems(body, anthropic.types.ErrorResponse) == []
    else:
        assert body.keys() == {"error"}
        assert problems(body["error"], openai.types.ErrorObject) == []


LOOKUPS = {
    "openai embeddings": (
        "https://api.openai.com/v1/embeddings",
        openai.types.CreateEmbeddingResponse,
    ),
    "openai model": ("https://api.openai.com/v1/models/m", openai.types.Model),
    "openai models": (
        "https://api.openai.com/v1/models",
        openai.pagination.SyncPage[openai.types.Model],
    ),
    "anthropic models": (
        "https://api.anthropic.com/v1/models",
        anthropic.pagination.SyncPage[anthropic.types.ModelInfo],
    ),
    "anthropic model": ("https://api.anthropic.com/v1/models/m", anthropic.types.ModelInfo),
    "anthropic tokens": (
        "https://api.anthropic.com/v1/messages/count_tokens",
        anthropic.types.MessageTokensCount,
    ),
    "google embeddings": (f"{GEMINI}batchEmbedContents", google.EmbedContentResponse),
    "google tokens": (f"{GEMINI}countTokens", google.CountTokensResponse),
    "mistral embeddings": (
        "https://api.mistral.ai/v1/embeddings",
        mistralai.client.models.EmbeddingResponse,
    ),
    "mistral models": ("https://api.mistral.ai/v1/models", mistralai.client.models.ModelList),
}


@pytest.mark.parametrize(("url", "model"), LOOKUPS.values(), ids=LOOKUPS)
def test_what_is_looked_up_is_what_the_sdk_says(
    url: str, model: Any, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("m", "Hello!")
    contents = [{"parts": [{"text": "Hello"}]}]
    google_asks = {"contents": contents, "requests": [{"content": contents[0]}]}
    body = {
        "model": "m",
        "input": "Hello",
        "messages": MESSAGES,
        **(google_asks if "googleapis" in url else {}),
    }
    response = (
        httpx.get(url) if "/models" in url and ":" not in url[8:] else httpx.post(url, json=body)
    )
    assert response.status_code == 200
    assert problems(response.json(), model) == []
