"""Helpers to read and build syntax nodes of libcst."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.manual_changes import CannotRewrite

# libcst renders a node only through a module.
_EMPTY = cst.Module([])
MODEL_NAMES = ("model_id", "name")
"""The attributes by which mocks of models have a name of their own."""
NodeT = TypeVar("NodeT", bound=cst.CSTNode)
BINDINGS: tuple[type[cst.CSTNode], ...] = (
    cst.AnnAssign,
    cst.AsName,
    cst.AssignTarget,
    cst.AugAssign,
    cst.CompFor,
    cst.Del,
    cst.For,
    cst.ImportAlias,
    cst.NamedExpr,
)
"""The nodes that bind names within the body of a function."""
SCOPES = (cst.FunctionDef, cst.Lambda, cst.ClassDef)
"""The nodes that have names of their own."""
_LAYOUT_FIELDS = (
    "leading_lines",
    "lines_after_decorators",
    "trailing_whitespace",
    "lpar",
    "rpar",
    "comma",
    "semicolon",
    "footer",
    "header",
)


def to_source(node: cst.CSTNode) -> str:
    """Return the source code of a node."""
    return _EMPTY.code_for_node(node)


def get_first_line(node: cst.CSTNode) -> str:
    """Return the first line of a node's source code, without the comments above it."""
    return to_source(strip_leading_lines(node)).strip().splitlines()[0]


def strip_leading_lines(node: cst.CSTNode) -> cst.CSTNode:
    """Return a statement without the blank lines and comments above it."""
    if not hasattr(node, "leading_lines"):
        return node
    return node.with_changes(leading_lines=[])


def parse_expression(source: str) -> cst.BaseExpression:
    """Parse an expression."""
    return cst.parse_expression(source)


def parse_statement(source: str) -> cst.SimpleStatementLine:
    """Parse a statement that fits on one line."""
    return cst.ensure_type(cst.parse_statement(source), cst.SimpleStatementLine)


# Nodes never change and are compared by identity. Each pass over a statement asks for its names
# several times.
@functools.lru_cache(maxsize=20_000)
def collect_names(node: cst.CSTNode) -> frozenset[str]:
    """Return the names that a node reads or binds, without attributes and keywords."""
    names = set()
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, cst.Name):
            names.add(current.value)
        elif isinstance(current, (cst.Attribute, cst.Arg)):
            # The attribute and the keyword are Name nodes too, but they are not variables.
            pending.append(current.value)
        else:
            pending += list_children(current)
    return frozenset(names)


def list_children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """Return the nodes inside of a node, without whitespace and comments.

    A visitor of libcst copies each node that it visits, which takes ten times as long.
    """
    children: list[cst.CSTNode] = []
    for name in _list_fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            children.append(value)
        elif isinstance(value, (list, tuple)):
            children += [item for item in value if isinstance(item, cst.CSTNode)]
    return children


@functools.cache
def _list_fields(node_type: type[cst.CSTNode]) -> list[str]:
    names = []
    for field in dataclasses.fields(node_type):
        if not _is_layout(field.name):
            names.append(field.name)
    return names


def _is_layout(name: str) -> bool:
    return name.startswith("whitespace") or name in _LAYOUT_FIELDS


def find_nodes(node: cst.CSTNode, *types: type[NodeT]) -> list[NodeT]:
    """Return the nodes of some types in a node, itself included, in no certain order."""
    found = []
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, types):
            found.append(current)
        pending += list_children(current)
    return found


def collect_bound_names(binding: cst.CSTNode) -> frozenset[str]:
    """Return the names that a node of `BINDINGS` or a parameter binds."""
    target = getattr(
        binding,
        "target",
        binding,
    )
    # `calls.last = text` and `calls[text] = 1` do not bind names.
    owners = find_nodes(
        target,
        cst.Attribute,
        cst.Subscript,
    )
    return collect_names(target).difference(*map(collect_names, owners))


