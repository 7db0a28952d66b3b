"""An assertion that a test names without calling it fails the test."""

from __future__ import annotations

import inspect

import pytest

from llm_mock import LLMMock

APPLICATION = """
import llm

def ask():
    return llm.get_model("gpt-4o").prompt("Hi").text()
"""
NAMED = {
    "assert_called_once": "mock_llm_calls.assert_called_once",
    "assert_called_with": "assert mock_llm_calls.assert_called_with",
    "assert_not_called": "mock_llm_calls.get_model('gpt-4o').assert_not_called",
}


@pytest.fixture(autouse=True)
def application(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(app=APPLICATION)


@pytest.mark.parametrize(("name", "line"), NAMED.items())
def test_a_named_assertion_fails_the_test(name: str, line: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(f"import app\n\ndef test_it(mock_llm_calls):\n    app.ask()\n    {line}\n")
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            f"test_a_named_assertion_fails_the_test.py:5 names {name} without calling it, so "
            f"nothing was asserted. Add parentheses: {name}(…)."
        ]
    )


CALLED = {
    "under another name": "check = mock_llm_calls.assert_called_once\n    check()\n    check()",
    "from another file": "import inspector\n    inspector.look_at(mock_llm_calls)",
    "in a list": "[check() for check in [mock_llm_calls.assert_called_once]]",
    "in a table": "{0: mock_llm_calls.assert_not_called, 1: mock_llm_calls.calls_of}[1]('a')",
    "if there is one": "assert hasattr(mock_llm_calls, 'assert_called_once')",
    "copied": "import copy\n    copy.copy(mock_llm_calls.assert_called_once)()",
}


@pytest.mark.parametrize("lines", CALLED.values(), ids=CALLED)
def test_an_assertion_that_is_called_later_or_read_elsewhere_is_none(
    lines: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        inspector="def look_at(mock):\n    return [getattr(mock, name) for name in dir(mock)]",
        test_it=f"import app\n\ndef test_it(mock_llm_calls):\n    app.ask()\n    {lines}\n",
    )
    pytester.runpytest().assert_outcomes(passed=1)


def test_what_a_fixture_named_after_a_test_fails_no_other_one(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import app
        import pytest

        @pytest.fixture
        def after(mock_llm_calls):
            yield
            mock_llm_calls.assert_called_once

        def test_first(after):
            app.ask()

        def test_second(mock_llm_calls):
            app.ask()
        """
    )
    pytester.runpytest("-p", "no:randomly").assert_outcomes(passed=2)


def test_what_a_failed_test_named_fails_no_other_one(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import app

        def test_first(mock_llm_calls):
            mock_llm_calls.assert_called_once
            raise ValueError("of the test")

        def test_second(mock_llm_calls):
            app.ask()
            mock_llm_calls.assert_called_once()
        """
    )
    result = pytester.runpytest("-p", "no:randomly")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*ValueError: of the test*"])
    result.stdout.no_fnmatch_line("*without calling it*")


def test_an_assertion_shows_its_docstring_and_signature() -> None:
    method = LLMMock().assert_called_once_with
    assert (method.__doc__ or "").startswith("Assert that there was exactly one call")
    assert "schema" in inspect.signature(LLMMock.assert_called_once_with).parameters
