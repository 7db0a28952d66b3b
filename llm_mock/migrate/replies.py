"""Convert the behaviour of mocks into statements that configure replies of `llm_mock`."""

from __future__ import annotations

import copy
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from itertools import groupby

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.doubles import (
    LegacyMock,
    PatchedGetter,
    PlainCode,
    ReturnByName,
    SideEffectList,
    TestDouble,
    Value,
)
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.reply_functions import (
    SEE_FUNCTIONS,
    CallParameter,
    ReplyConverter,
    convert_function,
    depends_on_call,
    replace_definition,
    strip_logs,
)
from llm_mock.migrate.scope import Scope
from llm_mock.migrate.symbol_table import FunctionDouble, SymbolTable
from llm_mock.migrate.syntax import (
    MODEL_NAMES,
    get_dotted_name,
    get_elements,
    get_string,
    get_truth,
    join_strings,
    parse_expression,
    read_dict,
    to_source,
)
from llm_mock.migrate.value_types import find_only_value, is_data, is_error, is_text

ANY_MODEL = "*"
LEARN = (
    "Run `llm-mock migrate --learn`, which runs the old test once to see which models it requests."
)
UNKNOWN_MODEL = "UnknownModelError"
PROMPT_METHODS = ("prompt", "chain")
"""The methods of a model, and of a conversation, that send a prompt."""


# The attributes of `llm.Usage`, and the keys of a reply's usage.
_USAGE_KEYS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "details": "details",
    # The names of OpenAI, which some tests use.
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
}
_LIST_CALL = m.Call(m.Name("iter") | m.Name("list"), [m.Arg()])


@dataclass(frozen=True)
class ConfiguredReply:
    """The reply of a model and the statements that configure it.

    Attributes:
        model: the model name, or `"*"`.
        kind: `set`, `queue`, `error`, `endpoint`, `unknown` or `legacy`.
        statements: the source of the statements.
    """

    model: str
    kind: str
    statements: tuple[str, ...]


def quote_model(model: str) -> str:
    """Return a model id as a string literal with double quotes."""
    escaped = model.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def format_reply(arguments: Sequence[str], table: SymbolTable) -> str:
    """Return the source of a `Reply`."""
    reply = qualify("Reply", table)
    return f"{reply}({', '.join(arguments)})"


def qualify(name: str, table: SymbolTable) -> str:
    """Return a name of `llm_mock`, with its module if the file uses the name for something else.

    Raises:
        CannotRewrite: the file uses the name `llm_mock` for something else.
    """
    if not _is_taken(name, f"llm_mock.{name}", table.scope):
        return name
    if _is_taken("llm_mock", "llm_mock", table.scope):
        raise CannotRewrite(
            "the reply needs the module llm_mock, but this file uses the name llm_mock for "
            "something else",
            "Choose another name for it, then run the command again.",
        )
    return f"llm_mock.{name}"


def _is_taken(name: str, qualified_name: str, scope: Scope) -> bool:
    definitions = (scope.functions, scope.classes, scope.constants)
    is_defined = any(name in names for names in definitions)
    return is_defined or scope.imports.get(name) not in (None, qualified_name)


def find_models(getter: PatchedGetter) -> list[tuple[str, TestDouble]]:
    """Return the models that a patched `get_model` returns, by name.

    Raises:
        CannotRewrite: they are unknown.
    """
    double = getter.double
    raise_problem(double)
    source = double.return_value
    # As in unittest.mock, a side effect has precedence over the return value.
    if isinstance(double.side_effect, SideEffectList):
        return _pair_in_order(double.side_effect, getter.requested_models)
    if isinstance(double.side_effect, TestDouble):
        raise_problem(double.side_effect)
        source = double.side_effect.return_value
    if isinstance(source, ReturnByName):
        return [(name, _require_double(value)) for name, value in source.values]
    if source is None:
        return []
    return [(getter.only_model or ANY_MODEL, _require_double(source))]


def raise_problem(double: TestDouble) -> None:
    """Raise the reason why the behaviour of a double is unknown, if it is."""
    if double.problem is not None:
        raise double.problem


def _pair_in_order(
    models: SideEffectList,
    names: tuple[str, ...],
) -> list[tuple[str, TestDouble]]:
    is_one_to_one = len(names) == len(models.values) == len(set(names))
    if not is_one_to_one:
        raise CannotRewrite(
            "get_model returns several mocks in turn, and the source does not show which model "
            "each mock replaces",
            LEARN,
        )
    pairs = zip(names, models.values, strict=True)
    return [(name, _require_double(value)) for name, value in pairs]


