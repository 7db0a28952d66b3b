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


def test_an_error_of_the_response(create):
    create.return_value = Mock(output_text="Hi", error=Mock(code="server_error"))
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


def test_two_summaries(create):
    summaries = [Mock(text="First"), Mock(text="Then")]
    create.return_value = Mock(output=[Mock(summary=summaries)], output_text="Hi")
    assert respond()


def test_no_text(create):
    create.return_value = Mock(output_text=None)
    assert respond()


def test_data(create):
    create.return_value = Mock(output_text={"city": "Bern"})
    assert respond()


def test_another_event(create):
    create.return_value = [SimpleNamespace(type="response.failed")]
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


def test_a_status_that_is_a_mock(create):
    create.return_value = Mock(output_text="Hi", status=Mock(value="completed"))
    assert respond()


def test_a_name_that_is_a_mock(create):
    call = SimpleNamespace(name=Mock(value="weather"), arguments="{}")
    create.return_value = Mock(output=[call])
    assert respond()


def test_arguments_that_are_a_mock(create):
    call = SimpleNamespace(name="weather", arguments=Mock(value="{}"))
    create.return_value = Mock(output=[call])
    assert respond()


def test_an_id_that_is_a_mock(create):
    call = SimpleNamespace(name="weather", arguments="{}", call_id=Mock(value="1"))
    create.return_value = Mock(output=[call])
    assert respond()


def test_a_text_that_is_a_mock(create):
    create.return_value = Mock(output=[Mock(content=[Mock(text=Mock(value="Hi"))])])
    assert respond()


def test_a_whole_text_that_is_a_mock(create):
    create.return_value = Mock(output_text=Mock(value="Hi"))
    assert respond()


def test_a_type_that_is_a_mock(create):
    create.return_value = [SimpleNamespace(type=Mock(value="text"), delta="Hi")]
    assert respond(stream=True)


def test_a_part_that_is_a_mock(create):
    create.return_value = [
        SimpleNamespace(type="response.output_text.delta", delta=Mock(value="Hi"))
    ]
    assert respond(stream=True)


def test_an_output_without_a_list(create):
    create.return_value = Mock(output="Hi")
    assert respond()


def test_a_content_without_a_list(create):
    create.return_value = Mock(output=[Mock(content="Hi")])
    assert respond()


def test_an_unknown_part_of_a_content(create):
    create.return_value = Mock(output=[Mock(content=[Mock(refusal="No")])])
    assert respond()


def test_an_unknown_part_of_an_event(create):
    create.return_value = [SimpleNamespace(obfuscation="x")]
    assert respond(stream=True)


def test_no_events(create):
    create.return_value = []
    assert respond(stream=True)


def test_usage_in_other_words(create):
    create.return_value = Mock(output_text="Hi", usage=Mock(prompt_tokens=1, total_tokens=2))
    assert respond()
