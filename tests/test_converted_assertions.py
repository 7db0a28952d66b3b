"""Assertions that suites with `MagicMock` make about calls, written for the mock."""

from __future__ import annotations

import json
import re
from typing import Any

import anthropic
import google.genai
import llm
import openai
import pytest
from pydantic import BaseModel

from llm_mock import ABSENT, Call, LLMMock, Reply, ToolCall, templates

MESSAGES: list[Any] = [
    {"role": "system", "content": "You are a helpful assistant."},
    {"role": "user", "content": "Hello, how are you?"},
]
WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Return the weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


class Memory(BaseModel):
    """A structured answer."""

    facts: list[str]


@pytest.fixture
def client() -> openai.OpenAI:
    return openai.OpenAI(api_key="test-key-1234567890", max_retries=0)


# --- Chat completions


def test_create_was_called_once_with_all_arguments(
    client: openai.OpenAI, mock_llm_calls: LLMMock
) -> None:
    client.chat.completions.create(
        model="gpt-4o", messages=MESSAGES, temperature=0.7, max_tokens=100, top_p=1.0, store=False
    )
    mock_llm_calls.assert_called_once_with(
        model="gpt-4o", messages=MESSAGES, temperature=0.7, max_tokens=100, top_p=1.0, store=False
    )


def test_a_reasoning_model_is_sent_no_temperature(
    client: openai.OpenAI, mock_llm_calls: LLMMock
) -> None:
    client.chat.completions.create(
        model="o3-mini", messages=MESSAGES, max_completion_tokens=50, reasoning_effort="low"
    )
    mock_llm_calls.assert_called_with(
        temperature=ABSENT, top_p=ABSENT, max_tokens=ABSENT, max_completion_tokens=50
    )
    with pytest.raises(AssertionError, match="max_completion_tokens is 50, but it must be absent"):
        mock_llm_calls.assert_called_with(max_completion_tokens=ABSENT)
    with pytest.raises(AssertionError, match=re.escape("temperature was not sent, expected 0.2")):
        mock_llm_calls.assert_called_with(temperature=0.2)


