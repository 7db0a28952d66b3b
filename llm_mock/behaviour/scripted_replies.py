"""The YAML form of replies, for `llm-mock serve` and for the cases of suites."""

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
    """A reply with the calls that it is for."""

    model: Text = "*"
    """The id of the model, or a glob of ids; `*` is any."""
    text: str | None = None
    data: Any = pydantic.Field(default_factory=lambda: UNSET)
    chunks: tuple[str, ...] | None = None
    """The text, split as it is streamed."""
    tool_calls: tuple[ScriptedToolCall, ...] = ()
    reasoning: str | None = None
    finish_reason: Text | None = None
    error: (
        Literal[
            "rate-limit",
            "overloaded",
            "context-overflow",
            "invalid-key",
            "timeout",
            "broken-stream",
        ]
        | None
    ) = None
    """The error that the provider answers with; after a text or chunks, the end of the stream."""
    prompt: str | None = None
    """A text that the prompt must contain."""
    system: str | None = None
    """A text that the system prompt must contain."""
    schema_name: Text | None = pydantic.Field(default=None, alias="schema")
    """The name of the schema that the call must ask for."""
    times: Annotated[Whole, pydantic.Field(ge=1)] | None = None
    """The number of calls it answers; by default any number in `llm-mock serve`, one in a suite."""

    @property
    def is_conditional(self) -> bool:
        """True if it answers only some calls of its model."""
        conditions = (self.times, self.prompt, self.system)
        return any(condition is not None for condition in conditions)


def build_matchers(scripted: ScriptedReply) -> dict[str, Any]:
    """Return the matchers of a scripted reply as arguments of `ResponseConfigurator.add`."""
    return {"schema": scripted.schema_name, "prompt": scripted.prompt, "system": scripted.system}


def build_reply(scripted: ScriptedReply) -> Reply:
    """Build the `Reply`; an error becomes that of the provider that is asked.

    Raises:
        LLMMockError: it is empty, or combines fields that exclude each other.
    """
    names = ("text", "data", "chunks", "reasoning", "finish_reason")
    fields: dict[str, Any] = {name: getattr(scripted, name) for name in names}
    fields["tool_calls"] = [
        ToolCall(call.name, dict(call.arguments)) for call in scripted.tool_calls
    ]
    empty = scripted.text is None and scripted.chunks is None and scripted.data is UNSET
    if scripted.error is None:
        if empty and not scripted.tool_calls:
            raise LLMMockError("says nothing. Give it text, data, chunks, tool_calls or error.")
        return Reply(**fields)
    if scripted.data is not UNSET or scripted.tool_calls:
        raise LLMMockError(
            "has an error, beside which only text or chunks make sense: "
            "they are streamed before it."
        )
    if not empty:
        fields["chunks"] = scripted.chunks or (scripted.text,)
        fields["error_after"] = len(fields["chunks"])
    fields["text"] = None
    return Reply(**fields, error=ProviderError(scripted.error.replace("-", "_")))
