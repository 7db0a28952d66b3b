"""The obvious ways to write a reply mean what they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import llm
import openai
import pytest
from pydantic import BaseModel

from llm_mock import BrokenToolCall, InvalidReply, LLMMock, Reply, ToolCall, create_mock_get_model
from llm_mock.commands.serve_script import ServeScript
from llm_mock.errors import LLMMockError

ROME = ToolCall("weather", {"city": "Rome"})
TOOLS: list[Any] = [{"type": "function", "function": {"name": "weather", "parameters": {}}}]
Configure = Callable[[LLMMock], Any]


def weather(city: str) -> str:
    """Return the weather."""
    return f"{city}: sunny"


def ask_by_llm() -> list[tuple[str, Any]]:
    """Return the tool calls of an answer through `llm`."""
    response = llm.get_model("gpt-4o-mini").prompt("Hi", tools=[weather])
    return [(call.name, call.arguments) for call in response.tool_calls()]


CALLS: dict[str, Configure] = {
    "arguments as text": lambda mock: mock.set("*", ToolCall("weather", '{"city": "Rome"}')),
    "set": lambda mock: mock.set("*", ROME),
    "set, of llm": lambda mock: mock.set("*", llm.ToolCall("weather", {"city": "Rome"})),
    "set, a list": lambda mock: mock.set("*", [ROME]),
    "add": lambda mock: mock.add("*", ROME),
    "without a list": lambda mock: mock.set("*", Reply(tool_calls=ROME)),
    "of llm, without a list": lambda mock: mock.set(
        "*", Reply(tool_calls=llm.ToolCall("weather", {"city": "Rome"}))
    ),
    "returned by a function": lambda mock: mock.set("*", lambda prompt: ROME),
}


@pytest.mark.parametrize("set_reply", CALLS.values(), ids=CALLS)
def test_a_tool_call_is_a_reply(set_reply: Configure, mock_llm_responses: LLMMock) -> None:
    set_reply(mock_llm_responses)
    assert ask_by_llm() == [("weather", {"city": "Rome"})]


def test_a_tool_call_is_the_reply_to_an_sdk_too(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", ToolCall("weather", '{"city": "Rome"}'))
    with openai.OpenAI(api_key="none") as client:
        answer = client.chat.completions.create(
            model="gpt-4o", messages=[{"role": "user", "content": "Hi"}], tools=TOOLS
        )
    [call] = answer.choices[0].message.tool_calls or []
    assert isinstance(call.function.arguments, str)  # type: ignore[union-attr]
    assert call.function.arguments == '{"city": "Rome"}'  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (ROME, "ToolCall('weather', {'city': 'Rome'})"),
        (BrokenToolCall("weather", "{"), "BrokenToolCall('weather', {'_raw': '{'})"),
    ],
)
def test_a_tool_call_is_shown_as_it_is_written(call: ToolCall, shown: str) -> None:
    assert repr(call) == shown


class NamedArguments(BaseModel):
    """Data with the fields of a tool call."""

    name: str
    arguments: dict[str, int]


@pytest.mark.parametrize("wrap", [lambda data: data, lambda data: [data]], ids=["one", "list"])
def test_a_pydantic_instance_is_data_whatever_its_fields_are(wrap: Callable[[Any], Any]) -> None:
    get_model = create_mock_get_model()
    get_model.set("m", wrap(NamedArguments(name="f", arguments={"a": 1})))
    expected = '{"name": "f", "arguments": {"a": 1}}'
    assert get_model("m").prompt("Hi").text() in (expected, f"[{expected}]")


@pytest.mark.parametrize("text", ["[1]", '{"city": ', "Rome", "", "null"])
def test_arguments_that_are_no_json_object_are_refused(text: str) -> None:
    with pytest.raises(InvalidReply, match=r"tool call 'weather' are not .*use BrokenToolCall"):
        ToolCall("weather", text)
    assert BrokenToolCall("weather", text).text == text


@pytest.mark.parametrize(
    "usage",
    [
        {"input": 1, "output": 2},
        {"input_tokens": 1, "output_tokens": 2},
        {"input": 1, "output_tokens": 2},
    ],
    ids=" ".join,
)
def test_usage_has_the_names_of_llm_or_of_the_providers(usage: Any) -> None:
    get_model = create_mock_get_model({"m": Reply("Hello", usage=usage)})
    response = get_model("m").prompt("Hi")
    assert response.usage == {"input_tokens": 1, "output_tokens": 2}


def test_a_count_of_usage_is_given_once() -> None:
    with pytest.raises(InvalidReply, match="has both input and input_tokens: remove one of them"):
        Reply("Hello", usage={"input": 1, "input_tokens": 1})
    with pytest.raises(InvalidReply, match="input_tokens of the usage is -1"):
        Reply("Hello", usage={"input": -1})


@pytest.mark.parametrize(
    "set_latency",
    [
        lambda mock: mock.set("m", Reply("Hello", latency=2)),
        lambda mock: (mock.set("m", "Hello"), mock.set_latency("m", 2.0)),
    ],
    ids=["of a reply", "of a model"],
)
def test_a_latency_is_a_number_of_seconds(set_latency: Configure) -> None:
    get_model = create_mock_get_model()
    set_latency(get_model)
    response = get_model("m").prompt("Hi")
    assert response.text() == "Hello"
    assert 2_000 <= response.duration_ms() < 3_000


SCRIPTS = {
    "a single one": "tool_calls: {name: weather, arguments: {city: Rome}}",
    "arguments as text": """tool_calls: [{name: weather, arguments: '{"city": "Rome"}'}]""",
}


@pytest.mark.parametrize("reply", SCRIPTS.values(), ids=SCRIPTS)
def test_a_yaml_script_accepts_the_same(
    reply: str, mock_llm_responses: LLMMock, tmp_path: Path
) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(f"replies:\n  - {reply}\n")
    ServeScript(str(script)).configure(mock_llm_responses.configurator)
    assert ask_by_llm() == [("weather", {"city": "Rome"})]


def test_wrong_arguments_in_a_yaml_script_are_refused_with_their_line(
    mock_llm_responses: LLMMock, tmp_path: Path
) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("replies:\n  - tool_calls: {name: weather, arguments: Rome}\n")
    with pytest.raises(LLMMockError, match=r"(?s)script\.yaml:2.*are not a JSON object: 'Rome'"):
        ServeScript(str(script)).configure(mock_llm_responses.configurator)
