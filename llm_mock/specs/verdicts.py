"""Parse the verdict in the text of a model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from llm_mock.specs.models import MAX_SHOWN, StepResult, Verdict
from llm_mock.support.json_in_text import find_json_objects
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import shorten, shorten_name


def _build_object_schema(**properties: Any) -> JSONObject:
    # All required and no others, as the strict mode of OpenAI demands.
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


WORDS = ("PASS", "FAIL", "UNCLEAR")
_TEXT = {"type": "string"}
_STATUS = {"type": "string", "enum": ["pass", "fail", "skip"]}
_STEP = _build_object_schema(name=_TEXT, status=_STATUS, details=_TEXT)
SCHEMA = {
    "title": "Verdict",
    **_build_object_schema(
        verdict={"type": "string", "enum": [*WORDS]},
        reason=_TEXT,
        steps={"type": "array", "items": _STEP},
        issues={"type": "array", "items": _TEXT},
    ),
}
"""The JSON Schema of a model's verdict. It omits the outputs of tools, which are known."""

# The beginnings of the words that models write: also `passed`, `FAILED` or `error`.
_STATUSES = {"pass": "pass", "fail": "fail", "erro": "fail"}
_OTHER_VERDICT = re.compile(r'"verdict"\s*:\s*"\s*(?:FAIL|UNCLEAR)', re.IGNORECASE)


def parse_verdict(text: str) -> Verdict:
    """Return the verdict in the text of a model, or of Claude Code.

    The text may be JSON alone, JSON in a fence, or JSON with prose around it, and all of this in
    the JSON of `claude -p --output-format json`. The last of several verdicts counts.

    A text without a readable verdict is UNCLEAR, never a PASS. So is a PASS beside another
    verdict, complete or cut off. In these cases the reason quotes the text.
    """
    answer = _extract_claude_result(text)
    quote = shorten_name(answer, MAX_SHOWN) or "(nothing)"
    objects = list(find_json_objects(answer, "verdict"))
    if not objects:
        reason = f"The model returned no verdict. It said: {quote}"
        return Verdict(verdict="UNCLEAR", reason=reason)
    last = objects[-1]
    verdict = _build_verdict(last.data)
    before = answer[: last.start]
    after = answer[last.end :]
    if verdict.verdict == "PASS" and _OTHER_VERDICT.search(before + after):
        reason = f"The model said PASS, and also another verdict: {quote}"
        return Verdict(verdict="UNCLEAR", reason=reason)
    return verdict


def has_verdict(text: str) -> bool:
    """Return whether the text of a model has one of the three verdicts."""
    objects = list(find_json_objects(text, "verdict"))
    if not objects:
        return False
    return _get_word(objects[-1].data) in WORDS


def _extract_claude_result(text: str) -> str:
    """Return the answer in the JSON of Claude Code, and any other text as it is."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return text
    # An object with a verdict is the answer itself, even if it has a key `result`.
    if not isinstance(data, Mapping) or "verdict" in data:
        return text
    result = data.get("result")
    return result if isinstance(result, str) else text


def _build_verdict(data: Mapping[str, object]) -> Verdict:
    word = _get_word(data)
    reason = _convert_to_text(data.get("reason"))
    if word not in WORDS:
        word = "UNCLEAR"
        reason = f"The verdict is {shorten(data['verdict'])}; it must be PASS, FAIL or UNCLEAR."
    steps = data.get("steps")
    issues = data.get("issues")
    results = []
    if isinstance(steps, list):
        results = [_build_result(step) for step in steps if isinstance(step, Mapping)]
    texts = []
    if isinstance(issues, list):
        texts = [_convert_to_text(issue) for issue in issues]
    return Verdict.model_validate(
        {"verdict": word, "reason": reason, "steps": results, "issues": texts}
    )


def _get_word(data: Mapping[str, object]) -> str:
    return str(data["verdict"]).strip().upper()


def _build_result(step: Mapping[str, object]) -> StepResult:
    word = str(step.get("status")).strip().lower()
    # A step without a clear status did not pass.
    status: Any = _STATUSES.get(word[:4], "skip")
    return StepResult(
        name=_convert_to_text(step.get("name")),
        status=status,
        details=_convert_to_text(step.get("details")),
        tool_output=step.get("tool_output"),
    )


def _convert_to_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
