"""The statements that take the place of those of an old test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import libcst as cst

from llm_mock.migrate.syntax import code, collect_names, statement


@dataclass(eq=False)
class Slot:
    """Where statements that configured a mock stood; what replaces them goes to the last one of a group."""

    leading: Sequence[cst.EmptyLine] = ()
    comments: list[cst.EmptyLine] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, node: cst.CSTNode) -> Slot:
        """The place of a statement, with its comments."""
        leading = list(getattr(node, "leading_lines", ()))
        comments = [line for line in leading if line.comment is not None]
        trailing = getattr(node, "trailing_whitespace", None)
        if trailing is not None and trailing.comment is not None:
            comments.append(cst.EmptyLine(comment=trailing.comment))
        return cls([line for line in leading if line.comment is None], comments)


@dataclass(eq=False)
class Local:
    """A function, a class or an import within the test; it stays if something still uses one of its names."""

    node: cst.BaseStatement
    names: frozenset[str]


Part = cst.BaseStatement | Slot | Local


def assemble_body(parts: Sequence[Part]) -> list[cst.BaseStatement]:
    """The statements, with what was removed taken out and its comments kept."""
    kept = [part for part in parts if isinstance(part, cst.BaseStatement)]
    used = set().union(*map(collect_names, kept)) if kept else set()
    comments: list[cst.EmptyLine] = []
    blank: list[cst.EmptyLine] = []
    result: list[cst.BaseStatement] = []
    for part in parts:
        if isinstance(part, Local):
            if part.names & used:
                result.append(part.node)
        elif isinstance(part, Slot):
            comments += part.comments
            blank = blank or list(part.leading)
            for number, line in enumerate(part.lines):
                made = statement(line)
                result.append(made if number else made.with_changes(leading_lines=[*blank, *comments]))
            if part.lines:
                comments, blank = [], []
        else:
            if comments or (blank and result):
                own = list(getattr(part, "leading_lines", ()))
                gap = [] if own and own[0].comment is None else blank
                part = part.with_changes(leading_lines=[*gap, *comments, *own])
            comments, blank = [], []
            result.append(part)
    if result and not comments:
        result[0] = _without_blank_start(result[0])
    return result or [statement("pass").with_changes(leading_lines=comments)]


def _without_blank_start(node: cst.BaseStatement) -> cst.BaseStatement:
    leading = list(getattr(node, "leading_lines", ()))
    while leading and leading[0].comment is None:
        leading.pop(0)
    return node.with_changes(leading_lines=leading)


def is_empty(nodes: Sequence[cst.BaseStatement]) -> bool:
    """Whether nothing is left of a body."""
    return [code(node).strip() for node in nodes] == ["pass"]
