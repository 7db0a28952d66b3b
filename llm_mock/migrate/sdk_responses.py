"""Convert the mocks of OpenAI's Responses API into replies."""

from __future__ import annotations

from collections.abc import Sequence

from llm_mock.migrate.doubles import Value
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.replies import format_reply
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
_ENVELOPE = ("id", "object", "created_at", "model")
# The mock repeats those of the request.
_ECHOED = (
    "instructions",
    "max_output_tokens",
    "metadata",
    "parallel_tool_calls",
    "previous_response_id",
    "reasoning",
    "store",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_p",
    "truncation",
)
_RESPONSE_FIELDS = (
    "output",
    "output_text",
    "usage",
    "status",
    "service_tier",
    # Who pays is nothing that the model says.
    "billing",
    *_ENVELOPE,
    *_ECHOED,
)
_ITEM_FIELDS = (
    "type",
    "content",
    "name",
    "arguments",
    "call_id",
    "id",
    "role",
    "status",
    "summary",
)
_CONTENT_FIELDS = ("type", "text", "annotations")
_USAGE = UsageFields(
    "input_tokens",
    "output_tokens",
    ("input_tokens_details", "output_tokens_details"),
)
_EVENT_FIELDS = (
    "type",
    "delta",
    "sequence_number",
    "item_id",
    "output_index",
    "content_index",
    "logprobs",
    "response",
)
_TEXT_EVENT = "response.output_text.delta"
# The mock sends them by itself.
_OTHER_EVENTS = ("response.created", "response.in_progress", "response.completed")


def convert_response(double: Value, table: SymbolTable) -> str | None:
    """Return the source of the reply for the double of a response.

    Args:
        double: the double.
        table: the values of the test's names.

    Returns:
        The source; None if the test configures no reply.
    """
    fields = read_fields(double, "response", _RESPONSE_FIELDS)
    _check_status(fields.get("status"))
    texts, calls, thoughts = _read_output(fields.get("output"), table)
    whole_text = get_text(fields.get("output_text"), "output_text", table)
    # A response with nothing but calls has an empty text.
    is_of_calls = calls and is_empty_text(fields.get("output_text"))
    if whole_text is not None and not is_of_calls:
        _check_text(whole_text, texts)
        texts = [whole_text]
    arguments = format_contents(texts, calls)
    if not arguments:
        refuse_empty(double)
        return None
    arguments += format_reasoning(thoughts)
    arguments += format_option("service_tier", fields.get("service_tier"), table)
    arguments += format_usage(fields.get("usage"), _USAGE)
    if arguments == texts:
        return texts[0]
    return format_reply(arguments, table)


def convert_events(values: Sequence[Value], table: SymbolTable) -> str:
    """Return the source of the reply for the events of a streamed response.

    Args:
        values: the doubles of the events.
        table: the values of the test's names.
    """
    texts: list[str] = []
    usage: list[str] = []
    for value in values:
        event = read_fields(value, "streamed event", _EVENT_FIELDS)
        node = get_literal(event.get("type"), "type")
        name = get_string(node)
        if name in _OTHER_EVENTS:
            response = read_fields(event.get("response"), "response", _RESPONSE_FIELDS)
            usage += format_usage(response.get("usage"), _USAGE)
            continue
        text = get_text(event.get("delta"), "delta", table)
        if name != _TEXT_EVENT or text is None:
            source = "without a type" if node is None else to_source(node)
            raise CannotRewrite(
                f"the event {source} is not a text event",
                "Pass the streamed texts: Reply(chunks=[…]). llm_mock adds the other events.",
                node,
            )
        texts.append(text)
    if not texts:
        raise CannotRewrite("the events of the response have no text", SEE_REPLY)
    chunks = ", ".join(texts)
    # Only the last one has the usage.
    return format_reply([f"chunks=[{chunks}]", *usage[-1:]], table)


def _check_status(value: Value | None) -> None:
    node = get_literal(value, "status")
    if node is not None and get_string(node) != "completed":
        raise CannotRewrite(
            f"the status of the response is {to_source(node)}",
            'For a response that ends early, use Reply(text, finish_reason="length").',
            node,
        )


def _read_output(
    output: Value | None,
    table: SymbolTable,
) -> tuple[list[str], list[str], list[str]]:
    """Return the sources of the texts, function calls and summaries of an output."""
    texts: list[str] = []
    calls: list[str] = []
    thoughts: list[str] = []
    for value in get_items(output, "output"):
        item = read_fields(value, "part of the output", _ITEM_FIELDS)
        if _is_call(item):
            calls.append(_convert_function_call(item, table))
        else:
            texts += _list_texts(item.get("content"), table)
            thoughts += _list_texts(item.get("summary"), table)
    return texts, calls, thoughts


def _is_call(item: dict[str, Value]) -> bool:
    """Return whether a part of the output is a function call, not a message or a reasoning.

    A fake class may have the fields of all of them, empty beside those of one.

    Raises:
        CannotRewrite: it has the contents of several kinds.
    """
    is_call = not is_empty_text(item.get("name")) or not is_empty_text(item.get("arguments"))
    contents = [item.get("content"), item.get("summary")]
    is_filled = any(get_items(content, "content") for content in contents)
    if is_call and is_filled:
        raise CannotRewrite("a part of the output is a function call and has a text", SEE_REPLY)
    return is_call


def _check_text(whole_text: str, texts: list[str]) -> None:
    """Refuse an `output_text` that differs from the texts of which the SDK joins it."""
    # A test may leave out the output.
    if texts in ([], [whole_text]):
        return
    raise CannotRewrite(
        f"output_text is {whole_text}, and the output has {' and '.join(texts)}",
        "Configure the text: mock_llm_responses.set(model, text).",
    )


def _list_texts(contents: Value | None, table: SymbolTable) -> list[str]:
    """Return the sources of the texts in a message, or in the summaries of a reasoning."""
    texts = []
    for value in get_items(contents, "content"):
        content = read_fields(value, "content", _CONTENT_FIELDS)
        text = get_text(content.get("text"), "text", table)
        if text is not None:
            texts.append(text)
    return texts


def _convert_function_call(item: dict[str, Value], table: SymbolTable) -> str:
    name = get_literal(item.get("name"), "name")
    arguments = get_literal(item.get("arguments"), "arguments")
    if name is None or arguments is None:
        raise CannotRewrite("a function call has no name or no arguments", SEE_REPLY)
    call_id = get_literal(item.get("call_id"), "call_id")
    return format_tool_call(
        name,
        arguments,
        call_id,
        table,
    )
