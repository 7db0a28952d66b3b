"""Patched methods of the classes of SDKs, and answers that are streamed."""

import asyncio

from llm_mock import Reply

import assistants
from assistants import Assistant, ask_async

FAULTS = ("", "prompt", "system", "answer", "model", "option", "no option", "call", "twice")


def test_a_fixture(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", Reply("Hi", usage={"input": 3, "output": 4}))
    assert Assistant(model="gpt-4o").answer("a question") == "Hi"
    mock_llm_calls.assert_called_once()
    assert mock_llm_calls.last_call.request.body["model"] == "gpt-4o"
    assert mock_llm_calls.last_call.request.body["messages"][1]["content"] == "Answer: a question"


def test_a_dict_for_the_usage(mock_llm_responses):
    mock_llm_responses.set("*", Reply("Hi", usage={"input": 3, "output": 4}))
    assert Assistant().count_tokens("a question") == 7


def test_the_class(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"
    assert "temperature" in mock_llm_calls.last_call.request.body


def test_the_client_of_a_module(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", Reply("Hi", usage={"input": 3, "output": 4}))
    assert assistants.ask_client("a question") == "Hi"
    [message] = mock_llm_calls.last_call.request.body["messages"]
    assert message == {"role": "user", "content": "a question"}


def test_a_method_of_the_client_of_a_module(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", Reply("Hi", usage={"input": 3, "output": 4}))
    assert assistants.ask_client("a question") == "Hi"
    mock_llm_calls.assert_called_once()


def test_a_function(mock_llm_responses):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"


def test_an_async_method(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", Reply("Hi", usage={"input": 3, "output": 4}))
    assert asyncio.run(ask_async("a question")) == "Hi"
    mock_llm_calls.assert_called_once()


def test_a_message(mock_llm_responses):
    mock_llm_responses.set("*", "Hi")
    assert assistants.get_claudes_text("a question") == "Hi"


def test_an_async_message(mock_llm_responses):
    mock_llm_responses.set("*", "Hi")
    assert asyncio.run(assistants.ask_claude_async("a question")) == "Hi"


def test_chunks(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", Reply(chunks=["For ", "all"], finish_reason="length"))
    assert Assistant().stream_answer("a question") == ["For ", "all", "length"]
    assert mock_llm_calls.last_call.request.body["stream"] is True


def test_the_usage_of_chunks(mock_llm_responses):
    mock_llm_responses.set("*", Reply(chunks=["Hi"], usage={"input": 3, "output": 4}))
    assert Assistant().stream_answer("a question") == ["Hi", "stop", 4]


def test_a_generator(mock_llm_responses):
    mock_llm_responses.set("*", Reply(chunks=["Hi"]))
    assert Assistant().stream_answer("a question") == ["Hi", "stop"]
