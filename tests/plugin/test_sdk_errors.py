"""A failing test says which exception an SDK made of a configured one."""

from __future__ import annotations

import pytest

APP = """
import anthropic
import openai

MESSAGES = [{"role": "user", "content": "Hi"}]

class AppError(Exception): ...

def ask(**options):
    client = openai.OpenAI(**options)
    return client.chat.completions.create(model="gpt-4o", messages=MESSAGES)

def ask_claude():
    client = anthropic.Anthropic(max_retries=0)
    return client.messages.create(model="claude-opus-5", max_tokens=9, messages=MESSAGES)

def ask_framework(error_class):
    try:
        ask()
    except openai.APIStatusError as error:
        raise error_class("busy", response=error.response, body=None) from error

def ask_wrapped():
    try:
        ask()
    except openai.APIError:
        raise AppError("no answer") from None
"""
FRAMEWORK = """
import openai

class ModelError(Exception):
    def __init__(self, message, **details):
        super().__init__(message)

class LimitError(openai.RateLimitError): ...
"""
TESTS = """
import anthropic
import llm
import openai
import pytest
import framework
from app import MESSAGES, ask, ask_claude, ask_framework, ask_wrapped
from llm_mock import Reply, templates

def test_class(mock_llm_responses):
    mock_llm_responses.set_error("gpt-4o", ConnectionError)
    with pytest.raises(ConnectionError):
        ask()

def test_second_call(mock_llm_responses):
    mock_llm_responses.script("gpt-4o", "Hello", ValueError("no"))
    ask()
    ask(max_retries=0)

def test_claude(mock_llm_responses):
    mock_llm_responses.set("*", TimeoutError("late"))
    ask_claude()

def test_template(mock_llm_responses):
    mock_llm_responses.set_error("gpt-4o", templates.authentication())
    ask()

def test_refused(mock_llm_responses):
    ask()

def test_template_of_a_framework(mock_llm_responses):
    mock_llm_responses.set_error("gpt-4o", templates.rate_limit())
    ask_framework(framework.ModelError)

def test_template_of_a_framework_with_a_subclass(mock_llm_responses):
    mock_llm_responses.set_error("gpt-4o", templates.rate_limit())
    ask_framework(framework.LimitError)

def test_project(mock_llm_responses):
    mock_llm_responses.set_error("gpt-4o", ConnectionError)
    ask_wrapped()

def test_assertion(mock_llm_responses):
    mock_llm_responses.set_error("gpt-4o", ConnectionError)
    with pytest.raises(openai.APIConnectionError):
        ask()
    assert False

def test_answered(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "Hello")
    ask()
    openai.OpenAI(api_key="x", max_retries=0).chat.completions.create(
        model="gpt-4o", messages=[], temperature=9
    )

def test_other_error(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "Hello")
    ask()
    raise openai.OpenAIError("other")

def test_llm(mock_llm_responses):
    mock_llm_responses.set_error("gpt-4o", openai.OpenAIError("other"))
    llm.get_model("gpt-4o").prompt("Hi").text()

def test_no_call(mock_llm_responses):
    raise openai.OpenAIError("other")

def test_retried(mock_llm_responses):
    mock_llm_responses.script("*", "Hello", templates.rate_limit(), "Hello")
    ask()
    with pytest.raises(openai.RateLimitError):
        ask()

def test_claude_retried(mock_llm_responses):
    mock_llm_responses.script("*", templates.overloaded(), "Hello")
    client = anthropic.Anthropic()
    client.messages.create(model="claude-opus-5", max_tokens=9, messages=MESSAGES)
    assert False

def test_retried_without_an_answer(mock_llm_responses):
    mock_llm_responses.set_error("*", templates.rate_limit())
    ask()

def test_each_attempt_is_a_call(mock_llm_responses):
    mock_llm_responses.set_error("*", templates.rate_limit())
    with pytest.raises(openai.RateLimitError):
        ask()
    mock_llm_responses.assert_called_once()

def test_asked_again_by_the_application(mock_llm_responses):
    mock_llm_responses.script("*", templates.rate_limit(), "Hello")
    with pytest.raises(openai.RateLimitError):
        ask(max_retries=0)
    ask(max_retries=0)
    assert False

def test_asked_after_a_retry_that_passed(mock_llm_responses):
    mock_llm_responses.script("*", templates.rate_limit(), "Hello")
    ask()

def test_answered_with_a_text_about_an_error(mock_llm_responses):
    mock_llm_responses.set("*", "Rate limit exceeded")
    with pytest.raises(openai.RateLimitError):
        ask()

def test_no_call_for_an_error(mock_llm_responses):
    with pytest.raises(openai.RateLimitError):
        pass

def test_answered_where_something_else_is_wrong(mock_llm_responses):
    mock_llm_responses.set("*", "Hello")
    ask()
    pytest.fail("wrong")

def test_template_through_llm(mock_llm_responses):
    mock_llm_responses.set_error("gpt-4o", templates.rate_limit())
    llm.get_model("gpt-4o").prompt("Hi").text()

def test_slow(mock_llm_responses):
    mock_llm_responses.set("*", Reply("Hello", latency=700))
    ask(max_retries=1)

def test_slow_for_a_client_that_waits(mock_llm_responses):
    mock_llm_responses.set("*", Reply("Hello", latency=700))
    ask(timeout=701)

def test_retried_by_llm(mock_llm_responses):
    mock_llm_responses.script("*", ValueError("no"), "Hello")
    with pytest.raises(ValueError):
        llm.get_model("gpt-4o").prompt("Hi").text()
    llm.get_model("gpt-4o").prompt("Hi").text()
    assert False

def test_expected_of_a_framework(mock_llm_responses):
    mock_llm_responses.set_error("gpt-4o", templates.rate_limit())
    with pytest.raises(openai.RateLimitError):
        ask_framework(framework.ModelError)

def test_code_without_a_file(mock_llm_responses):
    mock_llm_responses.set_error("gpt-4o", templates.rate_limit())
    exec("ask_framework(framework.ModelError)")
"""
RETRY = (
    "Call {1} failed, and the SDK's retry, call {0}, got an answer. To fail every attempt, use "
    "set_error(). To disable retries, create the client with max_retries=0."
)
EXPECTED_ERROR = (
    "The error of the reply (test_it.py:{1}) is raised as {0}, as in production. If the test "
    "expects an error, expect {0}."
)
OF_FRAMEWORK = (
    "The SDK raised openai.RateLimitError for the error of the reply (test_it.py:{}). The "
    "application's framework raised framework.{} instead. {}"
)
UNEXPECTED = (
    "Catch {0} in the application, or, if the test expects the error, write pytest.raises({0})."
)
NOTE = (
    "The {kind} of a reply (test_it.py:{line}) reaches an SDK as a failed request. The SDK raised "
    "{raised} after {attempts}, as in production: expect {raised} instead of {kind}."
)