def _require_double(value: Value) -> TestDouble:
    if isinstance(value, TestDouble):
        return value
    raise CannotRewrite("get_model returns an object that is not a mock made in this file")


def collect_replies(getter: PatchedGetter, table: SymbolTable) -> list[ConfiguredReply]:
    """Return the replies of the models that a patched `get_model` returns.

    Models without a configured reply are left out.

    Raises:
        CannotRewrite: a reply is unknown.
    """
    if isinstance(getter.double, LegacyMock):
        return _collect_legacy_replies(getter.double)
    if isinstance(getter.double.side_effect, PlainCode):
        return [_convert_getter_error(getter, getter.double.side_effect.node, table)]
    replies = []
    for model, double in find_models(getter):
        reply = _collect_model_reply(model, double, getter, table)
        if reply is not None:
            replies.append(reply)
    return replies


def _collect_legacy_replies(mock: LegacyMock) -> list[ConfiguredReply]:
    if mock.attributes or not mock.is_unconfigured:
        raise CannotRewrite(
            "the test uses more of the project's own mock than set_response and call_history",
            "Configure the replies instead: mock_llm_responses.set(model, reply), or "
            "mock_llm_responses.set_error(model, error).",
        )
    if not mock.statements:
        return []
    return [ConfiguredReply(ANY_MODEL, "legacy", mock.statements)]


def _convert_getter_error(
    getter: PatchedGetter,
    node: cst.BaseExpression,
    table: SymbolTable,
) -> ConfiguredReply:
    if isinstance(node, cst.Call):
        error_class = node.func
    else:
        error_class = node
    model = getter.only_model or ANY_MODEL
    quoted_model = quote_model(model)
    name = get_dotted_name(error_class) or ""
    if name == "KeyError" or name.endswith(UNKNOWN_MODEL):
        statement = f"mock_llm_responses.set_unknown({quoted_model})"
        return ConfiguredReply(model, "unknown", (statement,))
    if name == "AssertionError":
        raise CannotRewrite(
            f"the test expects that {getter.target} is not called",
            "Remove the patch, and write: assert not mock_llm_calls.requested_models",
            node,
        )
    if not is_error(node, table):
        raise CannotRewrite(
            f"{getter.target} has the side effect {to_source(node)}",
            f"Configure the replies instead: mock_llm_responses.set({quoted_model}, reply).",
            node,
        )
    # llm.get_model has no other error, so what failed in production was the call.
    statement = f"mock_llm_responses.set_error({quoted_model}, {to_source(node)})"
    return ConfiguredReply(model, "error", (statement,))


def _collect_model_reply(
    model: str,
    double: TestDouble,
    getter: PatchedGetter,
    table: SymbolTable,
) -> ConfiguredReply | None:
    raise_problem(double)
    _check_model_attributes(double, model, table)
    replies = []
    for method in find_prompt_methods(double):
        if method.is_unconfigured:
            continue
        reply = PromptMethod(model, method, getter.returns_async_models, table).convert()
        if reply is not None:
            replies.append(reply)
    # `set` and `add` do not distinguish how the model is called.
    if any(reply != replies[0] for reply in replies):
        raise CannotRewrite(
            "prompts, chains and conversations have different replies",
            "Use mock_llm_responses.add with turn=… or a condition such as prompt=….",
        )
    return replies[0] if replies else None


def find_prompt_methods(model: TestDouble) -> list[TestDouble]:
    """Return the doubles of the methods that send prompts, as far as the test has them."""
    owners = [model]
    start = model.attributes.get("conversation")
    if isinstance(start, TestDouble):
        conversation = start.return_value
    else:
        conversation = None
    if isinstance(conversation, TestDouble):
        owners.append(conversation)
    methods = []
    for owner in owners:
        for name in PROMPT_METHODS:
            method = owner.attributes.get(name)
            if isinstance(method, TestDouble):
                methods.append(method)
    return methods


def _check_model_attributes(model: TestDouble, name: str, table: SymbolTable) -> None:
    """Refuse attributes of a model that a reply cannot express."""
    for attribute, value in model.attributes.items():
        if attribute in (*PROMPT_METHODS, "conversation") or attribute.startswith("_"):
            continue
        if _is_unconfigured(value):
            continue
        if attribute in MODEL_NAMES and _is_unnamed(value, table):
            continue
        if attribute == "model_id" and isinstance(value, PlainCode):
            _check_model_id(value.node, name)
        elif model.has_any_attribute:
            raise CannotRewrite(
                f"the mock of a model has the attribute {attribute}",
                "Remove the attribute: with llm_mock, a model has the attributes of the real "
                "model.",
                get_node(value),
            )


