"""Conversion of promptfoo's assertions into those of a suite."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterator
from typing import Any

import pydantic

from llm_mock.errors import InvalidFile
from llm_mock.suites.promptfoo.providers import convert_judge
from llm_mock.suites.promptfoo.source import DATA_SUFFIXES, FILE, ImportFindings, Part
from llm_mock.suites.promptfoo.transforms import convert_transform
from llm_mock.suites.schema import Assertion
from llm_mock.support import yaml_files
from llm_mock.support.interpolation import escape_references, map_texts
from llm_mock.support.json_types import JSONObject
from llm_mock.support.numbers import is_number
from llm_mock.support.validation import list_problems
from llm_mock.support.yaml_files import locate_problem

_ASSERTION: pydantic.TypeAdapter[Assertion] = pydantic.TypeAdapter(Assertion)
_TEXT_TYPES = ("contains", "icontains", "equals", "starts-with")
_LIST_TYPES = ("contains-any", "contains-all", "icontains-any", "icontains-all")
_JSON_TYPES = ("is-json", "contains-json")
_JUDGE_TYPES = ("llm-rubric", "model-graded-closedqa", "g-eval")
_VALUE_KEYS = {
    **dict.fromkeys(_TEXT_TYPES, "value"),
    "regex": "pattern",
    **dict.fromkeys(_LIST_TYPES, "values"),
    **dict.fromkeys(_JSON_TYPES, "schema"),
    **dict.fromkeys(_JUDGE_TYPES, "criteria"),
    "similar": "value",
    "levenshtein": "value",
    "rouge-n": "value",
    "bleu": "value",
    "python": "function",
    "javascript": "code",
    "latency": "value",
    "cost": "value",
}
"""The supported types of promptfoo, each with the key of our assertion that holds its value."""
_SAME_KEYS = {
    **dict.fromkeys((*_JUDGE_TYPES, "rouge-n", "bleu", "python"), ("threshold",)),
    "javascript": ("threshold", "config"),
}
"""The keys of a type that are the same here, besides those of all types."""
# promptfoo counts milliseconds, a suite seconds.
_LIMITS = {"latency": 1000, "cost": 1}
"""The types whose value is their threshold, each with the divisor for the unit of a suite."""
_TYPES = {
    "icontains-any": "contains_any",
    "icontains-all": "contains_all",
    "is-json": "json",
    **dict.fromkeys(_JUDGE_TYPES, "judge"),
    "latency": "max_latency",
    "cost": "max_cost",
}
"""The types that are not named like ours."""
# promptfoo's own default; ours is higher.
SIMILAR_THRESHOLD = 0.75
_HINTS = {
    "assert-set": "a set with a threshold needs scores; write its assertions one by one",
}


def convert_assertions(
    part: Part,
    variables: Collection[str],
    findings: ImportFindings,
) -> Iterator[JSONObject]:
    """Yield the assertions of a list in the form of a suite.

    One without a counterpart is reported, and becomes an assertion that is skipped.

    Args:
        part: the list.
        variables: the names of the variables of the case.
        findings: the report.
    """
    for item in part.items():
        kind = None
        if isinstance(item.data, dict):
            kind = item.at("type").data
        if kind == "assert-set" and item.at("threshold").data is None:
            # Without a threshold all of a set must pass, as if there were no set.
            findings.report_keys(item, ("type", "assert"), " of assert-set")
            yield from convert_assertions(item.at("assert"), variables, findings)
            continue
        try:
            yield _convert_assertion(item, str(kind), variables, findings)
        except _UnsupportedAssertion as error:
            findings.report(item, str(error))
            yield _make_skipped(item, str(error), variables)


def _convert_assertion(
    part: Part,
    kind: str,
    variables: Collection[str],
    findings: ImportFindings,
) -> JSONObject:
    """Return an assertion in the form of a suite.

    Raises:
        _UnsupportedAssertion: a suite has no such assertion.
    """
    name = kind.removeprefix("not-")
    if name not in _VALUE_KEYS:
        if name in _HINTS:
            hint = f": {_HINTS[name]}"
        else:
            hint = ""
        raise _UnsupportedAssertion(f"the assertion {kind} has no counterpart{hint}")
    try:
        value = _convert_value(part, name)
    except _UnsupportedValue as error:
        raise _UnsupportedAssertion(f"the assertion {kind} is not imported: {error}") from None
    our_type = _TYPES.get(name, name.replace("-", "_"))
    if name == "equals" and isinstance(value, (dict, list)):
        # promptfoo compares data with the JSON of the output.
        our_type = "json"
    converted: JSONObject = {"type": our_type}
    if value is not None:
        converted |= _name_value(part, name, value, variables, findings)
    if name.startswith("icontains-"):
        converted["case_insensitive"] = True
    converted |= _convert_other_keys(part, name, variables, findings)
    if kind != name:
        converted["type"] = f"not_{our_type}"
    _validate(converted, kind)
    return converted


def _name_value(
    part: Part, name: str, value: Any, variables: Collection[str], findings: ImportFindings
) -> JSONObject:
    """Return the value under the key of our assertion, with its variables converted."""
    if name == "javascript" and value.startswith(FILE):
        return {"function": value.removeprefix(FILE)}
    return {_VALUE_KEYS[name]: _convert_variables(part, value, variables, findings)}


def _make_skipped(part: Part, reason: str, variables: Collection[str]) -> JSONObject:
    """Return the assertion that stands for one without a counterpart, so that it is not lost."""
    # Texts of a case with variables are templates.
    text = escape_references(reason) if variables else reason
    skipped: JSONObject = {"type": "skipped", "reason": text}
    metric = part.at("metric").data
    if isinstance(metric, str):
        skipped["metric"] = metric
    return skipped


class _UnsupportedAssertion(ValueError):
    """A suite has no such assertion; the message has the reason."""


class _UnsupportedValue(ValueError):
    """The value of an assertion is not supported; the message has the reason."""


def _convert_value(part: Part, name: str) -> Any:
    """Return the value to compare; None if the assertion has none."""
    if name in _LIMITS:
        return _convert_limit(part.at("threshold").data, name)
    if name == "python":
        return _convert_function(part.at("value").data)
    if name == "javascript":
        return _convert_text(part.at("value").data)
    value = _load_value(part.at("value"))
    key = _VALUE_KEYS[name]
    if key == "schema":
        return _parse_schema(part, value)
    if key == "values":
        return _split_text(value)
    if name == "equals" and isinstance(value, (dict, list)):
        return value
    if isinstance(value, list):
        return _convert_list(value, name)
    return _convert_text(value)


def _load_value(part: Part) -> Any:
    """Return a value, or the content of the file that it names."""
    value = part.data
    if not isinstance(value, str) or not value.startswith(FILE):
        return value
    path = part.document.path.parent / value.removeprefix(FILE)
    try:
        if path.suffix in DATA_SUFFIXES:
            return yaml_files.load(path).data
        if path.suffix == ".txt":
            return yaml_files.read(path).strip()
    except InvalidFile as error:
        raise _UnsupportedValue(str(error)) from None
    raise _UnsupportedValue(f"its value is in {value}")


def _parse_schema(part: Part, value: object) -> object:
    """Return a JSON Schema, which may be written as text."""
    if not isinstance(value, str):
        return value
    try:
        return yaml_files.parse(part.document.path, value).data
    except InvalidFile:
        # Reported as no mapping, when the assertion is validated.
        return value


def _convert_list(values: list[object], name: str) -> object:
    if name == "bleu":
        return values
    if name == "g-eval":
        # All of its criteria must be met, as for several lines of one text.
        return "\n".join(map(_format_value, values))
    raise _UnsupportedValue("its value must be text")


def _split_text(value: object) -> object:
    if isinstance(value, list):
        return [item if isinstance(item, (dict, list)) else _format_value(item) for item in value]
    # promptfoo accepts a text with commas in place of a list, with quotes around other commas.
    if isinstance(value, str):
        (texts,) = csv.reader([value.replace("\n", " ")], skipinitialspace=True)
        return [text.strip() for text in texts]
    return value


def _format_value(value: object) -> str:
    """Return a value as JavaScript converts it to a text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _convert_limit(limit: Any, name: str) -> float:
    if not is_number(limit):
        raise _UnsupportedValue("it has no threshold")
    return float(limit / _LIMITS[name])


