"""Describe the changes that a person must make by hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llm_mock.support.text import format_path

if TYPE_CHECKING:
    import libcst as cst

SEE_GUIDE = "See MIGRATION_GUIDE.md for examples of rewritten tests."


class CannotRewrite(Exception):
    """The command does not understand a test, so the test remains unchanged.

    Args:
        reason: the problem. A final full stop, as in messages of pytest, is removed: reports add
            one.
        advice: the next step, such as the new code.
        node: the node whose line is reported; by default the statement or the test.
    """

    def __init__(
        self, reason: str, advice: str = SEE_GUIDE, node: cst.CSTNode | None = None
    ) -> None:
        self.reason = reason.removesuffix(".")
        super().__init__(self.reason)
        self.advice = advice
        self.node = node


@dataclass(frozen=True)
class ManualChange:
    """A place that a person must change: file, line, test, reason and advice."""

    path: Path
    line: int
    name: str
    reason: str
    advice: str

    def __str__(self) -> str:
        # The form of compilers and linters, which editors can open.
        place = f"{format_path(self.path)}:{self.line}"
        return f"{place}: {self.name}: {self.reason}. {self.advice}"