def _is_unnamed(value: Value, table: SymbolTable) -> bool:
    """Return whether a test that names the id of a mock nowhere else does not need it."""
    text = get_string(get_node(value))
    return text is not None and not table.may_name(text)


def _check_model_id(node: cst.BaseExpression, name: str) -> None:
    source = to_source(node)
    if source.strip("\"'") != name:
        raise CannotRewrite(
            f"the mock has its own model_id ({source}), and the requested id is unknown",
            f"With llm_mock, the model_id is the requested id. {LEARN}",
            node,
        )


def get_node(value: Value) -> cst.BaseExpression | None:
    """Return the expression of a value; None for mocks and lists of them."""
    return value.node if isinstance(value, PlainCode) else None


def _is_unconfigured(value: Value) -> bool:
    if not isinstance(value, TestDouble) or not value.is_unconfigured:
        return False
    return all(map(_is_unconfigured, value.attributes.values()))


class PromptMethod:
    """Converts the double of a prompt method.

    Args:
        model: the model name, or `"*"`.
        method: the double.
        is_async: whether the model is asynchronous.
        table: the values of the test's names.

    Attributes:
        async_problem: the reason and the advice where a synchronous model is awaited.
    """

    async_problem = (
        "prompt() of a synchronous model is awaited",
        "Use get_async_model in the application, and patch get_async_model instead.",
    )

    def __init__(
        self,
        model: str,
        method: TestDouble,
        is_async: bool,
        table: SymbolTable,
    ) -> None:
        self.model = model
        self.method = method
        self.is_async = is_async
        self.table = table
        self.quoted_model = quote_model(model)

    def convert(self) -> ConfiguredReply | None:
        """Return the configured reply, or None if the test configures none."""
        method = self.method
        for function in (method, method.side_effect):
            if isinstance(function, FunctionDouble) and depends_on_call(function):
                return self.convert_function(function)
        raise_problem(method)
        if method.is_async and not self.is_async:
            raise CannotRewrite(*self.async_problem)
        effect = method.side_effect
        if isinstance(effect, TestDouble):
            raise_problem(effect)
            return self.convert_standing(effect.return_value)
        if isinstance(effect, SideEffectList):
            return self._convert_queue(effect.values)
        if isinstance(effect, PlainCode):
            return self.convert_side_effect(effect.node)
        return self.convert_standing(method.return_value)

    def convert_function(self, function: FunctionDouble) -> ConfiguredReply:
        """Convert a function of the prompt in its place, and configure it."""
        if function.is_async and not self.is_async:
            raise CannotRewrite(*self.async_problem)
        behaviour = strip_logs(function)
        parameter = self.get_call_parameter(behaviour.definition)
        converter = ReplyConverter(self._convert_returned, self.convert_error)
        new = convert_function(behaviour, parameter, converter)
        name = replace_definition(function, new)
        return ConfiguredReply(self.model, "set", (self.configure(name),))

    def get_call_parameter(self, function: cst.FunctionDef) -> CallParameter:
        """Return the parameter of the reply function that replaces a function."""
        parameters = function.params
        positional = [*parameters.posonly_params, *parameters.params]
        reads: dict[str, cst.BaseExpression] = {}
        for first in positional[:1]:
            # llm calls it with the text as the first argument.
            reads[first.name.value] = parse_expression("prompt.prompt")
        return CallParameter("prompt", reads)

    def _convert_returned(self, value: Value, table: SymbolTable) -> str:
        """Return the reply for what a function of the prompt returns."""
        method = copy.copy(self)
        method.table = table
        reply = method.convert_response(value)
        if reply is None:
            raise CannotRewrite(
                "a function of the prompt returns a response with neither text nor data",
                SEE_FUNCTIONS,
            )
        return reply

    def convert_side_effect(self, node: cst.BaseExpression) -> ConfiguredReply:
        """Return an error, or a list of responses and errors, as a configured reply."""
        values = get_elements(node)
        if values is not None:
            return self._convert_queue([PlainCode(value) for value in values])
        if not is_error(node, self.table):
            raise CannotRewrite(
                f"the side effect {to_source(node)} is not known to be an error",
                f"If it is an error, write mock_llm_responses.set_error({self.quoted_model}, …). "
                "If it is a function of the prompt, write "
                f"mock_llm_responses.set({self.quoted_model}, …).",
                node,
            )
        return self.configure_error(self.convert_error(node))

    def configure_error(self, error: str) -> ConfiguredReply:
        """Return the error as a configured reply."""
        statement = f"mock_llm_responses.set_error({self.quoted_model}, {error})"
        return ConfiguredReply(self.model, "error", (statement,))

    def configure(self, reply: str) -> str:
        """Return the statement that configures a standing reply."""
        return f"mock_llm_responses.set({self.quoted_model}, {reply})"

    def queue(self, reply: str, times: int) -> str:
        """Return the statement that queues a reply for one or more calls."""
        arguments = f"{self.quoted_model}, {reply}"
        if times > 1:
            arguments += f", times={times}"
        return f"mock_llm_responses.add({arguments})"

    def convert_error(self, node: cst.BaseExpression) -> str:
        """Return an error as an argument of `set_error`."""
        return to_source(node)

    def convert_standing(self, value: Value | None) -> ConfiguredReply | None:
        """Return the response to every call as a configured reply, None without one."""
        if value is None:
            reply = None
        else:
            reply = self.convert_response(value)
        if reply is None:
            return None
        return ConfiguredReply(self.model, "set", (self.configure(reply),))

    def _convert_queue(self, values: Sequence[Value]) -> ConfiguredReply:
        replies = [self._convert_queued(value) for value in values]
        statements = []
        for reply, group in groupby(replies):
            times = len(list(group))
            statements.append(self.queue(reply, times))
        return ConfiguredReply(self.model, "queue", tuple(statements))

    def _convert_queued(self, value: Value) -> str:
        if isinstance(value, PlainCode) and is_error(value.node, self.table):
            return self.convert_error(value.node)
        reply = self.convert_response(value)
        if reply is None:
            raise CannotRewrite(
                "a response in side_effect has neither text nor data",
                "Write mock_llm_responses.add(model, reply) for each response.",
            )
        return reply

    def convert_response(self, value: Value) -> str | None:
        """Return a response as an argument of `set`, or None if it is not configured."""
        if isinstance(value, TestDouble):
            return _Response(value, self.quoted_model, self.is_async, self.table).convert()
        chunks = _get_chunks(value)
        if chunks is None:
            node = get_node(value)
            source = "an unknown value" if node is None else to_source(node)
            raise CannotRewrite(
                f"the mock returns {source}, which is not a response",
                "The real model returns a Response. If the value is the text of the response, "
                f"write mock_llm_responses.set({self.quoted_model}, …).",
                node,
            )
        return format_reply([f"chunks={chunks}"], self.table)


