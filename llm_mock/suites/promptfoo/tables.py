"""Conversion of the rows of promptfoo's CSV files, whose columns hold assertions, into tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from llm_mock.suites.promptfoo.source import FILE, ImportFindings, Part
from llm_mock.support.json_types import JSONObject

# As promptfoo's documentation of test cases describes these columns.
_EXPECTED = re.compile(r"__expected\d*")
_METADATA = "__metadata:"
_TEST_COLUMNS = {
    "__description": "description",
    "__providerOutput": "providerOutput",
    "__threshold": "threshold",
}
"""The columns that are keys of a test."""
_OPTION_COLUMNS = {"__prefix": "prefix", "__suffix": "suffix"}
_CONFIG = re.compile(r"__config:__expected(\d*):threshold")
_SHORTHAND = re.compile(
    r"((?:not-)?)([a-z][a-z0-9-]*)(?:\((\d+(?:\.\d+)?)\))?(?::\s*(.*))?", re.DOTALL
)
"""An assertion in a cell: `TYPE`, `TYPE: VALUE` or `TYPE(THRESHOLD): VALUE`."""
_ALIASES = {"fn": "javascript", "eval": "javascript", "grade": "llm-rubric"}
_THRESHOLDS = {"similar": 0.8, "levenshtein": 0.75, "rouge-n": 0.75}
"""The default thresholds of cells, where they differ from those of assertions in YAML."""
_WITHOUT_VALUE = {
    "is-json",
    "contains-json",
    "is-sql",
    "contains-sql",
    "is-xml",
    "contains-xml",
    "is-html",
    "contains-html",
    "is-refusal",
    "is-valid-openai-tools-call",
    "is-valid-openai-function-call",
    "is-valid-function-call",
    "latency",
    "cost",
    "moderation",
    "guardrails",
    "perplexity",
    "perplexity-score",
}
"""The types of promptfoo that may stand alone in a cell."""
_WITH_VALUE = {
    "equals",
    "contains",
    "icontains",
    "starts-with",
    "regex",
    "contains-any",
    "contains-all",
    "icontains-any",
    "icontains-all",
    "similar",
    "llm-rubric",
    "model-graded-closedqa",
    "model-graded-factuality",
    "g-eval",
    "factuality",
    "answer-relevance",
    "context-recall",
    "context-relevance",
    "context-faithfulness",
    "classifier",
    "select-best",
    "javascript",
    "python",
    "ruby",
    "webhook",
    "levenshtein",
    "rouge-n",
    "bleu",
    "gleu",
    "meteor",
    "word-count",
    "finish-reason",
    "pi",
}
"""The types of promptfoo that need a value in a cell."""


def has_test_columns(row: Mapping[str, object]) -> bool:
    """Return whether a table has columns that are no variables."""
    return any(name.startswith("__") for name in row)


def convert_row(row: JSONObject, part: Part, findings: ImportFindings) -> JSONObject:
    """Return the test that a row describes, and report columns without a counterpart.

    Args:
        row: the cells by the names of their columns.
        part: the place of the table's name, for the report.
        findings: the report.
    """
    test: JSONObject = {"vars": {}}
    metadata: JSONObject = {}
    for name, cell in row.items():
        if not name.startswith("__"):
            test["vars"][name] = cell
        elif name.startswith(_METADATA):
            key = name.removeprefix(_METADATA)
            metadata[key.removesuffix("[]")] = _split(cell) if key.endswith("[]") else cell
        elif name in _OPTION_COLUMNS:
            test.setdefault("options", {})[_OPTION_COLUMNS[name]] = cell
        elif name not in _TEST_COLUMNS and not _is_about_assertions(name):
            findings.report(part, f"the column {name} has no counterpart")
    test |= _read_test_columns(row)
    assertions = _read_assertions(row)
    if assertions:
        test["assert"] = assertions
    if metadata:
        test["metadata"] = metadata
    return test


def _is_about_assertions(name: str) -> bool:
    patterns = (_EXPECTED, _CONFIG)
    return name == "__metric" or any(pattern.fullmatch(name) for pattern in patterns)


def _read_test_columns(row: JSONObject) -> JSONObject:
    values: JSONObject = {}
    for name, key in _TEST_COLUMNS.items():
        cell = row.get(name, "")
        if cell.strip():
            values[key] = _to_number(cell) if key == "threshold" else cell
    return values


def _read_assertions(row: JSONObject) -> list[JSONObject]:
    metric = row.get("__metric", "").strip()
    assertions = []
    for name, cell in row.items():
        if _EXPECTED.fullmatch(name) and cell.strip():
            assertion = parse_expected(cell.strip())
            assertions.append({**assertion, "metric": metric} if metric else assertion)
    for position, threshold in _read_thresholds(row):
        if position < len(assertions):
            assertions[position]["threshold"] = threshold
    return assertions


def _read_thresholds(row: JSONObject) -> Iterator[tuple[int, float | str]]:
    """Yield the position of an assertion among those of a row, and its threshold."""
    for name, cell in row.items():
        match = _CONFIG.fullmatch(name)
        if not match or not cell.strip():
            continue
        # The first assertion is that of __expected or of __expected1.
        number = int(match[1] or 1)
        threshold = _to_number(cell)
        yield max(number - 1, 0), threshold


def parse_expected(text: str) -> JSONObject:
    """Return the assertion in a cell, such as `contains: Bonn` or `similar(0.8): In Bonn`.

    A text that names no type must be equal to the output.
    """
    if text.startswith(FILE):
        path = text.removeprefix(FILE).partition(":")[0]
        return {"type": "python" if path.endswith(".py") else "javascript", "value": text}
    match = _SHORTHAND.fullmatch(text)
    if match is None:
        return {"type": "equals", "value": text}
    negation, name, threshold, value = match.groups()
    is_known = name in _WITHOUT_VALUE or (value is not None and _is_type(name))
    if not is_known:
        return {"type": "equals", "value": text}
    assertion: JSONObject = {"type": f"{negation}{_ALIASES.get(name, name)}"}
    limit = threshold or _THRESHOLDS.get(name)
    if limit is not None:
        assertion["threshold"] = float(limit)
    if value:
        assertion["value"] = _parse_value(name, value.strip())
    return assertion


def _is_type(name: str) -> bool:
    return name in _WITH_VALUE or name in _ALIASES


def _parse_value(name: str, value: str) -> object:
    if name not in ("is-json", "contains-json"):
        return value
    try:
        return json.loads(value)
    except ValueError:
        # Reported when the assertion is converted.
        return value


def _split(cell: str) -> list[str]:
    return [text.strip() for text in cell.split(",") if text.strip()]


def _to_number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell
