"""Mark names of the new test that the old test may have as well."""

from __future__ import annotations

from typing import TypeVar, cast

import libcst as cst

from llm_mock.migrate.syntax import collect_names

NodeT = TypeVar("NodeT", bound=cst.CSTNode)
# The mark distinguishes new names from old ones while the code is searched for old names.
_MARK = "__kept_"


def mark_name(name: str) -> str:
    """Return the temporary form of a name for an incomplete new test."""
    return f"{_MARK}{name}"


def restore_names(node: NodeT) -> NodeT:
    """Return a statement of a complete new test with unmarked names."""
    if not any(name.startswith(_MARK) for name in collect_names(node)):
        return node
    return cast("NodeT", node.visit(_NameRestorer()))


class _NameRestorer(cst.CSTTransformer):
    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        name = original_node.value.removeprefix(_MARK)
        return updated_node.with_changes(value=name)
