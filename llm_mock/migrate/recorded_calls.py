"""Rewrite reads of mocks (counts, arguments) into reads of recorded calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.argument_logs import ARGUMENTS, CALL
from llm_mock.migrate.call_values import (
    ATTACHMENTS,
    EXTRA_BODY,
    PARTS_OF_CALLS,
    REQUEST_CONFIG,
    REQUEST_CONTENTS,
    AnsweredContent,
    AnsweredRequest,
    AttachmentList,
    CallList,
    CallValue,
    ExtraBody,
    HTTPCallList,
    Kept,
    KeptItems,
    KeywordArguments,
    PositionalArguments,
    RequestConfig,
    RequestContents,
    SingleAttachment,
    SingleCall,
)
from llm_mock.migrate.doubles import (
    ArgumentLog,
    LegacyMock,
    PatchedGetter,
    Record,
    TestDouble,
    Value,
)
from llm_mock.migrate.http_calls import (
    find_route,
    format_body,
    read_attribute,
    read_item,
    read_method,
)
from llm_mock.migrate.http_routes import PatchedRoute, Route, Router
from llm_mock.migrate.legacy_mock import OUR_MOCK
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
    GOOGLE,
    LITELLM,
    PatchedClient,
    find_method_path,
    find_methods,
    has_two_kinds,
)
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import (
    collect_names,
    get_dotted_name,
    get_elements,
    get_index,
    get_int,
    get_string,
    parse_expression,
    read_dict,
    separate_quotes,
    to_source,
)
from llm_mock.migrate.targets import find_text
from llm_mock.migrate.value_types import find_only_value

ALL = "mock_llm_calls"
REQUESTS = f"{ALL}.requested_models"
# The same calls: a project may have a fixture `mock_llm_calls` of its own.
LEGACY_CALLS = f"{OUR_MOCK}.calls"
SEE_CALLS = (
    "mock_llm_calls.calls has every call: prompt, model_id, "
    "kwargs (system, schema, tools), options."
)
SEE_CLIENT = (
    "The new test uses a real client: assert on its attributes, such as client.base_url and "
    "client.api_key."
)
SEE_ALL = (
    "The fake merges the arguments of all calls, so later values overwrite earlier ones. Assert on "
    "mock_llm_calls.last_call.request.body, or on the request.body of each call in "
    "mock_llm_calls.calls."
)
SEE_REQUESTS = f"{REQUESTS} has the names passed to get_model, in order."
# The other keyword arguments of a call are its options.
KWARGS = ("system", "schema", ATTACHMENTS)
RECORD_KEYS = ("model_id", "prompt", "response", "kwargs", "options")
"""The keys of our record that can hold a field of a legacy record."""
UNSUPPORTED_KEYWORDS = (
    "tools",
    ATTACHMENTS,
    EXTRA_BODY,
    "fragments",
    "system_fragments",
    "stream",
    "key",
    "messages",
    "response",
)
# Arguments of client methods that are not part of the request body.
CLIENT_OPTIONS = ("timeout", "extra_headers", "extra_query", EXTRA_BODY)
# The SDK sends it, as base64, if the application asks for vectors without it.
ADDED_ARGUMENT = "encoding_format"
# The arguments of litellm that it sends to OpenAI as they are.
LITELLM_ARGUMENTS = ("messages", "temperature", "max_tokens", "top_p", "tools", "tool_choice")
_LEN_CALL = m.Call(m.Name("len"), [m.Arg()])
_GET_CALL = m.Call(m.Attribute(attr=m.Name("get")), [m.Arg(), m.ZeroOrMore()])
# Of `unittest`.
_MEMBERSHIP_ASSERTION = m.Call(
    m.Attribute(m.Name("self"), m.Name("assertIn") | m.Name("assertNotIn")),
    [m.Arg(), m.Arg(), m.AtMostN(m.Arg(), n=1)],
)
# Not `mock_calls`, which has the calls of results as well, such as `call().text()`.
CALL_ATTRIBUTES = ("call_count", "called", "call_args", "call_args_list")


_READING_NODES = (
    cst.Attribute,
    cst.Subscript,
    cst.Call,
    cst.Comparison,
)
_LITERALS = (
    cst.SimpleString,
    cst.Integer,
    cst.Float,
    cst.List,
    cst.Dict,
)


class MockRole(NamedTuple):
    """The part of `llm` that a mock replaces: `get_model` itself, or the prompt of a model."""

    getter: PatchedGetter
    model: str = ANY_MODEL
    path: str = ""
    is_getter: bool = False

    def has_calls_of(self, other: MockRole) -> bool:
        """Return whether the calls of another role are recorded together with these calls."""
        # The calls of all clients are recorded together.
        if other.sdk:
            return True
        return self.getter is other.getter and self.model == other.model

    @property
    def sdk(self) -> str:
        """The SDK of a client's method, or the embeddings method; empty for `llm`."""
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
        """The only models that may be requested according to assertions, by patched target."""
        self.called: list[Value] = []
        """The methods whose calls the test reads or asserts."""
        self.not_called: list[tuple[Value, cst.Call]] = []
        """The methods that are not called, each with the assertion that says so."""
        self.compared: set[int] = set()
        """The ids of the nodes that are compared with a literal other than None."""
        self.compared_with_false: set[int] = set()
        self._resolve_model = resolve_model
        self._outdated: set[str] = set()

    def bind(self, name: str, value: CallValue) -> None:
        """Bind a name of the test to a value that is read from calls."""
        self.names[name] = value
        self._outdated.discard(name)

    def forget_last_calls(self) -> None:
        """Refuse later reads of names for the last call, because the next call replaces it."""
        for name, value in self.names.items():
            if isinstance(value, KeywordArguments) and value.name:
                # The new test has a name for the body, too.
                continue
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
                    return MockRole(getter, path=path)
                continue
            if double is getter.double:
                return MockRole(getter, is_getter=True)
            for model, model_double in find_models(getter):
                methods = find_prompt_methods(model_double)
                if any(double is method for method in methods):
                    return MockRole(getter, model)
        return None

    def get_advice(self, double: Value, otherwise: str = SEE_CALLS) -> str:
        """Return the advice for an assertion on a mock that replaces no model.

        Args:
            double: the mock.
            otherwise: the advice if it is not the class of a client.
        """
        # A patched get_model has a role, so that only classes of clients are left.
        is_client_class = any(getter.double is double for getter in self.getters)
        return SEE_CLIENT if is_client_class else otherwise

    def find_recorder(self, log: ArgumentLog, node: cst.BaseExpression) -> MockRole | None:
        """Return the part of `llm` or of an SDK whose calls a log keeps, or None.

        Raises:
            CannotRewrite: it also keeps other calls, misses some, or keeps them in several forms.
        """
        roles = []
        others = []
        for double, role in self._iterate_roles():
            if log.keeps_calls_of(double):
                roles.append(role)
            elif not double.is_unconfigured:
                others.append(role)
        if not roles:
            return None
        first = roles[0]
        is_shared = any(not role.has_calls_of(first) for role in roles)
        is_partial = any(role.has_calls_of(first) for role in others)
        if is_shared or is_partial or log.is_mixed:
            source = to_source(node)
            raise CannotRewrite(
                f"{source} keeps only some calls, or keeps calls in several forms",
                SEE_CALLS,
                node,
            )
        return first

    def _iterate_roles(self) -> Iterator[tuple[TestDouble, MockRole]]:
        """Yield the doubles of all methods that call a model, each with its role."""
        for getter in self.getters:
            if isinstance(getter, PatchedClient):
                client = getter.get_client() or TestDouble()
                for path, method in find_methods(client):
                    yield method, MockRole(getter, path=path)
            else:
                for model, model_double in find_models(getter):
                    role = MockRole(getter, model)
                    for method in find_prompt_methods(model_double):
                        yield method, role

    def _read_log(
        self,
        node: cst.BaseExpression,
    ) -> CallValue | cst.BaseExpression | None:
        """Read the data of calls that a fake keeps; return None for any other expression."""
        log = self._find_log(node)
        if log is None:
            return None
        role = self.find_recorder(log, node)
        if role is None:
            return None
        owner = self.find_call_owner(role)
        [record, *_] = log.records
        values = _list_kept(record, role)
        calls = format_history(owner)
        last_call = f"{owner}.last_call"
        call = SingleCall(last_call, sdk=role.sdk)
        if record.kind == "items":
            return KeptItems(
                call,
                values,
                record.first,
            )
        value = values[""]
        kept = Kept(value, record.first)
        if record.kind == "append":
            return CallList(
                calls,
                sdk=role.sdk,
                kept=kept,
            )
        result = self._read_kept(call, kept)
        if record.kind == "merge" and isinstance(result, KeywordArguments):
            return KeywordArguments(call, calls)
        return result

    def _read_kept(self, call: SingleCall, kept: Kept) -> CallValue | cst.BaseExpression:
        """Return what a fake keeps of one call.

        Raises:
            CannotRewrite: a record of the call does not have it.
        """
        source = to_source(kept.value)
        if source == ARGUMENTS:
            return KeywordArguments(call)
        if source == CALL:
            return call
        items = _list_items(kept.value)
        if items:
            return KeptItems(
                call,
                items,
                kept.first,
            )
        if not call.sdk:
            # llm calls it with the prompt as the first argument.
            first = f'{ARGUMENTS}["{kept.first}"]'
            source = source.replace(first, f'{ARGUMENTS}["prompt"]')
        names = self.names
        self.names = names | {ARGUMENTS: KeywordArguments(call)}
        # The values of a handler of HTTP requests name its parameter.
        self.names[kept.first] = AnsweredRequest(call)
        try:
            value = parse_expression(source)
            part = self.read(value)
            if isinstance(part, (AnsweredRequest, AnsweredContent)):
                return part
            result = self.rewrite(value)
        finally:
            self.names = names
        # The prompt is not an option and has no default value.
        is_optional_prompt = not call.sdk and f'.get("{kept.first}"' in source
        if is_optional_prompt or ARGUMENTS in collect_names(result):
            old_source = _format_old(value)
            raise CannotRewrite(f"a fake keeps {old_source}, which has no equivalent", SEE_CALLS)
        return result

    def read_calls(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """Return the calls that a name or a fake keeps; None for any other expression.

        What a fake keeps is empty, or None, before the first of them.
        """
        if isinstance(node, cst.Name) and node.value in self.names:
            value = self.names[node.value]
            if not isinstance(value, CallList):
                return None
            return parse_expression(value.source)
        log = self._find_log(node)
        if log is None:
            return None
        role = self.find_recorder(log, node)
        if role is None:
            return None
        [record, *_] = log.records
        is_whole = record.kind != "assign" or to_source(record.values[""]) == ARGUMENTS
        if not is_whole:
            # An argument may be empty or None in each call.
            return None
        owner = self.find_call_owner(role)
        calls = format_history(owner)
        return parse_expression(calls)

    def is_argument(self, node: cst.Name) -> bool:
        """Return whether a fake assigns an argument of each call to a name."""
        log = self._find_log(node)
        return log is not None and any(record.kind == "assign" for record in log.records)

    def _is_fake(self, node: cst.BaseExpression) -> bool:
        """Return whether a node is a name that stands for a double, or an attribute of one."""
        name = get_dotted_name(node) or ""
        root = name.partition(".")[0]
        value = self.table.values.get(root)
        if isinstance(value, (ArgumentLog, Route, Router)):
            return False
        return isinstance(value, TestDouble)

    def _find_log(self, node: cst.BaseExpression) -> ArgumentLog | None:
        """Return the log that a name or an attribute stands for, or None."""
        value: Value | None = None
        if isinstance(node, cst.Name):
            name = node.value
            if name not in self.names:
                value = self.table.values.get(name)
        elif isinstance(node, cst.Attribute) and self._is_fake(node.value):
            double = self.table.evaluate(node.value)
            name = node.attr.value
            if isinstance(double, TestDouble):
                value = double.attributes.get(name)
        return value if isinstance(value, ArgumentLog) else None

    def find_call_owner(self, role: MockRole) -> str:
        """Return the expression that has the calls of a role: all models, or one of them."""
        _refuse_two_kinds(role.getter)
        configured = [each for each in self.getters if not each.double.is_unconfigured]
        if len(configured) <= 1 and len(find_models(role.getter)) <= 1:
            return ALL
        for other in configured:
            if other is not role.getter and role.model in other.requested_models:
                raise CannotRewrite(
                    f"two patches replace {role.model}, but the test counts the calls of only one",
                    "Split the test, or count the calls of both: mock_llm_calls.calls.",
                )
        if role.model == ANY_MODEL:
            raise CannotRewrite(
                "several mocks replace models whose ids are not in the source",
                LEARN,
            )
        return f"{ALL}.get_model({quote_model(role.model)})"

    def add_assertion(self, name: str, double: Value, node: cst.Call) -> None:
        """Note an assertion on the calls of a method."""
        self.checks_calls = True
        if name == "assert_not_called":
            self.not_called.append((double, node))
        else:
            self.expects_calls = True
            self.called.append(double)

    def check_not_called(self) -> None:
        """Refuse an assertion that only one of several SDK methods is not called.

        Raises:
            CannotRewrite: the test calls another one, and the calls of all are recorded together.
        """
        if not self.not_called:
            return
        silent = [double for double, _ in self.not_called]
        [(_, assertion), *_] = self.not_called
        for double, role in self._iterate_roles():
            if not role.sdk or _is_among(double, silent):
                continue
            if _is_among(double, self.called) or not double.is_unconfigured:
                raise CannotRewrite(
                    f"{to_source(assertion)} checks one method, but the test calls {role.path}",
                    "mock_llm_calls has the calls of both methods: check "
                    "mock_llm_calls.last_call.request.body.",
                    assertion,
                )

    def check_only_getter(self, role: MockRole, node: cst.BaseExpression) -> None:
        """Refuse to read calls of one `get_model` of several, which are recorded together.

        Raises:
            CannotRewrite: the test configures another patch, too.
        """
        for other in self.getters:
            if other is not role.getter and not other.double.is_unconfigured:
                raise CannotRewrite(
                    f"{to_source(node)} checks the calls of only one of several patches",
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
            is_loop_variable = name in self.loop_variables
            if not is_loop_variable or not _is_used_as_record(name, node, self.names.get(name)):
                found.add(name)
        return found

    def add_loop(self, node: cst.For | cst.CompFor) -> None:
        """Register the variable of a loop over calls."""
        calls = self.read(node.iter)
        if not isinstance(calls, CallList):
            self._forget_loop(node.target)
            return
        if calls.is_of_getter:
            raise new_no_equivalent(node.iter, SEE_REQUESTS)
        if not isinstance(node.target, cst.Name):
            raise new_no_equivalent(node.iter)
        name = node.target.value
        if name in self.names and name not in self.loop_variables:
            raise CannotRewrite(
                f"the loop variable {name} has the name of another variable",
                "Rename one of them, then run the command again.",
                node,
            )
        call = SingleCall(
            name,
            is_legacy=calls.is_legacy,
            sdk=calls.sdk,
        )
        value: CallValue | cst.BaseExpression = call
        if calls.kept is not None:
            value = self._read_kept(call, calls.kept)
        if isinstance(value, cst.BaseExpression):
            raise new_no_equivalent(node.iter)
        self.names[name] = value
        self.loop_variables.add(name)

    def _forget_loop(self, target: cst.BaseAssignTargetExpression) -> None:
        """Forget the variable of an earlier loop over calls, which now stands for another value."""
        if isinstance(target, cst.Name) and target.value in self.loop_variables:
            self.loop_variables.remove(target.value)
            del self.names[target.value]

    def read(self, node: cst.BaseExpression) -> CallValue | cst.BaseExpression | None:
        """Return the value that an expression reads from a mock.

        Returns:
            A value of a call, the new expression, or None if it reads nothing known.
        """
        if isinstance(node, cst.Name):
            if node.value in self._outdated:
                raise CannotRewrite(
                    f"{node.value} holds the last call, but the application runs again before the "
                    "test reads it",
                    "Read it earlier, or read the call by its position: mock_llm_calls.calls[0].",
                    node,
                )
            if node.value in self.names:
                return self.names[node.value]
            return self._read_log(node)
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
        log = self._read_log(node)
        if log is not None:
            return log
        owner = self.read(node.value)
        if isinstance(owner, (SingleAttachment, SingleCall, RequestConfig)):
            return _read_attribute_of_call(owner, name, node)
        if owner is not None:
            return read_attribute(owner, name, node)
        if not self.table.find_mocks(node.value):
            return None
        double = self.table.evaluate(node.value)
        if isinstance(double, LegacyMock) and name == "call_history":
            self.checks_calls = True
            return CallList(LEGACY_CALLS, is_legacy=True)
        return self._read_calls_of_double(double, name, node)

    def _read_calls_of_double(
        self,
        double: Value,
        name: str,
        node: cst.BaseExpression,
    ) -> CallValue | cst.BaseExpression | None:
        route = find_route(double, node)
        if route is not None and name == "calls":
            return self._read_requests(route, node)
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
        if name in ("call_args", "call_args_list"):
            self.called.append(double)
        owner = self.find_call_owner(role)
        calls = format_history(owner)
        if name == "call_count":
            return parse_expression(f"len({calls})")
        if name == "called":
            return parse_expression(f"bool({calls})")
        if name == "call_args":
            return SingleCall(f"{owner}.last_call", sdk=role.sdk)
        return CallList(calls, sdk=role.sdk)

    def _read_requests(self, route: TestDouble, node: cst.BaseExpression) -> HTTPCallList:
        """Read `route.calls`."""
        calls = self._read_calls(route, "call_args_list", node)
        last = self._read_calls(route, "call_args", node)
        assert isinstance(calls, CallList)
        assert isinstance(last, SingleCall)
        return HTTPCallList(calls.source, last)

    def _read_subscript(self, node: cst.Subscript) -> CallValue | cst.BaseExpression | None:
        owner = self.read(node.value)
        index = get_index(node)
        if index is None:
            return None
        number = get_int(index)
        name = get_string(index)
        if isinstance(owner, (CallList, HTTPCallList)):
            return self._read_call_at(owner, number)
        if isinstance(owner, SingleCall):
            return _read_call_item(owner, number, name)
        if isinstance(owner, PositionalArguments):
            return _read_positional_argument(owner, number)
        if isinstance(owner, AttachmentList):
            return _read_attachment_at(owner, number)
        if isinstance(owner, KeptItems):
            key = name or str(number)
            return self.read_kept_item(owner, key, node)
        if isinstance(owner, (KeywordArguments, RequestConfig)) and name:
            return self._read_item(owner, name, node)
        return None

    def _read_item(
        self,
        owner: KeywordArguments | RequestConfig,
        name: str,
        node: cst.Subscript,
    ) -> CallValue | cst.BaseExpression:
        """Read `kwargs[name]`, or an item of `kwargs["config"]`."""
        call = owner.call
        is_of_model = not call.is_of_getter and not call.sdk
        # A record has no stream=True, which is the default of llm.
        is_unstreamed = name == "stream" and id(node) in self.compared_with_false
        if is_of_model and is_unstreamed:
            return parse_expression(f"{call.source}.stream")
        return _read_item(owner, name, node)

    def _read_call_at(
        self,
        calls: CallList | HTTPCallList,
        number: int | None,
    ) -> CallValue | cst.BaseExpression | None:
        """Read `calls[0]`."""
        if number is None:
            return None
        if isinstance(calls, HTTPCallList):
            return read_item(calls, number)
        call = SingleCall(
            f"{calls.source}[{number}]",
            calls.is_of_getter,
            calls.is_legacy,
            calls.sdk,
        )
        if calls.kept is None:
            return call
        return self._read_kept(call, calls.kept)

    def read_kept_item(
        self,
        kept: KeptItems,
        key: str,
        node: cst.BaseExpression,
    ) -> CallValue | cst.BaseExpression:
        """Return an item of what a fake keeps of a call, by its key or position.

        Raises:
            CannotRewrite: there is none, or a record of the call does not have it.
        """
        if key not in kept.items:
            raise new_no_equivalent(node)
        item = Kept(kept.items[key], kept.first)
        return self._read_kept(kept.call, item)

    def _read_call(self, node: cst.Call) -> CallValue | cst.BaseExpression | None:
        """Read `len(calls)`, `kwargs.get(name)` or `self.assertIn(name, kwargs)`."""
        if m.matches(node, _MEMBERSHIP_ASSERTION):
            return self._read_membership_assertion(node)
        if m.matches(node, _LEN_CALL):
            [argument] = node.args
            calls = self.read(argument.value)
            if not isinstance(calls, (CallList, AttachmentList, HTTPCallList)):
                return None
            return parse_expression(f"len({calls.source})")
        if m.matches(node, _GET_CALL):
            return self._read_get(node)
        return self._read_content(node)

    def _read_content(self, node: cst.Call) -> CallValue | cst.BaseExpression | None:
        """Read `json.loads(request.content)`, or a part of it."""
        if isinstance(node.func, cst.Attribute):
            content = read_method(self.read(node.func.value), node.func.attr.value)
            if content is not None:
                return content
        is_load = self.table.scope.qualify(node.func) == "json.loads"
        if not is_load or len(node.args) != 1:
            return None
        loaded = self.read(node.args[0].value)
        return format_body(loaded) if isinstance(loaded, AnsweredContent) else None

    def _read_get(self, node: cst.Call) -> CallValue | cst.BaseExpression | None:
        """Read `kwargs.get(name)`."""
        function = cst.ensure_type(node.func, cst.Attribute)
        keywords = self.read(function.value)
        argument, *defaults = node.args
        name = get_string(argument.value)
        default = "None"
        if defaults:
            default = to_source(defaults[0].value)
        if isinstance(keywords, KeywordArguments):
            return self._read_keyword_or_default(keywords, name, default, node)
        if isinstance(keywords, KeptItems) and name and default == "None":
            return self.read_kept_item(keywords, name, node)
        return None

    def _read_keyword_or_default(
        self,
        keywords: KeywordArguments,
        name: str | None,
        default: str,
        node: cst.Call,
    ) -> CallValue | cst.BaseExpression | None:
        if default == "{}":
            return _get_extra_body(keywords, name)
        # Any other default would have to be repeated.
        if not name or default != "None":
            return None
        if keywords.calls and id(node) not in self.compared:
            # It may be missing in the last call only.
            raise new_no_equivalent(node, SEE_ALL)
        part = _get_part(keywords, name)
        if part is not None:
            return part
        return _read_keyword(keywords, name, node, uses_get=True)

    def _read_membership_assertion(self, node: cst.Call) -> cst.BaseExpression | None:
        name, container, *others = node.args
        keywords = self.read(container.value)
        if not isinstance(keywords, KeywordArguments):
            return None
        refuse_client_option(get_string(name.value), node)
        if get_string(name.value) == "schema":
            raise new_no_equivalent(node)
        function = cst.ensure_type(node.func, cst.Attribute)
        if function.attr.value == "assertIn":
            operator: cst.BaseCompOp = cst.In()
        else:
            operator = cst.NotIn()
        target = cst.ComparisonTarget(operator, container.value)
        comparison = _read_membership(cst.Comparison(name.value, [target]), keywords)
        if not isinstance(comparison, cst.Comparison):
            return None
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
            values = self._read_whole(keywords)
            if values is not None:
                new_target = target.with_changes(comparator=values)
                return node.with_changes(comparisons=[new_target])
        kept = self._compare_kept(node, target)
        if kept is not None:
            return kept
        left = self.read(node.left)
        if isinstance(left, SingleCall):
            return _compare_call(node, left)
        if isinstance(left, (ExtraBody, RequestContents)) and not self.find_reads(
            target.comparator
        ):
            return _compare_argument(node, left)
        if isinstance(left, cst.BaseExpression):
            return self._compare_field(node, left)
        return None

    def _compare_field(
        self,
        node: cst.Comparison,
        left: cst.BaseExpression,
    ) -> cst.BaseExpression | None:
        """Rewrite the comparison of a value in a record."""
        [target] = node.comparisons
        if _is_schema(left):
            schema = find_only_value(target.comparator, self.table)
            if isinstance(schema, cst.Dict):
                return _compare_json_schema(node, left)
            return _rewrite_schema_comparison(node, left)
        is_equality = isinstance(target.operator, (cst.Equal, cst.NotEqual))
        is_system = to_source(left).endswith('["kwargs"]["system"]')
        if is_equality and is_system:
            source = format_system(
                target.comparator,
                self.table,
            )
            system = parse_expression(source)
            new_target = target.with_changes(comparator=system)
            return node.with_changes(
                left=left,
                comparisons=[new_target],
            )
        model = get_string(target.comparator)
        if to_source(left).endswith('["model_id"]') and model is not None:
            # A record has the id, also of a model that was requested by an alias.
            model_id = quote_model(self._resolve_model(model))
            new_target = target.with_changes(comparator=parse_expression(model_id))
            return node.with_changes(left=left, comparisons=[new_target])
        return None

    def _compare_kept(
        self,
        node: cst.Comparison,
        target: cst.ComparisonTarget,
    ) -> cst.BaseExpression | None:
        """Compare all that a fake keeps of a call, or of each; return None for anything else."""
        if isinstance(target.operator, (cst.Is, cst.IsNot)):
            return self._read_presence(node.left, target)
        if not isinstance(target.operator, cst.Equal):
            return None
        if m.matches(target.comparator, m.List([])):
            whole = self.read_calls(node.left)
        else:
            left = self.read(node.left)
            whole = self._read_whole(left)
        if whole is None:
            return None
        return node.with_changes(left=whole)

    def _read_presence(
        self,
        node: cst.BaseExpression,
        target: cst.ComparisonTarget,
    ) -> cst.BaseExpression | None:
        """Read `last_call is None`, which is true if there was no call."""
        log = self._find_log(node)
        if log is None or to_source(target.comparator) != "None":
            return None
        calls = self.read_calls(node)
        # A list or a dict is never None.
        if calls is None or log.records[0].kind != "assign":
            return None
        source = to_source(calls)
        if isinstance(target.operator, cst.Is):
            return parse_expression(f"not {source}")
        return parse_expression(f"bool({source})")

    def _read_whole(
        self,
        value: CallValue | cst.BaseExpression | None,
    ) -> cst.BaseExpression | None:
        """Return the expression for all arguments of a call, or for what is kept of each call.

        An argument that is not in the body of the request makes a comparison fail.
        """
        if isinstance(value, KeywordArguments):
            return _format_body(value)
        if not isinstance(value, CallList) or value.kept is None:
            return None
        call = SingleCall("call", sdk=value.sdk)
        each: CallValue | cst.BaseExpression | None = self._read_kept(call, value.kept)
        if not isinstance(each, cst.BaseExpression):
            each = self._read_whole(each)
        if each is None:
            return None
        element = to_source(each)
        return parse_expression(f"[{element} for call in {value.source}]")


def _is_among(double: TestDouble, others: Sequence[Value]) -> bool:
    """Return whether a double is one of several, compared by identity."""
    return any(double is other for other in others)


def _format_body(keywords: KeywordArguments) -> cst.BaseExpression | None:
    """Return the expression for all arguments of a call; None if the body has others as well."""
    call = keywords.call
    is_partial = not keywords.is_whole or keywords.calls
    if is_partial or call.sdk in ("", LITELLM, EMBEDDINGS):
        return None
    return parse_expression(keywords.body)


def _list_kept(record: Record, role: MockRole) -> dict[str, cst.BaseExpression]:
    """Return what a fake keeps of its calls; a handler of HTTP requests has its parameter."""
    if not isinstance(role.getter, PatchedRoute):
        return record.values
    read = f'{ARGUMENTS}["{record.first}"]'
    values = {}
    for key, value in record.values.items():
        source = to_source(value).replace(read, record.first)
        values[key] = parse_expression(source)
    return values


def _list_items(node: cst.BaseExpression) -> dict[str, cst.BaseExpression]:
    """Return the items of a dict or tuple by key or position; empty for other expressions."""
    items: dict[str, cst.BaseExpression] = {}
    if isinstance(node, cst.Dict):
        items |= read_dict(node) or {}
    elif isinstance(node, cst.Tuple):
        elements = get_elements(node) or []
        for position, element in enumerate(elements):
            items[str(position)] = element
    return items


def _refuse_two_kinds(getter: PatchedGetter) -> None:
    if isinstance(getter, PatchedClient) and has_two_kinds(getter):
        raise CannotRewrite(
            "the client creates texts and embeddings, but the test counts only one kind of call",
            'Check the kind of each call in mock_llm_calls.calls: call["api"].',
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


def _read_attribute_of_call(
    owner: SingleAttachment | SingleCall | RequestConfig,
    name: str,
    node: cst.Attribute,
) -> CallValue | cst.BaseExpression | None:
    if isinstance(owner, SingleAttachment):
        return _read_attachment(owner, name)
    if isinstance(owner, RequestConfig):
        return _read_config(owner, name, node)
    return _read_arguments(owner, name)


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


def _read_positional_argument(
    arguments: PositionalArguments,
    number: int | None,
) -> cst.BaseExpression | None:
    if number != 0:
        return None
    call = arguments.call
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
    keywords: KeywordArguments | RequestConfig,
    name: str,
    node: cst.BaseExpression,
) -> CallValue | cst.BaseExpression:
    """Read `kwargs[name]`, or an item of `kwargs["config"]`."""
    if isinstance(keywords, RequestConfig):
        return _read_config(keywords, name, node)
    call = keywords.call
    is_of_model = not call.is_of_getter and not call.sdk
    if name == ATTACHMENTS and is_of_model:
        return AttachmentList(call)
    part = _get_part(keywords, name)
    if part is not None:
        return part
    return _read_keyword(keywords, name, node)


def _get_part(keywords: KeywordArguments, name: str) -> CallValue | None:
    """Return an argument that a record has in another form than the call; None for others."""
    if keywords.call.sdk != GOOGLE:
        return _get_extra_body(keywords, name)
    if name == REQUEST_CONFIG:
        return RequestConfig(keywords.call)
    return RequestContents(keywords.call) if name == REQUEST_CONTENTS else None


def _read_config(config: RequestConfig, name: str, node: cst.CSTNode) -> cst.BaseExpression:
    """Read `config.temperature` or `config["temperature"]` of a call of google-genai."""
    call = config.call.source
    if name == "system_instruction":
        return parse_expression(f"{call}.system")
    option = _GOOGLE_OPTIONS.get(name)
    if option is None:
        raise new_google_problem(f"{REQUEST_CONFIG}.{name}", node)
    return parse_expression(f'{call}.options.get("{option}")')


def _get_extra_body(keywords: KeywordArguments, name: str | None) -> ExtraBody | None:
    """Return the argument of a name if it is `extra_body`, which litellm may send otherwise."""
    call = keywords.call
    if name != EXTRA_BODY:
        return None
    if call.sdk in CLIENTS or call.sdk == EMBEDDINGS:
        # The SDK puts its items into the body, beside the other arguments.
        return ExtraBody(call, keywords.calls, is_whole=False)
    return None


def _read_keyword(
    keywords: KeywordArguments,
    name: str,
    node: cst.BaseExpression,
    *,
    uses_get: bool = False,
) -> cst.BaseExpression:
    call = keywords.call
    if call.sdk:
        return _read_body(keywords, name, node, uses_get=uses_get)
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
    keywords: KeywordArguments,
    name: str,
    node: cst.BaseExpression,
    *,
    uses_get: bool,
) -> cst.BaseExpression:
    refuse_client_option(name, node)
    call = keywords.call
    # A missing argument may be one that litellm dropped.
    if call.sdk == LITELLM and (uses_get or name not in LITELLM_ARGUMENTS):
        raise new_litellm_problem(node)
    if call.sdk == GOOGLE:
        return _read_google_argument(call.source, name, node)
    if uses_get:
        return parse_expression(f'{keywords.body}.get("{name}")')
    return parse_expression(f'{keywords.body}["{name}"]')


_GOOGLE_OPTIONS = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_output_tokens": "maxOutputTokens",
    "candidate_count": "candidateCount",
    "stop_sequences": "stopSequences",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
    "response_mime_type": "responseMimeType",
}
"""The parts of google-genai's `config` that it sends as they are, by their names in a record."""
GOOGLE_ARGUMENTS = {"model": "model", REQUEST_CONTENTS: "prompt"}
"""The attributes of a call that equal the arguments of google-genai, if these are texts."""


