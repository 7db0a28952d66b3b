"""Rules of OpenAI's Chat Completions.

See https://platform.openai.com/docs/api-reference/chat/create. Ranges and values come from
OpenAI's OpenAPI document, https://github.com/openai/openai-openapi.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.http.request_rules import openai_models as models
from llm_mock.boundaries.http.request_rules.openai_errors import (
    make_choice_error,
    make_empty_list_error,
    make_error,
    make_long_list_error,
    make_missing_error,
    make_unsupported_error,
    make_unsupported_value_error,
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
from llm_mock.boundaries.http.wire_error import WireError

if TYPE_CHECKING:
    from llm_mock.boundaries.http.request import HTTPRequest
    from llm_mock.support.json_types import JSONObject

REFERENCE = "https://platform.openai.com/docs/api-reference/chat/create"
ROLES = ("system", "assistant", "user", "function", "tool", "developer")
PART_TYPES = ("text", "image_url", "input_audio", "refusal", "audio", "file")
TOOL_TYPES = ("function", "custom")
OTHER_CHOICE_TYPES = (None, "allowed_tools", "custom")
"""The types of choices without a function; the error for a choice without a type is not known."""
FORMAT_TYPES = ("json_object", "json_schema", "text")
CHOICES = ("none", "auto", "required")
MOST_TOOLS = 128
MOST_STOPS = 4
SDK_TYPES = (("openai.types.chat.completion_create_params", "CompletionCreateParamsBase"),)

UNKNOWN_ROLE = Rule("unknown-role", "a role that does not exist", f"{REFERENCE}: messages")
UNKNOWN_PART = Rule("unknown-content-type", "a content type that does not exist", REFERENCE)
EMPTY_CONTENT = Rule(
    "empty-content", "a message without content where it is required", f"{REFERENCE}: messages"
)
TOOL_WITHOUT_CALL = Rule(
    "tool-result-without-call", "a tool result without a tool call", f"{REFERENCE}: messages"
)
CALL_WITHOUT_RESULT = Rule(
    "tool-call-without-result",
    "a tool call without a tool result before the next turn",
    f"{REFERENCE}: messages",
)
INCOMPLETE_CALL = Rule(
    "incomplete-tool-call", "a tool call without an id or a type", f"{REFERENCE}: messages"
)
EMPTY_LIST = Rule("empty-list", "an empty list of tools or tool calls", REFERENCE)
LONG_LIST = Rule("long-list", "more than 128 tools, or more than 4 stop sequences", REFERENCE)
DEPENDENT = Rule(
    "dependent-parameter",
    "a parameter without another one that it requires, such as top_logprobs without logprobs, or "
    "two parameters that exclude each other, such as max_tokens and max_completion_tokens",
    REFERENCE,
)
ALL_RULES = (
    UNKNOWN_ROLE,
    UNKNOWN_PART,
    EMPTY_CONTENT,
    TOOL_WITHOUT_CALL,
    CALL_WITHOUT_RESULT,
    INCOMPLETE_CALL,
    EMPTY_LIST,
    LONG_LIST,
    DEPENDENT,
    *SHARED_RULES,
)

_ROLES = frozenset(ROLES)
_passed_tools = Memo()
_passed_formats = Memo()


def check_model(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of a model that only other endpoints offer."""
    model = request.model_id
    if models.RESPONSES_ONLY.match(model):
        message = "This model is only supported in v1/responses and not in v1/chat/completions."
    elif models.NO_CHAT.match(model):
        message = (
            "This is not a chat model and thus not supported in the v1/chat/completions endpoint. "
            "Did you mean to use v1/completions?"
        )
    else:
        return ()
    return (Violation(MODEL_FEATURE, WireError(404, message, param="model")),)


