"""Evaluate the helpers and the fake classes of a test file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.argument_logs import (
    find_containers,
    is_empty_container,
    take_logs,
)
from llm_mock.migrate.doubles import (
    Argument,
    ArgumentLog,
    PlainCode,
    ReturnByName,
    SideEffectList,
    TestDouble,
    Value,
    iterate_code,
)
from llm_mock.migrate.fake_streams import find_items, find_yielded, is_super_init
from llm_mock.migrate.manual_changes import SEE_GUIDE, CannotRewrite
from llm_mock.migrate.scope import Scope
from llm_mock.migrate.symbol_table import (
    FunctionDouble,
    SymbolTable,
    configure,
    makes_object_with_attributes,
)
from llm_mock.migrate.syntax import (
    collect_names,
    find_nodes,
    get_arguments,
    get_assigned_name,
    get_first_line,
    get_parameter_names,
    get_small_statement,
    get_statements,
    get_string,
    list_single_parameters,
    split_block,
    to_source,
)
from llm_mock.migrate.value_types import is_pure, makes_object

SEE_RECORDS = (
    "Remove it: mock_llm_calls.calls has every call, and mock_llm_calls.last_call.request.body "
    "has the body of the last request."
)
_KEEPING_CALL = m.Call(
    m.Attribute(attr=m.Name("append") | m.Name("update") | m.Name("extend")),
)


def makes_mocks(function: cst.FunctionDef, scope: Scope) -> bool:
    """Return whether a helper makes mocks, directly or through helpers and fake classes."""
    pending = [function.name.value]
    visited = set()
    while pending:
        name = pending.pop()
        if name in visited:
            continue
        visited.add(name)
        if name in scope.functions:
            helper = scope.functions[name]
            calls = _find_calls(helper)
            inner = scope.copy_with_imports(get_statements(helper))
            if any(_makes_mock(call, inner) for call in calls):
                return True
            pending += [call.func.value for call in calls if isinstance(call.func, cst.Name)]
        elif name in scope.classes:
            return True
    return False


def _find_calls(node: cst.CSTNode) -> list[cst.Call]:
    return find_nodes(node, cst.Call)


def _makes_mock(call: cst.Call, scope: Scope) -> bool:
    if scope.get_mock_class(call.func) is not None:
        return True
    return makes_object_with_attributes(call, scope)


def bind_arguments(
    function: cst.FunctionDef,
    node: cst.Call,
    caller: SymbolTable,
    skip: int = 0,
) -> dict[str, Value]:
    """Return the values of a helper's parameters in one call of it.

    Args:
        function: the helper.
        node: its call.
        caller: the symbol table of the calling function.
        skip: the number of parameters that are bound already, such as `self`.

    Raises:
        CannotRewrite: `*` or `**` hides arguments, or one is missing.
    """
    parameters = function.params
    by_position = [*parameters.posonly_params, *parameters.params][skip:]
    given = _match_arguments(parameters, by_position, node)
    values: dict[str, Value] = {}
    for name, value in given.items():
        values[name] = caller.evaluate(value)
    star = parameters.star_arg
    if isinstance(star, cst.Param):
        name = star.name.value
        values[name] = PlainCode(cst.Tuple([]))
    by_position += parameters.kwonly_params
    _bind_keywords(parameters, values)
    for parameter in by_position:
        name = parameter.name.value
        default = parameter.default
        if name in values:
            continue
        if default is None:
            call = to_source(node)
            raise CannotRewrite(f"{call} lacks the argument {name}", node=node)
        values[name] = caller.evaluate(default)
    return values


def _match_arguments(
    parameters: cst.Parameters,
    by_position: Sequence[cst.Param],
    node: cst.Call,
) -> dict[str, cst.BaseExpression]:
    """Return the arguments of a call by the names of their parameters.

    Args:
        parameters: all parameters of the helper.
        by_position: the parameters that accept positional arguments.
        node: the call.
    """
    arguments = get_arguments(node)
    if arguments is None:
        raise _new_hidden_arguments(node)
    positional, keywords = arguments
    given = dict(keywords)
    has_star = isinstance(parameters.star_arg, cst.Param)
    if has_star and len(positional) > len(by_position):
        raise _new_hidden_arguments(node)
    for parameter, value in zip(by_position, positional, strict=False):
        name = parameter.name.value
        given[name] = value
    return given


def _new_hidden_arguments(node: cst.Call) -> CannotRewrite:
    source = to_source(node.func)
    return CannotRewrite(
        f"the arguments of {source} are not literal",
        node=node,
    )


def _bind_keywords(parameters: cst.Parameters, values: dict[str, Value]) -> None:
    """Move the arguments that no parameter names into a dict, the value of `**fields`."""
    if parameters.star_kwarg is None:
        return
    names = list_single_parameters(parameters)
    elements = []
    others = [name for name in values if name not in names]
    for name in others:
        value = values.pop(name)
        if not isinstance(value, PlainCode):
            raise CannotRewrite(f"the argument {name} of a helper is a mock")
        element = cst.DictElement(cst.SimpleString(f'"{name}"'), value.node)
        elements.append(element)
    values[parameters.star_kwarg.name.value] = PlainCode(cst.Dict(elements))


def call_helper(
    function: cst.FunctionDef,
    node: cst.Call,
    caller: SymbolTable,
    closure: SymbolTable | None,
) -> Value:
    """Evaluate the call of a helper that makes mocks.

    Args:
        function: the helper.
        node: its call.
        caller: the symbol table of the calling function.
        closure: the symbol table of the function that defines the helper, if one does.
    """
    body = get_statements(function)
    scope = caller.scope
    if closure is None:
        scope = scope.copy_with_imports(body)
    table = SymbolTable(
        scope,
        closure.values if closure else None,
        caller.depth + 1,
    )
    table.values |= bind_arguments(function, node, caller)
    if closure is not None:
        table.functions = closure.functions
    body = _apply_first_statements(
        function,
        body,
        table,
    )
    yielded = find_yielded(body, table)
    # The result of a decorated one, such as a context manager, is something else.
    if yielded is not None and not function.decorators:
        value = table.evaluate(yielded)
    else:
        value = _run_body(function, table, body)
    _refuse_imported_names(value, scope, caller.scope)
    _refuse_repeated_calls(value, function, table)
    return value


def _refuse_repeated_calls(value: Value, function: cst.FunctionDef, table: SymbolTable) -> None:
    """Refuse a value that would call a function each time the helper uses its result."""
    made: Counter[str] = Counter()
    for local in table.values.values():
        if isinstance(local, PlainCode):
            made.update(_list_changing_calls(local.node, table))
    if not made:
        return
    repeated: Counter[str] = Counter()
    for code in iterate_code(value):
        repeated.update(_list_changing_calls(code, table))
    for call, number in made.items():
        if repeated[call] > number:
            raise CannotRewrite(
                f"{function.name.value} uses the result of {call} more than once",
                "Assign the result to a variable in the test, and pass the variable to the helper.",
                function,
            )


def _list_changing_calls(node: cst.BaseExpression, table: SymbolTable) -> list[str]:
    """Return the calls in an expression whose results may differ each time."""
    calls = []
    for call in find_nodes(node, cst.Call):
        if not makes_object(call) and not is_pure(call, table):
            calls.append(to_source(call))
    return calls


def _refuse_imported_names(value: Value, inner: Scope, outer: Scope) -> None:
    """Refuse a value with code that needs an import of the helper, which the test does not have."""
    hidden = dict(inner.imports.items() - outer.imports.items()).keys()
    if not hidden:
        return
    for code in iterate_code(value):
        names = hidden & collect_names(code)
        if names:
            raise CannotRewrite(
                f"{to_source(code)} needs an import that only its helper has",
                "Move the import to the top of the file, then run the command again.",
                code,
            )


def new_function_double(function: cst.FunctionDef, closure: SymbolTable) -> TestDouble:
    """Return the double for a function that a test uses as a mock."""
    double = FunctionDouble(
        is_async=function.asynchronous is not None,
        has_any_attribute=False,
        definition=function,
        closure=closure,
    )
    table = SymbolTable(
        closure.scope,
        closure.values,
        closure.depth + 1,
    )
    for name, definition in closure.functions.items():
        # Without itself, a function that names itself does not recurse here.
        if definition[0] is not function:
            table.functions[name] = definition
    for name in get_parameter_names(function):
        table.values[name] = Argument(name)
    try:
        if function.decorators:
            raise CannotRewrite(f"{function.name.value} has a decorator", node=function)
        _configure_from_body(double, function, table)
    except CannotRewrite as error:
        double.problem = error
    return double


def _configure_from_body(
    double: TestDouble,
    function: cst.FunctionDef,
    table: SymbolTable,
) -> None:
    """Set what a function returns, raises or yields as the behaviour of a double."""
    body = take_logs(
        function,
        get_statements(function),
        double,
        table.values,
    )
    if isinstance(double, FunctionDouble):
        double.behaviour = body
    if len(body) == 1:
        only = get_small_statement(body[0])
    else:
        only = None
    if isinstance(only, cst.Raise) and only.exc is not None:
        double.side_effect = table.evaluate(only.exc)
        return
    body = _apply_first_statements(
        function,
        body,
        table,
    )
    yielded = find_yielded(body, table)
    if yielded is None:
        double.return_value = _run_body(function, table, body)
    else:
        # An async generator is iterated, not awaited.
        double.is_async = False
        double.return_value = table.evaluate(yielded)


def _apply_first_statements(
    function: cst.FunctionDef,
    body: Sequence[cst.BaseStatement],
    table: SymbolTable,
) -> list[cst.BaseStatement]:
    """Make the mocks that a helper makes first, and return its other statements.

    A generator may make its items before it yields the first of them.
    """
    containers = find_containers(function)
    for position, node in enumerate(body):
        part = get_small_statement(node)
        is_log = part is not None and get_assigned_name(part) in containers
        if is_log or not apply_configuration(part, table):
            return [*body[position:]]
    return []


def _run_body(
    function: cst.FunctionDef,
    table: SymbolTable,
    body: Sequence[cst.BaseStatement],
) -> Value:
    """Run the body of a helper, which makes and configures mocks and returns one."""
    choices: list[tuple[str, Value]] = []
    containers = find_containers(function)
    for node in _iterate_reached(body, table):
        choice = _evaluate_choice(node, table)
        if choice is not None:
            choices.append(choice)
            continue
        if isinstance(node, cst.FunctionDef):
            table.functions[node.name.value] = (node, table)
            continue
        part = get_small_statement(node)
        if _add_log(part, containers, table) or _is_visible_import(part, table):
            continue
        if isinstance(part, cst.Return) and part.value is not None:
            value = table.evaluate(part.value)
            return ReturnByName((*choices, ("*", value))) if choices else value
        if not apply_configuration(part, table):
            raise _new_problem(function, node)
    raise CannotRewrite(f"{function.name.value} returns nothing", node=function)


def _add_log(
    node: cst.BaseSmallStatement | None,
    containers: Container[str],
    table: SymbolTable,
) -> bool:
    """Add the log that a statement makes; return False for another one."""
    name = "" if node is None else get_assigned_name(node)
    if name not in containers:
        return False
    table.values[name] = ArgumentLog()
    return True


def _new_problem(function: cst.FunctionDef, node: cst.BaseStatement) -> CannotRewrite:
    """Return the error for a statement that does more than create a mock."""
    name = function.name.value
    line = get_first_line(node)
    part = get_small_statement(node)
    may_keep = isinstance(part, cst.Expr) and m.matches(part.value, _KEEPING_CALL)
    advice = SEE_RECORDS if may_keep else SEE_GUIDE
    return CannotRewrite(f"{name} does more than make a mock: {line}", advice, node)


def _is_visible_import(node: cst.BaseSmallStatement | None, table: SymbolTable) -> bool:
    """Return whether a statement imports only names that the tests have as well."""
    if not isinstance(node, (cst.Import, cst.ImportFrom)):
        return False
    return not table.scope.find_hidden_imports(node)


def _iterate_reached(
    nodes: Iterable[cst.BaseStatement],
    table: SymbolTable,
) -> Iterator[cst.BaseStatement]:
    """Yield statements, with those of the branch of each `if` whose condition is known.

    Evaluated step by step, as an earlier statement may change what a condition depends on.
    """
    for node in nodes:
        branch = _choose_branch(node, table)
        if branch is None:
            yield node
        else:
            yield from _iterate_reached(branch, table)


def _choose_branch(
    node: cst.BaseStatement,
    table: SymbolTable,
) -> list[cst.BaseStatement] | None:
    """Return the branch of an `if` whose condition is known, None for any other statement."""
    if not isinstance(node, cst.If):
        return None
    truth = table.get_truth(node.test)
    if truth is None:
        return None
    if truth:
        return split_block(node.body)
    if isinstance(node.orelse, cst.If):
        return [node.orelse]
    if node.orelse is None:
        return []
    return split_block(node.orelse.body)


def _evaluate_choice(node: cst.BaseStatement, table: SymbolTable) -> tuple[str, Value] | None:
    """Return name and value of `if name == "gpt-4o": return model`, else None."""
    if not isinstance(node, cst.If) or node.orelse is not None:
        return None
    body = node.body.body
    if len(body) == 1:
        part = get_small_statement(body[0])
    else:
        part = None
    if not isinstance(part, cst.Return) or part.value is None:
        return None
    name = _get_compared_name(node.test, table)
    if name is None:
        return None
    return name, table.evaluate(part.value)


def _get_compared_name(test: cst.BaseExpression, table: SymbolTable) -> str | None:
    """Return the string that a condition compares an argument of the application with."""
    if not isinstance(test, cst.Comparison):
        return None
    comparison, *others = test.comparisons
    if others or not isinstance(comparison.operator, cst.Equal):
        return None
    if not isinstance(test.left, cst.Name):
        return None
    value = table.values.get(test.left.value)
    if not isinstance(value, Argument):
        return None
    return get_string(comparison.comparator)


def apply_configuration(node: cst.BaseSmallStatement | None, table: SymbolTable) -> bool:
    """Apply a statement that makes or configures a mock; return False for any other."""
    if isinstance(node, cst.Pass):
        return True
    if isinstance(node, cst.Expr):
        return _apply_configure_mock(node.value, table) or _apply_helper(node.value, table)
    if isinstance(node, cst.AnnAssign):
        if node.value is None:
            return False
        return _assign(node.target, node.value, table)
    if not isinstance(node, cst.Assign) or len(node.targets) != 1:
        return False
    value = node.value
    target = node.targets[0].target
    if isinstance(target, cst.Tuple):
        return _unpack(target, value, table)
    return _assign(target, value, table)


def _apply_configure_mock(call: cst.BaseExpression, table: SymbolTable) -> bool:
    if not m.matches(call, m.Call(m.Attribute(attr=m.Name("configure_mock")))):
        return False
    call = cst.ensure_type(call, cst.Call)
    function = cst.ensure_type(call.func, cst.Attribute)
    mock = table.evaluate(function.value)
    arguments = get_arguments(call)
    if not isinstance(mock, TestDouble) or arguments is None:
        return False
    configure(mock, arguments[1], table)
    return True


def _apply_helper(call: cst.BaseExpression, table: SymbolTable) -> bool:
    """Apply a helper of the file that configures the mock passed to it."""
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Name):
        return False
    if call.func.value not in table.scope.functions:
        return False
    result = table.evaluate(call)
    return not isinstance(result, PlainCode)


def _unpack(target: cst.Tuple, value: cst.BaseExpression, table: SymbolTable) -> bool:
    """Apply `first, second = Mock(), Mock()`, or the same for the value of a fixture."""
    given = table.evaluate(value)
    names = [element.value for element in target.elements]
    if not isinstance(given, SideEffectList) or len(given.values) != len(names):
        return False
    mocks = {}
    for name, item in zip(names, given.values, strict=True):
        # The whole statement is removed, so all values must be mocks.
        if isinstance(item, PlainCode) or not isinstance(name, cst.Name):
            return False
        if name.value != "_":
            mocks[name.value] = item
    if not table.unrelated.isdisjoint(mocks):
        return False
    table.values.update(mocks)
    return True


def _assign(target: cst.BaseExpression, value: cst.BaseExpression, table: SymbolTable) -> bool:
    if isinstance(target, cst.Name):
        if target.value in table.unrelated:
            return False
        assigned = table.evaluate(value)
        # In a test plain code stays; in a helper it is inlined into the mock.
        if isinstance(assigned, PlainCode) and table.depth == 0:
            return False
        table.values[target.value] = assigned
        return True
    if isinstance(target, cst.Attribute) and table.find_mocks(target):
        owner = table.evaluate(target.value)
        if isinstance(owner, TestDouble):
            owner.set_attribute(target.attr.value, table.evaluate(value))
            return True
    return False


def new_fake(definition: cst.ClassDef, node: cst.Call, caller: SymbolTable) -> Value:
    """Instantiate a fake class, whose methods must be simple.

    A class with a base, such as a pydantic model, is plain code.

    Raises:
        CannotRewrite: the class contains unsupported code.
    """
    statements = get_statements(definition)
    methods = {}
    for part in statements:
        if isinstance(part, cst.FunctionDef):
            methods[part.name.value] = part
    items = find_items(methods, caller)
    if items is not None:
        stream = _new_stream(
            definition,
            methods.get("__init__"),
            items,
            node,
            caller,
        )
        if stream is not None:
            return stream
    if definition.bases or definition.decorators:
        return PlainCode(node)
    fake = TestDouble(has_any_attribute=False)
    for part in statements:
        if not isinstance(part, cst.FunctionDef):
            _set_class_attribute(fake, definition, part, caller)
    _initialize(
        fake,
        definition,
        methods.pop("__init__", None),
        node,
        caller,
    )
    for name, method in methods.items():
        fake.attributes[name] = _new_method_double(
            method,
            fake,
            caller,
            _list_closure(definition, caller),
        )
    fake.methods = methods.keys()
    return fake


def _new_stream(
    definition: cst.ClassDef,
    init: cst.FunctionDef | None,
    items: cst.BaseExpression,
    node: cst.Call,
    caller: SymbolTable,
) -> SideEffectList | None:
    """Return the mocks that an object of a class yields, or None if it yields none."""
    stream = TestDouble(has_any_attribute=False)
    _initialize(
        stream,
        definition,
        init,
        node,
        caller,
    )
    table = SymbolTable(caller.scope, {"self": stream}, caller.depth + 1)
    value = table.evaluate(items)
    return value if isinstance(value, SideEffectList) else None


def _set_class_attribute(
    fake: TestDouble,
    definition: cst.ClassDef,
    node: cst.BaseStatement,
    caller: SymbolTable,
) -> None:
    part = get_small_statement(node)
    if isinstance(part, cst.Pass) or (isinstance(part, cst.AnnAssign) and part.value is None):
        return
    if not isinstance(part, (cst.Assign, cst.AnnAssign)):
        class_name = definition.name.value
        raise CannotRewrite(
            f"the fake class {class_name} contains more than attributes and methods", node=node
        )
    name = get_assigned_name(part)
    value = part.value
    # All tests of the file share such a list.
    is_shared = is_empty_container(value) and definition in caller.scope.module_classes
    if name and value is not None and not is_shared:
        fake.attributes[name] = caller.evaluate(value)


def _initialize(
    fake: TestDouble,
    definition: cst.ClassDef,
    init: cst.FunctionDef | None,
    node: cst.Call,
    caller: SymbolTable,
) -> None:
    class_name = definition.name.value
    if init is None:
        if node.args:
            raise CannotRewrite(
                f"{class_name} takes no arguments, but the test passes some", node=node
            )
        return
    names = get_parameter_names(init)
    self_name = names[0] if names else "self"
    values = {
        **_list_closure(definition, caller),
        self_name: fake,
        **bind_arguments(init, node, caller, skip=1),
    }
    table = SymbolTable(caller.scope, values, caller.depth + 1)
    for part in get_statements(init):
        inner = get_small_statement(part)
        if is_super_init(inner):
            continue
        if not apply_configuration(inner, table):
            line = get_first_line(part)
            raise CannotRewrite(
                f"{class_name}.__init__ does more than assign values: {line}",
                node=part,
            )


def _new_method_double(
    method: cst.FunctionDef,
    fake: TestDouble,
    caller: SymbolTable,
    closure: Mapping[str, Value],
) -> TestDouble:
    double = TestDouble(is_async=method.asynchronous is not None, has_any_attribute=False)
    names = get_parameter_names(method) or ["self"]
    table = SymbolTable(
        caller.scope,
        {**closure, **{name: Argument(name) for name in names}},
        caller.depth + 1,
    )
    table.values[names[0]] = fake
    try:
        if method.decorators:
            raise CannotRewrite(f"{method.name.value} has a decorator", node=method)
        _configure_from_body(double, method, table)
    except CannotRewrite as error:
        # A problem only if the application calls it.
        double.problem = error
    return double


def _list_closure(definition: cst.ClassDef, caller: SymbolTable) -> dict[str, Value]:
    """Return the logs around a class that the test itself defines."""
    logs: dict[str, Value] = {}
    if definition in caller.scope.module_classes:
        return logs
    for name, value in caller.values.items():
        if isinstance(value, ArgumentLog):
            logs[name] = value
    return logs
