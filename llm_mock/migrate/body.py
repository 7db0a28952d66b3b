"""Assemble the body of a rewritten test."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.syntax import collect_names, parse_statement, split_block, to_source

# They tell a tool to ignore the line that is removed.
_OF_ONE_LINE = re.compile(r"#\s*(type:\s*ignore|pyright:\s*ignore|noqa)\b")


@dataclass(eq=False)
class Slot:
    """A removed statement and the lines that replace it; without blank lines, a place for lines.

    A group of statements that configure a mock leaves a slot each; the last one gets the lines.
    """

    blank_lines: Sequence[cst.EmptyLine] | None = None
    comments: list[cst.EmptyLine] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    configures: bool = False
    """Whether the statement configured a mock."""

    @classmethod
    def replace(cls, node: cst.CSTNode, *, configures: bool = False) -> Slot:
        """Return the slot of a statement, which keeps its comments."""
        # A comment after or inside the statement moves to a separate line.
        return cls(
            [line for line in get_leading_lines(node) if line.comment is None],
            collect_comments(node),
            configures=configures,
        )


@dataclass(eq=False)
class LocalDefinition:
    """A function, class or import of a test that is kept while one of its names is used."""

    node: cst.BaseStatement
    names: frozenset[str]
    is_replaced: bool = False
    """Whether the node is a new one, which replaces the one of the test."""


Part = cst.BaseStatement | Slot | LocalDefinition


def get_leading_lines(node: cst.CSTNode) -> list[cst.EmptyLine]:
    """Return the blank lines and comments above a statement."""
    return list(getattr(node, "leading_lines", ()))


def get_separate_comments(node: cst.CSTNode) -> list[cst.EmptyLine]:
    """Return the comments above a statement that a blank line separates from it."""
    leading = get_leading_lines(node)
    # First the comments of the statement itself, then the blank lines between.
    while leading and leading[-1].comment is not None:
        leading.pop()
    while leading and leading[-1].comment is None:
        leading.pop()
    return leading


def collect_comments(*nodes: cst.CSTNode) -> list[cst.EmptyLine]:
    """Return the comments in some nodes as lines, each indented as the code around it."""
    comments = []
    for node in nodes:
        for found in m.findall(node, m.Comment()):
            comment = cst.ensure_type(found, cst.Comment)
            if not _OF_ONE_LINE.match(comment.value):
                comments.append(cst.EmptyLine(comment=comment))
    return comments


def new_with_slot(node: cst.With, removed: Sequence[cst.WithItem]) -> Slot:
    """Return the slot of a `with` that loses some or all of its items."""
    commented: list[object] = [*removed]
    if len(removed) == len(node.items):
        header = getattr(node.body, "header", None)
        commented = [node.lpar, *removed, node.rpar, header]
    commented[:0] = node.leading_lines
    blank_lines = [line for line in node.leading_lines if line.comment is None]
    nodes = [part for part in commented if isinstance(part, cst.CSTNode)]
    return Slot(blank_lines, collect_comments(*nodes))


class Body(NamedTuple):
    """The statements of a block and the comments behind them."""

    statements: list[cst.BaseStatement]
    footer: list[cst.EmptyLine]

    def replace(self, block: cst.BaseSuite) -> cst.IndentedBlock:
        """Return a block with this body."""
        if not isinstance(block, cst.IndentedBlock):
            block = cst.IndentedBlock([])
        return block.with_changes(
            body=self.statements,
            footer=[*self.footer, *block.footer],
        )


def assemble_body(parts: Sequence[Part], *, is_whole: bool = False) -> Body:
    """Join the parts of a body; comments of removed statements move to the next one.

    Args:
        parts: the parts.
        is_whole: whether they are all parts of the function, so that a definition that none of
            them uses is not needed.
    """
    kept = []
    used = _collect_names_in_use(parts)
    for part in parts:
        if not isinstance(part, LocalDefinition):
            kept.append(part)
        elif not is_whole or part.names & used:
            kept.append(part.node)
    return _BodyAssembler().assemble(kept)


class _BodyAssembler:
    def __init__(self) -> None:
        self.result: list[cst.BaseStatement] = []
        self.comments: list[cst.EmptyLine] = []
        self.deferred: list[cst.EmptyLine] = []
        """The comments on a mock that is configured later."""
        self.blank_lines: Sequence[cst.EmptyLine] | None = None

    def assemble(self, parts: Sequence[cst.BaseStatement | Slot]) -> Body:
        for number, part in enumerate(parts):
            if isinstance(part, Slot):
                self._add_slot(part)
                if part.configures and _is_heading_of_later_lines(parts[number + 1 :]):
                    self.deferred += self.comments
                    self.comments = []
            else:
                self._add_statement(part)
        if not self.result:
            only = parse_statement("pass").with_changes(leading_lines=self.comments)
            return Body([only], [])
        self.result[0] = strip_blank_start(self.result[0])
        return Body(self.result, self.comments)

    def _add_slot(self, slot: Slot) -> None:
        self.comments += slot.comments
        # The blank lines above the first slot separate the whole group.
        if self.blank_lines is None:
            self.blank_lines = slot.blank_lines
        if not slot.lines:
            return
        self.comments[:0] = self.deferred
        self.deferred = []
        first, *others = map(parse_statement, slot.lines)
        leading = [*(self.blank_lines or ()), *self._take_comments(slot.lines)]
        leading += first.leading_lines
        first = first.with_changes(leading_lines=leading)
        self.result.append(first)
        self.result += others
        self.blank_lines = None

    def _take_comments(self, lines: Sequence[str]) -> list[cst.EmptyLine]:
        """Return the comments so far, except comments that the new lines contain."""
        code = "\n".join(lines)
        taken = []
        for line in self.comments:
            if line.comment is None or line.comment.value not in code:
                taken.append(line)
        self.comments = []
        return taken

    def _add_statement(self, node: cst.BaseStatement) -> None:
        # Blank lines at the start of a body would be new.
        needs_gap = bool(self.blank_lines and self.result)
        if self.comments or needs_gap:
            lines = get_leading_lines(node)
            starts_with_gap = bool(lines) and lines[0].comment is None
            lines = self.comments + lines
            if not starts_with_gap:
                lines = [*(self.blank_lines or ()), *lines]
            node = node.with_changes(leading_lines=lines)
        self.comments = []
        self.blank_lines = None
        self.result.append(node)


def _is_heading_of_later_lines(following: Sequence[cst.BaseStatement | Slot]) -> bool:
    """Return whether a comment on a mock belongs to the lines of a later slot.

    It does not if the next statement continues its paragraph, which both are then headed by it.
    """
    if not following or isinstance(following[0], Slot):
        return False
    if not get_leading_lines(following[0]):
        return False
    return any(isinstance(part, Slot) and part.lines for part in following)


def _collect_names_in_use(parts: Sequence[Part]) -> set[str]:
    used: set[str] = set()
    # Backwards: a definition is used by the statements and definitions behind it.
    for part in reversed(parts):
        if isinstance(part, cst.BaseStatement):
            used |= collect_names(part)
        elif isinstance(part, Slot):
            for line in part.lines:
                used |= collect_names(parse_statement(line))
        elif isinstance(part, LocalDefinition) and part.names & used:
            used |= collect_names(part.node)
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


class BlockRewriter(cst.CSTTransformer):
    """Rewrites the blocks of a compound statement.

    Args:
        rewrite: returns the parts of a new block for the statements of an old one.
    """

    def __init__(self, rewrite: Callable[[Sequence[cst.BaseStatement]], list[Part]]) -> None:
        self.rewrite = rewrite

    def visit_IndentedBlock(self, node: cst.IndentedBlock) -> bool:
        """Leave the blocks inside of a block, which are rewritten with their statements."""
        return False

    def leave_IndentedBlock(
        self,
        original_node: cst.IndentedBlock,
        updated_node: cst.IndentedBlock,
    ) -> cst.IndentedBlock:
        """Return the new block."""
        parts = self.rewrite(split_block(original_node))
        return assemble_body(parts).replace(original_node)
