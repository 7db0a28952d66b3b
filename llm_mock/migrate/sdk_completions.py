"""Convert the mocks of chat completions into replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llm_mock.migrate.doubles import Value
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.replies import format_reply, get_node
from llm_mock.migrate.sdk_parts import (
    SEE_REPLY,
    UsageFields,
    format_contents,
    format_option,
    format_reasoning,
    format_tool_call,
    format_usage,
    get_items,
    get_literal,
    get_text,
    is_empty_text,
    read_fields,
    refuse_empty,
)
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import get_string, to_source

# The mock sends these fields by itself, in their real form.
_ENVELOPE = ("id", "object", "created", "model", "system_fingerprint")
# OpenRouter has the second name.
_REASONING = ("reasoning_content", "reasoning")
_FIELDS = {
    "response": ("choices", "usage", "service_tier", *_ENVELOPE),
    "choice": ("message", "finish_reason", "index"),
    "message": ("content", "tool_calls", "role", "refusal", *_REASONING),
    "tool call": ("id", "function", "type"),
    "function": ("name", "arguments"),
    "chunk": ("choices", "usage", *_ENVELOPE),
    "choice of a chunk": ("delta", "finish_reason", "index"),
    "delta": ("content", "role"),
}
"""The attributes of each part of a response that a reply can have."""
_USAGE = UsageFields(
    "prompt_tokens",
    "completion_tokens",
    ("prompt_tokens_details", "completion_tokens_details"),
)
# A reply without one ends with these.
_USUAL_ENDS = ("stop", "tool_calls")


def convert_completion(double: Value, table: SymbolTable) -> str | None:
    """Return the source of the reply for the double of a chat completion.

    Args:
        double: the double.
        table: the values of the test's names.

    Returns:
        The source; None if the test configures no reply.
    """
    fields = read_fields(double, "response", _FIELDS["response"])
    choices = fields.get("choices")
    if choices is None:
        refuse_empty(double)
        return None
    choice = read_fields(_get_only_item(choices, "choices"), "choice", _FIELDS["choice"])
    message = read_fields(choice.get("message"), "message", _FIELDS["message"])
    arguments = _format_content(message, table)
    if not arguments:
        refuse_empty(double)
    thoughts: dict[str, None] = {}
    for name in _REASONING:
        given = message.get(name)
        thought = get_text(given, name, table)
        if thought is not None and not is_empty_text(given):
            thoughts[thought] = None
    arguments += format_reasoning([*thoughts])
    arguments += _format_end(choice.get("finish_reason"))
    arguments += format_option("service_tier", fields.get("service_tier"), table)
    arguments += format_usage(fields.get("usage"), _USAGE)
    if not arguments:
        return None
    text = get_text(message.get("content"), "message.content", table)
    if arguments == [text]:
        return text
    return format_reply(arguments, table)


def _format_content(message: Mapping[str, Value], table: SymbolTable) -> list[str]:
    """Return the arguments of a reply for a text, tool calls or a refusal."""
    text = get_text(message.get("content"), "message.content", table)
    texts = [] if text is None else [text]
    calls = []
    for call in get_items(message.get("tool_calls"), "tool_calls"):
        calls.append(_convert_tool_call(call, table))
    arguments = format_contents(texts, calls)
    return arguments + format_option("refusal", message.get("refusal"), table)


def convert_chunks(values: Sequence[Value], table: SymbolTable) -> str:
    """Return the source of the reply for the chunks of a streamed completion.

    Args:
        values: the doubles of the chunks.
        table: the values of the test's names.
    """
    texts: list[str] = []
    others: list[str] = []
    for value in values:
        fields = read_fields(value, "chunk", _FIELDS["chunk"])
        usage = fields.get("usage")
        others += format_usage(usage, _USAGE)
        # The last chunk may have the usage only.
        for item in get_items(fields.get("choices"), "choices"):
            name = "choice of a chunk"
            choice = read_fields(item, name, _FIELDS[name])
            given = choice.get("delta")
            delta = read_fields(given, "delta", _FIELDS["delta"])
            content = delta.get("content")
            text = get_text(content, "delta.content", table)
            if text is not None:
                texts.append(text)
            others += _format_end(choice.get("finish_reason"))
    if not texts:
        raise CannotRewrite("the chunks of the response have no text", SEE_REPLY)
    # Some services repeat the usage in each chunk.
    others = list(dict.fromkeys(others))
    names = {other.partition("=")[0] for other in others}
    if len(others) > len(names):
        raise CannotRewrite(
            f"the chunks of the response contradict each other: {', '.join(others)}",
            "Set the finish reason and the usage only in the last chunk, then run the command "
            "again.",
        )
    chunks = f"chunks=[{', '.join(texts)}]"
    return format_reply([chunks, *others], table)


def _convert_tool_call(value: Value, table: SymbolTable) -> str:
    call = read_fields(value, "tool call", _FIELDS["tool call"])
    function = read_fields(call.get("function"), "function", _FIELDS["function"])
    name = get_literal(function.get("name"), "function.name")
    arguments = get_literal(function.get("arguments"), "function.arguments")
    if name is None or arguments is None:
        raise CannotRewrite("a tool call has no name or no arguments", SEE_REPLY)
    call_id = get_literal(call.get("id"), "tool_call.id")
    return format_tool_call(
        name,
        arguments,
        call_id,
        table,
    )


def _get_only_item(value: Value, name: str) -> Value | None:
    items = get_items(value, name)
    if len(items) != 1:
        raise CannotRewrite(
            f"the response has {len(items)} {name}",
            "A model returns one, unless the application passes n. For several, use "
            "Reply(candidates=[…]).",
            get_node(value),
        )
    return items[0]


def _format_end(value: Value | None) -> list[str]:
    node = get_literal(value, "finish_reason")
    if node is None or get_string(node) in _USUAL_ENDS:
        return []
    return [f"finish_reason={to_source(node)}"]
