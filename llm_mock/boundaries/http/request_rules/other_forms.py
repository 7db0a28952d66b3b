"""Advice for refused requests that have the form of another API.

The advice appears only in messages of the mock; the error is the provider's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pydantic_core import from_json

from llm_mock.boundaries.http.request_rules.openai_shared import LONGEST_NAME

if TYPE_CHECKING:
    from llm_mock.boundaries.http.wire import WireRequest
    from llm_mock.boundaries.http.wire_error import WireError
    from llm_mock.support.json_types import JSONObject

CHAT = "Chat Completions"
RESPONSES = "the Responses API"
MESSAGES = "Anthropic's Messages API"
GEMINI = "Gemini"
PATHS = (
    (re.compile(r"/chat/completions$"), CHAT),
    (re.compile(r"/responses$"), RESPONSES),
    (re.compile(r"/(messages|publishers/anthropic/models/[^/]+:\w+)$"), MESSAGES),
    (re.compile(r":(g|streamG)enerateContent$"), GEMINI),
)
"""The APIs with advice, by the end of their paths."""
NAME = "NAME"
"""The placeholder for the name in an example."""


class Form(NamedTuple):
    """The form of an object at an API."""

    description: str
    example: str


TOOLS = {
    CHAT: Form(
        "name, description and parameters are inside 'function'",
        "{'type': 'function', 'function': {'name': NAME, 'parameters': {…}}}",
    ),
    RESPONSES: Form(
        "name, description and parameters are not inside 'function'",
        "{'type': 'function', 'name': NAME, 'parameters': {…}}",
    ),
    MESSAGES: Form(
        "a tool has name, description and input_schema", "{'name': NAME, 'input_schema': {…}}"
    ),
    GEMINI: Form(
        "the functions are a list in 'function_declarations'",
        "{'function_declarations': [{'name': NAME, 'parameters': {…}}]}",
    ),
}
"""The forms of tools."""
UNNESTED_TOOL = TOOLS[RESPONSES]._replace(
    description="a function has type, name, description and parameters"
)
"""The form of a tool in the Responses API, for a tool without `function`."""
DECLARATIONS = "function_declarations"
DECLARATION = Form(
    "a function has name, description and parameters", "{'name': NAME, 'parameters': {…}}"
)
"""The form of a function in a tool of Gemini."""
TOOL_KEYS = {
    "function": CHAT,
    "input_schema": MESSAGES,
    "inputSchema": "the Model Context Protocol",
    DECLARATIONS: GEMINI,
    "functionDeclarations": GEMINI,
    "toolSpec": "Bedrock's Converse API",
}
"""The keys that identify the form of a tool."""
CHOICES = {
    CHAT: Form("the name is inside 'function'", "{'type': 'function', 'function': {'name': NAME}}"),
    RESPONSES: Form("the name is not inside 'function'", "{'type': 'function', 'name': NAME}"),
    MESSAGES: Form("the type is 'tool'", "{'type': 'tool', 'name': NAME}"),
}
"""The forms of a tool choice with a name."""
FORMATS = {
    CHAT: Form(
        "name and schema are inside 'json_schema'",
        "{'type': 'json_schema', 'json_schema': {'name': NAME, 'schema': {…}}}",
    ),
    RESPONSES: Form(
        "name and schema are not inside 'json_schema'",
        "{'type': 'json_schema', 'name': NAME, 'schema': {…}}",
    ),
}
"""The forms of a response format with a schema."""
PARAMETERS = {
    CHAT: {
        "contents": (GEMINI, "'messages'"),
        "input": (RESPONSES, "'messages'"),
        "instructions": (RESPONSES, "a message with the role 'developer'"),
        "max_output_tokens": (RESPONSES, "'max_completion_tokens'"),
        "reasoning": (RESPONSES, "'reasoning_effort'"),
        "stop_sequences": (MESSAGES, "'stop'"),
        "system": (MESSAGES, "a message with the role 'system'"),
        "text": (RESPONSES, "'response_format' or 'verbosity'"),
    },
    RESPONSES: {
        "contents": (GEMINI, "'input'"),
        "functions": (CHAT, "'tools'"),
        "max_tokens": (CHAT, "'max_output_tokens'"),
        "system": (MESSAGES, "'instructions'"),
    },
    MESSAGES: {
        "contents": (GEMINI, "'messages'"),
        "functions": (CHAT, "'tools'"),
        "input": (RESPONSES, "'messages'"),
        "instructions": (RESPONSES, "'system'"),
        "max_completion_tokens": (CHAT, "'max_tokens'"),
        "max_output_tokens": (RESPONSES, "'max_tokens'"),
        "response_format": (CHAT, "'output_config'"),
        "stop": (CHAT, "'stop_sequences'"),
        "text": (RESPONSES, "'output_config'"),
    },
    GEMINI: {
        "input": (RESPONSES, "'contents'"),
        "instructions": (RESPONSES, "'systemInstruction'"),
        "messages": (CHAT, "'contents'"),
        "system": (MESSAGES, "'systemInstruction'"),
    },
}
"""The parameters of other APIs, by API, each with its own API and the replacement."""
MODES = {
    CHAT: {"auto": "'auto'", "any": "'required'", "none": "'none'"},
    MESSAGES: {
        "any": "{'type': 'any'}",
        "auto": "{'type': 'auto'}",
        "none": "{'type': 'none'}",
        "required": "{'type': 'any'}",
    },
}
"""The form of each tool choice without a name, by API; the key may be another API's word."""
ROLES = {
    "assistant": "the role of the model is 'model'",
    "developer": "the system prompt is in 'systemInstruction', outside of 'contents'",
    "system": "the system prompt is in 'systemInstruction', outside of 'contents'",
    "tool": "the role of a function's result is 'user'",
}
"""Gemini's equivalents of other APIs' roles."""
BARE = "a bare function"
TOOL_PLACE = re.compile(r"tools\W(\d+)\W?(\.function_declarations\[(\d+)\])?")
"""The place of a tool in an error: `tools[0].name` or `tools.0.custom.name`."""


