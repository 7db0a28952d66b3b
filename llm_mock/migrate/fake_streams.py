"""Read the generators and classes of a test file that imitate the stream of a response."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.doubles import PlainCode
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import (
    find_nodes,
    get_elements,
    get_small_statement,
    get_statements,
    replace_names,
    split_block,
    to_source,
)
from llm_mock.migrate.value_types import find_only_value

# `__stream__` is the one that the stream classes of SDKs call.
_ITERATION = ("__stream__", "__iter__", "__aiter__")
_END = ("close", "aclose")
_NEXT = ("__next__", "__anext__")
_SUPER_INIT = m.Call(m.Attribute(m.Call(m.Name("super")), m.Name("__init__")))
_RETURN_ITER = m.Return(m.Call(m.Name("iter"), [m.Arg()]))
_PAUSE = m.Await(m.Call(m.Attribute(m.Name("asyncio"), m.Name("sleep"))))
_ATTRIBUTE = m.Attribute(m.Name("self"))
_POP = m.Call(m.Attribute(_ATTRIBUTE, m.Name("pop")), [m.Arg(m.Integer("0"))])
_NEXT_CALL = m.Call(m.Name("next"), [m.Arg(_ATTRIBUTE)])
_ITEM = m.Subscript(_ATTRIBUTE, [m.SubscriptElement(m.Index(_ATTRIBUTE))])


def is_super_init(node: cst.BaseSmallStatement | None) -> bool:
    """Return whether a statement initializes the base of a class."""
    return isinstance(node, cst.Expr) and m.matches(node.value, _SUPER_INIT)


def find_items(
    methods: Mapping[str, cst.FunctionDef],
    table: SymbolTable,
) -> cst.BaseExpression | None:
    """Return the expression for the list that an object yields; None if it does something else.

    Args:
        methods: the methods of its class, by name.
        table: the values of the names where it is made.
    """
    method = _find_iteration(methods)
    if method is None:
        return None
    body = get_statements(method)
    part = get_small_statement(body[-1])
    if not isinstance(part, cst.Return):
        return find_yielded(body, table)
    if len(body) > 1:
        return None
    if m.matches(part, _RETURN_ITER):
        call = cst.ensure_type(part.value, cst.Call)
        return call.args[0].value
    return _find_items_of_iterator(part, methods)


def _find_iteration(methods: Mapping[str, cst.FunctionDef]) -> cst.FunctionDef | None:
    """Return the method that iterates an object which has no methods for anything else."""
    for name in methods:
        is_special = name.startswith("__")
        if not is_special and name not in _END:
            return None
    for name in _ITERATION:
        if name in methods:
            return methods[name]
    return None


def find_yielded(body: list[cst.BaseStatement], table: SymbolTable) -> cst.BaseExpression | None:
    """Return a list of what a generator yields; None if it does something else.

    Args:
        body: the statements of the generator.
        table: the values of its names.
    """
    elements: list[cst.BaseElement] = []
    for node in body:
        part = get_small_statement(node)
        if isinstance(part, cst.Expr) and m.matches(part.value, _PAUSE):
            continue
        if isinstance(node, cst.For):
            yielded = _find_yielded_by_loop(node, table)
        else:
            yielded = _get_yielded(part)
        if isinstance(yielded, list):
            elements += yielded
        else:
            # Other values before or behind it are unknown here.
            return yielded if len(body) == 1 else None
    return cst.List(elements) if elements else None


def _get_yielded(
    part: cst.BaseSmallStatement | None,
) -> list[cst.BaseElement] | cst.BaseExpression | None:
    """Return the element of `yield item`, or the items of `yield from items`."""
    if not isinstance(part, cst.Expr) or not isinstance(part.value, cst.Yield):
        return None
    value = part.value.value
    if isinstance(value, cst.From):
        return value.item
    return None if value is None else [cst.Element(value)]


def _find_yielded_by_loop(
    node: cst.For,
    table: SymbolTable,
) -> list[cst.BaseElement] | cst.BaseExpression | None:
    """Return the elements of `for text in texts: yield make(text)`, or the items as they are."""
    body = split_block(node.body)
    yielded = _get_yielded(get_small_statement(body[0]))
    if len(body) > 1 or node.orelse is not None or not isinstance(node.target, cst.Name):
        return None
    if not isinstance(yielded, list):
        return None
    name = node.target.value
    if to_source(yielded[0].value) == name:
        return node.iter
    items = _find_elements(node.iter, table)
    if items is None:
        return None
    elements: list[cst.BaseElement] = []
    for item in items:
        value = replace_names(yielded[0].value, {name: item})
        elements.append(cst.Element(value))
    return elements


def _find_elements(
    node: cst.BaseExpression,
    table: SymbolTable,
) -> list[cst.BaseExpression] | None:
    """Return the items of a list without mocks, or None."""
    value = table.evaluate(node)
    if not isinstance(value, PlainCode):
        return None
    items = find_only_value(value.node, table)
    return None if items is None else get_elements(items)


def _find_items_of_iterator(
    part: cst.Return,
    methods: Mapping[str, cst.FunctionDef],
) -> cst.BaseExpression | None:
    """Return the items that `__next__` takes one after the other from one attribute."""
    names = [name for name in _NEXT if name in methods]
    if not m.matches(part, m.Return(m.Name("self"))) or not names:
        return None
    found = []
    method = methods[names[0]]
    for node in find_nodes(method, cst.Call, cst.Subscript, cst.Return):
        items = _get_taken_from(node)
        if items is not None:
            found.append(items)
    return found[0] if len(found) == 1 else None


def _get_taken_from(node: cst.CSTNode) -> cst.BaseExpression | None:
    """Return `items` of `items.pop(0)`, `next(items)`, `items[self.index]` or `return item`."""
    if m.matches(node, _POP):
        call = cst.ensure_type(node, cst.Call)
        function = cst.ensure_type(call.func, cst.Attribute)
        return function.value
    if m.matches(node, _NEXT_CALL):
        call = cst.ensure_type(node, cst.Call)
        return call.args[0].value
    if m.matches(node, _ITEM):
        subscript = cst.ensure_type(node, cst.Subscript)
        return subscript.value
    if not m.matches(node, m.Return(_ATTRIBUTE)):
        return None
    item = cst.ensure_type(node, cst.Return).value
    if item is None:
        return None
    element = cst.Element(item)
    return cst.List([element])
