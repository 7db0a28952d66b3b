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
    is_empty_text,
    read_fields,
    refuse_empty,
)
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import get_string, to_source

# The mock sends `id`, `model`, `role` and `type` by itself.
_RESPONSE_FIELDS = ("content", "stop_reason", "usage", "id", "model", "role", "type")
_BLOCK_FIELDS = ("type", "text", "id", "name", "input", "thinking", "signature")
_KINDS = {
    "text": "text",
    "thinking": "thinking",
    "tool_use": "name or no input",
}
"""The types of content blocks, and what each needs."""
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
        kind = _get_kind(block)
        if kind == "tool_use":
            calls.append(_convert_tool_use(block, table))
            continue
        content = get_text(block[kind], kind, table)
        assert content is not None
        if kind == "text":
            texts.append(content)
        else:
            thoughts.append(content)
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


def _get_kind(block: dict[str, Value]) -> str:
    """Return the kind of a content block, which is also the name of its content.

    A fake class may have the fields of all kinds, but only one kind may be filled.

    Raises:
        CannotRewrite: the block has contents of several kinds, or lacks the content of its type.
    """
    kind = _get_type(block)
    filled = [name for name in _KINDS if _is_filled(name, block)]
    if len(filled) > 1:
        names = " and ".join(filled)
        raise CannotRewrite(f"a content block has the contents of {names}", SEE_REPLY)
    if not filled and "text" in block:
        filled = ["text"]
    if filled and kind in (None, *filled):
        return filled[0]
    if kind is not None:
        needed = _KINDS[kind]
        raise CannotRewrite(f"a content block of the type {kind} has no {needed}", SEE_REPLY)
    raise CannotRewrite("a content block has neither a text nor a name and input", SEE_REPLY)


def _get_type(block: dict[str, Value]) -> str | None:
    """Return the type of a content block; None if it is unknown."""
    node = get_literal(block.get("type"), "type")
    kind = get_string(node)
    if kind is not None and kind not in _KINDS:
        raise CannotRewrite(f"a content block has the type {kind}", SEE_REPLY, node)
    return kind


def _is_filled(kind: str, block: dict[str, Value]) -> bool:
    if kind == "tool_use":
        return "input" in block and not is_empty_text(block.get("name"))
    return not is_empty_text(block.get(kind))


def _convert_tool_use(block: dict[str, Value], table: SymbolTable) -> str:
    name = get_literal(block.get("name"), "name")
    data = get_literal(block.get("input"), "input")
    assert name is not None
    assert data is not None
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
            "Pass a finish_reason to the Reply: stop, length, tool_calls or content_filter.",
            node,
        )
    end = _ENDS[reason]
    return [] if end is None else [f'finish_reason="{end}"']
