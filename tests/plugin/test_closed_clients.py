"""Failures because google-genai closed a client that nothing refers to."""

from __future__ import annotations

import pytest

GEMINI = """
    from google import genai

    def test_it(mock_llm_responses):
        mock_llm_responses.set("*", "Hello")
        genai.Client(api_key="x").models.generate_content(model="gemini-2.5-flash", contents="Hi")
"""
CLOSED = """
    from google import genai

    def test_it(mock_llm_responses):
        mock_llm_responses.set("*", "Hello")
        with genai.Client(api_key="x") as client:
            pass
        client.models.generate_content(model="gemini-2.5-flash", contents="Hi")
"""
HTTPX = """
    import httpx2

    def test_it():
        client = httpx2.Client()
        client.close()
        client.get("http://127.0.0.1:9")
"""


@pytest.mark.parametrize(("test", "is_explained"), [(GEMINI, True), (CLOSED, True), (HTTPX, False)])
def test_a_closed_client_of_google_genai_is_explained(
    pytester: pytest.Pytester, test: str, is_explained: bool
) -> None:
    pytester.makepyfile(test)
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines("*RuntimeError: *the client has been closed*")
    advice = "The client was closed before this call.*keep the client, client = genai.Client().*"
    if is_explained:
        result.stdout.fnmatch_lines(["*- google-genai -*", advice])
    else:
        result.stdout.no_fnmatch_line("*- google-genai -*")


@pytest.mark.parametrize(
    "error", ["ValueError('the client has been closed')", "RuntimeError('the client is open')"]
)
def test_another_error_of_google_genai_is_not_explained_so(
    pytester: pytest.Pytester, error: str
) -> None:
    pytester.makepyfile(
        f"""
        from google import genai

        def test_it(mock_llm_responses):
            mock_llm_responses.set_error("*", {error})
            client = genai.Client(api_key="x")
            client.models.generate_content(model="gemini-2.5-flash", contents="Hi")
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*- google-genai -*")
