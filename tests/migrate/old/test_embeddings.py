"""Mocks of the vectors of texts."""

import asyncio
from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock, Mock, patch

import openai
import pytest
from assistants import embed, embed_and_answer, embed_async
from openai.types import CreateEmbeddingResponse, Embedding

VECTOR = [0.5, 0.5]


@pytest.fixture
def client():
    with patch("assistants.OpenAI") as client_class:
        yield client_class.return_value


def test_one(client):
    response = Mock()
    response.data = [Mock(embedding=[0.1, 0.2], index=0)]
    client.embeddings.create.return_value = response
    assert embed("a") == [[0.1, 0.2]]
    client.embeddings.create.assert_called_once_with(input=["a"], model="text-embedding-3-small")


def test_a_format(client):
    client.embeddings.create.return_value = MagicMock(data=[MagicMock(embedding=VECTOR, index=0)])
    assert embed("a", encoding_format="float") == [VECTOR]
    client.embeddings.create.assert_called_with(
        model="text-embedding-3-small", input=["a"], encoding_format="float"
    )
    assert client.embeddings.create.call_args.kwargs["encoding_format"] == "float"


def test_several(client):
    first = SimpleNamespace(embedding=[0.1] * 31, index=1)
    second = SimpleNamespace(embedding=[0.2] + [0.3, 0.4], index=0)
    client.embeddings.create.return_value = SimpleNamespace(data=[first, second])
    assert embed("a", "b") == [[0.2, 0.3, 0.4], [0.1] * 31]
    client.embeddings.create.assert_called_once()
    assert "dimensions" not in client.embeddings.create.call_args.kwargs


def test_types_of_the_sdk(client):
    client.embeddings.create.return_value = CreateEmbeddingResponse(
        data=[Embedding(embedding=[float(n) for n in range(2)], index=0, object="embedding")],
        model="text-embedding-3-small",
        object="list",
        usage={"prompt_tokens": 1, "total_tokens": 1},
    )
    assert embed("a") == [[0.0, 1.0]]


def test_one_after_the_other(client):
    client.embeddings.create.side_effect = [
        Mock(data=[Mock(embedding=[1.0], index=0)]),
        Mock(data=[Mock(embedding=[2.0], index=0)]),
        Mock(data=[Mock(embedding=[2.0], index=0)]),
    ]
    assert [embed("a"), embed("b"), embed("c")] == [[[1.0]], [[2.0]], [[2.0]]]
    assert client.embeddings.create.call_count == 3


def test_an_error(client):
    client.embeddings.create.side_effect = TimeoutError
    with pytest.raises((TimeoutError, openai.APIConnectionError)):
        embed("a")


def test_a_reply_after_an_error(client):
    client.embeddings.create.side_effect = TimeoutError
    with pytest.raises((TimeoutError, openai.APIConnectionError)):
        embed("a")
    client.embeddings.create.side_effect = None
    client.embeddings.create.return_value = Mock(data=[Mock(embedding=[1.0], index=0)])
    assert embed("a") == [[1.0]]


@patch("openai.resources.embeddings.Embeddings.create")
def test_the_method(create):
    create.return_value = Mock(data=[Mock(embedding=[1.0], index=0)])
    assert embed("a") == [[1.0]]


@patch("assistants.AsyncOpenAI")
def test_an_async_client(client_class):
    response = Mock(data=[Mock(embedding=[1.0])], usage=Mock(prompt_tokens=2, total_tokens=2))
    response.model = "text-embedding-3-small"
    client_class.return_value.embeddings.create = AsyncMock(return_value=response)
    assert asyncio.run(embed_async("a")) == ["text-embedding-3-small", 2, [1.0]]


def test_a_client_that_is_handed_in():
    client = Mock()
    client.embeddings.create.return_value = Mock(data=[{"embedding": [1.0], "index": 0}])
    client.embeddings.create.return_value.data = [Mock(embedding=[1.0], index=0)]
    assert embed("a", client=client) == [[1.0]]


def test_texts_and_vectors(client):
    client.embeddings.create.return_value = Mock(data=[Mock(embedding=[1.0], index=0)])
    client.chat.completions.create.return_value = Mock(
        choices=[Mock(message=Mock(content="Short"))]
    )
    assert embed_and_answer("a") == "Short [[1.0]]"
