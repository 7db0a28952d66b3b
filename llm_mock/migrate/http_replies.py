"""Convert the HTTP responses of routes into replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.doubles import PlainCode, TestDouble, Value
from llm_mock.migrate.http_routes import PatchedRoute
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.replies import (
    ConfiguredReply,
    format_reply,
    get_node,
    qualify,
    quote_model,
)
from llm_mock.migrate.sdk_clients import EMBEDDINGS, MESSAGES, find_methods
from llm_mock.migrate.sdk_gemini import convert_content_json
from llm_mock.migrate.sdk_replies import CreateMethod, EmbeddingMethod
from llm_mock.migrate.symbol_table import FunctionDouble, SymbolTable
from llm_mock.migrate.syntax import (
    collect_texts,
    get_arguments,
    get_elements,
    get_int,
    get_string,
    read_dict,
    to_source,
)
from llm_mock.migrate.value_types import MAX_NAMES, find_only_value

_RESPONSES = ("httpx.Response", "httpx2.Response", "respx.MockResponse")
_BODIES = ("json", "text", "content")
_ARGUMENTS = ("status_code", "headers", "request", *_BODIES)
_OK = 200
FIRST_ERROR = 400
_OVERLOADED = {MESSAGES: 529}
"""The status of an overloaded provider, by the method; 503 for the others."""
_TEMPLATES = {401: "authentication", 429: "rate_limit", 500: "server_error"}
"""The templates of errors by their status, which are the same for every API."""
_CONNECTION_ERRORS = ("ConnectError",)
_TIMEOUTS = ("TimeoutException", "ConnectTimeout", "ReadTimeout", "WriteTimeout", "PoolTimeout")
_ENCODED = m.Call(m.Attribute(attr=m.Name("encode")))
# A rate limit that no waiting ends.
_UNUSUAL = "insufficient_quota"
_CONTENT_TYPE = "content-type"
_RETRY_AFTER = "retry-after"
SEE_ON = (
    "Configure the HTTP response, for example "
    'mock_llm_responses.on("POST", "/v1/chat/completions", body, status=400).'
)
SEE_CHUNKS = 'For a stream, use mock_llm_responses.set("*", Reply(chunks=["one ", "two"])).'


def collect_route_replies(patched: PatchedRoute, table: SymbolTable) -> list[ConfiguredReply]:
    """Return the reply of the models that a route answers for.

    Raises:
        CannotRewrite: the reply is unknown.
    """
    client = patched.get_client()
    assert client is not None
    [(path, method)] = find_methods(client)
    kind = _EmbeddingRouteMethod if path == EMBEDDINGS else _RouteMethod
    reply = kind(patched, path, method, table).convert()
    return [] if reply is None else [reply]


@dataclass(frozen=True)
class HTTPResponse:
    """An HTTP response.

    Attributes:
        status: its status.
        body: the expression for its body; None without one.
        is_json: whether the body is JSON that is not encoded yet.
        headers: its headers.
    """

    status: int
    body: cst.BaseExpression | None
    is_json: bool
    headers: Mapping[str, cst.BaseExpression]


class _RouteMethod(CreateMethod):
    """Converts the responses of a route."""

    def __init__(
        self,
        patched: PatchedRoute,
        path: str,
        method: TestDouble,
        table: SymbolTable,
    ) -> None:
        super().__init__(patched, path, method, table)
        endpoint = patched.endpoint
        if endpoint.model:
            self.model = endpoint.model
            self.quoted_model = quote_model(endpoint.model)
            # Only the URLs of Gemini name a model.
            self._convert_double = convert_content_json
        self._endpoint = endpoint

    def convert_function(self, function: FunctionDouble) -> ConfiguredReply:
        """Refuse a function of the request."""
        raise CannotRewrite(
            f"the response of {function.definition.name.value} depends on the HTTP request",
            "Configure a function of the request: "
            'mock_llm_responses.set("*", lambda request: …). request.prompt is the text, and '
            "request.body is the JSON.",
            function.definition,
        )

    def convert_side_effect(self, node: cst.BaseExpression) -> ConfiguredReply:
        """Return an error, or a list of responses and errors, as a configured reply."""
        return super().convert_side_effect(_resolve(node, self.table))

    def convert_error(self, node: cst.BaseExpression) -> str:
        """Return an error of the connection as a template."""
        error_class = node.func if isinstance(node, cst.Call) else node
        module, _, name = self.table.scope.qualify(error_class).rpartition(".")
        template = ""
        if name in _CONNECTION_ERRORS:
            template = "no_connection"
        elif name in _TIMEOUTS:
            template = "timeout"
        if module not in ("httpx", "httpx2") or not template or self._is_named(node, node):
            raise CannotRewrite(
                f"the old mock raises {to_source(node)}, which has no equivalent template",
                'To make the call fail, use mock_llm_responses.set_error("*", error) with '
                "templates.no_connection(), templates.timeout() or an exception.",
                node,
            )
        return self._format_template(template)

    def _format_template(self, name: str, arguments: str = "") -> str:
        templates = qualify("templates", self.table)
        return f"{templates}.{name}({arguments})"

    def convert_standing(self, value: Value | None) -> ConfiguredReply | None:
        """Return the response to every request as a configured reply."""
        if value is None:
            return None
        response = self._read_response(value)
        if response.status < FIRST_ERROR or self._find_template(response) is not None:
            return super().convert_standing(value)
        if not self._endpoint.path:
            raise CannotRewrite(
                f"the URL of the response with status {response.status} is unknown",
                SEE_ON,
                get_node(value),
            )
        arguments = [f'"POST", "{self._endpoint.path}"']
        arguments.append('""' if response.body is None else to_source(response.body))
        arguments.append(f"status={response.status}")
        headers = _format_headers(response)
        if headers:
            arguments.append(f"headers={headers}")
        statement = f"mock_llm_responses.on({', '.join(arguments)})"
        return ConfiguredReply(self.model, "endpoint", (statement,))

    def convert_response(self, value: Value) -> str | None:
        """Return a response as an argument of `set` or `add`."""
        response = self._read_response(value)
        if response.status >= FIRST_ERROR:
            template = self._find_template(response)
            if template is None:
                raise CannotRewrite(
                    f"one of several responses has the error status {response.status}",
                    SEE_ON,
                    get_node(value),
                )
            return template
        if response.status != _OK:
            raise CannotRewrite(
                f"the response has status {response.status}",
                SEE_ON,
                get_node(value),
            )
        if _format_headers(response):
            raise CannotRewrite(
                "the response has its own headers",
                'Pass the headers to a Reply: Reply("text", headers={…}).',
                get_node(value),
            )
        if response.body is None or not response.is_json:
            raise CannotRewrite(
                "the body of the response is not literal JSON",
                SEE_CHUNKS,
                get_node(value),
            )
        return self.convert_body(response.body)

    def convert_body(self, written: cst.BaseExpression) -> str | None:
        """Return the JSON of a model's answer as a reply."""
        node = expand(written, self.table)
        reply = None
        if isinstance(node, cst.Dict) and not self._names_id(node, written):
            try:
                reply = self._convert_double(PlainCode(node), self.table)
            except CannotRewrite:
                # The mock can send it as it is.
                reply = None
        return reply or format_reply([f"body={to_source(written)}"], self.table)

    def _names_id(self, node: cst.Dict, written: cst.BaseExpression) -> bool:
        """Return whether the test names the id of a response."""
        items = read_dict(node) or {}
        text = get_string(items.get("id"))
        if text is None:
            return False
        own = self._count_own(written)
        return self.table.texts[text] > own[text]

    def _count_own(self, written: cst.BaseExpression) -> Counter[str]:
        """Return the texts of the test that a response itself has, each with how often."""
        if isinstance(written, cst.Name) and written.value in self.table.plain:
            return collect_texts(find_only_value(written, self.table) or written)
        # A constant or a helper of the file is not written in the test.
        return collect_texts(written)

    def _is_named(self, node: cst.BaseExpression, written: cst.BaseExpression) -> bool:
        """Return whether the test names a text of a response somewhere else.

        Args:
            node: the response, or a part of it.
            written: the response as it is written in the test.
        """
        own = self._count_own(written)
        texts = [text for text in _list_texts(node) if text]
        for other, number in self.table.texts.items():
            if not other or number <= own[other]:
                continue
            for text in texts:
                if other in text or text in other:
                    return True
        return False

    def _find_template(self, response: HTTPResponse) -> str | None:
        """Return the template of an error with the meaning of a response; None without one."""
        name = _TEMPLATES.get(response.status)
        if response.status == _OVERLOADED.get(self._endpoint.method, 503):
            name = "overloaded"
        others = _format_headers(response, [_RETRY_AFTER])
        if name is None or others or self._is_unusual(response):
            return None
        seconds = response.headers.get(_RETRY_AFTER)
        if seconds is None:
            return self._format_template(name)
        text = get_string(seconds) or ""
        if not text.isdecimal() or name not in ("rate_limit", "overloaded"):
            return None
        return self._format_template(name, f"retry_after={int(text)}")

    def _is_unusual(self, response: HTTPResponse) -> bool:
        """Return whether an error says something that matters, and that its template does not."""
        if response.body is None:
            return False
        node = expand(response.body, self.table)
        if _UNUSUAL in _list_texts(node):
            return True
        return self._is_named(node, response.body)

    def _read_response(self, value: Value) -> HTTPResponse:
        """Read `httpx.Response(200, json={…})`.

        Raises:
            CannotRewrite: the value is not a literal response.
        """
        node = get_node(value)
        response = None if node is None else find_response(node, self.table)
        if response is None:
            source = "a mock" if node is None else to_source(node)
            raise CannotRewrite(
                f"the response of the route is not literal: {source}",
                'Configure the reply: mock_llm_responses.set("*", "text").',
                node,
            )
        return response


