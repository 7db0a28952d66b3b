"""A failing test says which other mock of HTTP took the requests that replies were meant for."""

from __future__ import annotations

import pytest

from llm_mock.plugin.other_mocks import explain_other_mocks, find_other_mocks

CALLS = """
import httpx, pytest, requests

URL = "https://api.openai.com/v1/chat/completions"
QUESTION = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}

def ask(library=httpx):
    try:
        answer = library.post(URL, json=QUESTION).json()
        return answer["choices"][0]["message"]["content"]
    except ValueError:
        return "no JSON"

@pytest.fixture(autouse=True)
def replies(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "of the mock")
"""
NOTE = (
    "{name} intercepts HTTP in this test and takes precedence over llm_mock: a request that {name} "
    "answers or refuses does not reach the configured replies. Remove {name} or the replies from "
    "this test{option}."
)
OPTION = ", or let {name} pass requests on: {option}"
RESPX = 'respx.route(host="api.openai.com").pass_through()'
RESPONSES = 'responses.add_passthru("https://api.openai.com")'
HTTPX = "should_mock of its marker httpx_mock"


def explain(name: str, option: str) -> str:
    """Return the line of a failure about another mock."""
    if option:
        option = OPTION.format(name=name, option=option)
    return NOTE.format(name=name, option=option)


@pytest.mark.parametrize(
    ("module", "plugin", "body", "name", "option"),
    [
        ("respx", "", "with respx.mock: ask()", "respx", RESPX),
        ("respx", "", "with respx.mock(assert_all_mocked=False): assert not ask()", "respx", RESPX),
        ("vcr", "", "with vcr.use_cassette('a.yaml', record_mode='none'): ask()", "VCR", ""),
        ("vcr", "", "with vcr.use_cassette('a.yaml'): ask(requests)", "VCR", ""),
        ("responses", "", "with responses.mock: ask(requests)", "responses", RESPONSES),
        (
            "requests_mock",
            "",
            "with requests_mock.Mocker(): ask(requests)",
            "requests-mock",
            "real_http=True",
        ),
        ("pytest_httpx", "pytest_httpx", "ask()", "pytest-httpx", HTTPX),
    ],
)
def test_an_empty_mock_of_another_library_is_named(
    module: str, plugin: str, body: str, name: str, option: str, pytester: pytest.Pytester
) -> None:
    pytest.importorskip(module)
    fixture = "httpx_mock" if plugin else ""
    pytester.makepyfile(f"{CALLS}\nimport {module}\n\ndef test_it({fixture}):\n    {body}\n")
    options = ["-p", plugin] if plugin else []
    result = pytester.runpytest(*options)
    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(["*- LLM calls -*", explain(name, option).replace("[", "[[]")])


def test_the_error_may_be_handled_and_only_its_own_test_is_told(pytester: pytest.Pytester) -> None:
    pytest.importorskip("respx")
    pytester.makepyfile(
        CALLS
        + """
import respx

@respx.mock
def test_1_handled():
    with pytest.raises(AssertionError):
        ask()
    assert 0

def test_2_without_respx():
    assert 0

@respx.mock
def test_3_passed_on():
    respx.route(host="api.openai.com").pass_through()
    assert ask() == "of the mock"
    assert 0
"""
    )
    result = pytester.runpytest("-p", "no:randomly")
    result.assert_outcomes(failed=3)
    assert result.outlines.count(explain("respx", RESPX)) == 1
    result.stdout.fnmatch_lines(["*test_1_handled*", explain("respx", RESPX), "*test_2_*"])


def test_patches_of_any_object_are_left_as_they_are(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import os
        from unittest import mock

        class Odd:
            def __getattr__(self, name):
                raise RuntimeError(name)

        def test_it(mock_llm_responses):
            mock_llm_responses.set("m", "unused")
            odd = Odd()
            for new in (odd, Odd, len, None, lambda: 1):
                with mock.patch("os.getcwd", new) as replacement:
                    assert replacement is os.getcwd is new
            assert 0, "all are"
        """
    )
    result = pytester.runpytest()
    result.stdout.fnmatch_lines(["*AssertionError: all are"])
    result.stdout.no_fnmatch_line("*intercepts HTTP*")


def test_each_mock_is_explained_once() -> None:
    shown = explain_other_mocks(["vcr", "respx"])
    assert shown == f"{explain('respx', RESPX)}\n{explain('VCR', '')}"
    assert explain_other_mocks([]) == ""
    assert find_other_mocks(None, ["", "os"]) == set()
    assert find_other_mocks(None, ["os", "vcr"]) == {"vcr"}
