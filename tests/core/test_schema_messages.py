"""The message about a reply that breaks the schema shows what the schema asks for."""

from __future__ import annotations

from typing import Any

import llm
import pytest

from llm_mock import Reply, SchemaViolationWarning, create_mock_get_model

APPROVED = {
    "type": "object",
    "properties": {
        "kind": {"const": "Approved"},
        "data": {"type": "object", "properties": {"amount": {"type": "integer"}}},
    },
    "required": ["kind", "data"],
}
REJECTED = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["Rejected", "Delayed"]},
        "data": {"$ref": "#/$defs/Reason"},
    },
    "required": ["kind", "data"],
}
DEFINITIONS = {
    "Reason": {
        "type": "object",
        "properties": {"note": {"type": "string"}, "text": {"type": "string"}},
        "required": ["text"],
    },
    "Tree": {
        "type": "object",
        "properties": {"left": {"$ref": "#/$defs/Tree"}, "right": {"$ref": "#/$defs/Tree"}},
    },
    "None": {"type": "boolean"},
}


def warn_of(schema: dict[str, Any], reply: object = 5) -> list[str]:
    """Return the lines of the warning about a reply that breaks a schema."""
    get_model = create_mock_get_model()
    get_model.set("m", Reply("5") if reply == 5 else reply)
    with pytest.warns(SchemaViolationWarning) as warned:
        get_model("m").prompt("Hi", schema=schema).text()
    return str(warned[0].message).splitlines()


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_a_union_is_shown(keyword: str) -> None:
    result = {keyword: [APPROVED, REJECTED]}
    schema = {
        "title": "final_result",
        "type": "object",
        "properties": {"result": result},
        "required": ["result"],
        "$defs": DEFINITIONS,
    }
    lines = warn_of(schema, {"result": {"amount": 3}})
    assert lines[0].endswith("violates the schema final_result of the call:")
    assert lines[-3:] == [
        'The reply: {"result": {"amount": 3}}',
        'Expected: {"result": {"kind": "Approved", "data": {"amount": integer}} or {"kind": '
        '"Rejected" or "Delayed", "data": {"text": string, …}}}',
        "Correct the reply. If it is wrong on purpose, pass Reply(…, invalid=True).",
    ]


@pytest.mark.parametrize(
    ("schema", "form"),
    [
        (llm.schema_dsl("name, age int"), '{"name": string, "age": integer}'),
        ({"type": "array", "items": {"type": "number"}}, "[number]"),
        (
            {"anyOf": [{"type": "object", "properties": {"a": {}}}, {"type": "null"}]},
            '{"a": …} or null',
        ),
        ({"type": "object", "properties": {}}, "object"),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": True},
                "required": ["b", "c"],
            },
            '{"b": …, "c": …, …}',
        ),
        (
            {"properties": {"a": {"type": "string"}, "b": {}}, "required": []},
            '{"a": string, "b": …}',
        ),
        ({"type": "object", "required": ["a"]}, '{"a": …}'),
        ({"type": "object", "$defs": DEFINITIONS}, "object"),
        ({"$ref": "#/$defs/Missing", "type": "object", "$defs": {"Other": 1}}, "…"),
    ],
)
def test_a_schema_without_a_name_is_shown_by_its_form(schema: dict[str, Any], form: str) -> None:
    lines = warn_of(schema, Reply("no JSON"))
    assert lines[0].endswith("violates the schema of the call:")
    assert lines[-2] == f"Expected: {form}"


def test_the_form_of_a_recursive_schema_is_cut() -> None:
    lines = warn_of({"$ref": "#/$defs/Tree", "$defs": DEFINITIONS})
    assert lines[-2].startswith('Expected: {"left": {"left": {"left": ')
    assert len(lines[-2]) < 320


@pytest.mark.parametrize(
    "schema",
    [{"anyOf": 1}, {"enum": 1}, {"properties": {"a": 1}, "required": 1}, {"$defs": 1, "$ref": 1}],
)
def test_an_invalid_schema_is_shown_as_far_as_it_goes(schema: dict[str, Any]) -> None:
    assert warn_of(schema, Reply("no JSON"))[-2].startswith("Expected: ")


@pytest.mark.parametrize(
    "field", [{"type": "string"}, {"anyOf": [APPROVED, {"type": "null"}]}], ids=["text", "optional"]
)
def test_a_schema_with_a_name_is_shown_by_it(field: dict[str, Any]) -> None:
    schema = {"title": "Named", "type": "object", "properties": {"a": field}, "required": ["a"]}
    lines = warn_of(schema, {"b": 1})
    assert lines[0].endswith("violates the schema Named of the call:")
    assert lines[-2] == 'The reply: {"b": 1}'
