"""The results of suites as JUnit XML, as CI servers read it."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree

from llm_mock.report.suite_document import (
    cost_of_case,
    explanation,
    full_name,
    remark,
    repeats_text,
    suite_name,
    tokens,
)

_NOT_XML = re.compile("[^\t\n\r\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(document: dict[str, Any]) -> bytes:
    """The document of `llm_mock.report.suite_document`: a `testsuite` for each suite, a `testcase` for each case.

    A case that was not run counts as skipped. Tokens and cost (US dollars) are properties of a case. Characters that
    XML does not have are replaced.
    """
    root = ElementTree.Element("testsuites", name="llm-mock")
    for suite in document["suites"]:
        _add_suite(root, suite)
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _add_suite(root: ElementTree.Element, suite: dict[str, Any]) -> None:
    skipped = suite["total"] - suite["passed"] - suite["failed"]
    counts = {"tests": suite["total"], "failures": suite["failed"], "errors": 0, "skipped": skipped}
    element = _add(root, "testsuite", name=suite_name(suite), **counts, time=f"{suite['duration_s']:.3f}")
    who = {"role": suite["role"], "model": suite["model"]} if suite["target"] is None else {"target": suite["target"]}
    variant = {f"variant.{axis}": name for axis, name in (suite["variant"] or {}).items()}
    _add_properties(element, {**who, "dry_run": str(suite["dry_run"]).lower(), **variant, **_scores(suite)})
    for case in suite["cases"]:
        _add_case(element, suite, case)


def _add_case(parent: ElementTree.Element, suite: dict[str, Any], case: dict[str, Any]) -> None:
    place = {name: case[name] for name in ("file", "line") if case[name] is not None}
    about = {"classname": suite["suite"], "name": full_name(suite, case), "time": f"{case['duration_s']:.3f}"}
    element = _add(parent, "testcase", **about, **place)
    if case["attempts"]:
        repeats = {} if case["repeats"] is None else {"pass_rate": repeats_text(case)}
        score = {"score": case["score"]} if suite["scored"] and case["score"] is not None else {}
        change = {"baseline": case["baseline"]["change"]} if "baseline" in case else {}
        _add_properties(element, {"tokens": tokens(case), **_cost(case), **repeats, **score, **change})
    text = remark(suite, case)
    if text is not None:
        kind = "failure" if case["status"] == "failed" else "skipped"
        _add(element, kind, message=text).text = _clean(explanation(suite, case))


def _scores(suite: dict[str, Any]) -> dict[str, Any]:
    """The score of a suite and what it must reach, and its metrics, where they say more than which cases passed."""
    metrics = {f"metric: {name}": score for name, score in suite["metrics"].items()}
    found = {**{name: suite[name] for name in ("score", "min_score")}, **metrics}
    return {name: score for name, score in found.items() if suite["scored"] and score is not None}


def _cost(case: dict[str, Any]) -> dict[str, str]:
    """What all attempts of a case cost, where every price is known."""
    cost = cost_of_case(case)
    return {} if cost is None else {"cost_usd": f"{Decimal(str(cost)):f}"}


def _add_properties(parent: ElementTree.Element, values: dict[str, Any]) -> None:
    properties = _add(parent, "properties")
    for name, value in values.items():
        _add(properties, "property", name=name, value=value)


def _add(parent: ElementTree.Element, tag: str, **attributes: Any) -> ElementTree.Element:
    cleaned = {name: _clean(str(value)) for name, value in attributes.items()}
    return ElementTree.SubElement(parent, tag, cleaned)


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
