"""The scripts of `llm-mock serve`: a YAML file of replies, or a function that configures the mock."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from llm_mock.core.configurator import ResponseConfigurator
from llm_mock.core.provider_error import ProviderError
from llm_mock.core.reply import UNSET, Reply
from llm_mock.core.tool_calls import ToolCall
from llm_mock.errors import InvalidFile, LLMMockError
from llm_mock.support import yaml_files
from llm_mock.support.text import error_text, shorten, shown_path, suggestion
from llm_mock.support.validation import Text, Whole

UNLIMITED = sys.maxsize


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
    """How often it is used; by default as often as it fits."""

    @property
    def is_conditional(self) -> bool:
        """Whether it is for some calls of the model only."""
        return self.times is not None or self.prompt is not None or self.system is not None


class ServeScript(_Strict):
    """A script: the replies, of which the first that fits answers."""

    replies: tuple[ScriptedReply, ...]


def configure(responses: ResponseConfigurator, script: str) -> None:
    """Configure a mock.

    Args:
        responses: of the mock.
        script: the path of a YAML file, or `package.module:function`; the function is called with `responses`.

    Raises:
        LLMMockError: the script is wrong.
    """
    module, colon, function = script.rpartition(":")
    if colon and function.isidentifier() and not Path(script).exists():
        _call(_function(module, function), script, responses)
    else:
        _configure_from_file(responses, Path(script))


def _configure_from_file(responses: ResponseConfigurator, path: Path) -> None:
    document = yaml_files.load(path)
    standing: dict[tuple[str, str | None], tuple[int, Any]] = {}
    for position, scripted in enumerate(document.as_model(ServeScript, _owner).replies):
        here = ("replies", position)
        try:
            answer = _answer(scripted)
        except LLMMockError as error:
            raise document.error(f"reply {position + 1}: {error}", here) from None
        schema = scripted.schema_name
        if scripted.is_conditional:
            matchers = {"schema": schema, "prompt": scripted.prompt, "system": scripted.system}
            responses.add(scripted.model, answer, times=scripted.times or UNLIMITED, optional=True, **matchers)  # type: ignore[arg-type]
            continue
        key = scripted.model, schema
        if key in standing:
            raise document.error(
                f"reply {position + 1}: is never given, as that on line {standing[key][0]} is for the same calls, and "
                "they all. Give one of them a prompt, a system or times.",
                here,
            )
        standing[key] = document.line_of(here), answer
    for (model, schema), (_, answer) in reversed(standing.items()):  # of two globs the one that was set last answers
        responses.set(model, answer, schema=schema)


def _owner(location: Any) -> tuple[str, int]:
    if len(location) > 1 and isinstance(location[1], int):
        return f"reply {location[1] + 1}", 2
    return "", 0


def _answer(scripted: ScriptedReply) -> Reply:
    """The reply; where it is an error that of the provider that is asked."""
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


def _function(module: str, name: str) -> Callable[..., Any]:
    sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        raise InvalidFile(f"{module} cannot be imported: {error_text(error)}{_place(error)}") from None
    function = getattr(found, name, None)
    if not callable(function):
        there = [other for other, value in vars(found).items() if callable(value)]
        raise InvalidFile(f"{module} has no function {shorten(name)}{suggestion(name, there)}")
    return function  # type: ignore[no-any-return]


def _call(function: Callable[..., Any], script: str, responses: ResponseConfigurator) -> None:
    try:
        function(responses)
    except LLMMockError:
        raise
    except Exception as error:
        raise InvalidFile(f"{script} raised {error_text(error)}{_place(error)}") from None


def _place(error: Exception) -> str:
    """Where in the project's code an error was raised."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({shown_path(error.filename)}:{error.lineno})"
    files = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    own = [place for place in files if place[0].startswith(os.getcwd()) and "site-packages" not in place[0]]
    return f" ({shown_path(own[-1][0])}:{own[-1][1]})" if own else ""
