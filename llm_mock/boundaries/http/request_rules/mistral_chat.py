"""Rules of Mistral's chat completions.

See https://docs.mistral.ai/api and the types of its SDK, `mistralai.client.models`. The order of
messages follows https://github.com/mistralai/mistral-common, which Mistral uses to validate it. The
messages come from error responses that applications have recorded and reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.http.request_rules.rule import Check, Rule, RuleSet, Violation
from llm_mock.boundaries.http.sdk_fields import has_sdk_field
from llm_mock.boundaries.http.wire_error import WireError

if TYPE_CHECKING:
    from llm_mock.boundaries.http.request import HTTPRequest
    from llm_mock.support.json_types import JSONObject

REFERENCE = "https://docs.mistral.ai/api"
VALIDATOR = "https://github.com/mistralai/mistral-common: request validator"
ROLES = ("system", "user", "assistant", "tool")
ORDER_TYPE = "invalid_request_message_order"
SDK_TYPES = (("mistralai.client.models.chatcompletionrequest", "ChatCompletionRequest"),)
MESSAGE_FIELDS = {
    "system": frozenset({"role", "content"}),
    "user": frozenset({"role", "content"}),
    "assistant": frozenset({"role", "content", "tool_calls", "prefix"}),
    "tool": frozenset({"role", "content", "tool_call_id", "name"}),
}
"""The fields of a message by its role."""
UNEXPECTED_ROLES = frozenset(
    {("user", "tool"), ("system", "tool"), ("assistant", "system"), ("tool", "system")}
)
"""The roles that must not follow each other."""

UNKNOWN_ROLE = Rule("unknown-role", "a role that does not exist", REFERENCE)
UNKNOWN_FIELD = Rule(
    "unknown-message-field",
    "a message field that the role of the message does not support, such as reasoning_content",
    "https://github.com/charmbracelet/crush/issues/1590",
)
MESSAGE_ORDER = Rule(
    "message-order",
    "a tool result directly after a user or system message, a system message directly after an "
    "assistant message or a tool result, or an assistant message without prefix as the last "
    "message",
    VALIDATOR,
)
CALL_WITHOUT_RESULT = Rule(
    "tool-call-without-result",
    "a number of tool results that differs from the number of tool calls in the previous turn",
    VALIDATOR,
)
CALL_ID = Rule(
    "tool-call-id", "a tool call id that does not consist of nine letters or digits", VALIDATOR
)
TOOL_NAME = Rule(
    "tool-name",
    "a called function with more than 64 characters in its name, or with characters other than "
    "letters, digits, _ and -",
    VALIDATOR,
)
EMPTY_CONTENT = Rule(
    "empty-content", "an assistant message without content or tool calls", VALIDATOR
)
UNKNOWN_PARAMETER = Rule("unknown-parameter", "a parameter that does not exist", REFERENCE)
OUT_OF_RANGE = Rule("number-out-of-range", "a number outside the range of its parameter", REFERENCE)
TOOL_WITHOUT_NAME = Rule("tool-without-name", "a tool without a name", REFERENCE)
ALL_RULES = (
    UNKNOWN_ROLE,
    UNKNOWN_FIELD,
    MESSAGE_ORDER,
    CALL_WITHOUT_RESULT,
    CALL_ID,
    TOOL_NAME,
    EMPTY_CONTENT,
    UNKNOWN_PARAMETER,
    OUT_OF_RANGE,
    TOOL_WITHOUT_NAME,
)

_CALL_ID = re.compile("^[a-zA-Z0-9]{9}$")
_NAME = re.compile("^[a-zA-Z0-9_-]{1,64}$")


def _make(rule: Rule, message: str, kind: str, code: str) -> Violation:
    return Violation(rule, WireError(400, message, type=kind, code=code))


def _make_invalid(
    rule: Rule, kind: str, place: Sequence[object], message: str, **fields: object
) -> Violation:
    """Return the violation of a body with a wrong type, in pydantic's words."""
    detail = {"type": kind, "loc": ["body", *place], "msg": message, **fields}
    body = {
        "object": "error",
        "message": {"detail": [detail]},
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }
    return Violation(rule, WireError(422, message, body=body))