class _Response:
    """Converts the double of a response.

    Args:
        double: the double.
        model: the quoted model name, for advice.
        is_async: whether the model is asynchronous.
        table: the values of the test's names.
    """

    def __init__(
        self,
        double: TestDouble,
        model: str,
        is_async: bool,
        table: SymbolTable,
    ) -> None:
        self.double = double
        self.model = model
        self.is_async = is_async
        self.table = table

    def convert(self) -> str | None:
        """Return the source of the reply, or None if the test configures none."""
        raise_problem(self.double)
        if self.double.side_effect is not None:
            raise CannotRewrite(
                "the mock of a response has a side effect",
                "Configure text() or json() instead, because a real response cannot be called.",
            )
        self._check_attributes()
        text = self._get_result("text")
        data = self._get_result("json")
        chunks = self._get_streamed_chunks()
        usage = self._get_usage()
        if text is not None and not is_text(text, self.table):
            raise self._unknown_type(text, "a string")
        if data is not None and not is_data(data, self.table):
            raise self._unknown_type(data, "a dict or a list")
        return self._format_reply(text, data, chunks, usage)

    def _unknown_type(self, node: cst.BaseExpression, expected: str) -> CannotRewrite:
        source = to_source(node)
        return CannotRewrite(
            f"{source} is not known to be {expected}",
            f"If it is, write mock_llm_responses.set({self.model}, {source}).",
            node,
        )

    def _format_reply(
        self,
        text: cst.BaseExpression | None,
        data: cst.BaseExpression | None,
        chunks: str | None,
        usage: str | None,
    ) -> str | None:
        contents = _get_contents(text, data)
        text_source = contents.get("text")
        chunks = self._choose_chunks(chunks, text, data)
        if chunks is not None:
            arguments = [f"chunks={chunks}"]
        elif not contents:
            return None
        elif usage is None and _is_plain(contents, data):
            return next(iter(contents.values()))
        elif text_source is None:
            arguments = [f"data={contents['data']}"]
        else:
            arguments = [text_source]
            if "data" in contents:
                arguments.append(f"response_json={contents['data']}")
        if usage is not None:
            arguments.append(f"usage={usage}")
        return format_reply(arguments, self.table)

    def _choose_chunks(
        self,
        chunks: str | None,
        text: cst.BaseExpression | None,
        data: cst.BaseExpression | None,
    ) -> str | None:
        """Return the chunks, or None if the text or the data are streamed in their place.

        A response of `llm` streams its text. If a mock does not, the reply is the value that the
        test may name.

        Raises:
            CannotRewrite: the test may name both.
        """
        content = data or text
        if chunks is None or content is None:
            return chunks
        if text is not None:
            chunks = _drop_single_chunk(chunks, to_source(text))
        if chunks is None or not self._is_streamed(content, chunks):
            return None
        return chunks

    def _is_streamed(self, content: cst.BaseExpression, chunks: str) -> bool:
        """Return whether the test names the chunks, and not the text or data of the mock."""
        text = get_string(content)
        elements = get_elements(parse_expression(chunks))
        streamed = join_strings(elements)
        expects_text = text is None or self.table.may_name(text)
        expects_streamed = streamed is None or self.table.may_name(streamed)
        if expects_text and expects_streamed:
            raise CannotRewrite(
                "the mock streams one text and returns another",
                "With llm, the text consists of the streamed chunks: "
                f"mock_llm_responses.set({self.model}, Reply(chunks={chunks})).",
            )
        return expects_streamed

    def _check_attributes(self) -> None:
        supported = ("text", "json", "usage", "__iter__", "__aiter__")
        if not self.double.has_any_attribute:
            return
        for name, value in self.double.attributes.items():
            if name in supported or _is_unconfigured(value):
                continue
            raise CannotRewrite(
                f"the mock of a response has the attribute {name}",
                f"Configure a Reply: mock_llm_responses.set({self.model}, Reply(text, …)). Its "
                "arguments include tool_calls, reasoning and resolved_model.",
                get_node(value),
            )

    def _get_result(self, name: str) -> cst.BaseExpression | None:
        """Return the expression that `text()` or `json()` returns."""
        method = self.double.attributes.get(name)
        # `text` of an async model is a method; here the test sets a value in its place.
        if isinstance(method, PlainCode) and not self.is_async:
            return method.node
        if not isinstance(method, TestDouble) or method.is_unconfigured:
            return None
        raise_problem(method)
        self._refuse_side_effect(name, method.side_effect)
        if not isinstance(method.return_value, PlainCode):
            raise CannotRewrite(f"the result of {name}() is not literal")
        if method.is_async and not self.is_async:
            raise CannotRewrite(
                "text() of a synchronous model is awaited",
                "Use llm.get_async_model in the application.",
            )
        if self.is_async and not method.is_async:
            raise CannotRewrite(
                "text() of an async model is not awaited",
                "The real text() is a coroutine: await it in the application, and write "
                "mock_llm_responses.set(model, text).",
            )
        return method.return_value.node

    def _refuse_side_effect(self, name: str, effect: Value | None) -> None:
        if effect is None:
            return
        node = get_node(effect)
        if isinstance(effect, SideEffectList) or isinstance(node, (cst.List, cst.Tuple)):
            raise CannotRewrite(
                f"{name}() returns a different value each time",
                f"Add a reply for each call, in order: "
                f"mock_llm_responses.script({self.model}, first, second).",
            )
        if name == "__iter__":
            raise CannotRewrite(
                "the stream raises an error before its first chunk",
                "To raise the error before the first chunk, write "
                f"mock_llm_responses.set_error({self.model}, error). To raise it after some "
                "chunks, use Reply(chunks=[…], error=error).",
            )
        if name == "usage":
            raise CannotRewrite(
                "usage() raises an error",
                "The real usage() raises no errors. To make the call fail, write "
                f"mock_llm_responses.set_error({self.model}, error).",
            )
        raise CannotRewrite(
            f"{name}() raises an error",
            f"Write mock_llm_responses.set_error({self.model}, error), which raises the error in "
            "prompt(). To raise it when the application reads the response, as llm does, set the "
            "ini key llm_mock_production_responses = true.",
        )

    def _get_streamed_chunks(self) -> str | None:
        method = self.double.attributes.get("__aiter__" if self.is_async else "__iter__")
        if method is None:
            return None
        chunks = None
        if isinstance(method, TestDouble):
            if method.is_unconfigured:
                return None
            raise_problem(method)
            self._refuse_side_effect("__iter__", method.side_effect)
            if method.return_value is not None:
                chunks = _get_chunks(method.return_value)
        if chunks is None:
            raise CannotRewrite(
                "the streamed chunks are not a literal list", "Use Reply(chunks=[…])."
            )
        return chunks

    def _get_usage(self) -> str | None:
        """Return the source of the usage: a call, or a dict of input and output tokens."""
        value = self.double.attributes.get("usage")
        if value is None or _is_unconfigured(value):
            return None
        if isinstance(value, TestDouble):
            raise_problem(value)
            self._refuse_side_effect("usage", value.side_effect)
            # Without a result, the mock is the usage itself.
            value = value.return_value or value
        node = find_only_value(get_node(value), self.table)
        if node is None:
            return _format_usage(value)
        if isinstance(node, cst.Call):
            return to_source(node)
        # usage() of llm is never empty, so the reply has the usage of any other.
        if get_truth(node) is False:
            return None
        return _format_usage(PlainCode(node))


