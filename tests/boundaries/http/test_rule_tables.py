"""Every row of the tables of rules, and what differs from a row in one place.

The rows are those of the providers' documentation and of the types in their SDKs, never those of
the package.
"""

from __future__ import annotations

import math
import sys
import typing
import uuid
from typing import Any

import anthropic
import anthropic.types.beta.message_create_params
import google.genai.types
import httpx
import mistralai.client
import openai
import openai.types.responses.response_create_params
import pytest

from llm_mock import LLMMock, Reply

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")

HELLO = [{"role": "user", "content": "Hello"}]
CONTENTS = [{"role": "user", "parts": [{"text": "Hello"}]}]
VERTEX = "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers"
APIS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": (
        "https://api.openai.com/v1/chat/completions",
        {"model": "gpt-4o", "messages": HELLO},
    ),
    "responses": ("https://api.openai.com/v1/responses", {"model": "gpt-4o", "input": "Hello"}),
    "messages": (
        "https://api.anthropic.com/v1/messages",
        {"model": "claude-3-opus-20240229", "max_tokens": 99, "messages": HELLO},
    ),
    "messages at Vertex AI": (
        f"{VERTEX}/anthropic/models/claude-3-opus:rawPredict",
        {"anthropic_version": "vertex-2023-10-16", "max_tokens": 99, "messages": HELLO},
    ),
    "gemini": (
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
        {"contents": CONTENTS},
    ),
    "gemini at Vertex AI": (
        f"{VERTEX}/google/models/gemini-2.5-flash:generateContent",
        {"contents": CONTENTS},
    ),
    "mistral": (
        "https://api.mistral.ai/v1/chat/completions",
        {"model": "mistral-small-latest", "messages": HELLO},
    ),
    "cohere": (
        "https://api.cohere.com/v2/chat",
        {"model": "command-a-03-2025", "messages": HELLO},
    ),
    "ollama": (
        "https://ollama.com/api/chat",
        {"model": "llama3.2", "messages": HELLO, "stream": False},
    ),
    "generate": (
        "https://ollama.com/api/generate",
        {"model": "llama3.2", "prompt": "Hello", "stream": False},
    ),
}
"""The address of each API, and a body that it accepts."""


@pytest.fixture(autouse=True)
def _answer_anything(mock_llm_calls: LLMMock) -> None:
    """Answer each request that is not refused."""
    mock_llm_calls.set("*", Reply("{}", invalid=True))


def send(api: str, fields: dict[str, Any]) -> httpx.Response:
    """Send a body to an API; a name with a dot leads into an object."""
    url, body = APIS[api]
    body = dict(body)
    for name, value in fields.items():
        first, _, rest = name.partition(".")
        body[first] = {**body.get(first, {}), rest: value} if rest else value
    keys = {"authorization": "Bearer any", "x-api-key": "any", "x-goog-api-key": "any"}
    return httpx.post(url, json=body, headers=keys)


def find_refusal(api: str, fields: dict[str, Any]) -> str:
    """Return the body of the error for a request; empty if it is accepted."""
    response = send(api, fields)
    return "" if response.status_code == 200 else response.text


def find_refused(api: str, bodies: dict[str, dict[str, Any]]) -> set[str]:
    """Return the names of the bodies that an API refuses."""
    return {name for name, fields in bodies.items() if find_refusal(api, fields)}


def list_types(union: Any, field: str = "type") -> set[str]:
    """Return the values that the members of a union in an SDK have in a field."""
    values: set[str] = set()
    for member in typing.get_args(union):
        kind = typing.get_type_hints(member).get(field)
        values.update(_list_literals(kind))
    return values


def _list_literals(kind: Any) -> set[str]:
    if typing.get_origin(kind) is typing.Literal:
        return set(typing.get_args(kind))
    return {value for part in typing.get_args(kind) for value in _list_literals(part)}


# Numbers

