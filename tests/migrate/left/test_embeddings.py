"""Mocks of vectors that have no certain meaning."""

from unittest.mock import Mock, patch

import openai
import pytest


@pytest.fixture
def create():
    with patch("openai.OpenAI") as client_class:
        yield client_class.return_value.embeddings.create


def response_of(vector):
    return Mock(data=[Mock(embedding=vector)])


def embed():
    return openai.OpenAI().embeddings.create(model="a", input="a")


def test_no_vectors(create):
    create.return_value = Mock(data=[])
    assert embed()


def test_no_data(create):
    create.return_value = Mock(usage=Mock(prompt_tokens=1, total_tokens=1))
    create.assert_called_once()


def test_a_missing_vector(create):
    create.return_value = Mock(data=[Mock(index=0)])
    assert embed()


def test_a_vector_of_a_call(create):
    create.return_value = response_of(embed())
    assert embed()


def test_a_list_with_a_mock(create):
    create.return_value = response_of([1.0, Mock(name="other")])
    assert embed()


def test_a_dict(create):
    create.return_value = response_of({"a": 1})
    assert embed()


def test_a_dict_of_a_loop(create):
    create.return_value = response_of({number: 1 for number in range(2)})
    assert embed()


def test_a_difference(create):
    create.return_value = response_of([1] - 1)
    assert embed()


def test_another_field(create):
    create.return_value = Mock(data=[Mock(embedding=[1.0], tokens=3)])
    assert embed()


def test_another_field_of_the_response(create):
    create.return_value = Mock(data=[Mock(embedding=[1.0])], vectors=1)
    assert embed()


def test_another_count(create):
    create.return_value = Mock(data=[Mock(embedding=[1.0])], usage=Mock(completion_tokens=1))
    assert embed()


def test_a_list(create):
    create.return_value = [[1.0]]
    assert embed()


def test_a_function(create):
    def vector_of(**options):
        return response_of([float(len(options["input"]))])

    create.side_effect = vector_of
    assert embed()


def test_a_format_that_the_sdk_sends(create):
    create.return_value = response_of([1.0])
    assert embed()
    assert "encoding_format" not in create.call_args.kwargs


def test_the_vectors_of_one_kind():
    with patch("openai.OpenAI") as client_class:
        client = client_class.return_value
        client.embeddings.create.return_value = response_of([1.0])
        client.chat.completions.create.return_value = Mock(
            choices=[Mock(message=Mock(content="Short"))]
        )
        assert embed()
        client.embeddings.create.assert_called_once()


def test_the_texts_of_one_kind():
    with patch("openai.OpenAI") as client_class:
        client = client_class.return_value
        client.embeddings.create.return_value = response_of([1.0])
        client.chat.completions.create.return_value = Mock(
            choices=[Mock(message=Mock(content="Short"))]
        )
        assert embed()
        assert client.chat.completions.create.call_count == 0
