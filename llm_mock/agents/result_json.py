"""Convert results of runs to JSON and back."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import llm

from llm_mock.agents.result import AgentResult, ToolCallRecord, Turn
from llm_mock.boundaries.llm.parts import create_usage
from llm_mock.support.json_types import JSONObject
from llm_mock.support.redaction import redact
from llm_mock.support.text import shorten

_RESULT = ("agent", "model", "prompt", "output", "success", "error", "duration", "started", "parts")
_TURN = ("text", "duration", "waited", "model")
_CALL = ("name", "arguments", "result", "error", "duration", "structured")
_USAGE = ("input", "output", "details")
_ATTACHMENT = ("type", "path", "url")


def result_to_json(result: AgentResult) -> str:
    """Return a result as JSON without secrets and without `exception`, which `error` describes."""
    data = _get_attributes(result, _RESULT)
    data["turns"] = [_describe_turn(turn) for turn in result.turns]
    return json.dumps(redact(data), ensure_ascii=False, indent=2)


def result_from_json(text: str) -> AgentResult:
    """Return the result from JSON that `result_to_json` wrote.

    Raises:
        ValueError: the text is not JSON of this form.
    """
    try:
        data = json.loads(text)
        turns = tuple(map(_parse_turn, data["turns"]))
        return AgentResult(**_get_items(data, _RESULT), turns=turns)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"Invalid agent result {shorten(text)}; expected JSON written by result_to_json."
        ) from error


def _describe_turn(turn: Turn) -> JSONObject:
    data = _get_attributes(turn, _TURN)
    data["usage"] = _get_attributes(turn.usage, _USAGE)
    data["retried"] = list(turn.retried)
    data["tool_calls"] = [_describe_call(call) for call in turn.tool_calls]
    return data


def _describe_call(call: ToolCallRecord) -> JSONObject:
    data = _get_attributes(call, _CALL)
    data["attachments"] = [_describe_attachment(attachment) for attachment in call.attachments]
    return data


def _describe_attachment(attachment: llm.Attachment) -> JSONObject:
    data = _get_attributes(attachment, _ATTACHMENT)
    content = attachment.content
    data["content"] = content and base64.b64encode(content).decode()
    return data


def _parse_turn(data: Mapping[str, Any]) -> Turn:
    return Turn(
        **_get_items(data, _TURN),
        tool_calls=tuple(map(_parse_call, data["tool_calls"])),
        usage=create_usage(*_get_items(data["usage"], _USAGE).values()),
        retried=tuple(data["retried"]),
    )


def _parse_call(data: Mapping[str, Any]) -> ToolCallRecord:
    attachments = tuple(map(_parse_attachment, data["attachments"]))
    return ToolCallRecord(**_get_items(data, _CALL), attachments=attachments)


def _parse_attachment(data: Mapping[str, Any]) -> llm.Attachment:
    content = data["content"] and base64.b64decode(data["content"])
    return llm.Attachment(**_get_items(data, _ATTACHMENT), content=content)


def _get_attributes(value: object, names: tuple[str, ...]) -> JSONObject:
    return {name: getattr(value, name) for name in names}


def _get_items(data: Mapping[str, object], names: tuple[str, ...]) -> JSONObject:
    return {name: data[name] for name in names}
