"""Clients of Gemini and Mistral that are patched or handed to the application."""

from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock, Mock, patch

import pytest
import translators
from google.genai import errors, types
from translators import complete, complete_later, is_cut_off, stream, translate, translate_later

FAULTS = ("", "prompt", "answer", "model", "twice", "no call")
MESSAGES = [{"role": "user", "content": "Hello"}]


@patch("translators.genai.Client")
def test_a_patched_class(client_class):
    client = client_class.return_value
    client.models.generate_content.return_value = Mock(text="Bonjour")
    assert translate("Hello") == "Bonjour"
    client.models.generate_content.assert_called_once_with(
        model="gemini-2.5-flash", contents="Hello"
    )


@patch("translators.genai.Client")
def test_a_config(client_class):
    generate_content = client_class.return_value.models.generate_content
    generate_content.return_value = Mock(text="Bonjour")
    config = types.GenerateContentConfig(system_instruction="Be brief", max_output_tokens=9)
    assert translate("Hello", config=config) == "Bonjour"
    used = generate_content.call_args.kwargs["config"]
    assert used.system_instruction == "Be brief"
    assert used.max_output_tokens == 9
    assert used.temperature is None


@patch("translators.genai.Client")
def test_a_config_in_a_dict(client_class):
    generate_content = client_class.return_value.models.generate_content
    generate_content.return_value = Mock(text="Bonjour")
    assert translate("Hello", config={"temperature": 0.5, "top_k": 5}) == "Bonjour"
    assert generate_content.call_args.kwargs.get("config")["temperature"] == 0.5
    assert generate_content.call_args.kwargs["config"]["top_k"] == 5


def test_a_patched_module():
    with patch("translators.genai") as genai:
        client = MagicMock()
        genai.Client.return_value = client
        client.models.generate_content.return_value = SimpleNamespace(text="Bonjour")
        assert translate("Hello") == "Bonjour"
        kwargs = client.models.generate_content.call_args.kwargs
        assert kwargs["model"] == translators.FLASH
        assert kwargs["contents"] == "Hello"


@patch("google.genai.models.Models.generate_content")
def test_a_patched_method(generate_content):
    part = types.Part(text="Bonjour")
    candidate = types.Candidate(content=types.Content(parts=[part], role="model"))
    generate_content.return_value = types.GenerateContentResponse(candidates=[candidate])
    assert translate("Hello") == "Bonjour"
    generate_content.assert_called_once()


def test_a_client_for_the_application():
    client = Mock()
    client.models.generate_content.return_value.text = "Bonjour"
    assert translate("Hello", client) == "Bonjour"


def test_two_answers():
    client = Mock()
    answers = [Mock(text="Bonjour"), Mock(text="Salut")]
    client.models.generate_content.side_effect = answers
    assert [translate("Hello", client), translate("Hi", client)] == ["Bonjour", "Salut"]


def test_an_answer_of_each_model():
    client = Mock()

    def generate_content(model, **options):
        return Mock(text=f"Bonjour ({model})")

    client.models.generate_content.side_effect = generate_content
    assert translate("Hello", client) == f"Bonjour ({translators.FLASH})"


def test_an_error():
    client = Mock()
    error = {"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED"}
    client.models.generate_content.side_effect = errors.ClientError(429, {"error": error})
    with pytest.raises(errors.ClientError, match="Slow down"):
        translate("Hello", client)


def test_a_text_at_two_places():
    with patch("translators.genai.Client") as client_class:
        part = Mock(text="Bonjour", function_call=None)
        response = Mock(text="Bonjour", function_calls=None)
        response.candidates = [Mock(content=Mock(parts=[part]), finish_reason="STOP")]
        client_class.return_value.models.generate_content.return_value = response
        assert translators.translate_part("Hello") == "Bonjour"


def test_usage():
    with patch("translators.genai.Client") as client_class:
        usage = Mock(prompt_token_count=3, candidates_token_count=2, total_token_count=5)
        response = Mock(text="Bonjour", usage_metadata=usage)
        client_class.return_value.models.generate_content.return_value = response
        assert translators.count_tokens("Hello") == 5


def test_a_tool_call():
    with patch("translators.genai.Client") as client_class:
        call = Mock(args={"city": "Paris"})
        call.name = "weather"
        response = Mock(text=None, function_calls=[call])
        client_class.return_value.models.generate_content.return_value = response
        assert translators.call_tool("Hello") == ("weather", {"city": "Paris"})


def test_an_end():
    with patch("translators.genai.Client") as client_class:
        content = types.Content(parts=[types.Part(text="Bon")])
        candidate = types.Candidate(
            content=content, finish_reason=types.FinishReason.MAX_TOKENS
        )
        response = Mock(candidates=[candidate])
        client_class.return_value.models.generate_content.return_value = response
        assert is_cut_off("Hello")


def test_an_async_method():
    with patch("translators.genai.Client") as client_class:
        generate_content = AsyncMock(return_value=Mock(text="Bonjour"))
        client_class.return_value.aio.models.generate_content = generate_content
        assert translate_later("Hello") == "Bonjour"


def test_a_stream():
    with patch("translators.genai.Client") as client_class:
        chunks = [Mock(text="Bon"), Mock(text="jour")]
        client_class.return_value.models.generate_content_stream.return_value = iter(chunks)
        assert stream("Hello") == ["Bon", "jour"]


@patch("translators.Mistral")
def test_a_patched_class_of_mistral(client_class):
    response = MagicMock()
    response.choices = [MagicMock(message=MagicMock(content="Bonjour"))]
    client_class.return_value.chat.complete.return_value = response
    assert complete("Hello") == "Bonjour"
    client_class.return_value.chat.complete.assert_called_once_with(
        model="mistral-small-latest", messages=MESSAGES
    )


@patch("mistralai.client.chat.Chat.complete")
def test_a_patched_method_of_mistral(chat):
    chat.return_value.choices[0].message.content = "Bonjour"
    assert complete("Hello") == "Bonjour"


def test_a_client_of_mistral_for_the_application():
    client = MagicMock()
    message = Mock(content="Bonjour")
    client.chat.complete_async = AsyncMock(return_value=Mock(choices=[Mock(message=message)]))
    assert complete_later("Hello", client) == "Bonjour"
    assert client.chat.complete_async.call_args.kwargs["messages"] == MESSAGES
