"""Render the results of suites as Markdown, for example for a comment on a pull request."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence

from llm_mock.report.suite_baseline import is_checked, is_worse
from llm_mock.report.suite_changes import list_changes, summarize_changes
from llm_mock.report.suite_document import (
    explain_case,
    format_full_name,
    format_replayed,
    format_suite_scores,
    is_good,
    repeats_text,
)
from llm_mock.report.suite_grid import Grid, group_variants, to_decimal
from llm_mock.suites.scores import format_score_cell
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import (
    escape_unprintable,
    format_count,
    format_dollars,
    format_short_seconds,
)

SIGNS = {
    "passed": "✅ PASS",
    "failed": "❌ FAIL",
    "not checked": "⚪ not checked",
    "not run": "⏭️ not run",
}
# Comments are limited in length (65,536 characters on GitHub).
MAX_BLOCK = 4_000


def render_markdown(document: JSONObject) -> bytes:
    """Render a document of suites, with a table and the folded failures of each suite.

    Names, prompts and outputs are shown as they are: nothing in them is read as Markdown, HTML or
    terminal commands.
    """
    lines: list[str] = []
    for message in document.get("errors", ()):
        lines.append(f"### ❌ Error\n\n<pre>\n{html.escape(message)}\n</pre>\n")
    for part in group_variants(document["suites"]):
        lines += _render_grid(part) if isinstance(part, Grid) else _render_suite(part)
    lines += _render_changes(document)
    text = "\n".join(lines)
    return f"{text}\n".encode(errors="backslashreplace")


def _render_suite(suite: JSONObject) -> Iterator[str]:
    yield f"{_render_heading([suite])}\n"
    yield f"{_render_summary(suite)}\n"
    has_repeats = any(case["repeats"] for case in suite["cases"])
    if suite["cases"]:
        header = "| Case | Status | Duration |"
        rule = "| --- | --- | ---: |"
        if has_repeats:
            header += " Pass rate |"
            rule += " --- |"
        if suite["scored"]:
            header += " Score |"
            rule += " ---: |"
        yield f"{header}\n{rule}"
    for case in suite["cases"]:
        if case["attempts"]:
            duration = format_short_seconds(case["duration_s"])
        else:
            duration = ""
        row = f"| {_neutralize(case['name'])} | {SIGNS[case['status']]} | {duration} |"
        if has_repeats:
            row += f" {html.escape(repeats_text(case) or '')} |"
        if suite["scored"]:
            row += f" {format_score_cell(case['score'])} |"
        yield row
    yield ""
    yield from _render_failures(suite)


def _render_grid(grid: Grid) -> Iterator[str]:
    yield f"{_render_heading(grid.suites)}\n"
    for name, suite in zip(grid.variants, grid.suites, strict=True):
        yield f"- {_neutralize(name)}: {_render_summary(suite)}"
    yield "\n" + _render_row("Case", map(_neutralize, grid.variants))
    columns = len(grid.suites)
    yield "| --- |" + " --- |" * columns
    for name, cases in grid.rows():
        signs = [SIGNS[case["status"]] if case else "" for case in cases]
        yield _render_row(_neutralize(name), signs)
    for label, texts in grid.sums():
        yield _render_row(f"**{label}**", map(html.escape, texts))
    yield ""
    for suite in grid.suites:
        yield from _render_failures(suite)


def _render_row(label: str, cells: Iterable[str]) -> str:
    return f"| {' | '.join([label, *cells])} |"


def _render_changes(document: JSONObject) -> Iterator[str]:
    """Yield the changes against the baseline, if there is one."""
    if "baseline" not in document:
        return
    if document["suites"] and not is_checked(document) and not is_worse(document):
        yield f"### ⚪ Nothing was compared with {_neutralize(document['baseline'])}\n"
        return
    if not document["suites"]:
        yield f"### ❌ No suite was compared with {_neutralize(document['baseline'])}\n"
        return
    verdict = "❌ Some cases are" if is_worse(document) else "✅ Nothing is"
    yield f"### {verdict} worse than in {_neutralize(document['baseline'])}\n"
    for suite in document["suites"]:
        yield f"- {_neutralize(summarize_changes(suite))}"
        for change in list_changes(suite):
            line = f"  - {change.kind}: {_neutralize(change.name)} {change.remark}"
            yield line.rstrip()
    yield ""


def _render_heading(suites: Sequence[JSONObject]) -> str:
    passed = 0
    checked = 0
    not_run = 0
    not_checked = 0
    for suite in suites:
        passed += suite["passed"]
        checked += suite["passed"] + suite["failed"]
        not_checked += suite["not_checked"]
        finished = suite["passed"] + suite["failed"] + suite["not_checked"]
        # A suite that was stopped has more cases.
        not_run += suite["total"] - finished
    is_whole = not not_run and checked > 0
    sign = "❌"
    if is_whole and all(map(is_good, suites)):
        sign = "⚪" if not_checked else "✅"
    name = _neutralize(suites[0]["suite"])
    text = f"### {sign} {name}: {passed}/{checked} passed"
    return f"{text}, {not_checked} not checked" if not_checked else text


def _render_failures(suite: JSONObject) -> Iterator[str]:
    for case in suite["cases"]:
        if case["status"] != "failed":
            continue
        text = explain_case(suite, case)
        if len(text) > MAX_BLOCK:
            text = f"{text[:MAX_BLOCK]}…"
        # `escape_unprintable` would escape a tab.
        lines = [escape_unprintable(line.expandtabs(4)) for line in text.splitlines()]
        block = html.escape("\n".join(lines))
        yield f"<details><summary>{_neutralize(format_full_name(suite, case))}</summary>\n"
        yield f"<pre>\n{block}\n</pre>\n\n</details>\n"


def _render_summary(suite: JSONObject) -> str:
    mode = "dry run" if suite["dry_run"] else "live"
    if suite["target"] is not None:
        text = f"Target {_neutralize(suite['target'])}, {mode}"
    else:
        text = f"Role {_neutralize(suite['role'])}, model {_neutralize(suite['model'])}, "
        text += mode if suite["dry_run"] else _describe_usage(suite)
    if suite["scored"]:
        text += f", {_neutralize(format_suite_scores(suite))}"
    if suite["cassette"]:
        text += f". {format_replayed(suite['cases'])}"
    if suite["stopped"]:
        text += f". {_neutralize('Stopped: ' + suite['stopped'])}"
    return text


def _describe_usage(suite: JSONObject) -> str:
    total = sum(case["tokens"] for case in suite["cases"])
    cost = format_dollars(to_decimal(suite["cost_usd"]))
    return f"{format_count(total, 'token')}, cost {cost}"


def _neutralize(text: str) -> str:
    """Return a text on one line in which special characters are written as numeric entities."""
    one_line = escape_unprintable(" ".join(text.split()))
    return f"<code>{_SPECIAL.sub(_write_as_entity, one_line)}</code>"


# Everything that may be Markdown or HTML; an underscore is a word character.
_SPECIAL = re.compile(r"[^\w\s-]|_")


def _write_as_entity(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};"