def _read_google_argument(call: str, name: str, node: cst.CSTNode) -> cst.BaseExpression:
    if name != "model":
        raise new_google_problem(name, node)
    return parse_expression(f"{call}.model")


def new_google_problem(name: str, node: cst.CSTNode) -> CannotRewrite:
    """Return the error for an argument of google-genai, which converts all of them."""
    return CannotRewrite(
        f"google-genai sends {name} in another form",
        "Assert on mock_llm_calls.last_call: its system, options, tools and schema.",
        node,
    )


def refuse_client_option(name: str | None, node: cst.CSTNode) -> None:
    """Refuse an argument of a client method that is not part of the request body."""
    if name in CLIENT_OPTIONS:
        raise CannotRewrite(
            f"{name} is not sent in the body of the request",
            "mock_llm_calls.last_call.request has url, headers and body.",
            node,
        )


def new_litellm_problem(node: cst.CSTNode) -> CannotRewrite:
    """Return the error for an argument of litellm, which renames, converts and drops some."""
    return CannotRewrite(
        f"litellm may change or drop the argument in {_format_old(node)}",
        "Assert on the request: mock_llm_calls.last_call.model has the model without its "
        "provider, mock_llm_calls.last_call.request.body the rest.",
        node,
    )


def _read_membership(node: cst.Comparison, keywords: KeywordArguments) -> cst.BaseExpression:
    """Rewrite `"system" in kwargs`."""
    [target] = node.comparisons
    call = keywords.call
    name = get_string(node.left)
    if call.sdk and name is not None:
        return _read_membership_of_body(node, keywords, name)
    if keywords.calls:
        raise new_no_equivalent(node, SEE_ALL)
    # A record always has a prompt, so `in` says nothing about it.
    is_certain = name in ("prompt", *UNSUPPORTED_KEYWORDS) and name != ATTACHMENTS
    if name is None or is_certain or call.is_of_getter:
        raise new_no_equivalent(node)
    if name == "schema":
        return _read_schema_membership(node, call)
    # A record omits an empty list of attachments, because llm treats it as no attachments.
    section = _get_section(name)
    comparator = parse_expression(f'{call.source}["{section}"]')
    new_target = target.with_changes(comparator=comparator)
    return node.with_changes(comparisons=[new_target])


