"""Translate the assertions of later InitRunner versions.

They are accepted in a suite with `apiVersion: initrunner/v1` and recognized by their keys.
Assertions that have the keys of our form stay unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llm_mock.support.json_types import JSONObject
from llm_mock.support.numbers import is_number

API_VERSION = "initrunner/v1"
# In InitRunner, `subset` means that the expected tools are a subset of the called ones, and
# `superset` the opposite.
_MODES = {"exact": "unordered", "subset": "superset", "superset": "subset"}


def translate_suite(suite: Mapping[str, object]) -> JSONObject:
    """Return the content of a suite with assertions in our form.

    Invalid parts stay unchanged: the validation reports them.
    """
    cases = suite.get("cases")
    if not isinstance(cases, list):
        return dict(suite)
    return {**suite, "cases": [_translate_case(case) for case in cases]}


def _translate_case(case: object) -> Any:
    if not isinstance(case, Mapping):
        return case
    assertions = case.get("assertions")
    if not isinstance(assertions, list):
        return case
    return {**case, "assertions": [_translate_assertion(each) for each in assertions]}


def _translate_assertion(assertion: object) -> Any:
    if not isinstance(assertion, Mapping):
        return assertion
    kind = assertion.get("type")
    # A type that is not text, such as a list, may not be hashable.
    if not isinstance(kind, str) or kind not in _TRANSLATIONS:
        return assertion
    key, translate = _TRANSLATIONS[kind]
    if key not in assertion:
        return assertion
    return translate(dict(assertion))


def _translate_max_tokens(fields: JSONObject) -> JSONObject:
    limit = fields.pop("limit")
    return {**fields, "value": limit}


def _translate_max_latency(fields: JSONObject) -> JSONObject:
    limit = fields.pop("limit_ms")
    if is_number(limit):
        limit = limit / 1000
    return {**fields, "value": limit}


def _translate_tool_calls(fields: JSONObject) -> JSONObject:
    mode = fields.pop("mode", "subset")
    if isinstance(mode, str):
        mode = _MODES.get(mode, mode)
    names = fields.pop("expected")
    # InitRunner compares sets of names, and has tools that are not known here.
    flags = {"allow_repeats": True, "allow_unknown": True}
    return {**fields, "calls": names, "mode": mode, **flags}


def _translate_tool_order(fields: JSONObject) -> JSONObject:
    is_strict = fields.pop("strict", False)
    mode = "strict" if is_strict else "in_order"
    names = fields.pop("sequence")
    return {**fields, "type": "tool_calls", "calls": names, "mode": mode, "allow_unknown": True}


def _translate_llm_judge(fields: JSONObject) -> JSONObject:
    fields["type"] = "judge"
    criteria = fields["criteria"]
    if isinstance(criteria, list) and all(isinstance(each, str) for each in criteria):
        fields["criteria"] = "\n".join(criteria)
    model = fields.get("model")
    if isinstance(model, str):
        # InitRunner writes provider:model, llm provider/model; models of OpenAI have no prefix.
        provider, _, name = model.rpartition(":")
        if provider in ("", "openai"):
            fields["model"] = name
        else:
            fields["model"] = f"{provider}/{name}"
    return fields


_TRANSLATIONS: dict[str, tuple[str, Callable[[JSONObject], JSONObject]]] = {
    "max_tokens": ("limit", _translate_max_tokens),
    "max_latency": ("limit_ms", _translate_max_latency),
    "tool_calls": ("expected", _translate_tool_calls),
    "tool_order": ("sequence", _translate_tool_order),
    "llm_judge": ("criteria", _translate_llm_judge),
}
"""The translations by type: the key that only InitRunner's form has, and the function."""
