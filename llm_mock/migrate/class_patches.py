"""Move the patches of a class to its tests, which can then be rewritten."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import libcst as cst

from llm_mock.migrate.body import collect_comments
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.patches import gives_argument, parse_patch
from llm_mock.migrate.scope import Scope
from llm_mock.migrate.symbol_table import SymbolTable

# Bases without tests of their own.
BASES = ("unittest.TestCase", "unittest.IsolatedAsyncioTestCase")


def find_class_patches(node: cst.ClassDef, scope: Scope, path: Path) -> list[cst.Decorator]:
    """Return the decorators of a class that patch `llm` or an SDK for its tests.

    Args:
        node: the class.
        scope: the names of its file.
        path: the path of the file.

    Raises:
        CannotRewrite: the command does not understand a patch, another test or an argument.
    """
    patches = []
    others = []
    for decorator in node.decorators:
        expression = decorator.decorator
        table = SymbolTable(scope)
        if parse_patch(expression, table, path) is not None:
            patches.append(decorator)
        elif gives_argument(expression, scope):
            others.append(decorator)
    # Inherited tests are patched, too; another argument of each test belongs to another patch.
    has_base = any(scope.qualify(base.value) not in BASES for base in node.bases)
    if patches and (has_base or others):
        raise CannotRewrite(
            "a decorator of the class patches its methods",
            "Remove the decorator and the mock argument of each method, and configure the reply "
            "in an autouse fixture of the class.",
        )
    return patches


def add_patches(
    function: cst.FunctionDef,
    patches: Sequence[cst.Decorator],
) -> cst.FunctionDef:
    """Return a method with the patches of its class; those of other names are not patched."""
    if not function.name.value.startswith("test"):
        return function
    # Its own decorators patch first, so that their mocks are the first arguments.
    outer = [cst.Decorator(patch.decorator) for patch in patches]
    return function.with_changes(decorators=[*outer, *function.decorators])


def remove_patches(node: cst.ClassDef, patches: Sequence[cst.Decorator]) -> cst.ClassDef:
    """Return a class without its patches; their comments stay."""
    kept = []
    comments = []
    for decorator in node.decorators:
        if decorator in patches:
            comments += collect_comments(decorator)
        else:
            kept.append(decorator)
    return node.with_changes(
        decorators=kept,
        leading_lines=[*node.leading_lines, *comments],
    )