def _convert_threshold(threshold: Any, name: str) -> JSONObject:
    """Return the key for a threshold with another meaning, or another default, than here."""
    if name == "similar":
        return {"threshold": SIMILAR_THRESHOLD if threshold is None else threshold}
    # promptfoo has the default of a suite.
    if threshold is None:
        return {}
    if not is_number(threshold):
        raise _UnsupportedAssertion(
            "the assertion levenshtein is not imported: its threshold must be a number"
        )
    # A number of edits is whole.
    return {"max_distance": math.floor(threshold)}


def _convert_text(value: object) -> str | None:
    if value is None:
        # Reported as a missing key, when the assertion is validated.
        return None
    if isinstance(value, dict):
        raise _UnsupportedValue("its value must be text")
    # An unquoted number or date in YAML is meant as text.
    return _format_value(value)


def _convert_function(value: object) -> str:
    if not isinstance(value, str) or not value.startswith(FILE):
        raise _UnsupportedValue(
            "write its code as a function in a file beside the suite, function: checks.py:name"
        )
    path, _, function = value.removeprefix(FILE).partition(":")
    # promptfoo calls get_assert where a file is named without a function.
    return f"{path}:{function or 'get_assert'}"


def _convert_variables(
    part: Part,
    value: object,
    variables: Collection[str],
    findings: ImportFindings,
) -> Any:
    value_part = part.at("value")

    def convert(text: str) -> str:
        return findings.convert_text(value_part, text, variables)

    return map_texts(value, convert)


