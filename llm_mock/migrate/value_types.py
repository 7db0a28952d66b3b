"""Determine the type of an expression where it is certain: text, data or error."""

from __future__ import annotations

import re
from collections.abc import Callable

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.doubles import PlainCode
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import find_nodes, get_dotted_name, get_string

# Exceptions are imported, so only their names tell them.
ERROR_NAME = re.compile(r"(Error|Exception|Timeout|Interrupt|Exit|Refused|Failed|NotFound)$")
TEXT_FUNCTIONS = ("json.dumps", "str", "textwrap.dedent", "repr")
TEXT_METHODS = {
    "model_dump_json",
    "strip",
    "format",
    "join",
    "lower",
    "upper",
    "replace",
    "title",
    "capitalize",
    "dedent",
}
_PURE_METHODS = {"model_dump", *TEXT_METHODS}
# The text that a reply function receives.
_PROMPT = m.Attribute(m.Name("prompt"), m.Name("prompt"))
# Bounds `a = b; b = a`.
MAX_NAMES = 5


def is_text(node: cst.BaseExpression, table: SymbolTable, depth: int = 0) -> bool:
    """Return whether an expression is a string for certain."""
    if get_string(node) is not None:
        return True
    if isinstance(node, (cst.FormattedString, cst.ConcatenatedString)):
        return True
    if isinstance(node, cst.Call):
        function = node.func
        if table.scope.qualify(function) in TEXT_FUNCTIONS:
            return True
        if not isinstance(function, cst.Attribute):
            return False
        return function.attr.value in TEXT_METHODS
    if m.matches(node, _PROMPT):
        return True
    if isinstance(node, cst.BinaryOperation):
        # `"a" + b`, `"%s" % b` and `"a" * 3` are strings if the left side is one.
        if not isinstance(node.operator, (cst.Add, cst.Modulo, cst.Multiply)):
            return False
        return is_text(node.left, table, depth)
    return _all_values(node, table, is_text, depth)


def is_data(node: cst.BaseExpression, table: SymbolTable, depth: int = 0) -> bool:
    """Return whether an expression is a dict or a list for certain."""
    if isinstance(node, (cst.Dict, cst.List, cst.DictComp, cst.ListComp)):
        return True
    if isinstance(node, cst.Call):
        function = node.func
        return m.matches(function, m.Name("dict") | m.Attribute(attr=m.Name("model_dump")))
    return _all_values(node, table, is_data, depth)


def is_error(node: cst.BaseExpression, table: SymbolTable, depth: int = 0) -> bool:
    """Return whether an expression is an exception or its class, judged by its name."""
    if isinstance(node, cst.Call):
        error_class = node.func
    else:
        error_class = node
    name = get_dotted_name(error_class)
    if name is None:
        return False
    definition = table.scope.classes.get(name)
    # A class of the file may have any name, so its bases decide.
    if definition is not None:
        bases = [get_dotted_name(base.value) or "" for base in definition.bases]
        return any(ERROR_NAME.search(base) for base in bases)
    if ERROR_NAME.search(table.scope.qualify(error_class)):
        return True
    if name in ("StopIteration", "StopAsyncIteration"):
        return True
    return _all_values(node, table, is_error, depth)


def is_pure(node: cst.BaseExpression, table: SymbolTable) -> bool:
    """Return whether an expression has the same value each time, unless its names change."""
    for call in find_nodes(node, cst.Call):
        function = call.func
        is_method = isinstance(function, cst.Attribute) and function.attr.value in _PURE_METHODS
        if not is_method and table.scope.qualify(function) not in TEXT_FUNCTIONS:
            return False
    return True


def is_literal(node: cst.BaseExpression) -> bool:
    """Return whether an expression is a text, a dict or a list, without a call in it."""
    kinds = (cst.SimpleString, cst.FormattedString, cst.Dict, cst.List)
    return isinstance(node, kinds) and not find_nodes(node, cst.Call, cst.Await)


def makes_object(node: cst.BaseExpression) -> bool:
    """Return whether an expression calls a class, judged by its name."""
    if not isinstance(node, cst.Call):
        return False
    name = get_dotted_name(node.func) or ""
    _, _, last = name.rpartition(".")
    return last[:1].isupper()


def _all_values(
    node: cst.BaseExpression,
    table: SymbolTable,
    condition: Callable[[cst.BaseExpression, SymbolTable, int], bool],
    depth: int,
) -> bool:
    """Return whether a condition holds for every known value of a name."""
    if depth >= MAX_NAMES or not isinstance(node, cst.Name):
        return False
    values = _find_values(node, table)
    if not values:
        return False
    return all(condition(value, table, depth + 1) for value in values)


def find_only_value(
    node: cst.BaseExpression | None, table: SymbolTable
) -> cst.BaseExpression | None:
    """Return the value of a name if it is known, and any other expression unchanged."""
    if isinstance(node, cst.Name):
        values = _find_values(node, table)
        if len(values) == 1:
            return values[0]
    return node


def _find_values(node: cst.Name, table: SymbolTable) -> list[cst.BaseExpression]:
    assigned = table.plain.get(node.value)
    if assigned:
        return assigned
    value = table.values.get(node.value)
    # A helper's parameter may be bound to the name itself.
    if isinstance(value, PlainCode) and value.node is not node:
        return [value.node]
    constant = table.scope.constants.get(node.value)
    return [] if constant is None else [constant]
