"""Recognize the clients of SDKs whose fake transport answers for a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import libcst as cst

from llm_mock.migrate.body import collect_comments
from llm_mock.migrate.doubles import PlainCode, TestDouble
from llm_mock.migrate.http_replies import FIRST_ERROR, HTTPResponse, expand, find_response
from llm_mock.migrate.http_routes import (
    ModelEndpoint,
    PatchedRoute,
    Route,
    find_endpoint,
    new_route_patch,
)
from llm_mock.migrate.manual_changes import SEE_GUIDE, CannotRewrite
from llm_mock.migrate.patches import CannotRewritePatch, evaluate_string
from llm_mock.migrate.scope import Scope
from llm_mock.migrate.sdk_clients import (
    CLIENTS,
    EMBEDDINGS,
    MESSAGES,
    METHODS,
    MISTRAL,
    RESPONSES,
)
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import (
    Arguments,
    collect_names,
    count_bindings,
    find_nodes,
    get_arguments,
    get_first_line,
    get_keyword,
    get_small_statement,
    get_string,
    list_assignments,
    list_children,
    read_dict,
    to_source,
)
from llm_mock.migrate.value_types import MAX_NAMES, find_only_value, is_error

TRANSPORTS = ("httpx.MockTransport", "httpx2.MockTransport")
SEE_TRANSPORT = (
    "Create the client without http_client, and configure a reply instead of the HTTP response: "
    'mock_llm_responses.set("*", "text").'
)
_HTTP_CLIENTS = (
    *("httpx.Client", "httpx.AsyncClient", "httpx2.Client", "httpx2.AsyncClient"),
    *("openai.DefaultHttpxClient", "openai.DefaultAsyncHttpxClient"),
    *("anthropic.DefaultHttpxClient", "anthropic.DefaultAsyncHttpxClient"),
)
# The client of the SDK has its own, or the mock has no need of them.
_UNNEEDED_OPTIONS = {"base_url", "timeout", "headers", "follow_redirects", "verify", "trust_env"}
_HTTP_ARGUMENTS = {MISTRAL: ("client", "async_client")}
"""The arguments for HTTP clients of each SDK; others have `http_client`."""
_BASE_ARGUMENTS = {MISTRAL: "server_url"}
"""The argument for the base URL of each SDK; others have `base_url`."""
_APIS = {
    "openai": (
        "https://api.openai.com/v1",
        ("/chat/completions", "/responses", "/embeddings"),
    ),
    "anthropic": ("https://api.anthropic.com", ("/v1/messages",)),
    MISTRAL: ("https://api.mistral.ai", ("/v1/chat/completions",)),
}
"""The default base URL of each SDK, and the paths of model calls."""
_BODY_KEYS = {
    "chat.completions.create": "choices",
    "chat.complete": "choices",
    RESPONSES: "output",
    EMBEDDINGS: "data",
    MESSAGES: "content",
}
"""The key that only responses of a method contain, by the method."""
# Methods of a client that send no request.
_SILENT_METHODS = ("close", "aclose", "copy", "with_options")


class FakeTransports:
    """The clients of SDKs with a fake transport in one test.

    Args:
        function: the test; nothing is found in other functions.
        table: the values of its names.
    """

    def __init__(self, function: cst.FunctionDef, table: SymbolTable) -> None:
        self.patches: list[PatchedRoute] = []
        """The patches of clients that are equivalent to the transports."""
        self.problem: CannotRewrite | None = None
        self._table = table
        self._body = function.body
        self._pending: dict[int, cst.Call] = {}
        """The calls that make clients and are not rewritten yet, by their ids."""
        self._handlers: dict[str, cst.BaseExpression] = {}
        """The functions that answer requests, by their source."""
        self._transports: set[int] = set()
        """The ids of the calls that make transports and HTTP clients under names."""
        self._uses: dict[str, set[int]] = {}
        """The names of these and of functions, each with the ids of its nodes in the clients."""
        self._endpoints: list[ModelEndpoint] = []
        self._comments: list[cst.EmptyLine] = []
        """The comments on removed arguments."""
        self._bindings: Counter[str] = Counter()
        """The names that statements bind, each with how often."""
        self._assigned: dict[str, cst.Call] = {}
        """The calls whose results have names, by these names."""
        self._definitions: dict[str, cst.FunctionDef] = {}
        """The functions that the test defines."""
        if function.name.value.startswith("test"):
            self._scan()

    @property
    def is_used(self) -> bool:
        """Return whether a client has a fake transport that is understood so far."""
        return bool(self._handlers)

    def check(self) -> None:
        """Refuse a test whose transports cannot be removed.

        Raises:
            CannotRewritePatch: the test uses them for another purpose.
        """
        if self.problem is not None:
            raise self.problem

    def check_all_rewritten(self) -> None:
        """Refuse a test with a client in a place that is not understood.

        Raises:
            CannotRewritePatch: there is one.
        """
        for call in self._pending.values():
            raise CannotRewritePatch(
                f"the client has a fake transport: {get_first_line(call)}",
                SEE_TRANSPORT,
                call,
            )

    def makes_transport(self, node: cst.CSTNode) -> bool:
        """Return whether an expression or a statement only makes a part of a client's transport."""
        part = get_small_statement(node)
        if isinstance(part, (cst.Assign, cst.AnnAssign)):
            return id(part.value) in self._transports
        return id(node) in self._transports

    def start(self, node: cst.BaseStatement) -> bool:
        """Add the patch of the first statement with a transport; return False for another one.

        Raises:
            CannotRewritePatch: the response is not understood.
        """
        if self.patches or not self._has_transport(node):
            return False
        [handler] = self._handlers.values()
        if self._is_unknown(handler):
            # The function is defined within the statement.
            return False
        self.patches.append(self._new_patch(handler))
        return True

    def _has_transport(self, node: cst.BaseStatement) -> bool:
        if not self.is_used or isinstance(node, cst.FunctionDef):
            return False
        for call in find_nodes(node, cst.Call):
            if id(call) in self._pending or id(call) in self._transports:
                return True
        return False

    def _is_unknown(self, handler: cst.BaseExpression) -> bool:
        """Return whether a name has no value yet."""
        if not isinstance(handler, cst.Name):
            return False
        name = handler.value
        table = self._table
        return not any(
            name in each for each in (table.functions, table.values, table.scope.functions)
        )

    def take_comments(self) -> list[cst.EmptyLine]:
        """Return the comments on the arguments that were removed since the last call."""
        comments = self._comments
        self._comments = []
        return comments

    def remove(self, node: cst.BaseStatement) -> cst.BaseStatement:
        """Return a statement without the transports of its clients."""
        if not self.patches:
            return node
        if isinstance(node, cst.SimpleStatementLine):
            return cst.ensure_type(self._remove_from(node), cst.SimpleStatementLine)
        if not isinstance(node, cst.With):
            return node
        number = len(self._pending)
        items = []
        # The statements in it are rewritten one by one.
        for item in node.items:
            new = self._remove_from(item)
            items.append(cst.ensure_type(new, cst.WithItem))
        if len(self._pending) == number:
            return node
        return node.with_changes(items=items)

    def _remove_from(self, node: cst.CSTNode) -> cst.CSTNode:
        calls = []
        for call in find_nodes(node, cst.Call):
            if self._pending.pop(id(call), None) is not None:
                calls.append(call)
        if not calls:
            return node
        changed = node.visit(_ArgumentRemover(calls, self._table.scope))
        assert isinstance(changed, cst.CSTNode)
        kept = [to_source(line) for line in collect_comments(changed)]
        for line in collect_comments(node):
            if to_source(line) not in kept:
                self._comments.append(line)
        return changed

    def _scan(self) -> None:
        """Find the clients before the test is rewritten."""
        scope = self._table.scope
        calls = find_nodes(self._body, cst.Call)
        clients = [call for call in calls if makes_client(call, scope)]
        if not clients:
            return
        self._bindings = count_bindings(self._body)
        self._assigned = self._find_assigned_calls()
        for definition in find_nodes(self._body, cst.FunctionDef):
            self._definitions[definition.name.value] = definition
        for call in clients:
            self._add_client(call)
        if self._pending and self.problem is None:
            self.problem = self._find_problem()

    def _find_assigned_calls(self) -> dict[str, cst.Call]:
        """Return the calls whose results have names that the test binds once."""
        assigned = {}
        for target, value in _list_named_values(self._body):
            if not isinstance(target, cst.Name) or not isinstance(value, cst.Call):
                continue
            name = target.value
            if self._bindings[name] == 1:
                assigned[name] = value
        return assigned

    def _add_client(self, call: cst.Call) -> None:
        """Note a client if all of its HTTP clients have a fake transport."""
        handlers: dict[str, cst.BaseExpression] = {}
        for argument in _list_http_arguments(call, self._table.scope):
            handler = self._find_handler(argument.value)
            if handler is None and handlers:
                self.problem = CannotRewritePatch(
                    "only one of the HTTP clients that the SDK client uses has a fake transport: "
                    f"{to_source(call)}",
                    SEE_TRANSPORT,
                    call,
                )
            if handler is None:
                return
            source = to_source(handler)
            handlers[source] = handler
        self._handlers |= handlers
        self._pending[id(call)] = call

    def _find_handler(
        self,
        node: cst.BaseExpression,
        depth: int = 0,
    ) -> cst.BaseExpression | None:
        """Return the function behind a transport or a client of httpx; None for others."""
        if isinstance(node, cst.Name):
            return self._find_assigned_handler(node, depth + 1)
        if not isinstance(node, cst.Call):
            return None
        arguments = get_arguments(node)
        if arguments is None:
            return None
        name = self._table.scope.qualify(node.func)
        if name in TRANSPORTS:
            return self._get_handler(arguments)
        transport = _get_transport(name, arguments)
        if transport is None:
            return None
        return self._find_handler(transport, depth)

    def _get_handler(self, arguments: Arguments) -> cst.BaseExpression | None:
        """Return the argument of a transport, if it is a function of the file."""
        positional, keywords = arguments
        given = [*positional, *keywords.values()]
        if len(given) != 1:
            return None
        [handler] = given
        if not isinstance(handler, cst.Name):
            return handler
        name = handler.value
        is_local = name in self._bindings or name in self._definitions
        if not is_local and name not in self._table.scope.functions:
            return None
        self._note_use(handler)
        return handler

    def _find_assigned_handler(self, node: cst.Name, depth: int) -> cst.BaseExpression | None:
        value = self._assigned.get(node.value)
        if value is None or depth > MAX_NAMES:
            return None
        handler = self._find_handler(value, depth)
        if handler is not None:
            self._note_use(node)
            self._transports.add(id(value))
        return handler

    def _note_use(self, node: cst.Name) -> None:
        self._uses.setdefault(node.value, set()).add(id(node))

    def _find_problem(self) -> CannotRewrite | None:
        """Return why the transports cannot be removed, or None."""
        first, *_ = self._pending.values()
        if len(self._handlers) > 1:
            return CannotRewritePatch(
                f"the test has {len(self._handlers)} fake transports",
                "Split the test so that each test has one fake transport, then run the command "
                "again.",
                first,
            )
        return self._find_other_use() or self._find_other_base() or self._find_other_call()

    def _find_other_use(self) -> CannotRewrite | None:
        """Return the reason if the test uses a transport for anything other than a client."""
        known = {id(definition.name) for definition in self._definitions.values()}
        for target, _ in _list_named_values(self._body):
            known.add(id(target))
        for uses in self._uses.values():
            known |= uses
        for node in _list_names(self._body):
            name = node.value
            if name not in self._uses or id(node) in known:
                continue
            return CannotRewritePatch(
                f"the test also uses {name} for something other than an SDK client",
                SEE_TRANSPORT,
                node,
            )
        return None

    def _find_other_base(self) -> CannotRewrite | None:
        """Find the endpoints of the clients; return the reason if one has an unknown server."""
        for call in self._pending.values():
            endpoints = self._list_endpoints(call)
            if not endpoints or (self._endpoints and endpoints != self._endpoints):
                return CannotRewritePatch(
                    "the client does not use the default server of a known API: "
                    f"{get_first_line(call)}",
                    "If the client uses your own server, add the server to the ini key "
                    f"llm_mock_hosts. {SEE_TRANSPORT}",
                    call,
                )
            self._endpoints = endpoints
        return None

    def _list_endpoints(self, call: cst.Call) -> list[ModelEndpoint]:
        library, _, class_name = self._table.scope.qualify(call.func).rpartition(".")
        arguments = get_arguments(call)
        if arguments is None or "Azure" in class_name:
            return []
        base, paths = _APIS[library]
        keyword = _BASE_ARGUMENTS.get(library, "base_url")
        written = arguments[1].get(keyword)
        if written is not None:
            value = find_only_value(written, self._table) or written
            text = evaluate_string(value, self._table) or ""
            base = text.rstrip("/")
        endpoints = []
        for path in paths:
            endpoint = find_endpoint(f"{base}{path}")
            if endpoint is not None:
                endpoints.append(endpoint)
        return endpoints

    def _find_other_call(self) -> CannotRewrite | None:
        """Return the reason if the test itself sends a request that is not a model call."""
        known = ("", *METHODS, *_SILENT_METHODS)
        for call in find_nodes(self._body, cst.Call):
            if self._get_client_method(call) in known:
                continue
            line = get_first_line(call)
            return CannotRewritePatch(
                f"the client sends a request that is not a model call: {line}",
                "Create the client without http_client, and configure the HTTP response: "
                'mock_llm_responses.on("GET", "/v1/models", body).',
                call,
            )
        return None

    def _get_client_method(self, call: cst.Call) -> str:
        """Return the path of a method of a client with a fake transport; empty for others."""
        path: list[str] = []
        owner = call.func
        while isinstance(owner, cst.Attribute):
            path.insert(0, owner.attr.value)
            owner = owner.value
        if isinstance(owner, cst.Name):
            owner = self._assigned.get(owner.value, owner)
        return ".".join(path) if id(owner) in self._pending else ""

    def _new_patch(self, handler: cst.BaseExpression) -> PatchedRoute:
        """Return the patch for the function that answers requests."""
        double = self._evaluate(handler)
        error = double.side_effect
        if isinstance(error, PlainCode) and is_error(error.node, self._table):
            endpoint = self._endpoints[0]
        else:
            error = None
            endpoint = self._choose_endpoint(double, handler)
        # The double may have a name in the test.
        route = Route(side_effect=error or double, attributes={"handler": double})
        return new_route_patch(to_source(handler), route, endpoint)

    def _evaluate(self, handler: cst.BaseExpression) -> TestDouble:
        double = self._table.evaluate(_strip_request(handler, self._table))
        if not isinstance(double, TestDouble):
            raise CannotRewritePatch(
                f"{to_source(handler)} is not a function in this file",
                SEE_TRANSPORT,
                handler,
            )
        problem = double.problem
        if problem is not None:
            reason = problem.reason.replace("make a mock", "return one response")
            advice = SEE_TRANSPORT if problem.advice == SEE_GUIDE else problem.advice
            raise CannotRewritePatch(reason, advice, problem.node)
        return double

    def _choose_endpoint(
        self,
        double: TestDouble,
        handler: cst.BaseExpression,
    ) -> ModelEndpoint:
        """Return the endpoint that the response of a function is one of."""
        value = double.return_value
        response = None
        if isinstance(value, PlainCode) and double.side_effect is None:
            self._refuse_later_names(value.node)
            response = find_response(value.node, self._table)
        if response is None:
            raise CannotRewritePatch(
                f"{_describe(handler)} does not return one literal response",
                SEE_TRANSPORT,
                handler,
            )
        if response.status >= FIRST_ERROR:
            return self._choose_called_endpoint()
        endpoint = self._find_endpoint_of_body(response)
        if endpoint is None:
            raise CannotRewritePatch(
                f"the command does not recognise the response of {_describe(handler)} as a "
                "model's response",
                SEE_TRANSPORT,
                handler,
            )
        return endpoint

    def _find_endpoint_of_body(self, response: HTTPResponse) -> ModelEndpoint | None:
        if response.body is None or not response.is_json:
            # The conversion of the response has the reason.
            return self._endpoints[0]
        body = expand(response.body, self._table)
        for endpoint in self._endpoints:
            if _is_body_of(endpoint.method, body):
                return endpoint
        return None

    def _choose_called_endpoint(self) -> ModelEndpoint:
        """Return the endpoint of the only method that the test calls, else one without a path."""
        [first, *others] = self._endpoints
        if not others:
            return first
        calls = find_nodes(self._body, cst.Call)
        called = {self._get_client_method(call) for call in calls}
        found = [endpoint for endpoint in self._endpoints if endpoint.method in called]
        return found[0] if len(found) == 1 else ModelEndpoint("", first.method)

    def _refuse_later_names(self, node: cst.BaseExpression) -> None:
        """Refuse a response with a name whose value may change before the request."""
        for name in sorted(collect_names(node)):
            number = self._bindings[name]
            is_known = number == 1 and name in self._table.plain
            if number == 0 or is_known:
                continue
            raise CannotRewritePatch(
                f"the response contains {name}, which may change after the client is created",
                "Assign this variable only once, before the test creates the client, then run "
                "the command again.",
                node,
            )


def _list_http_arguments(call: cst.Call, scope: Scope) -> list[cst.Arg]:
    """Return the arguments of a client of an SDK that are clients of httpx; none for others."""
    library, _, class_name = scope.qualify(call.func).rpartition(".")
    if library not in _APIS or class_name not in CLIENTS[library]:
        return []
    names = _HTTP_ARGUMENTS.get(library, ("http_client",))
    found = []
    for argument in call.args:
        if get_keyword(argument) in names:
            found.append(argument)
    return found


def makes_client(call: cst.Call, scope: Scope) -> bool:
    """Return whether a call creates a client of an SDK with its own way to send requests."""
    return bool(_list_http_arguments(call, scope))


def _get_transport(name: str, arguments: Arguments) -> cst.BaseExpression | None:
    """Return the transport that is passed to an httpx client; None for other classes."""
    _, keywords = arguments  # httpx takes no positional ones
    transport = keywords.pop("transport", None)
    if name not in _HTTP_CLIENTS:
        return None
    return transport if keywords.keys() <= _UNNEEDED_OPTIONS else None


def _list_named_values(
    body: cst.CSTNode,
) -> list[tuple[cst.BaseExpression, cst.BaseExpression | None]]:
    """Return the targets of assignments and of `with`, each with its value."""
    pairs = list_assignments(body)
    for item in find_nodes(body, cst.WithItem):
        if item.asname is not None:
            pairs.append((item.asname.name, item.item))
    return pairs


def _list_names(node: cst.CSTNode) -> list[cst.Name]:
    """Return the nodes that read or bind names, without attributes and keywords."""
    found = []
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, cst.Name):
            found.append(current)
        elif isinstance(current, (cst.Attribute, cst.Arg)):
            pending.append(current.value)
        else:
            pending += list_children(current)
    return found


def _is_body_of(method: str, body: cst.BaseExpression) -> bool:
    """Return whether JSON is an answer of a method."""
    items = read_dict(body) if isinstance(body, cst.Dict) else None
    if items is None or _BODY_KEYS[method] not in items:
        return False
    if method != EMBEDDINGS:
        return True
    # A list of models or of images has data, too.
    texts = map(get_string, find_nodes(body, cst.SimpleString))
    return "embedding" in texts


def _describe(handler: cst.BaseExpression) -> str:
    return to_source(handler) if isinstance(handler, cst.Name) else "the function"


def _strip_request(handler: cst.BaseExpression, table: SymbolTable) -> cst.BaseExpression:
    """Return a handler whose responses and errors do not have the request, as none needs it."""
    if not isinstance(handler, cst.Name):
        return cst.ensure_type(_visit(handler), type(handler))
    name = handler.value
    if name in table.functions:
        definition, closure = table.functions[name]
        new = cst.ensure_type(_visit(definition), cst.FunctionDef)
        table.functions[name] = (new, closure)
    elif name in table.scope.functions:
        new = cst.ensure_type(_visit(table.scope.functions[name]), cst.FunctionDef)
        table.scope.functions[name] = new
    return handler


def _visit(handler: cst.CSTNode) -> object:
    # A copy has no position in the file, which reasons need.
    is_needed = any(map(_is_request, find_nodes(handler, cst.Arg)))
    return handler.visit(_RequestRemover()) if is_needed else handler


def _is_request(argument: cst.Arg) -> bool:
    """Return whether an argument is `request=request`."""
    return get_keyword(argument) == "request" and isinstance(argument.value, cst.Name)


class _RequestRemover(cst.CSTTransformer):
    """Removes `request=request` from calls."""

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        kept = [argument for argument in updated_node.args if not _is_request(argument)]
        return updated_node.with_changes(args=kept)


class _ArgumentRemover(cst.CSTTransformer):
    """Removes the HTTP clients from the calls that make clients of SDKs."""

    def __init__(self, calls: Sequence[cst.Call], scope: Scope) -> None:
        self.calls = calls
        self.scope = scope

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        if not any(original_node is call for call in self.calls):
            return updated_node
        removed = _list_http_arguments(updated_node, self.scope)
        kept = [*updated_node.args]
        for argument in removed:
            kept.remove(argument)
        if not kept:
            return updated_node.with_changes(args=[], whitespace_before_args=_NO_SPACE)
        end = updated_node.args[-1]
        if kept[-1] is not end:
            kept[-1] = _end_as(kept[-1], end)
        return updated_node.with_changes(args=kept)


def _end_as(last: cst.Arg, end: cst.Arg) -> cst.Arg:
    """Return the last argument with the space behind the one that was the last before."""
    comma = end.comma
    own_space = getattr(last.comma, "whitespace_after", None)
    space = getattr(comma, "whitespace_after", None)
    spaces = (own_space, space)
    if all(isinstance(each, cst.ParenthesizedWhitespace) for each in spaces):
        # Its comment stays.
        first_line = cst.ensure_type(own_space, cst.ParenthesizedWhitespace).first_line
        space = cst.ensure_type(space, cst.ParenthesizedWhitespace)
        comma = cst.Comma(whitespace_after=space.with_changes(first_line=first_line))
    return last.with_changes(
        comma=comma,
        whitespace_after_arg=end.whitespace_after_arg,
    )


_NO_SPACE = cst.SimpleWhitespace("")
