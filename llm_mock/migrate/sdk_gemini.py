"""Convert the mocks of responses of Gemini into replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from llm_mock.migrate.doubles import PlainCode, Value
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.replies import format_reply, get_node
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
from llm_mock.migrate.syntax import read_dict, to_source

_FIELDS = {
    "response": ("text", "candidates", "function_calls", "usage_metadata"),
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
_JSON_NAMES = {
    "usageMetadata": "usage_metadata",
    "finishReason": "finish_reason",
    "functionCall": "function_call",
    "promptTokenCount": "prompt_token_count",
    "candidatesTokenCount": "candidates_token_count",
    "totalTokenCount": "total_token_count",
}
"""The attributes of the SDK's objects by their names in JSON, where these differ."""
# The mock sends them by itself.
_ENVELOPE = ("modelVersion", "responseId", "createTime")


def convert_content_json(double: Value, table: SymbolTable) -> str | None:
    """Return the source of the reply for the JSON of a response to `generateContent`.

    Args:
        double: the JSON.
        table: the values of the test's names.
    """
    node = get_node(double)
    assert node is not None
    return convert_content(PlainCode(_rename_keys(node)), table)


def _rename_keys(node: cst.BaseExpression) -> cst.BaseExpression:
    """Return JSON with the names of the SDK, except in the arguments of functions."""
    if isinstance(node, cst.List):
        elements = [
            element.with_changes(value=_rename_keys(element.value)) for element in node.elements
        ]
        return node.with_changes(elements=elements)
    items = read_dict(node) if isinstance(node, cst.Dict) else None
    if items is None:
        return node
    renamed = []
    for name, value in items.items():
        if name in _ENVELOPE:
            continue
        key = cst.SimpleString(f'"{_JSON_NAMES.get(name, name)}"')
        item = value if name == "args" else _rename_keys(value)
        renamed.append(cst.DictElement(key, item))
    return cst.Dict(renamed)


def convert_content(double: Value, table: SymbolTable) -> str | None:
    """Return the source of the reply for the double of a response to `generate_content`.

    Args:
        double: the double.
        table: the values of the test's names.

    Returns:
        The source; None if the test configures no reply.
    """
    fields = read_fields(double, "response", _FIELDS["response"])
    shown = _Parts(table)
    shown.add_text(fields.get("text"))
    for call in get_items(fields.get("function_calls"), "function_calls"):
        shown.add_call(call)
    parts = _Parts(table)
    candidate = _read_candidate(fields)
    content = read_fields(candidate.get("content"), "content", _FIELDS["content"])
    for part in get_items(content.get("parts"), "parts"):
        read = read_fields(part, "part", _FIELDS["part"])
        parts.add_text(read.get("text"))
        parts.add_call(read.get("function_call"))
    parts.add_shown(shown)
    arguments = format_contents(parts.texts, parts.calls)
    if not arguments:
        refuse_empty(double)
        return None
    texts = [*arguments]
    arguments += _format_end(candidate.get("finish_reason"))
    arguments += format_usage(fields.get("usage_metadata"), _USAGE)
    if arguments == texts == parts.texts:
        return texts[0]
    return format_reply(arguments, table)


def _read_candidate(fields: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return the attributes of the only candidate of a response, or no attributes."""
    candidates = get_items(fields.get("candidates"), "candidates")
    if len(candidates) > 1:
        raise CannotRewrite(f"the response has {len(candidates)} candidates", SEE_REPLY)
    return read_fields(candidates[0], "candidate", _FIELDS["candidate"]) if candidates else {}


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
        raise CannotRewrite(
            f"the chunks of the response contradict each other: {', '.join(usage)}", SEE_REPLY
        )
    chunks = f"chunks=[{', '.join(texts)}]"
    return format_reply([chunks, *usage], table)


class _Parts:
    """The texts and the tool calls of a response."""

    def __init__(self, table: SymbolTable) -> None:
        self.texts: list[str] = []
        self.calls: list[str] = []
        self._table = table

    def add_text(self, value: Value | None) -> None:
        """Add a text, if the test sets it."""
        text = get_text(value, "text", self._table)
        if text is not None:
            self.texts.append(text)

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
        self.calls.append(call)

    def add_shown(self, shown: _Parts) -> None:
        """Add the attributes that repeat the parts, which are equal to them in a real response.

        Raises:
            CannotRewrite: the parts contain something else.
        """
        for own, other in ((self.texts, shown.texts), (self.calls, shown.calls)):
            if own and other and own != other:
                raise CannotRewrite(
                    f"the parts of the response have {', '.join(own)}, and the response itself "
                    f"has {', '.join(other)}",
                    SEE_REPLY,
                )
            own[:] = own or other


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
            "Pass a finish_reason to the Reply: stop, length, tool_calls or content_filter.",
            node,
        )
    end = _ENDS[reason]
    return [f'finish_reason="{end}"'] if end else []
