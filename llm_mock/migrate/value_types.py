"""Tells what kind of value an expression has, where that is sure: text, data, an error."""

from __future__ import annotations

import re

import libcst as cst

from llm_mock.migrate.doubles import PlainCode
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import get_dotted_name, get_string

ERRORS = re.compile(r"(Error|Exception|Timeout|Interrupt|Exit|Refused|Failed|NotFound)$")
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
MOST_NAMES = 5


def is_text(node: cst.BaseExpression, frame: SymbolTable, depth: int = 0) -> bool:
    """Whether an expression is a text."""
    if get_string(node) is not None or isinstance(node, cst.FormattedString):
        return True
    if isinstance(node, cst.ConcatenatedString):
        return True
    if isinstance(node, cst.Call):
        meaning = frame.scope.meaning(node.func)
        if meaning in ("json.dumps", "str", "textwrap.dedent", "repr"):
            return True
        return isinstance(node.func, cst.Attribute) and node.func.attr.value in TEXT_METHODS
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Add, cst.Modulo, cst.Multiply)):
        return is_text(node.left, frame, depth)
    return depth < MOST_NAMES and _each(node, frame, lambda value: is_text(value, frame, depth + 1))


def is_data(node: cst.BaseExpression, frame: SymbolTable, depth: int = 0) -> bool:
    """Whether an expression is a dict or a list."""
    if isinstance(node, (cst.Dict, cst.List, cst.DictComp, cst.ListComp)):
        return True
    if isinstance(node, cst.Call):
        name = get_dotted_name(node.func) or ""
        return name == "dict" or name.endswith(".model_dump")
    return depth < MOST_NAMES and _each(node, frame, lambda value: is_data(value, frame, depth + 1))


def is_error(node: cst.BaseExpression, frame: SymbolTable, depth: int = 0) -> bool:
    """Whether an expression is an exception or its class."""
    named = node.func if isinstance(node, cst.Call) else node
    name = get_dotted_name(named)
    if name is None:
        return False
    made = frame.scope.classes.get(name)
    if made is not None:
        return any(ERRORS.search(get_dotted_name(base.value) or "") for base in made.bases)
    if ERRORS.search(frame.scope.meaning(named)) or name in ("StopIteration", "StopAsyncIteration"):
        return True
    return depth < MOST_NAMES and _each(node, frame, lambda value: is_error(value, frame, depth + 1))


def _each(node: cst.BaseExpression, frame: SymbolTable, condition: object) -> bool:
    """Whether a condition holds of every value that a name is known to have."""
    if not isinstance(node, cst.Name):
        return False
    values = list(frame.plain.get(node.value, ()))
    if not values and isinstance(known := frame.names.get(node.value), PlainCode):
        values = [known.node] if known.node is not node else []
    if not values and (constant := frame.scope.constant(node.value)) is not None:
        values = [constant]
    return bool(values) and all(condition(value) for value in values)  # type: ignore[operator]