def _read_schema_membership(node: cst.Comparison, call: SingleCall) -> cst.Comparison:
    """Rewrite `"schema" in kwargs`; a record always has a schema, if only None."""
    [target] = node.comparisons
    operator: cst.BaseCompOp = cst.Is()
    if isinstance(target.operator, cst.In):
        operator = cst.IsNot()
    nothing = cst.ComparisonTarget(operator, cst.Name("None"))
    schema = parse_expression(f'{call.source}["kwargs"]["schema"]')
    return node.with_changes(left=schema, comparisons=[nothing])


def _compare_call(node: cst.Comparison, call: SingleCall) -> cst.Comparison | None:
    """Rewrite `call_args is not None`, which checks for a call."""
    source = call.origin or call.source
    owner, _, last = source.rpartition(".")
    [target] = node.comparisons
    if to_source(target.comparator) != "None" or last != "last_call":
        return None
    operators: dict[type[cst.BaseCompOp], cst.BaseCompOp] = {
        cst.Is: cst.Equal(),
        cst.IsNot: cst.NotEqual(),
    }
    operator = operators.get(type(target.operator))
    if operator is None:
        return None
    nothing = cst.ComparisonTarget(operator, parse_expression("[]"))
    calls = parse_expression(format_history(owner))
    return node.with_changes(left=calls, comparisons=[nothing])


