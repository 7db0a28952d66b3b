"""Update the imports of a rewritten file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeGuard

import libcst as cst

from llm_mock.migrate.body import get_leading_lines, strip_blank_start
from llm_mock.migrate.syntax import collect_names, get_dotted_name, parse_statement


def update_imports(old: cst.Module, new: cst.Module) -> cst.Module:
    """Remove imports, helpers and fakes that became unused, and import `Reply` if needed.

    Names that the old file did not use either are left alone.
    """
    used_before = _collect_used_names(old)
    body: list[cst.BaseStatement] = []
    body += [node for node in new.body if isinstance(node, cst.BaseStatement)]
    # A removed helper may have been the only user of another one.
    while True:
        candidate = new.with_changes(body=body)
        unused = used_before - _collect_used_names(candidate)
        remaining = _remove_unused(body, unused)
        if len(remaining) == len(body):
            break
        body = remaining
    new_names = _collect_used_names(new) - used_before
    if "Reply" in new_names:
        remaining = _add_reply_import(remaining)
    if remaining and remaining[0] is not new.body[0]:
        # The blank lines above it separated it from a removed statement.
        remaining[0] = strip_blank_start(remaining[0])
    return new.with_changes(body=remaining)


def _remove_unused(
    nodes: Sequence[cst.BaseStatement],
    unused: set[str],
) -> list[cst.BaseStatement]:
    body: list[cst.BaseStatement] = []
    pending_comments: list[cst.EmptyLine] = []
    for node in nodes:
        if _is_helper(node) and node.name.value in unused:
            continue
        kept = _remove_unused_imports(node, unused)
        if kept is None:
            # A comment above an import may speak of the imports below it, too.
            comments = [line for line in get_leading_lines(node) if line.comment is not None]
            pending_comments += comments
            continue
        if pending_comments:
            lines = [*pending_comments, *get_leading_lines(kept)]
            kept = kept.with_changes(leading_lines=lines)
        body.append(kept)
        pending_comments = []
    return body


def _is_helper(node: cst.BaseStatement) -> TypeGuard[cst.FunctionDef | cst.ClassDef]:
    if not isinstance(node, (cst.FunctionDef, cst.ClassDef)) or node.decorators:
        return False
    return not node.name.value.lower().startswith("test")


class _UsedNames(cst.CSTVisitor):
    """Counts the uses of names, without the definitions of functions and classes."""

    def __init__(self) -> None:
        self.names: Counter[str] = Counter()

    # The name of a definition is a Name node, which visit_Name counts as a use.
    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.names[node.name.value] -= 1

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self.names[node.name.value] -= 1

    # An import binds names, but does not use them.
    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def visit_Name(self, node: cst.Name) -> None:
        self.names[node.value] += 1

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        # `__all__` and quoted annotations
        value = node.evaluated_value
        if isinstance(value, str):
            self.names[value] += 1


def _collect_used_names(module: cst.Module) -> set[str]:
    visitor = _UsedNames()
    module.visit(visitor)
    return {name for name, uses in visitor.names.items() if uses > 0}


def _remove_unused_imports(
    node: cst.BaseStatement,
    unused: set[str],
) -> cst.BaseStatement | None:
    """Return a statement without unused imports, or None if nothing is left of it."""
    if not isinstance(node, cst.SimpleStatementLine) or len(node.body) != 1:
        return node
    part = node.body[0]
    if not isinstance(part, (cst.Import, cst.ImportFrom)):
        return node
    if isinstance(part.names, cst.ImportStar):
        return node
    names = part.names
    kept = [alias for alias in names if _get_bound_name(alias) not in unused]
    if len(kept) == len(names):
        return node
    if not kept:
        return None
    # The last name may have no comma behind it, or a trailing one.
    comma = names[-1].comma
    kept[-1] = kept[-1].with_changes(comma=comma)
    new_import = part.with_changes(names=kept)
    return node.with_changes(body=[new_import])


def _get_bound_name(alias: cst.ImportAlias) -> str:
    name = get_dotted_name(alias.asname.name if alias.asname else alias.name) or ""
    # `import a.b` binds `a`.
    return name.partition(".")[0]


def _add_reply_import(body: list[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """Import `Reply`: in an import of `llm_mock`, or in a line of its own in sorted order."""
    changed = list(body)
    for number, node in enumerate(body):
        extended = _extend_import(node)
        if extended is not None:
            changed[number] = extended
            return changed
    line = parse_statement("from llm_mock import Reply")
    position = _find_import_position(body)
    changed.insert(position, line)
    return changed


def _extend_import(node: cst.BaseStatement) -> cst.BaseStatement | None:
    """Add `Reply` to `from llm_mock import …`; None for any other statement."""
    part = _get_import(node)
    if not isinstance(part, cst.ImportFrom) or part.module is None:
        return None
    if get_dotted_name(part.module) != "llm_mock":
        return None
    if isinstance(part.names, cst.ImportStar):
        return node
    space = cst.SimpleWhitespace(" ")
    comma = cst.Comma(whitespace_after=space)
    names = list(part.names)
    names[-1] = names[-1].with_changes(comma=comma)
    reply = cst.ImportAlias(cst.Name("Reply"))
    names.append(reply)
    new_import = part.with_changes(names=names)
    return node.with_changes(body=[new_import])


def _find_import_position(body: list[cst.BaseStatement]) -> int:
    imports = [number for number, node in enumerate(body) if _get_import(node)]
    if not imports:
        # Behind the docstring.
        if body and "import" not in collect_names(body[0]):
            return 1
        return 0
    for number in reversed(imports):
        if _get_module_name(body[number]) <= "llm_mock":
            return number + 1
    return imports[-1] + 1


def _get_import(node: cst.BaseStatement) -> cst.Import | cst.ImportFrom | None:
    if isinstance(node, cst.SimpleStatementLine):
        part = node.body[0]
    else:
        part = None
    if isinstance(part, (cst.Import, cst.ImportFrom)):
        return part
    return None


def _get_module_name(node: cst.BaseStatement) -> str:
    part = _get_import(node)
    if isinstance(part, cst.ImportFrom):
        # A relative import sorts before all others.
        if part.module:
            name = get_dotted_name(part.module)
        else:
            name = "."
    else:
        if part:
            name = get_dotted_name(part.names[0].name)
        else:
            name = None
    return name or ""
