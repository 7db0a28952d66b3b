"""Rules of OpenAI's Responses API.

See https://platform.openai.com/docs/api-reference/responses/create. Ranges and values come from
OpenAI's OpenAPI document, https://github.com/openai/openai-openapi. Checks of stored responses and
conversations are in `protocols/openai_responses.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pydantic_core import to_json

from llm_mock.boundaries.http.request_rules import openai_models as models
from llm_mock.boundaries.http.request_rules.openai_errors import (
    make_choice_error,
    make_error,
    make_missing_error,
    make_moved_error,
    make_unsupported_error,
)
from llm_mock.boundaries.http.request_rules.openai_shared import (
    JSON_WORD,
    MODEL_FEATURE,
    REASONING_MODEL,
    SHARED_RULES,
    TOOL_CHOICE,
    TOOL_WITHOUT_NAME,
    UNKNOWN_PARAMETER,
    UNKNOWN_VALUE,
    check_metadata,
    check_name,
    check_parameters,
    check_strict_format,
    contains_word_json,
    join_checks,
    make_choice_check,
    make_range_check,
)
from llm_mock.boundaries.http.request_rules.rule import Check, Memo, Rule, RuleSet, Violation
from llm_mock.boundaries.http.sdk_fields import has_sdk_field

if TYPE_CHECKING:
    from llm_mock.boundaries.http.request import HTTPRequest
    from llm_mock.support.json_types import JSONObject

REFERENCE = "https://platform.openai.com/docs/api-reference/responses/create"
ROLES = ("assistant", "system", "developer", "user")
INPUT_TYPES = (
    "input_text",
    "input_image",
    "output_text",
    "refusal",
    "input_file",
    "computer_screenshot",
    "summary_text",
)
ANSWER_TYPES = ("output_text", "refusal")
CHAT_TYPES = ("text", "image_url", "file", "audio")
"""The content types of Chat Completions, which have other names in Responses."""
CHOICES = ("none", "auto", "required")
FORMAT_TYPES = ("json_object", "json_schema", "text")
STATES = ("previous_response_id", "conversation", "prompt")
"""The parameters that refer to earlier items, which are not in the request."""
MOVED = {
    "messages": "input",
    "response_format": "text.format",
    "max_completion_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning.effort",
}
"""The parameters of Chat Completions that have another name in Responses, with that name."""
SDK_TYPES = (("openai.types.responses.response_create_params", "ResponseCreateParamsBase"),)

UNKNOWN_ROLE = Rule(
    "unknown-role",
    "a role that does not exist",
    "https://github.com/openai/openai-python/issues/2677",
)
UNKNOWN_PART = Rule(
    "unknown-content-type",
    "a content type that does not exist, or that the role of the message does not support",
    f"{REFERENCE}: input",
)
UNKNOWN_FIELD = Rule(
    "unknown-message-field",
    "a message field from Chat Completions: tool_calls or tool_call_id",
    "https://github.com/openai/openai-python/issues/2677",
)
OUTPUT_WITHOUT_CALL = Rule(
    "tool-result-without-call", "a function output without a function call", f"{REFERENCE}: input"
)
CALL_WITHOUT_OUTPUT = Rule(
    "tool-call-without-result", "a function call without a function output", f"{REFERENCE}: input"
)
FILE_TYPE = Rule(
    "file-type",
    "a file with audio or video",
    "https://platform.openai.com/docs/assistants/tools/file-search#supported-files",
)
MISSING = Rule(
    "missing-parameter",
    "an empty input without a previous response, a conversation or a prompt",
    f"{REFERENCE}: input",
)
DEPENDENT = Rule(
    "dependent-parameter",
    "a conversation together with a previous response",
    f"{REFERENCE}: previous_response_id",
)
ALL_RULES = (
    MISSING,
    DEPENDENT,
    UNKNOWN_ROLE,
    UNKNOWN_PART,
    UNKNOWN_FIELD,
    OUTPUT_WITHOUT_CALL,
    CALL_WITHOUT_OUTPUT,
    FILE_TYPE,
    *SHARED_RULES,
)

_passed_tools = Memo()
_passed_formats = Memo()


# Each request may have the whole conversation, so that this runs for each of its items.
def check_input(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the items of the conversation."""
    items = request.body["input"]
    if not items:
        yield from _check_state(request)
    elif isinstance(items, list):
        yield from _check_items(items, request)


