"""Mocks of the vectors of texts."""

import asyncio

import openai
import pytest
from assistants import embed, embed_and_answer, embed_async

VECTOR = [0.5, 0.5]


def test_one(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.on("POST", "/**/embeddings", {"data": [{"index": 0, "embedding": [0.1, 0.2]}]})
    assert embed("a") == [[0.1, 0.2]]
    mock_llm_calls.assert_called_once()
    assert mock_llm_calls.last_call.request.body == {"input": ["a"], "model": "text-embedding-3-small", "encoding_format": "base64"}


def test_a_format(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.on("POST", "/**/embeddings", {"data": [{"index": 0, "embedding": VECTOR}]})
    assert embed("a", encoding_format="float") == [VECTOR]
    assert mock_llm_calls.last_call.request.body == {
        "model": "text-embedding-3-small",
        "input": ["a"],
        "encoding_format": "float",
    }
    assert mock_llm_calls.last_call.request.body["encoding_format"] == "float"


def test_several(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.on("POST", "/**/embeddings", {"data": [{"index": 1, "embedding": [0.1] * 31}, {"index": 0, "embedding": [0.2, 0.3, 0.4]}]})
    assert embed("a", "b") == [[0.2, 0.3, 0.4], [0.1] * 31]
    mock_llm_calls.assert_called_once()
    assert "dimensions" not in mock_llm_calls.last_call.request.body


def test_types_of_the_sdk(mock_llm_responses):
    mock_llm_responses.on("POST", "/**/embeddings", {"data": [{"index": 0, "embedding": [float(n) for n in range(2)]}], "model": "text-embedding-3-small", "usage": {"prompt_tokens": 1, "total_tokens": 1}})
    assert embed("a") == [[0.0, 1.0]]


def test_one_after_the_other(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.on("POST", "/**/embeddings", {"data": [{"index": 0, "embedding": [1.0]}]}, times=1)
    mock_llm_responses.on("POST", "/**/embeddings", {"data": [{"index": 0, "embedding": [2.0]}]}, times=2)
    assert [embed("a"), embed("b"), embed("c")] == [[[1.0]], [[2.0]], [[2.0]]]
    assert len(mock_llm_calls.calls) == 3


def test_an_error(mock_llm_responses):
    mock_llm_responses.on("POST", "/**/embeddings", TimeoutError)
    with pytest.raises((TimeoutError, openai.APIConnectionError)):
        embed("a")


def test_a_reply_after_an_error(mock_llm_responses):
    mock_llm_responses.on("POST", "/**/embeddings", TimeoutError)
    with pytest.raises((TimeoutError, openai.APIConnectionError)):
        embed("a")
    mock_llm_responses.on("POST", "/**/embeddings", {"data": [{"index": 0, "embedding": [1.0]}]})
    assert embed("a") == [[1.0]]


def test_the_method(mock_llm_responses):
    mock_llm_responses.on("POST", "/**/embeddings", {"data": [{"index": 0, "embedding": [1.0]}]})
    assert embed("a") == [[1.0]]


def test_an_async_client(mock_llm_responses):
    mock_llm_responses.on("POST", "/**/embeddings", {"data": [{"index": 0, "embedding": [1.0]}], "model": "text-embedding-3-small", "usage": {"prompt_tokens": 2, "total_tokens": 2}})
    assert asyncio.run(embed_async("a")) == ["text-embedding-3-small", 2, [1.0]]


def test_a_client_that_is_handed_in(mock_llm_responses):
    client = openai.OpenAI()
    mock_llm_responses.on("POST", "/**/embeddings", {"data": [{"index": 0, "embedding": [1.0]}]})
    assert embed("a", client=client) == [[1.0]]


def test_texts_and_vectors(mock_llm_responses):
    mock_llm_responses.on("POST", "/**/embeddings", {"data": [{"index": 0, "embedding": [1.0]}]})
    mock_llm_responses.set("*", "Short")
    assert embed_and_answer("a") == "Short [[1.0]]"
