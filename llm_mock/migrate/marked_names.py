"""Mark names of the new test that the old test may have as well."""

from __future__ import annotations

from typing import TypeVar, cast

import libcst as cst

from llm_mock.migrate.syntax import collect_names

NodeT = TypeVar("NodeT", bound=cst.CSTNode)
# Rewritten code is searched for names of the old test, so these differ until it is complete.
_MARK = "__kept_"


def mark_name(name: str) -> str:
    """Return a name of the new test as it is until the test is complete."""
    return f"{_MARK}{name}"


def restore_names(node: NodeT) -> NodeT:
    """Return a statement of a complete new test, with the names that it keeps."""
    if not any(name.startswith(_MARK) for name in collect_names(node)):
        return node
    return cast("NodeT", node.visit(_NameRestorer()))


class _NameRestorer(cst.CSTTransformer):
    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        name = original_node.value.removeprefix(_MARK)
        return updated_node.with_changes(value=name)