def _compare_argument(
    node: cst.Comparison,
    left: ExtraBody | RequestContents,
) -> cst.Comparison | None:
    """Rewrite the comparison of an argument that a record has in another form."""
    if isinstance(left, ExtraBody):
        return _compare_extra_body(node, left)
    [target] = node.comparisons
    # Only the last message of a history is the prompt.
    if not isinstance(target.operator, cst.Equal):
        return None
    return node.with_changes(left=parse_expression(f"{left.call.source}.prompt"))


def _compare_extra_body(node: cst.Comparison, extra: ExtraBody) -> cst.Comparison | None:
    """Rewrite `kwargs["extra_body"] == {…}` and `kwargs.get("extra_body") is None`."""
    [target] = node.comparisons
    expected = to_source(target.comparator)
    if expected == "None":
        return _compare_with_nothing(node, extra)
    if not isinstance(target.operator, cst.Equal):
        return None
    if expected == "{}":
        return _compare_with_nothing(node, extra)
    return node.with_changes(left=parse_expression(extra.source))


def _compare_with_nothing(node: cst.Comparison, extra: ExtraBody) -> cst.Comparison:
    """Rewrite a check for `extra_body`, which the SDK does not send under this name."""
    # The dict of a fake may have it from any call, but the last request has only its own.
    if extra.calls:
        raise new_no_equivalent(node, SEE_ALL)
    [target] = node.comparisons
    operator: cst.BaseCompOp = cst.Equal()
    # These operators check that there are items.
    if isinstance(target.operator, (cst.In, cst.IsNot, cst.NotEqual)):
        operator = cst.NotEqual()
    nothing = parse_expression("{}")
    return node.with_changes(
        left=parse_expression(extra.source),
        comparisons=[cst.ComparisonTarget(operator, nothing)],
    )


