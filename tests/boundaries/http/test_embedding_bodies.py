"""Requests for embeddings and token counts over HTTP: each form of a body, and the whole answer."""

from __future__ import annotations

import base64
import struct
from typing import Any

import httpx
import openai
import pytest

from llm_mock import LLMMock
from llm_mock.core.provider_error import ProviderError

OPENAI = "https://api.openai.com/v1/embeddings"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/m"
VECTORS = {"a": [1.0, 0.5], "b": [0.0, -1.0]}


@pytest.fixture
def mock(mock_llm_calls: LLMMock) -> LLMMock:
    """Return a mock with two vectors, and those of all other texts of two dimensions."""
    model = mock_llm_calls.get_embedding_model("m")
    model.dimensions = 2
    for text, vector in VECTORS.items():
        model.set(text, vector)
    return mock_llm_calls


def items_of(mock: LLMMock) -> list[Any]:
    return [call["items"] for call in mock.get_embedding_model("m").call_history]


@pytest.mark.parametrize(
    ("given", "items", "tokens"),
    [
        ({"input": "a"}, ["a"], 1),
        ({"input": ["a", "b"]}, ["a", "b"], 2),
        ({"inputs": ["a"]}, ["a"], 1),
        ({"input": "x" * 40}, ["x" * 40], 10),
        ({"input": [1, 22]}, ["1 22"], 2),
        ({"input": [[1, 22], [3]]}, ["1 22", "3"], 3),
    ],
)
def test_each_form_of_input_is_embedded(
    mock: LLMMock, given: dict[str, Any], items: list[str], tokens: int
) -> None:
    answer = httpx.post(OPENAI, json={"model": "m", **given})
    body = answer.json()
    vectors = [each.pop("embedding") for each in body["data"]]
    assert body == {
        "object": "list",
        "data": [{"object": "embedding", "index": index} for index in range(len(items))],
        "model": "m",
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
    assert items_of(mock) == [items]
    known = [VECTORS[item] for item in items if item in VECTORS]
    assert [vector for vector in vectors if vector in VECTORS.values()] == known
    assert {len(vector) for vector in vectors} == {2}


def test_a_vector_in_base64_is_of_little_endian_floats(mock: LLMMock) -> None:
    body = {"model": "m", "input": "a", "encoding_format": "base64"}
    [data] = httpx.post(OPENAI, json=body).json()["data"]
    assert struct.unpack("<2f", base64.b64decode(data["embedding"])) == (1.0, 0.5)


@pytest.mark.parametrize("input_", [None, "", []])
def test_embeddings_of_nothing_are_refused(mock: LLMMock, input_: Any) -> None:
    answer = httpx.post(OPENAI, json={"model": "m", "input": input_})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "input"
    assert items_of(mock) == []


@pytest.mark.parametrize(
    ("dimensions", "length"),
    [(None, 64), (1, 1), (100_000, 100_000), (0, None), (-1, None), (100_001, None), (True, None)],
)
def test_dimensions_have_limits(
    mock_llm_calls: LLMMock, dimensions: Any, length: int | None
) -> None:
    body = {"model": "m", "input": "x", "dimensions": dimensions}
    answer = httpx.post(OPENAI, json=body)
    if length is None:
        assert answer.status_code == 400
        assert "dimensions" in answer.json()["error"]["message"]
    else:
        assert len(answer.json()["data"][0]["embedding"]) == length


PARTS = {"parts": [{"text": "a"}]}


@pytest.mark.parametrize(
    ("content", "item"),
    [
        ("a", "a"),
        (PARTS, "a"),
        ({"parts": {"text": "a"}}, "a"),
        ({"parts": [{"text": "a"}, {"text": "b"}]}, "a\nb"),
        ({"parts": [{"inlineData": {"mimeType": "image/png", "data": "YQ=="}}]}, ""),
    ],
)
def test_each_form_of_content_is_embedded_by_google(mock: LLMMock, content: Any, item: str) -> None:
    answer = httpx.post(f"{GEMINI}:embedContent", json={"content": content}).json()
    assert list(answer) == ["embedding"]
    assert list(answer["embedding"]) == ["values"]
    assert answer["embedding"]["values"] == VECTORS.get(item, answer["embedding"]["values"])
    assert items_of(mock) == [[item]]


def test_a_batch_is_embedded_by_google(mock: LLMMock) -> None:
    requests = [{"model": "models/m", "content": {"parts": [{"text": text}]}} for text in "ab"]
    answer = httpx.post(f"{GEMINI}:batchEmbedContents", json={"requests": requests}).json()
    assert answer == {"embeddings": [{"values": VECTORS["a"]}, {"values": VECTORS["b"]}]}
    assert items_of(mock) == [["a", "b"]]
    assert httpx.post(f"{GEMINI}:batchEmbedContents", json={"requests": []}).json() == {
        "embeddings": []
    }


@pytest.mark.parametrize(
    ("more", "length"),
    [
        ({}, 64),
        ({"outputDimensionality": 3}, 3),
        ({"output_dimensionality": 3}, 3),
        ({"embedContentConfig": {"outputDimensionality": 3}}, 3),
        ({"outputDimensionality": 0}, None),
    ],
)
def test_google_takes_the_dimensions_of_the_first_request(
    mock_llm_calls: LLMMock, more: dict[str, Any], length: int | None
) -> None:
    for path, body in (
        ("embedContent", {"content": PARTS, **more}),
        ("batchEmbedContents", {"requests": [{"content": PARTS, **more}, {"content": PARTS}]}),
    ):
        answer = httpx.post(f"{GEMINI}:{path}", json=body)
        if length is None:
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, 400)
            assert "outputDimensionality" in answer.json()["error"]["message"]
            continue
        embeddings = answer.json().get("embeddings") or [answer.json()["embedding"]]
        assert {len(each["values"]) for each in embeddings} == {length}


