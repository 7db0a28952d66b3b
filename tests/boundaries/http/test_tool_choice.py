"""A reply that the request does not allow is an error; a generated one fits by itself.

The rules are those of the providers' guides: OpenAI's "Function calling", Anthropic's "How to
implement tool use", Google's `FunctionCallingConfig`, and Mistral's "Function calling".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import httpx
import pytest
from pydantic import create_model

from llm_mock import BrokenToolCall, LLMMock, Reply, ToolCall
from llm_mock.core.settings import Settings

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
SCHEMAS = {"weather": CITY, "time": NO_ARGUMENTS, "news": NO_ARGUMENTS}
ROME, TIME = ToolCall("weather", {"city": "Rome"}), ToolCall("time")


class API(NamedTuple):
    """An API and the fields of its requests."""

    url: str
    body: dict[str, Any]
    read_calls: Callable[[Any], list[Any]]
    """Returns the names and arguments of the tool calls of a body."""


def read_chat(body: Any) -> list[Any]:
    calls = [call["function"] for call in body["choices"][0]["message"].get("tool_calls") or ()]
    return [(call["name"], json.loads(call["arguments"])) for call in calls]


def read_responses(body: Any) -> list[Any]:
    items = [item for item in body["output"] if item["type"] == "function_call"]
    return [(item["name"], json.loads(item["arguments"])) for item in items]


def read_anthropic(body: Any) -> list[Any]:
    blocks = [block for block in body["content"] if block["type"] == "tool_use"]
    return [(block["name"], block["input"]) for block in blocks]


def read_gemini(body: Any) -> list[Any]:
    parts = body["candidates"][0]["content"]["parts"]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    return [(call["name"], call["args"]) for call in calls]


def read_converse(body: Any) -> list[Any]:
    blocks = body["output"]["message"]["content"]
    calls = [block["toolUse"] for block in blocks if "toolUse" in block]
    return [(call["name"], call["input"]) for call in calls]


CONVERSE_TOOLS = [
    {"toolSpec": {"name": name, "inputSchema": {"json": schema}}}
    for name, schema in SCHEMAS.items()
]
MESSAGES = [{"role": "user", "content": "Hi"}]
CHAT_TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": schema}}
    for name, schema in SCHEMAS.items()
]
APIS = {
    "chat": API(
        "https://api.openai.com/v1/chat/completions",
        {"model": "gpt-4o", "messages": MESSAGES, "tools": CHAT_TOOLS},
        read_chat,
    ),
    "responses": API(
        "https://api.openai.com/v1/responses",
        {
            "model": "gpt-4o",
            "input": "Hi",
            "tools": [
                {"type": "function", "name": name, "parameters": schema, "strict": False}
                for name, schema in SCHEMAS.items()
            ],
        },
        read_responses,
    ),
    "anthropic": API(
        "https://api.anthropic.com/v1/messages",
        {
            "model": "claude-opus-5",
            "max_tokens": 9,
            "messages": MESSAGES,
            "tools": [{"name": name, "input_schema": schema} for name, schema in SCHEMAS.items()],
        },
        read_anthropic,
    ),
    "gemini": API(
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-3:generateContent",
        {
            "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
            "tools": [
                {
                    "functionDeclarations": [
                        {"name": name, "parametersJsonSchema": schema}
                        for name, schema in SCHEMAS.items()
                    ]
                }
            ],
        },
        read_gemini,
    ),
    "converse": API(
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-lite-v1%3A0/converse",
        {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]},
        read_converse,
    ),
    "mistral": API(
        "https://api.mistral.ai/v1/chat/completions",
        {"model": "mistral-large", "messages": MESSAGES, "tools": CHAT_TOOLS},
        read_chat,
    ),
}


def name_tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def configure_calling(**config: Any) -> dict[str, Any]:
    return {"toolConfig": {"functionCallingConfig": config}}


ALLOWED = [{"type": "function", "name": name} for name in ("weather", "time")]
CHAT_ALLOWED = {"mode": "required", "tools": [name_tool("weather"), name_tool("time")]}
REQUIRED: dict[str, tuple[str, dict[str, Any]]] = {
    "chat, required": ("chat", {"tool_choice": "required"}),
    "chat, named": ("chat", {"tool_choice": name_tool("weather")}),
    "chat, allowed": (
        "chat",
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": CHAT_ALLOWED}},
    ),
    "responses, required": ("responses", {"tool_choice": "required"}),
    "responses, named": ("responses", {"tool_choice": {"type": "function", "name": "weather"}}),
    "responses, allowed": (
        "responses",
        {"tool_choice": {"type": "allowed_tools", "mode": "required", "tools": ALLOWED}},
    ),
    "anthropic, any": ("anthropic", {"tool_choice": {"type": "any"}}),
    "anthropic, tool": ("anthropic", {"tool_choice": {"type": "tool", "name": "weather"}}),
    "gemini, ANY": ("gemini", configure_calling(mode="ANY")),
    "gemini, ANY of one": (
        "gemini",
        configure_calling(mode="ANY", allowedFunctionNames=["weather"]),
    ),
    "gemini, ANY of two": (
        "gemini",
        configure_calling(mode="ANY", allowedFunctionNames=["weather", "time"]),
    ),
    "converse, any": (
        "converse",
        {"toolConfig": {"tools": CONVERSE_TOOLS, "toolChoice": {"any": {}}}},
    ),
    "converse, tool": (
        "converse",
        {"toolConfig": {"tools": CONVERSE_TOOLS, "toolChoice": {"tool": {"name": "weather"}}}},
    ),
    "mistral, any": ("mistral", {"tool_choice": "any"}),
    "mistral, required": ("mistral", {"tool_choice": "required"}),
    "mistral, named": ("mistral", {"tool_choice": name_tool("weather")}),
}
every_demand = pytest.mark.parametrize(("name", "fields"), REQUIRED.values(), ids=REQUIRED)


def ask(name: str, fields: dict[str, Any]) -> httpx.Response:
    api = APIS[name]
    return httpx.post(api.url, json={**api.body, **fields})


def read_problem(mock: LLMMock) -> str:
    [problem] = mock.problems
    mock.problems.clear()
    return problem


@every_demand
def test_a_text_is_no_reply_to_a_request_for_a_call(
    name: str, fields: dict[str, Any], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", "It is sunny.")
    answer = ask(name, fields)
    assert answer.status_code == 400
    problem = read_problem(mock_llm_responses)
    assert "test_tool_choice.py:" in problem
    assert "calls none of the tools weather" in problem
    assert "The reply: 'It is sunny.'" in problem
    [(field, value)] = fields.items()
    if name == "converse":
        value = {"toolChoice": value["toolChoice"]}
    assert f"but the request has {field}={json.dumps(value)}." in problem


@every_demand
def test_a_call_of_the_tool_fits(
    name: str, fields: dict[str, Any], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", ROME)
    answer = ask(name, fields)
    assert answer.status_code == 200
    assert APIS[name].read_calls(answer.json()) == [("weather", {"city": "Rome"})]


@every_demand
def test_data_become_the_call(
    name: str, fields: dict[str, Any], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", {"city": "Rome"})
    answer = ask(name, fields)
    assert APIS[name].read_calls(answer.json()) == [("weather", {"city": "Rome"})]


@every_demand
@pytest.mark.llm_mock_strict("warn")
def test_a_reply_that_nobody_configured_is_a_call(
    name: str, fields: dict[str, Any], mock_llm_calls: LLMMock
) -> None:
    answer = ask(name, fields)
    assert APIS[name].read_calls(answer.json()) == [("weather", {"city": "text"})]
    assert mock_llm_calls.last_call["configured"] is False


RESTRICTED = {
    **{key: REQUIRED[key] for key in REQUIRED if not re.search("required|any$|ANY$", key)},
    "chat, allowed, not required": (
        "chat",
        {
            "tool_choice": {
                "type": "allowed_tools",
                "allowed_tools": {**CHAT_ALLOWED, "mode": "auto"},
            }
        },
    ),
    "responses, allowed, not required": (
        "responses",
        {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": ALLOWED}},
    ),
    "gemini, VALIDATED": (
        "gemini",
        configure_calling(mode="VALIDATED", allowedFunctionNames=["weather"]),
    ),
}


@pytest.mark.parametrize(("name", "fields"), RESTRICTED.values(), ids=RESTRICTED)
def test_another_tool_than_the_named_ones_is_refused(
    name: str, fields: dict[str, Any], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", ToolCall("news"))
    assert ask(name, fields).status_code == 400
    assert "calls the tool 'news', but the request has" in read_problem(mock_llm_responses)


@pytest.mark.parametrize("case", [case for case in RESTRICTED if case not in REQUIRED])
def test_a_text_fits_where_tools_are_only_allowed(case: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", "It is sunny.")
    assert ask(*RESTRICTED[case]).status_code == 200


NOT_PARALLEL: dict[str, dict[str, Any]] = {
    "chat": {"parallel_tool_calls": False},
    "responses": {"parallel_tool_calls": False},
    "anthropic": {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    "mistral": {"parallel_tool_calls": False},
}


@pytest.mark.parametrize(("name", "fields"), NOT_PARALLEL.items(), ids=NOT_PARALLEL)
def test_one_call_at_a_time_is_one(
    name: str, fields: dict[str, Any], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add("*", ROME)
    assert len(APIS[name].read_calls(ask(name, fields).json())) == 1
    mock_llm_responses.add("*", [ROME, TIME])
    assert ask(name, fields).status_code == 400
    assert "calls 2 tools at once, but the request has" in read_problem(mock_llm_responses)
    mock_llm_responses.add("*", [ROME, TIME])
    assert len(APIS[name].read_calls(ask(name, {}).json())) == 2


NONE: dict[str, dict[str, Any]] = {
    "chat": {"tool_choice": "none"},
    "responses": {"tool_choice": "none"},
    "anthropic": {"tool_choice": {"type": "none"}},
    "gemini": configure_calling(mode="NONE"),
    "mistral": {"tool_choice": "none"},
}


@pytest.mark.parametrize(("name", "fields"), NONE.items(), ids=NONE)
def test_no_call_is_made_where_none_is_wanted(
    name: str, fields: dict[str, Any], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add("*", ROME)
    assert ask(name, fields).status_code == 400
    assert "calls the tool 'weather', but the request has" in read_problem(mock_llm_responses)
    mock_llm_responses.add("*", "It is sunny.")
    assert ask(name, fields).status_code == 200


ON_PURPOSE: dict[str, Any] = {
    "invalid": Reply("It is sunny.", invalid=True),
    "refusal": Reply(refusal="No."),
    "cut off": Reply("It is", finish_reason="length"),
    "filtered": Reply("It is", finish_reason="content_filter"),
    "broken call": BrokenToolCall("news", "{"),
    "broken calls": [BrokenToolCall("news", "{"), BrokenToolCall("news", "{")],
}


@pytest.mark.parametrize("reply", ON_PURPOSE.values(), ids=ON_PURPOSE)
def test_what_is_wrong_on_purpose_is_sent(reply: Any, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", reply)
    fields = {"tool_choice": "required", "parallel_tool_calls": False}
    assert ask("chat", fields).status_code == 200


@pytest.mark.filterwarnings("ignore::llm_mock.SchemaViolationWarning")
def test_the_setting_of_the_schema_check_switches_it_off(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.settings = Settings(schema_check="off")
    mock_llm_responses.set("*", "It is sunny.")
    assert ask("chat", {"tool_choice": "required"}).status_code == 200


def test_a_tool_that_the_provider_runs_may_be_the_one(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", "It is sunny.")
    tools = [*APIS["responses"].body["tools"], {"type": "web_search"}]
    assert ask("responses", {"tools": tools, "tool_choice": "required"}).status_code == 200
    choice = {"type": "web_search"}
    assert ask("responses", {"tools": tools, "tool_choice": choice}).status_code == 200


def test_an_sdk_raises_the_error_of_its_provider(mock_llm_responses: LLMMock) -> None:
    import openai

    mock_llm_responses.set("*", "It is sunny.")
    with openai.OpenAI(api_key="none") as client, pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**APIS["chat"].body, tool_choice="required")
    assert "calls none of the tools weather, time, news" in str(caught.value)
    mock_llm_responses.problems.clear()


@pytest.mark.llm_mock_strict("warn")
def test_a_tool_without_possible_arguments_is_named(mock_llm_calls: LLMMock) -> None:
    impossible = {"type": "integer", "minimum": 3, "maximum": 2}
    schema = {"type": "object", "properties": {"a": impossible}, "required": ["a"]}
    tools = [{"type": "function", "function": {"name": "strange", "parameters": schema}}]
    answer = ask("chat", {"tools": tools, "tool_choice": "required"})
    assert "The tool strange cannot be called" in answer.json()["error"]["message"]


COUNTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "chat": ("chat", {"n": 3}, "choices"),
    "mistral": ("mistral", {"n": 3}, "choices"),
    "gemini": ("gemini", {"generationConfig": {"candidateCount": 3}}, "candidates"),
}


@pytest.mark.parametrize(("name", "fields", "field"), COUNTS.values(), ids=COUNTS)
@pytest.mark.parametrize("is_configured", [False, True])
@pytest.mark.llm_mock_strict("warn")
def test_there_are_as_many_answers_as_asked(
    is_configured: bool,
    name: str,
    fields: dict[str, Any],
    field: str,
    mock_llm_responses: LLMMock,
) -> None:
    if is_configured:
        mock_llm_responses.set("*", "Hello")
    choices = ask(name, fields).json()[field]
    assert [choice["index"] for choice in choices] == [0, 1, 2]
    assert len({json.dumps({**choice, "index": 0}) for choice in choices}) == 1


@pytest.mark.parametrize(("name", "fields", "field"), COUNTS.values(), ids=COUNTS)
def test_a_stream_has_as_many_answers_as_asked(
    name: str, fields: dict[str, Any], field: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply(chunks=["Hel", "lo"]))
    api = APIS[name]
    url = api.url.replace(":generateContent", ":streamGenerateContent?alt=sse")
    body = {**api.body, **fields}
    if name != "gemini":
        body["stream"] = True
    data = [line.removeprefix("data: ") for line in httpx.post(url, json=body).text.splitlines()]
    texts: dict[int, str] = {}
    for event in [json.loads(item) for item in data if item not in ("", "[DONE]")]:
        for choice in event[field]:
            if name == "gemini":
                text = choice["content"]["parts"][0]["text"]
            else:
                text = choice["delta"].get("content") or ""
            texts[choice["index"]] = texts.get(choice["index"], "") + text
    assert texts == {0: "Hello", 1: "Hello", 2: "Hello"}


CALLED = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
WEATHER_WAS_CALLED = [
    *MESSAGES,
    {"role": "assistant", "content": None, "tool_calls": [CALLED]},
    {"role": "tool", "tool_call_id": "c", "content": "The city is missing."},
]
FORECAST = {"type": "function", "function": {"name": "forecast", "parameters": CITY}}


@pytest.mark.parametrize(
    ("choice", "tools", "called"),
    [
        ("required", CHAT_TOOLS, ["weather"]),
        ("required", [*CHAT_TOOLS, FORECAST], ["forecast"]),
        ("auto", CHAT_TOOLS, []),
    ],
)
def test_data_call_a_tool_again_only_where_a_call_is_required(
    choice: str, tools: list[Any], called: list[str], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", {"city": "Rome"})
    fields = {"messages": WEATHER_WAS_CALLED, "tools": tools, "tool_choice": choice}
    calls = read_chat(ask("chat", fields).json())
    assert calls == [(name, {"city": "Rome"}) for name in called]


def test_data_with_a_wrong_type_break_the_schema_of_their_tool(
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.settings = Settings(schema_check="error")
    mock_llm_responses.set("*", {"city": 5})
    assert ask("chat", {}).status_code == 400
    problem = read_problem(mock_llm_responses)
    assert "violates the schema of the tool 'weather' of the call:" in problem
    assert "  - the answer.city: 5 is not of type 'string'" in problem


def test_data_that_are_the_arguments_of_no_tool_break_no_schema(
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.settings = Settings(schema_check="error")
    mock_llm_responses.set("*", {"town": 5})
    assert ask("chat", {}).json()["choices"][0]["message"]["content"] == '{"town": 5}'


@pytest.mark.parametrize("prefix", ["", "final_result_"])
@pytest.mark.parametrize("chosen", [0, 1])
def test_data_of_a_class_call_the_tool_that_its_name_ends_with(
    chosen: int, prefix: str, mock_llm_responses: LLMMock
) -> None:
    classes = [create_model(name, amount=int) for name in ("Fund", "Refund")]
    tools = [
        {"name": f"{prefix}{each.__name__}", "parameters": each.model_json_schema()}
        for each in classes
    ]
    mock_llm_responses.set("*", classes[chosen](amount=1))
    fields = {"tools": [{"type": "function", "function": tool} for tool in tools]}
    answer = ask("chat", {**fields, "tool_choice": "required"})
    assert read_chat(answer.json()) == [(tools[chosen]["name"], {"amount": 1})]


@pytest.mark.parametrize(
    ("tools", "problem"),
    [
        (
            CHAT_TOOLS[:1],
            "\nThe data do not match the tool 'weather': the data: 'city' is a required property, "
            "but 'town' was given.\n",
        ),
        (
            CHAT_TOOLS[:2],
            "\nThe data match no tool: 'weather' accepts city; 'time' accepts no arguments.\n",
        ),
    ],
)
def test_data_that_match_no_tool_are_compared_with_the_tools(
    tools: list[Any], problem: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", {"town": "Rome"})
    assert ask("chat", {"tools": tools, "tool_choice": "required"}).status_code == 400
    told = read_problem(mock_llm_responses)
    assert problem in told
    assert "as data" not in told


def test_data_that_answer_the_schema_of_a_request_call_no_tool(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", {"city": "Rome"})
    schema = {"name": "place", "schema": CHAT_TOOLS[0]["function"]["parameters"]}
    form = {"type": "json_schema", "json_schema": schema}
    fields = {"tools": CHAT_TOOLS[:1], "tool_choice": "required", "response_format": form}
    assert ask("chat", fields).status_code == 400
    assert (
        "\nThe request also has a schema, so the data are sent as a text. To call a tool, use "
        "ToolCall('weather', {…}).\n"
    ) in read_problem(mock_llm_responses)


@pytest.mark.parametrize(
    ("tools", "problem"),
    [
        (
            CHAT_TOOLS[:1],
            "\nThe tool has the argument 'city': write {'city': …}.\n",
        ),
        (CHAT_TOOLS[:2], "\nThe data match no tool: 'weather' accepts city; "),
    ],
)
def test_data_that_are_no_object_are_told_the_argument_of_the_only_tool(
    tools: list[Any], problem: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply(data=["Rome"]))
    assert ask("chat", {"tools": tools, "tool_choice": "required"}).status_code == 400
    assert problem in read_problem(mock_llm_responses)


@pytest.mark.parametrize(
    ("tools", "advice"),
    [
        (
            CHAT_TOOLS[:1],
            "Set the arguments of the tool as data, a dict with city, or ToolCall('weather', "
            "{…}).\n",
        ),
        (
            CHAT_TOOLS[:2],
            "Set the arguments of 'time' or another tool as data, a dict with its fields, or "
            "ToolCall('time', {…}).\n",
        ),
    ],
)
def test_a_text_in_place_of_the_arguments_of_a_tool_is_told_so(
    tools: list[Any], advice: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", "city: Rome")
    assert ask("chat", {"tools": tools, "tool_choice": "required"}).status_code == 400
    told = read_problem(mock_llm_responses)
    assert f"The reply: 'city: Rome'\n{advice}Correct the reply. If it" in told


@pytest.mark.parametrize("arguments", [{}, {"zone": "UTC"}])
def test_a_function_without_a_schema_takes_any_arguments(
    arguments: dict[str, Any], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", ToolCall("now", arguments))
    tools = [{"type": "function", "function": {"name": "now"}}]
    response = ask("chat", {"tools": tools})
    assert response.status_code == 200
    [call] = response.json()["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == arguments