def _convert_other_keys(
    part: Part, name: str, variables: Collection[str], findings: ImportFindings
) -> JSONObject:
    """Return the keys of an assertion besides its value, and report the unsupported ones."""
    is_judged = name in _JUDGE_TYPES
    same = ("weight", "metric", *_SAME_KEYS.get(name, ()))
    converted = {key: part.data[key] for key in same if key in part.names}
    known = {"type", "value", *converted}
    if name in _LIMITS:
        known.add("threshold")
    if name in ("similar", "levenshtein"):
        known.add("threshold")
        converted |= _convert_threshold(part.at("threshold").data, name)
    if is_judged:
        model = convert_judge(part.at("provider"), findings)
        if model is not None:
            known.add("provider")
            converted["model"] = model
    if name == "python":
        findings.report(
            part,
            "python: in place of a context the function has parameters "
            "result, variables and case here",
        )
    if name not in _LIMITS:
        known.add("transform")
        converted |= _convert_own_transform(part.at("transform"), variables)
    findings.report_keys(part, known, f" of {part.at('type').data}")
    return converted


def _convert_own_transform(part: Part, variables: Collection[str]) -> JSONObject:
    """Return the transform of an assertion, which without it would check another text.

    Raises:
        _UnsupportedAssertion: a suite has no such transform.
    """
    if part.data is None:
        return {}
    try:
        transform = convert_transform(part.data)
    except ValueError as error:
        raise _UnsupportedAssertion(f"the transform {part.data} is not imported: {error}") from None
    # In a case with variables the texts of assertions are templates.
    return {"transform": escape_references(transform) if variables else transform}


def _validate(converted: JSONObject, kind: str) -> None:
    """Raise an error with the first problem of an assertion that a suite does not accept."""
    try:
        _ASSERTION.validate_python(converted)
    except pydantic.ValidationError as error:
        first = next(list_problems(error, _ASSERTION.json_schema()))
        problem = locate_problem(first)
        raise _UnsupportedAssertion(f"the assertion {kind} is not imported: {problem}") from None
