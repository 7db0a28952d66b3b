"""Convert the mocks that a patched client of an SDK returns into replies."""

from __future__ import annotations

import libcst as cst

from llm_mock.migrate.doubles import PlainCode, SideEffectList, TestDouble, Value
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.replies import (
    ANY_MODEL,
    ConfiguredReply,
    PromptMethod,
    format_reply,
    get_node,
    raise_problem,
)
from llm_mock.migrate.sdk_clients import PatchedClient, find_methods, find_other_configuration
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import get_elements, get_int, get_string, to_source
from llm_mock.migrate.value_types import is_data

SEE_REPLY = (
    "Put it into a Reply, whose arguments are text, tool_calls, usage, finish_reason and others: "
    'mock_llm_responses.set("*", Reply(…)).'
)
# What the mock sends by itself, in its real form.
_ENVELOPE = ("id", "object", "created", "model", "system_fingerprint")
_FIELDS = {
    "response": ("choices", "usage", *_ENVELOPE),
    "choice": ("message", "finish_reason", "index"),
    "message": ("content", "tool_calls", "role"),
    "tool call": ("id", "function", "type"),
    "function": ("name", "arguments"),
    "usage": ("prompt_tokens", "completion_tokens", "total_tokens"),
}
"""The attributes of each part of a response that a reply can have."""
# A reply without one ends with these.
_USUAL_ENDS = ("stop", "tool_calls")


def collect_client_replies(patched: PatchedClient, table: SymbolTable) -> list[ConfiguredReply]:
    """Return the reply of the models that a patched client asks.

    Raises:
        CannotRewrite: the reply is unknown.
    """
    raise_problem(patched.double)
    client = patched.get_client()
    if client is None:
        return []
    raise_problem(client)
    other = find_other_configuration(client)
    if other is not None:
        path, value = other
        raise CannotRewrite(
            f"the mock of a client has the attribute {path}",
            "The client is a real one now: configure it as the application does.",
            get_node(value),
        )
    replies = []
    for method in find_methods(client):
        reply = _CreateMethod(ANY_MODEL, method, patched.returns_async_models, table).convert()
        if reply is not None:
            replies.append(reply)
    if any(reply != replies[0] for reply in replies):
        raise CannotRewrite("two methods of a client have different replies")
    return replies[:1]


class _CreateMethod(PromptMethod):
    """Converts the double of a method such as `chat.completions.create`."""

    async_problem = (
        "create() of a synchronous client is awaited",
        "Patch the asynchronous client, which the application must use.",
    )

    def convert_response(self, value: Value) -> str | None:
        """Return a completion as an argument of `set`, or None if it is not configured."""
        if isinstance(value, TestDouble):
            return _Completion(value, self.table).convert()
        node = get_node(value)
        source = "several mocks" if node is None else to_source(node)
        raise CannotRewrite(
            f"the mock returns {source}, which is not a response",
            SEE_REPLY,
            node,
        )


class _Completion:
    """Converts the double of a chat completion.

    Args:
        double: the double.
        table: the values of the test's names.
    """

    def __init__(self, double: TestDouble, table: SymbolTable) -> None:
        self.double = double
        self.table = table

    def convert(self) -> str | None:
        """Return the source of the reply, or None if the test configures none."""
        fields = _read_fields(self.double, "response")
        choices = fields.get("choices")
        if choices is None:
            return None
        choice = _read_fields(_get_only_item(choices, "choices"), "choice")
        message = _read_fields(choice.get("message"), "message")
        text = self._get_text(message.get("content"))
        calls = self._format_tool_calls(message.get("tool_calls"))
        arguments = [] if text is None else [text]
        if calls:
            arguments.append(f"tool_calls=[{', '.join(calls)}]")
        arguments += _format_end(choice.get("finish_reason"))
        arguments += _format_usage(fields.get("usage"))
        if text is None and not calls:
            _refuse_empty(choice.get("message"))
        if not arguments:
            return None
        if arguments == [text]:
            return text
        return format_reply(arguments, self.table)

    def _get_text(self, value: Value | None) -> str | None:
        node = _get_literal(value, "message.content")
        if node is None:
            return None
        if is_data(node, self.table) or get_int(node) is not None:
            raise CannotRewrite(
                f"message.content is {to_source(node)}, and the real one is a text",
                "Configure the text: mock_llm_responses.set(model, text).",
                node,
            )
        return to_source(node)

    def _format_tool_calls(self, value: Value | None) -> list[str]:
        return [self._format_tool_call(call) for call in _get_items(value, "tool_calls")]

    def _format_tool_call(self, value: Value) -> str:
        call = _read_fields(value, "tool call")
        function = _read_fields(call.get("function"), "function")
        name = _get_literal(function.get("name"), "function.name")
        arguments = _get_literal(function.get("arguments"), "function.arguments")
        if name is None or arguments is None:
            raise CannotRewrite("a tool call has no name or no arguments", SEE_REPLY)
        source = f"{to_source(name)}, {to_source(arguments)}"
        number = _get_literal(call.get("id"), "tool_call.id")
        if number is not None:
            source += f", {to_source(number)}"
        return f"ToolCall({source})"


