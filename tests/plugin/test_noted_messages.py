"""A failure shows each message of the mock once, whatever its words and whoever raises it."""

from __future__ import annotations

import pytest

CALLS = {
    "openai": "openai.OpenAI(api_key='any').files.retrieve('f')",
    "anthropic": "anthropic.Anthropic(api_key='any').beta.files.list()",
    "raise_for_status": (
        "httpx.post('https://api.openai.com/v1/batches', json={}).raise_for_status()"
    ),
}
REFUSING = """
    import anthropic, httpx, openai

    def ask():
        {call}

    def test_raised():
        ask()

    def test_raised_again():
        try:
            ask()
        except Exception as error:
            raise RuntimeError("the application's own error") from error

    def test_handled():
        try:
            ask()
        except Exception:
            assert not "handled"
"""


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_refusal_that_a_library_raises_replaces_its_exception(
    call: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(test_it=REFUSING.replace("{call}", call))
    result = pytester.runpytest("-p", "no:randomly", "-k", "test_raised and not again")
    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.fnmatch_lines(["* is not supported by llm_mock; nothing was sent.*"])
    failure = result.stdout.str().partition("short test summary")[0]
    assert failure.count("is not supported by llm_mock") == 1
    assert "site-packages/httpx" not in failure


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_error_of_the_project_stays_beside_a_refusal(
    call: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(test_it=REFUSING.replace("{call}", call))
    result = pytester.runpytest("-p", "no:randomly", "-k", "again or handled")
    result.assert_outcomes(failed=2, deselected=1)
    result.stdout.fnmatch_lines(
        [
            "E *RuntimeError: the application's own error",
            "*- LLM calls -*",
            "* is not supported by llm_mock; nothing was sent.*",
            "E *assert not 'handled'",
            "*- LLM calls -*",
            "* is not supported by llm_mock; nothing was sent.*",
        ]
    )


def test_errors_that_are_each_others_cause_are_looked_at_once(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        import llm

        LIBRARY = "def catch(error):\\n try: raise error\\n except ValueError: pass"

        def test_it():
            llm.get_model("gpt-4o").prompt("Hi").text()
            library = {}
            exec(compile(LIBRARY, "/library.py", "exec"), library)
            first, second = ValueError("first"), ValueError("second")
            library["catch"](second)
            first.__cause__, second.__cause__ = second, first
            raise first
        """
    )
    result = pytester.runpytest("-p", "no:randomly")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*- LLM calls -*", "  1. gpt-4o  'Hi'*"])


REWORDED = """
    import functools, llm, openai, pytest
    from llm_mock.core import mock as core

    def reworded(function):
        @functools.wraps(function)
        def call(*args):
            return function(*args) and TEXT
        return call

    @pytest.fixture(autouse=True)
    def wording(monkeypatch):
        monkeypatch.setattr(core, "explain_unexpected_call", reworded(core.explain_unexpected_call))
        monkeypatch.setattr(core, "explain_unused", reworded(core.explain_unused))

    @pytest.mark.llm_mock_strict
    @pytest.mark.parametrize("raising", [True, False])
    def test_unexpected(mock_llm_responses, raising):
        mock_llm_responses.set("other", "x")
        client = openai.OpenAI(api_key="any", max_retries=0)
        messages = [{"role": "user", "content": "Hi"}]
        try:
            client.chat.completions.create(model="gpt-4o", messages=messages)
        except Exception:
            if raising:
                raise

    def test_unused(mock_llm_responses):
        mock_llm_responses.add("gpt-4o", "x")

    def test_asserted(mock_llm_responses):
        mock_llm_responses.add("gpt-4o", "x")
        llm.get_model("o1").prompt("Hi").text()
        mock_llm_responses.assert_all_replies_used()
"""
WORDINGS = {
    "one_line": "It went wrong.",
    "lines": "It went wrong.\nSecond line",
    "letter": "e",
    "empty_line": "\nIt went wrong",
}


@pytest.mark.parametrize("text", WORDINGS.values(), ids=WORDINGS)
def test_the_wording_of_a_message_does_not_change_what_a_failure_shows(
    text: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(test_it=REWORDED.replace("TEXT", repr(text)))
    result = pytester.runpytest("-p", "no:randomly", "-rN")
    result.assert_outcomes(failed=4)
    shown = result.stdout.str()
    # Each failure has the message, so no section repeats it, and the calls are listed once.
    assert "Configured replies:" not in shown
    assert shown.count("  1. gpt-4o  'Hi'") == 2
    assert shown.count("  1. o1  'Hi'") == 1
    assert "openai/_base_client.py" not in shown


def test_the_section_shortens_an_unanswered_call_to_its_number_and_fix(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        app="""
        import openai

        def ask():
            client = openai.OpenAI(max_retries=0)
            try:
                client.responses.create(model="gpt-5", input="Hi")
            except openai.APIError as first:
                try:
                    client.responses.create(model="gpt-5-mini", input="Hi")
                except openai.APIError:
                    raise first
        """,
        test_it="""
        import app
        from llm_mock import templates

        def test_it(mock_llm_responses):
            mock_llm_responses.script("gpt-5", templates.overloaded(), "not used")
            app.ask()
        """,
    )
    result = pytester.runpytest("--tb=short")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            'Call 2 has no reply. Configure one: set("gpt-5-mini", …).',
            "The call: app.py:9, from test_it.py:6",
            "  2. gpt-5-mini  'Hi'  → raised: No reply was configured for this call",
        ]
    )