RANGES: list[tuple[str, str, float, float, float]] = [
    ("chat", "temperature", 0, 2, 0.1),
    ("chat", "top_p", 0, 1, 0.1),
    ("chat", "frequency_penalty", -2, 2, 0.1),
    ("chat", "presence_penalty", -2, 2, 0.1),
    ("chat", "n", 1, 128, 1),
    ("chat", "max_tokens", 1, math.inf, 1),
    ("chat", "max_completion_tokens", 1, math.inf, 1),
    ("chat", "top_logprobs", 0, 20, 1),
    ("responses", "temperature", 0, 2, 0.1),
    ("responses", "top_p", 0, 1, 0.1),
    ("responses", "top_logprobs", 0, 20, 1),
    ("responses", "max_output_tokens", 16, math.inf, 1),
    ("responses", "max_tool_calls", 1, math.inf, 1),
    ("messages", "temperature", 0, 1, 0.1),
    ("messages", "top_p", 0, 1, 0.1),
    ("messages", "max_tokens", 0, math.inf, 1),
    ("messages at Vertex AI", "temperature", 0, 1, 0.1),
    ("gemini", "generationConfig.temperature", 0, 2, 0.1),
    ("gemini", "generationConfig.topP", 0, 1, 0.1),
    ("gemini", "generationConfig.candidateCount", 1, 8, 1),
    ("gemini", "generationConfig.maxOutputTokens", 1, math.inf, 1),
    ("gemini at Vertex AI", "generationConfig.maxOutputTokens", 1, 65_536, 1),
    ("mistral", "temperature", 0, 1.5, 0.1),
    ("mistral", "top_p", 0, 1, 0.1),
    ("mistral", "max_tokens", 0, math.inf, 1),
    ("mistral", "n", 1, math.inf, 1),
    ("mistral", "presence_penalty", -2, 2, 0.1),
    ("mistral", "frequency_penalty", -2, 2, 0.1),
    ("cohere", "temperature", 0, 1, 0.1),
    ("cohere", "frequency_penalty", 0, 1, 0.1),
    ("cohere", "presence_penalty", 0, 1, 0.1),
    ("cohere", "k", 0, 500, 1),
    ("cohere", "p", 0.01, 0.99, 0.001),
    ("ollama", "top_logprobs", 0, 20, 1),
    ("generate", "top_logprobs", 0, 20, 1),
]
"""Each number with its API, its range, and the step to the next number."""


@pytest.mark.parametrize(("api", "name", "lowest", "highest", "step"), RANGES)
def test_a_number_is_refused_beyond_its_range(
    api: str, name: str, lowest: float, highest: float, step: float
) -> None:
    more = {"logprobs": True} if name == "top_logprobs" and api == "chat" else {}
    accepted, refused = [lowest, lowest + step], [lowest - step]
    if highest < math.inf:
        accepted += [highest, highest - step]
        refused.append(highest + step)
    for number in accepted:
        assert find_refusal(api, {**more, name: number}) == "", number
    for number in refused:
        assert name.rpartition(".")[2][:3] in find_refusal(api, {**more, name: number}), number


# Fields

