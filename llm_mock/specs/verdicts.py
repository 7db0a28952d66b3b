"""Reads the verdict out of what a model said."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from llm_mock.specs.models import SHOWN_OUTPUT, StepResult, Verdict
from llm_mock.support.json_in_text import json_objects_in
from llm_mock.support.text import shorten, shorten_name


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


WORDS = ("PASS", "FAIL", "UNCLEAR")
_TEXT = {"type": "string"}
_STEP = _object(name=_TEXT, status={**_TEXT, "enum": ["pass", "fail", "skip"]}, details=_TEXT)
_LISTS = {"steps": {"type": "array", "items": _STEP}, "issues": {"type": "array", "items": _TEXT}}
SCHEMA = {"title": "Verdict", **_object(verdict={**_TEXT, "enum": [*WORDS]}, reason=_TEXT, **_LISTS)}
"""What a model is to answer. What the tools said is not in it: that is known, and not for a model to retell."""

_STATUSES = {"pass": "pass", "fail": "fail", "erro": "fail"}
_OTHERWISE = re.compile(r'"verdict"\s*:\s*"\s*(?:FAIL|UNCLEAR)', re.IGNORECASE)


def parse_verdict(text: str) -> Verdict:
    """The verdict in what a model, or Claude Code, said.

    It may be JSON alone, JSON in a fence, or JSON with prose around, also in the JSON of `claude -p --output-format
    json`; of several objects with a `verdict` the last one counts. What cannot be read is never a PASS, nor is a PASS
    beside another verdict, whole or broken: then the verdict is UNCLEAR, and its reason says what was said.
    """
    said = _result_of_claude(text)
    shown = shorten_name(said, SHOWN_OUTPUT) or "(nothing)"
    found = list(json_objects_in(said, "verdict"))
    if not found:
        return Verdict(verdict="UNCLEAR", reason=f"The model gave no verdict. It said: {shown}")
    last = found[-1]
    verdict = _verdict(last.data)
    if verdict.verdict == "PASS" and _OTHERWISE.search(said[: last.start] + said[last.end :]):
        return Verdict(verdict="UNCLEAR", reason=f"The model said PASS, and also another verdict: {shown}")
    return verdict


def has_verdict(text: str) -> bool:
    """Whether there is one of the three verdicts in what a model said."""
    found = list(json_objects_in(text, "verdict"))
    return bool(found) and _word(found[-1].data) in WORDS


def _result_of_claude(text: str) -> str:
    """The last message of a model in what Claude Code wrote; any other text as it is."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return text
    said = data.get("result") if isinstance(data, Mapping) and "verdict" not in data else None
    return said if isinstance(said, str) else text


def _verdict(data: Mapping[str, Any]) -> Verdict:
    word, reason = _word(data), _text(data.get("reason"))
    if word not in WORDS:
        word, reason = "UNCLEAR", f"The verdict {shorten(data['verdict'])} is none of PASS, FAIL and UNCLEAR."
    steps, issues = (listed if isinstance(listed := data.get(key), list) else [] for key in ("steps", "issues"))
    told = {"steps": [_step(step) for step in steps if isinstance(step, Mapping)], "issues": [*map(_text, issues)]}
    return Verdict.model_validate({"verdict": word, "reason": reason, **told})


def _word(data: Mapping[str, Any]) -> str:
    return str(data["verdict"]).strip().upper()


def _step(data: Mapping[str, Any]) -> StepResult:
    # Models also write `passed`, `FAILED` or `error`; what says nothing is no pass.
    status: Any = _STATUSES.get(str(data.get("status")).strip().lower()[:4], "skip")
    texts = {key: _text(data.get(key)) for key in ("name", "details")}
    return StepResult(status=status, tool_output=data.get("tool_output"), **texts)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
