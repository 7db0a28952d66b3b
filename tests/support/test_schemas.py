"""Schemas: their names, their own problems, and the violations by an answer."""

from __future__ import annotations

import json
from typing import Any

import pydantic
import pytest

from llm_mock.errors import InvalidReply
from llm_mock.support.formats import EXAMPLES
from llm_mock.support.schemas import (
    find_schema_problem,
    find_text_violations,
    find_violations,
    get_schema_name,
    to_json_schema,
)


class City(pydantic.BaseModel):
    """A class with a schema."""

    name: str


class Tree(pydantic.BaseModel):
    """A class whose schema is a reference to its definition."""

    children: list[Tree]


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        (None, None),
        ({}, None),
        ("city", "city"),
        (City, "City"),
        (Tree, "Tree"),
        ({"title": "Town", "type": "object"}, "Town"),
        ({"type": "object", "a": 1}, '{"a": 1, "type": "object"}'),
        ({"title": 5}, '{"title": 5}'),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"title": "Named"}}}, "Named"),
        ({"title": "Own", "$ref": "#/$defs/A", "$defs": {"A": {"title": "Named"}}}, "Own"),
        ({"$defs": {"A": {"title": "Other"}}}, '{"$defs": {"A": {"title": "Other"}}}'),
        ({"a": str}, """{"a": "<class 'str'>"}"""),
    ],
)
def test_a_schema_has_a_name(schema: Any, name: str | None) -> None:
    assert get_schema_name(schema) == name


def test_a_value_that_is_no_schema_is_an_error() -> None:
    with pytest.raises(InvalidReply) as caught:
        get_schema_name(int)
    assert str(caught.value) == (
        "This is not a schema: the class int. Pass a pydantic class, a JSON-schema dict, or the "
        "name of one."
    )


def test_the_schema_of_a_class_is_a_new_dict_each_time() -> None:
    schema = to_json_schema(City)
    assert schema == City.model_json_schema()
    schema.clear()
    assert to_json_schema(City) == City.model_json_schema()
    assert to_json_schema("city") == "city"


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({}, None),
        ({"type": "object"}, None),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "array"}, None),
        ({"$schema": "https://example.com/unknown", "type": "array"}, None),
        (
            {"$schema": "https://example.com/unknown", "minimum": "a"},
            "minimum: 'a' is not of type 'number'",
        ),
        ({"$schema": 5}, "$schema: must be a text"),
        (
            {"properties": {"a": {"items": {"minimum": "b"}}}},
            "properties.a.items.minimum: 'b' is not of type 'number'",
        ),
        ({"required": ["a", 5]}, "required[1]: 5 is not of type 'string'"),
        (
            {"$schema": "http://json-schema.org/draft-04/schema#", "exclusiveMaximum": True},
            "'maximum' is a dependency of 'exclusiveMaximum'",
        ),
    ],
)
def test_the_problem_of_a_schema_is_found(schema: Any, problem: str | None) -> None:
    assert find_schema_problem(schema) == problem


def test_a_schema_of_other_values_is_a_problem() -> None:
    problem = find_schema_problem({"const": object})
    assert (
        problem
        == "it contains a value that is not JSON (Object of type type is not JSON serializable)"
    )


NESTED = {
    "properties": {"a": {"items": {"type": "integer"}}, "b": {"type": "string"}},
    "type": "object",
}


@pytest.mark.parametrize(
    ("schema", "value", "violations"),
    [
        (NESTED, {"a": [1], "b": "x"}, []),
        (
            NESTED,
            {"b": 1, "a": [1, "2", "3"]},
            [
                "the answer.a[1]: '2' is not of type 'integer'",
                "the answer.a[2]: '3' is not of type 'integer'",
                "the answer.b: 1 is not of type 'string'",
            ],
        ),
        (NESTED, [], ["the answer: [] is not of type 'object'"]),
        ({"type": "unknown"}, 1, []),
        ({"$ref": "https://example.com/other"}, 1, []),
        ({"$schema": "https://example.com/unknown", "type": "null"}, None, []),
    ],
)
def test_the_violations_are_listed_in_order(
    schema: Any, value: object, violations: list[str]
) -> None:
    assert [*find_violations(schema, value)] == violations
    named = [line.replace("the answer", "x", 1) for line in violations]
    assert [*find_violations(schema, value, "x")] == named


def test_a_reference_that_is_not_followed_is_a_violation_for_the_strict() -> None:
    schema = {"$ref": "https://example.com/other"}
    assert [*find_violations(schema, 1, strict=True)] == [
        "the answer: the schema refers to 'https://example.com/other', which is not in it"
    ]
    assert [*find_violations({"type": "integer"}, 1, strict=True)] == []


@pytest.mark.parametrize(
    ("text", "violations"),
    [
        ("1", ()),
        ('"a"', ("the answer: 'a' is not of type 'integer'",)),
        ("a", ("the text is not JSON: Expecting value: line 1 column 1 (char 0)",)),
    ],
)
def test_the_text_of_an_answer_is_checked(text: str, violations: tuple[str, ...]) -> None:
    assert find_text_violations({"type": "integer"}, text) == violations


@pytest.mark.parametrize(
    ("name", "accepted", "refused"),
    [
        ("date", ["2025-05-01", "2025-05-01T00:00:00"], "1 May 2025"),
        ("date-time", ["2025-05-01T10:30:00Z", "2025-05-01 10:30", "2025-05-01"], "tomorrow"),
        ("time", ["10:30:00Z", "10:30"], "noon"),
        ("duration", ["P1DT2H", "PT0S", "01:30:00"], "two days"),
        ("uuid", ["00000000-0000-4000-8000-000000000001", "0" * 32], "first"),
        ("email", ["ada@example.com"], "ada"),
        ("hostname", ["localhost", "API.Example.com", "a-1." * 60 + "b", "127.0.0.1"], "a_b.com"),
        ("hostname", ["x" * 63], "x" * 64),
        ("hostname", ["xn--bcher-kva.example"], "https://example.com"),
        ("hostname", ["1.example"], "-a.example"),
        ("hostname", ["a.b-c"], "a.b-"),
        ("hostname", ["a.b"], "a..b"),
        ("hostname", ["b.a"], "b.a\n"),
        ("ipv4", ["0.0.0.0", "192.0.2.1"], "localhost"),
        ("ipv6", ["::", "fe80::1%eth0"], "192.0.2.1"),
    ],
)
def test_a_text_of_another_format_is_a_violation_of_a_scripted_answer(
    name: str, accepted: list[str], refused: str
) -> None:
    schema = {"type": "string", "format": name}
    for text in [*accepted, EXAMPLES[name]]:
        assert find_text_violations(schema, json.dumps(text)) == ()
    violation = f"the answer: {refused!r} is not a {name!r}, for example {EXAMPLES[name]!r}"
    assert find_text_violations(schema, json.dumps(refused)) == (violation,)
    optional = {"anyOf": [schema, {"type": "null"}]}
    assert find_text_violations(optional, json.dumps(refused)) == (violation,)
    assert list(find_violations(schema, refused)) == []


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"format": "date"}, "5"),
        ({"type": "string", "format": "zip-code"}, '"x"'),
        ({"type": "string", "format": "uri"}, '"x"'),
        ({"anyOf": [{"type": "string", "format": "date"}, {"type": "string"}]}, '"soon"'),
    ],
)
def test_other_formats_and_values_are_no_violation(schema: Any, text: str) -> None:
    assert find_text_violations(schema, text) == ()


@pytest.mark.parametrize("choice", ["anyOf", "oneOf"])
def test_the_format_error_of_a_choice_is_found_in_the_text_itself(choice: str) -> None:
    date = {"type": "string", "format": "date"}
    schema = {choice: [date, {"type": "null"}]}
    expected = "the answer: 'soon' is not a 'date', for example '2025-05-01'"
    assert find_text_violations(schema, '"soon"') == (expected,)
    # A text within the value says nothing of the other choices.
    nested = {choice: [{"type": "array", "items": date}, {"type": "null"}]}
    (violation,) = find_text_violations(nested, '["soon"]')
    assert "is not a 'date'" not in violation


def test_a_choice_of_two_formats_keeps_its_own_message() -> None:
    schema = {"anyOf": [{"format": "date"}, {"format": "time"}]}
    assert find_text_violations(schema, '"soon"') == (
        "the answer: 'soon' is not valid under any of the given schemas",
    )
