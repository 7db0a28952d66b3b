"""The conditions of helpers that are decided by literals."""

from __future__ import annotations

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.syntax import get_truth, parse_expression


@pytest.mark.parametrize(
    ("source", "truth"),
    [
        ("True", True),
        ("False", False),
        ("None", False),
        ("name", None),
        ("call()", None),
        ("'a'", True),
        ("''", False),
        ("1", True),
        ("0", False),
        ("1.5", None),
        ("[name]", True),
        ("[]", False),
        ("[*names]", None),
        ("(1,)", True),
        ("()", False),
        ("{1: 2}", True),
        ("{}", False),
        ("{**names}", None),
        ("not 1", False),
        ("not 0", True),
        ("not name", None),
        ("-name", None),
        ("1 and 2", True),
        ("1 and 0", False),
        ("0 and name", False),
        ("name and 0", False),
        ("1 and name", None),
        ("0 or 0", False),
        ("0 or 1", True),
        ("name or 1", True),
        ("1 or name", True),
        ("name or 0", None),
        ("None is None", True),
        ("None is not None", False),
        ("0 is None", False),
        ("0 is not None", True),
        ("name is None", None),
        ("None == None", None),
        ("None is name", None),
        ("None is None is None", None),
        ("isinstance('a', str)", True),
        ("isinstance(f'{name}', str)", True),
        ("isinstance('a', dict)", False),
        ("isinstance({}, dict)", True),
        ("isinstance([], list)", True),
        ("isinstance([], str)", False),
        ("isinstance(b'a', str)", None),
        ("isinstance(name, str)", None),
        ("isinstance('a', name)", None),
        ("isinstance('a', (str, dict))", None),
        ("isinstance('a')", None),
    ],
)
def test_a_condition_on_literals_is_decided(source: str, truth: bool | None) -> None:
    assert get_truth(parse_expression(source)) is truth