def find_objects(function: cst.FunctionDef) -> frozenset[str]:
    """Return the parameters of a function whose annotations name a class, and not of a module."""
    found = set()
    for parameter in function.params.params:
        if parameter.annotation is None:
            continue
        name = get_dotted_name(parameter.annotation.annotation) or ""
        _, _, last = name.rpartition(".")
        if last[:1].isupper() and last not in ("Any", "ModuleType"):
            found.add(parameter.name.value)
    return frozenset(found)


def count_bindings(node: cst.CSTNode) -> Counter[str]:
    """Return the names that the statements in a node bind, each with how often."""
    bindings: Counter[str] = Counter()
    for binding in find_nodes(node, *BINDINGS):
        bindings.update(collect_bound_names(binding))
    return bindings


def list_assignments(
    node: cst.CSTNode,
) -> list[tuple[cst.BaseExpression, cst.BaseExpression | None]]:
    """Return the targets of the assignments in a node, each with its value, if it has one."""
    pairs: list[tuple[cst.BaseExpression, cst.BaseExpression | None]] = []
    for assignment in find_nodes(node, cst.Assign):
        for target in assignment.targets:
            pairs.append((target.target, assignment.value))
    for annotated in find_nodes(node, cst.AnnAssign):
        pairs.append((annotated.target, annotated.value))
    return pairs


def get_assigned_name(node: cst.BaseSmallStatement) -> str:
    """Return the only name to which a statement assigns; empty for another statement."""
    target: cst.CSTNode = node
    if isinstance(node, cst.AnnAssign):
        target = node.target
    elif isinstance(node, cst.Assign):
        [first, *others] = node.targets
        if not others:
            target = first.target
    return target.value if isinstance(target, cst.Name) else ""


def get_keyword(argument: cst.Arg) -> str:
    """Return the keyword of an argument; empty for a positional one."""
    return argument.keyword.value if argument.keyword is not None else ""


def find_local_names(function: cst.FunctionDef) -> set[str]:
    """Return the names that a function binds by its own parameters and statements."""
    names = set(get_parameter_names(function))
    pending = list_children(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, SCOPES):
            continue
        pending += list_children(node)
        if isinstance(node, BINDINGS):
            names |= collect_bound_names(node)
    return names


def reads_attribute(name: str, node: cst.CSTNode) -> bool:
    """Return whether a node reads or sets an attribute of a name, other than in an import."""
    modules: set[int] = set()
    for statement in find_nodes(node, cst.Import, cst.ImportFrom):
        modules.update(map(id, find_nodes(statement, cst.Attribute)))
    for attribute in find_nodes(node, cst.Attribute):
        owner = attribute.value
        is_owner = get_dotted_name(owner) == name
        if is_owner and id(attribute) not in modules:
            return True
    return False