# Rules remember the tools that they accepted.
NEW_SCHEMA = {"title": uuid.uuid4().hex}
NEW_FIELDS: list[tuple[str, Any, str, dict[str, Any]]] = [
    (
        "chat",
        openai.types.chat.completion_create_params.CompletionCreateParamsBase,
        "new_field",
        {"new_field": 1},
    ),
    (
        "responses",
        openai.types.responses.response_create_params.ResponseCreateParamsBase,
        "new_field",
        {"new_field": 1},
    ),
    *(
        (api, module.MessageCreateParamsBase, "new_field", {"new_field": 1})
        for api in ("messages", "messages at Vertex AI")
        for module in (
            anthropic.types.message_create_params,
            anthropic.types.beta.message_create_params,
        )
    ),
    *(
        (api, each, "new_field", {"generationConfig.newField": 1})
        for api in ("gemini", "gemini at Vertex AI")
        for each in (
            google.genai.types.GenerateContentConfig,
            google.genai.types.GenerationConfig,
        )
    ),
    *(
        (api, each, "input_schema", {"tools": tools})
        for api in ("gemini", "gemini at Vertex AI")
        for each, tools in (
            (google.genai.types.Tool, [{"inputSchema": NEW_SCHEMA}]),
            (
                google.genai.types.FunctionDeclaration,
                [{"functionDeclarations": [{"name": "f", "inputSchema": NEW_SCHEMA}]}],
            ),
        )
    ),
    (
        "mistral",
        mistralai.client.models.ChatCompletionRequest,
        "new_field",
        {"new_field": 1},
    ),
]
"""The types in which a newer SDK has newer fields, with a field and a body that has it."""


