"""What a person has to know or do about a test."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llm_mock.support.text import shown_path

if TYPE_CHECKING:
    import libcst as cst

BY_HAND = "The chapters of MIGRATION_GUIDE.md show this test the old and the new way."


class CannotRewrite(Exception):
    """A test means something that is not known for sure, so it is left as it is.

    Args:
        why: what is not known, without a full stop at its end.
        instead: what to write instead.
        node: where it stands; by default where the test begins.
    """

    def __init__(self, why: str, instead: str = BY_HAND, node: cst.CSTNode | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.instead = instead
        self.node = node


@dataclass(frozen=True)
class ManualChange:
    """What is left to a person: where, why, and what to write instead."""

    path: Path
    line: int
    name: str
    why: str
    instead: str

    def __str__(self) -> str:
        return f"{shown_path(self.path)}:{self.line}: {self.name}: {self.why}. {self.instead}"