def test_the_error_of_the_sdk_is_named_with_the_attempts(pytester: pytest.Pytester) -> None:
    # By its folder the framework is a library.
    library = pytester.mkdir("site-packages")
    (library / "framework.py").write_text(FRAMEWORK)
    pytester.syspathinsert(library)
    pytester.makepyfile(app=APP, test_it=TESTS)
    result = pytester.runpytest("--tb=line")
    result.assert_outcomes(failed=26, passed=2)
    notes = [
        NOTE.format(
            kind="ConnectionError",
            line=10,
            raised="openai.APIConnectionError",
            attempts="3 attempts",
        ),
        NOTE.format(
            kind="ValueError",
            line=15,
            raised="openai.InternalServerError",
            attempts="1 attempt",
        ),
        NOTE.format(
            kind="TimeoutError",
            line=20,
            raised="anthropic.APITimeoutError",
            attempts="1 attempt",
        ),
    ]
    shown = result.stdout.str().splitlines()
    assert [line for line in shown if "reaches an SDK" in line] == notes
    assert [line for line in shown if line.startswith("The latency of")] == [
        "The latency of the reply (test_it.py:119) is longer than the client's timeout. The SDK "
        "raised openai.APITimeoutError after 2 attempts, as in production: expect "
        "openai.APITimeoutError, or shorten the latency."
    ]
    templates = [line for line in shown if "the error of the reply" in line.lower()]
    assert templates == [
        EXPECTED_ERROR.format("openai.AuthenticationError", 24),
        OF_FRAMEWORK.format(31, "ModelError", UNEXPECTED.format("ModelError")),
        # An error of the SDK's own class is caught as that.
        OF_FRAMEWORK.format(35, "LimitError", UNEXPECTED.format("openai.RateLimitError")),
        EXPECTED_ERROR.format("openai.RateLimitError", 80),
        EXPECTED_ERROR.format("openai.RateLimitError", 115),
        OF_FRAMEWORK.format(134, "ModelError", "Expect it with pytest.raises(ModelError)."),
        OF_FRAMEWORK.format(139, "ModelError", UNEXPECTED.format("ModelError")),
    ]
    answered = [line for line in shown if line.startswith("No call failed.")]
    assert answered == [
        "No call failed. To make a call fail, use set_error(model, error) with an error such as "
        "templates.rate_limit() of llm_mock. A reply that describes an error does not fail a call."
    ]
    retries = [line for line in shown if "the SDK's retry" in line]
    assert retries == [RETRY.format(3, 2), RETRY.format(2, 1)]
    # In test_assertion and test_each_attempt_is_a_call.
    attempts = [line for line in shown if line.startswith("The SDK retried")]
    assert attempts == 2 * [
        "The SDK retried failed calls, and each attempt counts as a call. Retries: 2, 3. "
        "To disable retries, create the client with max_retries=0."
    ]
