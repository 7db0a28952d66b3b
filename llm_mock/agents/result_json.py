"""Results of runs as JSON, and back."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import llm

from llm_mock.agents.result import AgentResult, ToolCallRecord, Turn
from llm_mock.boundaries.llm.parts import usage
from llm_mock.support.redaction import redacted
from llm_mock.support.text import shorten

_RESULT = ("agent", "model", "prompt", "success", "error", "duration", "started", "parts")
_TURN = ("text", "duration", "waited")
_CALL = ("name", "arguments", "result", "error", "duration", "structured")
_USAGE = ("input", "output", "details")
_ATTACHMENT = ("type", "path", "url")


def result_to_json(result: AgentResult) -> str:
    """A result as JSON text, without secrets and without `exception`, of which `error` tells."""
    turns = [
        {
            **_fields(turn, _TURN),
            "usage": _fields(turn.usage, _USAGE),
            "retried": list(turn.retried),
            "tool_calls": [_call_as_data(call) for call in turn.tool_calls],
        }
        for turn in result.turns
    ]
    return json.dumps(redacted({**_fields(result, _RESULT), "turns": turns}), ensure_ascii=False, indent=2)


def result_from_json(text: str) -> AgentResult:
    """The result that was written as JSON text.

    Raises:
        ValueError: the text is no such JSON.
    """
    try:
        data = json.loads(text)
        return AgentResult(**{name: data[name] for name in _RESULT}, turns=tuple(map(_turn_of, data["turns"])))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{shorten(text, 60)} is no result of an agent, as result_to_json gives it") from error


def _fields(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def _call_as_data(call: ToolCallRecord) -> dict[str, Any]:
    attachments = [
        {**_fields(each, _ATTACHMENT), "content": each.content and base64.b64encode(each.content).decode()}
        for each in call.attachments
    ]
    return {**_fields(call, _CALL), "attachments": attachments}


def _turn_of(data: Mapping[str, Any]) -> Turn:
    calls, took = tuple(map(_call_of, data["tool_calls"])), usage(*(data["usage"][name] for name in _USAGE))
    own = _picked({"waited": 0.0, **data}, _TURN)  # which results of earlier versions do not have
    return Turn(tool_calls=calls, usage=took, retried=tuple(data["retried"]), **own)


def _call_of(data: Mapping[str, Any]) -> ToolCallRecord:
    attachments = tuple(
        llm.Attachment(content=each["content"] and base64.b64decode(each["content"]), **_picked(each, _ATTACHMENT))
        for each in data["attachments"]
    )
    return ToolCallRecord(attachments=attachments, **_picked(data, _CALL))


def _picked(data: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: data[name] for name in names}