def _read_membership_of_body(
    node: cst.Comparison,
    keywords: KeywordArguments,
    name: str,
) -> cst.BaseExpression:
    """Rewrite `"seed" in kwargs` for a call of an SDK."""
    extra = _get_extra_body(keywords, name)
    if extra is not None:
        return _compare_with_nothing(node, extra)
    _check_membership(name, keywords.call.sdk, node)
    [target] = node.comparisons
    if keywords.calls and isinstance(target.operator, cst.NotIn):
        # No call had the argument.
        condition = f"{to_source(node.left)} not in call.request.body"
        return parse_expression(f"all({condition} for call in {keywords.calls})")
    body = parse_expression(keywords.body)
    new_target = target.with_changes(comparator=body)
    return node.with_changes(comparisons=[new_target])


def _check_membership(name: str, sdk: str, node: cst.Comparison) -> None:
    """Refuse to check for an argument that the SDK adds, drops or converts."""
    refuse_client_option(name, node)
    if sdk == EMBEDDINGS and name == ADDED_ARGUMENT:
        raise CannotRewrite(
            f"the SDK itself sends {name} if the application does not",
            'Assert its value: mock_llm_calls.last_call.request.body["encoding_format"].',
            node,
        )
    if sdk == LITELLM:
        raise new_litellm_problem(node)
    if sdk == GOOGLE:
        raise new_google_problem(name, node)


