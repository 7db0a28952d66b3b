"""Read the parts of a response that a test makes of mocks or of the types of an SDK."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from dataclasses import dataclass

import libcst as cst

from llm_mock.migrate.doubles import (
    PlainCode,
    SideEffectList,
    TestDouble,
    Value,
    iterate_doubles,
)
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.replies import get_node, qualify, raise_problem
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import (
    get_elements,
    get_int,
    get_string,
    read_dict,
    to_source,
)
from llm_mock.migrate.value_types import is_data, makes_object

SEE_REPLY = (
    "Configure a Reply with arguments such as text, tool_calls, usage and finish_reason: "
    'mock_llm_responses.set("*", Reply(…)).'
)
_EMPTY_TEXTS = (['""'], ["''"])
# The methods of the types of SDKs that return all their fields.
_DUMPS = ("model_dump", "to_dict")
# The attributes that lead to the text of a response.
_CONTENTS = (
    "choices",
    "message",
    "content",
    "output",
    "output_text",
    "parsed",
    "output_parsed",
    "text",
    "candidates",
)


def read_fields(value: Value | None, part: str, names: Container[str]) -> dict[str, Value]:
    """Return the attributes of a part of a response that the test sets.

    Args:
        value: the part.
        part: its name.
        names: the attributes that a reply can have.

    Raises:
        CannotRewrite: the part has another attribute.
    """
    if value is None or is_left_out(value):
        return {}
    fields = {}
    for name, attribute in _list_attributes(value, part).items():
        if is_left_out(attribute):
            continue
        if name not in names:
            raise CannotRewrite(
                f"the mock of a {part} has the attribute {name}",
                SEE_REPLY,
                get_node(attribute),
            )
        fields[name] = attribute
    return fields


def _list_attributes(value: Value, part: str) -> Mapping[str, Value]:
    if isinstance(value, TestDouble):
        raise_problem(value)
        dumped = _get_dumped_dict(value)
        if dumped is None:
            return value.attributes
        value = dumped
    node = get_node(value)
    items = read_dict(node) if isinstance(node, cst.Dict) else None
    if items is None:
        source = "a list" if node is None else to_source(node)
        raise CannotRewrite(f"the {part} is {source}, which is not a mock", SEE_REPLY, node)
    # The types of SDKs take a dict for a part.
    return {name: PlainCode(item) for name, item in items.items()}


def _get_dumped_dict(double: TestDouble) -> Value | None:
    """Return the dict of fields that a mock dumps, if the test sets nothing else on the mock."""
    attributes = {}
    for name, attribute in double.attributes.items():
        if not is_left_out(attribute):
            attributes[name] = attribute
    if len(attributes) != 1:
        return None
    [(name, method)] = attributes.items()
    if name not in _DUMPS or not isinstance(method, TestDouble):
        return None
    raise_problem(method)
    result = method.return_value
    if result is None or method.side_effect is not None:
        return None
    return result if isinstance(get_node(result), cst.Dict) else None


def is_left_out(value: Value) -> bool:
    """Return whether a value is None or a mock without any configuration."""
    if isinstance(value, PlainCode):
        return to_source(value.node) == "None"
    if not isinstance(value, TestDouble):
        return False
    for double in iterate_doubles([value]):
        if not double.is_unconfigured:
            return False
        for attribute in double.attributes.values():
            is_double = isinstance(attribute, TestDouble)
            if not is_double and not is_left_out(attribute):
                return False
    return True


def get_literal(value: Value | None, name: str) -> cst.BaseExpression | None:
    """Return the expression of an attribute; None if the test leaves it out."""
    if value is None or is_left_out(value):
        return None
    node = get_node(value)
    if node is None:
        raise CannotRewrite(f"{name} is a mock, but must be a literal value", SEE_REPLY)
    return node


def get_items(value: Value | None, name: str) -> tuple[Value, ...]:
    """Return the items of an attribute that is a list of mocks."""
    if value is None or is_left_out(value):
        return ()
    if isinstance(value, SideEffectList):
        return value.values
    if isinstance(value, TestDouble):
        # `response.choices[0]` of a MagicMock.
        items = value.attributes.get("__getitem__")
        if isinstance(items, TestDouble) and items.return_value is not None:
            return (items.return_value,)
    node = get_node(value)
    if node is not None:
        dicts = list_dicts(node)
        if dicts is not None:
            return dicts
        name = f"{name} ({to_source(node)})"
    raise CannotRewrite(f"{name} is not a literal list of mocks", SEE_REPLY, node)


def list_dicts(node: cst.BaseExpression) -> tuple[Value, ...] | None:
    """Return the items of a list of dicts, which may be empty; None for others."""
    elements = get_elements(node)
    if elements is None or not all(isinstance(element, cst.Dict) for element in elements):
        return None
    return tuple(PlainCode(element) for element in elements)


def refuse_empty(response: Value) -> None:
    """Refuse a response without a text and tool calls if that is what the test sets."""
    for double in iterate_doubles([response]):
        for name in _CONTENTS:
            node = get_node(double.attributes.get(name, response))
            if node is not None:
                raise CannotRewrite(
                    f"the {name} of the response is {to_source(node)}",
                    'For an empty answer, use Reply(""). For a refusal, which has no parsed '
                    'content, use Reply(refusal="…").',
                    node,
                )


def get_text(value: Value | None, name: str, table: SymbolTable) -> str | None:
    """Return the source of a text; None if the test leaves it out."""
    node = get_literal(value, name)
    if node is None:
        return None
    is_number = get_int(node) is not None
    if is_number or is_data(node, table) or makes_object(node):
        raise CannotRewrite(
            f"{name} is {to_source(node)}, but must be a string",
            "Configure the text: mock_llm_responses.set(model, text).",
            node,
        )
    return to_source(node)


def is_empty_text(value: Value | None) -> bool:
    """Return whether a text is left out or empty."""
    if value is None or is_left_out(value):
        return True
    return get_string(get_node(value)) == ""


def format_option(option: str, value: Value | None, table: SymbolTable) -> list[str]:
    """Return the argument of a reply for a text other than its content, if the test sets it."""
    if is_empty_text(value):
        return []
    text = get_text(value, option, table)
    return [] if text is None else [f"{option}={text}"]


def format_reasoning(thoughts: list[str]) -> list[str]:
    """Return the argument of a reply for the model's reasoning, if the test sets it.

    Raises:
        CannotRewrite: the response has several reasoning texts, and a reply has only one.
    """
    if len(thoughts) > 1:
        raise CannotRewrite(
            f"the response has {len(thoughts)} reasoning texts",
            "A Reply has only one: join the texts, then run the command again.",
        )
    return [f"reasoning={thought}" for thought in thoughts]


def format_contents(texts: list[str], calls: list[str]) -> list[str]:
    """Return the arguments of a reply for its text and its tool calls, if any.

    Raises:
        CannotRewrite: a reply would lose the order of several texts among the tool calls.
    """
    if len(texts) > 1:
        raise CannotRewrite(
            f"the response has {len(texts)} texts",
            "Pass the texts in order: Reply(parts=[…]).",
        )
    arguments = [*texts]
    if calls and texts in _EMPTY_TEXTS:
        # A real response that has only tool calls has no text.
        arguments = []
    if calls:
        arguments.append(f"tool_calls=[{', '.join(calls)}]")
    return arguments


def format_tool_call(
    name: cst.BaseExpression,
    arguments: cst.BaseExpression,
    call_id: cst.BaseExpression | None,
    table: SymbolTable,
) -> str:
    """Return the source of a tool call of a reply; the id is left out if the test sets none."""
    source = f"{to_source(name)}, {to_source(arguments)}"
    if call_id is not None:
        source += f", {to_source(call_id)}"
    kind = "ToolCall" if _may_be_object(arguments) else "BrokenToolCall"
    tool_call = qualify(kind, table)
    return f"{tool_call}({source})"


def _may_be_object(arguments: cst.BaseExpression) -> bool:
    """Return whether the arguments of a tool call may be a JSON object, as far as is known."""
    text = get_string(arguments)
    if text is None:
        return True
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict)


@dataclass(frozen=True)
class UsageFields:
    """The names of the counts in the usage of an API.

    Attributes:
        given: the tokens of the prompt.
        made: the tokens of the answer.
        details: further counts, each a number or a mapping of numbers.
        total: the sum of both.
    """

    given: str
    made: str
    details: tuple[str, ...] = ()
    total: str = "total_tokens"


def format_usage(usage: Value | None, names: UsageFields) -> list[str]:
    """Return the argument of a reply for its usage, if the test sets it.

    Args:
        usage: the usage of the response.
        names: the names of its counts.
    """
    counts = (names.given, names.made, names.total, *names.details)
    fields = read_fields(usage, "usage", counts)
    if not fields:
        return []
    given = get_literal(fields.get(names.given), f"usage.{names.given}")
    made = get_literal(fields.get(names.made), f"usage.{names.made}")
    if given is None or made is None:
        raise CannotRewrite(
            f"the usage lacks {names.given} or {names.made}",
            'Set both numbers: Reply(text, usage={"input": …, "output": …}).',
        )
    total = get_literal(fields.get(names.total), f"usage.{names.total}")
    _check_total(given, made, total)
    input_tokens = to_source(given)
    output_tokens = to_source(made)
    items = [f'"input": {input_tokens}', f'"output": {output_tokens}']
    details = []
    for name in names.details:
        if name in fields:
            details += _format_details(name, fields[name])
    if details:
        source = ", ".join(details)
        items.append(f'"details": {{{source}}}')
    joined = ", ".join(items)
    return [f"usage={{{joined}}}"]


def _format_details(name: str, value: Value) -> list[str]:
    """Return the source of further counts as an item of a dict, or none if all of them are 0."""
    node = get_node(value)
    if node is None or isinstance(node, cst.Dict):
        source = _format_counts(name, value)
    else:
        source = to_source(node)
    # The mock sends a 0 where the provider does.
    if source in ("0", ""):
        return []
    return [f'"{name}": {source}']


def _format_counts(name: str, value: Value) -> str:
    """Return the source of a mapping of counts; empty if all of them are 0."""
    counts = []
    for key, count in _list_attributes(value, name).items():
        node = get_literal(count, f"usage.{name}.{key}")
        if node is None or get_int(node) == 0:
            continue
        source = to_source(node)
        counts.append(f'"{key}": {source}')
    if not counts:
        return ""
    joined = ", ".join(counts)
    return f"{{{joined}}}"


def _check_total(
    prompt: cst.BaseExpression,
    completion: cst.BaseExpression,
    total: cst.BaseExpression | None,
) -> None:
    numbers = [get_int(prompt), get_int(completion)]
    if total is None or None in numbers:
        return
    expected = sum(number for number in numbers if number is not None)
    if get_int(total) not in (None, expected):
        raise CannotRewrite(
            f"the total of the usage is {to_source(total)}, but must be {expected}",
            "Correct the total, then run the command again.",
            total,
        )
