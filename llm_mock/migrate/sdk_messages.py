"""Convert the mocks of messages of Anthropic into replies."""

from __future__ import annotations

from llm_mock.migrate.doubles import Value
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.replies import format_reply
from llm_mock.migrate.sdk_parts import (
    SEE_REPLY,
    UsageFields,
    format_contents,
    format_reasoning,
    format_tool_call,
    format_usage,
    get_items,
    get_literal,
    get_text,
    read_fields,
    refuse_empty,
)
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import get_string, to_source

# The mock sends `id`, `model`, `role` and `type` by itself.
_RESPONSE_FIELDS = ("content", "stop_reason", "usage", "id", "model", "role", "type")
_BLOCK_FIELDS = ("type", "text", "id", "name", "input", "thinking", "signature")
_USAGE = UsageFields(
    "input_tokens",
    "output_tokens",
    ("cache_creation_input_tokens", "cache_read_input_tokens"),
)
# A reply without a finish reason ends with the first two.
_ENDS = {"end_turn": None, "tool_use": None, "max_tokens": "length"}


def convert_message(double: Value, table: SymbolTable) -> str | None:
    """Return the source of the reply for the double of a message.

    Args:
        double: the double.
        table: the values of the test's names.

    Returns:
        The source; None if the test configures no reply.
    """
    fields = read_fields(double, "response", _RESPONSE_FIELDS)
    texts = []
    calls = []
    thoughts = []
    for item in get_items(fields.get("content"), "content"):
        block = read_fields(item, "content block", _BLOCK_FIELDS)
        text = get_text(block.get("text"), "text", table)
        thought = get_text(block.get("thinking"), "thinking", table)
        if thought is not None:
            thoughts.append(thought)
        elif text is not None:
            texts.append(text)
        else:
            calls.append(_convert_tool_use(block, table))
    arguments = format_contents(texts, calls)
    if not arguments:
        refuse_empty(double)
        return None
    arguments += format_reasoning(thoughts)
    arguments += _format_end(fields.get("stop_reason"))
    arguments += format_usage(fields.get("usage"), _USAGE)
    if arguments == texts:
        return texts[0]
    return format_reply(arguments, table)


def _convert_tool_use(block: dict[str, Value], table: SymbolTable) -> str:
    name = get_literal(block.get("name"), "name")
    data = get_literal(block.get("input"), "input")
    if name is None or data is None:
        raise CannotRewrite("a content block has neither a text nor a name and input", SEE_REPLY)
    call_id = get_literal(block.get("id"), "id")
    return format_tool_call(
        name,
        data,
        call_id,
        table,
    )


def _format_end(value: Value | None) -> list[str]:
    node = get_literal(value, "stop_reason")
    if node is None:
        return []
    reason = get_string(node)
    if reason not in _ENDS:
        raise CannotRewrite(
            f"the stop reason {to_source(node)} has no equivalent",
            "finish_reason of a Reply is stop, length, tool_calls or content_filter.",
            node,
        )
    end = _ENDS[reason]
    return [] if end is None else [f'finish_reason="{end}"']
