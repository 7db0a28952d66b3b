"""Convert the mocks of responses of Gemini into replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llm_mock.migrate.doubles import Value
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.replies import format_reply
from llm_mock.migrate.sdk_parts import (
    SEE_REPLY,
    UsageFields,
    format_contents,
    format_tool_call,
    format_usage,
    get_items,
    get_literal,
    get_text,
    read_fields,
    refuse_empty,
)
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import to_source

_FIELDS = {
    # The SDK makes `parsed` of the text.
    "response": ("text", "candidates", "function_calls", "usage_metadata", "parsed"),
    "candidate": ("content", "finish_reason", "index"),
    "content": ("parts", "role"),
    "part": ("text", "function_call"),
    "function call": ("name", "args", "id"),
    "chunk": ("text", "usage_metadata"),
}
"""The attributes of each part of a response that a reply can have."""
_USAGE = UsageFields(
    "prompt_token_count",
    "candidates_token_count",
    total="total_token_count",
)
_ENDS = {"STOP": "", "MAX_TOKENS": "length", "SAFETY": "content_filter"}
"""The finish reasons of replies, by those of Gemini; a reply without one ends with the first."""


def convert_content(double: Value, table: SymbolTable) -> str | None:
    """Return the source of the reply for the double of a response to `generate_content`.

    Args:
        double: the double.
        table: the values of the test's names.

    Returns:
        The source; None if the test configures no reply.
    """
    fields = read_fields(double, "response", _FIELDS["response"])
    parts = _Parts(table)
    parts.add_text(fields.get("text"))
    parts.add_calls(fields.get("function_calls"))
    candidate: Mapping[str, Value] = {}
    for item in get_items(fields.get("candidates"), "candidates")[:1]:
        candidate = read_fields(item, "candidate", _FIELDS["candidate"])
        content = read_fields(candidate.get("content"), "content", _FIELDS["content"])
        for part in get_items(content.get("parts"), "parts"):
            read = read_fields(part, "part", _FIELDS["part"])
            parts.add_text(read.get("text"))
            parts.add_call(read.get("function_call"))
    arguments = format_contents([*parts.texts], [*parts.calls])
    if not arguments:
        refuse_empty(double)
        return None
    texts = [*arguments]
    arguments += _format_end(candidate.get("finish_reason"))
    arguments += format_usage(fields.get("usage_metadata"), _USAGE)
    if arguments == texts == [*parts.texts]:
        return texts[0]
    return format_reply(arguments, table)


def convert_content_chunks(values: Sequence[Value], table: SymbolTable) -> str:
    """Return the source of the reply for the chunks of a streamed response.

    Args:
        values: the doubles of the chunks.
        table: the values of the test's names.
    """
    texts: list[str] = []
    usage: dict[str, None] = {}
    for value in values:
        fields = read_fields(value, "chunk", _FIELDS["chunk"])
        text = get_text(fields.get("text"), "text", table)
        if text is not None:
            texts.append(text)
        usage |= dict.fromkeys(format_usage(fields.get("usage_metadata"), _USAGE))
    if not texts:
        raise CannotRewrite("the chunks of the response have no text", SEE_REPLY)
    if len(usage) > 1:
        raise CannotRewrite(f"the chunks of the response disagree: {', '.join(usage)}", SEE_REPLY)
    chunks = f"chunks=[{', '.join(texts)}]"
    return format_reply([chunks, *usage], table)


class _Parts:
    """The texts and calls of a response, each once: the SDK shows them at two places."""

    def __init__(self, table: SymbolTable) -> None:
        self.texts: dict[str, None] = {}
        self.calls: dict[str, None] = {}
        self._table = table

    def add_text(self, value: Value | None) -> None:
        """Add a text, if the test sets it."""
        text = get_text(value, "text", self._table)
        if text is not None:
            self.texts[text] = None

    def add_calls(self, value: Value | None) -> None:
        """Add a list of tool calls, if the test sets it."""
        for call in get_items(value, "function_calls"):
            self.add_call(call)

    def add_call(self, value: Value | None) -> None:
        """Add a tool call, if the test sets it."""
        fields = read_fields(value, "function call", _FIELDS["function call"])
        if not fields:
            return
        name = get_literal(fields.get("name"), "name")
        data = get_literal(fields.get("args"), "args")
        if name is None or data is None:
            raise CannotRewrite("a function call has no name or no args", SEE_REPLY)
        call_id = get_literal(fields.get("id"), "id")
        call = format_tool_call(
            name,
            data,
            call_id,
            self._table,
        )
        self.calls[call] = None


def _format_end(value: Value | None) -> list[str]:
    node = get_literal(value, "finish_reason")
    if node is None:
        return []
    # `FinishReason.STOP` or its text.
    source = to_source(node)
    reason = source.strip("\"'").rpartition(".")[2]
    if reason not in _ENDS:
        raise CannotRewrite(
            f"the finish reason {source} has no equivalent",
            "finish_reason of a Reply is stop, length, tool_calls or content_filter.",
            node,
        )
    end = _ENDS[reason]
    return [f'finish_reason="{end}"'] if end else []
