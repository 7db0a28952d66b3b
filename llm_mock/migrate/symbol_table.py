"""Evaluates the expressions of a test as far as they make mocks."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from llm_mock.migrate.doubles import Argument, PlainCode, ReturnByName, SideEffectList, TestDouble, Value
from llm_mock.migrate.legacy_mock import MAKER, new_legacy_mock
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.scope import Scope
from llm_mock.migrate.syntax import (
    code,
    collect_names,
    get_arguments,
    get_index,
    get_int,
    get_parameter_names,
    get_string,
    replace_names,
)

MOST_CALLS = 30
"""How deep helpers may call each other, and how often a reply may be repeated."""


class SymbolTable:
    """What names stand for in a function.

    Args:
        scope: the file.
        names: what is known from the start.
        depth: how many helpers called each other to come here.
    """

    def __init__(self, scope: Scope, names: Mapping[str, Value] | None = None, depth: int = 0) -> None:
        self.scope = scope
        self.names: dict[str, Value] = dict(names or {})
        self.functions: dict[str, tuple[cst.FunctionDef, SymbolTable]] = {}
        """The functions that are defined in the function, and where."""
        self.plain: dict[str, list[cst.BaseExpression]] = {}
        """Expressions without mocks that were assigned to names."""
        self.foreign: frozenset[str] = frozenset()
        """Names of mocks that have nothing to do with `llm`, and are left alone."""
        self.depth = depth
        if depth > MOST_CALLS:
            raise CannotRewrite("its helpers call each other without end")

    def mentions(self, node: cst.CSTNode) -> set[str]:
        """The names in an expression that stand for mocks, or for what the application passes."""
        known = self.names.keys() - {name for name, value in self.names.items() if isinstance(value, PlainCode)}
        return collect_names(node) & known

    def value(self, node: cst.BaseExpression) -> Value:
        """What an expression stands for.

        Raises:
            CannotRewrite: it has to do with a mock, and is not known.
        """
        found = self._value(node)
        if isinstance(found, PlainCode) and (mentioned := self.mentions(found.node)):
            raise self._unknown(node, sorted(mentioned)[0])
        return found

    def _unknown(self, node: cst.BaseExpression, name: str) -> CannotRewrite:
        if isinstance(self.names[name], Argument):
            return CannotRewrite(
                f"the reply depends on what is asked ({code(node)})",
                "Give a function of the prompt: mock_llm_responses.set(model, lambda prompt: …); prompt.prompt is its "
                "text, prompt.system the system prompt.",
                node,
            )
        return CannotRewrite(f"{code(node)} makes something of the mock {name} that is not known", node=node)

    def _value(self, node: cst.BaseExpression) -> Value:
        if isinstance(node, cst.Name):
            if node.value in self.functions:
                return self._function(*self.functions[node.value])
            if node.value in self.names:
                return self.names[node.value]
            made = self.scope.functions.get(node.value)
            constant = self.scope.constant(node.value)
            if made is None and constant is not None and not isinstance(self.module_value(constant), PlainCode):
                return self.module_value(constant)
            return (
                PlainCode(node) if made is None else self._function(made, SymbolTable(self.scope, depth=self.depth + 1))
            )
        if isinstance(node, cst.Attribute):
            return self._attribute(node)
        if isinstance(node, cst.Call):
            return self._call(node)
        if isinstance(node, cst.Lambda):
            return self._lambda(node)
        if isinstance(node, (cst.List, cst.Tuple)):
            return self._many(node)
        if isinstance(node, cst.Dict):
            return self._table(node)
        if isinstance(node, cst.Subscript):
            return self._chosen(node)
        if isinstance(node, cst.BinaryOperation) and (values := self._listed(node)) is not None:
            return SideEffectList(values)
        return self._inlined(node)

    def module_value(self, node: cst.BaseExpression) -> Value:
        """What a constant of the file stands for: a new mock each time it is looked at, as every test has its own."""
        try:
            return SymbolTable(self.scope, depth=self.depth + 1).value(node)
        except CannotRewrite:
            return PlainCode(node)

    def _listed(self, node: cst.BaseExpression) -> tuple[Value, ...] | None:
        """The values of a list that is put together of lists; None where it is not known."""
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
            left, right = self._listed(node.left), self._listed(node.right)
            return None if left is None or right is None else left + right
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):
            part, times = self._listed(node.left), get_int(node.right)
            return None if part is None or times is None or times > MOST_CALLS else part * times
        if isinstance(node, (cst.List, cst.Tuple)) and not isinstance(self._value(node), SideEffectList):
            return tuple(PlainCode(element.value) for element in node.elements)
        listed = None if isinstance(node, cst.BinaryOperation) else self._value(node)
        return listed.values if isinstance(listed, SideEffectList) else None

    def _inlined(self, node: cst.BaseExpression) -> PlainCode:
        """An expression in which the parameters of a helper are replaced by what was passed."""
        values = {name: value.node for name, value in self.names.items() if isinstance(value, PlainCode)}
        return PlainCode(replace_names(node, values))

    def _attribute(self, node: cst.Attribute) -> Value:
        base = self._value(node.value)
        if isinstance(base, TestDouble):
            return base.attribute(node.attr.value)
        if isinstance(base, ReturnByName) and node.attr.value in ("get", "__getitem__"):
            return TestDouble(grows=False, result=base)
        return self._inlined(node)

    def _call(self, node: cst.Call) -> Value:
        function = node.func
        kind = self.scope.mock_class(function)
        if kind is not None and not (isinstance(function, cst.Name) and function.value in self.names):
            return self._new_mock(node, is_async=kind == "AsyncMock")
        if self.scope.meaning(function).rpartition(".")[2] == MAKER:
            return new_legacy_mock(node)
        if self.scope.meaning(function) in ("types.SimpleNamespace", "SimpleNamespace"):
            return self._namespace(node)
        if isinstance(function, cst.Name) and function.value not in self.names:
            if function.value in self.functions:
                made, frame = self.functions[function.value]
                return self._helper(made, node, frame)
            if function.value in self.scope.functions:
                return self._helper(self.scope.functions[function.value], node, None)
            if function.value in self.scope.classes:
                made_up: Value = self.scope.fakes.new_fake(self.scope.classes[function.value], node, self)
                return made_up
            if function.value in ("iter", "list", "tuple") and len(node.args) == 1:
                inner = self._value(node.args[0].value)
                return inner if isinstance(inner, SideEffectList) else self._inlined(node)
        if isinstance(function, cst.Attribute) and function.attr.value in ("get", "__getitem__") and node.args:
            table = self._value(function.value)
            if isinstance(table, ReturnByName):
                return self._by_argument(table, node.args[0].value)
        return self._inlined(node)

    def _new_mock(self, node: cst.Call, is_async: bool) -> TestDouble:
        given = get_arguments(node)
        if given is None or len(given[0]) > 1:
            raise CannotRewrite(f"the arguments of {code(node.func)} are not written out", node=node)
        mock = TestDouble(is_async=is_async)
        configure(mock, given[1], self)
        return mock

    def _namespace(self, node: cst.Call) -> TestDouble:
        given = get_arguments(node)
        if given is None or given[0]:
            raise CannotRewrite("the arguments of SimpleNamespace are not written out", node=node)
        return TestDouble(grows=False, attributes={name: self.value(value) for name, value in given[1].items()})

    def _lambda(self, node: cst.Lambda) -> TestDouble:
        inner = SymbolTable(
            self.scope, {**self.names, **{name: Argument(name) for name in get_parameter_names(node)}}, self.depth + 1
        )
        inner.functions = self.functions
        double = TestDouble(grows=False)
        try:
            double.result = inner.value(node.body)
        except CannotRewrite as unsure:
            double.unknown = unsure
        return double

    def _function(self, node: cst.FunctionDef, frame: SymbolTable) -> TestDouble:
        double: TestDouble = self.scope.fakes.new_function_double(node, frame)
        return double

    def _helper(self, made: cst.FunctionDef, node: cst.Call, frame: SymbolTable | None) -> Value:
        """What a helper of the file gives for these arguments; plain code where it makes no mocks."""
        if frame is None and not self.scope.fakes.makes_mocks(made, self.scope):
            return self._inlined(node)
        value: Value = self.scope.fakes.call_helper(made, node, self, frame)
        return value

    def _many(self, node: cst.List | cst.Tuple) -> Value:
        if any(isinstance(element, cst.StarredElement) for element in node.elements):
            return self._inlined(node)
        values = tuple(self._value(element.value) for element in node.elements)
        plain = [value.node for value in values if isinstance(value, PlainCode)]
        if len(plain) < len(values):
            return SideEffectList(values)
        pairs = zip(node.elements, plain, strict=True)
        return PlainCode(node.with_changes(elements=[element.with_changes(value=value) for element, value in pairs]))

    def _table(self, node: cst.Dict) -> Value:
        pairs = []
        for element in node.elements:
            name = get_string(element.key) if isinstance(element, cst.DictElement) else None
            if name is None:
                return self._inlined(node)
            pairs.append((name, self._value(element.value)))
        return (
            self._inlined(node)
            if all(isinstance(value, PlainCode) for _, value in pairs)
            else ReturnByName(tuple(pairs))
        )

    def _chosen(self, node: cst.Subscript) -> Value:
        base, index = self._value(node.value), get_index(node)
        if isinstance(base, ReturnByName) and index is not None:
            return self._by_argument(base, index)
        return self._inlined(node)

    def _by_argument(self, table: ReturnByName, index: cst.BaseExpression) -> Value:
        name = get_string(index)
        if name is not None:
            return dict(table.values)[name] if name in dict(table.values) else PlainCode(index)
        if isinstance(index, cst.Name) and isinstance(self.names.get(index.value), Argument):
            return table
        raise CannotRewrite(f"it is not known which mock {code(index)} chooses", node=index)


def configure(mock: TestDouble, given: Mapping[str, cst.BaseExpression], frame: SymbolTable) -> None:
    """What the keywords of `Mock(…)`, `patch(…)` and `configure_mock(…)` say.

    Raises:
        CannotRewrite: one is not known.
    """
    for name, node in given.items():
        if name in ("name", "spec", "spec_set", "autospec", "unsafe"):
            continue
        if name in ("wraps", "new_callable", "create"):
            raise CannotRewrite(f"{name}= is not known", node=node)
        *path, last = name.split(".")
        owner: Value = mock
        for step in path:
            if not isinstance(owner, TestDouble):
                raise CannotRewrite(f"{name} leads through something that is no mock", node=node)
            owner = owner.attribute(step)
        if not isinstance(owner, TestDouble):
            raise CannotRewrite(f"{name} leads through something that is no mock", node=node)
        owner.assign(last, frame.value(node))
