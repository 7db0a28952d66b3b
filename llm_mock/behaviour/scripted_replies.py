"""Replies in YAML, for `llm-mock serve` and for the cases of suites."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pydantic

from llm_mock.core.provider_error import ProviderError
from llm_mock.core.reply import UNSET, Reply
from llm_mock.core.tool_calls import ToolCall
from llm_mock.errors import LLMMockError
from llm_mock.support.json_types import JSONObject
from llm_mock.support.validation import SYNONYMS, Text, Whole

ErrorName = Literal[
    "rate-limit",
    "overloaded",
    "server-error",
    "context-overflow",
    "invalid-key",
    "timeout",
    "broken-stream",
]
"""The name of an error of the provider."""


class _Strict(pydantic.BaseModel):
    # Frozen, because one script answers in several threads.
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class ScriptedToolCall(_Strict):
    """A tool call of the model."""

    name: Text
    arguments: Mapping[str, Any] | str = {}
    """The arguments, or a JSON object as text."""


def _wrap_single(value: object) -> object:
    """Return a list of the only tool call; anything else is returned as it is."""
    return [value] if isinstance(value, Mapping) else value


def accept_single(schema: JSONObject) -> None:
    """Let the JSON schema of a list accept a single item too."""
    of_list = {"type": schema.pop("type"), "items": schema.pop("items")}
    schema["anyOf"] = [of_list, of_list["items"]]


ToolCalls = Annotated[
    tuple[ScriptedToolCall, ...],
    pydantic.BeforeValidator(_wrap_single),
    pydantic.Field(json_schema_extra=accept_single),
]


class ScriptedUsage(_Strict):
    """The tokens that the provider reports for an answer."""

    input: Annotated[Whole, pydantic.Field(ge=0)]
    output: Annotated[Whole, pydantic.Field(ge=0)]


class ScriptedReply(_Strict):
    """A reply with the calls that it is for."""

    model: Text = "*"
    """The id of the model, or a glob of ids; `*` matches any model."""
    text: str | None = pydantic.Field(
        default=None,
        json_schema_extra={SYNONYMS: ["answer", "content", "output", "reply", "response"]},
    )
    data: Any = pydantic.Field(default_factory=lambda: UNSET)
    chunks: tuple[str, ...] | None = None
    """The text, split as it is streamed."""
    tool_calls: ToolCalls = ()
    """The tool calls, or a single one."""
    parts: tuple[str | ScriptedToolCall, ...] | None = None
    """Texts and tool calls, in the order in which the model gives them."""
    refusal: str | None = None
    """The words in which the model refuses to answer."""
    body: Any = pydantic.Field(default_factory=lambda: UNSET)
    """The provider's own JSON, for requests that do not stream."""
    events: tuple[Any, ...] | None = None
    """The provider's own events, for requests that stream."""
    reasoning: str | None = None
    finish_reason: Text | None = None
    usage: ScriptedUsage | None = None
    """The tokens of the answer; by default they are estimated."""
    error: ErrorName | None = None
    """The error of the provider; it ends the stream if the reply has a text or chunks."""
    prompt: str | None = None
    """A text that the prompt must contain."""
    system: str | None = None
    """A text that the system prompt must contain."""
    tool_result: str | None = None
    """A text that a result of a tool must contain."""
    has_tool_result: bool | None = None
    """Whether the call must return results of tools."""
    schema_name: Text | None = pydantic.Field(default=None, alias="schema")
    """The name of the schema that the call must request."""
    times: Annotated[Whole, pydantic.Field(ge=1)] | None = None
    """The number of calls it answers; by default any number in `llm-mock serve`, one in a suite."""
    optional: bool = False
    """Whether it may stay unused; in `llm-mock serve` each reply may."""

    @property
    def has_tool_call(self) -> bool:
        """True if the model calls a tool in it."""
        parts = self.parts or ()
        return bool(self.tool_calls) or any(not isinstance(part, str) for part in parts)

    @property
    def is_conditional(self) -> bool:
        """True if it answers only some calls of its model."""
        conditions = (self.times, self.prompt, self.system, self.tool_result, self.has_tool_result)
        return any(condition is not None for condition in conditions)


def build_matchers(scripted: ScriptedReply) -> dict[str, Any]:
    """Return the matchers of a scripted reply as arguments of `ResponseConfigurator.add`."""
    return {
        "schema": scripted.schema_name,
        "prompt": scripted.prompt,
        "system": scripted.system,
        "tool_result": scripted.tool_result,
        "has_tool_result": scripted.has_tool_result,
    }


def build_reply(scripted: ScriptedReply) -> Reply:
    """Build the `Reply`; an error becomes the error of the called provider.

    Raises:
        LLMMockError: it is empty, or combines fields that exclude each other.
    """
    if scripted.error is not None:
        return _build_failing_reply(scripted, scripted.error)
    tool_calls = [_build_tool_call(call) for call in scripted.tool_calls]
    contents = (
        scripted.text,
        scripted.chunks,
        scripted.parts,
        scripted.refusal,
        scripted.events,
    )
    has_content = any(content is not None for content in contents)
    has_json = scripted.data is not UNSET or scripted.body is not UNSET
    if not has_content and not has_json and not tool_calls:
        raise LLMMockError(
            "has no content. Set text, data, chunks, parts, refusal, tool_calls, body, events or "
            "error."
        )
    usage: object = UNSET
    if scripted.usage is not None:
        usage = scripted.usage.model_dump()
    return Reply(
        scripted.text,
        data=scripted.data,
        chunks=scripted.chunks,
        parts=None if scripted.parts is None else [*map(_build_part, scripted.parts)],
        refusal=scripted.refusal,
        body=scripted.body,
        events=scripted.events,
        tool_calls=tool_calls,
        reasoning=scripted.reasoning,
        finish_reason=scripted.finish_reason,
        usage=usage,
    )


def _build_part(part: str | ScriptedToolCall) -> str | ToolCall:
    return part if isinstance(part, str) else _build_tool_call(part)


def _build_tool_call(call: ScriptedToolCall) -> ToolCall:
    arguments = call.arguments
    if isinstance(arguments, str):
        return ToolCall(call.name, arguments)
    return ToolCall(call.name, dict(arguments))


def _build_failing_reply(scripted: ScriptedReply, kind: str) -> Reply:
    """Build a reply that fails, after its text or chunks if it has any."""
    has_json = scripted.data is not UNSET or scripted.body is not UNSET
    others = (scripted.parts, scripted.refusal, scripted.events)
    has_others = any(other is not None for other in others)
    if scripted.usage is not None:
        raise LLMMockError("has an error, which uses no tokens: remove usage.")
    if has_json or has_others or scripted.tool_calls:
        raise LLMMockError(
            "has an error. Only text or chunks can be combined with an error: they are streamed "
            "before it."
        )
    # A text before an error is streamed, so it becomes the only chunk.
    chunks = scripted.chunks
    if not chunks and scripted.text is not None:
        chunks = (scripted.text,)
    # The YAML form has the hyphens of the command line, `ProviderError` has underscores.
    return Reply(
        chunks=chunks,
        reasoning=scripted.reasoning,
        finish_reason=scripted.finish_reason,
        error=ProviderError(kind.replace("-", "_")),
        error_after=None if chunks is None else len(chunks),
    )
