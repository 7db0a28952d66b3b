"""Convert the arguments of an SDK's method into reads of the request that it sends."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.recorded_calls import CLIENT_OPTIONS, LITELLM_ARGUMENTS
from llm_mock.migrate.reply_functions import SEE_FUNCTIONS, CallParameter
from llm_mock.migrate.sdk_clients import GOOGLE, LITELLM
from llm_mock.migrate.syntax import (
    collect_names,
    find_nodes,
    get_index,
    get_parameter_names,
    get_string,
    parse_expression,
)

BODY = "request.body"
_KEY = m.SimpleString()


def new_request_parameter(function: cst.FunctionDef, library: str) -> CallParameter:
    """Return the parameter of a reply function that replaces the arguments of an SDK method.

    Args:
        function: the old function.
        library: the SDK; litellm changes some arguments, and Google's all.

    Raises:
        CannotRewrite: it reads an argument that may not be in the body of the request.
    """
    if library == GOOGLE:
        return _new_google_parameter(function)
    is_litellm = library == LITELLM
    parameters = function.params
    used = collect_names(function.body)
    reads: dict[str, cst.BaseExpression] = {}
    for parameter in (*parameters.params, *parameters.kwonly_params):
        name = parameter.name.value
        if name in used:
            has_default = parameter.default is not None
            _check_argument(
                name,
                function,
                may_lack=has_default,
                is_litellm=is_litellm,
            )
            reads[name] = _read_argument(name, parameter.default)
    keywords = parameters.star_kwarg
    if keywords is not None and keywords.name.value in used:
        _check_reads(
            keywords.name.value,
            function,
            is_litellm,
        )
        reads[keywords.name.value] = parse_expression(BODY)
    return CallParameter("request", reads)


def _new_google_parameter(function: cst.FunctionDef) -> CallParameter:
    """Return the parameter that replaces the arguments of google-genai, which converts them all.

    Raises:
        CannotRewrite: the function reads an argument other than the model.
    """
    used = collect_names(function.body)
    reads: dict[str, cst.BaseExpression] = {}
    for name in get_parameter_names(function):
        if name not in used:
            continue
        if name != "model":
            raise CannotRewrite(
                f"{function.name.value} reads {name}, which google-genai sends in another form",
                "A reply function receives the request, which has model_id, prompt, system and "
                "options.",
                function,
            )
        reads[name] = parse_expression("request.model_id")
    return CallParameter("request", reads)


def _read_argument(name: str, default: cst.BaseExpression | None) -> cst.BaseExpression:
    if default is None:
        return parse_expression(f'{BODY}["{name}"]')
    read = cst.ensure_type(parse_expression(f'{BODY}.get("{name}")'), cst.Call)
    if m.matches(default, m.Name("None")):
        return read
    return read.with_changes(args=[*read.args, cst.Arg(default)])


def _check_argument(
    name: str,
    function: cst.FunctionDef,
    *,
    may_lack: bool,
    is_litellm: bool,
) -> None:
    is_changed = is_litellm and (may_lack or name not in LITELLM_ARGUMENTS)
    if name in CLIENT_OPTIONS or is_changed:
        raise CannotRewrite(
            f"{function.name.value} reads {name}, which may not be in the body of the request",
            "A reply function receives the request, which has model_id, system, messages(), "
            "options and body.",
            function,
        )


def _check_reads(name: str, function: cst.FunctionDef, is_litellm: bool) -> None:
    """Refuse a function that uses the keyword arguments other than by their names."""
    # Each way to read one argument, and whether it may be missing.
    index = m.SubscriptElement(m.Index(_KEY))
    membership = m.ComparisonTarget(m.In() | m.NotIn(), m.Name(name))
    ways = (
        (m.Subscript(m.Name(name), [index]), False),
        (m.Call(m.Attribute(m.Name(name), m.Name("get"))), True),
        (m.Comparison(_KEY, [membership]), True),
    )
    known = 0
    for pattern, may_lack in ways:
        for found in m.findall(function.body, pattern):
            key = _get_key(found)
            if key is None:
                continue
            known += 1
            _check_argument(
                key,
                function,
                may_lack=may_lack,
                is_litellm=is_litellm,
            )
    uses = [node for node in find_nodes(function.body, cst.Name) if node.value == name]
    if len(uses) > known:
        raise CannotRewrite(
            f"{function.name.value} uses {name} as a whole",
            SEE_FUNCTIONS,
            function,
        )


def _get_key(node: cst.CSTNode) -> str | None:
    """Return the name that an expression reads; None if it is not literal."""
    key: cst.CSTNode | None = None
    if isinstance(node, cst.Subscript):
        key = get_index(node)
    elif isinstance(node, cst.Comparison):
        key = node.left
    elif isinstance(node, cst.Call) and node.args:
        key = node.args[0].value
    return get_string(key)
