"""Give the mock to the methods of `unittest.TestCase`, which take no fixtures."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.body import get_leading_lines
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.scope import Scope
from llm_mock.migrate.syntax import (
    get_parameter_names,
    parse_expression,
    replace_names,
    to_source,
)

FIXTURE = "take_mock"
ATTRIBUTE = "self.llm_mock"
# Both fixtures are the same mock.
_FIXTURES = ("mock_llm_responses", "mock_llm_calls")
_DEFINITION = f"""\
@pytest.fixture(autouse=True)
def {FIXTURE}(self, mock_llm_responses):
    {ATTRIBUTE} = mock_llm_responses
"""


def is_test_case(node: cst.ClassDef, scope: Scope) -> bool:
    """Return whether a class is a `TestCase`, judged by the names of its bases."""
    return any("TestCase" in scope.qualify(base.value) for base in node.bases)


def use_attribute(function: cst.FunctionDef, owner: cst.ClassDef) -> cst.FunctionDef:
    """Return a method that reads the mock from an attribute instead of its arguments.

    Args:
        function: the rewritten method.
        owner: its class, as it was.

    Raises:
        CannotRewrite: the method has no `self`, or the class uses the attribute otherwise.
    """
    if get_parameter_names(function)[:1] != ["self"]:
        raise CannotRewrite(
            "a method of unittest.TestCase takes no fixtures, and this method has no parameter "
            "self",
            "Name its first parameter self, then run the command again.",
        )
    if "monkeypatch" in get_parameter_names(function):
        raise CannotRewrite(
            "the new test needs monkeypatch, which a method of unittest.TestCase cannot use",
            "Set the environment variable or the list of models in setUp, then run the command "
            "again.",
        )
    is_taken = "llm_mock" in to_source(owner) or FIXTURE in to_source(owner)
    if is_taken and not _has_fixture(owner):
        raise CannotRewrite(
            f"the class needs the fixture {FIXTURE} and the attribute llm_mock, but already uses "
            "one of these names",
            "Choose other names for them, then run the command again.",
        )
    attribute = parse_expression(ATTRIBUTE)
    kept = []
    for parameter in function.params.params:
        if parameter.name.value not in _FIXTURES:
            kept.append(parameter)
    kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return function.with_changes(
        params=function.params.with_changes(params=kept),
        body=replace_names(function.body, dict.fromkeys(_FIXTURES, attribute)),
    )


def _has_fixture(node: cst.ClassDef) -> bool:
    definition = cst.parse_statement(_DEFINITION)
    for part in node.body.body:
        if m.matches(part, m.FunctionDef(m.Name(FIXTURE))):
            found = part.with_changes(leading_lines=[])
            return to_source(found).strip() == to_source(definition).strip()
    return False


def add_fixture(node: cst.ClassDef) -> cst.ClassDef:
    """Return a class with the fixture that its rewritten tests need."""
    if ATTRIBUTE not in to_source(node) or _has_fixture(node):
        return node
    body = list(node.body.body)
    position = 0
    # Behind the docstring and attributes of the class.
    while isinstance(body[position], cst.SimpleStatementLine):
        position += 1
    gap = [cst.EmptyLine(indent=False)]
    first = body[position]
    above = gap if position else []
    definition = cst.parse_statement(_DEFINITION)
    definition = definition.with_changes(leading_lines=above)
    lines = [line for line in get_leading_lines(first) if line.comment is not None]
    body[position] = first.with_changes(leading_lines=[*gap, *lines])
    body.insert(position, definition)
    return node.with_changes(body=node.body.with_changes(body=body))