def test_the_response_format_was_sent(client: openai.OpenAI, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", {"facts": []})
    client.chat.completions.create(
        model="gpt-4o", messages=MESSAGES, response_format={"type": "json_object"}
    )
    mock_llm_responses.assert_called_with(response_format={"type": "json_object"})
    assert mock_llm_responses.last_call.request is not None
    body = mock_llm_responses.last_call.request.body
    assert body["response_format"] == {"type": "json_object"}


def test_a_schema_was_sent_as_the_response_format(
    client: openai.OpenAI, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-4o", {"facts": ["Likes tea"]})
    client.chat.completions.parse(model="gpt-4o", messages=MESSAGES, response_format=Memory)
    mock_llm_responses.assert_called_once_with(schema=Memory)
    mock_llm_responses.assert_called_once_with(
        body={"response_format": {"type": "json_schema", "json_schema": {"name": "Memory"}}}
    )
    schema = mock_llm_responses.last_call.schema
    assert schema is not None
    assert [*schema["properties"]] == ["facts"]


def test_the_messages_were_the_system_prompt_and_the_question(
    client: openai.OpenAI, mock_llm_calls: LLMMock
) -> None:
    client.chat.completions.create(model="gpt-4o", messages=MESSAGES)
    call = mock_llm_calls.last_call
    assert call.messages == [
        {"role": "system", "text": "You are a helpful assistant."},
        {"role": "user", "text": "Hello, how are you?"},
    ]
    assert call.messages[0]["role"] == "system"
    assert "helpful" in call.system
    assert call.prompt == "Hello, how are you?"


def test_the_history_was_sent_with_tool_calls_and_results(
    client: openai.OpenAI, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add("gpt-4o", Reply(tool_calls=[ToolCall("get_weather", {"city": "Paris"})]))
    mock_llm_responses.add("gpt-4o", "Sunny")
    messages = [*MESSAGES]
    answer = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[WEATHER])
    (asked,) = answer.choices[0].message.tool_calls or []
    messages.append(answer.choices[0].message.model_dump(exclude_none=True))
    messages.append({"role": "tool", "tool_call_id": asked.id, "content": "18 degrees"})
    client.chat.completions.create(model="gpt-4o", messages=messages, tools=[WEATHER])

    first, second = mock_llm_responses.calls
    assert [len(first.messages), len(second.messages)] == [2, 4]
    assert second.messages[2]["tool_calls"][0]["name"] == "get_weather"
    assert second.messages[2]["tool_calls"][0]["arguments"] == {"city": "Paris"}
    assert second.messages[3]["tool_results"][0]["output"] == "18 degrees"
    assert (first.turn, second.turn) == (1, 2)
    mock_llm_responses.assert_called_with(tool_results=["18 degrees"])
    mock_llm_responses.assert_called_with(tool_results=[{"name": "get_weather"}], turn=2)


def test_the_tools_and_the_tool_choice_were_sent(
    client: openai.OpenAI, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-4o", Reply(tool_calls=[ToolCall("get_weather", {})]))
    choice: Any = {"type": "function", "function": {"name": "get_weather"}}
    client.chat.completions.create(
        model="gpt-4o", messages=MESSAGES, tools=[WEATHER], tool_choice=choice
    )
    mock_llm_responses.assert_called_with(tools=["get_weather"], tool_choice=choice)
    (tool,) = mock_llm_responses.last_call.tools
    assert tool["description"] == "Return the weather"
    assert tool["input_schema"]["properties"] == {"city": {"type": "string"}}


def test_the_key_was_sent_as_a_header_that_nobody_can_read(
    client: openai.OpenAI, mock_llm_calls: LLMMock
) -> None:
    client.chat.completions.create(
        model="gpt-4o", messages=MESSAGES, extra_headers={"x-trace": "abc"}
    )
    request = mock_llm_calls.last_call.request
    assert request is not None
    assert (request.method, request.url) == ("POST", "https://api.openai.com/v1/chat/completions")
    assert request.headers["x-trace"] == "abc"
    assert "test-key-1234567890" not in json.dumps([*request.headers.values()])
    assert mock_llm_calls.last_call["key"] == "test-key-1234567890"


def test_a_base_url_was_used(mock_llm_calls: LLMMock) -> None:
    client = openai.OpenAI(api_key="none", base_url="https://openrouter.ai/api/v1")
    client.chat.completions.create(
        model="openai/gpt-4o", messages=MESSAGES, extra_body={"models": ["a", "b"]}
    )
    request = mock_llm_calls.last_call.request
    assert request is not None
    assert request.url == "https://openrouter.ai/api/v1/chat/completions"
    mock_llm_calls.assert_called_once_with(body={"models": ["a", "b"]})


def test_a_stream_was_requested(client: openai.OpenAI, mock_llm_calls: LLMMock) -> None:
    list(client.chat.completions.create(model="gpt-4o", messages=MESSAGES, stream=True))
    mock_llm_calls.assert_called_once_with(stream=True)
    client.chat.completions.create(model="gpt-4o", messages=MESSAGES)
    assert [call.stream for call in mock_llm_calls.calls] == [True, False]


def test_every_prompt_was_sent_in_order(client: openai.OpenAI, mock_llm_calls: LLMMock) -> None:
    for number in range(3):
        client.chat.completions.create(
            model="gpt-4o", messages=[{"role": "user", "content": f"Prompt {number}"}]
        )
    assert [call.prompt for call in mock_llm_calls.calls] == ["Prompt 0", "Prompt 1", "Prompt 2"]
    assert len(mock_llm_calls.calls) == 3
    mock_llm_calls.assert_any_call("Prompt 1")
    mock_llm_calls.assert_not_called_with("Prompt 3")
    with pytest.raises(AssertionError, match="call 2"):
        mock_llm_calls.assert_not_called_with("Prompt 1")


def test_an_error_was_recorded(client: openai.OpenAI, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_error("gpt-4o", templates.rate_limit())
    with pytest.raises(openai.RateLimitError):
        client.chat.completions.create(model="gpt-4o", messages=MESSAGES)
    mock_llm_responses.assert_called_once_with(model="gpt-4o", error="Rate limit")
    assert mock_llm_responses.last_call.response is None


def test_the_usage_was_counted(client: openai.OpenAI, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", Reply("Hi", usage={"input_tokens": 7, "output_tokens": 2}))
    client.chat.completions.create(model="gpt-4o", messages=MESSAGES)
    assert mock_llm_responses.last_call.usage == {"input_tokens": 7, "output_tokens": 2}
    mock_llm_responses.assert_called_once_with(response="Hi", usage={"output_tokens": 2})


# --- Other APIs


def test_responses_parse_was_called_with_reasoning(
    client: openai.OpenAI, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-5", {"facts": []})
    client.responses.parse(
        model="gpt-5",
        input=MESSAGES,
        text_format=Memory,
        reasoning={"effort": "minimal"},
        max_output_tokens=1000,
    )
    mock_llm_responses.assert_called_once_with(
        model="gpt-5",
        schema=Memory,
        reasoning={"effort": "minimal"},
        max_output_tokens=1000,
        temperature=ABSENT,
    )
    assert [message["role"] for message in mock_llm_responses.last_call.messages] == [
        "system",
        "user",
    ]


def test_anthropic_was_sent_the_system_prompt_beside_the_messages(mock_llm_calls: LLMMock) -> None:
    anthropic.Anthropic(api_key="none").messages.create(
        model="claude-opus-4-9",
        max_tokens=256,
        system="Be brief",
        messages=[{"role": "user", "content": "Hi"}],
        metadata={"user_id": "7"},
    )
    call = mock_llm_calls.last_call
    assert call.system == "Be brief"
    assert call.messages == [
        {"role": "system", "text": "Be brief"},
        {"role": "user", "text": "Hi"},
    ]
    mock_llm_calls.assert_called_once_with(
        model="claude-opus-4-9",
        messages=[{"role": "user", "content": "Hi"}],
        max_tokens=256,
        metadata={"user_id": "7"},
        temperature=ABSENT,
    )


def test_gemini_was_sent_its_configuration(mock_llm_calls: LLMMock) -> None:
    client = google.genai.Client(api_key="none")
    client.models.generate_content(
        model="gemini-2.5-flash",
        contents="Hi",
        config={"temperature": 0.3, "max_output_tokens": 50, "system_instruction": "Be brief"},
    )
    mock_llm_calls.assert_called_once_with(
        "Hi",
        model="gemini-2.5-flash",
        system="Be brief",
        temperature=0.3,
        max_output_tokens=50,
        top_p=ABSENT,
    )
    mock_llm_calls.assert_called_once_with(body={"generationConfig": {"maxOutputTokens": 50}})


# --- llm


def test_a_model_of_llm_was_called_with_system_and_options(mock_llm_calls: LLMMock) -> None:
    llm.get_model("gpt-4o-mini").prompt("Hi", system="Be brief", temperature=0.2).text()
    mock_llm_calls.assert_called_once_with(
        model="gpt-4o-mini",
        messages=[{"role": "system", "text": "Be brief"}, "Hi"],
        temperature=0.2,
        max_tokens=ABSENT,
    )
    call = mock_llm_calls.last_call
    assert call.request is None
    assert call["kwargs"]["model"] == call.model == "gpt-4o-mini"


def test_a_conversation_of_llm_has_all_its_messages(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.add_all("gpt-4o-mini", ["One", "Two", "Three"])
    conversation = llm.get_model("gpt-4o-mini").conversation()
    for prompt in ("First", "Second", "Third"):
        conversation.prompt(prompt).text()
    texts = [[each["text"] for each in call.messages] for call in mock_llm_responses.calls]
    assert texts == [
        ["First"],
        ["First", "One", "Second"],
        ["First", "One", "Second", "Two", "Third"],
    ]


def test_get_model_was_asked_for_a_model_once(mock_llm_calls: LLMMock) -> None:
    llm.get_model("gpt-4o-mini")
    assert mock_llm_calls.requested_models == ["gpt-4o-mini"]


def test_a_chain_of_llm_returns_its_tool_results(mock_llm_responses: LLMMock) -> None:
    def get_weather(city: str) -> str:
        return f"Sunny in {city}"

    mock_llm_responses.add(
        "gpt-4o-mini", Reply(tool_calls=[ToolCall("get_weather", {"city": "Paris"})])
    )
    mock_llm_responses.add("gpt-4o-mini", "It is sunny")
    llm.get_model("gpt-4o-mini").chain("Weather?", tools=[get_weather]).text()
    mock_llm_responses.assert_called_with(tool_results=["Sunny in Paris"], turn=2)
    roles = [message["role"] for message in mock_llm_responses.last_call.messages]
    assert roles == ["user", "assistant", "tool"]


# --- The record


def test_a_call_names_its_test(mock_llm_calls: LLMMock, request: pytest.FixtureRequest) -> None:
    llm.get_model("gpt-4o-mini").prompt("Hi").text()
    assert mock_llm_calls.last_call.test == request.node.nodeid
    mock_llm_calls.assert_called_once_with(test=request.node.nodeid)


def test_an_unknown_key_names_the_nearest(mock_llm_calls: LLMMock) -> None:
    llm.get_model("gpt-4o-mini").prompt("Hi").text()
    call = mock_llm_calls.last_call
    with pytest.raises(KeyError, match="A call has no key 'promt'; did you mean 'prompt'"):
        call["promt"]
    with pytest.raises(AttributeError, match="no attribute 'mesages'; did you mean 'messages'"):
        call.mesages  # noqa: B018
    assert isinstance(call, Call)


@pytest.mark.parametrize(
    ("condition", "nearest"), [("promt", "prompt"), ("temprature", "temperature")]
)
def test_a_misspelt_condition_is_refused(
    condition: str, nearest: str, mock_llm_calls: LLMMock
) -> None:
    llm.get_model("gpt-4o-mini").prompt("Hi").text()
    with pytest.raises(TypeError, match=f"{condition!r}; did you mean {nearest!r}"):
        mock_llm_calls.assert_called_with(**{condition: ABSENT})  # type: ignore[misc]


def test_the_messages_of_a_call_stay_as_they_were_sent(
    client: openai.OpenAI, mock_llm_calls: LLMMock
) -> None:
    messages = [*MESSAGES]
    client.chat.completions.create(model="gpt-4o", messages=messages)
    messages.append({"role": "user", "content": "More"})
    assert len(mock_llm_calls.last_call.messages) == 2
