"""Assemble the body of a rewritten test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import libcst as cst

from llm_mock.migrate.syntax import collect_names, parse_statement, to_source


@dataclass(eq=False)
class Slot:
    """A removed statement and the lines that replace it.

    A group of statements that configure a mock leaves a slot each; the last one gets the lines.
    """

    blank_lines: Sequence[cst.EmptyLine] = ()
    comments: list[cst.EmptyLine] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    @classmethod
    def replace(cls, node: cst.CSTNode) -> Slot:
        """Return the slot of a statement, which keeps its comments."""
        slot = cls()
        blank_lines = []
        for line in get_leading_lines(node):
            if line.comment is None:
                blank_lines.append(line)
            else:
                slot.comments.append(line)
        slot.blank_lines = blank_lines
        # A comment behind the statement gets a line of its own.
        trailing = getattr(node, "trailing_whitespace", None)
        if trailing is not None and trailing.comment is not None:
            comment = cst.EmptyLine(comment=trailing.comment)
            slot.comments.append(comment)
        return slot


@dataclass(eq=False)
class LocalDefinition:
    """A function, class or import of a test that is kept while one of its names is used."""

    node: cst.BaseStatement
    names: frozenset[str]


Part = cst.BaseStatement | Slot | LocalDefinition


def get_leading_lines(node: cst.CSTNode) -> list[cst.EmptyLine]:
    """Return the blank lines and comments above a statement."""
    return list(getattr(node, "leading_lines", ()))


def assemble_body(parts: Sequence[Part]) -> list[cst.BaseStatement]:
    """Join the parts of a body; comments of removed statements move to the next one."""
    return _BodyAssembler().assemble(parts)


class _BodyAssembler:
    def __init__(self) -> None:
        self.result: list[cst.BaseStatement] = []
        self.comments: list[cst.EmptyLine] = []
        self.blank_lines: list[cst.EmptyLine] = []

    def assemble(self, parts: Sequence[Part]) -> list[cst.BaseStatement]:
        used = _collect_names_in_use(parts)
        for part in parts:
            if isinstance(part, LocalDefinition):
                if part.names & used:
                    self.result.append(part.node)
            elif isinstance(part, Slot):
                self._add_slot(part)
            else:
                self._add_statement(part)
        if self.result and not self.comments:
            self.result[0] = strip_blank_start(self.result[0])
        if self.result:
            return self.result
        return [parse_statement("pass").with_changes(leading_lines=self.comments)]

    def _add_slot(self, slot: Slot) -> None:
        self.comments += slot.comments
        # The blank lines above the first slot separate the whole group.
        self.blank_lines = self.blank_lines or list(slot.blank_lines)
        if not slot.lines:
            return
        first, *others = map(parse_statement, slot.lines)
        leading = self.blank_lines + self.comments
        first = first.with_changes(leading_lines=leading)
        self.result.append(first)
        self.result += others
        self.comments = []
        self.blank_lines = []

    def _add_statement(self, node: cst.BaseStatement) -> None:
        # Blank lines at the start of a body would be new.
        needs_gap = bool(self.blank_lines and self.result)
        if self.comments or needs_gap:
            lines = get_leading_lines(node)
            starts_with_gap = bool(lines) and lines[0].comment is None
            lines = self.comments + lines
            if not starts_with_gap:
                lines = self.blank_lines + lines
            node = node.with_changes(leading_lines=lines)
        self.comments = []
        self.blank_lines = []
        self.result.append(node)


def _collect_names_in_use(parts: Sequence[Part]) -> set[str]:
    used: set[str] = set()
    for part in parts:
        if isinstance(part, cst.BaseStatement):
            used |= collect_names(part)
    return used


def strip_blank_start(node: cst.BaseStatement) -> cst.BaseStatement:
    """Return a statement without the blank lines above it and its comments."""
    leading = get_leading_lines(node)
    while leading and leading[0].comment is None:
        leading.pop(0)
    return node.with_changes(leading_lines=leading)


def is_empty(nodes: Iterable[cst.BaseStatement]) -> bool:
    """Return whether a body is nothing but `pass`."""
    return [to_source(node).strip() for node in nodes] == ["pass"]
