"""Rules of version 2 of Cohere's Chat API.

The limits come from the OpenAPI document in
https://github.com/cohere-ai/cohere-developer-experience, and the messages from
https://docs.cohere.com/reference/errors, if listed there.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.request_rules.rule import Check, Rule, RuleSet, Violation
from llm_mock.boundaries.http.wire_error import WireError

if TYPE_CHECKING:
    from llm_mock.boundaries.http.request import HTTPRequest
    from llm_mock.support.json_types import JSONObject

REFERENCE = "https://docs.cohere.com/reference/chat"
ERRORS = "https://docs.cohere.com/reference/errors"
ROLES = ("user", "assistant", "system", "tool")
CHOICES = ("REQUIRED", "NONE")

UNKNOWN_ROLE = Rule("unknown-role", "a role that does not exist", REFERENCE)
RESULT_WITHOUT_CALL = Rule("tool-result-without-call", "a tool result without a tool call", ERRORS)
TOOL_NAME = Rule(
    "tool-name",
    "a tool name that starts with a digit, or has characters other than letters, digits and _",
    ERRORS,
)
TOOL_CHOICE = Rule(
    "tool-choice", "a tool choice other than REQUIRED or NONE, or REQUIRED without tools", REFERENCE
)
DEPENDENT = Rule(
    "dependent-parameter",
    "frequency_penalty together with presence_penalty, or the format json_object with documents "
    "or tools",
    REFERENCE,
)
UNKNOWN_PARAMETER = Rule(
    "unknown-parameter",
    "a parameter that does not exist",
    "https://github.com/NVIDIA/garak/issues/1202",
)
OUT_OF_RANGE = Rule("number-out-of-range", "a number outside the range of its parameter", REFERENCE)
ALL_RULES = (
    UNKNOWN_ROLE,
    RESULT_WITHOUT_CALL,
    TOOL_NAME,
    TOOL_CHOICE,
    DEPENDENT,
    OUT_OF_RANGE,
    UNKNOWN_PARAMETER,
)

_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def _make(rule: Rule, message: str) -> Violation:
    return Violation(rule, WireError(400, message))


# Each request has the whole conversation, so that this runs for each message of each request.
def check_messages(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the conversation."""
    called: set[object] = set()
    for index, message in enumerate(request.body["messages"]):
        role = message.get("role")
        if role not in ROLES:
            text = (
                f"invalid request: Invalid role in messages at index {index}. Role must be one of "
                "the following: user, assistant, system, tool"
            )
            yield _make(UNKNOWN_ROLE, text)
        elif role == "assistant":
            called.update(call.get("id") for call in message.get("tool_calls") or ())
        elif role == "tool":
            yield from _check_result(message, called)


def _check_result(message: JSONObject, called: set[object]) -> Iterator[Violation]:
    call_id = message.get("tool_call_id")
    if not call_id:
        yield _make(RESULT_WITHOUT_CALL, "tool call id must be provided with tool message")
    elif call_id not in called:
        yield _make(RESULT_WITHOUT_CALL, "tool call id not found in previous tool calls")


def check_tools(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the tools on offer."""
    for tool in request.tools:
        if not _NAME.fullmatch(tool.name):
            text = (
                "invalid request: tool names can only contain certain characters (A-Za-z0-9_) and "
                f"can't begin with a digit (provided name: '{tool.name}')."
            )
            yield _make(TOOL_NAME, text)


def check_tool_choice(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the choice of a tool."""
    choice = request.body["tool_choice"]
    if choice not in CHOICES:
        yield _make(TOOL_CHOICE, "invalid request: tool_choice must be one of: REQUIRED, NONE")
    elif choice == "REQUIRED" and not request.tools:
        yield _make(
            TOOL_CHOICE, "invalid request: tools must be provided with tool_choice REQUIRED"
        )


def check_format(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the format of the answer."""
    if request.body["response_format"].get("type") != "json_object":
        return
    if request.body.get("documents"):
        yield _make(DEPENDENT, "invalid request: response_format is not supported with RAG.")
    if request.tools:
        yield _make(DEPENDENT, "invalid request: response_format is not supported with tools.")


def check_penalty(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the penalties, which exclude each other."""
    if request.body.get("frequency_penalty") and request.body.get("presence_penalty"):
        text = "invalid request: cannot specify both frequency_penalty and presence_penalty."
        yield _make(DEPENDENT, text)
    yield from _check_presence(request)


def make_range_check(field: str, minimum: float, maximum: float, limits: str) -> Check:
    """Return a check of a number's range.

    Args:
        field: the field.
        minimum: the least number.
        maximum: the greatest number.
        limits: the range, as written in the message.
    """

    def check_range(request: HTTPRequest) -> Iterable[Violation]:
        value = request.body[field]
        if minimum <= value <= maximum:
            return ()
        text = f"invalid request: {field} must be between {limits} inclusive."
        return (_make(OUT_OF_RANGE, text),)

    return check_range


def check_unknown(request: HTTPRequest, name: str) -> Iterable[Violation]:
    """Return the violation of a parameter that does not exist."""
    # The installed SDK may know a newer parameter.
    client = getattr(sys.modules.get("cohere.v2.client"), "V2Client", None)
    if client is not None and name in inspect.signature(client.chat).parameters:
        return ()
    error = WireError(422, f"unknown field: parameter {name} is not a valid field")
    return (Violation(UNKNOWN_PARAMETER, error),)


_check_presence = make_range_check("presence_penalty", 0, 1, "0 and 1")
RULES = RuleSet(
    {
        **dict.fromkeys(
            (
                "citation_options",
                "documents",
                "logprobs",
                "max_tokens",
                "model",
                "priority",
                "safety_mode",
                "seed",
                "stop_sequences",
                "stream",
                "strict_tools",
                "thinking",
            )
        ),
        "messages": check_messages,
        "tools": check_tools,
        "tool_choice": check_tool_choice,
        "response_format": check_format,
        "temperature": make_range_check("temperature", 0, 1, "0 and 1.0"),
        "frequency_penalty": make_range_check("frequency_penalty", 0, 1, "0 and 1"),
        "presence_penalty": check_penalty,
        "k": make_range_check("k", 0, 500, "0 and 500"),
        "p": make_range_check("p", 0.01, 0.99, "0.01 and 0.99"),
    },
    check_unknown,
)
