"""Whether a scripted reply is one that a model could have given to the call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llm_mock.core.records import schema_text
from llm_mock.core.reply import Reply
from llm_mock.core.source_location import SourceLocation, format_location, format_notes, warn_caller
from llm_mock.core.tool_calls import BrokenToolCall
from llm_mock.errors import InvalidToolCall, LLMMockError, SchemaViolation, SchemaViolationWarning
from llm_mock.support.redaction import redacted
from llm_mock.support.schemas import text_violations, violations
from llm_mock.support.text import shorten_name

if TYPE_CHECKING:
    from llm_mock.core.records import CallRecord
    from llm_mock.core.request import Request
    from llm_mock.core.settings import Settings


def check_reply(
    record: CallRecord, reply: Reply, request: Request, settings: Settings, place: SourceLocation | None
) -> LLMMockError | None:
    """What is wrong with a scripted reply: a tool call that was not possible, or a broken schema.

    Args:
        record: the call.
        reply: what is to be answered.
        request: what the call asks.
        settings: what is checked, and how strictly.
        place: where the reply was configured, if that is known.

    Returns:
        The error to raise. A broken schema that is only to be warned of is warned of here.
    """
    for call in reply.tool_calls:
        if not isinstance(call, BrokenToolCall) and (problem := _check_tool_call(call, request, place)):
            return problem
    if not request.schema or settings.schema == "off" or reply.invalid or not _is_final(reply):
        return None
    problems = text_violations(request.schema, reply.content)
    if not problems:
        return None
    message = _schema_text(record, problems, reply.content, place)
    if settings.schema == "error":
        return SchemaViolation(message)
    warn_caller(SchemaViolationWarning(redacted(message)))
    return None


def _is_final(reply: Reply) -> bool:
    return reply.error is None and not (reply.tool_calls and not reply.content)


def _schema_text(call: CallRecord, problems: Sequence[str], text: str, place: SourceLocation | None) -> str:
    lines = "\n".join(f"  - {problem}" for problem in problems[:10])
    return (
        f"The reply scripted for {call['model_id']!r}{_at(place)} breaks the schema "
        f"{schema_text(call['kwargs']['schema'])} that the call asked for:\n{lines}\n"
        f"The reply: {shorten_name(text, 300)}\n"
        "Correct it, or mark it with Reply(…, invalid=True) if it is wrong on purpose."
    )


def _at(place: SourceLocation | None) -> str:
    return format_notes(format_location(place))[1:]


_BROKEN_ON_PURPOSE = "Correct the reply, or use BrokenToolCall where the model is to be wrong on purpose."


def _check_tool_call(call: Any, request: Request, place: SourceLocation | None) -> InvalidToolCall | None:
    offered: dict[str, Any] = {tool.name: tool for tool in request.tools}
    if call.name not in offered:
        there = f"Offered were: {', '.join(sorted(offered))}." if offered else "No tools were offered."
        return InvalidToolCall(
            f"The reply{_at(place)} calls the tool {call.name!r}, which the call does not offer. {there} "
            f"{_BROKEN_ON_PURPOSE}"
        )
    problems = list(violations(offered[call.name].input_schema or {}, call.arguments, "the arguments"))
    if not problems:
        return None
    lines = "\n".join(f"  - {problem}" for problem in problems)
    return InvalidToolCall(
        f"The reply{_at(place)} calls the tool {call.name!r} with arguments that it does not take:\n{lines}\n"
        f"{_BROKEN_ON_PURPOSE}"
    )