class RefusedRequest(NamedTuple):
    """A refused request of an API."""

    api: str
    body: JSONObject
    error: WireError

    @property
    def place(self) -> str:
        """The invalid parameter, or else the message, which contains it."""
        return self.error.param or self.error.message


def advise_on_form(sent: WireRequest, error: WireError) -> str:
    """Explain how to write a part of a refused request that has the form of another API.

    Args:
        sent: the request.
        error: the provider's error.

    Returns:
        One or two sentences; empty for other errors.
    """
    api = _find_api(sent.path)
    if api is None:
        return ""
    try:
        body = from_json(sent.body)
    except ValueError:
        return ""
    if not isinstance(body, dict):
        return ""
    refusal = RefusedRequest(api, body, error)
    advisers = (
        _advise_on_tool,
        _advise_on_choice,
        _advise_on_format,
        _advise_on_parameter,
        _advise_on_role,
    )
    for advise in advisers:
        advice = advise(refusal)
        if advice:
            return advice
    return ""


def _find_api(path: str) -> str | None:
    for pattern, api in PATHS:
        if pattern.search(path):
            return api
    return None


def _advise_on_tool(refusal: RefusedRequest) -> str:
    """Return advice on the invalid tool, if it has the form of another API."""
    found = _find_tool(refusal)
    if found is None:
        return ""
    place, tool = found
    api = refusal.api
    source = _find_tool_form(tool)
    if source is None or source == api:
        return ""
    form = TOOLS[api]
    if DECLARATIONS in place:
        form = DECLARATION
        # It is a bare function, without a tool around it.
        if source == BARE:
            return ""
    # Only a tool of Chat Completions has its name in the wrong place.
    elif api == RESPONSES and source != CHAT:
        form = UNNESTED_TOOL
    name = _get_tool_name(tool)
    return _format_advice(place, source, api, form, name)


def _find_tool(refusal: RefusedRequest) -> tuple[str, JSONObject] | None:
    """Return the place of the tool or function that an error is about, and the object itself."""
    found = TOOL_PLACE.search(refusal.place)
    tools = refusal.body.get("tools")
    if found is None or not isinstance(tools, list):
        return None
    tool_index, _, function_index = found.groups()
    tool = _get_item(tools, tool_index)
    if tool is None:
        return None
    # In Python's notation, while Anthropic writes `tools.0`.
    place = f"tools[{tool_index}]"
    if function_index is None:
        return place, tool
    function = _get_item(_list_declarations(tool), function_index)
    if function is None:
        return None
    return f"{place}.{DECLARATIONS}[{function_index}]", function


def _get_item(items: list[JSONObject], index: str) -> JSONObject | None:
    """Return an object of a list in the body; None if the list has no object there."""
    position = int(index)
    if position >= len(items) or not isinstance(items[position], dict):
        return None
    return items[position]


def _list_declarations(tool: JSONObject) -> list[JSONObject]:
    """Return the functions in a tool of Gemini; empty for other tools."""
    declarations = tool.get("functionDeclarations")
    if declarations is None:
        declarations = tool.get(DECLARATIONS)
    return declarations if isinstance(declarations, list) else []


def _find_tool_form(tool: JSONObject) -> str | None:
    """Return the API whose form a tool has; None for an unknown form."""
    for key, api in TOOL_KEYS.items():
        value = tool.get(key)
        if isinstance(value, (dict, list)):
            return api
    has_name = "name" in tool
    has_parameters = isinstance(tool.get("parameters"), dict)
    if not has_name or not has_parameters:
        return None
    if tool.get("type") == "function":
        return RESPONSES
    return BARE


def _get_tool_name(tool: JSONObject) -> object:
    """Return the name of a tool in any form, or None."""
    for key in ("function", "toolSpec"):
        nested = tool.get(key)
        if isinstance(nested, dict):
            return nested.get("name")
    function = _get_item(_list_declarations(tool), "0")
    return (function or tool).get("name")


def _advise_on_choice(refusal: RefusedRequest) -> str:
    """Return advice on the tool choice, if it has the form of another API."""
    if not refusal.place.startswith("tool_choice"):
        return ""
    api = refusal.api
    choice = refusal.body.get("tool_choice")
    if not isinstance(choice, dict):
        return _advise_on_mode(api, choice, repr(choice))
    source = _find_choice_form(choice)
    if source is None:
        kind = choice.get("type")
        given = repr({"type": kind})
        return _advise_on_mode(api, kind, given)
    if source == api or api not in CHOICES:
        return ""
    name = _get_tool_name(choice)
    return _format_advice("tool_choice", source, api, CHOICES[api], name)


def _advise_on_mode(api: str, word: object, given: str) -> str:
    """Explain how to write a tool choice without a name.

    Args:
        api: the API of the request.
        word: the choice in one word.
        given: the choice in the request.
    """
    modes = MODES.get(api, {})
    mode = modes.get(str(word))
    if mode is None or mode == given:
        return ""
    return f"In {api}, tool_choice is {mode}."


def _find_choice_form(choice: JSONObject) -> str | None:
    """Return the API whose form the choice of a function has; None for another choice."""
    if isinstance(choice.get("function"), dict):
        return CHAT
    kind = choice.get("type")
    if kind == "function":
        return RESPONSES
    if kind == "tool":
        return MESSAGES
    return None


def _advise_on_format(refusal: RefusedRequest) -> str:
    """Return advice on the response format, if it has the form of OpenAI's other API."""
    param = refusal.error.param
    body = refusal.body
    if refusal.api == CHAT:
        is_at_fault = param == "response_format.json_schema"
        return _advise_on_flat_format(body["response_format"]) if is_at_fault else ""
    if refusal.api != RESPONSES:
        return ""
    if param == "text.format.name":
        return _advise_on_nested_format("text.format", body["text"]["format"])
    if "'response_format'" in refusal.error.message:
        return _advise_on_nested_format("response_format", body.get("response_format"))
    return ""


def _advise_on_flat_format(value: JSONObject) -> str:
    """Return advice on a response format in Chat Completions with the form of Responses."""
    if "schema" not in value:
        return ""
    name = value.get("name")
    return _format_advice("response_format", RESPONSES, CHAT, FORMATS[CHAT], name)


def _advise_on_nested_format(place: str, value: object) -> str:
    """Return advice on a response format in Responses with the form of Chat Completions.

    Args:
        place: its place in the body.
        value: the format.
    """
    if not isinstance(value, dict):
        return ""
    nested = value.get("json_schema")
    if not isinstance(nested, dict):
        return ""
    name = nested.get("name")
    return _format_advice(place, CHAT, RESPONSES, FORMATS[RESPONSES], name)


def _advise_on_parameter(refusal: RefusedRequest) -> str:
    """Return advice on a parameter of another API."""
    api, body, error = refusal
    message = error.message
    for name, (source, replacement) in PARAMETERS[api].items():
        if body.get(name) is None:
            continue
        own_name = replacement.strip("'")
        is_named = re.search(rf"\b{name}\b", message)
        is_missing = own_name in message and body.get(own_name) is None
        if is_named or is_missing:
            return f"'{name}' is a parameter of {source}. In {api}, use {replacement}."
    return ""


def _format_advice(place: str, source: str, api: str, form: Form, name: object) -> str:
    """Format the advice on an object that has the form of another API.

    Args:
        place: the place of the object.
        source: the API whose form it has.
        api: the API of the request.
        form: the form in the API of the request.
        name: the name in the object.
    """
    shown_name = "'…'"
    if isinstance(name, str) and len(name) <= LONGEST_NAME:
        shown_name = repr(name)
    example = form.example.replace(NAME, shown_name)
    return f"{place} has the form of {source}. In {api}, {form.description}: {example}."


def _advise_on_role(refusal: RefusedRequest) -> str:
    """Return advice on the first role that Gemini does not know, if another API has it."""
    if refusal.api != GEMINI or "valid role" not in refusal.error.message:
        return ""
    for index, content in enumerate(refusal.body["contents"]):
        role = content.get("role")
        if role in ROLES:
            return f"contents[{index}] has the role '{role}'. In Gemini, {ROLES[role]}."
    return ""
