"""The catalogue of what models really do wrong, each as a change to the reply that a test configured."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from llm_mock import templates
from llm_mock.behaviour.provider_errors import provider_error
from llm_mock.core.reply import DEFAULT_REPLY, UNSET, Reply
from llm_mock.core.tool_calls import BrokenToolCall
from llm_mock.errors import EndlessToolCalls, LLMMockError
from llm_mock.support import schemas

if TYPE_CHECKING:
    from llm_mock.core.request import Request

ANOTHER_LANGUAGE = "以下是对您问题的回答。"
MOST_TOOL_CALLS = 100
"""How often a model calls a tool without end, until the mock takes it for an endless loop of the application."""
KEPT = ("usage", "resolved_model", "reasoning", "attachments", "latency")
EXTRA_FIELDS = ("explanation", "comment", "additional_notes")


@dataclass
class FaultContext:
    """A call that a model is about to answer, and what is known of the calls before it."""

    model_id: str
    request: Request
    reply: Reply
    """What the test configured."""
    first_answer: Reply | None
    """The first answer of the same model, if there was one."""
    last_tool_call: Any
    """The tool call that was scripted last."""
    applied: int
    """To how many calls the fault was applied so far."""

    def __post_init__(self) -> None:
        self.schema = self.request.schema
        self.tools: dict[str, Any] = {tool.name: tool for tool in self.request.tools}
        self.data = UNSET if self.reply is DEFAULT_REPLY and not self.schema else _data_in(self.reply.content)
        """The object or the list that the reply is; UNSET where it is text."""

    def changed(self, text: str | None = None, **fields: Any) -> Reply:
        """The reply with another content; what it cost, and who gave it, stays."""
        return Reply(text, invalid=True, **{name: getattr(self.reply, name) for name in KEPT} | fields)

    def breaks_the_schema(self, data: Any) -> bool:
        """Whether data are wrong; without a schema any are."""
        return self.schema is None or next(schemas.violations(self.schema, data), None) is not None

    def objects(self) -> list[dict[str, Any]]:
        """The objects in the data, outer ones first."""
        return [] if self.data is UNSET else list(_objects(self.data))

    def with_object(self, position: int, replacement: dict[str, Any]) -> Any:
        """The data with one of its objects replaced."""
        data = copy.deepcopy(self.data)
        target = list(_objects(data))[position]
        target.clear()
        target.update(replacement)
        return data

    def tool_call(self) -> tuple[str, dict[str, Any]] | None:
        """A call of an offered tool; None where the model would make none.

        Once it has a tool's result a model answers, unless the script says that it calls a tool again.
        """
        if not self.tools or (self.request.tool_results and not self.reply.tool_calls):
            return None
        return self.any_tool_call()

    def any_tool_call(self) -> tuple[str, dict[str, Any]]:
        """The tool call that was scripted for this call, or else last, or else one of the first tool on offer."""
        call = next(iter(self.reply.tool_calls), self.last_tool_call)
        if call is not None and call.name in self.tools:
            return call.name, dict(call.arguments)
        name, tool = next(iter(self.tools.items()))
        return name, _arguments(tool.input_schema)


def _data_in(text: str) -> Any:
    with suppress(json.JSONDecodeError):
        if isinstance(data := json.loads(text), (dict, list)):
            return data
    return UNSET


def _objects(data: Any) -> Iterator[dict[str, Any]]:
    if isinstance(data, dict):
        yield data
    for item in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _objects(item)


def _arguments(schema: Any) -> dict[str, Any]:
    from llm_mock.behaviour.generate import instance

    with suppress(LLMMockError):  # such as for a pattern
        if isinstance(arguments := instance(schema or {"type": "object"}), dict):
            return arguments
    return {}


Change = Callable[[FaultContext], "Reply | None"]


class Fault(NamedTuple):
    """One entry of the catalogue."""

    name: str
    description: str
    needs: str
    """What a call must be like for it."""
    change: Change | None = None
    """What becomes of a reply; gives None where it does not apply to the call."""
    error: str | None = None
    """Which provider error is raised, before a reply is used up."""


ANY, JSON, TOOLS = "a call", "an answer in JSON", "a call that offers tools"
CATALOGUE: dict[str, Fault] = {}
"""Every misbehaviour by its name."""


def _fault(name: str, needs: str) -> Callable[[Change], Change]:
    def register(change: Change) -> Change:
        CATALOGUE[name] = Fault(name, cast("str", change.__doc__), needs, change)
        return change

    return register


@_fault("fenced-json", JSON)
def _fenced(context: FaultContext) -> Reply | None:
    """The JSON stands in a Markdown code fence."""
    return None if context.data is UNSET else context.changed(f"```json\n{_indented(context.data)}\n```")


def _indented(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False)


@_fault("prose-around-json", JSON)
def _prose(context: FaultContext) -> Reply | None:
    """Sentences stand before and after the JSON."""
    before, after = "Sure! Here is the JSON:\n\n", "\n\nLet me know if you need anything else."
    return None if context.data is UNSET else context.changed(before + _indented(context.data) + after)


@_fault("truncated-json", JSON)
def _truncated(context: FaultContext) -> Reply | None:
    """The JSON ends in the middle, at the limit of output tokens."""
    text = context.reply.content
    return None if context.data is UNSET else context.changed(text[: len(text) * 2 // 3 or 1])


@_fault("wrong-types", f"{JSON} whose fields have types")
def _wrong_types(context: FaultContext) -> Reply | None:
    """Values in the JSON have other types than were asked for."""
    for position, target in enumerate(context.objects()):
        wrong = {
            name: other
            for name, value in target.items()
            for other in _of_other_types(value)
            if context.breaks_the_schema(context.with_object(position, {**target, name: other}))
        }
        if wrong:
            return context.changed(data=context.with_object(position, {**target, **wrong}))
    return None


def _of_other_types(value: Any) -> Iterator[Any]:
    """What a model may write instead of a value, the likeliest last."""
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


@_fault("missing-field", f"{JSON} with a field that is required")
def _missing_field(context: FaultContext) -> Reply | None:
    """A required field of the JSON is missing."""
    for position, target in enumerate(context.objects()):
        for missing in target:
            rest = {name: value for name, value in target.items() if name != missing}
            if context.breaks_the_schema(data := context.with_object(position, rest)):
                return context.changed(data=data)
    return None


@_fault("extra-field", f"{JSON} with an object in it")
def _extra_field(context: FaultContext) -> Reply | None:
    """The JSON has a field that nobody asked for."""
    for outermost in context.objects():
        name = next((name for name in EXTRA_FIELDS if name not in outermost), "notes_on_the_answer")
        extra = {name: "I chose this because it fits the request best."}
        return context.changed(data=context.with_object(0, {**outermost, **extra}))
    return None


@_fault("empty-text", ANY)
def _empty(context: FaultContext) -> Reply | None:
    """The answer is empty."""
    return context.changed("")


@_fault("refusal", ANY)
def _refusal(context: FaultContext) -> Reply | None:
    """The model declines to answer, in plain text."""
    return context.changed(templates.REFUSAL)


@_fault("wrong-language", "an answer with text that may be anything")
def _wrong_language(context: FaultContext) -> Reply | None:
    """The text is in another language, Chinese; in JSON wherever the schema lets it."""
    if context.data is UNSET:
        return context.changed(ANOTHER_LANGUAGE) if context.reply.content else None
    data = copy.deepcopy(context.data)
    for container, key in list(_texts(data)):
        text, container[key] = container[key], ANOTHER_LANGUAGE
        if context.schema is not None and context.breaks_the_schema(data):
            container[key] = text
    return None if data == context.data else context.changed(data=data)


def _texts(data: Any) -> Iterator[tuple[Any, Any]]:
    """Where the texts in some data stand."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        if isinstance(value, str):
            yield data, key
        elif isinstance(value, (dict, list)):
            yield from _texts(value)