def _format_usage(value: Value) -> str:
    numbers = {}
    for name, node in _list_usage(value).items():
        key = _USAGE_KEYS.get(name, "")
        # A number with two names is unknown, too.
        if node is None or key in numbers:
            numbers[key] = ""
        else:
            numbers[key] = to_source(node)
    required = {"input_tokens", "output_tokens"}
    if not required <= numbers.keys() <= {*_USAGE_KEYS.values()} or "" in numbers.values():
        raise CannotRewrite(
            "usage() does not return literal numbers of input and output tokens",
            'Use Reply(text, usage={"input": …, "output": …}).',
        )
    items = []
    for key in dict.fromkeys(_USAGE_KEYS.values()):
        if key in numbers:
            items.append(f'"{key}": {numbers[key]}')
    return f"{{{', '.join(items)}}}"


def _list_usage(value: Value) -> dict[str, cst.BaseExpression | None]:
    """Return the attributes or items of a usage, with None for what is not plain code."""
    if isinstance(value, TestDouble):
        return {name: get_node(number) for name, number in value.attributes.items()}
    if isinstance(value, PlainCode) and isinstance(value.node, cst.Dict):
        return {**(read_dict(value.node) or {})}
    return {}


def _get_contents(
    text: cst.BaseExpression | None,
    data: cst.BaseExpression | None,
) -> dict[str, str]:
    """Return the source of `text` and `data`, as far as they are given and needed."""
    contents = {}
    # A model replies with data as JSON, so its dump follows from it.
    if text is not None and not (data is not None and _is_dump_of(text, data)):
        contents["text"] = to_source(text)
    if data is not None:
        contents["data"] = to_source(data)
    return contents


