"""A failing test says how a configured endpoint differs from the nearest request."""

from __future__ import annotations

import httpx
import pytest

from llm_mock import LLMMock

TESTS = """
import openai

def call_model():
    client = openai.OpenAI(max_retries=0)
    messages = [{{"role": "user", "content": "Hi"}}]
    client.chat.completions.create(model="gpt-4o", messages=messages)

def moderate():
    openai.OpenAI().moderations.create(input="Hi")

def test_it(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "Hello")
    {statements}
    assert False
"""
COMPLETIONS = (
    "the path is /v1/chat/completions, not {}: write on('POST', '/v1/chat/completions', …)"
)
LATE = "it was made before the reply was configured: configure the reply before the call"


def assert_nearest_call(pytester: pytest.Pytester, statements: str, message: str) -> None:
    """Assert the only difference that a failing test with some statements names."""
    pytester.makepyfile(test_it=TESTS.format(statements=statements))
    result = pytester.runpytest("--tb=short")
    result.assert_outcomes(failed=1)
    assert f"    nearest call: 1, but {message}" in result.outlines


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("POST", "/chat/completions", COMPLETIONS.format("/chat/completions")),
        ("POST", "/V1/Chat/Completions/", COMPLETIONS.format("/V1/Chat/Completions/")),
        ("POST", "/v1/chat", COMPLETIONS.format("/v1/chat")),
        ("*", "/chat/completions", COMPLETIONS.format("/chat/completions")),
        ("GET", "/v1/chat/completions", "the method is POST, not GET"),
        ("POST", "https://x.org/v1/chat/completions", "the host is api.openai.com, not x.org"),
        (
            "POST",
            "/chat/{name}",
            "the path is /v1/chat/completions, not /chat/{name}: write "
            "on('POST', '/v1/chat/{name}', …)",
        ),
        (
            "POST",
            "/v1/embeddings",
            "the request is a call to gpt-4o, not POST /v1/embeddings",
        ),
        (
            "POST",
            "/v1/chat/completionsX",
            "the request is a call to gpt-4o, not POST /v1/chat/completionsX",
        ),
    ],
)
def test_an_endpoint_is_compared_with_the_call_of_a_model(
    method: str, path: str, message: str, pytester: pytest.Pytester
) -> None:
    statements = f"mock_llm_responses.on({method!r}, {path!r}, {{}}); call_model()"
    assert_nearest_call(pytester, statements, message)


def test_an_endpoint_after_the_call_of_a_model_is_late(pytester: pytest.Pytester) -> None:
    statements = "call_model(); mock_llm_responses.on('POST', '/v1/chat/completions', {})"
    assert_nearest_call(pytester, statements, LATE)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "/moderations",
            "the path is /v1/moderations, not /moderations: write on('POST', '/v1/moderations', …)",
        ),
        ("/v1", "the request is POST /v1/moderations, not POST /v1"),
        (
            "/v1/moderations/{id}",
            "the request is POST /v1/moderations, not POST /v1/moderations/{id}",
        ),
    ],
)
def test_an_endpoint_is_compared_with_another_request(
    path: str, message: str, pytester: pytest.Pytester
) -> None:
    statements = f"mock_llm_responses.on('POST', {path!r}, {{}}); moderate()"
    assert_nearest_call(pytester, statements, message)


def test_a_function_that_returns_a_function_has_not_answered(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.on("POST", "/v1/moderations", lambda request: lambda other: {})
    response = httpx.post("https://api.openai.com/v1/moderations", json={"input": "Hi"})
    problem = (
        "A function of an endpoint returned another function. Return a dict, a list, a str, bytes, "
        "or an error such as templates.rate_limit()."
    )
    assert response.status_code == 400
    assert mock_llm_responses.problems == [problem]
    mock_llm_responses.problems.clear()
