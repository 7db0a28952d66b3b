"""Recognize the routes of respx that answer for the APIs of providers."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst

from llm_mock.migrate.doubles import PlainCode, TestDouble, Value
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.patches import CannotRewritePatch, evaluate_string
from llm_mock.migrate.sdk_clients import (
    EMBEDDINGS,
    MESSAGES,
    METHODS,
    RESPONSES,
    PatchedClient,
    new_client,
)
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import (
    Arguments,
    find_nodes,
    get_arguments,
    get_parameter_names,
    parse_expression,
    to_source,
)
from llm_mock.migrate.value_types import find_only_value

RESPX = "respx"
ROUTER_FIXTURES = ("respx_mock", "httpx2_mock")
"""The fixtures of respx and of pytest-httpx2 that return a router."""
_GLOBAL_ROUTERS = (RESPX, f"{RESPX}.mock")
_OPENINGS = (
    f"{RESPX}.mock",
    f"{RESPX}.MockRouter",
    "pytest.mark.respx",
    "pytest.mark.httpx2",
)
_HTTP_METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "request", "route")
_ENDPOINTS = {
    r"https://api\.openai\.com/v1/chat/completions": "chat.completions.create",
    r"https://api\.openai\.com/v1/responses": RESPONSES,
    r"https://api\.openai\.com/v1/embeddings": EMBEDDINGS,
    r"https://api\.anthropic\.com/v1/messages": MESSAGES,
    r"https://api\.mistral\.ai/v1/chat/completions": "chat.complete",
    r"https://generativelanguage\.googleapis\.com/v1(?:beta)?/models/(?P<model>[^/:]+)"
    r":generateContent": "models.generate_content",
}
"""The URLs of requests that ask a model, and the methods of clients that send them."""
_MAY_ASK_MODEL = re.compile(
    r"chat/completions|/messages\b|/responses\b|/embeddings\b|generateContent"
    r"|api\.openai|api\.anthropic|api\.mistral|generativelanguage"
)
_ORIGIN = re.compile(r"https?://[^/]+")
_ANSWERS = ("mock", "respond")
# The arguments of `respond` that `httpx.Response` has, too.
_RESPONSE_ARGUMENTS = ("headers", "content", "text", "html", "json", "stream")
SEE_ROUTES = (
    'Configure a reply instead of the route: mock_llm_responses.set("*", "text"). '
    "mock_llm_calls.calls has the requests."
)


@dataclass(frozen=True)
class ModelEndpoint:
    """The URL of an API that asks a model.

    Attributes:
        path: the path of the URL; empty if it is unknown.
        method: the method of a client that sends requests there, such as `messages.create`.
        model: the model that the URL names; empty for the others.
    """

    path: str
    method: str
    model: str = ""


@dataclass(eq=False)
class Route(TestDouble):
    """A route of respx, whose result and side effect are those of the method of a client."""

    has_any_attribute: bool = False


@dataclass(eq=False)
class Router(TestDouble):
    """A router of respx.

    Attributes:
        routes: its routes by their URLs.
    """

    has_any_attribute: bool = False
    routes: dict[str, Route] = field(default_factory=dict)


@dataclass(eq=False)
class PatchedRoute(PatchedClient):
    """A route that replaces a method of a client.

    Attributes:
        endpoint: the URL that it answers for.
    """

    endpoint: ModelEndpoint = field(kw_only=True)


def find_endpoint(url: str) -> ModelEndpoint | None:
    """Return the endpoint of a URL; None if it asks no model."""
    for pattern, method in _ENDPOINTS.items():
        match = re.fullmatch(pattern, url)
        if match is not None:
            path = _ORIGIN.sub("", url)
            model = match.groupdict().get("model", "")
            return ModelEndpoint(path, method, model)
    return None


def new_route_patch(url: str, route: Route, endpoint: ModelEndpoint) -> PatchedRoute:
    """Return the patch of a client that is equivalent to a route."""
    method = endpoint.method
    owner = TestDouble(return_value=new_client(route, method))
    models = (endpoint.model,) if endpoint.model else ()
    return PatchedRoute(
        url,
        owner,
        requested_models=models,
        library=METHODS[method],
        is_function=True,
        endpoint=endpoint,
    )


@dataclass
class _Opening:
    """The start of a router, by a decorator, a `with`, a marker or a fixture."""

    base_url: str = ""
    checks_routes: bool = False


class RespxRoutes:
    """The routes of respx in one function.

    Args:
        function: the function.
        table: the values of its names.
        fixtures: the fixtures of its file.
    """

    def __init__(
        self,
        function: cst.FunctionDef,
        table: SymbolTable,
        fixtures: Mapping[str, cst.FunctionDef],
    ) -> None:
        self.router = Router()
        self.patches: list[PatchedRoute] = []
        """The patches of clients that are equivalent to the routes."""
        self.checks_routes = False
        """Whether respx checks that each route is called."""
        self.is_used = False
        """Whether a route is for a model."""
        self.problem: CannotRewrite | None = None
        self._table = table
        self._base_url = ""
        parameters = set(get_parameter_names(function))
        self._fixtures = parameters.intersection(ROUTER_FIXTURES) - fixtures.keys()
        self._names = set(self._fixtures)
        """The names of the router."""
        self._pending: dict[int, cst.Call] = {}
        """The routes that are not rewritten yet, by the ids of their nodes."""
        if self._fixtures or self._imports_http():
            self._scan(function)

    def _imports_http(self) -> bool:
        for name in self._table.scope.imports.values():
            package = name.partition(".")[0]
            if package in (RESPX, "httpx", "httpx2"):
                return True
        return False

    @property
    def fixtures(self) -> set[str]:
        """The parameters that are routers of models."""
        return self._fixtures if self.is_used else set()

    def is_opening(self, node: cst.BaseExpression) -> bool:
        """Return whether a decorator or an item of a `with` starts the router."""
        return self.is_used and self._read_opening(node) is not None

    def bind(self) -> None:
        """Bind the names of the router to it, if it has routes for models.

        Raises:
            CannotRewritePatch: a route is not understood.
        """
        if self.problem is not None:
            raise self.problem
        if not self.is_used:
            return
        self.router.attributes["mock"] = self.router
        for name in {*self._names, *self._list_global_names()}:
            self._table.values[name] = self.router

    def _list_global_names(self) -> list[str]:
        imports = self._table.scope.imports
        return [name for name, imported in imports.items() if imported in _GLOBAL_ROUTERS]

    def check_all_rewritten(self) -> None:
        """Refuse a function with a route in another form, such as `@router.post(url)`.

        Raises:
            CannotRewritePatch: the function has one.
        """
        for call in self._pending.values():
            raise CannotRewritePatch(
                f"the command does not understand how the test uses this route: {to_source(call)}",
                SEE_ROUTES,
                call,
            )

    def _scan(self, function: cst.FunctionDef) -> None:
        """Find the routers and routes of the function before it is rewritten."""
        openings = self._find_openings(function)
        for opening in openings:
            self._base_url = self._base_url or opening.base_url
            self.checks_routes |= opening.checks_routes
        others = []
        answered = _find_answered(function)
        for call in find_nodes(function, cst.Call):
            if not self._is_route(call, answered):
                continue
            if self._is_of_model(call):
                self._pending[id(call)] = call
            else:
                others.append(call)
        self.is_used = bool(self._pending)
        self.problem = self._find_problem(others)
        if self.is_used and len(openings) > 1:
            self.problem = CannotRewritePatch(
                f"the function starts {len(openings)} respx routers",
                "Split the test so that each test has one router, then run the command again.",
                function.name,
            )

    def _is_of_model(self, call: cst.Call) -> bool:
        """Return whether a call makes a route of the router for a model."""
        owner = cst.ensure_type(call.func, cst.Attribute).value
        return self._is_router(owner) and self._find_url_endpoint(call) is not None

    def _find_openings(self, function: cst.FunctionDef) -> list[_Opening]:
        """Return the starts of routers, and add their names."""
        nodes = [decorator.decorator for decorator in function.decorators]
        for block in find_nodes(function, cst.With):
            nodes += [item.item for item in block.items]
            self._names.update(self._list_router_names(block))
        found = [self._read_opening(node) for node in nodes]
        openings = [opening for opening in found if opening is not None]
        if not openings and self._fixtures:
            # The fixture of pytest-httpx2 checks its routes; the fixture of respx does not.
            checks_routes = "httpx2_mock" in self._fixtures
            openings.append(_Opening(checks_routes=checks_routes))
        return openings

    def _list_router_names(self, block: cst.With) -> list[str]:
        names = []
        for item in block.items:
            name = item.asname.name if item.asname else None
            if isinstance(name, cst.Name) and self._read_opening(item.item) is not None:
                names.append(name.value)
        return names

    def _read_opening(self, node: cst.BaseExpression) -> _Opening | None:
        """Return the start of a router; None for any other expression."""
        if not isinstance(node, cst.Call):
            is_global = self._table.scope.qualify(node) == f"{RESPX}.mock"
            return _Opening() if is_global else None
        name = self._table.scope.qualify(node.func)
        if name not in _OPENINGS:
            return None
        arguments = get_arguments(node)
        keywords = {} if arguments is None else arguments[1]
        base_url = ""
        if "base_url" in keywords:
            base_url = self._evaluate_url(keywords["base_url"]) or ""
        checks_routes = to_source(keywords.get("assert_all_called", cst.Name("True"))) != "False"
        return _Opening(base_url, checks_routes)

    def _find_problem(self, others: Sequence[cst.Call]) -> CannotRewrite | None:
        """Return why the function cannot be rewritten, if other routes make it so."""
        for call in others:
            if self.is_used:
                return CannotRewritePatch(
                    f"the router also has a route that is not for a model: {to_source(call)}",
                    "Move that route to another test, or let respx pass model requests through: "
                    'respx.route(host="api.openai.com").pass_through().',
                    call,
                )
            if _MAY_ASK_MODEL.search(self._describe_route(call)):
                return self._new_route_problem(call)
        return None

    def _new_route_problem(self, call: cst.Call) -> CannotRewrite:
        owner = cst.ensure_type(call.func, cst.Attribute).value
        if self._is_router(owner):
            return CannotRewritePatch(
                f"the route does not specify the whole URL of a known API: {to_source(call)}",
                SEE_ROUTES,
                call,
            )
        return CannotRewritePatch(
            f"{to_source(owner)} may be a respx router that the test does not start",
            "Start the router in the test with `with respx.mock(base_url=…) as router:`, then "
            "run the command again.",
            call,
        )

    def _describe_route(self, call: cst.Call) -> str:
        """Return the arguments of a route as text, with constants replaced by their values."""
        texts = [self._base_url]
        for argument in call.args:
            text = self._evaluate_url(argument.value)
            texts.append(to_source(argument.value) if text is None else text)
        return " ".join(texts)

    def _is_route(self, call: cst.Call, answered: Container[int]) -> bool:
        """Return whether a call makes a route, of the router or of what may be another one.

        Args:
            call: the call.
            answered: the ids of the nodes to which the function gives an answer.
        """
        function = call.func
        if not isinstance(function, cst.Attribute):
            return False
        if function.attr.value not in _HTTP_METHODS:
            return False
        return self._is_router(function.value) or id(call) in answered

    def _is_router(self, node: cst.BaseExpression) -> bool:
        if isinstance(node, cst.Name) and node.value in self._names:
            return True
        return self._table.scope.qualify(node) in _GLOBAL_ROUTERS

    def _find_url_endpoint(self, call: cst.Call) -> ModelEndpoint | None:
        """Return the endpoint of `router.post(url)`; None for any other route."""
        url = self._get_url(call)
        return None if url is None else find_endpoint(url)

    def _get_url(self, call: cst.Call) -> str | None:
        """Return the URL of a route that matches all POST requests to it; None for others."""
        arguments = get_arguments(call)
        if arguments is None:
            return None
        positional, keywords = arguments
        # The name of a route matches nothing.
        keywords.pop("name", None)
        if self._pop_method(call, positional, keywords) != "post":
            return None
        given = [*positional, *keywords.values()]
        if len(given) != 1 or not keywords.keys() <= {"url"}:
            return None
        text = self._evaluate_url(given[0])
        return None if text is None else self._join_base(text)

    def _pop_method(
        self,
        call: cst.Call,
        positional: list[cst.BaseExpression],
        keywords: dict[str, cst.BaseExpression],
    ) -> str | None:
        """Remove the HTTP method from the arguments and return it; None for an unknown one."""
        verb = cst.ensure_type(call.func, cst.Attribute).attr.value
        if verb not in ("request", "route"):
            return verb
        method = keywords.pop("method", None)
        if verb == "request" and method is None and positional:
            method = positional.pop(0)
        text = None if method is None else self._evaluate_url(method)
        return None if text is None else text.lower()

    def _join_base(self, url: str) -> str:
        if not self._base_url or _ORIGIN.match(url):
            return url
        return f"{self._base_url.rstrip('/')}/{url.lstrip('/')}"

    def _evaluate_url(self, node: cst.BaseExpression) -> str | None:
        value = find_only_value(node, self._table)
        return None if value is None else evaluate_string(value, self._table)

    def apply(self, node: cst.BaseExpression) -> Route | None:
        """Make or configure a route by `router.post(url).mock(…)`; return None for others.

        Raises:
            CannotRewritePatch: its arguments are not understood.
        """
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            return None
        name = node.func.attr.value
        if name not in _ANSWERS:
            return self._make_route(node)
        route = self._find_route(node.func.value)
        if route is not None:
            self._configure(route, name, node)
        return route

    def _find_route(self, node: cst.BaseExpression) -> Route | None:
        """Return the route for a name or a call; create the route if necessary."""
        if isinstance(node, cst.Name):
            value = self._table.values.get(node.value)
            return value if isinstance(value, Route) else None
        return self._make_route(node)

    def _make_route(self, node: cst.BaseExpression) -> Route | None:
        """Return the route that a call makes; None for another expression."""
        call = self._pending.pop(id(node), None)
        if call is None:
            return None
        url = self._get_url(call)
        assert url is not None
        if url not in self.router.routes:
            self._add_route(url, call)
        return self.router.routes[url]

    def _add_route(self, url: str, node: cst.Call) -> None:
        if self.router.routes and self.checks_routes:
            raise CannotRewritePatch(
                "the test has several routes, and respx checks that each route is called",
                "Split the test, or pass assert_all_called=False and assert on each route, then "
                "run the command again.",
                node,
            )
        route = Route()
        # `route.calls.assert_called_once()` is an assertion on the route.
        route.attributes["calls"] = route
        endpoint = find_endpoint(url)
        assert endpoint is not None
        self.router.routes[url] = route
        self.router.attributes["calls"] = route
        self.patches.append(new_route_patch(url, route, endpoint))

    def _configure(self, route: Route, name: str, node: cst.Call) -> None:
        """Apply `route.mock(…)` or `route.respond(…)`."""
        if name == "mock":
            values = self._read_mock_arguments(node)
        else:
            values = {"return_value": PlainCode(self._new_response(node))}
        route.return_value = values.get("return_value")
        route.side_effect = None
        if "side_effect" in values:
            route.set_attribute("side_effect", values["side_effect"])

    def _read_mock_arguments(self, node: cst.Call) -> dict[str, Value]:
        positional, keywords = _get_answer_arguments(node)
        if positional:
            keywords["return_value"] = positional[0]
        values = {}
        for name, value in keywords.items():
            values[name] = self._table.evaluate(value)
        return values

    def _new_response(self, node: cst.Call) -> cst.Call:
        """Return the `httpx.Response` that `respond` makes of its arguments."""
        positional, keywords = _get_answer_arguments(node)
        keywords.pop("content_type", None)
        status = keywords.pop("status_code", cst.Integer("200"))
        if positional:
            status = positional[0]
        if not keywords.keys() <= {*_RESPONSE_ARGUMENTS}:
            raise _new_argument_problem(node)
        args = [cst.Arg(status)]
        for name, value in keywords.items():
            args.append(cst.Arg(value, keyword=cst.Name(name)))
        response = parse_expression("httpx.Response")
        return cst.Call(response, args)


def _find_answered(function: cst.FunctionDef) -> set[int]:
    """Return the ids of the nodes whose method `mock` or `respond` the function calls."""
    found = set()
    for call in find_nodes(function, cst.Call):
        method = call.func
        if isinstance(method, cst.Attribute) and method.attr.value in _ANSWERS:
            found.add(id(method.value))
    return found


def _get_answer_arguments(node: cst.Call) -> Arguments:
    """Return the arguments of `route.mock(…)` or `route.respond(…)`.

    Raises:
        CannotRewritePatch: `*` or `**` hides arguments, or more than one is positional.
    """
    arguments = get_arguments(node)
    if arguments is None or len(arguments[0]) > 1:
        raise _new_argument_problem(node)
    return arguments


def _new_argument_problem(node: cst.Call) -> CannotRewritePatch:
    return CannotRewritePatch(
        f"the arguments of the route are not supported: {to_source(node)}",
        SEE_ROUTES,
        node,
    )
