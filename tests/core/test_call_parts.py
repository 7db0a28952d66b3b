"""The parts of a call's record: their errors name the nearest key and the missing item."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import llm
import pytest

from llm_mock import Call, LLMMock


def weather(city: str) -> str:
    return f"{city}: sunny"


@pytest.fixture
def call() -> Call:
    mock = LLMMock()
    mock.set("gpt-4o", "Hello")
    result = llm.ToolResult("weather", "Rome: sunny", tool_call_id="1")
    image = llm.Attachment(type="image/png", content=b"...")
    model: Any = mock.get_model("gpt-4o")
    model.prompt(
        "Hi",
        system="Be brief",
        tools=[weather],
        tool_results=[result],
        attachments=[image],
        temperature=0.2,
    ).text()
    return mock.calls[0]


MESSAGE = "This message has no key {!r}; did you mean 'text'? Its keys: role, text."
TOOL = "This tool has no key {!r}; did you mean {!r}? Its keys: name, description, input_schema."
RESULT = "This tool result has no key {!r}; did you mean 'output'? Its keys: name, output."
ATTACHMENT = "This attachment has no key {!r}; did you mean {!r}? Its keys: type, bytes."
USAGE = "This usage has no key {!r}; did you mean {!r}? Its keys: input_tokens, output_tokens."
WRONG_KEYS = {
    ("messages", "content"): MESSAGE,
    ("messages", "contents"): MESSAGE,
    ("messages", "parts"): MESSAGE,
    ("messages", "texts"): MESSAGE,
    ("messages", "zzz"): "This message has no key 'zzz'. Its keys: role, text.",
    ("tools", "function"): TOOL.format("function", "name"),
    ("tools", "parameters"): TOOL.format("parameters", "input_schema"),
    ("tools", "schema"): TOOL.format("schema", "input_schema"),
    ("tools", "descripton"): TOOL.format("descripton", "description"),
    ("tool_results", "content"): RESULT,
    ("tool_results", "result"): RESULT,
    ("tool_results", "text"): RESULT,
    ("attachments", "content"): ATTACHMENT.format("content", "bytes"),
    ("attachments", "data"): ATTACHMENT.format("data", "bytes"),
    ("attachments", "media_type"): ATTACHMENT.format("media_type", "type"),
    ("attachments", "mime_type"): ATTACHMENT.format("mime_type", "type"),
    ("usage", "prompt_tokens"): USAGE.format("prompt_tokens", "input_tokens"),
    ("usage", "input"): USAGE.format("input", "input_tokens"),
    ("usage", "completion_tokens"): USAGE.format("completion_tokens", "output_tokens"),
    ("usage", "output"): USAGE.format("output", "output_tokens"),
    ("options", "temprature"): (
        "This dict of options has no key 'temprature'; did you mean 'temperature'? Its keys: "
        "temperature."
    ),
}


@pytest.mark.parametrize(("attribute", "key"), WRONG_KEYS)
def test_a_key_of_an_api_is_answered_with_that_of_the_record(
    attribute: str, key: str, call: Call
) -> None:
    parts = getattr(call, attribute)
    part = parts[0] if isinstance(parts, list) else parts
    with pytest.raises(KeyError) as caught:
        part[key]
    assert str(caught.value) == WRONG_KEYS[attribute, key].format(key)


def test_the_schema_of_a_call_is_json_whatever_the_application_passed() -> None:
    mock = LLMMock()
    mock.set_error("gpt-4o", OSError("no"))
    model: Any = mock.get_model("gpt-4o")
    with pytest.raises(OSError, match="no"):
        model.prompt("Hi", schema={"title": "Answer", "enum": {1}}).text()
    assert mock.last_call.schema == {"title": "Answer", "enum": [1]}


def test_a_file_has_no_bytes_to_suggest() -> None:
    mock = LLMMock()
    image = llm.Attachment(type="image/png", url="https://example.com/a.png")
    model: Any = mock.get_model("gpt-4o")
    model.prompt("Hi", attachments=[image]).text()
    with pytest.raises(KeyError) as caught:
        mock.calls[0].attachments[0]["content"]
    message = "This attachment has no key 'content'. Its keys: type, url."
    assert str(caught.value) == message


def test_options_that_were_not_passed_are_none() -> None:
    mock = LLMMock()
    mock.get_model("gpt-4o").prompt("Hi").text()
    with pytest.raises(KeyError) as caught:
        mock.calls[0].options["temperature"]
    message = "This dict of options has no key 'temperature'. Its keys: none."
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("messages", "There is no message 2: call 2 has 1."),
        ("tools", "There is no tool 2: call 2 has 0."),
        (
            "tool_results",
            "There is no tool result 2: call 2 has 0. Tool results are in the call after the tool "
            "call: [call.tool_results for call in mock.calls].",
        ),
        ("attachments", "There is no attachment 2: call 2 has 0."),
    ],
)
def test_a_missing_item_is_explained(attribute: str, message: str) -> None:
    mock = LLMMock()
    for prompt in ("Hi", "Hello"):
        mock.get_model("gpt-4o").prompt(prompt).text()
    with pytest.raises(IndexError) as caught:
        getattr(mock.last_call, attribute)[2]
    assert str(caught.value) == message


def test_parts_are_lists_and_dicts_otherwise(call: Call) -> None:
    messages = call.messages
    assert messages[:1] == [{"role": "system", "text": "Be brief"}]
    assert messages[-1]["role"] == "user"
    assert json.loads(json.dumps(messages)) == messages
    for copied in (copy.copy(messages), copy.deepcopy(messages), pickle.loads(pickle.dumps(call))):
        parts = copied.messages if isinstance(copied, Call) else copied
        assert parts == messages
        with pytest.raises(KeyError, match=r"^This message has no key 'content'; did you mean "):
            parts[0]["content"]
        with pytest.raises(IndexError, match=r"^There is no message 9: call 1 has 3\.$"):
            parts[9]
    assert messages[0].get("content") is None


def test_a_failing_test_shows_the_line_of_the_test_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import llm

        def test_key(mock_llm_calls):
            llm.get_model("gpt-4o").prompt("Hi").text()
            mock_llm_calls.last_call.messages[0]["content"]

        def test_item(mock_llm_calls):
            llm.get_model("gpt-4o").prompt("Hi").text()
            mock_llm_calls.last_call.tool_results[0]
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            '>       mock_llm_calls.last_call.messages[[]0][[]"content"]',
            "E       *This message has no key 'content'; did you mean 'text'? Its keys: role, *",
            "E       IndexError: There is no tool result 0: call 1 has 0. Tool results are *",
        ]
    )
    result.stdout.no_fnmatch_line("*call_parts.py*")