def get_dotted_name(node: cst.CSTNode) -> str | None:
    """Return `a.b.c` if the node is a name or a chain of attributes, else None."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        owner = get_dotted_name(node.value)
        if owner is not None:
            return f"{owner}.{node.attr.value}"
    return None


def get_bound_name(alias: cst.ImportAlias) -> str:
    """Return the name that an import binds."""
    name = get_dotted_name(alias.asname.name if alias.asname else alias.name) or ""
    # `import a.b` binds `a`.
    return name.partition(".")[0]


def get_string(node: cst.CSTNode | None) -> str | None:
    """Return the value of a string literal, else None."""
    if isinstance(node, (cst.SimpleString, cst.ConcatenatedString)):
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    return None


def collect_texts(node: cst.CSTNode) -> Counter[str]:
    """Return the string literals in a node, each with how often it is written."""
    texts: Counter[str] = Counter()
    for literal in find_nodes(node, cst.SimpleString):
        text = get_string(literal)
        if text is not None:
            texts[text] += 1
    for part in find_nodes(node, cst.FormattedStringText):
        texts[part.value] += 1
    return texts


def count_model_ids(node: cst.CSTNode) -> Counter[str]:
    """Count the strings that a node uses as names of mocked models."""
    values = []
    for assignment in find_nodes(node, cst.Assign):
        if any(map(_is_model_id, assignment.targets)):
            values.append(assignment.value)
    for argument in find_nodes(node, cst.Arg):
        # `Mock(name="m")` names the mock itself.
        if get_keyword(argument) == "model_id":
            values.append(argument.value)
    texts: Counter[str] = Counter()
    for value in values:
        text = get_string(value)
        if text is not None:
            texts[text] += 1
    return texts


def _is_model_id(target: cst.AssignTarget) -> bool:
    attribute = target.target
    return isinstance(attribute, cst.Attribute) and attribute.attr.value in MODEL_NAMES


def get_elements(node: cst.BaseExpression) -> list[cst.BaseExpression] | None:
    """Return the elements of a list or tuple; None for others and if `*` hides some."""
    if not isinstance(node, (cst.List, cst.Tuple)):
        return None
    if m.findall(node, m.StarredElement()):
        return None
    return [element.value for element in node.elements]


def join_strings(nodes: Sequence[cst.BaseExpression] | None) -> str | None:
    """Return the text of literal strings; None without any, or if one is something else."""
    if not nodes:
        return None
    known = []
    for node in nodes:
        text = get_string(node)
        if text is None:
            return None
        known.append(text)
    return "".join(known)


def get_int(node: cst.CSTNode | None) -> int | None:
    """Return the value of an integer literal with an optional minus, else None."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        inner = get_int(node.expression)
        return None if inner is None else -inner
    if isinstance(node, cst.Integer):
        return int(node.value, 0)
    return None


def get_index(node: cst.Subscript) -> cst.BaseExpression | None:
    """Return the index of `value[index]`, or None for slices and several indices."""
    if len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
        return node.slice[0].slice.value
    return None


def has_call(node: cst.CSTNode) -> bool:
    """Return whether a node may run code of the application."""
    # `with` and `for` call methods of their subject without a Call node.
    return bool(find_nodes(node, cst.Call, cst.Await, cst.With, cst.For))


Arguments = tuple[list[cst.BaseExpression], dict[str, cst.BaseExpression]]


def get_arguments(call: cst.Call) -> Arguments | None:
    """Return the positional and the keyword arguments of a call.

    None if `*` or `**` hides some; `**{"name": value}` with literal keys is read.
    """
    positional: list[cst.BaseExpression] = []
    keywords: dict[str, cst.BaseExpression] = {}
    for argument in call.args:
        if argument.star == "**" and isinstance(argument.value, cst.Dict):
            items = read_dict(argument.value)
            if items is None:
                return None
            keywords |= items
        elif argument.star:
            return None
        elif argument.keyword is not None:
            keywords[argument.keyword.value] = argument.value
        else:
            positional.append(argument.value)
    return positional, keywords


def read_dict(node: cst.Dict) -> dict[str, cst.BaseExpression] | None:
    """Return the values of a dict by their keys, or None if a key is not a literal string."""
    items: dict[str, cst.BaseExpression] = {}
    for element in node.elements:
        name = None
        if isinstance(element, cst.DictElement):
            name = get_string(element.key)
        if name is None:
            return None
        items[name] = element.value
    return items


def get_parameter_names(function: cst.FunctionDef | cst.Lambda) -> list[str]:
    """Return the names of all parameters, `*args` and `**kwargs` included."""
    parameters = function.params
    names = list_single_parameters(parameters)
    for star in (parameters.star_arg, parameters.star_kwarg):
        # A bare `*` is a ParamStar, which has no name.
        if isinstance(star, cst.Param):
            names.append(star.name.value)
    return names


def list_single_parameters(parameters: cst.Parameters) -> list[str]:
    """Return the names of the parameters that take one argument each."""
    groups = (parameters.posonly_params, parameters.params, parameters.kwonly_params)
    names = []
    for group in groups:
        names += [parameter.name.value for parameter in group]
    return names