# Each request has the whole conversation, so that this runs for each message of each request.
def check_messages(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the conversation."""
    messages = request.body["messages"]
    # The types of all messages are checked before their order.
    for index, message in enumerate(messages):
        yield from _check_fields(message, index)
    role_before: object = None
    calls = results = 0
    for message in messages:
        role = message.get("role")
        yield from _check_order(role, role_before)
        if role == "assistant":
            yield from _check_counts(calls, results)
            yield from _check_answer(message)
            calls = len(message.get("tool_calls") or ())
            results = 0
        elif role == "tool":
            results += 1
            yield from _check_id(message.get("tool_call_id"))
        role_before = role
    last = messages[-1]
    if role_before == "assistant" and not last.get("prefix"):
        message_text = (
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got "
            "assistant"
        )
        yield _make(MESSAGE_ORDER, message_text, ORDER_TYPE, "3230")
    else:
        yield from _check_counts(calls, results)


def _check_fields(message: JSONObject, index: int) -> Iterator[Violation]:
    """Yield the violations of a message's role and fields."""
    role = message.get("role")
    known = MESSAGE_FIELDS.get(str(role))
    if known is None:
        tags = ", ".join(f"'{name}'" for name in ROLES)
        text = (
            f"Input tag '{role}' found using 'role' does not match any of the expected tags: {tags}"
        )
        context = {"discriminator": "'role'", "tag": str(role), "expected_tags": tags}
        place = ("messages", index)
        yield _make_invalid(
            UNKNOWN_ROLE, "union_tag_invalid", place, text, input=message, ctx=context
        )
        return
    for name, value in message.items():
        if name not in known:
            place_of_field = ("messages", index, role, name)
            yield _make_extra(UNKNOWN_FIELD, place_of_field, value)


def _make_extra(rule: Rule, place: Sequence[object], value: object) -> Violation:
    text = "Extra inputs are not permitted"
    return _make_invalid(rule, "extra_forbidden", place, text, input=value)


def _check_order(role: object, role_before: object) -> Iterator[Violation]:
    if (role_before, role) in UNEXPECTED_ROLES:
        text = f"Unexpected role '{role}' after role '{role_before}'"
        yield _make(MESSAGE_ORDER, text, ORDER_TYPE, "3230")


def _check_counts(calls: int, results: int) -> Iterator[Violation]:
    if calls != results:
        text = "Not the same number of function calls and responses"
        yield _make(CALL_WITHOUT_RESULT, text, ORDER_TYPE, "3230")


def _check_answer(message: JSONObject) -> Iterator[Violation]:
    """Yield the violations in an answer."""
    calls = message.get("tool_calls") or ()
    if not calls and not message.get("content"):
        text = "Assistant message must have either content or tool_calls, but not none."
        yield _make(EMPTY_CONTENT, text, "invalid_request_assistant_message", "3240")
    for call in calls:
        name = (call.get("function") or {}).get("name")
        if name is not None and not _NAME.match(name):
            text = (
                f"Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and "
                "dashes, with a maximum length of 64."
            )
            yield _make(TOOL_NAME, text, "invalid_function_call", "3280")
        yield from _check_id(call.get("id"))


def _check_id(call_id: object) -> Iterator[Violation]:
    if not _CALL_ID.match(str(call_id)):
        text = f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9."
        yield _make(CALL_ID, text, "invalid_function_call", "3280")


def check_tools(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the tools on offer."""
    for index, tool in enumerate(request.body["tools"]):
        function = tool.get("function")
        if tool.get("type", "function") != "function":
            continue
        if not isinstance(function, dict):
            place: tuple[object, ...] = ("tools", index, "function")
            yield _make_invalid(TOOL_WITHOUT_NAME, "missing", place, "Field required", input=tool)
        elif function.get("name") is None:
            place = ("tools", index, "function", "name")
            yield _make_invalid(
                TOOL_WITHOUT_NAME, "missing", place, "Field required", input=function
            )


def make_range_check(field: str, minimum: float | None, maximum: float | None) -> Check:
    """Return a check of a number's range.

    Args:
        field: the field.
        minimum: the least number; None for no limit.
        maximum: the greatest number; None for no limit.
    """

    def check_range(request: HTTPRequest) -> Iterable[Violation]:
        value: Any = request.body[field]
        if minimum is not None and value < minimum:
            text, kind = f"Input should be greater than or equal to {minimum}", "greater_than_equal"
            context = {"ge": minimum}
        elif maximum is not None and value > maximum:
            text, kind = f"Input should be less than or equal to {maximum}", "less_than_equal"
            context = {"le": maximum}
        else:
            return ()
        return (_make_invalid(OUT_OF_RANGE, kind, (field,), text, input=value, ctx=context),)

    return check_range


def check_unknown(request: HTTPRequest, name: str) -> Iterable[Violation]:
    """Return the violation of a parameter that does not exist."""
    # The installed SDK may know a newer parameter.
    if has_sdk_field(name, *SDK_TYPES):
        return ()
    return (_make_extra(UNKNOWN_PARAMETER, (name,), request.body[name]),)


RULES = RuleSet(
    {
        **dict.fromkeys(
            (
                "guardrails",
                "logprobs",
                "metadata",
                "min_tokens",
                "model",
                "parallel_tool_calls",
                "prediction",
                "prompt_cache_key",
                "prompt_logprobs",
                "prompt_mode",
                "random_seed",
                "reasoning_effort",
                "repetition_penalty",
                "response_format",
                "safe_prompt",
                "service_tier",
                "stop",
                "stream",
                "stream_options",
                "tool_choice",
                "top_k",
                "top_logprobs",
                "top_prompt_logprobs",
            )
        ),
        "messages": check_messages,
        "tools": check_tools,
        "temperature": make_range_check("temperature", 0, 1.5),
        "top_p": make_range_check("top_p", 0, 1),
        "max_tokens": make_range_check("max_tokens", 0, None),
        "n": make_range_check("n", 1, None),
        "presence_penalty": make_range_check("presence_penalty", -2, 2),
        "frequency_penalty": make_range_check("frequency_penalty", -2, 2),
    },
    check_unknown,
)