def _is_plain(contents: Sized, data: cst.BaseExpression | None) -> bool:
    """Return whether a reply can be written without `Reply(…)`."""
    if isinstance(data, cst.List):
        # A list of texts would be taken for a list of replies.
        is_list_of_texts = any(get_string(element.value) is not None for element in data.elements)
    else:
        is_list_of_texts = isinstance(data, cst.ListComp)
    return len(contents) == 1 and not is_list_of_texts


def _drop_single_chunk(chunks: str | None, text: str) -> str | None:
    """Return None for chunks that are the whole text, which is how it is streamed anyway."""
    if chunks in (f"[{text}]", f"({text},)"):
        return None
    return chunks


def _is_dump_of(text: cst.BaseExpression, data: cst.BaseExpression) -> bool:
    """Return whether a text is `json.dumps(data)`, or another call with the data alone."""
    if not isinstance(text, cst.Call):
        return False
    arguments = [to_source(argument.value) for argument in text.args]
    return arguments == [to_source(data)]


def _get_chunks(value: Value) -> str | None:
    """Return the source of a literal list of chunks, without an `iter` around it."""
    node = get_node(value)
    if isinstance(node, cst.Call) and m.matches(node, _LIST_CALL):
        node = node.args[0].value
    if isinstance(node, (cst.List, cst.Tuple)):
        return to_source(node)
    return None
