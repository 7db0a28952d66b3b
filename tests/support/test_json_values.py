"""JSON values: in texts, at paths, with references, and as numbers in a range."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest

from llm_mock.errors import LLMMockError
from llm_mock.support.interpolation import (
    LARGEST_TEXT,
    escape_references,
    interpolate,
    list_references,
    map_texts,
    parse_whole_reference,
)
from llm_mock.support.json_in_text import (
    FencedJSON,
    find_json_objects,
    find_json_values,
    parse_json,
)
from llm_mock.support.json_paths import get_value, parse_path
from llm_mock.support.numbers import check_finite, is_number, is_whole

DEEP = "[" * 100_000


@pytest.mark.parametrize("value", [{"a": [1, None]}, [], "x", 1.5, None])
def test_a_text_is_parsed(value: object) -> None:
    assert parse_json(f" {json.dumps(value)}\n") == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expecting value at line 1 column 1"),
        ('{"a":\n oops}', "Expecting value at line 2 column 2"),
        ("[1] [2]", "Extra data at line 1 column 5"),
        ("NaN", "NaN is not a JSON value"),
        ("[-Infinity]", "-Infinity is not a JSON value"),
        (DEEP, "it is nested too deeply"),
        ("x ```\n{}\n```", "Expecting value at line 1 column 1"),
        ("```\n{}\n``` x", "Expecting value at line 1 column 1"),
        ("```{}```", "Expecting value at line 1 column 1"),
        ("``\n{}\n``", "Expecting value at line 1 column 1"),
    ],
)
def test_a_text_that_is_no_json_is_explained(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$") as caught:
        parse_json(text)
    assert type(caught.value) is ValueError


@pytest.mark.parametrize("text", ["```json\n{}\n```", " \n```\n{\n}```\n", "```\nno json\n```"])
def test_a_code_fence_is_named(text: str) -> None:
    with pytest.raises(FencedJSON, match=r"^it is in a code fence$"):
        parse_json(text)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", []),
        ("no [value] {here}", []),
        ('See {"a": [1]} and [2, {"b": 3}].', [{"a": [1]}, [2, {"b": 3}]]),
        ("[[1]", [[1]]),
        ("{}[]{", [{}, []]),
        ("[NaN] [1]", [[1]]),
    ],
)
def test_the_values_in_a_text_are_found(text: str, values: list[object]) -> None:
    assert [*find_json_values(text)] == values


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ('{"a": 1}', [({"a": 1}, 0, 8)]),
        ('x {"a": {"a": 2}} {"b": {"a": 3}} {', [({"a": {"a": 2}}, 2, 17), ({"a": 3}, 24, 32)]),
        ('{"a": 1, "a": 2} {"a": 3}', [({"a": 3}, 17, 25)]),
        ('{"b": 1} {"a": "x\ny"}', [({"a": "x\ny"}, 9, 21)]),
    ],
)
def test_the_objects_with_a_key_are_found(text: str, found: list[Any]) -> None:
    assert [tuple(each) for each in find_json_objects(text, "a")] == found


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("a", ["a"]),
        ("$.a", ["a"]),
        ("$", None),
        ("", None),
        (".a", ["a"]),
        ("a.b.0", ["a", "b", "0"]),
        ("a[0][-1].b", ["a", "0", "-1", "b"]),
        ("""$["a b"]['c.d']""", ["a b", "c.d"]),
        ('[0]["a"]', ["0", "a"]),
        ("a-b.c_d", ["a-b", "c_d"]),
        ("a..b", None),
        ("a.", None),
        ("a b", None),
        ("a[b]", None),
        ("a[*]", None),
        ("a[0]b", None),
        ('a""', None),
        ("[]", None),
        ("$$.a", None),
    ],
)
def test_a_path_has_steps(path: str, steps: list[str] | None) -> None:
    if steps is not None:
        assert parse_path(path) == steps
        return
    message = f"{path!r} is not a path of keys and positions, such as choices.0.message.content"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_path(path)


DATA = {"list": [1, {"a": "b"}], "none": None, "0": "zero", "empty": {}, "text": "x" * 99}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("list.0", 1),
        ("list.1.a", "b"),
        ("list[-1].a", "b"),
        ("list[-2]", 1),
        ("none", None),
        ("0", "zero"),
        ("empty", {}),
    ],
)
def test_the_value_at_a_path_is_found(path: str, value: object) -> None:
    assert get_value(DATA, path) == value


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("lits", "there is no 'lits' in $; did you mean 'list'?"),
        ("qqqqqq", "there is no 'qqqqqq' in $; known are list, none, 0, empty, text"),
        ("empty.a", "there is no 'a' in $.empty, which is empty"),
        ("list.2", "there is no position 2 in $.list, a list of 2"),
        ("list[-3]", "there is no position -3 in $.list, a list of 2"),
        ("list.a", "there is no 'a' in $.list, which is a list"),
        ("list.1.a.c", "there is no 'c' in $.list.1.a, which is 'b'"),
        ("none.a", "there is no 'a' in $.none, which is null"),
        ("text.a", f"there is no 'a' in $.text, which is '{'x' * 58}…"),
        ("k" * 99, f"there is no '{'k' * 58}… in $; known are list, none, 0, empty, text"),
        (f"none.{'k' * 99}", f"there is no '{'k' * 58}… in $.none, which is null"),
    ],
)
def test_a_path_that_leads_nowhere_is_explained(path: str, message: str) -> None:
    with pytest.raises(LLMMockError) as caught:
        get_value(DATA, path)
    assert str(caught.value) == message


VALUES = {"a": "1", "user.name": "Ann", "": "empty", "empty": ""}


@pytest.mark.parametrize(
    ("text", "names", "whole", "replaced"),
    [
        ("", [], None, ""),
        ("${a}", ["a"], "a", "1"),
        ("$${a}", [], None, "${a}"),
        ("$$${a}", [], None, "$${a}"),
        ("x ${a}${user.name} $a {a}", ["a", "user.name"], None, "x 1Ann $a {a}"),
        ("${unknown}${empty}", ["unknown", "empty"], None, "${unknown}"),
        ("${}", [""], "", "empty"),
        ("${a{a}}", [], None, "${a{a}}"),
        ("${a} ", ["a"], None, "1 "),
    ],
)
def test_references_are_replaced(
    text: str, names: list[str], whole: str | None, replaced: str
) -> None:
    assert list_references(text) == names
    assert parse_whole_reference(text) == whole
    assert interpolate(text, VALUES.get) == replaced
    assert interpolate(escape_references(text), VALUES.get) == text


def test_a_text_has_at_most_20_million_characters_after_references_are_replaced() -> None:
    most = LARGEST_TEXT // 2 - 2
    assert len(interpolate("${a}${a}", {"a": "x" * (most - 2)}.get)) == 2 * most - 4
    with pytest.raises(LLMMockError) as caught:
        interpolate("${a}${a}", {"a": "x" * (most + 3)}.get)
    assert str(caught.value) == (
        "with its references replaced, a text has more than 20,000,000 characters"
    )


def test_the_texts_of_a_value_are_changed_but_not_its_keys() -> None:
    value = {"a": ["b", 1, ("c", None)], "d": {"e": "f"}, "g": True}
    changed = {"a": ["B", 1, ["C", None]], "d": {"e": "F"}, "g": True}
    assert map_texts(value, str.upper) == changed


@pytest.mark.parametrize(
    ("value", "whole", "number"),
    [
        (0, True, True),
        (5, True, True),
        (10**400, True, True),
        (-1, False, False),
        (True, False, False),
        ("1", False, False),
        (None, False, False),
        (0.0, False, True),
        (0.5, False, True),
        (-0.1, False, False),
        (math.nan, False, False),
        (math.inf, False, False),
    ],
)
def test_numbers_are_finite_and_not_negative(value: object, whole: bool, number: bool) -> None:
    assert is_whole(value) is whole
    assert is_number(value) is number


@pytest.mark.parametrize(
    ("value", "is_within"), [(1, False), (2, True), (3, True), (4, True), (5, False)]
)
def test_numbers_are_in_a_range(value: int, is_within: bool) -> None:
    assert is_whole(value, 2, 4) is is_within
    assert is_number(value, 2, 4) is is_within
    assert is_number(float(value), 2, 4) is is_within


@pytest.mark.parametrize("value", [1.5, 10**400, "NaN", None, {"a": [(0.0, True)]}, []])
def test_a_finite_value_is_returned_as_it_is(value: object) -> None:
    assert check_finite(value) is value


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (math.nan, "nan"),
        ([1, -math.inf], "-inf"),
        ({"a": {"b": (math.inf,)}}, "inf"),
    ],
)
def test_a_number_that_is_not_finite_is_an_error(value: object, name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} is not a valid JSON number$"):
        check_finite(value)
