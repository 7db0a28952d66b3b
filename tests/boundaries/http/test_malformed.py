"""Malformed requests: answered as the providers do, whatever in a body has the wrong type."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx
import openai
import pytest
from google import genai

from llm_mock import LLMMock

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
PNG = "iVBORw0KGgo="
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION = {"name": "weather", "description": "Says it.", "parameters": SCHEMA}
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
AUDIO = {"type": "input_audio", "input_audio": {"data": PNG, "format": "wav"}}
FILE = {
    "type": "file",
    "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PNG}"},
}
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": "Bern"}'},
}
CHAT = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hello"}, IMAGE, AUDIO, FILE]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "warm"},
    ],
    "tools": [{"type": "function", "function": FUNCTION}],
    "tool_choice": {"type": "function", "function": {"name": "weather"}},
    "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}},
    **{
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "n": 1,
        "max_tokens": 9,
    },
}
RESPONSES = {
    "model": "m",
    "input": [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Hello"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
                {"type": "input_file", "file_data": f"data:application/pdf;base64,{PNG}"},
                AUDIO,
            ],
        },
        {"type": "function_call", "call_id": "c", "name": "weather", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "c",
            "output": [{"type": "input_text", "text": "warm"}],
        },
    ],
    **{
        "instructions": "Be brief.",
        "previous_response_id": None,
        "stream": False,
        "reasoning": {"effort": "low"},
    },
    "tools": [{"type": "function", **FUNCTION}],
    "tool_choice": {"type": "function", "name": "weather"},
    "text": {"format": {"type": "json_schema", "name": "a", "schema": SCHEMA}},
    "metadata": {"a": "b"},
}
SOURCE = {"type": "base64", "media_type": "image/png", "data": PNG}
MESSAGES = {
    **{
        "model": "m",
        "max_tokens": 9,
        "system": [{"type": "text", "text": "Be brief."}],
        "stream": False,
    },
    "messages": [
        {
            "role": "user",
            "content": [{"type": "text", "text": "Hello"}, {"type": "image", "source": SOURCE}],
        },
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "weather", "input": {"a": 1}}],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t",
                    "content": [{"type": "text", "text": "warm"}],
                }
            ],
        },
    ],
    "tools": [{"name": "weather", "description": "Says it.", "input_schema": SCHEMA}],
    "tool_choice": {"type": "tool", "name": "weather"},
    "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    "metadata": {"user_id": "a"},
}
GEMINI = {
    "contents": [
        {
            "role": "user",
            "parts": [{"text": "Hello"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}],
        },
        {
            "role": "model",
            "parts": [{"functionCall": {"id": "c", "name": "weather", "args": {"city": "Bern"}}}],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "weather", "response": {"result": "warm"}}}],
        },
        {"role": "user", "parts": [{"fileData": {"fileUri": "gs://a/b", "mimeType": "image/png"}}]},
    ],
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "tools": [{"functionDeclarations": [FUNCTION]}],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]}},
    "generationConfig": {
        "temperature": 0.5,
        "responseMimeType": "application/json",
        "responseSchema": SCHEMA,
    },
}
MISTRAL = {
    "model": "m",
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Hello"},
                {"type": "image_url", "image_url": "https://a"},
            ],
        },
        {"role": "user", "content": [{"type": "document_url", "document_url": "https://a"}]},
        {
            "role": "user",
            "content": [
                {"type": "input_audio", "input_audio": PNG},
                {"type": "file", "file_id": "a"},
            ],
        },
    ],
    "tools": [{"type": "function", "function": FUNCTION}],
    "tool_choice": "any",
}
URL_PART = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
COHERE = {
    "model": "m",
    "messages": [
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "text", "text": "Hello"}, URL_PART]},
        {
            "role": "assistant",
            "tool_plan": "I look.",
            "content": [{"type": "thinking", "thinking": "Hm."}],
            "tool_calls": [
                {
                    "id": "1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": "{}"},
                }
            ],
        },
        {
            "role": "tool",
            "tool_call_id": "1",
            "content": [{"type": "document", "document": {"id": "1", "data": {"a": 1}}}],
        },
    ],
    "documents": ["a", {"id": "b", "data": {"c": 1}}],
    "tools": [{"type": "function", "function": FUNCTION}],
    "response_format": {"type": "text", "json_schema": SCHEMA},
    "tool_choice": "REQUIRED",
    "thinking": {"type": "enabled"},
    "temperature": 0.5,
    "k": 1,
    "p": 0.5,
    "stop_sequences": ["a"],
    "stream": False,
}
OLLAMA = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello", "images": [PNG]},
        {
            "role": "assistant",
            "content": "a",
            "thinking": "b",
            "tool_calls": [{"id": "1", "function": {"name": "weather", "arguments": {"a": 1}}}],
        },
        {"role": "tool", "tool_name": "weather", "tool_call_id": "1", "content": "c"},
    ],
    "tools": [{"type": "function", "function": FUNCTION}],
    "format": SCHEMA,
    "options": {"temperature": 0.5},
    "keep_alive": 5,
    "think": "high",
    "stream": False,
}
AWS_IMAGE = {"image": {"format": "png", "source": {"bytes": PNG}}}
CONVERSE = {
    "system": [{"text": "Be brief."}, {"guardContent": {"text": {"text": "Be kind."}}}],
    "messages": [
        {
            "role": "user",
            "content": [
                {"text": "Hello"},
                AWS_IMAGE,
                {"document": {"format": "pdf", "name": "a", "source": {"text": "a"}}},
                {"document": {"name": "b", "source": {"content": [{"text": "b"}]}}},
                {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://a"}}}},
                {"guardContent": AWS_IMAGE},
                {"searchResult": {"content": [{"text": "c"}]}},
                {"cachePoint": {"type": "default"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "d", "signature": "e"}}},
                {"citationsContent": {"content": [{"text": "f"}]}},
                {"toolUse": {"toolUseId": "t", "name": "weather", "input": {"a": 1}}},
            ],
        },
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "t", "content": [{"json": {}}, AWS_IMAGE]}}],
        },
    ],
    "inferenceConfig": {"maxTokens": 9, "stopSequences": ["a"]},
    "toolConfig": {
        "tools": [{"toolSpec": {"name": "weather", "inputSchema": {"json": SCHEMA}}}],
        "toolChoice": {"tool": {"name": "weather"}},
    },
    "outputConfig": {"textFormat": {"structure": {"jsonSchema": {"schema": "{}", "name": "a"}}}},
    "performanceConfig": {"latency": "optimized"},
}
CLAUDE = {name: value for name, value in MESSAGES.items() if name not in ("model", "stream")}
AWS = "https://bedrock-runtime.us-east-1.amazonaws.com/model"
CONTENT = {"parts": [{"text": "Hello"}]}
GOOGLE = "https://generativelanguage.googleapis.com/v1beta/models/m"
BODIES: dict[str, tuple[str, Any]] = {
    "chat": ("https://api.openai.com/v1/chat/completions", CHAT),
    "responses": ("https://api.openai.com/v1/responses", RESPONSES),
    "messages": ("https://api.anthropic.com/v1/messages", MESSAGES),
    "gemini": (f"{GOOGLE}:generateContent", GEMINI),
    "mistral": ("https://api.mistral.ai/v1/chat/completions", MISTRAL),
    "converse": (f"{AWS}/m/converse", CONVERSE),
    "converse, streamed": (f"{AWS}/m/converse-stream", CONVERSE),
    "claude": (f"{AWS}/anthropic.m/invoke", {**CLAUDE, "anthropic_version": "a"}),
    "nova": (f"{AWS}/amazon.nova-m/invoke", CONVERSE),
    "llama": (f"{AWS}/meta.m/invoke", {"prompt": "a", "max_gen_len": 9, "temperature": 0.5}),
    "ollama": ("https://ollama.com/api/chat", OLLAMA),
    "ollama completion": (
        "https://ollama.com/api/generate",
        {
            "model": "m",
            "prompt": "a",
            "system": "b",
            "images": [PNG],
            "format": "json",
            "options": {"seed": 1},
            "raw": False,
            "context": [1],
            "think": True,
            "top_logprobs": 1,
            "stream": False,
        },
    ),
    "ollama embeddings": (
        "https://ollama.com/api/embed",
        {"model": "m", "input": ["a"], "dimensions": 8, "truncate": True},
    ),
    "ollama older embeddings": (
        "https://ollama.com/api/embeddings",
        {"model": "m", "prompt": "a", "options": {"seed": 1}},
    ),
    "cohere": ("https://api.cohere.com/v2/chat", COHERE),
    "cohere embeddings": (
        "https://api.cohere.com/v2/embed",
        {
            "model": "m",
            "texts": ["a"],
            "images": ["data:image/png;base64,"],
            "inputs": [{"content": [{"type": "text", "text": "a"}, URL_PART]}],
            "input_type": "search_query",
            "embedding_types": ["float", "int8"],
            "output_dimension": 8,
        },
    ),
    "cohere ranking": (
        "https://api.cohere.com/v1/rerank",
        {"model": "m", "query": "a", "documents": ["a", {"text": "b"}], "top_n": 1},
    ),
    "openrouter": ("https://openrouter.ai/api/v1/chat/completions", CHAT),
    "embeddings": (
        "https://api.openai.com/v1/embeddings",
        {"model": "m", "input": ["a", [1, 2]], "dimensions": 8},
    ),
    "mistral embeddings": ("https://api.mistral.ai/v1/embeddings", {"model": "m", "input": "a"}),
    "gemini embedding": (f"{GOOGLE}:embedContent", {"content": CONTENT, "outputDimensionality": 8}),
    "gemini embeddings": (f"{GOOGLE}:batchEmbedContents", {"requests": [{"content": CONTENT}]}),
    "anthropic tokens": ("https://api.anthropic.com/v1/messages/count_tokens", MESSAGES),
    "gemini tokens": (f"{GOOGLE}:countTokens", {"contents": [CONTENT]}),
}
INSTEAD: list[Any] = [None, 5, 1.5, True, "x", [], {}, [5], [None], {"a": 1}]


def positions(value: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the paths to all values in a body."""
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in items:
        yield (key,)
        yield from ((key, *path) for path in positions(item))


