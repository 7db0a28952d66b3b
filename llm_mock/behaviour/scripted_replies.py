"""Replies as a file says them: those of `llm-mock serve` and of the cases of suites."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pydantic

from llm_mock.core.provider_error import ProviderError
from llm_mock.core.reply import UNSET, Reply
from llm_mock.core.tool_calls import ToolCall
from llm_mock.errors import LLMMockError
from llm_mock.support.validation import Text, Whole


class _Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class ScriptedToolCall(_Strict):
    """A tool call of the model."""

    name: Text
    arguments: Mapping[str, Any] = {}


class ScriptedReply(_Strict):
    """A reply, and which calls it is for."""

    model: Text = "*"
    """The id of the model, or a glob of ids; `*` is any."""
    text: str | None = None
    data: Any = pydantic.Field(default_factory=lambda: UNSET)
    chunks: tuple[str, ...] | None = None
    """The text in the pieces in which it is streamed."""
    tool_calls: tuple[ScriptedToolCall, ...] = ()
    reasoning: str | None = None
    finish_reason: Text | None = None
    error: Literal["rate-limit", "overloaded", "context-overflow", "invalid-key", "timeout", "broken-stream"] | None = (
        None
    )
    """What the provider answers instead; after a text, what ends its stream."""
    prompt: str | None = None
    """A text that the prompt contains."""
    system: str | None = None
    """A text that the system prompt contains."""
    schema_name: Text | None = pydantic.Field(default=None, alias="schema")
    """The name of the schema that is asked for."""
    times: Annotated[Whole, pydantic.Field(ge=1)] | None = None
    """How often it is used; by default, of `llm-mock serve` as often as it fits, in a suite once."""

    @property
    def is_conditional(self) -> bool:
        """Whether it is for some calls of the model only."""
        return self.times is not None or self.prompt is not None or self.system is not None


def matchers_of(scripted: ScriptedReply) -> dict[str, Any]:
    """Which calls it is for, as `ResponseConfigurator.add` takes it."""
    return {"schema": scripted.schema_name, "prompt": scripted.prompt, "system": scripted.system}


def reply_of(scripted: ScriptedReply) -> Reply:
    """The reply; where it is an error that of the provider that is asked.

    Raises:
        LLMMockError: it says nothing, or what makes no sense together.
    """
    fields: dict[str, Any] = {
        name: getattr(scripted, name) for name in ("text", "data", "chunks", "reasoning", "finish_reason")
    }
    fields["tool_calls"] = [ToolCall(call.name, dict(call.arguments)) for call in scripted.tool_calls]
    empty = scripted.text is None and scripted.chunks is None and scripted.data is UNSET
    if scripted.error is None:
        if empty and not scripted.tool_calls:
            raise LLMMockError("says nothing. Give it text, data, chunks, tool_calls or error.")
        return Reply(**fields)
    if scripted.data is not UNSET or scripted.tool_calls:
        raise LLMMockError("has an error, beside which only text or chunks make sense: they are streamed before it.")
    if not empty:
        fields["chunks"] = scripted.chunks or (scripted.text,)
        fields["error_after"] = len(fields["chunks"])
    fields["text"] = None
    return Reply(**fields, error=ProviderError(scripted.error.replace("-", "_")))