def _check_state(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violation of an empty input, unless the request refers to earlier items."""
    if _has_state(request):
        return
    message = (
        "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be "
        "provided."
    )
    yield Violation(MISSING, make_error(message, None, code="missing_required_parameter"))


def _check_items(items: list[JSONObject], request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in a list of items."""
    calls: list[object] = []
    called: set[object] = set()
    outputs: set[object] = set()
    for index, item in enumerate(items):
        kind = item.get("type")
        if kind is None or kind == "message":
            yield from _check_message(item, index)
            continue
        call_id = item.get("call_id")
        if kind == "function_call_output":
            outputs.add(call_id)
            yield from _check_output(item, index, call_id in called or _refers(request))
            continue
        # Function outputs may answer calls of other types, too.
        called.add(call_id)
        if kind == "function_call":
            yield from _check_call(item, index)
            calls.append(call_id)
    for call_id in calls:
        if call_id not in outputs:
            message = f"No tool output found for function call {call_id}."
            yield Violation(CALL_WITHOUT_OUTPUT, make_error(message, "input"))


def _refers(request: HTTPRequest) -> bool:
    """Return True if the conversation has stored items, which may include calls."""
    items = request.body["input"]
    return _has_state(request) or any(item.get("type") == "item_reference" for item in items)


def _has_state(request: HTTPRequest) -> bool:
    return any(request.body.get(name) is not None for name in STATES)


def check_conversation(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of a conversation together with an earlier response."""
    if request.body.get("previous_response_id") is None:
        return ()
    # OpenAI names no parameter, and shortens the long name.
    message = (
        "Mutually exclusive parameters: ''. Ensure you are only providing one of: 'pre..._id' or "
        "'conversation'."
    )
    error = make_error(message, None, code="mutually_exclusive_parameters")
    return (Violation(DEPENDENT, error),)


def _check_output(item: JSONObject, index: int, is_called: bool) -> Iterator[Violation]:
    """Yield the violations of the output of a function."""
    if not is_called:
        message = f"No tool call found for function call output with call_id {item.get('call_id')}."
        yield Violation(OUTPUT_WITHOUT_CALL, make_error(message, "input"))
    output = item.get("output")
    if isinstance(output, list):
        for position, part in enumerate(output):
            yield from _check_file(part, f"input[{index}].output[{position}]")


def _check_file(part: JSONObject, param: str) -> Iterator[Violation]:
    """Yield the violation of a file with audio, which no model reads as a file."""
    data = part.get("file_data")
    if part.get("type") != "input_file" or not isinstance(data, str):
        return
    media_type = data.removeprefix("data:").partition(";")[0]
    if not data.startswith("data:") or not media_type.startswith(("audio/", "video/")):
        return
    message = (
        f"Invalid file data: '{param}.file_data'. Expected a base64-encoded data URL with a valid "
        "file MIME type (e.g. 'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ=='), but got unsupported "
        f"MIME type '{media_type}'. Please see "
        "https://platform.openai.com/docs/assistants/tools/file-search#supported-files for "
        "supported file types."
    )
    error = make_error(message, f"{param}.file_data", code="invalid_value")
    yield Violation(FILE_TYPE, error)


def _check_call(item: JSONObject, index: int) -> Iterator[Violation]:
    """Yield the violations of a call; its arguments may be an object only in a tool search."""
    if isinstance(item.get("arguments"), dict):
        param = f"input[{index}].arguments"
        message = f"Invalid type for '{param}': expected a string, but got an object instead."
        yield Violation(UNKNOWN_VALUE, make_error(message, param, code="invalid_type"))


def _check_message(item: JSONObject, index: int) -> Iterator[Violation]:
    """Yield the violations in a message."""
    role = item.get("role")
    if role not in ROLES:
        param = f"input[{index}]"
        error = make_missing_error(f"{param}.role")
        if role is not None:
            error = make_choice_error(role, ROLES, param)
        yield Violation(UNKNOWN_ROLE, error)
    for name in ("tool_calls", "tool_call_id"):
        if name in item:
            param = f"input[{index}].{name}"
            error = make_error(f"Unknown parameter: '{param}'.", param, code="unknown_parameter")
            yield Violation(UNKNOWN_FIELD, error)
    content = item.get("content")
    if isinstance(content, list):
        yield from _check_parts(content, role, index)


def _check_parts(parts: list[JSONObject], role: object, index: int) -> Iterator[Violation]:
    for position, part in enumerate(parts):
        kind = part.get("type")
        param = f"input[{index}].content[{position}]"
        if kind is None:
            yield Violation(UNKNOWN_PART, make_missing_error(f"{param}.type"))
        elif role == "assistant" and kind in ("input_text", "text"):
            yield Violation(UNKNOWN_PART, make_choice_error(kind, ANSWER_TYPES, param))
        elif kind in CHAT_TYPES:
            yield Violation(UNKNOWN_PART, make_choice_error(kind, INPUT_TYPES, param))
        else:
            yield from _check_file(part, param)


def check_tools(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the tools on offer."""
    return _passed_tools.check_once(request.body["tools"], _check_each_tool)


def _check_each_tool(tools: list[JSONObject]) -> Iterator[Violation]:
    for index, tool in enumerate(tools):
        yield from _check_tool(tool, f"tools[{index}]")


def _check_tool(tool: JSONObject, param: str) -> Iterator[Violation]:
    kind = tool.get("type")
    if kind is None:
        yield Violation(UNKNOWN_VALUE, make_missing_error(f"{param}.type"))
    elif kind == "function":
        yield from check_name(tool.get("name"), f"{param}.name")
        yield from check_parameters(tool, f"{param}.parameters")


def check_tool_choice(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of the choice of a tool."""
    choice = request.body["tool_choice"]
    tools = request.body.get("tools") or ()
    if isinstance(choice, str):
        if choice not in CHOICES:
            error = make_choice_error(choice, CHOICES, "tool_choice")
            return (Violation(UNKNOWN_VALUE, error),)
        # A stored prompt may contain tools.
        if choice == "required" and not tools and request.body.get("prompt") is None:
            message = "Tool choice 'required' must be specified with 'tools' parameter."
            return (Violation(TOOL_CHOICE, make_error(message, "tool_choice")),)
        return ()
    if choice.get("type") != "function":
        return ()
    return _check_chosen_function(request, choice.get("name"))


def _check_chosen_function(request: HTTPRequest, name: object) -> Iterable[Violation]:
    """Return the violation of the choice of a function."""
    if name is None:
        # Only Chat Completions puts the name into `function`.
        return (Violation(TOOL_WITHOUT_NAME, make_missing_error("tool_choice.name")),)
    if request.body.get("prompt") is not None:
        return ()
    tools = request.body.get("tools") or ()
    # Tools may be in a namespace, which is a tool that contains tools.
    if f'"name":{to_json(name).decode()}' in to_json(tools).decode():
        return ()
    message = "Tool choice 'function' not found in 'tools' parameter."
    return (Violation(TOOL_CHOICE, make_error(message, "tool_choice")),)


def check_text(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violations in the format of the answer."""
    text = request.body["text"]
    text_format = text.get("format")
    if not isinstance(text_format, dict):
        return ()
    kind = text_format.get("type")
    if kind == "json_schema":
        return _check_schema_format(request, text_format)
    if kind == "json_object":
        return _check_json_mode(request)
    if kind in FORMAT_TYPES:
        return ()
    param = "text.format.type"
    error = make_missing_error(param)
    if kind is not None:
        error = make_choice_error(kind, FORMAT_TYPES, param)
    return (Violation(UNKNOWN_VALUE, error),)


def _check_schema_format(request: HTTPRequest, text_format: JSONObject) -> Iterator[Violation]:
    if models.NO_JSON_SCHEMA.match(request.model_id):
        message = (
            "Invalid parameter: 'text.format' of type 'json_schema' is not supported with model "
            f"version `{request.model_id}`."
        )
        yield Violation(MODEL_FEATURE, make_error(message, "text"))
    yield from _passed_formats.check_once(text_format, _check_new_format)


def _check_new_format(text_format: JSONObject) -> Iterator[Violation]:
    yield from check_name(text_format.get("name"), "text.format.name")
    if text_format.get("schema") is None:
        yield Violation(TOOL_WITHOUT_NAME, make_missing_error("text.format.schema"))
    yield from check_strict_format(text_format, "text.format.schema", "invalid_json_schema")


def _check_json_mode(request: HTTPRequest) -> Iterator[Violation]:
    body = request.body
    # The texts of stored items and stored prompts are not available here.
    is_whole = all(body.get(name) is None for name in STATES)
    given = [body.get("input"), body.get("instructions")]
    if is_whole and not contains_word_json(given):
        message = (
            "Response input messages must contain the word 'json' in some form to use "
            "'text.format' of type 'json_object'."
        )
        yield Violation(JSON_WORD, make_error(message, "input"))


def make_reasoning_check(field: str, default: object) -> Check:
    """Return a check of a parameter that reasoning models do not support.

    Args:
        field: the parameter.
        default: its default, which is accepted.
    """

    def check_field(request: HTTPRequest) -> Iterable[Violation]:
        if request.body[field] == default or not _reasons(request):
            return ()
        return (Violation(REASONING_MODEL, make_unsupported_error(field)),)

    return check_field


def _reasons(request: HTTPRequest) -> bool:
    """Return True if the model reasons for this request."""
    model = request.model_id
    if models.REASONING.match(model):
        return True
    reasoning = request.body.get("reasoning") or {}
    # Without an effort, the default depends on the version.
    has_effort = reasoning.get("effort") not in (None, "none")
    return has_effort and models.NEWER_REASONING.match(model) is not None


def check_reasoning(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of the effort."""
    effort = request.body["reasoning"].get("effort")
    if effort is None:
        return ()
    efforts = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
    if effort not in efforts:
        error = make_choice_error(effort, efforts, "reasoning.effort")
        return (Violation(UNKNOWN_VALUE, error),)
    if models.NOT_REASONING.match(request.model_id):
        return (Violation(MODEL_FEATURE, make_unsupported_error("reasoning.effort")),)
    return ()


def check_include(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of log probabilities for a model that reasons."""
    if "message.output_text.logprobs" not in request.body["include"]:
        return ()
    return _check_logprobs(request, "include")


def check_top_logprobs(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of log probabilities for a model that reasons."""
    return _check_logprobs(request, "top_logprobs") if request.body["top_logprobs"] else ()


def _check_logprobs(request: HTTPRequest, field: str) -> Iterable[Violation]:
    if not _reasons(request):
        return ()
    message = "logprobs are not supported with reasoning models."
    error = make_error(message, field, code="unsupported_parameter")
    return (Violation(REASONING_MODEL, error),)


def check_stream_options(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of Chat Completions' option for usage, which Responses always sends."""
    param = "stream_options.include_usage"
    if "include_usage" not in request.body["stream_options"]:
        return ()
    return (_make_unknown(param),)


def check_unknown(request: HTTPRequest, name: str) -> Iterable[Violation]:
    """Return the violation of a parameter that does not exist."""
    if name in MOVED:
        return (Violation(UNKNOWN_PARAMETER, make_moved_error(name, MOVED[name])),)
    # The installed SDK may know a newer parameter.
    if has_sdk_field(name, *SDK_TYPES):
        return ()
    return (_make_unknown(name),)


def _make_unknown(param: str) -> Violation:
    error = make_error(f"Unknown parameter: '{param}'.", param, code="unknown_parameter")
    return Violation(UNKNOWN_PARAMETER, error)


_STRUCTURE: dict[str, Check | None] = {
    "input": check_input,
    "conversation": check_conversation,
    "tools": check_tools,
    "temperature": make_range_check("temperature", 0, 2),
    "top_p": make_range_check("top_p", 0, 1),
    "top_logprobs": make_range_check("top_logprobs", 0, 20, is_integer=True),
    "max_output_tokens": make_range_check("max_output_tokens", 16, None, is_integer=True),
}
"""The checks that do not depend on the model."""
FIELDS: dict[str, Check | None] = {
    **dict.fromkeys(
        (
            "access_programs",
            "background",
            "background_options",
            "client_metadata",
            "context_compression",
            "context_management",
            "cyber",
            "instructions",
            "model",
            "moderation",
            "parallel_tool_calls",
            "previous_response_id",
            "prewarm",
            "prompt",
            "prompt_cache_key",
            "prompt_cache_options",
            "prompt_cache_retention",
            "safety_identifier",
            "store",
            "stream",
            "user",
        )
    ),
    **_STRUCTURE,
    "include": check_include,
    "max_tool_calls": make_range_check("max_tool_calls", 1, None, is_integer=True),
    "metadata": check_metadata,
    "stream_options": check_stream_options,
    "top_logprobs": join_checks(
        make_range_check("top_logprobs", 0, 20, is_integer=True), check_top_logprobs
    ),
    "temperature": join_checks(
        make_range_check("temperature", 0, 2), make_reasoning_check("temperature", 1)
    ),
    "top_p": join_checks(make_range_check("top_p", 0, 1), make_reasoning_check("top_p", 1)),
    "reasoning": check_reasoning,
    "service_tier": make_choice_check(
        "service_tier", ("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")
    ),
    "text": check_text,
    "tool_choice": check_tool_choice,
    "truncation": make_choice_check("truncation", ("auto", "disabled")),
}
"""The parameters, each with its check."""
RULES = RuleSet(FIELDS, check_unknown)
# A deployment can have any name, and its API version may have other parameters.
AZURE_RULES = RuleSet(_STRUCTURE)