class _EmbeddingRouteMethod(_RouteMethod, EmbeddingMethod):
    """Converts the vectors of a route."""

    def convert_body(self, written: cst.BaseExpression) -> str | None:
        """Return the JSON of the vectors as the answer of the endpoint."""
        return to_source(written)


def find_response(node: cst.BaseExpression, table: SymbolTable) -> HTTPResponse | None:
    """Return the HTTP response that an expression, a constant or a helper makes, or None."""
    resolved = _resolve(node, table)
    return _read_arguments(resolved, table) if isinstance(resolved, cst.Call) else None


def is_response(node: cst.BaseExpression, table: SymbolTable) -> bool:
    """Return whether an expression makes an HTTP response whose status and body are known."""
    return isinstance(node, cst.Call) and _read_arguments(node, table) is not None


def _read_arguments(node: cst.Call, table: SymbolTable) -> HTTPResponse | None:
    """Return the response that a call makes; None if it makes none, or an argument is unknown."""
    if table.scope.qualify(node.func) not in _RESPONSES:
        return None
    keywords = _name_arguments(node)
    status = get_int(keywords.get("status_code"))
    headers = _read_headers(keywords.get("headers"), table)
    bodies = [keywords[name] for name in _BODIES if name in keywords]
    if len(bodies) > 1 or status is None or headers is None:
        return None
    if not bodies:
        return HTTPResponse(status, None, is_json=False, headers=headers)
    [body] = bodies
    data = keywords.get("json") or _read_dump(body, table)
    is_json = data is not None
    return HTTPResponse(
        status,
        data or body,
        is_json=is_json,
        headers=headers,
    )


