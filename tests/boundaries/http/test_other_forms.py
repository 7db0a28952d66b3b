"""A refused request in the form of another API is told the form of its own."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from llm_mock import LLMMock

CHAT = "https://api.openai.com/v1/chat/completions"
RESPONSES = "https://api.openai.com/v1/responses"
MESSAGES = "https://api.anthropic.com/v1/messages"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent"
COHERE = "https://api.cohere.com/v2/chat"
HELLO = [{"role": "user", "content": "Hello"}]
REST: dict[str, dict[str, Any]] = {
    CHAT: {"model": "gpt-4o", "messages": HELLO},
    RESPONSES: {"model": "gpt-4o", "input": "Hello"},
    MESSAGES: {"model": "claude-opus-5", "max_tokens": 99, "messages": HELLO},
    GEMINI: {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
}
"""The rest of a body that is accepted."""
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION = {"name": "weather", "description": "Tell the weather.", "parameters": SCHEMA}
NESTED = {"type": "function", "function": FUNCTION}
FLAT = {"type": "function", **FUNCTION}
OF_ANTHROPIC = {"name": "weather", "input_schema": SCHEMA}
OF_GEMINI = {"functionDeclarations": [FUNCTION]}
OF_MCP = {"name": "weather", "inputSchema": SCHEMA}
OF_BEDROCK = {"toolSpec": {"name": "weather", "inputSchema": {"json": SCHEMA}}}
IN_CHAT = (
    "In Chat Completions, name, description and parameters are inside 'function': {'type': "
    "'function', 'function': {'name': 'weather', 'parameters': {…}}}."
)
IN_RESPONSES = (
    "In the Responses API, a function has type, name, description and parameters: {'type': "
    "'function', 'name': 'weather', 'parameters': {…}}."
)
IN_MESSAGES = (
    "In Anthropic's Messages API, a tool has name, description and input_schema: {'name': "
    "'weather', 'input_schema': {…}}."
)
IN_GEMINI = (
    "In Gemini, the functions are a list in 'function_declarations': {'function_declarations': "
    "[{'name': 'weather', 'parameters': {…}}]}."
)
TOOLS = [
    (CHAT, FLAT, f"tools[0] has the form of the Responses API. {IN_CHAT}"),
    (CHAT, OF_ANTHROPIC, f"tools[0] has the form of Anthropic's Messages API. {IN_CHAT}"),
    (CHAT, OF_GEMINI, f"tools[0] has the form of Gemini. {IN_CHAT}"),
    (
        CHAT,
        {"function_declarations": [FUNCTION]},
        f"tools[0] has the form of Gemini. {IN_CHAT}",
    ),
    (CHAT, OF_MCP, f"tools[0] has the form of the Model Context Protocol. {IN_CHAT}"),
    (CHAT, OF_BEDROCK, f"tools[0] has the form of Bedrock's Converse API. {IN_CHAT}"),
    (CHAT, FUNCTION, f"tools[0] has the form of a bare function. {IN_CHAT}"),
    (
        RESPONSES,
        NESTED,
        "tools[0] has the form of Chat Completions. In the Responses API, name, description and "
        "parameters are not inside 'function': {'type': 'function', 'name': 'weather', "
        "'parameters': {…}}.",
    ),
    (RESPONSES, OF_ANTHROPIC, f"tools[0] has the form of Anthropic's Messages API. {IN_RESPONSES}"),
    (RESPONSES, FUNCTION, f"tools[0] has the form of a bare function. {IN_RESPONSES}"),
    (MESSAGES, NESTED, f"tools[0] has the form of Chat Completions. {IN_MESSAGES}"),
    (MESSAGES, FLAT, f"tools[0] has the form of the Responses API. {IN_MESSAGES}"),
    (MESSAGES, OF_GEMINI, f"tools[0] has the form of Gemini. {IN_MESSAGES}"),
    (MESSAGES, OF_MCP, f"tools[0] has the form of the Model Context Protocol. {IN_MESSAGES}"),
    (GEMINI, NESTED, f"tools[0] has the form of Chat Completions. {IN_GEMINI}"),
    (GEMINI, FLAT, f"tools[0] has the form of the Responses API. {IN_GEMINI}"),
    (GEMINI, OF_ANTHROPIC, f"tools[0] has the form of Anthropic's Messages API. {IN_GEMINI}"),
    (
        GEMINI,
        {"function_declarations": [FLAT]},
        "tools[0].function_declarations[0] has the form of the Responses API. In Gemini, a "
        "function has name, description and parameters: {'name': 'weather', 'parameters': {…}}.",
    ),
]
FORMAT = {"name": "city", "schema": SCHEMA}
FLAT_FORMAT = {"type": "json_schema", **FORMAT}
NESTED_FORMAT = {"type": "json_schema", "json_schema": FORMAT}
OTHERS: list[tuple[str, dict[str, Any], str]] = [
    (
        CHAT,
        {"tools": [NESTED], "tool_choice": {"type": "function", "name": "weather"}},
        "tool_choice has the form of the Responses API. In Chat Completions, the name is inside "
        "'function': {'type': 'function', 'function': {'name': 'weather'}}.",
    ),
    (
        CHAT,
        {"tools": [NESTED], "tool_choice": {"type": "any"}},
        "In Chat Completions, tool_choice is 'required'.",
    ),
    (
        CHAT,
        {"tools": [NESTED], "tool_choice": "any"},
        "In Chat Completions, tool_choice is 'required'.",
    ),
    (
        RESPONSES,
        {"tools": [FLAT], "tool_choice": {"type": "function", "function": {"name": "weather"}}},
        "tool_choice has the form of Chat Completions. In the Responses API, the name is not "
        "inside 'function': {'type': 'function', 'name': 'weather'}.",
    ),
    (
        MESSAGES,
        {
            "tools": [OF_ANTHROPIC],
            "tool_choice": {"type": "function", "function": {"name": "weather"}},
        },
        "tool_choice has the form of Chat Completions. In Anthropic's Messages API, the type is "
        "'tool': {'type': 'tool', 'name': 'weather'}.",
    ),
    (
        CHAT,
        {"tools": [NESTED], "tool_choice": {"type": "tool", "name": "weather"}},
        "tool_choice has the form of Anthropic's Messages API. In Chat Completions, the name is "
        "inside 'function': {'type': 'function', 'function': {'name': 'weather'}}.",
    ),
    (
        MESSAGES,
        {"tools": [OF_ANTHROPIC], "tool_choice": "required"},
        "In Anthropic's Messages API, tool_choice is {'type': 'any'}.",
    ),
    (
        MESSAGES,
        {"tools": [OF_ANTHROPIC], "tool_choice": {"type": "required"}},
        "In Anthropic's Messages API, tool_choice is {'type': 'any'}.",
    ),
    (
        CHAT,
        {"response_format": FLAT_FORMAT},
        "response_format has the form of the Responses API. In Chat Completions, name and schema "
        "are inside 'json_schema': {'type': 'json_schema', 'json_schema': {'name': 'city', "
        "'schema': {…}}}.",
    ),
    (
        RESPONSES,
        {"text": {"format": NESTED_FORMAT}},
        "text.format has the form of Chat Completions. In the Responses API, name and schema are "
        "not inside 'json_schema': {'type': 'json_schema', 'name': 'city', 'schema': {…}}.",
    ),
    (
        RESPONSES,
        {"response_format": NESTED_FORMAT},
        "response_format has the form of Chat Completions. In the Responses API, name and schema "
        "are not inside 'json_schema': {'type': 'json_schema', 'name': 'city', 'schema': {…}}.",
    ),
    (
        CHAT,
        {"messages": None, "input": "Hello"},
        "'input' is a parameter of the Responses API. In Chat Completions, use 'messages'.",
    ),
    (
        CHAT,
        {"system": "Be brief."},
        "'system' is a parameter of Anthropic's Messages API. In Chat Completions, use a message "
        "with the role 'system'.",
    ),
    (
        RESPONSES,
        {"max_tokens": 9},
        "'max_tokens' is a parameter of Chat Completions. In the Responses API, use "
        "'max_output_tokens'.",
    ),
    (
        MESSAGES,
        {"stop": ["."]},
        "'stop' is a parameter of Chat Completions. In Anthropic's Messages API, use "
        "'stop_sequences'.",
    ),
    (
        GEMINI,
        {"contents": None, "messages": HELLO},
        "'messages' is a parameter of Chat Completions. In Gemini, use 'contents'.",
    ),
]


OF_CHAT = "a parameter of Chat Completions"
OF_RESPONSES = "a parameter of the Responses API"
OF_MESSAGES = "a parameter of Anthropic's Messages API"
AS_GEMINI = "a parameter of Gemini"
PARAMETERS: list[tuple[str, str, str]] = [
    (CHAT, "contents", f"{AS_GEMINI}. In Chat Completions, use 'messages'."),
    (CHAT, "input", f"{OF_RESPONSES}. In Chat Completions, use 'messages'."),
    (
        CHAT,
        "instructions",
        f"{OF_RESPONSES}. In Chat Completions, use a message with the role 'developer'.",
    ),
    (
        CHAT,
        "max_output_tokens",
        f"{OF_RESPONSES}. In Chat Completions, use 'max_completion_tokens'.",
    ),
    (CHAT, "reasoning", f"{OF_RESPONSES}. In Chat Completions, use 'reasoning_effort'."),
    (CHAT, "stop_sequences", f"{OF_MESSAGES}. In Chat Completions, use 'stop'."),
    (CHAT, "system", f"{OF_MESSAGES}. In Chat Completions, use a message with the role 'system'."),
    (CHAT, "text", f"{OF_RESPONSES}. In Chat Completions, use 'response_format' or 'verbosity'."),
    (RESPONSES, "contents", f"{AS_GEMINI}. In the Responses API, use 'input'."),
    (RESPONSES, "functions", f"{OF_CHAT}. In the Responses API, use 'tools'."),
    (RESPONSES, "max_tokens", f"{OF_CHAT}. In the Responses API, use 'max_output_tokens'."),
    (RESPONSES, "system", f"{OF_MESSAGES}. In the Responses API, use 'instructions'."),
    (MESSAGES, "contents", f"{AS_GEMINI}. In Anthropic's Messages API, use 'messages'."),
    (MESSAGES, "functions", f"{OF_CHAT}. In Anthropic's Messages API, use 'tools'."),
    (MESSAGES, "input", f"{OF_RESPONSES}. In Anthropic's Messages API, use 'messages'."),
    (MESSAGES, "instructions", f"{OF_RESPONSES}. In Anthropic's Messages API, use 'system'."),
    (
        MESSAGES,
        "max_completion_tokens",
        f"{OF_CHAT}. In Anthropic's Messages API, use 'max_tokens'.",
    ),
    (
        MESSAGES,
        "max_output_tokens",
        f"{OF_RESPONSES}. In Anthropic's Messages API, use 'max_tokens'.",
    ),
    (MESSAGES, "response_format", f"{OF_CHAT}. In Anthropic's Messages API, use 'output_config'."),
    (MESSAGES, "stop", f"{OF_CHAT}. In Anthropic's Messages API, use 'stop_sequences'."),
    (MESSAGES, "text", f"{OF_RESPONSES}. In Anthropic's Messages API, use 'output_config'."),
    (GEMINI, "input", f"{OF_RESPONSES}. In Gemini, use 'contents'."),
    (GEMINI, "instructions", f"{OF_RESPONSES}. In Gemini, use 'systemInstruction'."),
    (GEMINI, "messages", f"{OF_CHAT}. In Gemini, use 'contents'."),
    (GEMINI, "system", f"{OF_MESSAGES}. In Gemini, use 'systemInstruction'."),
]
"""Each parameter that another API has, with the advice."""
MODES: list[tuple[str, Any, str]] = [
    (CHAT, {"type": "auto"}, "'auto'"),
    (CHAT, {"type": "any"}, "'required'"),
    (CHAT, {"type": "none"}, "'none'"),
    (MESSAGES, "any", "{'type': 'any'}"),
    (MESSAGES, "auto", "{'type': 'auto'}"),
    (MESSAGES, "none", "{'type': 'none'}"),
    (MESSAGES, "required", "{'type': 'any'}"),
]
"""Tool choices without a name, and how their API writes them."""


def send(url: str, fields: dict[str, Any], mock: LLMMock) -> str:
    """Send a request that is refused, and return the noted refusal."""
    response = httpx.post(url, json={**REST[url], **fields})
    assert response.status_code == 400
    [refusal] = mock.refusals
    return refusal


@pytest.mark.parametrize(("url", "tool", "advice"), TOOLS)
def test_a_tool_in_the_form_of_another_api_is_told_the_form_of_its_own(
    url: str, tool: dict[str, Any], advice: str, mock_llm_calls: LLMMock
) -> None:
    refusal = send(url, {"tools": [tool]}, mock_llm_calls)
    assert f"\n{advice}\nRequested at " in refusal


@pytest.mark.parametrize(("url", "fields", "advice"), OTHERS)
def test_a_parameter_in_the_form_of_another_api_is_told_the_form_of_its_own(
    url: str, fields: dict[str, Any], advice: str, mock_llm_calls: LLMMock
) -> None:
    assert advice in send(url, fields, mock_llm_calls)


@pytest.mark.parametrize(("url", "name", "advice"), PARAMETERS)
def test_a_parameter_of_another_api_is_told_the_name_of_its_own(
    url: str, name: str, advice: str, mock_llm_calls: LLMMock
) -> None:
    lines = send(url, {name: "x"}, mock_llm_calls).splitlines()
    assert lines[1] == f"'{name}' is {advice}"
    assert lines[2].startswith("Requested at ")


@pytest.mark.parametrize(
    ("role", "advice"),
    [
        ("assistant", "In Gemini, the role of the model is 'model'."),
        (
            "system",
            "In Gemini, the system prompt is in 'systemInstruction', outside of 'contents'.",
        ),
        (
            "developer",
            "In Gemini, the system prompt is in 'systemInstruction', outside of 'contents'.",
        ),
        ("tool", "In Gemini, the role of a function's result is 'user'."),
        ("narrator", None),
    ],
)
def test_a_role_of_another_api_is_told_that_of_gemini(
    role: str, advice: str | None, mock_llm_calls: LLMMock
) -> None:
    parts = [{"text": "Hello"}]
    contents = [{"role": "user", "parts": parts}, {"role": role, "parts": parts}]
    lines = send(GEMINI, {"contents": contents}, mock_llm_calls).splitlines()
    told = [] if advice is None else [f"contents[1] has the role '{role}'. {advice}"]
    assert lines[1:-1] == told


@pytest.mark.parametrize(("url", "choice", "form"), MODES)
def test_a_tool_choice_without_a_name_is_told_the_form_of_its_api(
    url: str, choice: Any, form: str, mock_llm_calls: LLMMock
) -> None:
    tool = NESTED if url == CHAT else OF_ANTHROPIC
    refusal = send(url, {"tools": [tool], "tool_choice": choice}, mock_llm_calls)
    api = "Chat Completions" if url == CHAT else "Anthropic's Messages API"
    assert re.search(rf"[\n ]In {api}, tool_choice is {re.escape(form)}\.(\n|$)", refusal)


@pytest.mark.parametrize(
    ("url", "fields"),
    [
        (CHAT, {"tools": [{"type": "function", "function": {"parameters": SCHEMA}}]}),
        (CHAT, {"tools": [{"type": "web_search"}]}),
        (CHAT, {"tools": [{"name": "weather"}]}),
        (CHAT, {"tools": [{"functionDeclarations": ["weather"]}, "weather"]}),
        (CHAT, {"tools": [NESTED], "tool_choice": "weather"}),
        (CHAT, {"tool_choice": "auto"}),
        (
            CHAT,
            {"tools": [NESTED], "tool_choice": {"type": "function", "function": {"name": "news"}}},
        ),
        (CHAT, {"response_format": {"type": "json_schema"}}),
        (CHAT, {"temprature": 1}),
        (RESPONSES, {"tools": [{"type": "function", "parameters": SCHEMA}]}),
        (RESPONSES, {"response_format": {"type": "json_object"}}),
        (RESPONSES, {"response_format": "json"}),
        (RESPONSES, {"text": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
        (MESSAGES, {"tools": [{"name": "weather"}]}),
        (MESSAGES, {"tools": [{"type": "custm", "name": "weather"}]}),
        (MESSAGES, {"tool_choice": {"type": "auto"}}),
        (MESSAGES, {"tools": [OF_ANTHROPIC], "tool_choice": {"type": "tool", "name": "news"}}),
        (GEMINI, {"tools": [{"functionDeclarations": [FUNCTION, FUNCTION]}]}),
        (GEMINI, {"tools": [{"functionDeclarations": [{**FUNCTION, "name": "a b"}]}]}),
    ],
)
def test_a_request_in_the_form_of_its_own_api_gets_no_advice(
    url: str, fields: dict[str, Any], mock_llm_calls: LLMMock
) -> None:
    refusal = send(url, fields, mock_llm_calls)
    advice = refusal.splitlines()[1:-1]
    assert [line for line in advice if line] == []
    assert re.fullmatch(r"Requested at \S+:\d+\.( Rule .*)?", refusal.splitlines()[-1])


@pytest.mark.parametrize(
    ("url", "content"),
    [
        (CHAT, b"{"),
        (CHAT, b"[]"),
        (COHERE, b'{"model": "m", "messages": [{"role": "x", "content": "Hello"}]}'),
    ],
)
def test_a_body_that_is_no_object_and_another_api_get_no_advice(
    url: str, content: bytes, mock_llm_calls: LLMMock
) -> None:
    response = httpx.post(url, content=content, headers={"content-type": "application/json"})
    assert response.status_code == 400
    [refusal] = mock_llm_calls.refusals
    assert re.fullmatch(r".*\nRequested at \S+:\d+\.( Rule .*)?", refusal)


def test_a_long_name_is_left_out_of_the_advice(mock_llm_calls: LLMMock) -> None:
    tool = {"type": "function", "function": {**FUNCTION, "name": "a" * 65}}
    refusal = send(RESPONSES, {"tools": [tool]}, mock_llm_calls)
    assert "{'type': 'function', 'name': '…', 'parameters': {…}}." in refusal


@pytest.mark.parametrize("host", ["gateway.example.com", "openrouter.ai"])
def test_a_gateway_may_accept_tools_of_openai_at_messages(
    host: str, mock_llm_calls: LLMMock, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", "Hi!")
    headers = {"anthropic-version": "2023-06-01", "user-agent": "Anthropic/Python 2.0.0"}
    body = {**REST[MESSAGES], "tools": [NESTED]}
    response = httpx.post(f"https://{host}/v1/messages", json=body, headers=headers)
    assert response.status_code == 200
    assert mock_llm_calls.refusals == []
