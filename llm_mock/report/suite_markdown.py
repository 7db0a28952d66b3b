"""The results of suites as Markdown, such as for a comment on a pull request."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import Any

from llm_mock.report.suite_baseline import is_worse
from llm_mock.report.suite_changes import changes, headline
from llm_mock.report.suite_document import (
    explanation,
    full_name,
    is_good,
    repeats_text,
    replayed_text,
    suite_scores,
    tokens,
)
from llm_mock.report.suite_grid import Grid, decimal_of, grids
from llm_mock.suites.scores import score_of
from llm_mock.support.text import count, dollars, escaped, short_seconds

SIGNS = {"passed": "✅ PASS", "failed": "❌ FAIL", "skipped": "⏭️ SKIP", "not run": "⏭️ not run"}
LONGEST = 4_000
"""Characters of a block: a comment may not have very many."""


def as_markdown(document: dict[str, Any]) -> bytes:
    """The document of `llm_mock.report.suite_document`: a table for each suite, and its failures, folded.

    Names, prompts and answers are shown as they are: nothing in them is taken for Markdown, HTML or commands of a
    terminal.
    """
    parts = (_grid(part) if isinstance(part, Grid) else _suite(part) for part in grids(document["suites"]))
    text = "\n".join(line for part in [*parts, _changes(document)] for line in part)
    return f"{text}\n".encode(errors="backslashreplace")


def _suite(suite: dict[str, Any]) -> Iterator[str]:
    yield f"{_heading([suite])}\n"
    yield f"{_about(suite)}\n"
    repeated = any(case["repeats"] for case in suite["cases"])
    if suite["cases"]:
        more = (" Pass rate |", " --- |") if repeated else ("", "")
        more = (f"{more[0]} Score |", f"{more[1]} ---: |") if suite["scored"] else more
        yield f"| Case | Status | Duration |{more[0]}\n| --- | --- | ---: |{more[1]}"
    for case in suite["cases"]:
        took = short_seconds(case["duration_s"]) if case["attempts"] else ""
        rate = f" {html.escape(repeats_text(case) or '')} |" if repeated else ""
        score = f" {score_of(case['score'])} |" if suite["scored"] else ""
        yield f"| {_inert(case['name'])} | {SIGNS[case['status']]} | {took} |{rate}{score}"
    yield ""
    yield from _failures(suite)


def _grid(grid: Grid) -> Iterator[str]:
    yield f"{_heading(grid.suites)}\n"
    for name, suite in zip(grid.variants, grid.suites, strict=True):
        yield f"- {_inert(name)}: {_about(suite)}"
    yield f"\n| Case | {' | '.join(map(_inert, grid.variants))} |\n| --- |{' --- |' * len(grid.suites)}"
    for name, cases in grid.rows():
        signs = (SIGNS[case["status"]] if case else "" for case in cases)
        yield f"| {_inert(name)} | {' | '.join(signs)} |"
    for label, texts in grid.sums():
        yield f"| **{label}** | {' | '.join(map(html.escape, texts))} |"
    yield ""
    for suite in grid.suites:
        yield from _failures(suite)


def _changes(document: dict[str, Any]) -> Iterator[str]:
    """What changed against the baseline, if there is one."""
    if "baseline" not in document:
        return
    verdict = "❌ Some cases are" if is_worse(document) else "✅ Nothing is"
    yield f"### {verdict} worse than in {_inert(document['baseline'])}\n"
    for suite in document["suites"]:
        yield f"- {_inert(headline(suite))}"
        yield from (f"  - {each.kind}: {_inert(each.name)} {each.remark}".rstrip() for each in changes(suite))
    yield ""


def _heading(suites: Sequence[dict[str, Any]]) -> str:
    counts = {name: sum(suite[name] for suite in suites) for name in ("total", "passed", "failed", "skipped")}
    checked = counts["passed"] + counts["failed"]
    passed = checked + counts["skipped"] == counts["total"] and all(map(is_good, suites))
    return f"### {'✅' if passed else '❌'} {_inert(suites[0]['suite'])}: {counts['passed']}/{checked} passed"


def _failures(suite: dict[str, Any]) -> Iterator[str]:
    for case in suite["cases"]:
        if case["status"] == "failed":
            text = explanation(suite, case)
            cut = f"{text[:LONGEST]}…" if len(text) > LONGEST else text
            yield f"<details><summary>{_inert(full_name(suite, case))}</summary>\n"
            shown = "\n".join(escaped(line.expandtabs(4)) for line in cut.splitlines())
            yield f"<pre>\n{html.escape(shown)}\n</pre>\n\n</details>\n"


def _about(suite: dict[str, Any]) -> str:
    used = "dry run"
    if not suite["dry_run"]:
        used = f"{count(sum(map(tokens, suite['cases'])), 'token')}, cost {dollars(decimal_of(suite['cost_usd']))}"
    scores = f", {_inert(suite_scores(suite))}" if suite["scored"] else ""
    stopped = f". {replayed_text(suite['cases'])}" if suite["cassette"] else ""
    stopped += f". {_inert('Stopped: ' + suite['stopped'])}" if suite["stopped"] else ""
    if suite["target"] is not None:
        return f"Target {_inert(suite['target'])}, {'dry run' if suite['dry_run'] else 'live'}{scores}{stopped}"
    return f"Role {_inert(suite['role'])}, model {_inert(suite['model'])}, {used}{scores}{stopped}"


def _inert(text: str) -> str:
    """A text on one line, of which nothing is Markdown: what could be is written as the number of its character."""
    shown = re.sub(r"[^\w\s-]|_", lambda match: f"&#{ord(match[0])};", escaped(" ".join(text.split())))
    return f"<code>{shown}</code>"
