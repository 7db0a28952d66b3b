"""References to saved results in the arguments of tools."""

from __future__ import annotations

from typing import Any

import pytest

from llm_mock.errors import UnknownReference
from llm_mock.specs.references import resolve_references

SAVED = {
    "login": {"status_code": 200, "body": '{"token": "abc", "ids": [7, 8]}'},
    "users": [{"name": "Ada", "content-type": "x"}, {"name": "Grace"}],
    "text": "hello",
    "number": 1.5,
    "nothing": None,
    "fruit": {"name": "Äpfel"},
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("${text}", "hello"),
        ("${number}", 1.5),
        ("${nothing}", None),
        ("${users}", SAVED["users"]),
        ("${users.1.name}", "Grace"),
        ("${users.0.content-type}", "x"),
        ("${login.status_code}", 200),
        ("${login.body}", SAVED["login"]["body"]),  # type: ignore[index]
        ("${login.body.token}", "abc"),
        ("${login.body.ids.1}", 8),
        ("Bearer ${login.body.token}!", "Bearer abc!"),
        ("${number} of ${users.0}", '1.5 of {"name": "Ada", "content-type": "x"}'),
        ("${nothing} ${login.body.ids}", "null [7, 8]"),
        ("Buy ${fruit}", 'Buy {"name": "Äpfel"}'),
        ("$${text}", "${text}"),
        ("$${text} ${text}", "${text} hello"),
        ("$ {text} $text {text} $", "$ {text} $text {text} $"),
        (
            ["${text}", {"deep": {"er": "${number}"}}, 5, True, None],
            ["hello", {"deep": {"er": 1.5}}, 5, True, None],
        ),
        ({"${text}": "${text}"}, {"${text}": "hello"}),
    ],
)
def test_references_become_what_was_saved(value: Any, expected: Any) -> None:
    assert resolve_references(value, SAVED) == expected


def test_what_was_saved_is_not_read_for_references_again() -> None:
    assert resolve_references("<${a}>", {"a": "${b}", "b": 1}) == "<${b}>"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("${txt}", "${txt} refers to 'txt', which no earlier step saves; did you mean 'text'?"),
        (
            "${login.boddy}",
            (
                "${login.boddy}: there is no 'boddy' in login; it has status_code, body; did you "
                "mean 'body'?"
            ),
        ),
        ("${login.body.x}", "there is no 'x' in login.body; it has token, ids"),
        ("${users.2}", "there is no '2' in users; it is a list with 2 items, counted from 0"),
        ("${users.-1}", "there is no '-1' in users"),
        ("${text.length}", "there is no 'length' in text; it is 'hello'"),
        ("${number.x}", "there is no 'x' in number; it is 1.5"),
    ],
)
def test_a_reference_that_leads_nowhere_names_what_is_there(value: str, expected: str) -> None:
    with pytest.raises(UnknownReference) as raised:
        resolve_references({"a": [value]}, SAVED)
    assert expected in str(raised.value)
