"""Source locations in texts."""

from __future__ import annotations

import pytest

from llm_mock.core.source_location import names_location


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("app.py:1", True),
        ("The call (app.py:1), and more", True),
        ("app.py:12", False),
        ("my_app.py:1", False),
        ("tests/app.py:1", False),
        (r"tests\app.py:1", False),
        ("app_py:1", False),
    ],
)
def test_a_location_is_named_only_by_itself(text: str, is_named: bool) -> None:
    assert names_location(text, "app.py:1") is is_named
