"""The results of suites as Markdown, such as for a comment on a pull request."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from llm_mock.report.suite_document import explanation, repeats_text, tokens
from llm_mock.support.text import count, dollars, escaped, short_seconds

SIGNS = {"passed": "✅ PASS", "failed": "❌ FAIL", "skipped": "⏭️ SKIP", "not run": "⏭️ not run"}
LONGEST = 4_000
"""Characters of a block: a comment may not have very many."""


def as_markdown(document: dict[str, Any]) -> bytes:
    """The document of `llm_mock.report.suite_document`: a table for each suite, and its failures, folded.

    Names, prompts and answers are shown as they are: nothing in them is taken for Markdown, HTML or commands of a
    terminal.
    """
    text = "\n".join(line for suite in document["suites"] for line in _suite(suite))
    return f"{text}\n".encode(errors="backslashreplace")


def _suite(suite: dict[str, Any]) -> Iterator[str]:
    checked = suite["passed"] + suite["failed"]
    passed = checked + suite["skipped"] == suite["total"] and not suite["failed"]
    yield f"### {'✅' if passed else '❌'} {_inert(suite['suite'])}: {suite['passed']}/{checked} passed\n"
    yield f"{_about(suite)}\n"
    repeated = any(case["repeats"] for case in suite["cases"])
    if suite["cases"]:
        more = (" Pass rate |", " --- |") if repeated else ("", "")
        yield f"| Case | Status | Duration |{more[0]}\n| --- | --- | ---: |{more[1]}"
    for case in suite["cases"]:
        took = short_seconds(case["duration_s"]) if case["attempts"] else ""
        rate = f" {html.escape(repeats_text(case) or '')} |" if repeated else ""
        yield f"| {_inert(case['name'])} | {SIGNS[case['status']]} | {took} |{rate}"
    yield ""
    for case in suite["cases"]:
        if case["status"] == "failed":
            text = explanation(suite, case)
            cut = f"{text[:LONGEST]}…" if len(text) > LONGEST else text
            yield f"<details><summary>{_inert(case['name'])}</summary>\n"
            shown = "\n".join(escaped(line.expandtabs(4)) for line in cut.splitlines())
            yield f"<pre>\n{html.escape(shown)}\n</pre>\n\n</details>\n"


def _about(suite: dict[str, Any]) -> str:
    used = "dry run"
    if not suite["dry_run"]:
        cost = None if suite["cost_usd"] is None else Decimal(str(suite["cost_usd"]))
        used = f"{count(sum(map(tokens, suite['cases'])), 'token')}, cost {dollars(cost)}"
    stopped = f". {_inert('Stopped: ' + suite['stopped'])}" if suite["stopped"] else ""
    if suite["target"] is not None:
        return f"Target {_inert(suite['target'])}, {'dry run' if suite['dry_run'] else 'live'}{stopped}"
    return f"Role {_inert(suite['role'])}, model {_inert(suite['model'])}, {used}{stopped}"


def _inert(text: str) -> str:
    """A text on one line, of which nothing is Markdown: what could be is written as the number of its character."""
    shown = re.sub(r"[^\w\s-]|_", lambda match: f"&#{ord(match[0])};", escaped(" ".join(text.split())))
    return f"<code>{shown}</code>"
