"""Small questions about a syntax tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import libcst as cst
import libcst.matchers as m

_EMPTY = cst.Module([])


def code(node: cst.CSTNode) -> str:
    """A node as it is written."""
    return _EMPTY.code_for_node(node)


def expression(source: str) -> cst.BaseExpression:
    """The node of an expression."""
    return cst.parse_expression(source)


def statement(source: str) -> cst.SimpleStatementLine:
    """The node of a statement on one line."""
    return cst.ensure_type(cst.parse_statement(source), cst.SimpleStatementLine)


def collect_names(node: cst.CSTNode) -> set[str]:
    """The names that an expression or a statement reads or binds; attributes and keywords are none."""
    found = _Names()
    node.visit(found)
    return found.names


class _Names(cst.CSTVisitor):
    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_Name(self, node: cst.Name) -> None:
        self.names.add(node.value)

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        node.value.visit(self)
        return False

    def visit_Arg(self, node: cst.Arg) -> bool:
        node.value.visit(self)
        return False


def get_dotted_name(node: cst.CSTNode) -> str | None:
    """`a.b.c` where a node is nothing else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        start = get_dotted_name(node.value)
        return start and f"{start}.{node.attr.value}"
    return None


def get_string(node: cst.CSTNode | None) -> str | None:
    """The value of a literal text; None for all else."""
    if isinstance(node, (cst.SimpleString, cst.ConcatenatedString)):
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    return None


def get_int(node: cst.CSTNode) -> int | None:
    """The value of a whole number; None for all else."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        inner = get_int(node.expression)
        return None if inner is None else -inner
    return int(node.value, 0) if isinstance(node, cst.Integer) else None


def get_index(node: cst.Subscript) -> cst.BaseExpression | None:
    """The one index of `value[index]`."""
    if len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
        return node.slice[0].slice.value
    return None


def has_call(node: cst.CSTNode) -> bool:
    """Whether something in a node is called or awaited, so that the application may run."""
    return bool(m.findall(node, m.OneOf(m.Call(), m.Await(), m.With(), m.For())))


def get_arguments(call: cst.Call) -> tuple[list[cst.BaseExpression], dict[str, cst.BaseExpression]] | None:
    """The arguments of a call by position and by name; None where `*` or `**` hides some."""
    positional: list[cst.BaseExpression] = []
    named: dict[str, cst.BaseExpression] = {}
    for argument in call.args:
        if argument.star == "**" and isinstance(argument.value, cst.Dict):
            for element in argument.value.elements:
                name = get_string(element.key) if isinstance(element, cst.DictElement) else None
                if name is None:
                    return None
                named[name] = element.value
        elif argument.star:
            return None
        elif argument.keyword is not None:
            named[argument.keyword.value] = argument.value
        else:
            positional.append(argument.value)
    return positional, named


def get_parameter_names(function: cst.FunctionDef | cst.Lambda) -> list[str]:
    """The names of all parameters."""
    parameters = function.params
    every = [*parameters.posonly_params, *parameters.params, *parameters.kwonly_params]
    stars = [star for star in (parameters.star_arg, parameters.star_kwarg) if isinstance(star, cst.Param)]
    return [each.name.value for each in [*every, *stars]]


def get_statements(function: cst.FunctionDef | cst.ClassDef) -> list[cst.BaseStatement]:
    """The statements of a body, without its docstring."""
    body = [part for part in function.body.body if isinstance(part, cst.BaseStatement)]
    if isinstance(function.body, cst.SimpleStatementSuite):
        body = [cst.SimpleStatementLine([part]) for part in function.body.body]
    is_docstring = m.matches(body[0], m.SimpleStatementLine([m.Expr(m.SimpleString())])) if body else False
    return body[1:] if is_docstring else body


def small(node: cst.CSTNode) -> cst.BaseSmallStatement | None:
    """The one small statement of a line."""
    if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1:
        return node.body[0]
    return None


class _Substitution(cst.CSTTransformer):
    def __init__(self, values: Mapping[str, cst.BaseExpression]) -> None:
        self.values = values

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        return self.values.get(original_node.value, updated_node)

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)


def replace_names(node: cst.BaseExpression, values: Mapping[str, cst.BaseExpression]) -> cst.BaseExpression:
    """An expression with names replaced."""
    return (
        cast("cst.BaseExpression", node.visit(_Substitution(values))) if collect_names(node) & values.keys() else node
    )