def get_statements(function: cst.FunctionDef | cst.ClassDef) -> list[cst.BaseStatement]:
    """Return the statements of a body without its docstring."""
    body = split_block(function.body)
    if body and is_docstring(body[0]):
        del body[0]
    return body


def split_block(block: cst.BaseSuite) -> list[cst.BaseStatement]:
    """Return the statements of a block, each on a separate line."""
    lines: list[cst.BaseStatement] = []
    for node in block.body:
        if isinstance(node, cst.BaseStatement):
            lines.append(node)
        elif isinstance(node, cst.BaseSmallStatement):
            # `def f(): return 1` has small statements without a line of their own.
            without_semicolon = node.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
            lines.append(cst.SimpleStatementLine([without_semicolon]))
    if isinstance(block, cst.SimpleStatementSuite):
        # A comment behind them.
        trailing = block.trailing_whitespace
        lines[-1] = lines[-1].with_changes(trailing_whitespace=trailing)
    return lines


def is_docstring(node: cst.CSTNode) -> bool:
    """Return whether a statement consists of a string only."""
    return m.matches(node, m.SimpleStatementLine([m.Expr(m.SimpleString())]))


def get_small_statement(node: cst.CSTNode) -> cst.BaseSmallStatement | None:
    """Return the only small statement of a line, or None."""
    if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1:
        return node.body[0]
    return None


def get_truth(node: cst.BaseExpression) -> bool | None:
    """Return whether a literal, or a condition on literals, is true; None if it is unknown."""
    if isinstance(node, cst.Name):
        return _TRUTH_OF_NAMES.get(node.value)
    if isinstance(node, (cst.List, cst.Tuple, cst.Dict)):
        is_starred = m.findall(node, m.StarredElement() | m.StarredDictElement())
        if is_starred:
            return None
        return bool(node.elements)
    if isinstance(node, cst.BooleanOperation):
        return _get_truth_of_operation(node)
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        truth = get_truth(node.expression)
        if truth is None:
            return None
        return not truth
    if isinstance(node, cst.Comparison):
        return _compare_with_none(node)
    if m.matches(node, _TYPE_QUESTION):
        return _is_instance(cst.ensure_type(node, cst.Call))
    return _get_truth_of_constant(node)


def _is_instance(call: cst.Call) -> bool | None:
    """Return whether `isinstance(literal, str)` holds; None if it is unknown."""
    value, kind = [argument.value for argument in call.args]
    name = _get_literal_type(value)
    asked = to_source(kind)
    if not name or asked not in ("str", *_LITERAL_TYPES):
        return None
    return name == asked


def _get_literal_type(node: cst.BaseExpression) -> str:
    """Return the name of the type of a literal; empty for another expression."""
    if get_string(node) is not None or isinstance(node, cst.FormattedString):
        return "str"
    for name, kind in _LITERAL_TYPES.items():
        if isinstance(node, kind):
            return name
    return ""


def _get_truth_of_constant(node: cst.BaseExpression) -> bool | None:
    text = get_string(node)
    if text is not None:
        return bool(text)
    number = get_int(node)
    if number is not None:
        return bool(number)
    return None


_TYPE_QUESTION = m.Call(m.Name("isinstance"), [m.Arg(keyword=None), m.Arg(keyword=None)])
_LITERAL_TYPES = {"dict": cst.Dict, "list": cst.List}
_TRUTH_OF_NAMES = {"True": True, "False": False, "None": False}


def _get_truth_of_operation(node: cst.BooleanOperation) -> bool | None:
    left = get_truth(node.left)
    right = get_truth(node.right)
    # `x or True` is true and `x and False` is false, whatever x is.
    deciding = isinstance(node.operator, cst.Or)
    if deciding in (left, right):
        return deciding
    if None in (left, right):
        return None
    return not deciding


