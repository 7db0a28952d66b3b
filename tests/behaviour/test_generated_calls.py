"""A model that calls each offered tool once, through `llm` and through SDKs."""

from __future__ import annotations

import json
import pickle
from typing import Any

import anthropic
import llm
import openai
import pytest
from pydantic import BaseModel

from llm_mock import InvalidReply, LLMMock, create_mock_get_model
from llm_mock.behaviour.generated_calls import CallEveryTool

SCHEMAS: dict[str, Any] = {
    "weather": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
    "time": {"type": "object", "properties": {}},
}
OUTPUTS = {"weather": "sunny", "time": "noon"}
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": name, "parameters": schema}}
    for name, schema in SCHEMAS.items()
]


class City(BaseModel):
    """A structured answer."""

    name: str


def run_chat(**fields: Any) -> tuple[list[list[tuple[str, Any]]], str | None]:
    """Run an agent, and return the calls of each turn, and the answer."""
    messages: list[Any] = [{"role": "user", "content": "Try everything"}]
    turns = []
    with openai.OpenAI(api_key="none") as client:
        while True:
            completion = client.chat.completions.create(
                model="gpt-4o", messages=messages, tools=TOOLS, **fields
            )
            message = completion.choices[0].message
            if not message.tool_calls:
                return turns, message.content
            messages.append(message.model_dump(exclude_none=True))
            made = []
            for call in message.tool_calls:
                function = call.function  # type: ignore[union-attr]
                made.append((function.name, json.loads(function.arguments)))
                output = OUTPUTS[function.name]
                messages.append({"role": "tool", "tool_call_id": call.id, "content": output})
            turns.append(made)


WEATHER, TIME = ("weather", {"city": "text"}), ("time", {})


@pytest.mark.parametrize(
    ("fields", "turns"),
    [
        ({}, [[WEATHER, TIME]]),
        ({"parallel_tool_calls": False}, [[WEATHER], [TIME]]),
        ({"tool_choice": "auto"}, [[WEATHER, TIME]]),
        ({"tool_choice": "none"}, []),
    ],
    ids=["at once", "one at a time", "auto", "none"],
)
def test_each_tool_is_called_once_as_the_request_allows(
    fields: dict[str, Any], turns: list[Any], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.call_every_tool("*", then="All done")
    assert run_chat(**fields) == (turns, "All done")


def test_a_named_tool_is_the_only_one(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.call_every_tool("*")
    with anthropic.Anthropic(api_key="none") as client:
        message = client.messages.create(
            model="claude-opus-5",
            max_tokens=9,
            messages=[{"role": "user", "content": "Hi"}],
            tools=[{"name": name, "input_schema": SCHEMAS[name]} for name in SCHEMAS],
            tool_choice={"type": "tool", "name": "time"},
        )
    assert [block.name for block in message.content if block.type == "tool_use"] == ["time"]


def test_a_tool_that_is_required_without_an_end_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from tests.behaviour.test_generated_calls import run_chat

        def test_agent(mock_llm_responses):
            mock_llm_responses.call_every_tool("*")
            run_chat(tool_choice="required")
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "call_every_tool: no tool is left to call, but the request still has "
            'tool_choice="required", so that a model would call tools without an end. After the '
            "first results, let the application leave the choice to the model, or set the call "
            "that ends the conversation: then=ToolCall('time', {*})."
        ]
    )


def test_a_new_question_is_a_new_run(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.call_every_tool("*")
    first, second = run_chat(), run_chat()
    assert first == second == ([[WEATHER, TIME]], "Done")


def test_some_arguments_are_given_and_some_tools_are_skipped(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.call_every_tool(
        "*", "Done", arguments={"weather": {"city": "Rome"}}, skip=["time"]
    )
    assert run_chat() == ([[("weather", {"city": "Rome"})]], "Done")


def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word}: a fruit"


def test_the_answer_is_any_reply(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.call_every_tool("*", then=lambda prompt: prompt.tool_results[0].output)
    chain = llm.get_model("gpt-4o").chain("Hi", tools=[look_up])
    assert chain.text() == "text: a fruit"
    with pytest.raises(InvalidReply, match="This is not a reply: 5"):
        mock_llm_responses.call_every_tool("*", then=5)


def test_the_answer_fits_the_schema_by_itself(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.call_every_tool("*")
    response = llm.get_model("gpt-4o").prompt("Hi", schema=City)
    assert City.model_validate_json(response.text()).name == "text"


def test_the_reply_can_be_sent_to_another_process() -> None:
    reply = pickle.loads(pickle.dumps(CallEveryTool("Done", {"look_up": {"word": "fig"}})))
    get_model = create_mock_get_model({"m": reply})
    assert get_model("m").chain("Hi", tools=[look_up]).text() == "Done"
    [call] = get_model.calls[0].response["tool_calls"]
    assert call == {"name": "look_up", "arguments": {"word": "fig"}}
