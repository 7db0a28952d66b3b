"""Violations of a schema name the key that may be a misspelt property."""

from __future__ import annotations

import pytest

from llm_mock.support.schemas import find_violations

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}


@pytest.mark.parametrize(
    ("value", "violations"),
    [
        (
            {"nmae": "Ada", "age": 36},
            [": 'name' is a required property, but 'nmae' was given; did you mean 'name'?"],
        ),
        (
            {"name": "Ada", "height": 2},
            [": 'age' is a required property, but 'height' was given"],
        ),
        (
            {"name": "Ada", "height": 2, "weight": 3},
            [": 'age' is a required property"],
        ),
        (
            {"height": 2},
            [": 'name' is a required property", ": 'age' is a required property"],
        ),
        ({"name": "Ada"}, [": 'age' is a required property"]),
        ({"name": "Ada", "age": "36"}, [".age: '36' is not of type 'integer'"]),
    ],
)
def test_a_missing_property_is_named_with_its_misspelling(
    value: dict[str, object], violations: list[str]
) -> None:
    found = [text.removeprefix("the answer") for text in find_violations(PERSON, value)]
    assert found == violations


def test_a_required_key_without_a_schema_is_not_a_misspelling() -> None:
    schema = {"type": "object", "required": ["from", "to"]}
    violations = [*find_violations(schema, {"from": 9})]
    assert violations == ["the answer: 'to' is a required property"]
