"""Knows the mock that the first specification describes: `create_mock_get_model`, `set_response`, `call_history`."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.doubles import LegacyMock
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.syntax import code, get_arguments

MAKER = "create_mock_get_model"
FIXTURES = ("mock_llm_calls", "mock_llm_responses", "mock_llm", "mock_get_model")
"""What fixtures are called that give such a mock."""


def new_legacy_mock(node: cst.Call) -> LegacyMock:
    """What `create_mock_get_model({"gpt-4o": reply}, side_effect=error)` makes."""
    given = get_arguments(node)
    if given is None or len(given[0]) > 1 or given[1].keys() - {"responses", "side_effect"}:
        raise CannotRewrite(f"the arguments of {code(node)} are not known", node=node)
    responses = given[0][0] if given[0] else given[1].get("responses", cst.Dict([]))
    if not isinstance(responses, cst.Dict) or not all(isinstance(part, cst.DictElement) for part in responses.elements):
        raise CannotRewrite(f"the replies of {code(node)} are not written out", node=node)
    statements = [
        f"mock_llm_responses.set({code(part.key)}, {code(part.value)})"
        for part in responses.elements
        if isinstance(part, cst.DictElement)
    ]
    if (error := given[1].get("side_effect")) is not None and code(error) != "None":
        statements.append(f'mock_llm_responses.set_error("*", {code(error)})')
    return LegacyMock(grows=False, statements=tuple(statements))


def find_legacy_fixture(function: cst.FunctionDef) -> str | None:
    """The parameter of a test that is such a mock, as its use shows."""
    for parameter in function.params.params:
        name = parameter.name.value
        history = m.Attribute(m.Name(name), m.Name("call_history"))
        three = m.Call(m.Attribute(m.Name(name), m.Name("set_response")), [m.Arg(), m.Arg(), m.Arg()])
        if name in FIXTURES and (m.findall(function.body, history) or m.findall(function.body, three)):
            return name
    return None


def convert_set_response(node: cst.Call) -> str:
    """`set` for `set_response(model, schema, response)`, or for `set_response(model, response)`."""
    given = get_arguments(node)
    names = ["model", "schema", "response"]
    if given is None or len(given[0]) + len(given[1]) not in (2, 3):
        raise CannotRewrite(f"the arguments of {code(node)} are not known", node=node)
    if len(given[0]) == 2 and not given[1]:
        names.remove("schema")
    values = dict(zip(names, given[0], strict=False)) | given[1]
    if values.keys() - {"model", "schema", "response"} or not {"model", "response"} <= values.keys():
        raise CannotRewrite(f"the arguments of {code(node)} are not known", node=node)
    schema = values.get("schema")
    more = "" if schema is None or code(schema) == "None" else f", schema={code(schema)}"
    return f"mock_llm_responses.set({code(values['model'])}, {code(values['response'])}{more})"
