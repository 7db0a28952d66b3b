"""Whether a scripted reply is one that a model could have given to the call.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from llm_mock import explain
from llm_mock.core.reply import BrokenToolCall, Reply
from llm_mock.errors import InvalidToolCall, LLMMockError, SchemaViolation, SchemaViolationWarning
from llm_mock.support import schemas

if TYPE_CHECKING:
    import llm

    from llm_mock.core.records import CallRecord
    from llm_mock.cost.prices import Prices


class Settings(NamedTuple):
    """How a mock decides and checks calls."""

    lazy: bool = False
    """Decide a call when its response is read, not in `prompt()`."""
    strict: bool = False
    """A call that no configured reply fits is an error."""
    schema: str = "warn"
    """What a scripted reply that breaks the schema is: `warn`, `error` or `off`."""
    autospec: bool = False
    """Models that `llm` knows refuse what the real ones would refuse."""
    generate: bool = False
    """A call for a schema that no configured reply fits is answered with a generated instance."""
    prices: Prices = ()
    """What models cost, where the project says so."""
    slow: bool = False
    """Some model has a latency."""
    details: bool = False
    """Other processes report the details of their calls too, for a report."""
    misbehaviour: tuple[str, int | None] | None = None
    """What the models do wrong in other processes too, and how often in each."""


def check_reply(record: CallRecord, reply: Reply, prompt: llm.Prompt, settings: Settings) -> LLMMockError | None:
    """What is wrong with a scripted reply: a tool call that was not possible, or a broken schema.

    Returns:
        The error to raise. A broken schema that is only to be warned of is warned of here.
    """
    for call in reply.tool_calls:
        if not isinstance(call, BrokenToolCall) and (problem := _check_tool_call(call, prompt)):
            return problem
    if not prompt.schema or settings.schema == "off" or reply.invalid or not _is_final(reply):
        return None
    problems = schemas.text_violations(cast("dict[str, Any]", prompt.schema), reply.content)
    if not problems:
        return None
    message = explain.schema_violations(record, problems, reply.content)
    if settings.schema == "error":
        return SchemaViolation(message)
    _warn(message)
    return None


def _is_final(reply: Reply) -> bool:
    return reply.error is None and not (reply.tool_calls and not reply.content)


def _check_tool_call(call: llm.ToolCall, prompt: llm.Prompt) -> InvalidToolCall | None:
    offered: dict[str, Any] = {tool.name: tool for tool in prompt.tools}
    if call.name not in offered:
        return InvalidToolCall(explain.unknown_tool(call.name, sorted(offered)))
    problems = list(schemas.violations(offered[call.name].input_schema or {}, call.arguments))
    return InvalidToolCall(explain.bad_tool_arguments(call.name, problems)) if problems else None


def _warn(message: str) -> None:
    """Warn where the application, or the test, made the call."""
    packages = tuple(str(Path(sys.modules[name].__file__ or "").parent) + os.sep for name in ("llm", "llm_mock"))
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(packages):
        frame = frame.f_back
    warnings.warn_explicit(
        SchemaViolationWarning(message),
        category=None,
        filename=frame.f_code.co_filename,
        lineno=frame.f_lineno,
        module=frame.f_globals.get("__name__"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )
