"""Recognize a project's own mock: `create_mock_get_model`, `set_response`, `call_history`."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.doubles import LegacyMock
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.marked_names import mark_name
from llm_mock.migrate.syntax import get_arguments, to_source

FACTORY = "create_mock_get_model"
OUR_FIXTURES = ("mock_llm_responses", "mock_llm_calls")
OUR_MOCK = mark_name("mock_llm_responses")
"""Our fixture, marked because the old mock may have the same name."""
# Names that projects give to the fixture of such a mock.
FIXTURES = (*OUR_FIXTURES, "mock_llm", "mock_get_model")


def new_legacy_mock(node: cst.Call) -> LegacyMock:
    """Evaluate `create_mock_get_model({"gpt-4o": reply}, side_effect=error)`.

    Raises:
        CannotRewrite: its arguments are unknown.
    """
    arguments = get_arguments(node)
    if arguments is None:
        raise _new_unknown_arguments(node)
    positional, keywords = arguments
    if len(positional) > 1 or keywords.keys() - {"responses", "side_effect"}:
        raise _new_unknown_arguments(node)
    if positional:
        responses = positional[0]
    else:
        responses = keywords.get("responses", cst.Dict([]))
    statements = _convert_responses(node, responses)
    error = keywords.get("side_effect")
    if error is not None and to_source(error) != "None":
        statements.append(f'{OUR_MOCK}.set_error("*", {to_source(error)})')
    return LegacyMock(has_any_attribute=False, statements=tuple(statements))


def _convert_responses(call: cst.Call, responses: cst.BaseExpression) -> list[str]:
    elements = responses.elements if isinstance(responses, cst.Dict) else [None]
    statements = []
    for element in elements:
        if not isinstance(element, cst.DictElement):
            raise CannotRewrite(f"the replies of {to_source(call)} are not literal", node=call)
        model = to_source(element.key)
        reply = to_source(element.value)
        statements.append(f"{OUR_MOCK}.set({model}, {reply})")
    return statements


def _new_unknown_arguments(node: cst.Call) -> CannotRewrite:
    return CannotRewrite(f"the arguments of {to_source(node)} are unknown", node=node)


def find_legacy_fixture(function: cst.FunctionDef) -> str | None:
    """Return the parameter of a test that is such a mock, judged by its use."""
    for parameter in function.params.params:
        name = parameter.name.value
        if name not in FIXTURES:
            continue
        # Our fixtures share two of the names, but have no call_history and another set_response.
        fixture = m.Name(name)
        history = m.Attribute(fixture, m.Name("call_history"))
        setter = m.Attribute(fixture, m.Name("set_response"))
        arguments = [m.Arg(), m.Arg(), m.Arg()]
        use = history | m.Call(setter, arguments)
        if m.findall(function.body, use):
            return name
    return None


def convert_set_response(node: cst.Call) -> str:
    """Convert `set_response(model, schema, response)`, whose schema may be missing.

    Raises:
        CannotRewrite: its arguments are unknown.
    """
    values = _bind_set_response(node)
    required = {"model", "response"}
    if not required <= values.keys() <= {*required, "schema"}:
        raise _new_unknown_arguments(node)
    model = to_source(values["model"])
    response = to_source(values["response"])
    arguments = [model, response]
    if "schema" in values:
        schema = to_source(values["schema"])
        if schema != "None":
            arguments.append(f"schema={schema}")
    return f"{OUR_MOCK}.set({', '.join(arguments)})"


def _bind_set_response(node: cst.Call) -> Mapping[str, cst.BaseExpression]:
    arguments = get_arguments(node)
    if arguments is None:
        raise _new_unknown_arguments(node)
    positional, keywords = arguments
    if len(positional) + len(keywords) not in (2, 3):
        raise _new_unknown_arguments(node)
    names = ["model", "schema", "response"]
    if len(positional) == 2 and not keywords:
        names.remove("schema")
    return {**dict(zip(names, positional, strict=False)), **keywords}
