"""Recognize the lists, dicts and attributes in which fakes keep the arguments of their calls."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.doubles import Argument, ArgumentLog, PlainCode, Record, TestDouble, Value
from llm_mock.migrate.scope import JSON_MODULE
from llm_mock.migrate.syntax import (
    BINDINGS,
    SCOPES,
    collect_names,
    find_nodes,
    get_arguments,
    get_assigned_name,
    get_elements,
    get_index,
    get_int,
    get_parameter_names,
    get_small_statement,
    get_string,
    list_children,
    parse_expression,
    replace_names,
    to_source,
)

ARGUMENTS = "__arguments__"
"""The name of a call's keyword arguments in a log."""
CALL = "__call__"
"""The name of a call's pair of positional and keyword arguments in a log."""
_EMPTY = m.List([]) | m.Dict([]) | m.Call(m.Name("list") | m.Name("dict"), []) | m.Name("None")
_NONE_ITEM = m.DictElement(m.SimpleString(), m.Name("None"))
# A recorded request never changes, so that it needs no copy.
_COPY = m.Call(
    m.Name("dict")
    | m.Name("copy")
    | m.Name("deepcopy")
    | m.Attribute(m.Name("copy"), m.Name("copy") | m.Name("deepcopy")),
    [m.Arg(keyword=None, star="")],
)
_COPY_METHOD = m.Call(m.Attribute(attr=m.Name("copy")), [])
_UNPACKED = m.Dict([m.StarredDictElement()])
_LOGGING_CALL = m.Call(m.Attribute(attr=m.Name("append") | m.Name("update")))
APPENDING_CALL = m.Call(m.Attribute(m.Name(), m.Name("append")), [m.Arg(keyword=None, star="")])
_UPDATE_UNPACKED = m.Call(m.Attribute(attr=m.Name("update")), [m.Arg(star="**")])
_KINDS = {"append": "append", "update": "merge"}


def find_containers(function: cst.FunctionDef) -> frozenset[str]:
    """Return the names in a function that may refer to logs.

    Each is bound once, to nothing yet, and an inner function, a class or a helper has it.
    """
    shared: set[str] = set()
    for node in _iterate_nodes(function):
        if isinstance(node, SCOPES):
            shared |= collect_names(node)
        elif isinstance(node, cst.Call):
            for argument in node.args:
                shared |= collect_names(argument)
    return _find_empty_containers(function) & shared


def find_filled_lists(function: cst.FunctionDef) -> frozenset[str]:
    """Return the names of the lists that a function makes empty, once, and appends to."""
    appended: set[str] = set()
    for node in _iterate_nodes(function):
        if m.matches(node, APPENDING_CALL):
            call = cst.ensure_type(node, cst.Call)
            appended |= collect_names(call.func)
    return _find_empty_containers(function) & appended


def _find_empty_containers(function: cst.FunctionDef) -> frozenset[str]:
    """Return the names of a function that are bound once, to nothing yet."""
    bindings: Counter[str] = Counter()
    empty: set[str] = set()
    for node in _iterate_nodes(function):
        if isinstance(node, BINDINGS):
            bindings.update(_list_bound_names(node))
        if isinstance(node, (cst.Assign, cst.AnnAssign)) and is_empty_container(node.value):
            name = get_assigned_name(node)
            empty.add(name)
    return frozenset(name for name in empty if bindings[name] == 1)


def _iterate_nodes(function: cst.FunctionDef) -> Iterator[cst.CSTNode]:
    """Yield the nodes in the body of a function, but not those in functions and classes there."""
    pending = list_children(function.body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, SCOPES):
            pending += list_children(node)


def _list_bound_names(node: cst.CSTNode) -> frozenset[str]:
    target = getattr(node, "target", node)
    return collect_names(target)


def is_empty_container(node: cst.BaseExpression | None) -> bool:
    """Return whether a container has nothing yet, or nothing but `None` at each key."""
    if node is None:
        # `calls: list` only declares it.
        return True
    if not isinstance(node, cst.Dict):
        return m.matches(node, _EMPTY)
    return all(m.matches(element, _NONE_ITEM) for element in node.elements)


def split_lambda(node: cst.Lambda) -> tuple[list[cst.BaseStatement], cst.BaseExpression]:
    """Return the calls that a lambda makes before it returns, and what it returns.

    These are `calls.append(kwargs) or reply` and `(calls.append(kwargs), reply)[1]`.
    """
    *calls, result = _list_evaluated(node.body)
    lines: list[cst.BaseStatement] = []
    for call in calls:
        if not m.matches(call, _LOGGING_CALL):
            return [], node.body
        statement = cst.Expr(call)
        lines.append(cst.SimpleStatementLine([statement]))
    return lines, result


