"""Reads the verdict out of what a model said."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from llm_mock.specs.models import SHOWN_OUTPUT, StepResult, Verdict
from llm_mock.support.json_in_text import json_objects_in
from llm_mock.support.text import shorten, shorten_name

SCHEMA: dict[str, Any] = {
    "title": "Verdict",
    "type": "object",
    "properties": {
        "verdict": {"type": "string", "enum": ["PASS", "FAIL", "UNCLEAR"]},
        "reason": {"type": "string"},
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "status": {"type": "string", "enum": ["pass", "fail", "skip"]},
                    "details": {"type": "string"},
                },
                "required": ["name", "status", "details"],
                "additionalProperties": False,
            },
        },
        "issues": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["verdict", "reason", "steps", "issues"],
    "additionalProperties": False,
}
"""What a model is to answer. What the tools said is not in it: that is known, and not for a model to retell."""

_OTHERWISE = re.compile(r'"verdict"\s*:\s*"\s*(?:FAIL|UNCLEAR)', re.IGNORECASE)


def parse_verdict(text: str) -> Verdict:
    """The verdict in what a model, or Claude Code, said.

    It may be JSON alone, JSON in a fence, or JSON with prose around; of several objects with a `verdict` the last one
    counts. What cannot be read is never a PASS, nor is a PASS beside another verdict, whole or broken: then the verdict
    is UNCLEAR, and its reason says what was said.

    Args:
        text: what was said; or the JSON that `claude -p --output-format json` writes.
    """
    said = _result_of_claude(text)
    found = list(json_objects_in(said, "verdict"))
    if not found:
        shown = shorten_name(said, SHOWN_OUTPUT) or "(nothing)"
        return Verdict(verdict="UNCLEAR", reason=f"The model gave no verdict. It said: {shown}")
    last = found[-1]
    verdict = _verdict(last.data)
    if verdict.verdict == "PASS" and _OTHERWISE.search(said[: last.start] + said[last.end :]):
        shown = shorten_name(said, SHOWN_OUTPUT)
        return Verdict(verdict="UNCLEAR", reason=f"The model said PASS, and also another verdict: {shown}")
    return verdict


def has_verdict(text: str) -> bool:
    """Whether there is one of the three verdicts in what a model said."""
    found = list(json_objects_in(text, "verdict"))
    return bool(found) and _word(found[-1].data) is not None


def _result_of_claude(text: str) -> str:
    """The last message of a model in what Claude Code wrote; any other text as it is."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(data, Mapping) and "verdict" not in data and isinstance(data.get("result"), str):
        return str(data["result"])
    return text


def _verdict(data: Mapping[str, Any]) -> Verdict:
    word = _word(data)
    listed = data.get("steps")
    steps = [_step(step) for step in listed if isinstance(step, Mapping)] if isinstance(listed, list) else []
    issues = data.get("issues")
    invalid = f"The verdict {shorten(data['verdict'])} is none of PASS, FAIL and UNCLEAR."
    return Verdict(
        verdict=word or "UNCLEAR",
        reason=_text(data.get("reason")) if word else invalid,
        steps=steps,
        issues=[_text(issue) for issue in issues] if isinstance(issues, list) else [],
    )


def _word(data: Mapping[str, Any]) -> Literal["PASS", "FAIL", "UNCLEAR"] | None:
    word = str(data["verdict"]).strip().upper()
    return word if word in ("PASS", "FAIL", "UNCLEAR") else None  # type: ignore[return-value]


def _step(data: Mapping[str, Any]) -> StepResult:
    return StepResult(
        name=_text(data.get("name")),
        status=_status(str(data.get("status"))),
        details=_text(data.get("details")),
        tool_output=data.get("tool_output"),
    )


def _status(word: str) -> Literal["pass", "fail", "skip"]:
    """Models also write `passed`, `FAILED` or `error`; what says nothing is no pass."""
    beginning = word.strip().lower()[:4]
    if beginning in ("fail", "erro"):
        return "fail"
    return "pass" if beginning == "pass" else "skip"


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
