"""Terminal output of `llm-mock test --baseline`: the changes against an earlier result."""

from __future__ import annotations

from llm_mock.commands.table import VERDICT_STYLES
from llm_mock.commands.terminal import Terminal, Text
from llm_mock.report.suite_baseline import is_checked, is_worse
from llm_mock.report.suite_changes import format_changes, summarize_changes
from llm_mock.support.json_types import JSONObject

KIND_STYLES = {
    "broke": "red",
    "fell": "red",
    "lower": "yellow",
    "unchecked": "red",
    "mended": "green",
    "new": "yellow",
    "gone": "dim",
}


def show_changes(terminal: Terminal, document: JSONObject) -> None:
    """Show the changes in each suite of a compared document, and whether anything is worse."""
    file = terminal.line(document["baseline"])
    terminal.print(f"\nAgainst {file}:", "bold")
    for suite in document["suites"]:
        summary = summarize_changes(suite)
        terminal.print(terminal.line(summary))
        for kind, line in format_changes(suite):
            text = terminal.line(line)
            terminal.print(f"  {text}", KIND_STYLES[kind])
    # New and mended cases are no reason to fail.
    succeeded: bool | None = not is_worse(document)
    if not succeeded:
        text = f"Some cases are worse than in {file}"
    elif is_checked(document):
        text = f"Nothing is worse than in {file}"
    else:
        succeeded = None
        text = f"Nothing was checked, so nothing is compared with {file}"
    sign = terminal.signs[succeeded]
    style = VERDICT_STYLES[succeeded]
    verdict = f"{sign} {text}"
    terminal.print(Text(verdict, style))