def check_conversation(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the conversation, including limits of the model."""
    yield from check_messages(request)
    if models.NO_IMAGES.match(request.model_id):
        yield from _check_images(request)
        yield from _check_system_role(request)


# Each request has the whole conversation, so that this runs for each message of each request.
def check_messages(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the conversation."""
    pending: list[str] = []
    called: set[str] | None = None
    for index, message in enumerate(request.body["messages"]):
        role = message.get("role")
        if role == "tool":
            yield from _check_result(message, index, called, pending)
        else:
            if pending:
                yield _make_unanswered(pending, f"messages.[{index}].role")
            pending = []
            called = None
            if role not in _ROLES:
                yield _make_role_violation(role, index)
        if type(message.get("content")) is not str:
            yield from _check_content(message, index, request.model_id)
        calls = message.get("tool_calls")
        if calls is not None and role == "assistant":
            yield from _check_calls(calls, index)
            pending = _get_ids(calls)
            called = set(pending)
    if pending:
        yield _make_unanswered(pending, "messages")


def _get_ids(calls: list[JSONObject]) -> list[str]:
    return [call["id"] for call in calls if call.get("id")]


def _make_role_violation(role: object, index: int) -> Violation:
    param = f"messages[{index}].role"
    if role is None:
        return Violation(UNKNOWN_ROLE, make_missing_error(param))
    return Violation(UNKNOWN_ROLE, make_choice_error(role, ROLES, param))


def _make_unanswered(pending: list[str], param: str) -> Violation:
    ids = ", ".join(pending)
    message = (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        f"each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
    )
    return Violation(CALL_WITHOUT_RESULT, make_error(message, param))


def _check_result(
    message: JSONObject, index: int, called: set[str] | None, pending: list[str]
) -> Iterator[Violation]:
    """Yield the violation of a message with a result, and remove its call from `pending`.

    Args:
        message: the message.
        index: its position.
        called: the ids of the calls that the result may belong to; None without previous calls.
        pending: the ids of the calls without a result.
    """
    call_id = message.get("tool_call_id")
    if called is None:
        # The spelling is OpenAI's.
        text = (
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
            "message with 'tool_calls'."
        )
        yield Violation(TOOL_WITHOUT_CALL, make_error(text, f"messages.[{index}].role"))
    elif call_id is None:
        error = make_missing_error(f"messages[{index}].tool_call_id")
        yield Violation(TOOL_WITHOUT_CALL, error)
    elif call_id not in called:
        text = (
            f"Invalid parameter: 'tool_call_id' of '{call_id}' not found in 'tool_calls' of "
            "previous message."
        )
        yield Violation(TOOL_WITHOUT_CALL, make_error(text, f"messages.[{index}].tool_call_id"))
    elif call_id in pending:
        pending.remove(call_id)


def _check_content(message: JSONObject, index: int, model: str) -> Iterator[Violation]:
    """Yield the violations in content that is not a string."""
    content = message.get("content")
    if content is None:
        has_other = any(
            message.get(name) for name in ("tool_calls", "function_call", "refusal", "audio")
        )
        if not has_other:
            text = "Invalid value for 'content': expected a string, got null."
            yield Violation(EMPTY_CONTENT, make_error(text, f"messages.[{index}].content"))
        return
    for position, part in enumerate(content):
        kind = part.get("type")
        if kind not in PART_TYPES:
            param = f"messages[{index}].content[{position}].type"
            error = make_missing_error(param)
            if kind is not None:
                error = make_choice_error(kind, PART_TYPES, param)
            yield Violation(UNKNOWN_PART, error)
        elif kind == "input_audio" and models.NO_AUDIO.match(model):
            param = f"messages[{index}]"
            text = (
                f"Invalid '{param}'. Content blocks are expected to be either text or image_url "
                "type."
            )
            yield Violation(MODEL_FEATURE, make_error(text, param, code="invalid_value"))


def _check_calls(calls: list[JSONObject], index: int) -> Iterator[Violation]:
    """Yield the violations in the tool calls of a message."""
    if not calls:
        error = make_empty_list_error(f"messages[{index}].tool_calls")
        yield Violation(EMPTY_LIST, error)
    for position, call in enumerate(calls):
        for name in ("id", "type"):
            if call.get(name) is None:
                param = f"messages[{index}].tool_calls[{position}].{name}"
                yield Violation(INCOMPLETE_CALL, make_missing_error(param))


def _check_images(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations of images for a model that does not support them."""
    for index, message in enumerate(request.body["messages"]):
        content = message.get("content")
        if not isinstance(content, list):
            continue
        for position, part in enumerate(content):
            if part.get("type") == "image_url":
                text = "Invalid content type. image_url is only supported by certain models."
                error = make_error(text, f"messages.[{index}].content.[{position}].type")
                yield Violation(MODEL_FEATURE, error)


def _check_system_role(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations of system messages for a model that does not support them."""
    if not models.FIRST_REASONING.match(request.model_id):
        return
    for index, message in enumerate(request.body["messages"]):
        role = message.get("role")
        if role in ("system", "developer"):
            param = f"messages[{index}].role"
            text = f"Unsupported value: '{param}' does not support '{role}' with this model."
            error = make_error(text, param, code="unsupported_value")
            yield Violation(MODEL_FEATURE, error)


def check_tools(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the tools on offer."""
    tools = request.body["tools"]
    if models.FIRST_REASONING.match(request.model_id):
        yield Violation(MODEL_FEATURE, make_unsupported_error("tools"))
    if not tools:
        yield Violation(EMPTY_LIST, make_empty_list_error("tools"))
        return
    if models.NO_REASONED_CALLS.match(request.model_id):
        yield from _check_reasoned_calls(request)
    yield from _passed_tools.check_once(tools, _check_each_tool)


def _check_reasoned_calls(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violation of functions for a model that cannot call them while it reasons."""
    has_functions = any(tool.get("type") == "function" for tool in request.body["tools"])
    # These models reason by default.
    if not has_functions or request.body.get("reasoning_effort") == "none":
        return
    message = (
        f"Function tools with reasoning_effort are not supported for {request.model_id} in "
        "/v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to "
        "'none'."
    )
    yield Violation(MODEL_FEATURE, make_error(message, "reasoning_effort"))


def _check_each_tool(tools: list[JSONObject]) -> Iterator[Violation]:
    if len(tools) > MOST_TOOLS:
        error = make_long_list_error("tools", MOST_TOOLS, len(tools))
        yield Violation(LONG_LIST, error)
    for index, tool in enumerate(tools):
        yield from _check_tool(tool, f"tools[{index}]")


def _check_tool(tool: JSONObject, param: str) -> Iterator[Violation]:
    kind = tool.get("type")
    if kind is None:
        yield Violation(UNKNOWN_VALUE, make_missing_error(f"{param}.type"))
    elif kind not in TOOL_TYPES:
        yield Violation(UNKNOWN_VALUE, make_choice_error(kind, TOOL_TYPES, f"{param}.type"))
    else:
        function = tool.get(kind)
        if not isinstance(function, dict):
            yield Violation(TOOL_WITHOUT_NAME, make_missing_error(f"{param}.{kind}"))
            return
        yield from check_name(function.get("name"), f"{param}.{kind}.name")
        yield from check_parameters(function, f"{param}.{kind}.parameters")


def check_tool_choice(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of the choice of a tool."""
    body = request.body
    choice = body["tool_choice"]
    if body.get("tools") is None:
        return (_make_dependent("tool_choice", "tools"),)
    if isinstance(choice, str):
        if choice in CHOICES:
            return ()
        return (Violation(UNKNOWN_VALUE, make_choice_error(choice, CHOICES, "tool_choice")),)
    kind = choice.get("type")
    # OpenAI treats a choice of any other type as the choice of a function:
    # https://github.com/kangminlee-maker/local-OAuth-CLI-API-adapter
    if kind not in OTHER_CHOICE_TYPES and not isinstance(choice.get("function"), dict):
        return (Violation(TOOL_WITHOUT_NAME, make_missing_error("tool_choice.function")),)
    target = choice.get(kind) if kind in TOOL_TYPES else None
    if not isinstance(target, dict):
        return ()
    name = target.get("name")
    if any(tool.name == name for tool in request.tools):
        return ()
    message = f"Tool choice '{kind}' not found in 'tools' parameter."
    return (Violation(TOOL_CHOICE, make_error(message, "tool_choice")),)


def check_parallel_calls(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of `parallel_tool_calls`."""
    if request.body.get("tools") is None:
        return (_make_dependent("parallel_tool_calls", "tools"),)
    if models.REASONING.match(request.model_id) and request.model_id.startswith("o"):
        return (Violation(REASONING_MODEL, make_unsupported_error("parallel_tool_calls")),)
    return ()


def _make_dependent(field: str, other: str) -> Violation:
    """Return the violation of a field that requires another field, which is missing."""
    message = (
        f"Invalid value for '{field}': '{field}' is only allowed when '{other}' are specified."
    )
    rule = TOOL_CHOICE if field == "tool_choice" else DEPENDENT
    return Violation(rule, make_error(message, field))


def check_function_call(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of `function_call`, the name of the tool choice before tools."""
    if request.body.get("functions") is None:
        return (_make_dependent("function_call", "functions"),)
    return ()


def check_response_format(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violations in the format of the answer."""
    response_format = request.body["response_format"]
    kind = response_format.get("type")
    if kind == "json_schema":
        return _check_schema_format(request, response_format)
    if kind == "json_object":
        return _check_json_mode(request)
    if kind in FORMAT_TYPES:
        return ()
    param = "response_format.type"
    error = make_missing_error(param)
    if kind is not None:
        error = make_choice_error(kind, FORMAT_TYPES, param)
    return (Violation(UNKNOWN_VALUE, error),)


def _check_schema_format(request: HTTPRequest, response_format: JSONObject) -> Iterator[Violation]:
    if models.NO_JSON_SCHEMA.match(request.model_id):
        yield _make_format_violation("json_schema")
    param = "response_format.json_schema"
    schema_format = response_format.get("json_schema")
    if schema_format is None:
        yield Violation(TOOL_WITHOUT_NAME, make_missing_error(param))
        return
    yield from _passed_formats.check_once(schema_format, _check_new_format)


def _check_new_format(schema_format: JSONObject) -> Iterator[Violation]:
    yield from check_name(schema_format.get("name"), "response_format.json_schema.name")
    yield from check_strict_format(schema_format, "response_format", None)


def _check_json_mode(request: HTTPRequest) -> Iterator[Violation]:
    if models.NO_JSON_MODE.match(request.model_id):
        yield _make_format_violation("json_object")
    if not contains_word_json(request.body["messages"]):
        message = (
            "'messages' must contain the word 'json' in some form, to use 'response_format' of "
            "type 'json_object'."
        )
        yield Violation(JSON_WORD, make_error(message, "messages"))


def _make_format_violation(kind: str) -> Violation:
    """Return the violation of a format that the model does not support."""
    message = (
        f"Invalid parameter: 'response_format' of type '{kind}' is not supported with this model."
    )
    if kind == "json_schema":
        message += (
            " Learn more about supported models at the Structured Outputs guide: "
            "https://platform.openai.com/docs/guides/structured-outputs"
        )
    return Violation(MODEL_FEATURE, make_error(message, None))


def check_stop(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations of the stop sequences."""
    stop = request.body["stop"]
    if isinstance(stop, list) and len(stop) > MOST_STOPS:
        error = make_long_list_error("stop", MOST_STOPS, len(stop))
        yield Violation(LONG_LIST, error)
    if models.NO_STOP.match(request.model_id):
        yield Violation(REASONING_MODEL, make_unsupported_error("stop"))
    yield from check_newest(request, "stop")


def make_newest_check(field: str) -> Check:
    """Return a check of a parameter that the newest models do not support.

    Args:
        field: the parameter.
    """

    def check_field(request: HTTPRequest) -> Iterable[Violation]:
        return check_newest(request, field)

    return check_field


def check_newest(request: HTTPRequest, field: str) -> Iterable[Violation]:
    """Return the violation of a parameter that the newest models do not support."""
    if not models.NO_SAMPLING_TOKENS.match(request.model_id):
        return ()
    return (Violation(REASONING_MODEL, make_unsupported_error(field)),)


def check_top_logprobs(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of `top_logprobs` without `logprobs`."""
    if request.body.get("logprobs"):
        return ()
    message = "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled."
    return (Violation(DEPENDENT, make_error(message, "top_logprobs")),)


def make_search_check(field: str) -> Check:
    """Return a check of a parameter that web search models do not support.

    Args:
        field: the parameter.
    """

    def check_field(request: HTTPRequest) -> Iterable[Violation]:
        if not models.SEARCHES.match(request.model_id):
            return ()
        message = f"Model incompatible request argument supplied: {field}"
        return (Violation(MODEL_FEATURE, make_error(message, None)),)

    return check_field


def check_max_tokens(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations of `max_tokens`, which `max_completion_tokens` replaces."""
    if request.body.get("max_completion_tokens") is not None:
        message = (
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        )
        error = make_error(message, "max_tokens", code="invalid_parameter_combination")
        yield Violation(DEPENDENT, error)
    model = request.model_id
    is_newer = models.NEWER_REASONING.match(model) is not None
    if is_newer or _always_reasons(model):
        advice = "Use 'max_completion_tokens' instead."
        yield Violation(REASONING_MODEL, make_unsupported_error("max_tokens", advice))


def check_temperature(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of a temperature for a model with a fixed temperature."""
    value = request.body["temperature"]
    if value == 1 or not _reasons(request):
        return ()
    error = make_unsupported_value_error("temperature", value, "1")
    return (Violation(REASONING_MODEL, error),)


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
    if _always_reasons(model):
        return True
    effort = request.body.get("reasoning_effort")
    # Without an effort, the default depends on the version.
    return effort not in (None, "none") and models.NEWER_REASONING.match(model) is not None


def _always_reasons(model: str) -> bool:
    patterns = (models.REASONING, models.FIRST_REASONING)
    return any(pattern.match(model) for pattern in patterns)


def check_effort(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of an effort for a model without reasoning."""
    if not models.NOT_REASONING.match(request.model_id):
        return ()
    return (Violation(MODEL_FEATURE, _make_unrecognized_error(["reasoning_effort"])),)


def check_web_search(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of a web search for a model without web search."""
    model = request.model_id
    if models.SEARCHES.match(model) or not models.NOT_REASONING.match(model):
        return ()
    message = "Web search options not supported with this model."
    return (Violation(MODEL_FEATURE, make_error(message, "web_search_options")),)


def check_stream_options(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of `stream_options` without `stream`."""
    if request.stream:
        return ()
    message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    return (Violation(DEPENDENT, make_error(message, "stream_options")),)


def check_unknown(request: HTTPRequest, name: str) -> Iterable[Violation]:
    """Return the violation of a parameter that does not exist."""
    unknown = [field for field in request.body if field not in FIELDS]
    # The installed SDK may know a newer parameter.
    unknown = [field for field in unknown if not has_sdk_field(field, *SDK_TYPES)]
    if name not in unknown:
        return ()
    return (Violation(UNKNOWN_PARAMETER, _make_unrecognized_error(unknown)),)


def _make_unrecognized_error(names: list[str]) -> Any:
    noun = "argument" if len(names) == 1 else "arguments"
    return make_error(f"Unrecognized request {noun} supplied: {', '.join(names)}", None)


_STRUCTURE: dict[str, Check | None] = {
    "messages": check_messages,
    "model": None,
    "tools": check_tools,
    "tool_choice": check_tool_choice,
    "function_call": check_function_call,
    "temperature": make_range_check("temperature", 0, 2),
    "top_p": make_range_check("top_p", 0, 1),
    "frequency_penalty": make_range_check("frequency_penalty", -2, 2),
    "presence_penalty": make_range_check("presence_penalty", -2, 2),
    "n": make_range_check("n", 1, 128, is_integer=True),
    "max_tokens": make_range_check("max_tokens", 1, None, is_integer=True),
    "max_completion_tokens": make_range_check("max_completion_tokens", 1, None, is_integer=True),
    "top_logprobs": make_range_check("top_logprobs", 0, 20, is_integer=True),
}
"""The checks that do not depend on the model."""
FIELDS: dict[str, Check | None] = {
    **dict.fromkeys(
        (
            "audio",
            "functions",
            "modalities",
            "moderation",
            "prompt_cache_key",
            "prompt_cache_options",
            "prompt_cache_retention",
            "safety_identifier",
            "seed",
            "store",
            "stream",
            "user",
        )
    ),
    **_STRUCTURE,
    "model": check_model,
    "messages": check_conversation,
    "parallel_tool_calls": check_parallel_calls,
    "response_format": check_response_format,
    "stop": check_stop,
    "stream_options": check_stream_options,
    "temperature": join_checks(
        make_range_check("temperature", 0, 2), check_temperature, make_search_check("temperature")
    ),
    "top_p": join_checks(make_range_check("top_p", 0, 1), make_reasoning_check("top_p", 1)),
    "frequency_penalty": join_checks(
        make_range_check("frequency_penalty", -2, 2), make_reasoning_check("frequency_penalty", 0)
    ),
    "presence_penalty": join_checks(
        make_range_check("presence_penalty", -2, 2),
        make_reasoning_check("presence_penalty", 0),
        make_search_check("presence_penalty"),
    ),
    "logprobs": make_reasoning_check("logprobs", False),
    "top_logprobs": join_checks(
        make_range_check("top_logprobs", 0, 20, is_integer=True), check_top_logprobs
    ),
    "logit_bias": join_checks(
        make_newest_check("logit_bias"), make_reasoning_check("logit_bias", {})
    ),
    "prediction": make_newest_check("prediction"),
    "metadata": check_metadata,
    "max_tokens": join_checks(
        make_range_check("max_tokens", 1, None, is_integer=True), check_max_tokens
    ),
    "reasoning_effort": join_checks(
        make_choice_check(
            "reasoning_effort", ("none", "minimal", "low", "medium", "high", "xhigh", "max")
        ),
        check_effort,
    ),
    "service_tier": make_choice_check(
        "service_tier", ("auto", "default", "flex", "scale", "priority", "fast")
    ),
    "verbosity": make_choice_check("verbosity", ("low", "medium", "high")),
    "web_search_options": check_web_search,
}
"""The parameters, each with its check."""
RULES = RuleSet(FIELDS, check_unknown)
# A deployment can have any name, and its API version may have other parameters.
AZURE_RULES = RuleSet(_STRUCTURE)