@_fault("unknown-tool", TOOLS)
def _unknown_tool(context: FaultContext) -> Reply | None:
    """The model calls a tool that was not offered."""
    if not (call := context.tool_call()):
        return None
    name, arguments = call
    while name in context.tools:
        name += "_tool"
    return context.changed(tool_calls=[BrokenToolCall(name, arguments)])


@_fault("bad-tool-arguments", TOOLS)
def _bad_tool_arguments(context: FaultContext) -> Reply | None:
    """The model calls a tool with an argument that the tool does not have."""
    if not (call := context.tool_call()):
        return None
    name, arguments = call
    first = next(iter(arguments), "input")
    wrong = {f"{first}_value": arguments.pop(first, ""), **arguments}
    return context.changed(tool_calls=[BrokenToolCall(name, wrong)])


@_fault("endless-tool-calls", TOOLS)
def _endless_tool_calls(context: FaultContext) -> Reply | None:
    """The model calls a tool again and again, and never answers."""
    if context.applied >= MOST_TOOL_CALLS:
        raise EndlessToolCalls(
            f"The model called a tool {context.applied} times without an end, and the application let it. "
            "Give llm a limit: model.conversation().chain(…, chain_limit=10)."
        )
    return context.changed(tool_calls=[BrokenToolCall(*context.any_tool_call())]) if context.tools else None


@_fault("repeated-answer", "a call after an answer of the same model that differs")
def _repeated(context: FaultContext) -> Reply | None:
    """The model gives its first answer again, whatever it is asked."""
    first = context.first_answer
    if first is None or first.content == context.reply.content:
        return None
    return context.changed(first.content) if first.data is UNSET else context.changed(data=first.data)


@_fault("broken-stream", "an answer with text")
def _broken_stream(context: FaultContext) -> Reply | None:
    """The connection breaks when half of the answer was streamed."""
    content, chunks = context.reply.content, list(context.reply.chunks or ())
    if not content:
        return None
    if len(chunks) < 2:
        half = (len(content) + 1) // 2
        chunks = [content[:half], content[half:]]
    error = provider_error(context.model_id, "broken_stream")
    return context.changed(chunks=chunks, error=error, error_after=(len(chunks) + 1) // 2)


for _name, _description, _error in (
    ("rate-limit", "The provider refuses: too many requests (429, with Retry-After).", "rate_limit"),
    ("overloaded", "The provider is overloaded (503; Anthropic 529).", "overloaded"),
    ("timeout", "The provider does not answer in time.", "timeout"),
    ("context-overflow", "The provider refuses: the prompt is longer than the context (400).", "context_overflow"),
    ("invalid-key", "The provider refuses: the key is invalid (401).", "invalid_key"),
):
    CATALOGUE[_name] = Fault(_name, _description, ANY, error=_error)
