"""Problems of data in a file are told in the words of its author, with the place of each."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pydantic
import pytest

from llm_mock.support.validation import (
    Number,
    Problem,
    Seconds,
    Text,
    Whole,
    WithExtensions,
    describe_data,
    is_extension,
    list_problems,
)


class Contains(pydantic.BaseModel, extra="forbid"):
    """One form of an item."""

    type: Literal["contains"]
    value: str


class Length(pydantic.BaseModel, extra="forbid"):
    """Another form of an item."""

    type: Literal["length", "size"]
    least: Whole = 0


class Owner(pydantic.BaseModel, extra="forbid"):
    """A part of the file."""

    name: Text


class File(WithExtensions, extra="forbid"):
    """A file with a field of each kind."""

    text: str = ""
    filled: Text = "x"
    named: Annotated[str, pydantic.Field(min_length=1)] = "x"
    whole: Whole = 0
    loose: int = 0
    number: Number = 0.0
    loose_number: float = 0.0
    small: Annotated[float, pydantic.Field(lt=10)] = 0
    seconds: Seconds = 1.0
    least: Annotated[float, pydantic.Field(ge=0.5)] = 1
    flag: bool = False
    pair: tuple[str, ...] = ()
    many: list[str] = pydantic.Field([])
    filled_list: Annotated[list[str], pydantic.Field(min_length=1)] = pydantic.Field(["x"])
    names: dict[str, int] = pydantic.Field({})
    read_only: Mapping[str, str] = {}
    owner: Owner = Owner(name="x")
    owners: tuple[Owner, ...] = ()
    maybe: Owner | None = None
    mode: Literal["a", "b"] = "a"
    items: list[Annotated[Contains | Length, pydantic.Field(discriminator="type")]] = (
        pydantic.Field([])
    )
    day: datetime.date = datetime.date.min
    even: int = 0

    @pydantic.field_validator("even")
    @classmethod
    def _check_even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("should be even")
        return value


SCHEMA = File.model_json_schema()


def find_problems(data: Any) -> list[Problem]:
    """Return the problems of a file."""
    try:
        File.model_validate(data)
    except pydantic.ValidationError as error:
        return [*list_problems(error, SCHEMA)]
    return []


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("text", 5, "should be text, not the number 5; put it in quotes"),
        ("text", 1.5, "should be text, not the number 1.5; put it in quotes"),
        ("text", True, "should be text, not true; put it in quotes"),
        ("text", datetime.date.min, "should be text, not a date; put it in quotes"),
        ("text", None, "should be text, not empty"),
        ("text", ["a"], "should be text, not a list"),
        ("text", b"\xff", "should be text, not binary data"),
        ("filled", " ", "should not be empty"),
        ("named", "", "should not be empty"),
        ("whole", True, "should be a whole number, not true"),
        ("whole", "5", "should be a whole number, not '5'"),
        ("whole", 5.0, "should be a whole number, not the number 5.0"),
        ("loose", "a", "should be a whole number, not 'a'"),
        ("loose", 1.5, "should be a whole number, not the number 1.5"),
        ("loose", {}, "should be a whole number, not a mapping"),
        ("loose", "9" * 5_000, f"should be a whole number, not '{'9' * 58}…"),
        ("number", "5", "should be a number, not '5'"),
        ("number", math.nan, "should be a finite number, not .nan"),
        ("loose_number", "a", "should be a number, not 'a'"),
        ("loose_number", [], "should be a number, not a list"),
        ("small", 10, "should be less than 10"),
        ("seconds", 0, "should be more than 0"),
        ("seconds", 86_401, "should be at most 86,400"),
        ("least", 0.4, "should be at least 0.5"),
        ("flag", "maybe", "should be true or false, not 'maybe'"),
        ("flag", [], "should be true or false, not a list"),
        ("pair", "a", "should be a list, not 'a'"),
        ("many", {}, "should be a list, not a mapping"),
        ("filled_list", [], "should not be empty"),
        ("names", [], "should be a mapping (key: value), not a list"),
        ("read_only", "a", "should be a mapping (key: value), not 'a'"),
        ("owner", "a", "should be a mapping (key: value), not 'a'"),
        ("mode", "c", "should be 'a' or 'b', not 'c'"),
        ("mode", 5, "should be 'a' or 'b', not the number 5"),
        ("even", 3, "should be even"),
        ("day", "today", "input should be a valid date or datetime, input is too short"),
    ],
)
def test_a_wrong_value_is_described(field: str, value: object, text: str) -> None:
    assert find_problems({field: value}) == [Problem((field,), text, False)]


@pytest.mark.parametrize(
    ("data", "location", "text"),
    [
        ({"txet": 1}, ("txet",), "unknown key 'txet'; did you mean 'text'?"),
        ({"owner": {}}, ("owner", "name"), "'name' is missing"),
        (
            {"owner": {"name": "x", "nmae": 1}},
            ("owner", "nmae"),
            "unknown key 'nmae'; did you mean 'name'?",
        ),
        (
            {"owners": [{"name": "x"}, {"name": "x", "y": 1}]},
            ("owners", 1, "y"),
            "unknown key 'y'; known are name",
        ),
        (
            {"maybe": {"name": "x", "y": 1}},
            ("maybe", "y"),
            "unknown key 'y'; known are name",
        ),
        (
            {"items": [{"type": "length", "laest": 1}]},
            ("items", 0, "laest"),
            "unknown key 'laest'; did you mean 'least'?",
        ),
        ({"items": [{"type": "contains"}]}, ("items", 0, "value"), "'value' is missing"),
        (
            {"items": [{}]},
            ("items", 0, "type"),
            "'type' is missing; known are contains, length, size",
        ),
        (
            {"items": [{"type": "lenght"}]},
            ("items", 0, "type"),
            "unknown type 'lenght'; did you mean 'length'? Known are contains, length, size",
        ),
        (
            {"items": [{"type": "other"}]},
            ("items", 0, "type"),
            "unknown type 'other'; known are contains, length, size",
        ),
        (
            {"items": [{"type": 5}]},
            ("items", 0, "type"),
            "unknown type the number 5; known are contains, length, size",
        ),
    ],
)
def test_a_wrong_key_is_named(data: object, location: tuple[str | int, ...], text: str) -> None:
    assert find_problems(data) == [Problem(location, text, True)]


@pytest.mark.parametrize(
    ("data", "location", "text"),
    [
        ({"names": {1: 1}}, ("names", 1, "(key)"), "should be text, not the number 1"),
        ({"many": ["a", 5]}, ("many", 1), "should be text, not the number 5"),
        (
            {"items": ["a"]},
            ("items", 0),
            "should be a mapping (key: value), not 'a'",
        ),
        (
            {"items": [{"type": "size", "least": "a"}]},
            ("items", 0, "least"),
            "should be a whole number, not 'a'",
        ),
    ],
)
def test_a_wrong_part_is_found(data: object, location: tuple[str | int, ...], text: str) -> None:
    [problem] = find_problems(data)
    assert problem.location == location
    assert problem.text.startswith(text)
    assert not problem.names_place


def test_extensions_are_ignored_at_the_top_alone() -> None:
    assert find_problems({"x-shared": 1, "x-": 2}) == []
    assert [each.location for each in find_problems({"x_shared": 1})] == [("x_shared",)]
    assert find_problems({"owner": {"name": "x", "x-a": 1}})[0].location == ("owner", "x-a")
    assert find_problems([])[0].text == "should be a mapping (key: value), not a list"
    assert SCHEMA["patternProperties"] == {"^x-": {}}
    assert is_extension("x-a")
    assert not is_extension("a-x-")
    assert not is_extension(5)


@pytest.mark.parametrize(
    ("value", "description"),
    [
        (None, "empty"),
        (True, "true"),
        (False, "false"),
        (0, "the number 0"),
        (10**20 - 1, "the number 99999999999999999999"),
        (10**20, "a number"),
        (-(10**20), "a number"),
        (1e30, "the number 1e+30"),
        (math.nan, ".nan"),
        (math.inf, ".inf"),
        (-math.inf, "-.inf"),
        ("a" * 58, f"'{'a' * 58}'"),
        ("a" * 60, f"'{'a' * 58}…"),
        (datetime.datetime.min, "a date"),
        ({}, "a mapping"),
        ([], "a list"),
        (b"", "binary data"),
        (set(), "a set"),
        (object(), "a object"),
    ],
)
def test_data_is_described_as_in_its_file(value: object, description: str) -> None:
    assert describe_data(value) == description
