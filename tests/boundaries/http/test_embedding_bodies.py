"""Requests for embeddings and token counts over HTTP: each form of a body, and the whole answer."""

from __future__ import annotations

import base64
import re
import struct
from typing import Any

import httpx
import llm
import openai
import pytest
from google import genai
from mistralai.client import Mistral

from llm_mock import InvalidReply, LLMMock
from llm_mock.boundaries.http.server import MockServer
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


def test_the_usage_of_mistral_has_an_empty_completion(mock: LLMMock) -> None:
    answer = httpx.post("https://api.mistral.ai/v1/embeddings", json={"model": "m", "input": "a"})
    usage = {"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1}
    assert answer.json()["usage"] == usage


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


@pytest.mark.parametrize(
    ("model", "length"),
    [
        # The length that each provider documents.
        ("text-embedding-3-small", 1536),
        ("openai/text-embedding-3-small", 1536),
        ("mistral-embed", 1024),
        ("gemini-embedding-001", 3072),
        # An id of `llm` for shorter vectors of a known model.
        ("text-embedding-3-large-256", 256),
        ("nobody-knows-256", 64),
        ("text-embedding-3-small-0", 64),
    ],
)
def test_a_vector_has_the_length_that_the_provider_documents(
    mock_llm_calls: LLMMock, model: str, length: int
) -> None:
    with openai.OpenAI() as client:
        [data] = client.embeddings.create(model=model, input="a").data
    assert len(data.embedding) == length
    assert len(llm.get_embedding_model(model).embed("a")) == length


def test_the_shorter_models_of_llm_have_their_own_length(mock_llm_calls: LLMMock) -> None:
    for model in llm.get_embedding_models():
        dimensions = getattr(model, "dimensions", None) or 0
        assert len(model.embed("a")) == dimensions


def test_mistral_is_asked_for_dimensions_by_its_own_name(mock_llm_calls: LLMMock) -> None:
    with Mistral(api_key="any") as client:
        answer = client.embeddings.create(model="codestral-embed", inputs="a", output_dimension=8)
    assert [len(item.embedding or ()) for item in answer.data] == [8]


def test_a_model_without_variable_dimensions_refuses_them(mock_llm_calls: LLMMock) -> None:
    with openai.OpenAI() as client, pytest.raises(openai.BadRequestError) as raised:
        client.embeddings.create(model="text-embedding-ada-002", input="a", dimensions=8)
    assert raised.value.body == {
        "message": "This model does not support specifying dimensions.",
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }


@pytest.mark.parametrize(
    ("model", "most"), [("text-embedding-3-small", 1536), ("text-embedding-3-large", 3072)]
)
def test_a_model_gives_no_more_dimensions_than_it_has(
    model: str, most: int, mock_llm_calls: LLMMock
) -> None:
    with openai.OpenAI() as client:
        answer = client.embeddings.create(model=model, input="a", dimensions=most)
        assert len(answer.data[0].embedding) == most
        with pytest.raises(openai.BadRequestError) as raised:
            client.embeddings.create(model=model, input="a", dimensions=most + 1)
    assert raised.value.body == {
        "message": (
            f"Invalid value for 'dimensions' = {most + 1}. Must be less than or equal to {most}."
        ),
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }


@pytest.mark.parametrize("name", ["my-model", "my-*", "*"])
def test_a_vector_is_set_for_every_library(mock_llm_responses: LLMMock, name: str) -> None:
    mock_llm_responses.set_embedding("*", "a", [0.0, 0.0])
    mock_llm_responses.set_embedding(name, "a", (1, 0.5))
    mock_llm_responses.set_embedding(name, b"a", [0.0, 1.0])
    with openai.OpenAI() as client:
        first, second = client.embeddings.create(model="my-model", input=["a", "b"]).data
    assert (first.embedding, len(second.embedding)) == ([1.0, 0.5], 2)
    google = genai.Client()
    embedded = google.models.embed_content(model="my-model", contents="a").embeddings or []
    assert [item.values for item in embedded] == [[1.0, 0.5]]
    model = llm.get_embedding_model("my-model")
    assert (model.embed("a"), model.embed(b"a")) == ([1.0, 0.5], [0.0, 1.0])
    mock_llm_responses.get_embedding_model("my-model").set("a", [1.0, 1.0])
    assert model.embed("a") == [1.0, 1.0]


def test_a_vector_is_set_for_programs_at_the_server(
    mock_llm_responses: LLMMock, llm_mock_server: MockServer
) -> None:
    mock_llm_responses.set_embedding("my-model", "a", [1.0, 0.5])
    with openai.OpenAI(base_url=llm_mock_server.openai_url, api_key="any") as client:
        [data] = client.embeddings.create(model="my-model", input="a").data
    assert data.embedding == [1.0, 0.5]


@pytest.mark.parametrize(
    ("item", "vector", "message"),
    [
        (1, [1.0], "Only str and bytes can be embedded, not 1"),
        ("a", [], "Expected a vector of the model, got 0 values"),
        ("a", "ab", "must be a list of numbers, not 'ab'"),
        ("a", None, "must be a list of numbers, not null"),
        ({}, None, "Only str and bytes can be embedded, not {}"),
        ({"a": [1.0]}, [1.0], 'Only str and bytes can be embedded, not {"a": '),
        ({1: [1.0]}, None, "Only str and bytes can be embedded, not 1"),
        ({"a": "ab"}, None, "must be a list of numbers, not 'ab'"),
        ("a", [float("nan")], "1 values"),
        ("a", [True], "1 values"),
    ],
)
def test_what_is_no_vector_is_refused(
    mock_llm_responses: LLMMock, item: Any, vector: Any, message: str
) -> None:
    with pytest.raises(InvalidReply, match=re.escape(message)):
        mock_llm_responses.set_embedding("m", item, vector)


WRONG_LENGTH = {
    "http": (
        "openai.OpenAI().embeddings.create(model='text-embedding-3-small', input='a')",
        "*The vector for 'a' has 64 numbers, but this request to "
        "'text-embedding-3-small' needs 1536. Set a vector of 1536 numbers, or set another length "
        "in mock.get_embedding_model('text-embedding-3-small').dimensions.  "
        "(test_it.py:3)",
    ),
    "http, with dimensions": (
        "openai.OpenAI().embeddings.create(model='unknown', input='a', dimensions=8)",
        "*The vector for 'a' has 64 numbers, but this request to 'unknown' needs 8. "
        "Set a vector of 8 numbers*",
    ),
    "llm": (
        "llm.get_embedding_model('text-embedding-3-small').embed('a')",
        "*The vector for 'a' has 64 numbers, *'text-embedding-3-small'*",
    ),
}


@pytest.mark.parametrize("way", WRONG_LENGTH)
def test_a_vector_of_another_length_than_asked_for_fails_the_test(
    way: str, pytester: pytest.Pytester
) -> None:
    ask, message = WRONG_LENGTH[way]
    pytester.makepyfile(
        test_it=f"""
        import llm, openai
        def test_it(mock_llm_responses):
            mock_llm_responses.set_embedding("*", "a", [1.0] * 64)
            try:
                {ask}
            except Exception:
                pass
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([message])


@pytest.mark.parametrize("numbers", [1, 2, 63])
def test_zeros_follow_the_numbers_of_a_short_vector(
    mock_llm_responses: LLMMock, numbers: int
) -> None:
    mock_llm_responses.set_embedding("text-embedding-3-small", "a", [1.0] * numbers)
    with openai.OpenAI() as client:
        answer = client.embeddings.create(model="text-embedding-3-small", input="a")
    assert answer.data[0].embedding == [1.0] * numbers + [0.0] * (1536 - numbers)


def test_a_short_vector_is_not_cut(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_embedding("m", "a", [1.0, 0.5, 0.25])
    with openai.OpenAI(max_retries=0) as client, pytest.raises(openai.BadRequestError, match="3 n"):
        client.embeddings.create(model="m", input="a", dimensions=2)
    mock_llm_responses.reset()


def test_the_vectors_of_several_texts_are_set_at_once(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_embedding("m", {"north": [0, 1], b"south": (0, -1)})
    mock_llm_responses.set_embedding("m", {"east": [1, 0]})
    model = mock_llm_responses.get_embedding_model("m")
    assert model.embed("north") == [0.0, 1.0]
    assert model.embed(b"south") == [0.0, -1.0]
    assert model.embed("east") == [1.0, 0.0]


def test_a_request_for_the_length_of_the_vector_gets_it(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_embedding("text-embedding-3-*", "a", [1.0, 0.5])
    with openai.OpenAI() as client:
        answer = client.embeddings.create(model="text-embedding-3-large", input="a", dimensions=2)
    assert answer.data[0].embedding == [1.0, 0.5]


def test_vectors_reach_processes_and_the_tests_of_a_run(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        def pytest_llm_mock_configure(config, mock):
            mock.set_embedding("m", "run", [1, 0])
        """
    )
    pytester.makepyfile(
        """
        import subprocess, sys
        import llm, pytest

        @pytest.mark.llm_mock_strict
        def test_it(mock_llm_responses):
            mock_llm_responses.set_embedding("m", "test", [0, 1])
            model = llm.get_embedding_model("m")
            assert (model.embed("run"), model.embed("test")) == ([1, 0], [0, 1])
            code = "import llm; print(llm.get_embedding_model('m').embed('test'))"
            printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            assert printed.stdout == "[0.0, 1.0]\\n", printed.stderr
        """
    )
    pytester.runpytest("-Werror").assert_outcomes(passed=1)


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
            told = "Invalid value for 'outputDimensionality' = 0. Must be between 1 and "
            assert answer.json()["error"]["message"].startswith(told)
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