def replace_with_each(body: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    """Yield each value of `INSTEAD`, and the body that has it at a path until the next one."""
    changed = copy.deepcopy(body)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    for value in INSTEAD:
        inner[path[-1]] = value
        yield value, changed


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.llm_mock_strict("warn")
def test_whatever_is_wrong_in_a_body_is_answered_as_a_provider_does(
    name: str, mock_llm_calls: LLMMock
) -> None:
    url, body = BODIES[name]
    statuses = set()
    with httpx.Client() as client:
        for path in positions(body):
            for value, changed in replace_with_each(body, path):
                response = client.post(url, json=changed)
                assert response.status_code in (200, 400, 404, 422), (path, value, response.text)
                statuses.add(response.status_code)
        assert client.post(url, json=body).status_code == 200
    assert {200, 400} <= statuses or {200, 422} <= statuses
    assert mock_llm_calls.problems == []


HELLO = [{"role": "user", "content": "Hello"}]


@pytest.mark.parametrize(
    ("name", "body", "status", "told"),
    [
        (
            "chat",
            {"model": "m", "messages": [{"role": "user", "content": 5}]},
            400,
            "Invalid type for 'messages[0].content': expected one of a string or array of objects, "
            "but got an integer "
            "instead.",
        ),
        (
            "chat",
            {"model": "m", "messages": HELLO, "tools": 5},
            400,
            "Invalid type for 'tools': expected an array of objects, but got an integer instead.",
        ),
        (
            "responses",
            {"model": "m", "input": "Hello", "previous_response_id": ["a"]},
            400,
            "Invalid type for 'previous_response_id': expected a string, but got an array instead.",
        ),
        (
            "messages",
            {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": 5}]},
            400,
            "messages.0.content: Input should be a valid list",
        ),
        ("messages", {"max_tokens": 9, "messages": HELLO}, 400, "model: Field required"),
        (
            "gemini",
            {"contents": [{"parts": [{"text": 5}]}]},
            400,
            "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 5",
        ),
        (
            "responses",
            {"model": "m", "messages": HELLO},
            400,
            "In the Responses API, this parameter has moved to 'input'.",
        ),
        ("responses", {"model": "m"}, 400, "Missing required parameter: 'input'."),
        ("gemini", {}, 400, "contents is not specified"),
        *(
            (
                "mistral",
                {"model": "m", "messages": HELLO, name: "warm"},
                422,
                "Input should be a valid number",
            )
            for name in ("temperature", "frequency_penalty")
        ),
        *(
            (
                api,
                {"model": "m", field: HELLO, name: value},
                400,
                f"Invalid type for '{name}': expected {expected} instead.",
            )
            for api, field in (("chat", "messages"), ("responses", "input"))
            for name, value, expected in (
                ("temperature", "hot", "a decimal, but got a string"),
                ("top_logprobs", 1.5, "an integer, but got a decimal number"),
                ("store", "yes", "a boolean, but got a string"),
            )
        ),
        ("embeddings", {"model": "m"}, 400, "Missing required parameter: 'input'."),
        (
            "embeddings",
            {"model": "m", "input": "a", "dimensions": -1},
            400,
            "Invalid value for 'dimensions' = -1.",
        ),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_the_provider(
    name: str, body: Any, status: int, told: str
) -> None:
    response = httpx.post(BODIES[name][0], json=body)
    assert response.status_code == status
    assert told in json.dumps(response.json(), ensure_ascii=False)


def test_the_sdks_raise_their_own_exceptions() -> None:
    wrong: Any = [{"role": "user", "content": 5}]
    with pytest.raises(openai.BadRequestError, match="Invalid type for") as openais:
        openai.OpenAI(max_retries=0).chat.completions.create(model="m", messages=wrong)
    assert (openais.value.param, openais.value.code) == ("messages[0].content", "invalid_type")
    with pytest.raises(anthropic.BadRequestError, match="Input should be a valid list"):
        anthropic.Anthropic(max_retries=0).messages.create(model="m", max_tokens=9, messages=wrong)
    google = genai.Client()
    with pytest.raises(genai.errors.ClientError, match="between 1 and"):
        google.models.embed_content(model="m", contents="a", config={"output_dimensionality": -1})
