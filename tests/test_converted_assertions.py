"""Assertions that suites with `MagicMock` make about calls, written for the mock."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import anthropic
import google.genai
import httpx
import llm
import openai
import pytest
import requests
from pydantic import BaseModel

from llm_mock import ABSENT, Call, InvalidReply, LLMMock, Reply, ToolCall, templates

pytestmark = pytest.mark.llm_mock_strict("warn")
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
        model="gpt-4o",
        messages=[{"role": "user", "content": "Answer in JSON."}],
        response_format={"type": "json_object"},
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
    with pytest.raises(AssertionError, match="Call 2 matches"):
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
    mock_llm_responses.script("gpt-4o-mini", "One", "Two", "Three")
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


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("promt", "; did you mean 'prompt'?"),
        ("output_token", "; did you mean 'output_tokens'?"),
        ("answer", "; did you mean 'response'?"),
        ("content", "; did you mean 'response'?"),
        ("output", "; did you mean 'response'?"),
        ("reply", "; did you mean 'response'?"),
        ("response_text", "; did you mean 'response'?"),
        ("result", "; did you mean 'response'?"),
        ("text", "; did you mean 'response'?"),
        ("tool_calls", "; did you mean 'response'?"),
        ("body", "; did you mean the attribute call.request?"),
        ("history", "; did you mean the attribute call.messages?"),
        ("system", "; did you mean the attribute call.system?"),
        ("mesages", "; did you mean the attribute call.messages?"),
        ("system_prompt", "; did you mean the attribute call.system?"),
        ("tool_result", "; did you mean the attribute call.tool_results?"),
        ("model", "; did you mean the attribute call.model?"),
        ("zzz", "."),
    ],
)
def test_an_unknown_key_names_the_nearest_key_or_attribute(
    mock_llm_calls: LLMMock, key: str, hint: str
) -> None:
    llm.get_model("gpt-4o-mini").prompt("Hi").text()
    with pytest.raises(KeyError) as raised:
        mock_llm_calls.last_call[key]
    expected = f"A call has no key {key!r}{hint} Its keys: timestamp, "
    assert str(raised.value).startswith(expected)
    assert ". Its attributes: number, model, " in str(raised.value)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("mesages", "messages"), ("content", "response"), ("system_prompt", "system")],
)
def test_an_unknown_attribute_names_the_nearest(
    mock_llm_calls: LLMMock, name: str, nearest: str
) -> None:
    llm.get_model("gpt-4o-mini").prompt("Hi").text()
    call = mock_llm_calls.last_call
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; did you mean '{nearest}'"):
        getattr(call, name)
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


ASKED: Any = [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "Why?"}]


def ask_why(**parameters: Any) -> None:
    client = openai.OpenAI(api_key="test-key-1234567890", max_retries=0)
    client.chat.completions.create(model="gpt-4o", messages=ASKED, **parameters)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"messages": "Why?"}, "messages='Why?': pass a list with one item for each message,"),
        ({"messages": 5}, "messages=5: pass a list"),
        ({"messages": [5]}, "messages=[5]: pass a text or a mapping"),
        ({"messages": None}, "messages=None matches every call: leave messages out."),
        ({"messages": ABSENT}, "messages=ABSENT: pass a list"),
        (
            {"tool_results": "x"},
            "tool_results='x': pass a list with one item for each tool result,",
        ),
        ({"usage": 3}, "usage=3: pass a mapping"),
        ({"usage": {"prompt_tokens": 3}}, "pass only input_tokens and output_tokens."),
        ({"body": 5}, "body=5: pass a mapping"),
        ({"body": {}}, "body={} matches every call"),
        ({"options": {}}, "options={} matches every call"),
        ({"options": {"stop": [ABSENT]}}, "options is compared as a whole"),
        ({"metadata": {"a": ABSENT}}, "metadata is compared as a whole, so ABSENT within it"),
        ({"response": ABSENT}, "response is compared as a whole"),
        ({"tools": []}, "tools=[] matches every call: leave tools out, or write tools=ABSENT"),
        (
            {"system": None},
            "system=None matches every call: leave system out, or write system=",
        ),
        ({"schema": {}}, "schema={} matches every call: leave schema out, or write schema=ABSENT"),
        ({"error": ValueError}, "error=the class ValueError: pass a text that the error contains"),
        ({"prompt": str}, "prompt=the class str: pass a text"),
        ({"model": 5}, "model=5: pass a text."),
        ({"test": len}, "test=an object of type builtin_function_or_method: pass a text."),
        ({"stream": "yes"}, "stream='yes': pass True, False, or None"),
    ],
    ids=str,
)
def test_a_condition_that_asserts_nothing_is_refused(
    condition: dict[str, Any], message: str, mock_llm_calls: LLMMock
) -> None:
    ask_why()
    for assertion in (
        mock_llm_calls.assert_called_with,
        mock_llm_calls.assert_called_once_with,
        mock_llm_calls.assert_not_called_with,
    ):
        with pytest.raises(InvalidReply, match=re.escape(message)):
            assertion(**condition)


def test_none_is_a_value_that_is_compared(mock_llm_calls: LLMMock) -> None:
    ask_why()
    nothing: dict[str, Any] = {"temperature": None}
    with pytest.raises(AssertionError, match="temperature was not sent, expected null"):
        mock_llm_calls.assert_called_with(**nothing)
    mock_llm_calls.assert_called_with(error=None)
    ask_why(extra_body={"temperature": None})
    mock_llm_calls.assert_called_with(**nothing)
    mock_llm_calls.set_error("gpt-4o-mini", ConnectionError("down"))
    failing: Any = llm.get_model("gpt-4o-mini")
    with pytest.raises(ConnectionError):
        failing.prompt("Hi").text()
    with pytest.raises(AssertionError, match="the error is 'down', but it must be absent"):
        failing.assert_called_with(error=None)
    with pytest.raises(AssertionError, match="the error 'down' does not contain 'up'"):
        failing.assert_called_with(error="up")


@pytest.mark.parametrize("name", ["schema", "system", "tools", "tool_results", "attachments"])
def test_a_call_without_an_input_is_asserted(name: str, mock_llm_calls: LLMMock) -> None:
    absent: dict[str, Any] = {name: ABSENT}
    llm.get_model("gpt-4o-mini").prompt("Hi").text()
    mock_llm_calls.assert_called_once_with(**absent)
    with pytest.raises(AssertionError, match=f"matches: {name} absent"):
        mock_llm_calls.assert_not_called_with(**absent)
    llm.get_model("gpt-4o").prompt(
        "Hi",
        schema=Memory,
        system="Be brief",
        tools=[len_of],
        tool_results=[llm.ToolResult(name="len_of", output="3")],
        attachments=[llm.Attachment(type="image/png", content=b"png")],
    ).text()
    mock_llm_calls.assert_not_called_with(model="gpt-4o", **absent)


def len_of(text: str) -> int:
    """Return the length."""
    return len(text)


def test_any_value_still_has_to_be_sent(mock_llm_calls: LLMMock) -> None:
    ask_why(temperature=0.25)
    mock_llm_calls.assert_called_with(
        model=ANY, messages=ANY, temperature=pytest.approx(0.25), body={"messages": ANY}
    )
    mock_llm_calls.assert_called_with(messages=["Be brief", ANY])
    with pytest.raises(AssertionError, match="seed was not sent"):
        mock_llm_calls.assert_called_with(seed=ANY)
    with pytest.raises(AssertionError, match=re.escape("body.seed was not sent")):
        mock_llm_calls.assert_called_with(body={"seed": ANY})


def test_lists_in_the_body_are_compared_item_by_item(mock_llm_calls: LLMMock) -> None:
    ask_why(tools=[WEATHER])
    mock_llm_calls.assert_called_with(
        body={
            "messages": [{"name": ABSENT}, {"role": "user"}],
            "tools": ({"function": {"name": "get_weather", "strict": ABSENT}},),
            "metadata": {"user": ABSENT},
        }
    )
    mock_llm_calls.assert_not_called_with(body={"messages": [{"role": "user"}]})
    expected = "body.tools[0].function.name is 'get_weather', not 'get_time'"
    with pytest.raises(AssertionError, match=re.escape(expected)):
        mock_llm_calls.assert_called_with(body={"tools": [{"function": {"name": "get_time"}}]})


def test_messages_are_compared_as_the_body_has_them(mock_llm_calls: LLMMock) -> None:
    client = openai.OpenAI(api_key="none")
    function = {"name": "get_weather", "arguments": "{}"}
    history: list[Any] = [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "18"},
    ]
    client.chat.completions.create(model="gpt-4o", messages=history)
    mock_llm_calls.assert_called_with(messages=history)
    mock_llm_calls.assert_called_with(messages=["Weather?", {}, {"tool_call_id": "c"}])
    mock_llm_calls.assert_called_with(messages=[{}, {"tool_calls": [{"id": "c"}]}, "18"])
    mock_llm_calls.assert_called_with(
        messages=[{}, {"tool_calls": [{"arguments": {}, "name": "get_weather"}]}, {}]
    )
    with pytest.raises(AssertionError, match=re.escape("messages[2].content is '18', not '19'")):
        mock_llm_calls.assert_called_with(messages=[{}, {}, {"tool_call_id": "c", "content": "19"}])
    with pytest.raises(AssertionError, match="the call has 3 messages, not 1"):
        mock_llm_calls.assert_called_with(messages=["Weather?"])


def test_the_answer_of_an_sdk_is_a_message_of_the_history(mock_llm_calls: LLMMock) -> None:
    client = openai.OpenAI(api_key="none")
    history: list[Any] = [{"role": "user", "content": "Hi"}]
    answer = client.chat.completions.create(model="gpt-4o", messages=history)
    history += [answer.choices[0].message, {"role": "user", "content": "Bye"}]
    client.chat.completions.create(model="gpt-4o", messages=history)
    mock_llm_calls.assert_called_with(messages=history, turn=2)


def test_the_input_of_the_responses_api_is_its_messages(mock_llm_calls: LLMMock) -> None:
    image = {"type": "input_image", "image_url": "https://example.com/a.png"}
    question: Any = [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}, image]}]
    openai.OpenAI(api_key="none").responses.create(
        model="gpt-4o", input=question, instructions="Be brief"
    )
    mock_llm_calls.assert_called_once_with(messages=question)
    mock_llm_calls.assert_called_once_with(messages=["Be brief", {"text": "Hi"}])


def test_a_failure_shows_the_part_of_a_long_conversation_that_differs(
    mock_llm_calls: LLMMock,
) -> None:
    client = openai.OpenAI(api_key="none")
    for question in ("Apples?", "Pears?"):
        messages: Any = [
            {"role": "system", "content": "word " * 400},
            {"role": "user", "content": question},
        ]
        client.chat.completions.create(model="gpt-4o", messages=messages)
    expected = [{"role": "system"}, {"role": "user", "content": "Plums?"}]
    with pytest.raises(AssertionError, match=r"messages\[1\].content is 'Apples\?', not 'Plums\?'"):
        mock_llm_calls.assert_called_with(messages=expected)


def test_a_failure_shows_neither_secrets_nor_addresses(mock_llm_calls: LLMMock) -> None:
    ask_why()
    secret = "sk-proj-abcdef0123456789abcdefXYZ"
    with pytest.raises(AssertionError) as caught:
        mock_llm_calls.assert_called_with(
            re.compile(secret), tools=[secret], attachments=[secret], response=object()
        )
    assert secret not in str(caught.value)
    assert "0x" not in str(caught.value)


def test_headers_are_read_from_the_record(mock_llm_calls: LLMMock) -> None:
    ask_why(extra_headers={"X-Trace": "7", "Helicone-Auth": "Bearer hush-hush"})
    request = mock_llm_calls.last_call.request
    assert request is not None
    assert request.headers["x-trace"] == "7"
    assert "hush-hush" not in str(request)
    unknown: dict[str, Any] = {"extra_headers": {"X-Trace": "7"}}
    with pytest.raises(TypeError, match=r"last_call\.request\.headers"):
        mock_llm_calls.assert_called_with(**unknown)


# --- The record


def test_a_key_that_is_no_attribute_is_named(mock_llm_calls: LLMMock) -> None:
    ask_why()
    call = mock_llm_calls.last_call
    with pytest.raises(AttributeError, match=re.escape("'kwargs', but a key: call['kwargs'].")):
        _ = getattr(call, "kwargs")  # noqa: B009
    with pytest.raises(AttributeError, match=r"no attribute 'xyz'\. Its attributes: "):
        _ = getattr(call, "xyz")  # noqa: B009
    with pytest.raises(KeyError, match=r"no key 'xyz'\. Its keys: "):
        call["xyz"]


def test_a_copy_is_a_record_too(mock_llm_calls: LLMMock) -> None:
    ask_why()
    call = mock_llm_calls.last_call
    copied = call.copy()
    assert (copied, copied.messages, copied.request) == (call, call.messages, call.request)
    assert copied.test == call.test is not None
    copied["prompt"] = "Changed"
    assert call.prompt == "Why?"


def test_a_file_that_is_removed_after_the_call_stays_described(
    mock_llm_calls: LLMMock, tmp_path: Path
) -> None:
    file = tmp_path / "picture.png"
    file.write_bytes(b"\x89PNG\r\n\x1a\n")
    picture = llm.Attachment(path=str(file))
    llm.get_model("gpt-4o").prompt("What is it?", attachments=[picture]).text()
    file.unlink()
    ((attached,),) = [message["attachments"] for message in mock_llm_calls.last_call.messages]
    assert (attached["type"], attached["bytes"]) == ("image/png", 8)


def test_a_call_of_another_process_belongs_to_the_test(
    mock_llm_calls: LLMMock, request: pytest.FixtureRequest
) -> None:
    code = "import llm; llm.get_model('gpt-4o').prompt('Hi').text()"
    environment = {**os.environ, **mock_llm_calls.environment()}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    mock_llm_calls.assert_called_once_with("Hi", test=request.node.nodeid)


@pytest.mark.parametrize("post", [httpx.post, requests.post], ids=["httpx", "requests"])
@pytest.mark.parametrize(
    "origin", ["https://api.openai.com", "http://llm.example:8080", "http://[2001:db8::1]:4000"]
)
def test_the_url_is_the_one_that_was_requested(
    post: Any, origin: str, mock_llm_calls: LLMMock
) -> None:
    post(f"{origin}/v1/chat/completions?v=1", json={"model": "gpt-4o", "messages": ASKED})
    request = mock_llm_calls.last_call.request
    assert request is not None
    assert request.url == f"{origin}/v1/chat/completions?v=1"
