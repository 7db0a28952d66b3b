"""Catalogue of misbehaviours: each changes a configured reply, or fails the call."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from llm_mock import templates
from llm_mock.behaviour.fault_context import FaultContext
from llm_mock.behaviour.pacing import SlowStart, SplitFrames
from llm_mock.behaviour.provider_errors import (
    DISCONNECTED,
    StreamEnds,
    StreamStalls,
    make_provider_error,
)
from llm_mock.core.reply import UNSET, Reply
from llm_mock.core.tool_calls import BrokenToolCall
from llm_mock.errors import EndlessToolCalls

# "The following is the answer to your question."
ANOTHER_LANGUAGE = "以下是对您问题的回答。"
MAX_TOOL_CALLS = 100
"""The number of tool calls after which the application is assumed to loop forever."""
# Longer than a usable client waits, shorter than the default timeouts of OpenAI's and Anthropic's
# SDKs (600 s).
SLOW_START = SlowStart(first_chunk=60.0)
SPLIT_FRAMES = SplitFrames()
EXTRA_FIELDS = ("explanation", "comment", "additional_notes")
Change = Callable[[FaultContext], "Reply | None"]


class Fault(NamedTuple):
    """One entry of the catalogue."""

    name: str
    description: str
    needs: str
    """The kind of call that it can be applied to."""
    change: Change | None = None
    """Returns the changed reply, or None if it does not apply to the call."""
    error: str | None = None
    """The kind of provider error that is raised before a reply is used."""


ANY, JSON, TOOLS = "a call", "an answer in JSON", "a call that offers tools"
TEXT, STREAM = "an answer with text", "a streamed answer with text"
CATALOGUE: dict[str, Fault] = {}
"""Every misbehaviour by its name."""


def _register_fault(name: str, needs: str, description: str) -> Callable[[Change], Change]:
    """Return a decorator that adds a function to the catalogue as a fault.

    Args:
        name: the name of the misbehaviour.
        needs: the kind of call that it can be applied to.
        description: a sentence for `llm-mock misbehaviours` and for messages.
    """

    def register(change: Change) -> Change:
        CATALOGUE[name] = Fault(name, description, needs, change)
        return change

    return register


@_register_fault("fenced-json", JSON, "The JSON is in a Markdown code fence.")
def _fence_json(context: FaultContext) -> Reply | None:
    if context.data is UNSET:
        return None
    return context.change_reply(f"```json\n{_indent(context.data)}\n```")


def _indent(data: object) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False)


@_register_fault("prose-around-json", JSON, "The JSON has sentences before and after it.")
def _surround_json(context: FaultContext) -> Reply | None:
    before, after = "Sure! Here is the JSON:\n\n", "\n\nLet me know if you need anything else."
    if context.data is UNSET:
        return None
    return context.change_reply(before + _indent(context.data) + after)


@_register_fault("truncated-json", JSON, "The JSON is cut off at the limit of output tokens.")
def _truncate_json(context: FaultContext) -> Reply | None:
    if context.data is UNSET:
        return None
    text = context.reply.content
    length = max(1, len(text) * 2 // 3)
    return context.change_reply(text[:length], finish_reason="length")


@_register_fault(
    "wrong-types",
    f"{JSON} whose fields have types",
    "Values in the JSON have the wrong types.",
)
def _change_types(context: FaultContext) -> Reply | None:
    for position, target in enumerate(context.list_objects()):
        wrong = {}
        for name, value in target.items():
            for other in _iter_other_types(value):
                data = context.replace_object(position, {**target, name: other})
                # The last value that breaks the schema stays: it is the likeliest.
                if context.breaks_the_schema(data):
                    wrong[name] = other
        if wrong:
            data = context.replace_object(position, {**target, **wrong})
            return context.change_reply(data=data)
    return None


def _iter_other_types(value: object) -> Iterator[Any]:
    """Yield values that a model may write instead, the likeliest last."""
    yield {"value": value}
    if isinstance(value, str):
        yield [value]
    elif isinstance(value, bool):
        yield f"probably {str(value).lower()}"
    elif isinstance(value, (int, float)):
        yield f"about {value}"
    elif isinstance(value, list):
        yield ", ".join(map(str, value))
    elif isinstance(value, dict):
        yield json.dumps(value, ensure_ascii=False)


@_register_fault(
    "missing-field",
    f"{JSON} with a required field",
    "A required field of the JSON is missing.",
)
def _remove_field(context: FaultContext) -> Reply | None:
    for position, target in enumerate(context.list_objects()):
        for missing in target:
            rest = {name: value for name, value in target.items() if name != missing}
            data = context.replace_object(position, rest)
            if context.breaks_the_schema(data):
                return context.change_reply(data=data)
    return None


@_register_fault("extra-field", f"{JSON} that contains an object", "The JSON has an extra field.")
def _add_field(context: FaultContext) -> Reply | None:
    objects = context.list_objects()
    if not objects:
        return None
    outermost = objects[0]
    unused = (name for name in EXTRA_FIELDS if name not in outermost)
    name = next(unused, "notes_on_the_answer")
    changed = {**outermost, name: "I chose this because it fits the request best."}
    return context.change_reply(data=context.replace_object(0, changed))


@_register_fault("empty-text", ANY, "The answer is empty.")
def _remove_text(context: FaultContext) -> Reply | None:
    return context.change_reply("")


@_register_fault("refusal", ANY, "The model declines to answer, in plain text.")
def _refuse(context: FaultContext) -> Reply | None:
    return context.change_reply(templates.REFUSAL)


@_register_fault(
    "wrong-language",
    "an answer with free text",
    "The text is in another language (Chinese); in JSON, wherever the schema allows it.",
)
def _change_language(context: FaultContext) -> Reply | None:
    if context.data is UNSET:
        if not context.reply.content:
            return None
        return context.change_reply(ANOTHER_LANGUAGE)
    data = copy.deepcopy(context.data)
    # A list first, because the loop changes what it runs over.
    for container, key in list(_iter_texts(data)):
        text = container[key]
        container[key] = ANOTHER_LANGUAGE
        # Texts of an enum or a format stay as they are.
        if context.schema is not None and context.breaks_the_schema(data):
            container[key] = text
    if data == context.data:
        return None
    return context.change_reply(data=data)


def _iter_texts(data: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each text in the data as its container and its key or index there."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        if isinstance(value, str):
            yield data, key
        elif isinstance(value, (dict, list)):
            yield from _iter_texts(value)


@_register_fault("unknown-tool", TOOLS, "The model calls a tool that was not offered.")
def _call_unknown_tool(context: FaultContext) -> Reply | None:
    call = context.choose_tool_call()
    if call is None:
        return None
    name, arguments = call
    while name in context.tools:
        name += "_tool"
    return context.change_reply(tool_calls=[BrokenToolCall(name, arguments)])


@_register_fault(
    "bad-tool-arguments",
    TOOLS,
    "The model calls a tool with an argument that the tool does not have.",
)
def _change_tool_arguments(context: FaultContext) -> Reply | None:
    call = context.choose_tool_call()
    if call is None:
        return None
    name, arguments = call
    # A slightly wrong name is the likeliest mistake of a model.
    first = next(iter(arguments), "input")
    value = arguments.pop(first, "")
    wrong = {f"{first}_value": value, **arguments}
    return context.change_reply(tool_calls=[BrokenToolCall(name, wrong)])


@_register_fault("endless-tool-calls", TOOLS, "The model keeps calling a tool and never answers.")
def _call_tool_again(context: FaultContext) -> Reply | None:
    if context.applied >= MAX_TOOL_CALLS:
        raise EndlessToolCalls(
            f"The model called a tool {context.applied} times, and the application did not stop "
            "it. Set a limit, for example model.conversation().chain(…, chain_limit=10)."
        )
    if not context.tools:
        return None
    name, arguments = context.choose_any_tool_call()
    return context.change_reply(tool_calls=[BrokenToolCall(name, arguments)])


@_register_fault(
    "repeated-answer",
    "a call after a different answer of the same model",
    "The model repeats its first answer to every request.",
)
def _repeat_answer(context: FaultContext) -> Reply | None:
    first = context.first_answer
    if first is None or first.content == context.reply.content:
        return None
    if first.data is UNSET:
        return context.change_reply(first.content)
    return context.change_reply(data=first.data)


@_register_fault("broken-stream", TEXT, "The connection breaks after half of the answer.")
def _break_stream(context: FaultContext) -> Reply | None:
    provider = context.request.provider
    error: Exception
    if context.request.stream is not False:
        error = make_provider_error(context.model_id, "broken_stream", provider=provider)
    # Without a stream, nothing arrives before the connection breaks.
    elif provider is None:
        error = make_provider_error(context.model_id, "no_connection")
    else:
        error = ConnectionError(DISCONNECTED)
    return _cut_by_error(context, error)


@_register_fault(
    "truncated-stream", STREAM, "The stream ends after half of the answer, without an error."
)
def _truncate_stream(context: FaultContext) -> Reply | None:
    if context.request.stream is None:
        # Through `llm`, nothing is sent over HTTP, so a stream that ends early has fewer chunks.
        chunks = _split_chunks(context.reply)
        if not chunks:
            return None
        return context.change_reply(chunks=_take_first_half(chunks))
    if not context.request.stream:
        return None
    return _cut_by_error(context, StreamEnds())


@_register_fault(
    "malformed-chunk",
    f"{STREAM} over HTTP",
    "The stream ends within an event, so that its JSON is invalid.",
)
def _break_event(context: FaultContext) -> Reply | None:
    if not context.request.stream:
        return None
    return _cut_by_error(context, StreamEnds(malformed=True))


@_register_fault(
    "split-frames",
    f"{STREAM} over HTTP",
    "The stream arrives in chunks that end within a string and within a character.",
)
def _split_frames(context: FaultContext) -> Reply | None:
    if not context.request.stream or not context.reply.content:
        return None
    return context.pace_reply(SPLIT_FRAMES)


@_register_fault("stalled", STREAM, "The stream stalls after half of the answer.")
def _stall_stream(context: FaultContext) -> Reply | None:
    if context.request.stream is None:
        # Through `llm`, the SDK in the plugin would time out and raise this error.
        timeout = make_provider_error(context.model_id, "timeout")
        return _cut_by_error(context, timeout)
    if not context.request.stream:
        return None
    return _cut_by_error(context, StreamStalls())


@_register_fault("slow-first-token", ANY, "The answer begins only after a minute.")
def _delay_first_token(context: FaultContext) -> Reply | None:
    return context.delay_reply(SLOW_START)


@_register_fault(
    "error-event", STREAM, "The provider reports within the stream that it is overloaded."
)
def _send_error_event(context: FaultContext) -> Reply | None:
    if context.request.stream is False:
        return None
    provider = context.request.provider
    error = make_provider_error(context.model_id, "overloaded", provider=provider)
    return _cut_by_error(context, error)


@_register_fault("content-filter", TEXT, "The provider's content filter cuts off the answer.")
def _filter_content(context: FaultContext) -> Reply | None:
    return _cut_off(context, "content_filter")


@_register_fault("length", TEXT, "The answer is cut off at the limit of output tokens.")
def _reach_limit(context: FaultContext) -> Reply | None:
    return _cut_off(context, "length")


def _cut_by_error(context: FaultContext, error: Exception) -> Reply | None:
    """Return the first half of the answer followed by an error; None for an empty answer."""
    chunks = _split_chunks(context.reply)
    if not chunks:
        return None
    return context.change_reply(
        chunks=chunks, error=error, error_after=len(_take_first_half(chunks))
    )


def _cut_off(context: FaultContext, finish_reason: str) -> Reply | None:
    chunks = _split_chunks(context.reply)
    if not chunks:
        return None
    return context.change_reply(chunks=_take_first_half(chunks), finish_reason=finish_reason)


def _split_chunks(reply: Reply) -> list[Any]:
    """Return the text of a reply in at least two chunks, or none if it has no text."""
    chunks = list(reply.chunks or ())
    if len(chunks) > 1 or not reply.content:
        return chunks
    half = (len(reply.content) + 1) // 2
    return [reply.content[:half], reply.content[half:]]


def _take_first_half(chunks: list[Any]) -> list[Any]:
    return chunks[: (len(chunks) + 1) // 2]


for _name, _description, _error in (
    (
        "rate-limit",
        "The provider limits the rate of requests (429, with Retry-After).",
        "rate_limit",
    ),
    ("overloaded", "The provider is overloaded (503; Anthropic 529).", "overloaded"),
    ("timeout", "The provider does not answer in time.", "timeout"),
    (
        "context-overflow",
        "The provider rejects a prompt that is longer than the context (400).",
        "context_overflow",
    ),
    (
        "invalid-key",
        "The provider rejects the API key (401; Google 400; Bedrock 403).",
        "invalid_key",
    ),
):
    CATALOGUE[_name] = Fault(_name, _description, ANY, error=_error)