def _compare_with_none(node: cst.Comparison) -> bool | None:
    """Return whether `value is None` or `value is not None` holds; None if it is unknown."""
    [comparison, *others] = node.comparisons
    if others or not m.matches(comparison.comparator, m.Name("None")):
        return None
    is_none = m.matches(node.left, m.Name("None"))
    # The truth of a literal is known, and no other literal is None.
    if not is_none and get_truth(node.left) is None:
        return None
    if isinstance(comparison.operator, cst.Is):
        return is_none
    if isinstance(comparison.operator, cst.IsNot):
        return not is_none
    return None


def _change_quotes(
    node: cst.BaseExpression,
    quote: str,
    *,
    is_whole: bool = True,
) -> cst.BaseExpression:
    """Return an expression without a kind of quotes, for use in an f-string.

    Raises:
        CannotRewrite: the quotes cannot be changed, or the source has a backslash.
    """
    source = to_source(node)
    is_safe = "\\" not in source and "\n" not in source
    if is_safe and quote not in source:
        return node
    text = get_string(node)
    other = "'" if quote == '"' else '"'
    if text is None and is_whole:
        # `values["name"]`, for example: its strings change, one by one.
        changed = cast("cst.BaseExpression", node.visit(_QuoteChanger(quote)))
        return _change_quotes(changed, quote, is_whole=False)
    unsafe = {quote, other, "\\"}
    if text is None or not text.isprintable() or not unsafe.isdisjoint(text):
        raise CannotRewrite(f"a helper uses {source} in an f-string", node=node)
    return cst.SimpleString(f"{other}{text}{other}")


class _QuoteChanger(cst.CSTTransformer):
    def __init__(self, quote: str) -> None:
        self.quote = quote

    def leave_SimpleString(
        self,
        original_node: cst.SimpleString,
        updated_node: cst.SimpleString,
    ) -> cst.BaseExpression:
        return _change_quotes(updated_node, self.quote)


def separate_quotes(node: cst.FormattedString) -> cst.FormattedString:
    """Return an f-string whose expressions have no strings in its quotes."""
    # Before Python 3.12 an f-string ends at the next quote of its kind.
    changer = _QuoteChanger(node.quote[0])
    parts = [cst.ensure_type(part.visit(changer), type(part)) for part in node.parts]
    return node.with_changes(parts=parts)


class _NameReplacer(cst.CSTTransformer):
    def __init__(self, values: Mapping[str, cst.BaseExpression]) -> None:
        self.values = values

    def leave_BooleanOperation(
        self,
        original_node: cst.BooleanOperation,
        updated_node: cst.BooleanOperation,
    ) -> cst.BaseExpression:
        """Return the side of `names or []` that counts, once the left one is known."""
        truth = get_truth(updated_node.left)
        if truth is None:
            return updated_node
        is_left = truth == isinstance(updated_node.operator, cst.Or)
        return updated_node.left if is_left else updated_node.right

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        return self.values.get(original_node.value, updated_node)

    def leave_FormattedString(
        self,
        original_node: cst.FormattedString,
        updated_node: cst.FormattedString,
    ) -> cst.BaseExpression:
        """Return an f-string in which no inserted string has its quotes."""
        # Before Python 3.12 an f-string ends at the next quote of its kind.
        quote = updated_node.quote[0]
        parts = []
        for part in updated_node.parts:
            if isinstance(part, cst.FormattedStringExpression):
                expression = _change_quotes(part.expression, quote)
                part = part.with_changes(expression=expression)
            parts.append(part)
        return updated_node.with_changes(parts=parts)

    # Attributes and keywords are Name nodes too, which leave_Name has replaced.
    def leave_Attribute(
        self,
        original_node: cst.Attribute,
        updated_node: cst.Attribute,
    ) -> cst.BaseExpression:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)


def replace_names(
    node: NodeT,
    values: Mapping[str, cst.BaseExpression],
) -> NodeT:
    """Return an expression or statement with some names replaced by expressions."""
    if not collect_names(node) & values.keys():
        return node
    return cast("NodeT", node.visit(_NameReplacer(values)))