def _list_evaluated(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return expressions that are evaluated in turn, of which the last one is the result."""
    if isinstance(node, cst.BooleanOperation) and isinstance(node.operator, cst.Or):
        # Both methods return None.
        return [node.left, node.right]
    if not isinstance(node, cst.Subscript):
        return [node]
    elements = get_elements(node.value)
    index = get_index(node)
    if not elements:
        return [node]
    is_last = get_int(index) in (-1, len(elements) - 1)
    return elements if is_last else [node]


def take_logs(
    function: cst.FunctionDef | cst.Lambda,
    body: Sequence[cst.BaseStatement],
    double: TestDouble,
    values: Mapping[str, Value],
) -> list[cst.BaseStatement]:
    """Note what a fake keeps of its calls, and return the other statements of its body.

    Args:
        function: the function or method.
        body: its statements.
        double: the double for it.
        values: the values of the names around it, and of its first parameter in a method.
    """
    known = {}
    for name, value in values.items():
        if not isinstance(value, Argument):
            known[name] = value
    recorder = _Recorder(
        function,
        double,
        known,
    )
    local_values: dict[str, cst.BaseStatement] = {}
    others: list[cst.BaseStatement] = []
    for position, node in enumerate(body):
        if isinstance(node, cst.BaseCompoundStatement):
            # Later statements may depend on it.
            others += body[position:]
            break
        part = get_small_statement(node)
        name = recorder.take_name(part)
        if name:
            local_values[name] = node
        elif not recorder.take(part):
            others.append(node)
    return [*_list_needed(local_values, others), *others]


def _list_needed(
    local_values: dict[str, cst.BaseStatement],
    others: Sequence[cst.BaseStatement],
) -> list[cst.BaseStatement]:
    """Return the statements that assign arguments of the call to names that are used later."""
    used: set[str] = set()
    for node in others:
        used |= collect_names(node)
    needed: list[cst.BaseStatement] = []
    for name, node in reversed(local_values.items()):
        if name in used:
            needed.insert(0, node)
            used |= collect_names(node)
    return needed


class _Recorder:
    def __init__(
        self,
        function: cst.FunctionDef | cst.Lambda,
        double: TestDouble,
        values: Mapping[str, Value],
    ) -> None:
        self.double = double
        self.values = values
        self.names = get_parameter_names(function)
        parameters = function.params
        by_position = [*parameters.posonly_params, *parameters.params]
        # Not `self`, which a call does not pass.
        given = [each for each in by_position if each.name.value not in values]
        self.first = ""
        if given:
            self.first = given[0].name.value
        self.reads = _list_reads([*given, *parameters.kwonly_params])
        keywords = parameters.star_kwarg
        if keywords is not None:
            name = keywords.name.value
            self.reads[name] = cst.Name(ARGUMENTS)
        self.pair = _get_pair(parameters)
        self.nonlocals: set[str] = set()
        self.function = function

    def take_name(self, part: cst.BaseSmallStatement | None) -> str:
        """Record and return the name that a statement assigns a part of the arguments to.

        The name is empty for another statement.
        """
        if not isinstance(part, cst.Assign):
            return ""
        name = get_assigned_name(part)
        known = {*self.names, *self.reads, *self.values, *self.nonlocals}
        if not name or name in known:
            return ""
        uses = [node for node in find_nodes(self.function, cst.Name) if node.value == name]
        kept = self._normalize(part.value)
        # A name that nothing reads may be meant for one of the test.
        if kept is None or len(uses) == 1:
            return ""
        self.reads[name] = kept
        return name

    def take(self, part: cst.BaseSmallStatement | None) -> bool:
        """Note what a statement keeps; return False if it does anything else."""
        if isinstance(part, cst.Nonlocal):
            return self._take_names(part)
        if isinstance(part, cst.Expr) and isinstance(part.value, cst.Call):
            return self._take_call(part.value)
        if not isinstance(part, cst.Assign):
            return False
        [first, *others] = part.targets
        if others:
            return False
        return self._take_assignment(first.target, part.value)

    def _take_names(self, part: cst.Nonlocal) -> bool:
        """Record the names in the test that a fake may assign to."""
        are_logs = True
        for item in part.names:
            name = item.name.value
            self.nonlocals.add(name)
            if not isinstance(self.values.get(name), ArgumentLog):
                are_logs = False
        return are_logs

    def _take_call(self, node: cst.Call) -> bool:
        """Note `calls.append(kwargs)`, `captured.update(kwargs)` or `captured.update(a=a)`."""
        arguments = get_arguments(node)
        if arguments is None or not isinstance(node.func, cst.Attribute):
            return self._take_unpacked(node)
        positional, keywords = arguments
        log = self._find_log(node.func.value)
        method = node.func.attr.value
        if log is None:
            return False
        if len(positional) == 1 and not keywords:
            kind = _KINDS.get(method, "")
            [value] = positional
            return self._note(log, kind, "", value)
        if method != "update" or positional:
            return False
        is_noted = True
        for name, value in keywords.items():
            is_noted &= self._note(
                log,
                "items",
                name,
                value,
            )
        return is_noted

    def _take_unpacked(self, node: cst.Call) -> bool:
        """Note `captured.update(**kwargs)`."""
        if not m.matches(node, _UPDATE_UNPACKED):
            return False
        function = cst.ensure_type(node.func, cst.Attribute)
        log = self._find_log(function.value)
        [argument] = node.args
        if log is None:
            return False
        return self._note(log, "merge", "", argument.value)

    def _take_assignment(self, target: cst.BaseExpression, value: cst.BaseExpression) -> bool:
        """Note `captured["model"] = kwargs["model"]` or `self.last_call = kwargs`."""
        if isinstance(target, cst.Subscript):
            log = self._find_log(target.value)
            key = get_string(get_index(target))
            if log is None or key is None:
                return False
            return self._note(log, "items", key, value)
        if isinstance(target, cst.Name) and target.value not in self.nonlocals:
            return False
        if self._normalize(value) is None:
            return False
        log = self._find_log(target, is_assigned=True)
        if log is None:
            return False
        return self._note(log, "assign", "", value)

    def _find_log(
        self,
        node: cst.BaseExpression,
        *,
        is_assigned: bool = False,
    ) -> ArgumentLog | None:
        """Return the log for a name or an attribute of a fake; create the log if necessary."""
        if isinstance(node, cst.Name):
            value = self._get_value(node)
            return value if isinstance(value, ArgumentLog) else None
        if isinstance(node, cst.Attribute):
            return self._find_attribute(node, is_assigned)
        return None

    def _find_attribute(self, node: cst.Attribute, is_assigned: bool) -> ArgumentLog | None:
        owner = self._get_value(node.value)
        if not isinstance(owner, TestDouble) or isinstance(owner, ArgumentLog):
            return None
        kept = owner.attributes.get(node.attr.value)
        if isinstance(kept, ArgumentLog):
            return kept
        if isinstance(kept, PlainCode):
            may_be_log = is_assigned or is_empty_container(kept.node)
        else:
            may_be_log = is_assigned and kept is None
        if not may_be_log:
            return None
        log = ArgumentLog()
        owner.attributes[node.attr.value] = log
        return log

    def _get_value(self, node: cst.BaseExpression) -> Value | None:
        if isinstance(node, cst.Name):
            return self.values.get(node.value)
        if not isinstance(node, cst.Attribute):
            return None
        owner = self._get_value(node.value)
        if not isinstance(owner, TestDouble):
            return None
        return owner.attributes.get(node.attr.value)

    def _note(
        self,
        log: ArgumentLog,
        kind: str,
        key: str,
        value: cst.BaseExpression,
    ) -> bool:
        kept = self._normalize(value)
        if kept is None or not kind:
            return False
        record = Record(
            self.double,
            kind,
            {key: kept},
            self.first,
        )
        log.note(record)
        return True

    def _normalize(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """Return the expression for a part of a call's arguments; None for another value."""
        node = _strip_copies(node)
        if to_source(node) == self.pair:
            return cst.Name(CALL)
        kept = replace_names(node, self.reads)
        names = set(collect_names(kept))
        for loop in find_nodes(kept, cst.CompFor):
            own_names = collect_names(loop.target)
            if not own_names.isdisjoint(self.names):
                return None
            names -= own_names
        if ARGUMENTS not in names:
            return None
        # The value of any other name may be another one when the test reads it.
        for name in names - {ARGUMENTS}:
            if name != JSON_MODULE and not hasattr(builtins, name):
                return None
        return kept


def _list_reads(parameters: Sequence[cst.Param]) -> dict[str, cst.BaseExpression]:
    """Return how each parameter of a fake is read from the arguments of its call."""
    reads: dict[str, cst.BaseExpression] = {}
    for parameter in parameters:
        name = parameter.name.value
        source = f'{ARGUMENTS}["{name}"]'
        if parameter.default is not None:
            default = to_source(parameter.default)
            source = f'{ARGUMENTS}.get("{name}", {default})'
        reads[name] = parse_expression(source)
    return reads


def _get_pair(parameters: cst.Parameters) -> str:
    """Return the source of the pair of positional and keyword arguments; empty if it has none."""
    positional = parameters.star_arg
    keywords = parameters.star_kwarg
    if not isinstance(positional, cst.Param) or keywords is None:
        return ""
    return f"({positional.name.value}, {keywords.name.value})"


def _strip_copies(node: cst.BaseExpression) -> cst.BaseExpression:
    """Return `x` of `dict(x)`, `copy.deepcopy(x)`, `x.copy()` or `{**x}`."""
    if m.matches(node, _COPY):
        call = cst.ensure_type(node, cst.Call)
        [argument] = call.args
        return _strip_copies(argument.value)
    if m.matches(node, _COPY_METHOD):
        call = cst.ensure_type(node, cst.Call)
        function = cst.ensure_type(call.func, cst.Attribute)
        return _strip_copies(function.value)
    if m.matches(node, _UNPACKED):
        mapping = cst.ensure_type(node, cst.Dict)
        [element] = mapping.elements
        return _strip_copies(element.value)
    return node
