"""Evaluates the helpers and the fake classes of a test file."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.doubles import Argument, PlainCode, ReturnByName, TestDouble, Value
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.scope import Scope
from llm_mock.migrate.symbol_table import SymbolTable, configure
from llm_mock.migrate.syntax import (
    code,
    collect_names,
    get_arguments,
    get_parameter_names,
    get_statements,
    get_string,
    small,
)


def makes_mocks(function: cst.FunctionDef, scope: Scope) -> bool:
    """Whether a helper makes mocks, itself or by another helper or a fake class of the file."""
    pending, seen = [function.name.value], set()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        made = scope.functions.get(name) or scope.classes.get(name)
        if isinstance(made, cst.ClassDef):
            return True
        if made is None:
            continue
        calls = [found for found in m.findall(made, m.Call()) if isinstance(found, cst.Call)]
        if any(scope.mock_class(call.func) or scope.meaning(call.func).endswith("SimpleNamespace") for call in calls):
            return True
        pending += [call.func.value for call in calls if isinstance(call.func, cst.Name)]
    return False


def bind_arguments(function: cst.FunctionDef, node: cst.Call, caller: SymbolTable, skip: int = 0) -> dict[str, Value]:
    """What the parameters of a helper stand for in one call of it."""
    given = get_arguments(node)
    parameters = function.params
    if given is None or isinstance(parameters.star_arg, cst.Param) or parameters.star_kwarg is not None:
        raise CannotRewrite(f"the arguments of {code(node.func)} are not written out", node=node)
    every = [*parameters.posonly_params, *parameters.params][skip:]
    values = {each.name.value: caller.value(value) for each, value in zip(every, given[0], strict=False)}
    values |= {name: caller.value(value) for name, value in given[1].items()}
    for each in [*every, *parameters.kwonly_params]:
        if each.name.value not in values:
            if each.default is None:
                raise CannotRewrite(f"{code(node)} lacks {each.name.value}", node=node)
            values[each.name.value] = caller.value(each.default)
    return values


def call_helper(function: cst.FunctionDef, node: cst.Call, caller: SymbolTable, home: SymbolTable | None) -> Value:
    """What a helper returns that makes mocks."""
    frame = SymbolTable(caller.scope, home.names if home else None, caller.depth + 1)
    frame.names |= bind_arguments(function, node, caller)
    if home is not None:
        frame.functions = home.functions
    return _result(function, frame)


def new_function_double(function: cst.FunctionDef, home: SymbolTable) -> TestDouble:
    """A function that stands in place of a mock."""
    double = TestDouble(is_async=function.asynchronous is not None, grows=False)
    frame = SymbolTable(home.scope, home.names, home.depth + 1)
    frame.functions = {name: value for name, value in home.functions.items() if value[0] is not function}
    frame.names |= {name: Argument(name) for name in get_parameter_names(function)}
    try:
        if function.decorators:
            raise CannotRewrite(f"{function.name.value} has a decorator", node=function)
        _give(double, function, frame)
    except CannotRewrite as unsure:
        double.unknown = unsure
    return double


def _give(double: TestDouble, function: cst.FunctionDef, frame: SymbolTable) -> None:
    """Work out what a function gives: what it returns, raises or yields."""
    body = get_statements(function)
    only = small(body[0]) if len(body) == 1 else None
    if isinstance(only, cst.Raise) and only.exc is not None:
        double.effect = frame.value(only.exc)
    elif pieces := _yielded(body):
        double.is_async = False
        double.result = frame.value(pieces)
    else:
        double.result = _result(function, frame)


def _yielded(body: list[cst.BaseStatement]) -> cst.BaseExpression | None:
    """A list of what a body yields that does nothing else."""
    pieces = []
    for node in body:
        part = small(node)
        value = part.value if isinstance(part, cst.Expr) else None
        if not isinstance(value, cst.Yield) or value.value is None:
            return None
        if isinstance(value.value, cst.From):
            return value.value.item if len(body) == 1 else None
        pieces.append(cst.Element(value.value))
    return cst.List(pieces) if pieces else None


def _result(function: cst.FunctionDef, frame: SymbolTable) -> Value:
    """Run the body of a helper: mocks are made and configured, and one is returned."""
    choices: list[tuple[str, Value]] = []
    for node in get_statements(function):
        part = small(node)
        if isinstance(node, cst.If) and (choice := _choice(node, frame)):
            choices.append(choice)
        elif isinstance(node, cst.FunctionDef):
            frame.functions[node.name.value] = (node, frame)
        elif isinstance(part, cst.Return) and part.value is not None:
            value = frame.value(part.value)
            return ReturnByName((*choices, ("*", value))) if choices else value
        elif part is None or not configures(part, frame):
            raise CannotRewrite(f"{function.name.value} does more than to make a mock: {_first_line(node)}", node=node)
    raise CannotRewrite(f"{function.name.value} returns nothing", node=function)


def _choice(node: cst.If, frame: SymbolTable) -> tuple[str, Value] | None:
    """`if name == "gpt-4o": return model`, as the name and the model."""
    test, body = node.test, node.body.body
    if node.orelse is not None or len(body) != 1:
        return None
    part = small(body[0])
    if not isinstance(part, cst.Return) or part.value is None or not isinstance(test, cst.Comparison):
        return None
    [comparison, *more] = test.comparisons
    name = get_string(comparison.comparator)
    argument = isinstance(test.left, cst.Name) and isinstance(frame.names.get(test.left.value), Argument)
    if more or name is None or not argument or not isinstance(comparison.operator, cst.Equal):
        return None
    return name, frame.value(part.value)


def configures(node: cst.BaseSmallStatement, frame: SymbolTable) -> bool:
    """Do what a statement does that makes or configures a mock; False where it is another one."""
    if isinstance(node, cst.AnnAssign) and node.value is not None and isinstance(node.target, cst.Name):
        return _assigned(node.target, node.value, frame)
    if isinstance(node, cst.Assign) and len(node.targets) == 1:
        target = node.targets[0].target
        if isinstance(target, cst.Tuple) and isinstance(node.value, cst.Tuple):
            return _unpacked(target, node.value, frame)
        return _assigned(target, node.value, frame)
    call = node.value if isinstance(node, cst.Expr) else None
    if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.attr.value == "configure_mock":
        mock, given = frame.value(call.func.value), get_arguments(call)
        if isinstance(mock, TestDouble) and given is not None:
            configure(mock, given[1], frame)
            return True
    return isinstance(node, cst.Pass)


def _unpacked(target: cst.Tuple, value: cst.Tuple, frame: SymbolTable) -> bool:
    """`first, second = Mock(), Mock()`."""
    pairs = list(zip(target.elements, value.elements, strict=False))
    made = [frame.value(right.value) for _, right in pairs]
    if len(target.elements) != len(value.elements) or any(isinstance(each, PlainCode) for each in made):
        return False
    return all(_assigned(left.value, right.value, frame) for left, right in pairs)


def _assigned(target: cst.BaseExpression, value: cst.BaseExpression, frame: SymbolTable) -> bool:
    if isinstance(target, cst.Name):
        if target.value in frame.foreign:
            return False
        made = frame.value(value)
        if isinstance(made, PlainCode) and frame.depth == 0:
            return False
        frame.names[target.value] = made
        return True
    if isinstance(target, cst.Attribute) and frame.mentions(target):
        owner = frame.value(target.value)
        if isinstance(owner, TestDouble):
            owner.assign(target.attr.value, frame.value(value))
            return True
    return False


def new_fake(made: cst.ClassDef, node: cst.Call, caller: SymbolTable) -> Value:
    """An object of a class of the file, if the class is as simple as a fake is: its methods return what is known.

    A class that has a base, such as a pydantic model, makes plain code.
    """
    if made.bases or made.decorators:
        return PlainCode(node)
    fake = TestDouble(grows=False)
    methods = {}
    for part in get_statements(made):
        if isinstance(part, cst.FunctionDef):
            methods[part.name.value] = part
        elif not isinstance(inner := small(part), (cst.Assign, cst.AnnAssign, cst.Pass)):
            raise CannotRewrite(f"the class {made.name.value} does more than to fake", node=part)
        elif isinstance(inner, cst.Assign) and isinstance(inner.targets[0].target, cst.Name):
            fake.attributes[inner.targets[0].target.value] = caller.value(inner.value)
    _construct(fake, made, methods.pop("__init__", None), node, caller)
    for name, method in methods.items():
        fake.attributes[name] = _method(method, fake, caller)
    return fake


def _construct(
    fake: TestDouble, made: cst.ClassDef, init: cst.FunctionDef | None, node: cst.Call, caller: SymbolTable
) -> None:
    if init is None:
        if node.args:
            raise CannotRewrite(f"{made.name.value} takes no arguments", node=node)
        return
    this = (get_parameter_names(init) or ["self"])[0]
    frame = SymbolTable(caller.scope, {this: fake, **bind_arguments(init, node, caller, skip=1)}, caller.depth + 1)
    for part in get_statements(init):
        inner = small(part)
        if inner is None or not configures(inner, frame):
            raise CannotRewrite(
                f"{made.name.value}.__init__ does more than to keep values: {_first_line(part)}", node=part
            )


def _method(method: cst.FunctionDef, fake: TestDouble, caller: SymbolTable) -> TestDouble:
    """What a method of a fake does, if it is known; else the reason why not."""
    double = TestDouble(is_async=method.asynchronous is not None, grows=False)
    names = get_parameter_names(method)
    frame = SymbolTable(caller.scope, {name: Argument(name) for name in names}, caller.depth + 1)
    frame.names[names[0] if names else "self"] = fake
    try:
        if method.decorators:
            raise CannotRewrite(f"{method.name.value} has a decorator", node=method)
        parts = [part for part in map(small, get_statements(method)) if isinstance(part, cst.Expr)]
        if any(isinstance(part.value, cst.Call) and names[0] in collect_names(part) for part in parts):
            raise CannotRewrite(
                f"{method.name.value} of the fake records its calls",
                "Take the fake out: mock_llm_calls.calls has every call, with its prompt, system prompt and schema.",
                method,
            )
        _give(double, method, frame)
    except CannotRewrite as unsure:
        double.unknown = unsure
    return double


def _first_line(node: cst.CSTNode) -> str:
    return code(node).strip().splitlines()[0]
