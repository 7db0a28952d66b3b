"""A failing test says which other mock of HTTP took the requests that replies were meant for."""

from __future__ import annotations

import re

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


PACKAGE = """
class TestModel:
    __test__ = False

class FunctionModel:
    def __init__(self, function): ...

class Agent:
    def __init__(self, model=None, **options):
        self.model = TestModel() if model == "test" else model

    def override(self, **options): ...
    def run_sync(self, prompt, **options): ...
    def describe(self, **options): ...
"""
USES = """
import os
import types
import pydantic_ai
import pytest
from pydantic_ai import Agent, FunctionModel, TestModel
from other import FunctionModel as Foreign, GenericFakeChatModel

agent = Agent("openai:gpt-5")
tested = Agent(model="test")
model = TestModel()
options = {"history": "test"}

def make():
    return FunctionModel(print)

@pytest.fixture
def overridden():
    agent.override(
        model=TestModel()  # test_fixture
    )

@pytest.fixture
def unused():
    TestModel()

folder = pytest.fixture(autouse=True)(os.getcwd)

@pytest.fixture(autouse=True)
def reply(mock_llm_responses):
    mock_llm_responses.set("gpt-5", "Hi")

def test_created():
    TestModel()  # test_created
    assert False

def test_of_module():
    pydantic_ai.FunctionModel(print)  # test_of_module
    assert False

def test_imported_in_it():
    from pydantic_ai import TestModel as Local, TestModel
    TestModel()  # test_imported_in_it
    assert False

def test_fixture(overridden):
    assert False

def test_helper():
    make()
    assert False

def test_name():
    agent.run_sync("Hi", model="test")  # test_name
    assert False

def test_name_of_an_agent():
    Agent("test")  # test_name_of_an_agent
    assert False

def test_keyword_of_an_agent():
    Agent(model="test")  # test_keyword_of_an_agent
    assert False

def test_global():
    assert not model

def test_agent_of_the_module():
    assert not tested

class TestClass:
    @pytest.fixture
    def of_class(self):
        TestModel()  # test_method

    def test_method(self, of_class):
        assert False

# No test model answers below.

def test_plain_agent():
    agent.run_sync("test", model="openai:gpt-5", **options)
    assert False

def test_method_without_a_model():
    agent.describe(model="test")
    assert False

def test_class_of_another_package():
    GenericFakeChatModel()
    Foreign(print)
    assert False

def test_text():
    assert not "TestModel() and Agent('test')"

def test_other_name():
    types.SimpleNamespace(model="test")
    assert False
"""
ANSWERS = (
    "{} answers instead of the provider's model, so its calls do not reach the mock. Remove it or "
    "the replies."
)
FUNCTION_MODEL = "FunctionModel of pydantic_ai"
TEST_MODEL = "TestModel of pydantic_ai"
TEST_NAME = "The model 'test' of pydantic_ai"
FOUND = {
    "test_created": TEST_MODEL,
    "test_of_module": FUNCTION_MODEL,
    "test_imported_in_it": TEST_MODEL,
    "test_fixture": TEST_MODEL,
    "test_helper": FUNCTION_MODEL,
    "test_name": TEST_NAME,
    "test_name_of_an_agent": TEST_NAME,
    "test_keyword_of_an_agent": TEST_NAME,
    "test_global": TEST_MODEL,
    "test_agent_of_the_module": TEST_MODEL,
    "test_method": TEST_MODEL,
}
"""The model that is named in each test; in the others none is."""
LINES = {"test_helper": "    return FunctionModel(print)"}
"""The lines of the models, where no comment has the name of the test."""


def test_the_source_of_a_test_names_the_model_that_calls_no_provider(
    pytester: pytest.Pytester,
) -> None:
    # By its name the package is that of the framework, which need not be installed.
    other = "class FunctionModel:\n    def __init__(self, function): ...\n"
    pytester.makepyfile(
        pydantic_ai=PACKAGE,
        langchain_core="",
        other=f"{other}\nclass GenericFakeChatModel: ...\n",
        test_it=USES,
    )
    result = pytester.runpytest_subprocess("-p", "no:randomly", "--tb=short", "-pno:langsmith")
    _, *failures = re.split(r"^_+ (?:\w+\.)?(test_\w+) _+$", result.stdout.str(), flags=re.M)
    source = USES.strip("\n").splitlines()
    found = {}
    for name, text in zip(failures[::2], failures[1::2], strict=True):
        answers = [line for line in text.splitlines() if "answers instead of" in line]
        expected = []
        if name in FOUND:
            marked = [line for line in source if line.endswith(f"  # {name}")]
            marked += [line for line in source if line == LINES.get(name)]
            place = f" (test_it.py:{source.index(marked[0]) + 1})" if marked else ""
            expected = [ANSWERS.format(FOUND[name] + place)]
        found[name] = answers
        assert answers == expected, name
    assert len(found) == 16
