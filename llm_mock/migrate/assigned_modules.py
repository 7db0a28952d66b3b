"""Recognize mocks that a test assigns to `sys.modules`, and how it restores the real modules."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

import libcst as cst

from llm_mock.migrate.patches import CannotRewritePatch
from llm_mock.migrate.scope import Scope
from llm_mock.migrate.sdk_modules import SDKS, find_module_entry
from llm_mock.migrate.syntax import (
    collect_names,
    find_nodes,
    get_small_statement,
    get_string,
    split_block,
)
from llm_mock.migrate.targets import LIBRARY

_READS = ("get", "pop")


class AssignedModules:
    """The entries of `sys.modules` that a function replaces and restores itself.

    Args:
        function: the function.
        scope: the names of its file.
    """

    def __init__(self, function: cst.FunctionDef, scope: Scope) -> None:
        self._scope = scope
        self._assigned = set()
        for node in find_nodes(function.body, cst.AssignTarget):
            name = find_module_entry(node.target, scope)
            if name in (*SDKS, LIBRARY):
                self._assigned.add(name)
        self._saved: dict[str, str] = {}
        """The original modules from `sys.modules`, by the variables that hold them."""
        self._running: dict[str, cst.CSTNode] = {}
        """The modules that are still replaced, with the statements that replace them."""
        self._replaced: set[str] = set()
        """The modules that the function has replaced so far."""

    def save(self, part: cst.Assign) -> str | None:
        """Note `before = sys.modules.get("openai")`; return the name, None for another one."""
        target = part.targets[0].target
        module = self._find_read(part.value, _READS)
        if module not in self._assigned or not isinstance(target, cst.Name):
            return None
        self._saved[target.value] = module
        return target.value

    def start(self, node: cst.Assign) -> None:
        """Note a statement that replaces a module."""
        name = find_module_entry(node.targets[0].target, self._scope)
        assert name is not None
        self._running[name] = node
        self._replaced.add(name)

    def restore(self, nodes: Sequence[cst.BaseStatement]) -> bool:
        """Note statements that only restore real modules; return False for others."""
        restored = self._find_restored(nodes, self._replaced)
        for name in restored:
            self._running.pop(name, None)
        return bool(restored)

    def is_restore(self, nodes: Sequence[cst.BaseStatement]) -> bool:
        """Return whether statements only restore modules that the function replaces anywhere."""
        return bool(self._find_restored(nodes, self._assigned))

    def check_ends(self) -> None:
        """Refuse a function whose mock also affects later tests.

        Raises:
            CannotRewritePatch: nothing in the function restores the module.
        """
        for name, node in self._running.items():
            raise CannotRewritePatch(
                f'the test assigns sys.modules["{name}"], so the mock may also affect later tests',
                f'Use `with patch.dict(sys.modules, {{"{name}": …}}):`, then run the command '
                "again.",
                node,
            )

    def _find_restored(
        self,
        nodes: Iterable[cst.BaseStatement],
        replaced: Container[str | None],
    ) -> set[str]:
        """Return the modules that statements restore; none if one of them does anything else.

        Args:
            nodes: the statements.
            replaced: the modules that may be restored.
        """
        restored: set[str] = set()
        for node in nodes:
            found = self._find_restored_by(node, replaced)
            if not found:
                return set()
            restored |= found
        return restored

    def _find_restored_by(
        self,
        node: cst.BaseStatement,
        replaced: Container[str | None],
    ) -> set[str]:
        if isinstance(node, cst.If):
            if not self._tests_saved(node.test):
                return set()
            return self._find_restored(_list_branches(node), replaced)
        name = self._find_entry(get_small_statement(node))
        return {name} if name and name in replaced else set()

    def _tests_saved(self, test: cst.BaseExpression) -> bool:
        """Return whether a condition depends on a module that was there before, and on no call."""
        names = collect_names(test)
        if names.isdisjoint(self._saved):
            return False
        return not find_nodes(test, cst.Call)

    def _find_entry(self, part: cst.BaseSmallStatement | None) -> str | None:
        """Return the module that a statement removes, or puts back; None for another statement."""
        if isinstance(part, cst.Expr):
            return self._find_read(part.value, ("pop",))
        if isinstance(part, cst.Del):
            return find_module_entry(part.target, self._scope)
        if not isinstance(part, cst.Assign) or not isinstance(part.value, cst.Name):
            return None
        name = find_module_entry(part.targets[0].target, self._scope)
        is_original = self._saved.get(part.value.value) == name
        return name if is_original else None

    def _find_read(self, node: cst.BaseExpression, methods: Container[str]) -> str | None:
        """Return the module that `sys.modules.get("openai")` or `.pop(…)` reads, or None."""
        if not isinstance(node, cst.Call) or not node.args:
            return None
        owner, _, method = self._scope.qualify(node.func).rpartition(".")
        if owner != "sys.modules" or method not in methods:
            return None
        return get_string(node.args[0].value)


def _list_branches(node: cst.If) -> list[cst.BaseStatement]:
    """Return the statements of all branches of an `if`."""
    statements = split_block(node.body)
    if isinstance(node.orelse, cst.Else):
        return [*statements, *split_block(node.orelse.body)]
    if node.orelse is not None:
        statements.append(node.orelse)
    return statements
