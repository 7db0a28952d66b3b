"""Render the results of suites as JUnit XML, which CI servers read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree

from llm_mock.report.suite_document import (
    count_checks,
    explain_case,
    format_full_name,
    get_case_cost,
    remark,
    repeats_text,
    suite_name,
)
from llm_mock.support.json_types import JSONObject

# The complement of the characters that XML 1.0 allows.
_NOT_XML = re.compile("[^\t\n\r\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(document: JSONObject) -> bytes:
    """Render a document of suites as `testsuite` elements with a `testcase` for each case.

    A case that was not run or not checked counts as skipped, with the reason. Tokens and cost (US
    dollars) are properties of a case. Characters that XML does not have are replaced.
    """
    # Only written, never parsed, so the standard library's XML is safe here.
    root = ElementTree.Element("testsuites", name="llm-mock")
    for suite in document["suites"]:
        _add_suite(root, suite)
    if "errors" in document:
        _add_errors(root, document["errors"])
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _add_errors(root: ElementTree.Element, errors: Sequence[str]) -> None:
    """Add the errors that belong to no case, such as that of a wrong file."""
    number = len(errors)
    element = _add(root, "testsuite", name="errors", tests=number, failures=0, errors=number)
    for message in errors:
        place = message.partition(": ")[0]
        case = _add(element, "testcase", name=place, classname="llm-mock")
        _add(case, "error", message=message)


def _add_suite(root: ElementTree.Element, suite: JSONObject) -> None:
    element = _add(
        root,
        "testsuite",
        name=suite_name(suite),
        tests=suite["total"],
        failures=suite["failed"],
        errors=0,
        skipped=suite["total"] - suite["passed"] - suite["failed"],
        time=f"{suite['duration_s']:.3f}",
    )
    if suite["target"] is None:
        properties = {"role": suite["role"], "model": suite["model"]}
    else:
        properties = {"target": suite["target"]}
    properties["dry_run"] = str(suite["dry_run"]).lower()
    for axis, name in (suite["variant"] or {}).items():
        properties[f"variant.{axis}"] = name
    _add_properties(element, {**properties, **_get_scores(suite)})
    for case in suite["cases"]:
        _add_case(element, suite, case)


def _add_case(
    parent: ElementTree.Element,
    suite: JSONObject,
    case: JSONObject,
) -> None:
    element = _add(
        parent,
        "testcase",
        classname=suite["suite"],
        name=format_full_name(suite, case),
        time=f"{case['duration_s']:.3f}",
        **{name: case[name] for name in ("file", "line") if case[name] is not None},
    )
    if case["attempts"]:
        _add_properties(element, _get_case_properties(suite, case))
    text = remark(suite, case)
    if text is not None:
        tag = "failure" if case["status"] == "failed" else "skipped"
        child = _add(element, tag, message=text)
        child.text = _replace_invalid(explain_case(suite, case))


def _get_case_properties(suite: JSONObject, case: JSONObject) -> JSONObject:
    properties: JSONObject = {"tokens": case["tokens"]}
    cost = get_case_cost(case)
    if cost is not None:
        # Without an exponent, which `str` of a small float has.
        properties["cost_usd"] = f"{Decimal(str(cost)):f}"
    checked, total = count_checks(case)
    if checked < total:
        properties["checked"] = f"{checked} of {total}"
    if case["repeats"] is not None:
        properties["pass_rate"] = repeats_text(case)
    if suite["scored"] and case["score"] is not None:
        properties["score"] = case["score"]
    if "baseline" in case:
        properties["baseline"] = case["baseline"]["change"]
    return properties


def _get_scores(suite: JSONObject) -> JSONObject:
    """Return score, minimum and metrics if they say more than which cases passed."""
    if not suite["scored"]:
        return {}
    scores = {"score": suite["score"], "min_score": suite["min_score"]}
    for name, score in suite["metrics"].items():
        scores[f"metric: {name}"] = score
    return {name: score for name, score in scores.items() if score is not None}


def _add_properties(parent: ElementTree.Element, values: JSONObject) -> None:
    properties = _add(parent, "properties")
    for name, value in values.items():
        _add(properties, "property", name=name, value=value)


def _add(parent: ElementTree.Element, tag: str, **attributes: Any) -> ElementTree.Element:
    texts = {name: _replace_invalid(str(value)) for name, value in attributes.items()}
    return ElementTree.SubElement(parent, tag, texts)


def _replace_invalid(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
