"""Requests that a provider refuses, in a run of pytest: the failure section and the settings."""

from __future__ import annotations

import pytest

APP = """
    import openai

    def ask():
        client = openai.OpenAI(api_key="k")
        try:
            client.chat.completions.create(
                model="gpt-4o",
                messages=[{"role": "user", "content": "Hello"}],
                extra_body={"temprature": 1},
            )
        except openai.BadRequestError:
            return "handled"
        return "answered"
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """Make an application that sends a misspelt parameter."""
    pytester.makepyfile(app=APP)
    return pytester


@pytest.mark.parametrize("strict", ["warn", "error"])
def test_an_application_may_handle_a_refused_request(project: pytest.Pytester, strict: str) -> None:
    project.makeini(f"[pytest]\nllm_mock_strict = {strict}")
    project.makepyfile("import app\ndef test_it():\n    assert app.ask() == 'handled'\n")
    project.runpytest().assert_outcomes(passed=1)


def test_a_failing_test_shows_the_refused_request_and_its_line(project: pytest.Pytester) -> None:
    project.makepyfile("import app\ndef test_it():\n    assert app.ask() == 'answered'\n")
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*- LLM calls -*",
            "api.openai.com refuses this call to the model 'gpt-4o' with status 400: "
            "Unrecognized request argument supplied: temprature",
            "Requested at app.py:6. Rule 'unknown-parameter' refuses a parameter that does not "
            "exist; ini llm_mock_disabled_rules switches it off. Source: "
            "https://github.com/openai/openai-openapi: properties of the request",
            "*gpt-4o  'Hello'*raised*",
        ]
    )


def test_a_failing_test_shows_the_form_of_a_tool_at_the_called_api(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        import openai

        def test_it():
            tool = {"type": "function", "function": {"name": "weather", "parameters": {}}}
            openai.OpenAI(api_key="k").responses.create(
                model="gpt-5", input="Hello", tools=[tool]
            )
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*with status 400: Missing required parameter: 'tools[[]0].name'.",
            "tools[[]0] has the form of Chat Completions. In the Responses API, name, description "
            "and parameters are not inside 'function': {'type': 'function', 'name': 'weather', "
            "'parameters': {…}}.",
            "Requested at test_*.py:5. Rule 'tool-without-name' *",
        ]
    )


def test_a_failing_test_shows_the_timeout_of_the_client(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import openai
        from llm_mock import Reply

        def test_it(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", Reply("Hi", latency=700))
            openai.OpenAI(api_key="k").chat.completions.create(
                model="gpt-4o", messages=[{"role": "user", "content": "Hello"}]
            )
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "  1. gpt-4o  'Hello'  → raised: timed out after 600 s (latency: 700 s)",
            "  2 to 3. the same",
        ]
    )


def test_a_test_that_fails_with_the_error_of_the_sdk_names_the_rule(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        import openai

        def test_it():
            openai.OpenAI(api_key="k").chat.completions.create(
                model="gpt-4o", messages=[{"role": "user", "content": "Hello"}], n=-1
            )
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*with status 400: Invalid 'n': integer below minimum value.*", "*number-out-of-range*"]
    )
    assert "_base_client" not in result.stdout.str()


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ("messages=[]", "Invalid 'messages': empty array.*"),
        ("messages='Hello'", "Invalid type for 'messages': *"),
    ],
)
def test_a_failing_test_shows_a_malformed_request(
    pytester: pytest.Pytester, fields: str, problem: str
) -> None:
    pytester.makepyfile(
        f"""
        import contextlib, openai

        def test_it():
            with contextlib.suppress(openai.BadRequestError):
                openai.OpenAI(api_key="k").chat.completions.create(model="gpt-4o", {fields})
            assert False
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            f"api.openai.com refuses this request with status 400: {problem}",
            "Requested at test_*.py:5.",
        ]
    )


@pytest.mark.parametrize(
    "setting",
    ["llm_mock_disabled_rules = unknown-parameter json-word", "llm_mock_autospec = false"],
)
def test_rules_can_be_switched_off(project: pytest.Pytester, setting: str) -> None:
    project.makeini(f"[pytest]\nllm_mock_strict = warn\n{setting}")
    project.makepyfile("import app\ndef test_it():\n    assert app.ask() == 'answered'\n")
    project.runpytest().assert_outcomes(passed=1)


def test_another_rule_still_holds(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nllm_mock_disabled_rules = json-word")
    project.makepyfile("import app\ndef test_it():\n    assert app.ask() == 'handled'\n")
    project.runpytest().assert_outcomes(passed=1)


def test_a_rule_that_does_not_exist_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_disabled_rules = unknown-parametre")
    pytester.makepyfile("def test_it(): pass")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "*ini llm_mock_disabled_rules: Unknown rule 'unknown-parametre'; did you mean "
            "'unknown-parameter'?"
        ]
    )


def test_a_process_of_a_test_refuses_too(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nllm_mock_disabled_rules = json-word")
    project.makepyfile(
        """
        import subprocess, sys

        def test_it(mock_llm_calls):
            code = "import app; print(app.ask())"
            answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            assert answer.stdout.strip() == "handled", answer
            assert "unknown-parameter" in mock_llm_calls.refusals[0]
            assert mock_llm_calls.last_call["status"] == 400
        """
    )
    project.runpytest().assert_outcomes(passed=1)