@pytest.mark.parametrize(("api", "sdk_type", "name", "fields"), NEW_FIELDS)
def test_a_field_of_a_newer_sdk_is_accepted(
    api: str,
    sdk_type: Any,
    name: str,
    fields: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert find_refusal(api, fields) != ""
    monkeypatch.setitem(sdk_type.__annotations__, name, "object")
    assert find_refusal(api, fields) == ""


def test_a_parameter_of_a_newer_sdk_of_cohere_is_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = pytest.importorskip("cohere.v2.client")
    assert find_refusal("cohere", {"new_field": 1}) != ""

    def chat(new_field: int) -> None: ...

    monkeypatch.setattr(client.V2Client, "chat", staticmethod(chat))
    assert find_refusal("cohere", {"new_field": 1}) == ""


# Names of fields in a tool of OpenAI or Anthropic, and in OpenAI's function
FOREIGN_FIELDS = ("description", "function", "inputSchema", "name", "parameters", "strict", "type")


@pytest.mark.parametrize("api", ["gemini", "gemini at Vertex AI"])
def test_fields_of_other_providers_are_refused_in_tools_of_gemini(api: str) -> None:
    function = {"name": "f", "description": "d", "parameters": {"type": "OBJECT"}}
    for name in (*FOREIGN_FIELDS, "input_schema"):
        unknown = f'Unknown name \\"{name}\\" at '
        refusal = find_refusal(api, {"tools": [{name: {}}]})
        assert f"{unknown}'tools[0]'" in refusal
        declaration = {**function, name: {}}
        refusal = find_refusal(api, {"tools": [{"functionDeclarations": [declaration]}]})
        if name not in function:
            assert f"{unknown}'tools[0].function_declarations[0]'" in refusal
        else:
            assert unknown not in refusal
    assert find_refusal(api, {"tools": [{"functionDeclarations": [function]}]}) == ""
    assert find_refusal(api, {"tools": [{"functions": [], "typed": 1, "names": 1}]}) == ""


@pytest.mark.parametrize("api", ["gemini", "gemini at Vertex AI"])
def test_fields_of_googles_sdk_are_accepted_in_tools_of_gemini(api: str) -> None:
    types = google.genai.types
    for field in types.Tool.model_fields.values():
        refusal = find_refusal(api, {"tools": [{field.alias: {}}]})
        assert "Unknown name" not in refusal, field.alias
    for field in types.FunctionDeclaration.model_fields.values():
        declaration = {"name": "f", field.alias: "f"}
        refusal = find_refusal(api, {"tools": [{"functionDeclarations": [declaration]}]})
        assert "Unknown name" not in refusal, field.alias


MISTRAL_FIELDS = {
    "system": {"content"},
    "user": {"content"},
    "assistant": {"content", "tool_calls", "prefix"},
    "tool": {"content", "tool_call_id", "name"},
}
"""The fields that Mistral accepts in a message, by role."""
MISTRAL_VALUES: dict[str, Any] = {
    "content": "Hello",
    "name": "f",
    "prefix": True,
    "reasoning_content": "x",
    "refusal": None,
    "tool_call_id": "abcdefghi",
    "tool_calls": [],
}


@pytest.mark.parametrize("role", MISTRAL_FIELDS)
def test_a_message_of_mistral_has_the_fields_of_its_role(role: str) -> None:
    refused = set()
    for name, value in MISTRAL_VALUES.items():
        message = {"role": role, name: value}
        refusal = find_refusal("mistral", {"messages": [*HELLO, message]})
        if "Extra inputs are not permitted" in refusal:
            assert f'"loc":["body","messages",1,"{role}","{name}"]' in refusal.replace(" ", "")
            refused.add(name)
    assert refused == MISTRAL_VALUES.keys() - MISTRAL_FIELDS[role]


CALL_OF_MISTRAL = {"id": "abcdefghi", "type": "function", "function": {"name": "f"}}
MISTRAL_MESSAGES: dict[str, dict[str, Any]] = {
    "system": {"role": "system", "content": "Be brief."},
    "user": {"role": "user", "content": "Hello"},
    "assistant": {"role": "assistant", "content": "Hi", "prefix": True},
    "tool": {"role": "tool", "tool_call_id": "abcdefghi", "content": "Sunny."},
}
# Of mistral-common's validator
UNEXPECTED = {("user", "tool"), ("system", "tool"), ("assistant", "system"), ("tool", "system")}


def test_roles_follow_each_other_at_mistral_as_its_validator_says() -> None:
    found = set()
    for before, first in MISTRAL_MESSAGES.items():
        for role, second in MISTRAL_MESSAGES.items():
            refusal = find_refusal("mistral", {"messages": [first, second]})
            if f"Unexpected role '{role}' after role '{before}'" in refusal:
                assert '"code":"3230"' in refusal.replace(" ", "")
                found.add((before, role))
    assert found == UNEXPECTED


# Content and tools


USER_TYPES = {"input_text", "input_image", "input_file"}
CHAT_TYPES = {"text", "image_url", "input_audio", "refusal", "audio", "file"}
ANTHROPIC_TYPES = {
    *("bash_code_execution_tool_result", "code_execution_tool_result", "container_upload"),
    *("document", "image", "redacted_thinking", "search_result", "server_tool_use", "text"),
    *("text_editor_code_execution_tool_result", "thinking", "tool_result"),
    *("tool_search_tool_result", "tool_use", "web_fetch_tool_result", "web_search_tool_result"),
}
OPENAI_TYPES = {
    *("file", "image_url", "input_audio", "input_file", "input_image", "input_text"),
    *("output_text", "refusal"),
}
"""The types of content that OpenAI has, and Anthropic has not."""


def list_parts(kinds: set[str], role: str = "user") -> list[dict[str, Any]]:
    return [
        {"role": role, "content": [{"type": kind, "text": "Hello", "id": "a"}]}
        for kind in sorted(kinds)
    ]


def find_refused_types(api: str, field: str, messages: list[dict[str, Any]]) -> set[str]:
    """Return the types of content for which an API has an error of tags or values."""
    refused = set()
    for message in messages:
        kind = message["content"][0]["type"]
        refusal = find_refusal(api, {field: [*HELLO, message]})
        if f"Invalid value: '{kind}'" in refusal or f"Input tag '{kind}'" in refusal:
            refused.add(kind)
    return refused


def test_responses_refuses_content_of_chat_completions() -> None:
    kinds = USER_TYPES | CHAT_TYPES | {"new_type"}
    refused = find_refused_types("responses", "input", list_parts(kinds))
    assert refused == {"text", "image_url", "audio", "file"}
    answers = list_parts({"output_text", "refusal", "input_text", "text", "file"}, "assistant")
    assert find_refused_types("responses", "input", answers) == {"input_text", "text", "file"}
    sdk_types = list_types(openai.types.responses.ResponseInputContentParam)
    assert sdk_types <= USER_TYPES


def test_chat_completions_accepts_the_content_of_its_sdk_alone() -> None:
    parts = list_parts(CHAT_TYPES | USER_TYPES | {"image", "new_type"})
    refused = find_refused_types("chat", "messages", parts)
    assert refused == {*USER_TYPES, "image", "new_type"}
    assert list_types(openai.types.chat.ChatCompletionContentPartParam) <= CHAT_TYPES


@pytest.mark.parametrize("api", ["messages", "messages at Vertex AI"])
def test_anthropic_refuses_the_content_of_openai(api: str) -> None:
    parts = list_parts(OPENAI_TYPES | ANTHROPIC_TYPES | {"new_type"})
    assert find_refused_types(api, "messages", parts) == OPENAI_TYPES
    refusal = find_refusal(api, {"messages": list_parts({"image_url"})})
    tags = ", ".join(f"'{kind}'" for kind in sorted(ANTHROPIC_TYPES))
    assert f"any of the expected tags: {tags}" in refusal
    assert list_types(anthropic.types.ContentBlockParam) <= ANTHROPIC_TYPES


OWN_TOOLS = {
    *("bash_20250124", "browser_toolset_20260801", "code_execution_20250522"),
    *("code_execution_20250825", "code_execution_20260120", "code_execution_20260521"),
    *("computer_toolset_20260801", "custom", "memory_20250818", "text_editor_20250124"),
    *("text_editor_20250429", "text_editor_20250728", "tool_search_tool_bm25"),
    *("tool_search_tool_bm25_20251119", "tool_search_tool_regex"),
    *("tool_search_tool_regex_20251119", "web_fetch_20250910", "web_fetch_20260209"),
    *("web_fetch_20260309", "web_fetch_20260318", "web_search_20250305"),
    *("web_search_20260209", "web_search_20260318"),
}
OF_BETAS = {"mcp_toolset", "computer_29991231"}
OF_OTHERS = {"function", "mcp", "web_search", "computer_2999123", "tool_search_tool"}


@pytest.mark.parametrize("api", ["messages", "messages at Vertex AI"])
def test_anthropic_accepts_the_tools_of_its_sdk(api: str) -> None:
    refused = set()
    for kind in OWN_TOOLS | OF_BETAS | OF_OTHERS:
        tool = {"type": kind, "name": "f", "input_schema": {"type": "object"}}
        refusal = find_refusal(api, {"tools": [tool]})
        if refusal:
            assert f"Input tag '{kind}'" in refusal
            refused.add(kind)
    assert refused == OF_OTHERS
    assert list_types(anthropic.types.ToolUnionParam) <= OWN_TOOLS
    assert list_types(anthropic.types.ToolChoiceParam) == {"any", "auto", "none", "tool"}


# Rows of small tables

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
FLAT_TOOL = {"type": "function", "name": "f", "parameters": {"type": "object"}}
VIDEO = {"type": "input_file", "filename": "a", "file_data": "data:video/mp4;base64,SUQz"}
CALL = {"type": "tool_use", "id": "call_1", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "call_1", "content": "Sunny."}
CALLED = [{"role": "assistant", "content": [CALL]}, {"role": "user", "content": [RESULT]}]
BRIEF = {"role": "system", "content": "Be brief."}
PAUSED = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
CITY = {"text": {"format": {"type": "json_object"}}}
NO_CALL = {
    "contents": [{"parts": [{"functionResponse": {"name": "f", "response": {}}}]}, *CONTENTS]
}
ITEMS = {"type": "ARRAY", "items": {"type": "ARRAY"}}
THINKING = {"max_tokens": 2048, "thinking": {"type": "enabled", "budget_tokens": 1024}}
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "unlikely tokens beside thinking": (
        "messages",
        {**THINKING, "top_p": 0.94},
        "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.",
    ),
    **{
        f"choice of the type {choice['type']} beside thinking": (
            "messages",
            {
                **THINKING,
                "tools": [{"name": "f", "input_schema": {"type": "object"}}],
                "tool_choice": choice,
            },
            "Thinking may not be enabled when tool_choice forces tool use.",
        )
        for choice in ({"type": "any"}, {"type": "tool", "name": "f"})
    },
    "text of Chat Completions in an answer": (
        "responses",
        {"input": [{"role": "assistant", "content": [{"type": "text", "text": "Hi"}]}]},
        "Invalid value: 'text'. Supported values are: 'output_text' and 'refusal'.",
    ),
    "message with its type and an unknown role": (
        "responses",
        {"input": [{"type": "message", "role": "tool", "content": "Hi"}]},
        "Invalid value: 'tool'",
    ),
    "file with a video": (
        "responses",
        {"input": [{"role": "user", "content": [VIDEO]}]},
        "unsupported MIME type 'video/mp4'",
    ),
    "id of a call of Chat Completions": (
        "responses",
        {"input": [{"role": "user", "content": "Hi", "tool_call_id": "a"}]},
        "Unknown parameter: 'input[0].tool_call_id'",
    ),
    "129 tools": (
        "chat",
        {"tools": [{**TOOL, "function": {"name": f"f{n}"}} for n in range(129)]},
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an "
        "array with length 129 instead.",
    ),
    "message of developers to the first model that reasons": (
        "chat",
        {"model": "o1-mini", "messages": [{"role": "developer", "content": "Be brief."}]},
        "'messages[0].role' does not support 'developer' with this model.",
    ),
    "response at the start": (
        "gemini",
        NO_CALL,
        "function response turn comes immediately after a function call turn",
    ),
    "array of arrays of nothing": (
        "gemini",
        {"tools": [{"functionDeclarations": [{"name": "f", "parameters": ITEMS}]}]},
        "function_declarations[0].parameters.items.items: missing field.",
    ),
}
ACCEPTED: dict[str, tuple[str, dict[str, Any]]] = {
    "likely tokens beside thinking": ("messages", {**THINKING, "top_p": 0.95}),
    "all tokens beside thinking": ("messages", {**THINKING, "top_p": 1}),
    "tool of Mistral": ("mistral", {"tools": [{"type": "web_search"}]}),
    "required tool of a prompt": (
        "responses",
        {"tool_choice": "required", "prompt": {"id": "pmpt_1"}},
    ),
    "chosen tool of a prompt": (
        "responses",
        {"tool_choice": {"type": "function", "name": "f"}, "prompt": {"id": "pmpt_1"}},
    ),
    "the word in the instructions": ("responses", {**CITY, "instructions": "Write JSON."}),
    "the word may be in the prompt": ("responses", {**CITY, "prompt": {"id": "pmpt_1"}}),
    "sampling without reasoning": (
        "responses",
        {"model": "gpt-5.1", "reasoning": {"effort": "none"}, "temperature": 0},
    ),
    "default sampling at Responses": (
        "responses",
        {"model": "gpt-5", "temperature": 1, "top_p": 1},
    ),
    "default sampling": (
        "chat",
        {
            "model": "gpt-5",
            "temperature": 1,
            "top_p": 1,
            "frequency_penalty": 0,
            "presence_penalty": 0,
            "logprobs": False,
            "logit_bias": {},
        },
    ),
    "128 tools": (
        "chat",
        {"tools": [{**TOOL, "function": {"name": f"f{n}"}} for n in range(128)]},
    ),
    "choice among some tools": (
        "chat",
        {"tools": [TOOL], "tool_choice": {"type": "allowed_tools", "allowed_tools": {}}},
    ),
    "choice of a function": (
        "chat",
        {"functions": [{"name": "f", "parameters": {}}], "function_call": "auto"},
    ),
    **{
        f"answer with {name} alone": (
            "chat",
            {"messages": [*HELLO, {"role": "assistant", "content": None, name: value}, *HELLO]},
        )
        for name, value in (
            ("function_call", {"name": "f", "arguments": "{}"}),
            ("refusal", "No."),
            ("audio", {"id": "a"}),
        )
    },
    "system message between turns": (
        "messages",
        {"model": "claude-opus-4-8", "messages": [*HELLO, *CALLED, BRIEF, *CALLED]},
    ),
    "long conversation that paused": (
        "messages",
        {
            "model": "claude-opus-4-6",
            "messages": [
                *HELLO,
                {"role": "assistant", "content": "Hi"},
                *HELLO,
                {"role": "assistant", "content": [PAUSED]},
            ],
        },
    ),
    "message with an empty role": (
        "gemini",
        {"contents": [{**CONTENTS[0], "role": ""}]},
    ),
    "call at the start": (
        "gemini",
        {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}]},
    ),
    "array with items by position": (
        "gemini",
        {
            "tools": [
                {
                    "functionDeclarations": [
                        {"name": "f", "parameters": {"type": "ARRAY", "prefixItems": [{}]}}
                    ]
                }
            ]
        },
    ),
    "choice and instruction at Vertex AI": (
        "gemini at Vertex AI",
        {
            "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
        },
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_request_is_refused(name: str) -> None:
    api, fields, message = REFUSED[name]
    refusal = send(api, fields).json()["error"]["message"]
    assert message in refusal


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_request_is_accepted(name: str) -> None:
    assert find_refusal(*ACCEPTED[name]) == ""


@pytest.mark.parametrize("name", ["previous_response_id", "conversation"])
def test_what_is_stored_may_bring_the_items_of_a_request(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The types of an installed SDK tell newer parameters.
    monkeypatch.setitem(sys.modules, "openai.types.responses.response_create_params", None)
    responses = APIS["responses"][0]
    stored = send("responses", {"input": "Write JSON."}).json()["id"]
    if name == "conversation":
        url = responses.replace("/responses", "/conversations")
        stored = httpx.post(url, json={"items": []}).json()["id"]
    assert "must be provided" in find_refusal("responses", {"input": []})
    assert "word 'json'" in find_refusal("responses", CITY)
    assert find_refusal("responses", {"input": [], name: stored}) == ""
    assert find_refusal("responses", {**CITY, name: stored}) == ""


@pytest.mark.parametrize("more", [{}, {"type": "function"}])
def test_a_tool_of_mistral_is_a_function_unless_it_has_another_type(more: dict[str, str]) -> None:
    tool = {**more, "name": "f"}
    [detail] = send("mistral", {"tools": [tool]}).json()["message"]["detail"]
    place = ["body", "tools", 0, "function"]
    assert detail == {"type": "missing", "loc": place, "msg": "Field required", "input": tool}


# Schemas

OPEN = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
CLOSED = {**OPEN, "additionalProperties": False}
STRICT_PLACES: dict[str, tuple[dict[str, Any], str]] = {
    "the schema": (OPEN, "()"),
    "an object without properties": ({"type": "object"}, "()"),
    "properties without a type": (
        {**CLOSED, "properties": {"a": {"properties": {}}}},
        "('properties', 'a')",
    ),
    "a property": (
        {**CLOSED, "properties": {"a": OPEN}},
        "('properties', 'a')",
    ),
    "a definition": ({**CLOSED, "$defs": {"b": OPEN}}, "('$defs', 'b')"),
    "an older definition": ({**CLOSED, "definitions": {"b": OPEN}}, "('definitions', 'b')"),
    "one of several": (
        {**CLOSED, "properties": {"a": {"anyOf": [CLOSED, OPEN]}}},
        "('properties', 'a', 'anyOf', '1')",
    ),
    "an item by position": (
        {**CLOSED, "properties": {"a": {"type": "array", "prefixItems": [OPEN]}}},
        "('properties', 'a', 'prefixItems', '0')",
    ),
    "the items": (
        {**CLOSED, "properties": {"a": {"type": "array", "items": OPEN}}},
        "('properties', 'a', 'items')",
    ),
}
"""Schemas with an object that allows more, and its place."""


@pytest.mark.parametrize("name", STRICT_PLACES)
def test_a_strict_schema_is_refused_wherever_it_allows_more(name: str) -> None:
    schema, place = STRICT_PLACES[name]
    tool = {**FLAT_TOOL, "strict": True, "parameters": schema}
    error = send("responses", {"tools": [tool]}).json()["error"]
    assert error["message"] == (
        f"Invalid schema for function 'f': In context={place}, 'additionalProperties' is required "
        "to be supplied and to be false."
    )
    assert find_refusal("responses", {"tools": [{**tool, "strict": False}]}) == ""


@pytest.mark.parametrize("name", ["items", "prefixItems"])
def test_an_array_has_a_schema_of_its_items(name: str) -> None:
    array: dict[str, Any] = {"type": "array"}
    tools = [{**FLAT_TOOL, "parameters": {"type": "object", "properties": {"a": array}}}]
    assert "('properties', 'a'), array schema missing items." in find_refusal(
        "responses", {"tools": tools}
    )
    array[name] = [{}] if name == "prefixItems" else {}
    assert find_refusal("responses", {"tools": tools}) == ""


# Hosts

HOSTS: dict[str, tuple[str, ...]] = {
    "chat": ("api.openai.com", "eu.api.openai.com"),
    "responses": ("api.openai.com", "us.api.openai.com"),
    "messages": ("api.anthropic.com", "eu.api.anthropic.com"),
    "messages at Vertex AI": ("aiplatform.googleapis.com", "us-east5-aiplatform.googleapis.com"),
    "gemini": ("generativelanguage.googleapis.com",),
    "gemini at Vertex AI": ("aiplatform.googleapis.com", "us-east5-aiplatform.googleapis.com"),
    "mistral": ("api.mistral.ai", "codestral.mistral.ai", "api.eu.mistral.ai", "api.us.mistral.ai"),
    "cohere": ("api.cohere.com", "api.cohere.ai"),
    "ollama": ("ollama.com",),
}
"""The hosts at which the rules of an API hold."""
WRONG: dict[str, dict[str, Any]] = {
    "gemini": {"generationConfig": {"newField": 1}},
    "gemini at Vertex AI": {"generationConfig": {"newField": 1}},
    "ollama": {"format": "xml"},
}
"""What an API refuses; others refuse a parameter that does not exist."""


@pytest.mark.parametrize("api", HOSTS)
def test_the_rules_of_an_api_hold_at_the_hosts_of_its_provider(api: str) -> None:
    url, body = APIS[api]
    host = httpx.URL(url).host
    wrong = {**body, **WRONG.get(api, {"new_field": 1})}
    headers = {"anthropic-version": "2023-06-01"} if "messages" in api else {}
    others = (f"my-gateway-{host}.test", "gateway.example.com")
    for other in (*HOSTS[api], *others):
        response = httpx.post(url.replace(host, other), json=wrong, headers=headers)
        assert (response.status_code == 200) is (other in others), other


@pytest.mark.parametrize(
    ("host", "is_refused"),
    [
        ("mine.openai.azure.com", True),
        ("mine.openai.azure.us", True),
        ("mine.cognitiveservices.azure.com", True),
        ("mine.services.ai.azure.com", False),
        ("mine.openai.azure.com.test", False),
    ],
)
def test_the_rules_of_openai_hold_at_azure(host: str, is_refused: bool) -> None:
    for path, question in (
        ("chat/completions", {"messages": HELLO}),
        ("responses", {"input": "Hello"}),
    ):
        body = {"model": "m", "temperature": 3, **question}
        response = httpx.post(f"https://{host}/openai/v1/{path}", json=body)
        assert (response.status_code == 400) is is_refused
