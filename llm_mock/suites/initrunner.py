"""The forms that assertions have in files of InitRunner's later versions, as ours.

They are read so in a suite of `apiVersion: initrunner/v1`, and told apart by their keys; what has the keys of our form
is ours there, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llm_mock.support.numbers import is_number

API_VERSION = "initrunner/v1"
_MODES = {"exact": "exactly", "subset": "at_least", "superset": "no_others"}
"""Their `subset` says that the expected tools are some of those that were called, `superset` the opposite."""


def translated(suite: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a suite with assertions in our form; what is wrong with it stays, for validation."""
    cases = suite.get("cases")
    return {**suite, "cases": [_case(case) for case in cases]} if isinstance(cases, list) else dict(suite)


def _case(case: Any) -> Any:
    if not isinstance(case, Mapping) or not isinstance(case.get("assertions"), list):
        return case
    return {**case, "assertions": [_assertion(assertion) for assertion in case["assertions"]]}


def _assertion(given: Any) -> Any:
    kind = given.get("type") if isinstance(given, Mapping) else None
    key, change = _FORMS.get(kind, ("", None)) if isinstance(kind, str) else ("", None)
    return change(dict(given)) if change is not None and key in given else given


def _max_tokens(given: dict[str, Any]) -> dict[str, Any]:
    limit = given.pop("limit")
    return {**given, "value": limit}


def _max_latency(given: dict[str, Any]) -> dict[str, Any]:
    limit = given.pop("limit_ms")
    return {**given, "value": limit / 1000 if is_number(limit) else limit}


def _tool_calls(given: dict[str, Any]) -> dict[str, Any]:
    mode = given.pop("mode", "subset")
    names = {"names": given.pop("expected"), "mode": _MODES.get(mode, mode) if isinstance(mode, str) else mode}
    return {**given, "type": "tool_names", **names}


def _tool_order(given: dict[str, Any]) -> dict[str, Any]:
    mode, names = "strict" if given.pop("strict", False) else "in_order", given.pop("sequence")
    return {**given, "type": "tool_names", "names": names, "mode": mode}


def _llm_judge(given: dict[str, Any]) -> dict[str, Any]:
    criteria, model = given["criteria"], given.get("model")
    if isinstance(criteria, list) and all(isinstance(each, str) for each in criteria):
        given["criteria"] = "\n".join(criteria)
    if isinstance(model, str):
        provider, _, name = model.rpartition(":")
        given["model"] = name if provider in ("", "openai") else f"{provider}/{name}"
    return given


_FORMS: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "max_tokens": ("limit", _max_tokens),
    "max_latency": ("limit_ms", _max_latency),
    "tool_calls": ("expected", _tool_calls),
    "tool_order": ("sequence", _tool_order),
    "llm_judge": ("criteria", _llm_judge),
}
"""Of each type the key that only their form has, and what makes ours of it."""
