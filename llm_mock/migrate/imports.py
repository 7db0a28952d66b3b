"""Update the imports of a rewritten file."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Container, Sequence
from pathlib import Path

import libcst as cst

from llm_mock.migrate.body import get_leading_lines, get_separate_comments, strip_blank_start
from llm_mock.migrate.reply_import import add_import, add_json_import, add_library_import
from llm_mock.migrate.sdk_clients import CLIENTS
from llm_mock.migrate.syntax import (
    get_bound_name,
    get_small_statement,
    list_children,
    reads_attribute,
)
from llm_mock.migrate.targets import LIBRARY


def update_imports(
    old: cst.Module,
    new: cst.Module,
    path: Path,
    unused_fixtures: Container[str] = (),
    *,
    needs_json: bool = False,
) -> cst.Module:
    """Remove imports, helpers and fakes that became unused, and import what the replies need.

    Names that the old file did not use either are left alone.

    Args:
        old: the old file.
        new: the same with rewritten functions.
        path: its path.
        unused_fixtures: the names of fixtures to remove.
        needs_json: whether to import `json`.
    """
    used_before = _collect_used_names(old)
    body: list[cst.BaseStatement] = []
    body += [node for node in new.body if isinstance(node, cst.BaseStatement)]
    # A removed helper may have been the only user of another one.
    while True:
        candidate = new.with_changes(body=body)
        unused = used_before - _collect_used_names(candidate)
        remaining, comments = _remove_unused(body, unused, unused_fixtures)
        new = new.with_changes(footer=[*comments, *new.footer])
        if len(remaining) == len(body):
            break
        body = remaining
    new_names = _collect_used_names(new) - used_before
    remaining = _add_imports(remaining, new_names, path)
    if needs_json:
        remaining = add_json_import(remaining, path)
    for library in _find_new_libraries(old, new):
        remaining = add_library_import(remaining, library, path)
    if remaining and remaining[0] is not new.body[0]:
        # The blank lines above it separated it from a removed statement.
        remaining[0] = strip_blank_start(remaining[0])
    return new.with_changes(body=remaining)


def _add_imports(
    body: list[cst.BaseStatement],
    new_names: Container[str],
    path: Path,
) -> list[cst.BaseStatement]:
    """Import the names of `llm_mock` that the new tests use."""
    for name in ("BrokenToolCall", "Reply", "ToolCall", "templates"):
        if name in new_names:
            body = add_import(body, name, path)
    return body


def _find_new_libraries(old: cst.Module, new: cst.Module) -> list[str]:
    """Return the modules that only the new tests use, such as the SDK of a client."""
    libraries = []
    for library in (*CLIENTS, LIBRARY, "llm_mock", "pytest"):
        is_read = reads_attribute(library, new)
        if is_read and not reads_attribute(library, old):
            libraries.append(library)
    return libraries


def _remove_unused(
    nodes: Sequence[cst.BaseStatement],
    unused: set[str],
    unused_fixtures: Container[str],
) -> tuple[list[cst.BaseStatement], list[cst.EmptyLine]]:
    """Return the remaining statements, and comments that have no statement below them."""
    body: list[cst.BaseStatement] = []
    pending_lines: list[cst.EmptyLine] = []
    for node in nodes:
        if _is_unused_definition(node, unused, unused_fixtures):
            pending_lines += get_separate_comments(node)
            continue
        kept = remove_unused_imports(node, unused)
        if kept is None:
            # Blank lines separate blocks of imports; a comment may apply to the next one too.
            pending_lines += get_leading_lines(node)
            continue
        body.append(_add_leading_lines(pending_lines, kept))
        pending_lines = []
    has_comment = any(line.comment is not None for line in pending_lines)
    return body, pending_lines if has_comment else []


def _is_unused_definition(
    node: cst.BaseStatement,
    unused: set[str],
    unused_fixtures: Container[str],
) -> bool:
    if not isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        return False
    name = node.name.value
    if node.decorators:
        return name in unused_fixtures
    return name in unused and not name.lower().startswith("test")


def _add_leading_lines(
    lines: Sequence[cst.EmptyLine],
    node: cst.BaseStatement,
) -> cst.BaseStatement:
    """Return a statement with the lines of removed statements above its own."""
    own = get_leading_lines(node)
    lines = list(lines)
    if own and own[0].comment is None:
        # The statement is separated anyway.
        while lines and lines[-1].comment is None:
            lines.pop()
    return node.with_changes(leading_lines=[*lines, *own]) if lines else node


def _collect_used_names(module: cst.Module) -> set[str]:
    """Return the names that a file uses, without the definitions of functions and classes."""
    uses: Counter[str] = Counter()
    for statement in module.body:
        uses.update(_count_uses(statement))
    return {name for name, number in uses.items() if number > 0}


# Cached: most statements of a file stay as they are.
@functools.lru_cache(maxsize=5_000)
def _count_uses(statement: cst.CSTNode) -> Counter[str]:
    uses: Counter[str] = Counter()
    pending = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, (cst.Import, cst.ImportFrom)):
            # An import binds names, but does not use them.
            continue
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            # The name of a definition is a Name node, which counts as a use below.
            uses[node.name.value] -= 1
        elif isinstance(node, cst.Name):
            uses[node.value] += 1
        elif isinstance(node, cst.SimpleString):
            # `__all__` and quoted annotations
            value = node.evaluated_value
            if isinstance(value, str):
                uses[value] += 1
        pending += list_children(node)
    return uses


def remove_unused_imports(
    node: cst.BaseStatement,
    unused: set[str],
) -> cst.BaseStatement | None:
    """Return a statement without unused imports, or None if nothing is left of it."""
    part = get_small_statement(node)
    if not isinstance(part, (cst.Import, cst.ImportFrom)) or isinstance(part.names, cst.ImportStar):
        return node
    names = part.names
    numbers = [number for number, alias in enumerate(names) if get_bound_name(alias) not in unused]
    if len(numbers) == len(names):
        return node
    if not numbers:
        return None
    kept = [names[number] for number in numbers]
    # Keep a trailing comma, or its absence, after the last name.
    comma = names[-1].comma
    kept[-1] = kept[-1].with_changes(comma=comma)
    new_import = part.with_changes(names=kept)
    if isinstance(new_import, cst.ImportFrom) and new_import.lpar is not None:
        new_import = _move_comments(new_import.lpar, names, numbers, new_import)
    return node.with_changes(body=[new_import])


def _move_comments(
    opening: cst.LeftParen,
    names: Sequence[cst.ImportAlias],
    kept: Sequence[int],
    node: cst.ImportFrom,
) -> cst.ImportFrom:
    """Return an import in parentheses with the comments above each name that it keeps."""
    # The lines above a name belong to the comma before it, or to the parenthesis.
    spaces = [opening.whitespace_after]
    for alias in names:
        spaces.append(getattr(alias.comma, "whitespace_after", cst.SimpleWhitespace("")))
    before = 0
    for number in kept:
        source, target = spaces[number], spaces[before]
        before = number + 1
        if source is target or not isinstance(source, cst.ParenthesizedWhitespace):
            continue
        if isinstance(target, cst.ParenthesizedWhitespace):
            new = target.with_changes(empty_lines=source.empty_lines)
            node = cst.ensure_type(node.deep_replace(target, new), cst.ImportFrom)
    return node
