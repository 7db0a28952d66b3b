"""Read what the routes of respx record of the requests that they answer."""

from __future__ import annotations

import libcst as cst

from llm_mock.migrate.call_values import (
    AnsweredContent,
    AnsweredRequest,
    CallValue,
    HTTPCall,
    HTTPCallList,
    SingleCall,
)
from llm_mock.migrate.doubles import TestDouble, Value
from llm_mock.migrate.http_routes import Route, Router
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.syntax import parse_expression, to_source

SEE_REQUEST = (
    "mock_llm_calls.last_call.request has url, headers (without API keys) and body "
    "(the parsed JSON)."
)


def find_route(double: Value, node: cst.BaseExpression) -> TestDouble | None:
    """Return the route that a double is, or the only one of a router; None for others.

    Raises:
        CannotRewrite: the router has several routes.
    """
    if isinstance(double, Route):
        return double
    if not isinstance(double, Router):
        return None
    routes = list(double.routes.values())
    if len(routes) > 1:
        raise CannotRewrite(
            f"{to_source(node)} has the requests of several routes",
            "mock_llm_calls.calls has the requests to all models.",
            node,
        )
    return routes[0] if routes else None


def read_attribute(
    owner: CallValue | cst.BaseExpression | None,
    name: str,
    node: cst.BaseExpression,
) -> CallValue | cst.BaseExpression | None:
    """Read `calls.last`, `call.request` or `request.content`; return None for others."""
    if isinstance(owner, HTTPCallList):
        return _read_list_attribute(owner, name)
    if isinstance(owner, HTTPCall) and name == "request":
        return AnsweredRequest(owner.call)
    if not isinstance(owner, AnsweredRequest) or name == "read":
        # `request.read` alone is a part of the call.
        return None
    if name == "content":
        return AnsweredContent(owner.call)
    raise CannotRewrite(f"{to_source(node)} reads a part of the HTTP request", SEE_REQUEST, node)


def _read_list_attribute(
    calls: HTTPCallList,
    name: str,
) -> CallValue | cst.BaseExpression | None:
    if name == "last":
        return HTTPCall(calls.last)
    if name == "call_count":
        return parse_expression(f"len({calls.source})")
    return parse_expression(f"bool({calls.source})") if name == "called" else None


def read_item(calls: HTTPCallList, number: int) -> HTTPCall:
    """Read `calls[0]`."""
    return HTTPCall(SingleCall(f"{calls.source}[{number}]", sdk=calls.last.sdk))


def read_method(owner: CallValue | cst.BaseExpression | None, name: str) -> AnsweredContent | None:
    """Read `request.read()` or `content.decode()`; return None for others."""
    if isinstance(owner, AnsweredRequest) and name == "read":
        return AnsweredContent(owner.call)
    if isinstance(owner, AnsweredContent) and name == "decode":
        return owner
    return None


def format_body(content: AnsweredContent) -> cst.BaseExpression:
    """Return the expression for the JSON of a body."""
    return parse_expression(f"{content.call.source}.request.body")
