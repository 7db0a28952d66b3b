"""Clients of Gemini and Mistral that are patched or handed to the application."""

import google.genai
import mistralai.client
import pytest
import translators
from google.genai import errors, types
from llm_mock import Reply, ToolCall
from translators import complete, complete_later, is_cut_off, stream, translate, translate_later

FAULTS = ("", "prompt", "answer", "model", "twice", "no call")
MESSAGES = [{"role": "user", "content": "Hello"}]


def test_a_patched_class(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Bonjour")
    assert translate("Hello") == "Bonjour"
    mock_llm_calls.assert_called_once()
    assert mock_llm_calls.last_call.model == "gemini-2.5-flash"
    assert mock_llm_calls.last_call.prompt == "Hello"


def test_a_config(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Bonjour")
    config = types.GenerateContentConfig(system_instruction="Be brief", max_output_tokens=9)
    assert translate("Hello", config=config) == "Bonjour"
    assert mock_llm_calls.last_call.system == "Be brief"
    assert mock_llm_calls.last_call.options.get("maxOutputTokens") == 9
    assert mock_llm_calls.last_call.options.get("temperature") is None


def test_a_config_in_a_dict(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Bonjour")
    assert translate("Hello", config={"temperature": 0.5, "top_k": 5}) == "Bonjour"
    assert mock_llm_calls.last_call.options.get("temperature") == 0.5
    assert mock_llm_calls.last_call.options.get("topK") == 5


def test_a_patched_module(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Bonjour")
    assert translate("Hello") == "Bonjour"
    assert mock_llm_calls.last_call.model == translators.FLASH
    assert mock_llm_calls.last_call.prompt == "Hello"


def test_a_patched_method(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Bonjour")
    assert translate("Hello") == "Bonjour"
    mock_llm_calls.assert_called_once()


def test_a_client_for_the_application(mock_llm_responses):
    client = google.genai.Client()
    mock_llm_responses.set("*", "Bonjour")
    assert translate("Hello", client) == "Bonjour"


def test_two_answers(mock_llm_responses):
    client = google.genai.Client()
    mock_llm_responses.add("*", "Bonjour")
    mock_llm_responses.add("*", "Salut")
    assert [translate("Hello", client), translate("Hi", client)] == ["Bonjour", "Salut"]


def test_an_answer_of_each_model(mock_llm_responses):
    client = google.genai.Client()

    def generate_content(request):
        return f"Bonjour ({request.model_id})"

    mock_llm_responses.set("*", generate_content)
    assert translate("Hello", client) == f"Bonjour ({translators.FLASH})"


def test_an_error(mock_llm_responses):
    client = google.genai.Client()
    error = {"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED"}
    mock_llm_responses.set_error("*", errors.ClientError(429, {"error": error}))
    with pytest.raises(errors.ClientError, match="Slow down"):
        translate("Hello", client)


def test_a_text_at_two_places(mock_llm_responses):
    mock_llm_responses.set("*", "Bonjour")
    assert translators.translate_part("Hello") == "Bonjour"


def test_usage(mock_llm_responses):
    mock_llm_responses.set("*", Reply("Bonjour", usage={"input": 3, "output": 2}))
    assert translators.count_tokens("Hello") == 5


def test_a_tool_call(mock_llm_responses):
    mock_llm_responses.set("*", Reply(tool_calls=[ToolCall("weather", {"city": "Paris"})]))
    assert translators.call_tool("Hello") == ("weather", {"city": "Paris"})


def test_an_end(mock_llm_responses):
    mock_llm_responses.set("*", Reply("Bon", finish_reason="length"))
    assert is_cut_off("Hello")


def test_an_async_method(mock_llm_responses):
    mock_llm_responses.set("*", "Bonjour")
    assert translate_later("Hello") == "Bonjour"


def test_a_stream(mock_llm_responses):
    mock_llm_responses.set("*", Reply(chunks=["Bon", "jour"]))
    assert stream("Hello") == ["Bon", "jour"]


def test_a_patched_class_of_mistral(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Bonjour")
    assert complete("Hello") == "Bonjour"
    mock_llm_calls.assert_called_once()
    assert mock_llm_calls.last_call.request.body == {
        "model": "mistral-small-latest",
        "messages": MESSAGES,
        "stream": False,
    }


def test_a_patched_method_of_mistral(mock_llm_responses):
    mock_llm_responses.set("*", "Bonjour")
    assert complete("Hello") == "Bonjour"


def test_a_client_of_mistral_for_the_application(mock_llm_responses, mock_llm_calls):
    client = mistralai.client.Mistral()
    mock_llm_responses.set("*", "Bonjour")
    assert complete_later("Hello", client) == "Bonjour"
    assert mock_llm_calls.last_call.request.body["messages"] == MESSAGES