def new_no_equivalent(node: cst.BaseExpression, advice: str = SEE_CALLS) -> CannotRewrite:
    """Return the error for an expression that llm_mock cannot express in the same form."""
    return CannotRewrite(f"{_format_old(node)} has no equivalent", advice, node)


def _format_old(node: cst.CSTNode) -> str:
    """Return the source of an expression of the test, or of what a fake keeps of a call."""
    return to_source(node).replace(ARGUMENTS, "kwargs")


def _is_used_as_record(name: str, node: cst.CSTNode, value: CallValue | None) -> bool:
    """Return whether a loop variable is only used like `call["prompt"]` or `call.request`.

    Args:
        name: the variable.
        node: the code.
        value: the value of the variable; only a `SingleCall` has items, its arguments have none.
    """
    variable = m.Name(name)
    # Nodes are compared by identity: the name occurs in nodes that are equal.
    allowed: set[int] = set()
    if isinstance(value, SingleCall):
        text = m.SimpleString()
        if value.is_legacy:
            # Its other fields are still to be renamed.
            text = m.SimpleString(m.MatchIfTrue(lambda source: source[1:-1] in RECORD_KEYS))
        key = m.SubscriptElement(m.Index(text))
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
    # A name in upper case is a constant, such as a JSON schema.
    if not is_name or not name[:1].isupper() or name.isupper():
        raise CannotRewrite(
            f"{to_source(node)} might not be a class",
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


def format_system(node: cst.BaseExpression, table: SymbolTable) -> str:
    """Return the source of a system prompt without the spaces around it, as `llm` sends it."""
    source = to_source(node)
    text = get_string(find_only_value(node, table))
    if text is None:
        name = table.scope.qualify(node)
        text = find_text(name, table.scope.path)
    if text is None or text == text.strip():
        return source
    return f"{source}.strip()"


def _compare_json_schema(
    node: cst.Comparison,
    left: cst.BaseExpression,
) -> cst.BaseExpression:
    """Compare the recorded schema as JSON, which a record has beside its name."""
    [target] = node.comparisons
    if not isinstance(target.operator, (cst.Equal, cst.NotEqual)):
        raise new_no_equivalent(node)
    name = to_source(left)
    source = name.replace('["kwargs"]["schema"]', '["schema"]')
    new_left = parse_expression(source)
    return node.with_changes(left=new_left)


def _is_schema(node: cst.CSTNode) -> bool:
    """Return whether a new expression reads the schema of a recorded call."""
    return to_source(node).endswith('["kwargs"]["schema"]')


def _is_literal(node: cst.BaseExpression) -> bool:
    """Return whether a node is a literal other than None."""
    if isinstance(node, cst.Name):
        return node.value in ("True", "False")
    return isinstance(node, _LITERALS)


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

    def leave_Assert(self, original_node: cst.Assert, updated_node: cst.Assert) -> cst.Assert:
        """Replace an assertion on the data that a fake keeps with an assertion on calls."""
        for name in ("test", "msg"):
            inner = getattr(original_node, name)
            if inner is None:
                continue
            calls = self.reader.read_calls(inner)
            if calls is not None:
                updated_node = updated_node.with_changes(**{name: calls})
        return updated_node

    def leave_FormattedStringExpression(
        self,
        original_node: cst.FormattedStringExpression,
        updated_node: cst.FormattedStringExpression,
    ) -> cst.FormattedStringExpression:
        """Replace the data that a fake keeps with the calls, in a message."""
        calls = self.reader.read_calls(original_node.expression)
        if calls is None:
            return updated_node
        return updated_node.with_changes(expression=calls)

    def leave_UnaryOperation(
        self,
        original_node: cst.UnaryOperation,
        updated_node: cst.UnaryOperation,
    ) -> cst.UnaryOperation:
        """Replace `not` of the data that a fake keeps with `not calls`."""
        if not isinstance(original_node.operator, cst.Not):
            return updated_node
        calls = self.reader.read_calls(original_node.expression)
        if calls is None:
            return updated_node
        return updated_node.with_changes(expression=calls)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        """Replace the name under which a fake keeps an argument with that of the last call."""
        if not self.reader.is_argument(original_node):
            return updated_node
        value = self.reader.read(original_node)
        return value if isinstance(value, cst.BaseExpression) else updated_node

    # Attributes and keywords are Name nodes too.
    def leave_Attribute(
        self,
        original_node: cst.Attribute,
        updated_node: cst.Attribute,
    ) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)

    def visit_Comparison(self, node: cst.Comparison) -> None:
        """Note what is compared with a literal other than None."""
        [target, *others] = node.comparisons
        if others or not isinstance(target.operator, (cst.Equal, cst.Is)):
            return
        if _is_literal(target.comparator):
            self.reader.compared.add(id(node.left))
        if to_source(target.comparator) == "False":
            self.reader.compared_with_false.add(id(node.left))

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
        self._add_loops(node.for_in)

    def visit_SetComp(self, node: cst.SetComp) -> None:
        self._add_loops(node.for_in)

    def visit_DictComp(self, node: cst.DictComp) -> None:
        self._add_loops(node.for_in)

    def visit_GeneratorExp(self, node: cst.GeneratorExp) -> None:
        self._add_loops(node.for_in)

    def _add_loops(self, loop: cst.CompFor | None) -> None:
        while loop is not None:
            self.reader.add_loop(loop)
            loop = loop.inner_for_in

    def leave_CompFor(
        self,
        original_node: cst.CompFor,
        updated_node: cst.CompFor,
    ) -> cst.CompFor:
        calls = self.reader.read(original_node.iter)
        if isinstance(calls, CallList):
            return updated_node.with_changes(iter=parse_expression(calls.source))
        return updated_node
