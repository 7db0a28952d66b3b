"""Mocks of the Responses API that have no certain meaning."""

from types import SimpleNamespace
from unittest.mock import Mock, patch

import openai
import pytest


@pytest.fixture
def create():
    with patch("openai.OpenAI") as client_class:
        yield client_class.return_value.responses.create


def respond(**options):
    return openai.OpenAI().responses.create(model="a", input="a", **options)


def test_a_parsed_output(create):
    create.return_value = Mock(output_parsed={"city": "Bern"})
    assert respond()


def test_an_incomplete_response(create):
    create.return_value = Mock(output_text="Hi", status="incomplete")
    assert respond()


def test_two_texts(create):
    parts = [Mock(text="Hi"), Mock(text="you")]
    create.return_value = Mock(output=[Mock(content=parts)])
    assert respond()


def test_a_text_that_is_not_in_the_output(create):
    create.return_value = Mock(output_text="Hi", output=[Mock(content=[Mock(text="Ho")])])
    assert respond()


def test_a_call_without_arguments(create):
    create.return_value = Mock(output=[SimpleNamespace(name="weather", call_id="1")])
    assert respond()


def test_reasoning(create):
    create.return_value = Mock(output=[Mock(type="reasoning", summary=[])], output_text="Hi")
    assert respond()


def test_no_text(create):
    create.return_value = Mock(output_text=None)
    assert respond()


def test_data(create):
    create.return_value = Mock(output_text={"city": "Bern"})
    assert respond()


def test_another_event(create):
    create.return_value = [SimpleNamespace(type="response.completed")]
    assert respond(stream=True)


def test_an_event_without_a_type(create):
    create.return_value = [SimpleNamespace(delta="Hi")]
    assert respond(stream=True)


def test_two_methods():
    client = Mock()
    client.responses.create.return_value = Mock(output_text="Hi")
    client.chat.completions.create.return_value = Mock(choices=[Mock(message=Mock(content="Ho"))])
    with patch("openai.OpenAI", return_value=client):
        assert respond()
