"""Evaluate the expressions of a test as far as they make mocks."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.argument_logs import split_lambda, take_logs
from llm_mock.migrate.body import LocalDefinition
from llm_mock.migrate.doubles import (
    Argument,
    PlainCode,
    ReturnByName,
    SideEffectList,
    TestDouble,
    Value,
)
from llm_mock.migrate.legacy_mock import FACTORY, new_legacy_mock
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.scope import Scope
from llm_mock.migrate.syntax import (
    collect_names,
    find_nodes,
    get_arguments,
    get_elements,
    get_index,
    get_int,
    get_parameter_names,
    get_statements,
    get_string,
    get_truth,
    list_single_parameters,
    reads_attribute,
    replace_names,
    to_source,
)

# Bounds recursion of helpers, and the length of `[reply] * n`.
MAX_DEPTH = 30
# Also the answers of SDKs.
_NAMESPACES = (
    "types.SimpleNamespace",
    "SimpleNamespace",
    "openai.types.",
    "anthropic.types.",
    "google.genai.types.",
    "mistralai.client.models.",
)
_MODULE = "types.ModuleType"
# litellm has them in several modules, beside functions that a test calls.
_LITELLM_TYPES = (
    "ModelResponse",
    "ModelResponseStream",
    "Choices",
    "StreamingChoices",
    "Message",
    "Delta",
    "Usage",
    "Function",
    "ChatCompletionMessageToolCall",
)


def is_namespace(name: str) -> bool:
    """Return whether the objects of a class have the constructor's arguments as attributes.

    Args:
        name: its qualified name.
    """
    if name.startswith("litellm."):
        return name.rpartition(".")[2] in _LITELLM_TYPES
    return name.startswith(_NAMESPACES)


def makes_object_with_attributes(node: cst.Call, scope: Scope) -> bool:
    """Return whether a call makes a namespace, or a module without attributes."""
    return scope.qualify(node.func) == _MODULE or is_namespace(scope.qualify_type(node.func))


class UnknownUse(CannotRewrite):
    """A mock is used in an unknown way; it may replace something else than a model."""

    def __init__(self, name: str, reason: str, node: cst.CSTNode) -> None:
        super().__init__(reason, node=node)
        self.name = name


# `assert_called_once_with`, `called`, `call_args`, …
_OF_CALLS = ("assert_", "call")


class CheckedClass(Exception):
    """A test checks how a patched class of clients is called, so that the patch has to stay."""

    def __init__(self, target: str) -> None:
        super().__init__(target)
        self.target = target


def _reads_only_calls(name: str, node: cst.CSTNode) -> bool:
    """Return whether a node uses a mock, and only to read or assert its calls."""
    uses = [use for use in find_nodes(node, cst.Name) if use.value == name]
    # `with patch(…) as name:`
    reads = 0
    for binding in find_nodes(node, cst.AsName):
        reads += m.matches(binding.name, m.Name(name))
    for attribute in find_nodes(node, cst.Attribute):
        is_of_mock = m.matches(attribute.value, m.Name(name))
        if is_of_mock and attribute.attr.value.startswith(_OF_CALLS):
            reads += 1
    return 0 < len(uses) == reads


class SymbolTable:
    """The values of the names in one function.

    Args:
        scope: the names of the file.
        values: the values that are known from the start.
        depth: the number of helper calls that led here.
    """

    def __init__(
        self,
        scope: Scope,
        values: Mapping[str, Value] | None = None,
        depth: int = 0,
    ) -> None:
        self.scope = scope
        self.values: dict[str, Value] = dict(values or {})
        self.functions: dict[str, tuple[cst.FunctionDef, SymbolTable]] = {}
        """The functions defined inside the function, with the table of their closure."""
        self.definitions: dict[str, LocalDefinition] = {}
        """Their places in the new function, which may have a new definition."""
        self.fixture = ""
        """The fixture that defines these names, if a test uses its value."""
        self.plain: dict[str, list[cst.BaseExpression]] = {}
        """The expressions without mocks that were assigned to names."""
        self.texts: Counter[str] = Counter()
        """The texts that are written in the function, each with how often."""
        self.model_ids: Counter[str] = Counter()
        """The texts that are assigned to the `model_id` of a mock."""
        self.is_of_test = False
        """Whether the function contains all uses of the mocks, so it is not a fixture or helper."""
        self.unrelated: frozenset[str] = frozenset()
        """The names of mocks that do not replace `llm`, which are left alone."""
        self.objects: frozenset[str] = frozenset()
        """The parameters whose annotations say that they are objects of a class."""
        self.clients: frozenset[str] = frozenset()
        """The names of clients that the test hands to the application."""
        self.sdks: frozenset[str] = frozenset()
        """The SDKs that the file names."""
        self.class_patches: dict[str, TestDouble] = {}
        """The mocks of client classes by their targets, whose patches may stay and wrap them."""
        self.checked_classes: dict[str, TestDouble] = {}
        """Those whose patches stay, by the names of their mocks."""
        self.depth = depth
        if depth > MAX_DEPTH:
            raise CannotRewrite("the helpers of the test call each other too deeply")

    def copy(self) -> SymbolTable:
        """Return a copy with its own values, for a branch."""
        table = copy.copy(self)
        table.values = dict(self.values)
        table.functions = dict(self.functions)
        return table

    def may_name(self, text: str) -> bool:
        """Return whether the test names a text of a mock anywhere else, or a part of it."""
        if not self.is_of_test or not text:
            return True
        for written, number in self.texts.items():
            is_elsewhere = number > self.model_ids[written]
            if not written or not is_elsewhere:
                continue
            if written in text or text in written:
                return True
        return False

    def find_mocks(self, node: cst.CSTNode) -> set[str]:
        """Return the names in a node that refer to mocks or to arguments of the application."""
        used = collect_names(node)
        found = {name for name in used if not isinstance(self.values.get(name, _PLAIN), PlainCode)}
        for name in found & self.clients:
            # The client itself is a real one; what the test reads or sets of it is a mock.
            if not reads_attribute(name, node):
                found.discard(name)
        return found - self.find_checked_classes(node)

    def find_checked_classes(self, node: cst.CSTNode) -> set[str]:
        """Return the names of client classes of which a node only reads how they are called."""
        found = set()
        for name, double in self.checked_classes.items():
            if self.values.get(name) is double and _reads_only_calls(name, node):
                found.add(name)
        return found

    def check_class(self, double: Value) -> None:
        """Raise a CheckedClass if a mock is a client class whose patch may stay."""
        for target, checked in self.class_patches.items():
            if checked is double and double not in self.checked_classes.values():
                raise CheckedClass(target)

    def evaluate(self, node: cst.BaseExpression) -> Value:
        """Return the value of an expression.

        Raises:
            CannotRewrite: it uses a mock in an unknown way.
        """
        value = self._evaluate(node)
        if isinstance(value, PlainCode):
            mocks = sorted(self.find_mocks(value.node))
            if mocks:
                raise self._unknown_use(node, mocks[0])
        return value

    def _unknown_use(self, node: cst.BaseExpression, name: str) -> CannotRewrite:
        source = to_source(node)
        if isinstance(self.values[name], Argument):
            return CannotRewrite(
                f"the reply depends on the prompt ({source})",
                "Configure a function of the request: "
                "mock_llm_responses.set(model, lambda request: …). request.prompt is the text, "
                "and request.system is the system prompt.",
                node,
            )
        return UnknownUse(name, f"this use of the mock {name} cannot be converted: {source}", node)

    def _evaluate(self, node: cst.BaseExpression) -> Value:
        for node_type, evaluate in _EVALUATORS:
            if isinstance(node, node_type):
                return evaluate(self, node)
        return self._inline(node)

    def _evaluate_name(self, node: cst.Name) -> Value:
        name = node.value
        if name in self.functions:
            function, table = self.functions[name]
            return self._new_function_double(function, table)
        if name in self.values:
            return self.values[name]
        helper = self.scope.functions.get(name)
        if helper is not None:
            return self._new_function_double(helper, SymbolTable(self.scope, depth=self.depth + 1))
        constant = self.scope.constants.get(name)
        if constant is not None:
            value = self._evaluate_constant(constant)
            if not isinstance(value, PlainCode):
                return value
        return PlainCode(node)

    def _evaluate_constant(self, node: cst.BaseExpression) -> Value:
        # Evaluated again on each use, because every test gets its own mock.
        try:
            return SymbolTable(self.scope, depth=self.depth + 1).evaluate(node)
        except CannotRewrite:
            return PlainCode(node)

    def _evaluate_choice(self, node: cst.BooleanOperation) -> Value:
        """Return the side of `options or Options()` that counts."""
        left = self._evaluate(node.left)
        truth = None
        if isinstance(left, PlainCode):
            truth = get_truth(left.node)
        elif isinstance(left, TestDouble):
            names = left.attributes.keys()
            truth = True if names.isdisjoint(_TRUTH_METHODS) else None
        if truth is None:
            return self._inline(node)
        is_left = truth == isinstance(node.operator, cst.Or)
        if is_left:
            return left
        return self._evaluate(node.right)

    def _evaluate_operation(self, node: cst.BinaryOperation) -> Value:
        values = self._list_values(node)
        if values is None:
            return self._inline(node)
        return SideEffectList(values)

    def _list_values(self, node: cst.BaseExpression) -> tuple[Value, ...] | None:
        """Return the items of `[a] + [b]` or `[a] * 2`, or None if they are unknown."""
        if isinstance(node, cst.BinaryOperation):
            return self._list_operation_values(node)
        value = self._evaluate(node)
        if isinstance(value, SideEffectList):
            return value.values
        elements = get_elements(node)
        if elements is None:
            return None
        return tuple(PlainCode(element) for element in elements)

    def _list_operation_values(self, node: cst.BinaryOperation) -> tuple[Value, ...] | None:
        if isinstance(node.operator, cst.Add):
            left = self._list_values(node.left)
            right = self._list_values(node.right)
            if left is not None and right is not None:
                return left + right
        if isinstance(node.operator, cst.Multiply):
            values = self._list_values(node.left)
            times = get_int(node.right)
            if values is not None and times is not None and times <= MAX_DEPTH:
                return values * times
        return None

    def _inline(self, node: cst.BaseExpression) -> PlainCode:
        """Replace the parameters of a helper by the arguments of its call."""
        nodes = {}
        for name, value in self.values.items():
            if isinstance(value, PlainCode):
                nodes[name] = value.node
        return PlainCode(replace_names(node, nodes))

    def get_truth(self, condition: cst.BaseExpression) -> bool | None:
        """Return whether a condition of a helper holds; None if it is unknown."""
        return get_truth(self._inline(condition).node)

    def _evaluate_attribute(self, node: cst.Attribute) -> Value:
        owner = self._evaluate(node.value)
        name = node.attr.value
        if isinstance(owner, TestDouble):
            return owner.get_attribute(name)
        if isinstance(owner, ReturnByName) and name in ("get", "__getitem__"):
            return TestDouble(has_any_attribute=False, return_value=owner)
        return self._inline(node)

    def _evaluate_call(self, node: cst.Call) -> Value:
        function = node.func
        is_local = isinstance(function, cst.Name) and function.value in self.values
        mock_class = self.scope.get_mock_class(function)
        if mock_class is not None and not is_local:
            return self._new_mock(node, is_async=mock_class == "AsyncMock")
        qualified_name = self.scope.qualify(function)
        last_name = qualified_name.rpartition(".")[2]
        if last_name == FACTORY:
            # Whatever module the project keeps it in.
            return new_legacy_mock(node)
        if qualified_name == _MODULE:
            return TestDouble(has_any_attribute=False)
        if is_namespace(self.scope.qualify_type(function)):
            return self._new_namespace(node)
        value = self._call_other(function, node)
        return self._inline(node) if value is None else value

    def _call_other(self, function: cst.BaseExpression, node: cst.Call) -> Value | None:
        """Return the result of a function or method of the file, None for another one."""
        if isinstance(function, cst.Attribute):
            return self._call_method(function, node)
        if isinstance(function, cst.Call):
            return self._call_factory(self._evaluate(function), node)
        if not isinstance(function, cst.Name):
            return None
        name = function.value
        if name in self.values:
            return self._call_factory(self.values[name], node)
        return self._call_function(name, node)

    def _call_function(self, name: str, node: cst.Call) -> Value | None:
        """Return the result of a helper, a fake class or `iter`, None for another function."""
        fakes = self.scope.fakes
        value: Value
        if name in self.functions:
            function, table = self.functions[name]
            value = fakes.call_helper(function, node, self, table)
            return value
        helper = self.scope.functions.get(name)
        if helper is not None:
            if not fakes.makes_mocks(helper, self.scope):
                return None
            value = fakes.call_helper(helper, node, self, None)
            return value
        if name in self.scope.classes:
            value = fakes.new_fake(
                self.scope.classes[name],
                node,
                self,
            )
            return value
        if name in ("iter", "list", "tuple") and len(node.args) == 1:
            inner = self._evaluate(node.args[0].value)
            return inner if isinstance(inner, SideEffectList) else None
        return None

    def _call_factory(self, factory: Value, node: cst.Call) -> Value | None:
        """Return the result of a mock, or of a function that a fixture returns; None for others."""
        if not isinstance(factory, FunctionDouble):
            if not isinstance(factory, TestDouble) or factory.side_effect is not None:
                return None
            return factory.get_return_value()
        value: Value = self.scope.fakes.call_helper(
            factory.definition,
            node,
            self,
            factory.closure,
        )
        return value

    def _call_method(self, function: cst.Attribute, node: cst.Call) -> Value | None:
        """Return the result of `models.get(name)`, or None for another method."""
        if function.attr.value not in ("get", "__getitem__") or not node.args:
            return None
        models = self._evaluate(function.value)
        if not isinstance(models, ReturnByName):
            return None
        return self._choose(models, node.args[0].value)

    def _new_mock(self, node: cst.Call, is_async: bool) -> TestDouble:
        arguments = get_arguments(node)
        # The one positional argument of Mock() is its spec.
        if arguments is None or len(arguments[0]) > 1:
            source = to_source(node.func)
            raise CannotRewrite(f"the arguments of {source} are not literal", node=node)
        mock = TestDouble(is_async=is_async)
        configure(mock, arguments[1], self)
        return mock

    def _new_namespace(self, node: cst.Call) -> TestDouble:
        arguments = get_arguments(node)
        if arguments is None or arguments[0]:
            source = to_source(node.func)
            raise CannotRewrite(f"the arguments of {source} are not literal", node=node)
        attributes = {name: self.evaluate(value) for name, value in arguments[1].items()}
        return TestDouble(has_any_attribute=False, attributes=attributes)

    def _evaluate_lambda(self, node: cst.Lambda) -> TestDouble:
        values = dict(self.values)
        for name in get_parameter_names(node):
            values[name] = Argument(name)
        inner = SymbolTable(self.scope, values, self.depth + 1)
        inner.functions = self.functions
        double = TestDouble(has_any_attribute=False)
        calls, result = split_lambda(node)
        try:
            others = take_logs(
                node,
                calls,
                double,
                values,
            )
            double.return_value = inner.evaluate(node.body if others else result)
        except CannotRewrite as error:
            # A problem only if the application calls it.
            double.problem = error
        return double

    def _new_function_double(self, node: cst.FunctionDef, table: SymbolTable) -> TestDouble:
        double: TestDouble = self.scope.fakes.new_function_double(node, table)
        return double

    def _evaluate_sequence(self, node: cst.List | cst.Tuple) -> Value:
        values: list[Value] = []
        elements = []
        for element in node.elements:
            if isinstance(element, cst.StarredElement):
                return self._inline(node)
            value = self._evaluate(element.value)
            values.append(value)
            if isinstance(value, PlainCode):
                inlined = element.with_changes(value=value.node)
                elements.append(inlined)
        if len(elements) < len(values):
            return SideEffectList(tuple(values))
        return PlainCode(node.with_changes(elements=elements))

    def _evaluate_dict(self, node: cst.Dict) -> Value:
        pairs: list[tuple[str, Value]] = []
        has_mocks = False
        for element in node.elements:
            if not isinstance(element, cst.DictElement):
                return self._inline(node)
            name = get_string(element.key)
            if name is None:
                return self._inline(node)
            value = self._evaluate(element.value)
            pairs.append((name, value))
            if not isinstance(value, PlainCode):
                has_mocks = True
        if not has_mocks:
            # A dict of data, such as the result of json().
            return self._inline(node)
        return ReturnByName(tuple(pairs))

    def _evaluate_subscript(self, node: cst.Subscript) -> Value:
        owner = self._evaluate(node.value)
        index = get_index(node)
        if isinstance(owner, ReturnByName) and index is not None:
            return self._choose(owner, index)
        item = None
        if index is not None:
            item = _get_item(owner, get_int(index))
        if item is not None and isinstance(node.value, cst.Tuple):
            _check_other_items(owner, node)
        return item or self._inline(node)

    def _choose(self, models: ReturnByName, index: cst.BaseExpression) -> Value:
        name = get_string(index)
        if name is not None:
            by_name = dict(models.values)
            return by_name.get(name, PlainCode(index))
        # `lambda name: models[name]`: the application chooses.
        if isinstance(index, cst.Name):
            value = self.values.get(index.value)
            if isinstance(value, Argument):
                return models
        raise CannotRewrite(f"the mock that {to_source(index)} selects is unknown", node=index)


def evaluate_replacement(node: cst.BaseExpression, table: SymbolTable) -> Value:
    """Evaluate the replacement of a function or a class: a mock, a function, or a fake class."""
    scope = table.scope
    definition = None
    if isinstance(node, cst.Name) and node.value not in table.values:
        definition = scope.classes.get(node.value)
    if definition is None:
        return table.evaluate(node)
    # The application calls the class, such as with the name of a model.
    values = dict(table.values)
    arguments = []
    for name in _list_options(definition):
        values[name] = Argument(name)
        keyword = cst.Name(name)
        arguments.append(cst.Arg(cst.Name(name), keyword=keyword))
    inner = SymbolTable(scope, values, table.depth + 1)
    call = cst.Call(node, arguments)
    fake = inner.evaluate(call)
    return TestDouble(has_any_attribute=False, return_value=fake)


def _list_options(definition: cst.ClassDef) -> list[str]:
    """Return the parameters of the `__init__` of a class, without `self`."""
    for method in get_statements(definition):
        if isinstance(method, cst.FunctionDef) and method.name.value == "__init__":
            return list_single_parameters(method.params)[1:]
    return []


def _check_other_items(owner: Value, node: cst.Subscript) -> None:
    """Refuse `(log(text), reply)[1]`, which has a side effect."""
    values = owner.values if isinstance(owner, SideEffectList) else ()
    for value in values:
        if isinstance(value, PlainCode) and find_nodes(value.node, cst.Call):
            source = to_source(value.node)
            raise CannotRewrite(f"{to_source(node)} does more than make a mock: {source}")


def _get_item(owner: Value, number: int | None) -> Value | None:
    """Return an item of a list of mocks, or of a mock; None if it is unknown."""
    if number is None:
        return None
    if isinstance(owner, SideEffectList):
        is_inside = -len(owner.values) <= number < len(owner.values)
        return owner.values[number] if is_inside else None
    if not isinstance(owner, TestDouble):
        return None
    # A MagicMock has the same value at each index.
    items = owner.get_attribute("__getitem__")
    return items.get_return_value() if isinstance(items, TestDouble) else None


@dataclass(eq=False)
class FunctionDouble(TestDouble):
    """A function of the file that a test uses as a mock, or calls to make one.

    Attributes:
        definition: its definition.
        closure: the names around it.
        behaviour: its statements without those that only keep the arguments of a call.
    """

    definition: cst.FunctionDef = field(kw_only=True)
    closure: SymbolTable = field(kw_only=True)
    behaviour: Sequence[cst.BaseStatement] = ()


# An object without these methods is true.
_TRUTH_METHODS = {"__bool__", "__len__"}
_PLAIN = PlainCode(cst.Name("None"))

_EVALUATORS: tuple[tuple[type | tuple[type, ...], Callable[..., Value]], ...] = (
    (cst.Name, SymbolTable._evaluate_name),
    (cst.Attribute, SymbolTable._evaluate_attribute),
    (cst.Call, SymbolTable._evaluate_call),
    (cst.Lambda, SymbolTable._evaluate_lambda),
    ((cst.List, cst.Tuple), SymbolTable._evaluate_sequence),
    (cst.Dict, SymbolTable._evaluate_dict),
    (cst.Subscript, SymbolTable._evaluate_subscript),
    (cst.BinaryOperation, SymbolTable._evaluate_operation),
    (cst.BooleanOperation, SymbolTable._evaluate_choice),
)

# They name the mock or restrict its attributes, which changes no reply.
_HARMLESS_KEYWORDS = ("name", "spec", "spec_set", "autospec", "unsafe")


def configure(
    mock: TestDouble,
    keywords: Mapping[str, cst.BaseExpression],
    table: SymbolTable,
) -> None:
    """Apply the keywords of `Mock(…)`, `patch(…)` or `configure_mock(…)` to a mock.

    Raises:
        CannotRewrite: a keyword is not supported.
    """
    for name, node in keywords.items():
        if name in _HARMLESS_KEYWORDS:
            continue
        if name in ("wraps", "new_callable", "create"):
            raise CannotRewrite(f"{name}= is not supported", node=node)
        # `**{"return_value.text": …}` sets an attribute of an attribute.
        *path, last = name.split(".")
        owner: Value = mock
        for step in path:
            owner = _require_double(owner, name, node).get_attribute(step)
        _require_double(owner, name, node).set_attribute(last, table.evaluate(node))


def _require_double(value: Value, name: str, node: cst.BaseExpression) -> TestDouble:
    if isinstance(value, TestDouble):
        return value
    raise CannotRewrite(
        f"the keyword {name} sets an attribute of a value that is not a mock", node=node
    )
