"""Mocks of OpenAI's Responses API."""

import asyncio
import json

import httpx
import openai
from assistants import count_response, describe_response, respond_async, respond_in_parts, respond_patiently
from assistants import get_response_id, respond_with_call, respond_with_output, respond_with_text
from llm_mock import Reply, ToolCall

FAULTS = ("", "prompt", "system", "answer", "model", "retry", "twice", "no call")
NO_NETWORK = openai.APIConnectionError(request=httpx.Request("POST", "https://api.openai.com"))


def test_a_text(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert respond_with_text("a question") == "Hi"
    mock_llm_calls.assert_called_once()
    assert mock_llm_calls.last_call.request.body["input"] == "a question"
    assert mock_llm_calls.last_call.request.body["instructions"] == "Be brief"


def test_an_attribute(mock_llm_responses, mock_llm_calls):
    # what the model says
    mock_llm_responses.set("*", "Hi")
    assert respond_with_text("a question") == "Hi"
    mock_llm_calls.assert_called_once()
    assert mock_llm_calls.last_call.request.body == {
        "model": "gpt-4o-mini",
        "instructions": "Be brief",
        "input": "a question",
    }


def test_a_handed_client(mock_llm_responses):
    client = openai.OpenAI()
    mock_llm_responses.set("*", "Hi")
    assert respond_with_text("a question", client) == "Hi"


def test_an_output(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert respond_with_output("a question") == "Hi"
    assert "temperature" not in mock_llm_calls.last_call.request.body


def test_a_text_and_its_output(mock_llm_responses):
    mock_llm_responses.set("*", "Hi")
    assert respond_with_output("a question") == "Hi"


def test_an_id_that_the_application_returns(mock_llm_responses):
    response = {
        "id": "resp_7",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}],
    }
    mock_llm_responses.set("*", Reply(body=response))
    assert get_response_id("a question") == "resp_7"


def test_an_id_in_the_same_statement(mock_llm_responses):
    mock_llm_responses.set("*", Reply(body={"id": "resp_8", "output_text": "Hi", "output": []}))
    assert get_response_id("a question") == "resp_8"


def test_a_function_call(mock_llm_responses):
    mock_llm_responses.set("*", Reply(tool_calls=[ToolCall("weather", '{"city": "Bern"}', "call_1")]))
    assert respond_with_call("a question") == ("weather", '{"city": "Bern"}')


def test_dumped_arguments(mock_llm_responses):
    mock_llm_responses.set("*", Reply(tool_calls=[ToolCall("weather", json.dumps({"city": "Bern"}), "c")]))
    assert json.loads(respond_with_call("a question")[1]) == {"city": "Bern"}


def test_usage(mock_llm_responses):
    mock_llm_responses.set("*", Reply("Hi", usage={"input": 3, "output": 4}))
    assert count_response("a question") == 7


def test_types_of_the_sdk(mock_llm_responses):
    mock_llm_responses.set("*", "Hi")
    assert respond_with_output("a question") == "Hi"


def test_a_complete_response(mock_llm_responses):
    mock_llm_responses.set("*", "Hi")
    assert respond_with_text("a question") == "Hi"


def test_an_item_with_all_its_fields(mock_llm_responses):
    mock_llm_responses.set("*", Reply(tool_calls=[ToolCall("weather", "{}", "call_1")]))
    assert respond_with_call("a question") == ("weather", "{}")


def test_details_of_a_response(mock_llm_responses):
    mock_llm_responses.set("*", Reply("Hi", reasoning="Hm", service_tier="flex", usage={"input": 3, "output": 4, "details": {"output_tokens_details": {"reasoning_tokens": 2}}}))
    assert describe_response("a question") == "Hm/flex/2"


def test_events_with_all_their_fields(mock_llm_responses):
    mock_llm_responses.set("*", Reply(chunks=["Hi"]))
    assert respond_in_parts("a question") == ["Hi"]


def test_one_after_the_other(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.add("*", "One")
    mock_llm_responses.add("*", "Two")
    assert [respond_with_text("a"), respond_with_text("b")] == ["One", "Two"]
    assert len(mock_llm_calls.calls) == 2
    inputs = [call.request.body["input"] for call in mock_llm_calls.calls]
    assert inputs == ["a", "b"]


def test_a_stream(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", Reply(chunks=["Hi ", "you"]))
    assert respond_in_parts("a question") == ["Hi ", "you"]
    assert mock_llm_calls.last_call.request.body["stream"] is True


def test_a_stream_with_its_usage(mock_llm_responses):
    mock_llm_responses.set("*", Reply(chunks=["Hi"], usage={"input": 3, "output": 4}))
    assert respond_in_parts("a question") == ["Hi"]


def test_an_error_first(mock_llm_responses):
    mock_llm_responses.add("*", NO_NETWORK)
    mock_llm_responses.add("*", "Hi")
    assert respond_patiently("a question") == "Hi"


def test_an_async_client(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert asyncio.run(respond_async("a question")) == "Hi"
    mock_llm_calls.assert_called_once()


def test_the_method_itself(mock_llm_responses):
    mock_llm_responses.set("*", "Hi")
    assert respond_with_text("a question") == "Hi"
