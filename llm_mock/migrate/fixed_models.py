"""Convert pydantic-ai's TestModel and FunctionModel into statements that configure replies."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import NoReturn

import libcst as cst

from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.replies import format_reply
from llm_mock.migrate.sdk_parts import format_contents, format_tool_call
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import (
    collect_names,
    find_nodes,
    get_arguments,
    get_elements,
    get_first_line,
    get_parameter_names,
    get_small_statement,
    get_statements,
    get_string,
    parse_expression,
    split_block,
    to_source,
)
from llm_mock.migrate.value_types import find_only_value, is_data, is_pure

TEST_MODEL = "pydantic_ai.models.test.TestModel"
FUNCTION_MODEL = "pydantic_ai.models.function.FunctionModel"
AGENTS = ("pydantic_ai.Agent", "pydantic_ai.agent.Agent")
SEE_TEST_MODEL = "See pydantic-ai's TestModel in docs/coming-from.md for an example."
_MESSAGE_MODULES = ("pydantic_ai", "pydantic_ai.messages")
# The names that pydantic-ai gives to the tool of an output, and to its argument if the output is
# not an object.
_OUTPUT_TOOL = "final_result"
_OUTPUT_ARGUMENT = "response"
_NUMBERS = (cst.Integer, cst.Float)
_NO_ARGUMENTS = parse_expression("{}")


@dataclass(frozen=True)
class FixedModel:
    """A model whose replies are known before it is called.

    Attributes:
        statements: the statements that configure the same replies.
        is_queue: whether each reply is used once.
    """

    statements: tuple[str, ...]
    is_queue: bool = False


def convert_test_model(call: cst.Call, table: SymbolTable, *, may_have_tools: bool) -> FixedModel:
    """Convert `TestModel(custom_output_text="Sunny.")`.

    Args:
        call: the call of the class.
        table: the values of the names around it.
        may_have_tools: whether the agent may have tools, which a TestModel calls first.

    Raises:
        CannotRewrite: the model generates its output, or an argument is not supported.
    """
    positional, keywords = get_arguments(call) or ([call], {})
    text = _pop_given(keywords, "custom_output_text")
    data = _pop_given(keywords, "custom_output_args")
    calls_tools = _calls_tools(keywords.pop("call_tools", None), call)
    if positional or keywords:
        _refuse_argument("TestModel", [*keywords], call)
    if (text is None) == (data is None):
        raise CannotRewrite(
            "the TestModel generates its output, and llm_mock would generate a different one: "
            f"{get_first_line(call)}",
            'Use mock_llm_responses.call_every_tool("*"), which also calls each tool once. If '
            f'the test expects a specific output, pass it: then="text". {SEE_TEST_MODEL}',
            call,
        )
    if data is None:
        reply = to_source(text or call)
        skipped = ""
    else:
        reply = _format_data(data, table)
        # The output tool is offered like the others, but only the final answer may call it.
        skipped = f', skip=["{_OUTPUT_TOOL}"]'
    if calls_tools and may_have_tools:
        line = f'mock_llm_responses.call_every_tool("*", then={reply}{skipped})'
    else:
        line = f'mock_llm_responses.set("*", {reply})'
    return FixedModel((line,))


def _pop_given(
    keywords: dict[str, cst.BaseExpression],
    name: str,
) -> cst.BaseExpression | None:
    """Remove an argument, and return it unless it is None."""
    value = keywords.pop(name, None)
    is_none = value is None or to_source(value) == "None"
    return None if is_none else value


def _calls_tools(value: cst.BaseExpression | None, call: cst.Call) -> bool:
    """Return whether a TestModel calls the tools of the agent, by its argument `call_tools`."""
    if value is None or get_string(value) == "all":
        return True
    if get_elements(value) == []:
        return False
    raise CannotRewrite(
        f"the TestModel calls only some tools: call_tools={to_source(value)}",
        "Queue the tool calls and the answer: "
        f'mock_llm_responses.script("*", call("tool", name=value), "text"). {SEE_TEST_MODEL}',
        call,
    )


def _refuse_argument(class_name: str, names: Sequence[str], call: cst.Call) -> NoReturn:
    if names:
        reason = f"the argument {names[0]} of the {class_name} is not supported"
    else:
        reason = f"the arguments of the {class_name} are not literal: {get_first_line(call)}"
    raise CannotRewrite(
        reason,
        "Remove the arguments that the test does not need, then run the command again. "
        f"{SEE_TEST_MODEL}",
        call,
    )


def _format_data(node: cst.BaseExpression, table: SymbolTable) -> str:
    """Return the arguments of the output tool from `custom_output_args`."""
    value = find_only_value(node, table)
    source = to_source(node)
    is_list = isinstance(value, (cst.List, cst.ListComp))
    is_plain = is_list or isinstance(value, _NUMBERS) or source in ("True", "False")
    if is_plain:
        return f'{{"{_OUTPUT_ARGUMENT}": {source}}}'
    if is_data(node, table):
        return source
    raise CannotRewrite(
        f"the output of the TestModel is not a literal: {source}",
        "Configure the arguments of the output tool as a dict: "
        f'mock_llm_responses.set("*", {{"name": value}}). {SEE_TEST_MODEL}',
        node,
    )


def convert_function_model(
    function: cst.FunctionDef | cst.Lambda,
    table: SymbolTable,
    changing: Set[str],
) -> FixedModel:
    """Convert a function that returns one fixed response, or one for the first request.

    Args:
        function: the function of the FunctionModel.
        table: the values of the names around the model.
        changing: the names that may have another value when the function is called.

    Raises:
        CannotRewrite: the function does more, or a response is not fixed.
    """
    parameters = get_parameter_names(function)
    changing = changing | set(parameters)
    replies = []
    for node in _list_returned(function, parameters):
        used = sorted(collect_names(node) & changing)
        if used or not _is_constant(node, table):
            problem = f"a response depends on {used[0]}" if used else "a response is computed"
            _refuse_function(problem, node)
        reply = _format_response(node, table)
        replies.append(reply)
    if len(replies) == 1:
        return FixedModel((f'mock_llm_responses.set("*", {replies[0]})',))
    statements = [f'mock_llm_responses.add("*", {reply})' for reply in replies]
    return FixedModel(tuple(statements), is_queue=True)


def _is_constant(node: cst.BaseExpression, table: SymbolTable) -> bool:
    """Return whether an expression only calls classes of messages, and otherwise has no effect."""
    for call in find_nodes(node, cst.Call):
        is_message = _name_message(call, table) != ""
        if not is_message and not is_pure(call, table):
            return False
    return not find_nodes(node, cst.Await, cst.Lambda, cst.NamedExpr)


def _name_message(node: cst.BaseExpression, table: SymbolTable) -> str:
    """Return the pydantic-ai message class that an expression calls, or an empty string."""
    if not isinstance(node, cst.Call):
        return ""
    module, _, name = table.scope.qualify(node.func).rpartition(".")
    return name if module in _MESSAGE_MODULES else ""


def _refuse_function(problem: str, node: cst.CSTNode) -> NoReturn:
    raise CannotRewrite(
        f"the function of the FunctionModel does not return fixed responses: {problem}: "
        f"{get_first_line(node)}",
        "Write a function that receives the request and returns a reply: "
        f'mock_llm_responses.set("*", function). {SEE_TEST_MODEL}',
        node,
    )


def _list_returned(
    function: cst.FunctionDef | cst.Lambda,
    parameters: Sequence[str],
) -> list[cst.BaseExpression]:
    """Return the returned expression, or one for the first request and one for the rest."""
    if isinstance(function, cst.Lambda):
        return [function.body]
    if function.decorators:
        _refuse_function("it has a decorator", function.decorators[0])
    statements = get_statements(function)
    first = statements[0] if statements else None
    if not isinstance(first, cst.If):
        return [_get_returned(statements, function)]
    messages = parameters[0] if parameters else ""
    if to_source(first.test).strip() != f"len({messages}) == 1":
        _refuse_function("it has a condition", first.test)
    rest = statements[1:]
    if isinstance(first.orelse, cst.Else):
        # Later statements are unreachable.
        rest = split_block(first.orelse.body)
    elif first.orelse is not None:
        _refuse_function("it has a condition", first.orelse.test)
    return [_get_returned(split_block(first.body), first), _get_returned(rest, function)]


def _get_returned(
    statements: Sequence[cst.BaseStatement], place: cst.CSTNode
) -> cst.BaseExpression:
    """Return the value of a block that is nothing but `return value`."""
    for statement in statements[:1]:
        part = get_small_statement(statement)
        if isinstance(part, cst.Return) and part.value is not None:
            return part.value
        _refuse_function("it does more than return a response", statement)
    return _refuse_function("it returns nothing", place)


def _format_response(node: cst.BaseExpression, table: SymbolTable) -> str:
    """Return the reply for `ModelResponse(parts=[…])`."""
    if _name_message(node, table) != "ModelResponse":
        _refuse_function("it does not return a ModelResponse", node)
    parts = _read_arguments(node, ("parts",)).get("parts")
    elements = get_elements(parts) if parts is not None else None
    if not elements:
        _refuse_function("the parts of a response are not a literal list", node)
    texts = []
    calls = []
    for element in elements:
        kind = _name_message(element, table)
        if kind == "TextPart":
            given = _read_arguments(element, ("content",))
            texts.append(to_source(given["content"]))
        elif kind == "ToolCallPart":
            given = _read_arguments(element, ("tool_name", "args", "tool_call_id"))
            arguments = given.get("args", _NO_ARGUMENTS)
            call_id = given.get("tool_call_id")
            calls.append(format_tool_call(given["tool_name"], arguments, call_id, table))
        else:
            _refuse_function("a part is neither a TextPart nor a ToolCallPart", element)
    contents = format_contents(texts, calls)
    return texts[0] if contents == texts else format_reply(contents, table)


def _read_arguments(
    node: cst.BaseExpression, names: Sequence[str]
) -> dict[str, cst.BaseExpression]:
    """Return the arguments of a message or a part by their names; the first one is required."""
    arguments = get_arguments(cst.ensure_type(node, cst.Call))
    if arguments is None:
        _refuse_function("the arguments of a response or part are not literal", node)
    positional, keywords = arguments
    given = dict(zip(names, positional, strict=False)) | keywords
    unknown = given.keys() - {*names}
    if len(positional) > len(names) or unknown or names[0] not in given:
        _refuse_function("a response or part has arguments that a reply does not support", node)
    return given