def _read_fields(value: Value | None, part: str) -> dict[str, Value]:
    """Return the attributes of a part of a response that the test sets."""
    if value is None or _is_left_out(value):
        return {}
    if not isinstance(value, TestDouble):
        node = get_node(value)
        source = "a list" if node is None else to_source(node)
        raise CannotRewrite(f"the {part} is {source}, which is not a mock", SEE_REPLY, node)
    raise_problem(value)
    fields = {}
    for name, attribute in value.attributes.items():
        if _is_left_out(attribute):
            continue
        if name not in _FIELDS[part]:
            raise CannotRewrite(
                f"the mock of a {part} has the attribute {name}",
                SEE_REPLY,
                get_node(attribute),
            )
        fields[name] = attribute
    return fields


def _refuse_empty(message: Value | None) -> None:
    """Refuse a message whose content is None, and which has no tool calls."""
    if isinstance(message, TestDouble) and "content" in message.attributes:
        node = get_node(message.attributes["content"])
        if node is not None:
            raise CannotRewrite(
                "the message has neither a content nor tool calls",
                'A model that says nothing sends an empty text: Reply("").',
                node,
            )


def _is_left_out(value: Value) -> bool:
    """Return whether a value says nothing: None, or a mock without anything configured."""
    if isinstance(value, PlainCode):
        return to_source(value.node) == "None"
    if not isinstance(value, TestDouble) or not value.is_unconfigured:
        return False
    return all(map(_is_left_out, value.attributes.values()))


def _get_literal(value: Value | None, name: str) -> cst.BaseExpression | None:
    if value is None or _is_left_out(value):
        return None
    node = get_node(value)
    if node is None:
        raise CannotRewrite(f"{name} is a mock, and the real one is a text", SEE_REPLY)
    return node


def _get_items(value: Value | None, name: str) -> tuple[Value, ...]:
    if value is None or _is_left_out(value):
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
        elements = get_elements(node)
        if elements == []:
            return ()
        name = f"{name} ({to_source(node)})"
    raise CannotRewrite(f"{name} is not a literal list of mocks", SEE_REPLY, node)


def _get_only_item(value: Value, name: str) -> Value | None:
    items = _get_items(value, name)
    if len(items) != 1:
        raise CannotRewrite(
            f"the response has {len(items)} {name}",
            "A model answers once, or as often as the application asks for by n: "
            "Reply(candidates=[…]).",
            get_node(value),
        )
    return items[0]


def _format_end(value: Value | None) -> list[str]:
    node = _get_literal(value, "finish_reason")
    if node is None or get_string(node) in _USUAL_ENDS:
        return []
    return [f"finish_reason={to_source(node)}"]


def _format_usage(value: Value | None) -> list[str]:
    fields = _read_fields(value, "usage")
    if not fields:
        return []
    prompt = _get_literal(fields.get("prompt_tokens"), "usage.prompt_tokens")
    completion = _get_literal(fields.get("completion_tokens"), "usage.completion_tokens")
    if prompt is None or completion is None:
        raise CannotRewrite(
            "the usage lacks prompt_tokens or completion_tokens",
            'The total is their sum: Reply(text, usage={"input": …, "output": …}).',
        )
    total = _get_literal(fields.get("total_tokens"), "usage.total_tokens")
    _check_total(prompt, completion, total)
    source = f'{{"input": {to_source(prompt)}, "output": {to_source(completion)}}}'
    return [f"usage={source}"]


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
            f"the total of the usage is {to_source(total)}, and the real one is {expected}",
            "Correct it, then run this again.",
            total,
        )
