"""The failure of a test with a typo names the nearest right spelling."""

from __future__ import annotations

import pytest

from llm_mock.support.schemas import find_violations

CODE = """
import llm
import pytest
import llm_mock.checks
from llm_mock import Latency, Reply, ToolCall, call, create_mock_get_model, templates
from llm_mock import LLMMock

def weather(city: str) -> str:
    return city

def ask(*tools, **options):
    return llm.get_model("gpt-4o").chain("Hello", tools=tools, **options).text()

class Own:
    def set_quota(self):
        pass

def test_it(mock_llm_responses):
    mock = mock_llm_responses
    {statement}
"""
TYPOS = {
    "Reply(txt='x')": "*Reply() has no argument 'txt'; did you mean 'text'? Its arguments: text, *",
    "llm_mock.Reply(tool_call=[])": "*Reply() has no argument 'tool_call'; did you mean 'tool_*",
    "Latency(first_chunks=1)": "*Latency() has no argument *; did you mean 'first_chunk'? *",
    "ToolCall('a', argumets={})": "*ToolCall() has no argument *; did you mean 'arguments'? *",
    "create_mock_get_model(reponses={})": "*create_mock_get_model() *; did you mean 'responses'? *",
    "mock.set_quota('m', rmp=1)": "*set_quota() has no argument 'rmp'; did you mean 'rpm'? *",
    "templates.rate_limit(header={})": "*Reply() has no argument *; did you mean 'headers'?*",
    "llm_mock.Rply": "*module 'llm_mock' has no attribute 'Rply'; did you mean 'Reply'?",
    "llm_mock.checks.contians": (
        "*module 'llm_mock.checks' has no attribute 'contians'; did you mean 'contains'?"
    ),
    "templates.rate_limt": "*has no attribute 'rate_limt'; did you mean 'rate_limit'?",
    "llm_mock.sdlkfj": "*module 'llm_mock' has no attribute 'sdlkfj'",
    "mock.misbehave('rate-limit').cals": (
        "*'Misbehaviour' object has no attribute 'cals'; did you mean 'calls'?"
    ),
    "Own().set_qota": "*AttributeError: 'Own' object has no attribute 'set_qota'*",
    "Own().set_quota(rmp=1)": "*Own.set_quota() got an unexpected keyword argument 'rmp'*",
    "mock.set('*', call('wether')); ask(weather)": (
        "*calls the tool 'wether', which the call does not offer; did you mean 'weather'? Offered "
        "were: weather. *"
    ),
    "mock.set('*', call('lamp')); ask(weather)": (
        "*calls the tool 'lamp', which the call does not offer. Offered were: weather. *"
    ),
    "mock.set('*', call('weather', cty='x')); ask(weather)": (
        "*the arguments: 'city' is a required property, but 'cty' was given; did you mean 'city'?"
    ),
    "mock.call_every_tool('*', skip=['wether']); ask(weather)": (
        "*wether was not offered; did you mean 'weather'? Offered were: weather."
    ),
    "mock.call_every_tool('*', skip=['lamp']); ask(weather)": (
        "*lamp was not offered. Offered were: weather."
    ),
    "ask(); llm_mock.assert_llm_called_times(mock, 'gpt-4p', 1)": (
        "*Model 'gpt-4p' was never called; did you mean 'gpt-4o'? Models that were called: gpt-4o."
    ),
    "ask(); llm_mock.assert_llm_called_times(mock, 'sonnet', 1)": (
        "*Model 'sonnet' was never called. Models that were called: gpt-4o."
    ),
}


@pytest.mark.parametrize("statement", TYPOS)
def test_a_typo_in_a_test_is_answered_with_the_nearest_name(
    statement: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(CODE.replace("{statement}", statement))
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E  *{TYPOS[statement].removeprefix('*')}"])


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("strict('eror')", "*Unknown level 'eror'; did you mean 'error'? It must be off, warn or*"),
        ("strict('x')", "*Unknown level 'x'. It must be off, warn or error. *"),
        (
            "cassette('a', record='onec')",
            "*Unknown record mode 'onec'; did you mean 'once'? It must be one of none, once, *",
        ),
        ("cassette('a', record='x')", "*Unknown record mode 'x'. It must be one of none, *"),
    ],
)
def test_a_typo_in_a_marker_is(marker: str, message: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.llm_mock_{marker}\ndef test_it(): pass")
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("strict=eror", "'eror' is not supported; did you mean 'error'? Write off, warn or error."),
        ("http=x", "'x' is not supported. Write answer, error or off."),
    ],
)
def test_a_typo_in_a_setting_is(setting: str, message: str, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("-o", f"llm_mock_{setting}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: ini llm_mock_{setting.partition('=')[0]} = {message}"])


def test_a_typo_in_the_driver_of_plain_language_tests_is(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--llm", "-o", "llm_mock_spec_driver=claude-cod")
    assert "must be one of llm, claude-code; did you mean 'claude-code'?" in result.stderr.str()


def test_each_missing_key_has_the_key_that_is_near_it() -> None:
    schema = {
        "properties": {"name": {}, "city": {}, "country": {}},
        "required": ["name", "city", "country"],
    }
    assert list(find_violations(schema, {"nam": 1, "xyz": 2, "country": 3})) == [
        "the answer: 'name' is a required property, but 'nam' was given; did you mean 'name'?",
        "the answer: 'city' is a required property",
    ]
    # A key that the schema knows is not misspelt.
    assert list(find_violations({**schema, "required": ["nam"]}, {"name": 1})) == [
        "the answer: 'nam' is a required property"
    ]
    assert list(find_violations({"type": "string"}, {"a": 1})) == [
        "the answer: {'a': 1} is not of type 'string'"
    ]
