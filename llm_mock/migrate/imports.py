"""Adds the imports that rewritten tests need, and takes out those that they leave unused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import libcst as cst

from llm_mock.migrate.syntax import collect_names, get_dotted_name, statement


def update_imports(old: cst.Module, new: cst.Module) -> cst.Module:
    """The new file with its imports put right. What the old file did not use either is left alone."""
    used_before = _used(old)
    body: Sequence[cst.BaseStatement] = [node for node in new.body if isinstance(node, cst.BaseStatement)]
    while True:  # what is taken out may have been all that used something else
        gone = used_before - _used(new.with_changes(body=body))
        rest = _without_unused(body, gone)
        if len(rest) == len(body):
            break
        body = rest
    if "Reply" in _used(new) - used_before:
        rest = _with_reply(rest)
    if rest and rest[0] is not new.body[0]:  # it is the first statement now
        rest = [_at_the_top(rest[0]), *rest[1:]]
    return new.with_changes(body=rest)


def _at_the_top(node: cst.BaseStatement) -> cst.BaseStatement:
    """A statement without empty lines before it."""
    leading = list(getattr(node, "leading_lines", ()))
    while leading and leading[0].comment is None:
        del leading[0]
    return node.with_changes(leading_lines=leading)


def _without_unused(nodes: Sequence[cst.BaseStatement], gone: set[str]) -> list[cst.BaseStatement]:
    """The statements of a file without the imports, helpers and fakes that nothing uses any more."""
    body: list[cst.BaseStatement] = []
    pending: list[cst.EmptyLine] = []
    for node in nodes:
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)) and _is_helper(node) and node.name.value in gone:
            continue
        kept = _without(node, gone)
        if kept is None:
            pending += [line for line in getattr(node, "leading_lines", ()) if line.comment is not None]
        else:
            own = list(getattr(kept, "leading_lines", ()))
            body.append(kept.with_changes(leading_lines=[*pending, *own]) if pending else kept)
            pending = []
    return body


def _is_helper(node: cst.FunctionDef | cst.ClassDef) -> bool:
    return not node.decorators and not node.name.value.lower().startswith("test")


class _Used(cst.CSTVisitor):
    """Counts the names that are used; those of functions and classes count once less than they stand there."""

    def __init__(self) -> None:
        self.names: Counter[str] = Counter()

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.names[node.name.value] -= 1

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self.names[node.name.value] -= 1

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def visit_Name(self, node: cst.Name) -> None:
        self.names[node.value] += 1

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        value = node.evaluated_value
        if isinstance(value, str):  # __all__, and types in quotes
            self.names[value] += 1


def _used(module: cst.Module) -> set[str]:
    found = _Used()
    module.visit(found)
    return {name for name, number in found.names.items() if number > 0}


def _without(node: cst.BaseStatement, gone: set[str]) -> cst.BaseStatement | None:
    """A line of imports without the names that are no longer used; None where nothing is left of it."""
    if not isinstance(node, cst.SimpleStatementLine) or len(node.body) != 1:
        return node
    part = node.body[0]
    if not isinstance(part, (cst.Import, cst.ImportFrom)) or isinstance(part.names, cst.ImportStar):
        return node
    kept = [alias for alias in part.names if _bound(alias) not in gone]
    if len(kept) == len(part.names):
        return node
    if not kept:
        return None
    kept[-1] = kept[-1].with_changes(comma=part.names[-1].comma)
    return node.with_changes(body=[part.with_changes(names=kept)])


def _bound(alias: cst.ImportAlias) -> str:
    name = get_dotted_name(alias.asname.name if alias.asname else alias.name) or ""
    return name.partition(".")[0]


def _with_reply(body: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """Import `Reply` behind the last import of the file's top, among the first of another package's if it sorts so."""
    line = statement("from llm_mock import Reply")
    places = [number for number, node in enumerate(body) if _is_import(node)]
    for number in places:
        node = body[number]
        part = node.body[0] if isinstance(node, cst.SimpleStatementLine) else None
        if isinstance(part, cst.ImportFrom) and part.module and get_dotted_name(part.module) == "llm_mock":
            if isinstance(part.names, cst.ImportStar):
                return list(body)
            last = part.names[-1].with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
            changed = part.with_changes(names=[*part.names[:-1], last, cst.ImportAlias(cst.Name("Reply"))])
            return [*body[:number], node.with_changes(body=[changed]), *body[number + 1 :]]
    if not places:
        return [*body[:1], line, *body[1:]] if body and "import" not in collect_names(body[0]) else [line, *body]
    after = places[-1]
    for number in reversed(places):
        if _module_of(body[number]) <= "llm_mock":
            after = number
            break
    return [*body[: after + 1], line, *body[after + 1 :]]


def _is_import(node: cst.BaseStatement) -> bool:
    return isinstance(node, cst.SimpleStatementLine) and isinstance(node.body[0], (cst.Import, cst.ImportFrom))


def _module_of(node: cst.BaseStatement) -> str:
    part = node.body[0] if isinstance(node, cst.SimpleStatementLine) else None
    if isinstance(part, cst.ImportFrom):
        return (get_dotted_name(part.module) if part.module else ".") or ""
    return get_dotted_name(part.names[0].name) or "" if isinstance(part, cst.Import) else ""
