"""Clients of SDKs that are patched, and answers made of mocks or of the SDK's types."""

import asyncio
import json
from unittest.mock import ANY, Mock

import anthropic
import assistants
import httpx
import openai
import pytest
from assistants import Assistant, ask_async, ask_openai
from llm_mock import Reply, ToolCall

FAULTS = (
    "",
    "prompt",
    "system",
    "answer",
    "model",
    "option",
    "no option",
    "retry",
    "call",
    "twice",
    "no call",
)
NO_NETWORK = openai.APIConnectionError(request=httpx.Request("POST", "https://api.openai.com"))


@pytest.fixture
def patched_class(mock_llm_responses):
    mock_llm_responses.set("*", "For all")


def test_a_tree_of_mocks(mock_llm_responses):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"


def test_attributes_of_a_mock(mock_llm_responses, mock_llm_calls):
    assistant = Assistant()
    # what the model says
    mock_llm_responses.set("*", "Hi")
    assert assistant.answer("a question") == "Hi"
    mock_llm_calls.assert_called_once()


def test_two_mocks_of_a_fixture(mock_llm_responses):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"


def test_a_decorator(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"
    assert len(mock_llm_calls.calls) == 1


def test_the_class_of_the_library(mock_llm_responses):
    mock_llm_responses.set("*", "Hi")
    assert ask_openai("a question") == "Hi"


def test_types_of_the_sdk(mock_llm_responses):
    mock_llm_responses.set("*", Reply("Hi", finish_reason="length", usage={"input": 3, "output": 4}))
    assert Assistant().is_cut_off("a question")
    assert Assistant().count_tokens("a question") == 7


def test_details_of_an_answer(mock_llm_responses):
    mock_llm_responses.set("*", Reply("Hi", reasoning="Hm", service_tier="flex", usage={"input": 3, "output": 4, "details": {"prompt_tokens_details": {"cached_tokens": 2}}}))
    assert Assistant().describe_answer("a question") == "None/Hm/flex/2"


def test_a_refusal(mock_llm_responses):
    details = {"cached_tokens": 0}
    mock_llm_responses.set("*", Reply(refusal="No", service_tier="flex", usage={"input": 3, "output": 4, "details": {"prompt_tokens_details": details}}))
    assert Assistant().describe_answer("a question") == "No/None/flex/0"


def test_the_whole_request(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assistant = Assistant(model="gpt-4o")
    assistant.answer("a question")
    messages = [
        {"role": "system", "content": "Be brief"},
        {"role": "user", "content": "Answer: a question"},
    ]
    mock_llm_calls.assert_called_once()
    assert mock_llm_calls.last_call.request.body == {
        "model": "gpt-4o",
        "messages": messages,
        "temperature": 0.5,
    }


def test_the_last_request(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    Assistant().answer_twice("a question")
    assert mock_llm_calls.last_call.request.body == {
        "model": "gpt-4o-mini",
        "messages": ANY,
        "temperature": 0.5,
    }
    assert {
        "model": "gpt-4o-mini",
        "messages": ANY,
        "temperature": 0.5,
    } in [call.request.body for call in mock_llm_calls.calls]
    assert [call.request.body["model"] for call in mock_llm_calls.calls] == ["gpt-4o-mini", "gpt-4o-mini"]
    assert mock_llm_calls.calls[1].request.body["messages"][1]["content"] == "Answer: a question, again"


def test_arguments_of_the_request(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    Assistant().answer("a question")
    options = mock_llm_calls.last_call.request.body
    assert options["model"] == "gpt-4o-mini"
    assert options.get("temperature") == 0.5
    assert "max_tokens" not in options, f"there is {options['model']}"
    assert mock_llm_calls.last_call.request.body["messages"][0]["content"] == "Be brief"


def test_no_request(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer_if_any("") == ""
    mock_llm_calls.assert_not_called()


def test_a_tool_call(mock_llm_responses):
    mock_llm_responses.set("*", Reply(tool_calls=[ToolCall("weather", json.dumps({"city": "Rome"}), "call_1")]))
    assert Assistant().call_tool("a question") == ("weather", '{"city": "Rome"}')


def test_a_text_with_a_tool_call(mock_llm_responses):
    mock_llm_responses.set("*", Reply("Let me look.", tool_calls=[ToolCall("weather", '{"city": "Rome"}')]))
    assert Assistant().call_tool("a question") == ("weather", '{"city": "Rome"}')


def test_the_last_item_of_a_list(mock_llm_responses):
    mock_llm_responses.set("*", Reply("Hi", usage={"input": 3, "output": assistants.TOKENS}))
    assert Assistant().answer("a question") == "Hi"
    assert Assistant().count_tokens("a question") == 7


def test_one_after_the_other(mock_llm_responses):
    mock_llm_responses.add("*", "First")
    mock_llm_responses.add("*", "Second")
    assert Assistant().answer_twice("a question") == ["First", "Second"]


def test_an_error(mock_llm_responses):
    mock_llm_responses.set_error("*", NO_NETWORK)
    assert Assistant().answer_patiently("a question") == "gave up"


def test_no_reply():
    assert Assistant(model="gpt-4o").model == "gpt-4o"


def test_a_mock_of_something_else(mock_llm_responses):
    mock_llm_responses.set("*", "Hi")
    on_answer = Mock()
    Assistant(on_answer=on_answer).answer("a question")
    on_answer.assert_called_once_with("Hi")


def test_a_fixture_without_a_mock(patched_class):
    assert Assistant().answer("a question") == "For all"


def test_an_async_client(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert asyncio.run(ask_async("a question")) == "Hi"
    mock_llm_calls.assert_called_once()


def test_an_async_method(mock_llm_responses):
    mock_llm_responses.set("*", "Hi")
    assert asyncio.run(ask_async("a question")) == "Hi"


def test_the_whole_library(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert assistants.get_claudes_text("a question") == "Hi"
    assert mock_llm_calls.last_call.request.body["messages"] == [{"role": "user", "content": "a question"}]


def test_the_whole_library_of_openai(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert ask_openai("a question") == "Hi"
    mock_llm_calls.assert_called_once()


def test_a_message(mock_llm_responses):
    mock_llm_responses.set("*", Reply("Let me look.", tool_calls=[ToolCall("weather", {"city": "Rome"}, "toolu_1")], usage={"input": 3, "output": 4}))
    assert assistants.get_claudes_tool("a question") == ("weather", {"city": "Rome"})


def test_the_end_of_a_message(mock_llm_responses):
    mock_llm_responses.set("*", Reply("Hi", finish_reason="length", usage={"input": 3, "output": 4}))
    assert assistants.get_claudes_end("a question") == "max_tokens, 4"


def test_claudes_thoughts(mock_llm_responses):
    mock_llm_responses.set("*", Reply("Hi", reasoning="Hm", usage={"input": 3, "output": 4, "details": {"cache_read_input_tokens": 2}}))
    assert assistants.get_claudes_thoughts("a question") == "Hm/2"


def test_the_usual_end_of_a_message(mock_llm_responses):
    mock_llm_responses.set("*", Reply("Hi", usage={"input": 3, "output": 4}))
    assert assistants.get_claudes_end("a question") == "end_turn, 4"


def test_an_async_message(mock_llm_responses):
    mock_llm_responses.set("*", "Hi")
    assert asyncio.run(assistants.ask_claude_async("a question")) == "Hi"


def test_a_client_that_is_handed_in(mock_llm_responses, mock_llm_calls):
    # the client of the application
    client = openai.OpenAI()
    mock_llm_responses.set("*", "Hi")
    assistant = Assistant(client=client)
    assert assistant.answer("a question") == "Hi"
    mock_llm_calls.assert_called_once()
    assert mock_llm_calls.last_call.request.body["model"] == "gpt-4o-mini"
    assert assistant.client is client


def test_a_client_that_is_assigned(mock_llm_responses):
    client = openai.OpenAI()
    mock_llm_responses.add("*", "First")
    mock_llm_responses.add("*", "Second")
    assistant = Assistant()
    assistant.client = client
    assert assistant.answer_twice("a question") == ["First", "Second"]


def test_an_async_client_that_is_handed_in(mock_llm_responses, mock_llm_calls):
    client = anthropic.AsyncAnthropic()
    mock_llm_responses.set("*", "Hi")
    assert asyncio.run(assistants.ask_claude_async("a question", client)) == "Hi"
    mock_llm_calls.assert_called_once()
