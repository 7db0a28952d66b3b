"""What `llm-mock test --baseline` shows: what changed against an earlier result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from llm_mock.commands.table import STYLES
from llm_mock.commands.terminal import Terminal, Text
from llm_mock.report.suite_baseline import is_worse
from llm_mock.report.suite_changes import KINDS, Change, list_changes, summarize_changes

SHOWN = 50
"""How many cases of a kind are named."""
STYLES_OF_KINDS = {"broke": "red", "mended": "green", "new": "yellow", "gone": "dim"}


def show_changes(terminal: Terminal, document: dict[str, Any]) -> None:
    """Show what changed in the suites of a document that was compared, and whether anything is worse."""
    file = terminal.line(document["baseline"])
    terminal.print(f"\nAgainst {file}:", "bold")
    for suite in document["suites"]:
        terminal.print(terminal.line(summarize_changes(suite)))
        for kind, line in _lines(list(list_changes(suite))):
            terminal.print(f"  {terminal.line(line)}", STYLES_OF_KINDS[kind])
    fine = not is_worse(document)
    verdict = f"{'Nothing is' if fine else 'Some cases are'} worse than in {file}"
    terminal.print(Text(f"{terminal.signs[fine]} {verdict}", STYLES[fine]))


def _lines(found: Sequence[Change]) -> Iterator[tuple[str, str]]:
    for kind in KINDS:
        of_kind = [change for change in found if change.kind == kind]
        for change in of_kind[:SHOWN]:
            yield kind, f"{kind}: {change.name}{f' ({change.remark})' if change.remark else ''}"
        if len(of_kind) > SHOWN:
            yield kind, f"{kind}: {len(of_kind) - SHOWN} more"
