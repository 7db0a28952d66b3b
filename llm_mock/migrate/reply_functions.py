"""Convert the functions that replace a model into reply functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.body import Body, Part, Slot, assemble_body
from llm_mock.migrate.doubles import (
    Argument,
    PlainCode,
    TestDouble,
    Value,
    iterate_doubles,
)
from llm_mock.migrate.fakes import apply_configuration
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.symbol_table import FunctionDouble, SymbolTable
from llm_mock.migrate.syntax import (
    BINDINGS,
    NodeT,
    collect_bound_names,
    collect_names,
    find_nodes,
    get_first_line,
    get_parameter_names,
    get_small_statement,
    is_docstring,
    replace_names,
    split_block,
    to_source,
)
from llm_mock.migrate.value_types import is_pure

SEE_FUNCTIONS = (
    "Write a function that receives the request and returns a reply: "
    "mock_llm_responses.set(model, function). request.prompt is the text, and request.system is "
    "the system prompt."
)
ConvertValue = Callable[[Value, SymbolTable], str]


@dataclass(frozen=True)
class CallParameter:
    """The only parameter of a reply function, and the reads of the old ones.

    Attributes:
        name: its name.
        reads: the expressions for the old parameters, as far as they are known.
    """

    name: str
    reads: Mapping[str, cst.BaseExpression]


@dataclass(frozen=True)
class ReplyConverter:
    """The conversions of what a function returns and raises.

    Attributes:
        convert_response: returns the source of the reply for a double.
        convert_error: returns the source of the reply for an error.
    """

    convert_response: ConvertValue
    convert_error: Callable[[cst.BaseExpression], str]


def depends_on_call(double: FunctionDouble) -> bool:
    """Return whether a function may return something else at each call."""
    definition = double.definition
    parameters = get_parameter_names(definition)
    names = collect_names(cst.IndentedBlock([*double.behaviour]))
    if double.problem is None and names.isdisjoint(parameters):
        return False
    return not definition.decorators and not find_nodes(definition.body, cst.Yield)


def convert_function(
    double: FunctionDouble,
    parameter: CallParameter,
    converter: ReplyConverter,
) -> cst.FunctionDef:
    """Return the reply function for a function that returns doubles of responses.

    Args:
        double: the function.
        parameter: the parameter of the new function.
        converter: converts what it returns and raises.

    Raises:
        CannotRewrite: the function does something that a reply function cannot do.
    """
    definition = double.definition
    try:
        _check_names(definition, parameter)
        table = _new_table(double, parameter)
        conversion = _FunctionConversion(
            double,
            parameter,
            converter,
        )
        body = conversion.convert_block(definition.body, table)
    except CannotRewrite as error:
        # Not the error of a mock that may be unrelated: this one replies to prompts.
        raise CannotRewrite(
            error.reason,
            error.advice,
            error.node,
        ) from None
    only = cst.Param(cst.Name(parameter.name))
    return definition.with_changes(
        params=cst.Parameters([only]),
        returns=None,
        body=body.replace(definition.body),
    )


def strip_logs(double: FunctionDouble) -> FunctionDouble:
    """Return a function without the statements that keep the arguments of its calls."""
    if not double.logs:
        return double
    block = double.definition.body
    kept = [node for node in split_block(block) if node in double.behaviour or is_docstring(node)]
    body = block.with_changes(body=kept)
    definition = double.definition.with_changes(body=body)
    return replace(double, definition=definition)


def replace_definition(double: FunctionDouble, new: cst.FunctionDef) -> str:
    """Put a reply function into the place of the old function.

    Returns:
        The name by which the test has it: its own, or the fixture that gives it.

    Raises:
        CannotRewrite: there is no such place in the test, or it has another function by now.
    """
    definition = double.definition
    name = definition.name.value
    closure = double.closure
    place = closure.definitions.get(name)
    if place is None or closure.functions[name][0] is not definition:
        raise CannotRewrite(
            f"the function {name}, which depends on the prompt, is not defined in the test",
            "Move it into the test, then run the command again.",
            definition,
        )
    if place.is_replaced and to_source(place.node) != to_source(new):
        raise CannotRewrite(
            f"the replies of {name} change during the test",
            "Write a separate function for each set of replies, then run the command again.",
            definition,
        )
    place.node = new
    place.is_replaced = True
    if not closure.fixture:
        return name
    if len(find_reply_functions(closure)) > 1:
        raise CannotRewrite(
            f"the fixture {closure.fixture} has two functions that depend on the prompt",
            "Write a separate fixture for each function, then run the command again.",
            definition,
        )
    return closure.fixture


def find_reply_functions(table: SymbolTable) -> list[str]:
    """Return the names of the functions that became reply functions in their places."""
    return [name for name, place in table.definitions.items() if place.is_replaced]


def is_used_elsewhere(name: str, node: cst.CSTNode) -> bool:
    """Return whether a statement uses a reply function for more than configuring it."""
    allowed: set[int] = set()
    for found in m.findall(node, m.Attribute(m.Name(name))):
        # `reply.call_count += 1`
        attribute = cst.ensure_type(found, cst.Attribute)
        allowed.add(id(attribute.value))
    setter = m.Attribute(m.Name("mock_llm_responses"), m.Name("set"))
    for found in m.findall(node, m.Call(setter)):
        call = cst.ensure_type(found, cst.Call)
        allowed.add(id(call.args[-1].value))
    for definition in find_nodes(node, cst.FunctionDef):
        allowed.add(id(definition.name))
    if m.matches(node, m.SimpleStatementLine([m.Return(m.Name(name))])):
        # A fixture returns it to its tests.
        return False
    uses = [use for use in find_nodes(node, cst.Name) if use.value == name]
    return any(id(use) not in allowed for use in uses)


def _check_names(definition: cst.FunctionDef, parameter: CallParameter) -> None:
    """Refuse a function that changes its parameters, or uses the new name for something else."""
    bound = _find_bound_names(definition.body)
    parameters = get_parameter_names(definition)
    changed = sorted(bound.intersection(parameters))
    if changed:
        raise CannotRewrite(
            f"{definition.name.value} assigns a new value to its parameter {changed[0]}",
            SEE_FUNCTIONS,
            definition,
        )
    used = collect_names(definition.body) - set(parameters)
    if parameter.name in used:
        raise CannotRewrite(
            f"{definition.name.value} uses the name {parameter.name} for another value",
            "Choose another name for it, then run the command again.",
            definition,
        )


def _find_bound_names(node: cst.CSTNode) -> set[str]:
    """Return the names that a node binds in any scope, and those it declares or deletes."""
    names: set[str] = set()
    for binding in find_nodes(node, *BINDINGS, cst.Param):
        names |= collect_bound_names(binding)
    return names


def _new_table(double: FunctionDouble, parameter: CallParameter) -> SymbolTable:
    """Return the symbol table of the body: plain values stay in it as they are written."""
    table = double.closure.copy()
    for name in get_parameter_names(double.definition):
        table.values[name] = Argument(name)
    for name, read in parameter.reads.items():
        table.values[name] = PlainCode(read)
    for name in _find_bound_names(double.definition.body):
        # Another value than the function that has the name around this one.
        table.functions.pop(name, None)
    table.plain = {name: list(values) for name, values in table.plain.items()}
    return table


class _FunctionConversion:
    def __init__(
        self,
        double: FunctionDouble,
        parameter: CallParameter,
        converter: ReplyConverter,
    ) -> None:
        self.double = double
        self.name = double.definition.name.value
        self.reads = parameter.reads
        self.converter = converter
        self.own_names = _find_bound_names(double.definition.body) | {parameter.name}
        self.plain = double.closure.plain
        self.outer = list(iterate_doubles(double.closure.values.values()))
        """The doubles that exist before the function is called."""

    def convert_block(self, block: cst.BaseSuite, table: SymbolTable) -> Body:
        """Convert the statements of a function or a branch."""
        # Other branches and other calls may also return these.
        earlier = list(iterate_doubles(table.values.values()))
        before = _describe_doubles(earlier)
        parts: list[Part] = []
        for node in split_block(block):
            part = self._convert_statement(node, table)
            if _describe_doubles(earlier) != before:
                raise CannotRewrite(
                    f"{self.name} configures a mock that is created elsewhere: "
                    f"{get_first_line(node)}",
                    "Create a response in each branch, then run the command again.",
                    node,
                )
            parts.append(part)
        return assemble_body(parts)

    def _convert_statement(self, node: cst.BaseStatement, table: SymbolTable) -> Part:
        if isinstance(node, cst.If):
            return self._convert_if(node, table)
        part = get_small_statement(node)
        if isinstance(part, cst.Return):
            return _new_return(node, self._convert_return(part.value, table))
        if isinstance(part, cst.Raise):
            return _new_return(node, self._convert_raise(part, table))
        if part is None or isinstance(part, cst.Pass):
            return self._keep(node, table)
        if apply_configuration(part, table):
            return Slot.replace(node, configures=True)
        kept = self._keep(node, table)
        _forget_assigned(part, table)
        return kept

    def _convert_if(self, node: cst.If, table: SymbolTable) -> cst.If:
        test = self._replace_names(node.test, table)
        branches = []
        inner = table.copy()
        branches.append(inner)
        body = self.convert_block(node.body, inner).replace(node.body)
        orelse = node.orelse
        if isinstance(orelse, cst.If):
            inner = table.copy()
            branches.append(inner)
            orelse = self._convert_if(orelse, inner)
        elif orelse is not None:
            inner = table.copy()
            branches.append(inner)
            block = self.convert_block(orelse.body, inner).replace(orelse.body)
            orelse = orelse.with_changes(body=block)
        for branch in branches:
            self._forget_changed(table, branch)
        return node.with_changes(
            test=test,
            body=body,
            orelse=orelse,
        )

    def _forget_changed(self, table: SymbolTable, branch: SymbolTable) -> None:
        """Mark names as unknown if they refer to a different mock after a branch."""
        for name in table.values.keys() | branch.values.keys():
            if table.values.get(name) is branch.values.get(name):
                continue
            problem = CannotRewrite(
                f"{name} has a different value in each branch of {self.name}",
                "Return the response in each branch, then run the command again.",
            )
            table.values[name] = TestDouble(has_any_attribute=False, problem=problem)

    def _convert_return(self, node: cst.BaseExpression | None, table: SymbolTable) -> str:
        if node is None:
            raise CannotRewrite(f"{self.name} returns nothing", SEE_FUNCTIONS)
        if isinstance(node, cst.IfExp):
            test = to_source(self._replace_names(node.test, table))
            body = self._convert_return(node.body, table)
            other = self._convert_return(node.orelse, table)
            return f"{body} if {test} else {other}"
        value = table.evaluate(node)
        self._check_outer(value, table)
        return self.converter.convert_response(value, table)

    def _check_outer(self, value: Value, table: SymbolTable) -> None:
        """Refuse a response made before the call whose values may differ in the new function."""
        for double in iterate_doubles([value]):
            if not any(double is each for each in self.outer):
                continue
            self.double.responses.append(double)
            for expression in _iterate_expressions(double):
                self._check_expression(expression, table)

    def _check_expression(self, node: cst.BaseExpression, table: SymbolTable) -> None:
        names = collect_names(node)
        reassigned = {name for name in names if len(self.plain.get(name, ())) > 1}
        changed = sorted(names & self.own_names | reassigned)
        if changed:
            raise CannotRewrite(
                f"a response of {self.name} contains {to_source(node)}, which was evaluated "
                f"before the call, when {changed[0]} may have had another value",
                "Use a different variable for each value, then run the command again.",
                node,
            )
        if not is_pure(node, table):
            raise CannotRewrite(
                f"a response of {self.name} contains {to_source(node)}, which was evaluated only "
                "once, before the call",
                "Assign it to a variable first, then run the command again.",
                node,
            )

    def _convert_raise(self, node: cst.Raise, table: SymbolTable) -> str:
        if node.exc is None or node.cause is not None:
            raise CannotRewrite(
                f"{self.name} raises an error again, or raises one error from another",
                "Return the error instead of raising it: a reply can be an exception.",
            )
        return self.converter.convert_error(self._replace_names(node.exc, table))

    def _keep(self, node: cst.BaseStatement, table: SymbolTable) -> cst.BaseStatement:
        """Return a statement without mocks, with the new parameter."""
        if find_nodes(
            node,
            cst.Return,
            cst.Raise,
            cst.FunctionDef,
            cst.ClassDef,
            cst.Await,
        ):
            raise CannotRewrite(
                f"{self.name} does more than choose a reply: {get_first_line(node)}",
                SEE_FUNCTIONS,
                node,
            )
        return self._replace_names(node, table)

    def _replace_names(self, node: NodeT, table: SymbolTable) -> NodeT:
        """Return code without mocks, with the new parameter."""
        changed = replace_names(node, self.reads)
        mocks = sorted(table.find_mocks(changed))
        if mocks:
            raise CannotRewrite(
                f"{self.name} uses {mocks[0]} in an unsupported way: {get_first_line(node)}",
                SEE_FUNCTIONS,
                node,
            )
        return changed


def _new_return(node: cst.BaseStatement, reply: str) -> cst.BaseStatement:
    new = cst.Return(cst.parse_expression(reply))
    return node.with_changes(body=[new])


def _describe_doubles(doubles: Iterable[TestDouble]) -> list[object]:
    """Return values that differ if a double was configured in between."""
    states: list[object] = []
    for double in doubles:
        attributes = {name: id(value) for name, value in double.attributes.items()}
        states.append((attributes, id(double.return_value), id(double.side_effect)))
    return states


def _forget_assigned(part: cst.BaseSmallStatement, table: SymbolTable) -> None:
    """Record the plain values of the names that a statement assigns to."""
    if not isinstance(part, cst.Assign):
        return
    for target in part.targets:
        if isinstance(target.target, cst.Name):
            values = table.plain.setdefault(target.target.value, [])
            values.append(part.value)


def _iterate_expressions(double: TestDouble) -> Iterator[cst.BaseExpression]:
    for value in (*double.attributes.values(), double.return_value, double.side_effect):
        if isinstance(value, PlainCode):
            yield value.node
