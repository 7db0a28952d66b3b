"""Rewrite reads of mocks (counts, arguments) into reads of recorded calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.doubles import LegacyMock, PatchedGetter, TestDouble, Value
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.replies import (
    ANY_MODEL,
    LEARN,
    find_models,
    find_prompt_methods,
    quote_model,
)
from llm_mock.migrate.sdk_clients import (
    CLIENTS,
    EMBEDDINGS,
    LITELLM,
    PatchedClient,
    find_method_path,
    has_two_kinds,
)
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import (
    collect_names,
    get_index,
    get_int,
    get_string,
    parse_expression,
    separate_quotes,
    to_source,
)

ALL = "mock_llm_calls"
REQUESTS = f"{ALL}.requested_models"
# The same calls: a project may have a fixture `mock_llm_calls` of its own.
LEGACY_CALLS = "mock_llm_responses.calls"
SEE_CALLS = (
    "mock_llm_calls.calls has every call: prompt, model_id, "
    "kwargs (system, schema, tools), options."
)
SEE_CLIENT = (
    "The client is a real one now: assert on its attributes, such as client.base_url and "
    "client.api_key."
)
SEE_REQUESTS = f"{REQUESTS} has the names that were given to get_model, in order."
# The other keyword arguments of a call are its options.
KWARGS = ("system", "schema")
ATTACHMENTS = "attachments"
UNSUPPORTED_KEYWORDS = (
    "tools",
    ATTACHMENTS,
    "fragments",
    "system_fragments",
    "stream",
    "key",
    "messages",
    "response",
)
# Arguments of the methods of clients that are no part of the request body.
CLIENT_OPTIONS = ("timeout", "extra_headers", "extra_query", "extra_body")
# The SDK sends it, as base64, if the application asks for vectors without it.
ADDED_ARGUMENT = "encoding_format"
# The arguments of litellm that it sends to OpenAI as they are.
LITELLM_ARGUMENTS = ("messages", "temperature", "max_tokens", "top_p", "tools", "tool_choice")
_LEN_CALL = m.Call(m.Name("len"), [m.Arg()])
_GET_CALL = m.Call(m.Attribute(attr=m.Name("get")))
# Of `unittest`.
_MEMBERSHIP_ASSERTION = m.Call(
    m.Attribute(m.Name("self"), m.Name("assertIn") | m.Name("assertNotIn")),
    [m.Arg(), m.Arg(), m.AtMostN(m.Arg(), n=1)],
)
# Not `mock_calls`, which has the calls of results as well, such as `call().text()`.
CALL_ATTRIBUTES = ("call_count", "called", "call_args", "call_args_list")


@dataclass(frozen=True)
class CallList:
    """An expression for a list of recorded calls.

    Attributes:
        source: the expression.
        is_of_getter: whether they are calls of `get_model`, of which only the names are recorded.
        is_legacy: whether the old test reads records of its own mock.
        sdk: the SDK that is called, whose arguments are those of the request; empty for `llm`.
    """

    source: str
    is_of_getter: bool = False
    is_legacy: bool = False
    sdk: str = ""


@dataclass(frozen=True)
class SingleCall:
    """An expression for one recorded call.

    Attributes:
        source: the expression.
        is_of_getter: whether it is a call of `get_model`, recorded as the name it was given.
        is_legacy: whether the old test reads a record of its own mock.
        sdk: the SDK that is called, whose arguments are those of the request; empty for `llm`.
    """

    source: str
    is_of_getter: bool = False
    is_legacy: bool = False
    sdk: str = ""

    @property
    def is_last(self) -> bool:
        """Return whether it is another call after each call of the application."""
        return self.source.endswith(".last_call") or "[-" in self.source


@dataclass(frozen=True)
class PositionalArguments:
    """The positional arguments of a call."""

    call: SingleCall


@dataclass(frozen=True)
class KeywordArguments:
    """The keyword arguments of a call."""

    call: SingleCall


@dataclass(frozen=True)
class AttachmentList:
    """The attachments of a call."""

    call: SingleCall

    @property
    def source(self) -> str:
        """The expression for them in a record."""
        return f'{self.call.source}["kwargs"]["{ATTACHMENTS}"]'


@dataclass(frozen=True)
class SingleAttachment:
    """One attachment of a call, of which a record has the fields.

    Attributes:
        call: the call.
        source: the expression for the attachment.
    """

    call: SingleCall
    source: str


CallValue = (
    CallList
    | SingleCall
    | PositionalArguments
    | KeywordArguments
    | AttachmentList
    | SingleAttachment
)
"""A value that is read from calls and has no expression of its own."""


_READING_NODES = (
    cst.Attribute,
    cst.Subscript,
    cst.Call,
    cst.Comparison,
)
PARTS_OF_CALLS = (PositionalArguments, KeywordArguments, AttachmentList, SingleAttachment)


class MockRole(NamedTuple):
    """The part of `llm` that a mock replaces: `get_model` itself, or the prompt of a model."""

    is_getter: bool
    getter: PatchedGetter
    model: str
    path: str = ""

    @property
    def sdk(self) -> str:
        """The SDK if it is the method of a client, or the method for vectors; else empty."""
        if self.path == EMBEDDINGS:
            return EMBEDDINGS
        return self.getter.library if isinstance(self.getter, PatchedClient) else ""


class CallReader:
    """Rewrites the reads of the mocks in one test.

    Args:
        table: the values of the test's names.
        getters: the patches so far; the list may grow.
        resolve_model: returns the model id for a name or alias.
    """

    def __init__(
        self,
        table: SymbolTable,
        getters: list[PatchedGetter],
        resolve_model: Callable[[str], str],
    ) -> None:
        self.table = table
        self.getters = getters
        self.names: dict[str, CallValue] = {}
        """The names that stand for values read from calls."""
        self.loop_variables: set[str] = set()
        """The variables of loops over calls, which stay in the new test."""
        self.checks_calls = False
        """Whether the test reads or asserts anything about calls."""
        self.expects_calls = False
        """Whether the test reads or asserts more than that there is no call."""
        self.asserted_models: dict[str, list[str]] = {}
        """The only models that are requested, as assertions say, by patched target."""
        self._resolve_model = resolve_model
        self._outdated: set[str] = set()

    def bind(self, name: str, value: CallValue) -> None:
        """Let a name of the test stand for a value that is read from calls."""
        self.names[name] = value
        self._outdated.discard(name)

    def forget_last_calls(self) -> None:
        """Refuse names that stand for the last call from now on, because there may be another."""
        for name, value in self.names.items():
            if isinstance(value, PARTS_OF_CALLS):
                value = value.call
            if isinstance(value, SingleCall) and value.is_last:
                self._outdated.add(name)

    def find_role(self, double: Value) -> MockRole | None:
        """Return the part of `llm` that a mock replaces, or None."""
        for getter in self.getters:
            if isinstance(getter, PatchedClient):
                path = find_method_path(getter, double)
                if path is not None:
                    return MockRole(False, getter, ANY_MODEL, path)
                continue
            if double is getter.double:
                return MockRole(True, getter, ANY_MODEL)
            if isinstance(getter.double, LegacyMock):
                # Its calls are read from call_history instead.
                continue
            for model, model_double in find_models(getter):
                methods = find_prompt_methods(model_double)
                if any(double is method for method in methods):
                    return MockRole(False, getter, model)
        return None

    def get_advice(self, double: Value, otherwise: str = SEE_CALLS) -> str:
        """Return the advice for an assertion on a mock that replaces no model.

        Args:
            double: the mock.
            otherwise: the advice if it is not the class of a client.
        """
        for getter in self.getters:
            if isinstance(getter, PatchedClient) and getter.double is double:
                return SEE_CLIENT
        return otherwise

    def find_call_owner(self, role: MockRole) -> str:
        """Return the expression that has the calls of a role: all models, or one of them."""
        _refuse_two_kinds(role.getter)
        configured = [each for each in self.getters if not each.double.is_unconfigured]
        if len(configured) <= 1 and len(find_models(role.getter)) <= 1:
            return ALL
        for other in configured:
            if other is not role.getter and role.model in other.requested_models:
                raise CannotRewrite(
                    f"two patches stand for {role.model}, and the test counts the calls of one",
                    "Split the test, or count the calls of both: mock_llm_calls.calls.",
                )
        if role.model == ANY_MODEL:
            raise CannotRewrite(
                "several mocks replace models whose ids are not in the source",
                LEARN,
            )
        return f"{ALL}.get_model({quote_model(role.model)})"

    def check_only_getter(self, role: MockRole, node: cst.BaseExpression) -> None:
        """Refuse to read calls of one `get_model` of several, which are recorded together.

        Raises:
            CannotRewrite: the test configures another patch, too.
        """
        for other in self.getters:
            if other is not role.getter and not other.double.is_unconfigured:
                raise CannotRewrite(
                    f"{to_source(node)} is about one of several patches",
                    f"{SEE_REQUESTS}",
                    node,
                )

    def rewrite(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """Rewrite an expression so that it reads no mock.

        Raises:
            CannotRewrite: it reads something unknown.
        """
        result = self.rewrite_node(node)
        assert isinstance(result, cst.BaseExpression)
        return result

    def rewrite_node(self, node: cst.CSTNode) -> cst.CSTNode:
        """Rewrite a statement so that it reads no mock.

        Raises:
            CannotRewrite: it reads something unknown.
        """
        if not self.find_reads(node):
            return node
        rewriter = _ReadRewriter(self)
        result = node.visit(rewriter)
        assert isinstance(result, cst.CSTNode)
        if rewriter.schemas:
            # A record has the name of the schema, not the class.
            raise new_no_equivalent(next(iter(rewriter.schemas.values())))
        return result

    def find_reads(self, node: cst.CSTNode) -> set[str]:
        """Return the names in a node that stand for mocks or for values read from calls."""
        names = collect_names(node)
        found = self.table.find_mocks(node)
        for name in names & (self.names.keys() | self.loop_variables):
            # A loop variable that is used as a record is valid in the new test.
            if name not in self.loop_variables or not _is_used_as_record(name, node):
                found.add(name)
        return found

    def add_loop(self, node: cst.For | cst.CompFor) -> None:
        """Register the variable of a loop over calls."""
        calls = self.read(node.iter)
        if not isinstance(calls, CallList):
            return
        if calls.is_of_getter:
            raise new_no_equivalent(node.iter, SEE_REQUESTS)
        if not isinstance(node.target, cst.Name):
            raise new_no_equivalent(node.iter)
        name = node.target.value
        if name in self.names and name not in self.loop_variables:
            raise CannotRewrite(
                f"the name {name} has two meanings",
                "Rename one of them, then run this again.",
                node,
            )
        self.names[name] = SingleCall(
            name,
            is_legacy=calls.is_legacy,
            sdk=calls.sdk,
        )
        self.loop_variables.add(name)

    def read(self, node: cst.BaseExpression) -> CallValue | cst.BaseExpression | None:
        """Return the value that an expression reads from a mock.

        Returns:
            A value of a call, the new expression, or None if it reads nothing known.
        """
        if isinstance(node, cst.Name):
            if node.value in self._outdated:
                raise CannotRewrite(
                    f"{node.value} is the last call, and the application runs again before it "
                    "is read",
                    "Read it at once, or by its position: mock_llm_calls.calls[0].",
                    node,
                )
            return self.names.get(node.value)
        if not self.find_reads(node):
            return None
        if isinstance(node, cst.Attribute):
            return self._read_attribute(node)
        if isinstance(node, cst.Subscript):
            return self._read_subscript(node)
        if isinstance(node, cst.Call):
            return self._read_call(node)
        if isinstance(node, cst.Comparison):
            return self._read_comparison(node)
        return None

    def _read_attribute(self, node: cst.Attribute) -> CallValue | cst.BaseExpression | None:
        name = node.attr.value
        owner = self.read(node.value)
        if isinstance(owner, SingleAttachment):
            return _read_attachment(owner, name)
        if isinstance(owner, SingleCall):
            return _read_arguments(owner, name)
        if owner is not None or not self.table.find_mocks(node.value):
            return None
        double = self.table.evaluate(node.value)
        if isinstance(double, LegacyMock) and name == "call_history":
            self.checks_calls = True
            return CallList(LEGACY_CALLS, is_legacy=True)
        # An AsyncMock counts awaits as well.
        name = name.replace("await_", "call_")
        if not isinstance(double, TestDouble) or name not in CALL_ATTRIBUTES:
            return None
        return self._read_calls(double, name, node)

    def _read_calls(
        self,
        double: TestDouble,
        name: str,
        node: cst.BaseExpression,
    ) -> CallValue | cst.BaseExpression:
        role = self.find_role(double)
        if role is None:
            self.table.check_class(double)
            raise CannotRewrite(
                f"{to_source(node)} counts calls of an object that llm_mock does not replace",
                self.get_advice(double),
                node,
            )
        self.checks_calls = True
        self.expects_calls = True
        if role.is_getter:
            self.check_only_getter(role, node)
            return _read_getter_calls(name)
        owner = self.find_call_owner(role)
        calls = format_history(owner)
        if name == "call_count":
            return parse_expression(f"len({calls})")
        if name == "called":
            return parse_expression(f"bool({calls})")
        if name == "call_args":
            return SingleCall(f"{owner}.last_call", sdk=role.sdk)
        return CallList(calls, sdk=role.sdk)

    def _read_subscript(self, node: cst.Subscript) -> CallValue | cst.BaseExpression | None:
        owner = self.read(node.value)
        index = get_index(node)
        if index is None:
            return None
        number = get_int(index)
        name = get_string(index)
        if isinstance(owner, CallList) and number is not None:
            source = f"{owner.source}[{number}]"
            return SingleCall(source, owner.is_of_getter, owner.is_legacy, owner.sdk)
        if isinstance(owner, SingleCall):
            return _read_call_item(owner, number, name)
        if isinstance(owner, PositionalArguments) and number == 0:
            return _read_first_argument(owner.call)
        if isinstance(owner, KeywordArguments) and name:
            return _read_item(owner, name, node)
        if isinstance(owner, AttachmentList):
            return _read_attachment_at(owner, number)
        return None

    def _read_call(self, node: cst.Call) -> cst.BaseExpression | None:
        """Read `len(calls)`, `kwargs.get(name)` or `self.assertIn(name, kwargs)`."""
        if m.matches(node, _MEMBERSHIP_ASSERTION):
            return self._read_membership_assertion(node)
        if m.matches(node, _LEN_CALL):
            [argument] = node.args
            calls = self.read(argument.value)
            if not isinstance(calls, (CallList, AttachmentList)):
                return None
            return parse_expression(f"len({calls.source})")
        if not m.matches(node, _GET_CALL) or not node.args:
            return None
        function = cst.ensure_type(node.func, cst.Attribute)
        keywords = self.read(function.value)
        argument, *defaults = node.args
        name = get_string(argument.value)
        if not isinstance(keywords, KeywordArguments) or not name:
            return None
        # Any default but None would have to be repeated.
        if defaults and to_source(defaults[0].value) != "None":
            return None
        return _read_keyword(keywords, name, node, uses_get=True)

    def _read_membership_assertion(self, node: cst.Call) -> cst.BaseExpression | None:
        name, container, *others = node.args
        keywords = self.read(container.value)
        if not isinstance(keywords, KeywordArguments):
            return None
        function = cst.ensure_type(node.func, cst.Attribute)
        if function.attr.value == "assertIn":
            operator: cst.BaseCompOp = cst.In()
        else:
            operator = cst.NotIn()
        target = cst.ComparisonTarget(operator, container.value)
        comparison = cst.Comparison(name.value, [target])
        comparison = _read_membership(comparison, keywords)
        [new_target] = comparison.comparisons
        new_container = container.with_changes(value=new_target.comparator)
        return node.with_changes(args=[name, new_container, *others])

    def _read_comparison(self, node: cst.Comparison) -> cst.BaseExpression | None:
        if len(node.comparisons) != 1:
            return None
        [target] = node.comparisons
        if isinstance(target.operator, (cst.In, cst.NotIn)):
            keywords = self.read(target.comparator)
            if isinstance(keywords, KeywordArguments):
                return _read_membership(node, keywords)
        left = self.read(node.left)
        if not isinstance(left, cst.BaseExpression):
            return None
        if _is_schema(left):
            return _rewrite_schema_comparison(node, left)
        model = get_string(target.comparator)
        if to_source(left).endswith('["model_id"]') and model is not None:
            # A record has the id, also of a model that was requested by an alias.
            model_id = quote_model(self._resolve_model(model))
            new_target = target.with_changes(comparator=parse_expression(model_id))
            return node.with_changes(left=left, comparisons=[new_target])
        return None


def _refuse_two_kinds(getter: PatchedGetter) -> None:
    if isinstance(getter, PatchedClient) and has_two_kinds(getter):
        raise CannotRewrite(
            "the client has texts and vectors, and the test counts the calls of one kind",
            'Compare the kind of each call of mock_llm_calls.calls: call["api"].',
        )


def format_history(owner: str) -> str:
    """Return the expression for the calls of the fixture or of one model."""
    attribute = "calls" if owner == ALL else "call_history"
    return f"{owner}.{attribute}"


def _read_getter_calls(name: str) -> CallValue | cst.BaseExpression:
    if name == "call_count":
        return parse_expression(f"len({REQUESTS})")
    if name == "called":
        return parse_expression(f"bool({REQUESTS})")
    if name == "call_args":
        return SingleCall(f"{REQUESTS}[-1]", is_of_getter=True)
    return CallList(REQUESTS, is_of_getter=True)


def _read_arguments(call: SingleCall, name: str) -> CallValue | None:
    """Read `call.args` or `call.kwargs`."""
    if name == "args":
        return PositionalArguments(call)
    if name == "kwargs":
        return KeywordArguments(call)
    return None


def _read_attachment_at(attachments: AttachmentList, number: int | None) -> CallValue | None:
    """Read `kwargs["attachments"][0]`."""
    if number is None:
        return None
    source = f"{attachments.source}[{number}]"
    return SingleAttachment(attachments.call, source)


def _read_attachment(attachment: SingleAttachment, name: str) -> cst.BaseExpression | None:
    """Read `attachment.url`, of which the record has the field unless it is None."""
    if name not in ("type", "path", "url"):
        return None
    return parse_expression(f'{attachment.source}.get("{name}")')


def _read_call_item(
    call: SingleCall,
    number: int | None,
    name: str | None,
) -> CallValue | cst.BaseExpression | None:
    if call.is_legacy:
        return None if name is None else _read_legacy_field(call, name)
    # A call of unittest.mock is the pair (args, kwargs).
    if number == 0:
        return PositionalArguments(call)
    return KeywordArguments(call) if number == 1 else None


def _read_first_argument(call: SingleCall) -> cst.BaseExpression | None:
    if call.is_of_getter:
        return parse_expression(call.source)
    if call.sdk:
        # The methods of SDKs take keyword arguments only.
        return None
    return parse_expression(f'{call.source}["prompt"]')


def _read_legacy_field(call: SingleCall, name: str) -> cst.BaseExpression:
    """Return the expression for a field of a legacy record in our record."""
    if name in ("model", "model_name", "model_id"):
        return parse_expression(f'{call.source}["model_id"]')
    if name in ("prompt", "response"):
        return parse_expression(f'{call.source}["{name}"]')
    section = _get_section(name)
    return parse_expression(f'{call.source}["{section}"]["{name}"]')


def _get_section(keyword: str) -> str:
    """Return the key of a record under which it has a keyword argument."""
    return "kwargs" if keyword in KWARGS else "options"


def _read_item(
    keywords: KeywordArguments,
    name: str,
    node: cst.BaseExpression,
) -> CallValue | cst.BaseExpression:
    """Read `kwargs[name]`."""
    call = keywords.call
    is_of_model = not call.is_of_getter and not call.sdk
    if name == ATTACHMENTS and is_of_model:
        return AttachmentList(call)
    if name == "extra_body" and call.sdk in CLIENTS:
        # The SDK puts its items into the body, beside the other arguments.
        return keywords
    return _read_keyword(keywords, name, node)


def _read_keyword(
    keywords: KeywordArguments,
    name: str,
    node: cst.BaseExpression,
    *,
    uses_get: bool = False,
) -> cst.BaseExpression:
    call = keywords.call
    if call.sdk:
        return _read_body(call, name, node, uses_get=uses_get)
    if call.is_of_getter or name in UNSUPPORTED_KEYWORDS:
        raise new_no_equivalent(node)
    if name == "prompt":
        return parse_expression(f'{call.source}["prompt"]')
    section = f'{call.source}["{_get_section(name)}"]'
    # A record always has a schema, if only None.
    if uses_get and name != "schema":
        return parse_expression(f'{section}.get("{name}")')
    return parse_expression(f'{section}["{name}"]')


def _read_body(
    call: SingleCall,
    name: str,
    node: cst.BaseExpression,
    *,
    uses_get: bool,
) -> cst.BaseExpression:
    refuse_client_option(name, node)
    # A missing argument may be one that litellm dropped.
    if call.sdk == LITELLM and (uses_get or name not in LITELLM_ARGUMENTS):
        raise new_litellm_problem(node)
    body = f"{call.source}.request.body"
    if uses_get:
        return parse_expression(f'{body}.get("{name}")')
    return parse_expression(f'{body}["{name}"]')


def refuse_client_option(name: str, node: cst.CSTNode) -> None:
    """Refuse an argument of a method of a client that is no part of the request body."""
    if name in CLIENT_OPTIONS:
        raise CannotRewrite(
            f"{name} is not sent in the body of the request",
            "mock_llm_calls.last_call.request has url, headers and body.",
            node,
        )


def new_litellm_problem(node: cst.CSTNode) -> CannotRewrite:
    """Return the error for an argument of litellm, which renames, converts and drops some."""
    return CannotRewrite(
        f"litellm may not send what {to_source(node)} reads",
        "Assert on the request: mock_llm_calls.last_call.model_id has the model without its "
        "provider, mock_llm_calls.last_call.request.body the rest.",
        node,
    )


def _read_membership(node: cst.Comparison, keywords: KeywordArguments) -> cst.Comparison:
    """Rewrite `"system" in kwargs`."""
    [target] = node.comparisons
    call = keywords.call
    name = get_string(node.left)
    if call.sdk and name is not None:
        _check_membership(name, call.sdk, node)
        body = parse_expression(f"{call.source}.request.body")
        new_target = target.with_changes(comparator=body)
        return node.with_changes(comparisons=[new_target])
    if name == ATTACHMENTS and isinstance(target.operator, cst.In) and not call.is_of_getter:
        # Not `not in`: a record has no empty list of attachments.
        comparator = parse_expression(f'{call.source}["kwargs"]')
        new_target = target.with_changes(comparator=comparator)
        return node.with_changes(comparisons=[new_target])
    # A record always has a prompt and a schema, so `in` says nothing about them.
    is_certain = name in ("prompt", "schema", *UNSUPPORTED_KEYWORDS)
    if name is None or is_certain or call.is_of_getter:
        raise new_no_equivalent(node)
    section = _get_section(name)
    comparator = parse_expression(f'{call.source}["{section}"]')
    new_target = target.with_changes(comparator=comparator)
    return node.with_changes(comparisons=[new_target])


def _check_membership(name: str, sdk: str, node: cst.Comparison) -> None:
    """Refuse to ask for an argument that is not in the body as the application gives it."""
    refuse_client_option(name, node)
    if sdk == EMBEDDINGS and name == ADDED_ARGUMENT:
        raise CannotRewrite(
            f"the SDK itself sends {name} if the application does not",
            'Assert its value: mock_llm_calls.last_call.request.body["encoding_format"].',
            node,
        )
    if sdk == LITELLM:
        raise new_litellm_problem(node)


def new_no_equivalent(node: cst.BaseExpression, advice: str = SEE_CALLS) -> CannotRewrite:
    """Return the error for an expression that llm_mock cannot express in the same form."""
    return CannotRewrite(f"{to_source(node)} has no equivalent", advice, node)


def _is_used_as_record(name: str, node: cst.CSTNode) -> bool:
    """Return whether a loop variable is only used like `call["prompt"]` or `call.request`."""
    variable = m.Name(name)
    key = m.SubscriptElement(m.Index(m.SimpleString()))
    # Nodes are compared by identity: the name occurs in nodes that are equal.
    allowed: set[int] = set()
    for found in m.findall(node, m.Subscript(variable, [key])):
        subscript = cst.ensure_type(found, cst.Subscript)
        allowed.add(id(subscript.value))
    for found in m.findall(node, m.Attribute(variable, m.Name("request"))):
        attribute = cst.ensure_type(found, cst.Attribute)
        allowed.add(id(attribute.value))
    # The loop itself binds the name.
    for found in m.findall(node, m.CompFor() | m.For()):
        target = getattr(found, "target", None)
        allowed.add(id(target))
    return all(id(use) in allowed for use in m.findall(node, variable))


def get_schema_name(node: cst.BaseExpression) -> cst.BaseExpression:
    """Return the expression for the name of a schema class, which records have.

    Raises:
        CannotRewrite: the expression may not be a class.
    """
    if isinstance(node, cst.Attribute):
        name = node.attr.value
    else:
        name = getattr(node, "value", "")
    is_name = isinstance(node, (cst.Name, cst.Attribute))
    # Upper case alone is a constant, such as a JSON schema.
    if not is_name or not name[:1].isupper() or name.isupper():
        raise CannotRewrite(
            f"{to_source(node)} may not be a class",
            'A record has the name of the schema: ["kwargs"]["schema"].',
        )
    return parse_expression(f"{to_source(node)}.__name__")


def _rewrite_schema_comparison(
    node: cst.Comparison,
    left: cst.BaseExpression,
) -> cst.BaseExpression:
    """Compare the recorded schema, which is a name, with the name of the class."""
    [target] = node.comparisons
    if to_source(target.comparator) == "None":
        return node.with_changes(left=left)
    operator = target.operator
    # Names are equal but not identical.
    if isinstance(operator, cst.Is):
        operator = cst.Equal()
    elif isinstance(operator, cst.IsNot):
        operator = cst.NotEqual()
    new_target = cst.ComparisonTarget(operator, get_schema_name(target.comparator))
    return node.with_changes(left=left, comparisons=[new_target])


def _is_schema(node: cst.CSTNode) -> bool:
    """Return whether a new expression reads the schema of a recorded call."""
    return to_source(node).endswith('["kwargs"]["schema"]')


class _ReadRewriter(cst.CSTTransformer):
    def __init__(self, reader: CallReader) -> None:
        self.reader = reader
        self.schemas: dict[int, cst.BaseExpression] = {}
        """The reads of schemas that are neither compared nor tested, by the id of their node."""

    def on_leave(  # type: ignore[override]
        self,
        original_node: cst.CSTNodeT,
        updated_node: cst.CSTNodeT,
    ) -> object:
        if isinstance(original_node, _READING_NODES):
            value = self.reader.read(original_node)
            if isinstance(value, cst.BaseExpression):
                self._add_schema(original_node, value)
                return value
        if isinstance(original_node, cst.Assert):
            self.schemas.pop(id(original_node.test), None)
        elif m.matches(original_node, m.UnaryOperation(m.Not())):
            self.schemas.pop(id(getattr(original_node, "expression", None)), None)
        return super().on_leave(original_node, updated_node)

    def _add_schema(self, node: cst.BaseExpression, value: cst.BaseExpression) -> None:
        if isinstance(node, cst.Comparison):
            self.schemas.pop(id(node.left), None)
        elif _is_schema(value):
            self.schemas[id(node)] = node

    def leave_FormattedString(
        self,
        original_node: cst.FormattedString,
        updated_node: cst.FormattedString,
    ) -> cst.FormattedString:
        """Return an f-string in which the keys of records do not have its quotes."""
        return separate_quotes(updated_node)

    # The element of a comprehension is visited before its loop.
    def visit_ListComp(self, node: cst.ListComp) -> None:
        self.reader.add_loop(node.for_in)

    def visit_GeneratorExp(self, node: cst.GeneratorExp) -> None:
        self.reader.add_loop(node.for_in)

    def leave_CompFor(
        self,
        original_node: cst.CompFor,
        updated_node: cst.CompFor,
    ) -> cst.CompFor:
        calls = self.reader.read(original_node.iter)
        if isinstance(calls, CallList):
            return updated_node.with_changes(iter=parse_expression(calls.source))
        return updated_node
