"""Assertions of promptfoo's as those of a suite."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pydantic

from llm_mock.suites.promptfoo.providers import judge_of
from llm_mock.suites.promptfoo.source import FILE, Findings, Part
from llm_mock.suites.schema import Assertion
from llm_mock.support.interpolation import map_texts
from llm_mock.support.numbers import is_number
from llm_mock.support.validation import problems_of
from llm_mock.support.yaml_files import placed

_OURS: pydantic.TypeAdapter[Assertion] = pydantic.TypeAdapter(Assertion)
_KEYS = {
    **dict.fromkeys(("contains", "icontains", "equals", "starts-with"), "value"),
    "regex": "pattern",
    **dict.fromkeys(("contains-any", "contains-all", "icontains-any", "icontains-all"), "values"),
    **dict.fromkeys(("is-json", "contains-json"), "schema"),
    **dict.fromkeys(("llm-rubric", "model-graded-closedqa", "g-eval"), "criteria"),
    "similar": "value",
    "python": "function",
    "latency": "value",
    "cost": "value",
}
"""Of each type that has a counterpart the key of ours that has its value."""
_LIMITS = {"latency": 1000, "cost": 1}
"""The types whose value is their threshold, and how many of their units are one of ours."""
_TYPES = {
    "icontains-any": "contains_any",
    "icontains-all": "contains_all",
    "is-json": "json",
    **dict.fromkeys(("llm-rubric", "model-graded-closedqa", "g-eval"), "llm_judge"),
    "latency": "max_latency",
    "cost": "max_cost",
}
SIMILAR = 0.75
"""The threshold of `similar` where none is given."""
_HINTS = {
    "javascript": "write a python assertion",
    "assert-set": "a set with a threshold needs scores; write its assertions by themselves",
}


def assertions_of(part: Part, variables: Collection[str], findings: Findings) -> Iterator[dict[str, Any]]:
    """The assertions in a list, as a suite has them; what is said of the others is among the findings."""
    for given in part.items():
        kind = given.at("type").data if isinstance(given.data, dict) else None
        if kind == "assert-set" and given.at("threshold").data is None:
            findings.lost_keys(given, ("type", "assert"), " of assert-set")
            yield from assertions_of(given.at("assert"), variables, findings)
        elif (ours := _assertion(given, str(kind), variables, findings)) is not None:
            yield ours


def _assertion(given: Part, kind: str, variables: Collection[str], findings: Findings) -> dict[str, Any] | None:
    name = kind.removeprefix("not-")
    if name not in _KEYS:
        hint = f": {_HINTS[name]}" if name in _HINTS else ""
        findings.lost(given, f"the assertion {kind} has no counterpart{hint}")
        return None
    value, problem = _value(given, name)
    if problem is not None:
        findings.lost(given, f"the assertion {kind} is not taken over: {problem}")
        return None
    ours: dict[str, Any] = {"type": _TYPES.get(name, name.replace("-", "_"))}
    if value is not None:
        ours[_KEYS[name]] = value if name == "python" else _with_variables(given, value, variables, findings)
    if name.startswith("icontains-"):
        ours["case_insensitive"] = True
    ours |= _besides(given, name, findings)
    if kind != name:
        ours["type"] = f"not_{ours['type']}"
    return ours if _fits(ours, given, kind, findings) else None


def _value(given: Part, name: str) -> tuple[Any, str | None]:
    """What is compared, and why there is nothing that can be."""
    if name in _LIMITS:
        limit = given.at("threshold").data
        return (limit / _LIMITS[name], None) if is_number(limit) else (None, "it has no threshold")
    value = given.at("value").data
    if name == "python":
        return _function(value)
    if isinstance(value, str) and value.startswith(FILE):
        return None, f"its value is in {value}"
    if _KEYS[name] == "values" and isinstance(value, str):
        value = [each.strip() for each in value.split(",")]
    if name == "g-eval" and isinstance(value, list):
        value = "\n".join(map(str, value))
    if _KEYS[name] in ("value", "pattern", "criteria") and value is not None:
        return (None, "its value is no text") if isinstance(value, (dict, list)) else (str(value), None)
    return value, None


def _function(value: Any) -> tuple[Any, str | None]:
    if not isinstance(value, str) or not value.startswith(FILE):
        return None, "write its code as a function in a file beside the suite, function: checks.py:name"
    path, _, function = value.removeprefix(FILE).partition(":")
    return f"{path}:{function or 'get_assert'}", None


def _with_variables(given: Part, value: Any, variables: Collection[str], findings: Findings) -> Any:
    return map_texts(value, lambda text: findings.text(given.at("value"), text, variables))


def _besides(given: Part, name: str, findings: Findings) -> dict[str, Any]:
    """What an assertion has besides its value; the keys that have no counterpart are among the findings."""
    same = ["weight", "metric", *(["threshold"] if name in ("similar", "python") or _KEYS[name] == "criteria" else [])]
    ours = {key: given.data[key] for key in same if key in given.names}
    known = {"type", "value", *ours, *(["threshold"] if name in _LIMITS else [])}
    if name == "similar":
        ours.setdefault("threshold", SIMILAR)
    if _KEYS[name] == "criteria" and (model := judge_of(given.at("provider").data)) is not None:
        known.add("provider")
        ours["model"] = model
    if name == "python":
        findings.lost(
            given, "python: in place of a context the function has parameters result, variables and case here"
        )
    findings.lost_keys(given, known, f" of {given.at('type').data}")
    return ours


def _fits(ours: dict[str, Any], given: Part, kind: str, findings: Findings) -> bool:
    """Whether a suite can have it; what it says of it otherwise is among the findings."""
    try:
        _OURS.validate_python(ours)
    except pydantic.ValidationError as error:
        problem = placed(next(problems_of(error, _OURS.json_schema())))
        findings.lost(given, f"the assertion {kind} is not taken over: {problem}")
        return False
    return True