@pytest.mark.parametrize(
    ("url", "body", "status", "words"),
    [
        (OPENAI, {"input": "a"}, 429, "Rate limit reached for m"),
        (f"{GEMINI}:embedContent", {"content": PARTS}, 429, "You exceeded your current quota"),
        ("https://api.mistral.ai/v1/embeddings", {"input": "a"}, 429, "Rate limit exceeded"),
        ("https://api.together.xyz/v1/embeddings", {"input": "a"}, 429, "Rate limit reached for m"),
    ],
)
def test_an_error_of_an_embedding_model_is_that_of_its_provider_and_recorded(
    mock: LLMMock, url: str, body: dict[str, Any], status: int, words: str
) -> None:
    model = mock.get_embedding_model("m")
    model.set_error(ProviderError("rate_limit"))
    answer = httpx.post(url, json={"model": "m", **body}, headers={"authorization": "Bearer k1"})
    assert answer.status_code == status
    assert words in answer.text
    [call] = model.call_history
    assert call["error"].startswith(f"Error code: {status} - {words}")
    assert call["key"] == "k1"


def test_an_error_without_a_message_is_recorded_by_its_class(mock: LLMMock) -> None:
    model = mock.get_embedding_model("m")
    model.set_error(ConnectionError())
    with openai.OpenAI(max_retries=0) as client, pytest.raises(openai.APIConnectionError):
        client.embeddings.create(model="m", input="a")
    [call] = model.call_history
    assert call["error"] == "ConnectionError"


@pytest.mark.parametrize(
    ("url", "body", "answer"),
    [
        (
            "https://api.anthropic.com/v1/messages/count_tokens",
            {"model": "m", "messages": [{"role": "user", "content": "x" * 40}]},
            {"input_tokens": 10},
        ),
        (
            "https://api.openai.com/v1/responses/input_tokens",
            {"model": "m", "input": "x" * 44},
            {"object": "response.input_tokens", "input_tokens": 11},
        ),
        (
            f"{GEMINI}:countTokens",
            {"contents": [{"role": "user", "parts": [{"text": "x" * 48}]}]},
            {"totalTokens": 12},
        ),
    ],
)
def test_tokens_are_counted_in_the_form_of_each_api(
    mock: LLMMock, url: str, body: dict[str, Any], answer: dict[str, Any]
) -> None:
    assert httpx.post(url, json=body).json() == answer
    assert mock.calls == []
