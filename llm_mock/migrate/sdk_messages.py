"""Convert the mocks of messages of Anthropic into replies."""

from __future__ import annotations

from llm_mock.migrate.doubles import TestDouble, Value
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.replies import format_reply
from llm_mock.migrate.sdk_parts import (
    SEE_REPLY,
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
_BLOCK_FIELDS = ("type", "text", "id", "name", "input")
# A reply without a finish reason ends with the first two.
_ENDS = {"end_turn": None, "tool_use": None, "max_tokens": "length"}


class Message:
    """Converts the double of a message.

    Args:
        double: the double.
        table: the values of the test's names.
    """

    def __init__(self, double: TestDouble, table: SymbolTable) -> None:
        self.double = double
        self.table = table

    def convert(self) -> str | None:
        """Return the source of the reply, or None if the test configures none."""
        fields = read_fields(self.double, "response", _RESPONSE_FIELDS)
        texts = []
        calls = []
        for item in get_items(fields.get("content"), "content"):
            block = read_fields(item, "content block", _BLOCK_FIELDS)
            text = get_text(block.get("text"), "text", self.table)
            if text is not None:
                texts.append(text)
            else:
                calls.append(_format_tool_use(block))
        if len(texts) > 1:
            raise CannotRewrite(
                f"the response has {len(texts)} texts",
                "Give them in their order: Reply(parts=[…]).",
            )
        arguments = [*texts]
        if calls:
            arguments.append(f"tool_calls=[{', '.join(calls)}]")
        if not arguments:
            refuse_empty(self.double)
            return None
        arguments += _format_end(fields.get("stop_reason"))
        arguments += format_usage(fields.get("usage"), "input_tokens", "output_tokens")
        if arguments == texts:
            return texts[0]
        return format_reply(arguments, self.table)


def _format_tool_use(block: dict[str, Value]) -> str:
    name = get_literal(block.get("name"), "name")
    data = get_literal(block.get("input"), "input")
    if name is None or data is None:
        raise CannotRewrite("a content block has neither a text nor a name and input", SEE_REPLY)
    source = f"{to_source(name)}, {to_source(data)}"
    number = get_literal(block.get("id"), "id")
    if number is not None:
        source += f", {to_source(number)}"
    return f"ToolCall({source})"


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