def _name_arguments(node: cst.Call) -> dict[str, cst.BaseExpression]:
    """Return the arguments of `httpx.Response` by name; none if one is unknown."""
    arguments = get_arguments(node)
    if arguments is None:
        return {}
    positional, keywords = arguments
    if positional:
        keywords["status_code"] = positional[0]
    is_known = len(positional) <= 1 and keywords.keys() <= {*_ARGUMENTS}
    return keywords if is_known else {}


def _read_headers(
    node: cst.BaseExpression | None,
    table: SymbolTable,
) -> dict[str, cst.BaseExpression] | None:
    """Return headers by their names in lower case; None if they are not literal."""
    if node is None:
        return {}
    value = find_only_value(node, table)
    items = read_dict(value) if isinstance(value, cst.Dict) else None
    if items is None:
        return None
    return {name.lower(): item for name, item in items.items()}


def _format_headers(response: HTTPResponse, ignored: Sequence[str] = ()) -> str:
    """Return the headers of a response as a dict, without those of its type; empty without any."""
    items = []
    for name, value in response.headers.items():
        if name not in (_CONTENT_TYPE, *ignored):
            items.append(f'"{name}": {to_source(value)}')
    return f"{{{', '.join(items)}}}" if items else ""


def _read_dump(node: cst.BaseExpression, table: SymbolTable) -> cst.BaseExpression | None:
    """Return the data of `json.dumps(data)`, perhaps encoded; None for another expression."""
    if m.matches(node, _ENCODED):
        call = cst.ensure_type(node, cst.Call)
        method = cst.ensure_type(call.func, cst.Attribute)
        node = method.value
    if not isinstance(node, cst.Call):
        return None
    if table.scope.qualify(node.func) != "json.dumps":
        return None
    arguments = get_arguments(node)
    if arguments is None or len(arguments[0]) != 1:
        return None
    return arguments[0][0]


def _resolve(node: cst.BaseExpression, table: SymbolTable) -> cst.BaseExpression:
    """Return what a constant is, or what a helper of the file returns; others as they are."""
    value = find_only_value(node, table) or node
    if not isinstance(value, cst.Call) or not isinstance(value.func, cst.Name):
        return value
    name = value.func.value
    helper = table.scope.functions.get(name)
    if helper is None or name in table.values:
        return value
    if helper.decorators or helper.asynchronous:
        return value
    result: Value = table.scope.fakes.call_helper(
        helper,
        value,
        table,
        None,
    )
    return get_node(result) or value


def expand(node: cst.BaseExpression, table: SymbolTable, depth: int = 0) -> cst.BaseExpression:
    """Return JSON with the dicts and lists in place of the names that stand for them."""
    value = _resolve(node, table)
    if value is not node:
        depth += 1
    if depth > MAX_NAMES:
        return node
    if isinstance(value, cst.Dict):
        items = []
        for item in value.elements:
            expanded = expand(
                item.value,
                table,
                depth,
            )
            items.append(item.with_changes(value=expanded))
        return value.with_changes(elements=items)
    elements = get_elements(value)
    if elements is None:
        return node
    nodes = []
    for element in elements:
        expanded = expand(
            element,
            table,
            depth,
        )
        nodes.append(cst.Element(expanded))
    return cst.List(nodes)


def _list_texts(node: cst.BaseExpression) -> list[str]:
    """Return the texts in JSON, without its keys."""
    if isinstance(node, cst.Dict):
        values = [item.value for item in node.elements]
    elif isinstance(node, cst.Call):
        values = [argument.value for argument in node.args]
    else:
        values = get_elements(node) or []
    texts = []
    text = get_string(node)
    if text is not None:
        texts.append(text)
    for value in values:
        texts += _list_texts(value)
    return texts
