"""pydantic-ai's agents, with OpenAI's, Anthropic's, Google's and other providers' models."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("pydantic_ai")

from pydantic import BaseModel
from pydantic_ai import Agent, Embedder, ModelHTTPError, NativeOutput, UnexpectedModelBehavior

from llm_mock import LLMMock, Reply, SchemaViolationWarning, ToolCall

pytestmark = pytest.mark.filterwarnings("default")

MODELS = {
    "openai-chat:gpt-4o": "gpt-4o",
    "openai-responses:gpt-5": "gpt-5",
    "anthropic:claude-opus-4-6": "claude-opus-4-6",
    "google:gemini-2.5-pro": "gemini-2.5-pro",
    "groq:llama-3.3-70b-versatile": "llama-3.3-70b-versatile",
    "mistral:mistral-large-latest": "mistral-large-latest",
    "openrouter:deepseek/deepseek-chat": "deepseek/deepseek-chat",
}

every_model = pytest.mark.parametrize(("name", "model"), MODELS.items(), ids=MODELS)


class Place(BaseModel):
    city: str


class Country(BaseModel):
    name: str


@every_model
def test_a_text_whole_and_streamed(name: str, model: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(model, Reply(chunks=["Hel", "lo!"]))
    agent = Agent(name, instructions="Be brief.")
    assert agent.run_sync("Say hello").output == "Hello!"
    assert list(agent.run_stream_sync("Say hello").stream_text(debounce_by=None))[-1] == "Hello!"
    assert [call["kwargs"]["system"] for call in mock_llm_responses.calls] == ["Be brief."] * 2


@every_model
def test_a_tool_is_run(name: str, model: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.add(model, Reply(tool_calls=[ToolCall("weather", {"city": "Bern"})]))
    mock_llm_responses.add(model, "It is sunny.", turn=2)
    asked = []
    agent = Agent(name)

    @agent.tool_plain
    def weather(city: str) -> str:
        asked.append(city)
        return "sunny"

    assert agent.run_sync("How is it?").output == "It is sunny."
    assert asked == ["Bern"]
    assert mock_llm_responses.calls[1]["kwargs"]["tool_results"] == [
        {"name": "weather", "output": "sunny"}
    ]


@every_model
def test_a_structured_answer(name: str, model: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(model, {"city": "Bern"})
    assert Agent(name, output_type=Place).run_sync("Where?").output == Place(city="Bern")
    assert Agent(name, output_type=[Place, str]).run_sync("Where?").output == Place(city="Bern")


def test_a_class_is_found_in_a_request_that_does_not_name_it(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("claude-opus-5", {"city": "Bern"}, schema=Place)
    agent = Agent("anthropic:claude-opus-5", output_type=Place)
    assert agent.run_sync("Where?").output == Place(city="Bern")
    schema = mock_llm_responses.last_call.schema
    assert schema is not None
    assert "title" not in schema
    mock_llm_responses.assert_called_once_with(schema=Place)


@pytest.mark.parametrize(
    "name", ["anthropic:claude-opus-5", "openai:gpt-5", "google:gemini-2.5-pro"]
)
def test_the_wrapper_of_a_union_is_shown(name: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", {"city": "Bern"})
    agent = Agent(name, output_type=NativeOutput([Place, Country]), retries=0)
    with (
        pytest.warns(SchemaViolationWarning) as warned,
        pytest.raises(UnexpectedModelBehavior),
    ):
        agent.run_sync("Where?")
    assert (
        'Expected: {"result": {"kind": "Place", "data": {"city": string}} or {"kind": "Country", '
        '"data": {"name": string}}}\n'
    ) in str(warned[0].message)


@every_model
def test_an_error_of_the_provider(name: str, model: str, mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.misbehave("context-overflow")
    with pytest.raises(ModelHTTPError) as raised:
        Agent(name).run_sync("Hello")
    assert raised.value.status_code == 400


def test_embeddings_of_openai(mock_llm_calls: LLMMock) -> None:
    found = Embedder("openai:text-embedding-3-small").embed_query_sync("Hello")
    assert len(found.embeddings) == 1


def test_claude_on_vertex_ai(mock_llm_responses: LLMMock) -> None:
    pytest.importorskip("google.auth")
    from anthropic import AsyncAnthropicVertex
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    mock_llm_responses.set("claude-opus-4-6", Reply(chunks=["Hel", "lo!"]))
    client = AsyncAnthropicVertex(region="us-east5", project_id="p")
    provider = AnthropicProvider(anthropic_client=client)
    agent = Agent(AnthropicModel("claude-opus-4-6", provider=provider))
    assert agent.run_sync("Say hello").output == "Hello!"
    assert list(agent.run_stream_sync("Say hello").stream_text(debounce_by=None))[-1] == "Hello!"
    assert mock_llm_responses.last_call["provider"] == "vertex"


MISTAKES = """
import openai
import pytest
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from llm_mock import templates

agent = Agent("openai-chat:gpt-5")

def test_its_own_model(mock_llm_responses):
    mock_llm_responses.set("gpt-5", "Sunny.")
    with agent.override(model=TestModel()):
        assert agent.run_sync("Rome?").output == "Sunny."

def test_its_own_model_without_replies(mock_llm_responses):
    with agent.override(model=TestModel()):
        assert agent.run_sync("Rome?").output == "Sunny."

def test_its_own_model_beside_a_call(mock_llm_responses):
    mock_llm_responses.set("gpt-5", "Sunny.")
    mock_llm_responses.set("gpt-4o", "Sunny.")
    agent.run_sync("Rome?")
    assert agent.run_sync("Rome?", model=TestModel()).output == "Sunny."

def test_no_model(mock_llm_responses):
    mock_llm_responses.set("gpt-5", "Sunny.")
    assert False

def test_the_error_of_the_sdk(mock_llm_responses):
    mock_llm_responses.set_error("gpt-5", templates.rate_limit())
    with pytest.raises(openai.RateLimitError):
        agent.run_sync("Rome?")
"""


def test_a_failure_names_its_own_model_and_its_own_error(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    pytester.makepyfile(test_it=MISTAKES)
    result = pytester.runpytest("--tb=line", "-Wdefault")
    result.assert_outcomes(failed=5)
    shown = result.stdout.str().splitlines()
    source = enumerate(MISTAKES.strip().splitlines(), start=1)
    numbers = [number for number, line in source if "TestModel()" in line]
    # Of the three tests, the second one has no replies.
    assert [line for line in shown if "answers instead" in line] == [
        f"TestModel of pydantic_ai (test_it.py:{number}) answers instead of the provider's model, "
        "so its calls do not reach the mock. Remove it or the replies."
        for number in (numbers[0], numbers[2])
    ]
    [wrapped] = [line for line in shown if line.startswith("The SDK raised")]
    assert wrapped.startswith("The SDK raised openai.RateLimitError for the error of the reply")
    assert "framework raised pydantic_ai." in wrapped


USED_MODELS = """
import pytest
from pydantic_ai import Agent, models
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel

agent = Agent("openai-chat:gpt-5")
tested = Agent("test")

class Client:
    def run(self, prompt, model):
        return prompt

@pytest.fixture(autouse=True)
def replies(mock_llm_responses):
    mock_llm_responses.set("gpt-5", "Sunny.")

@pytest.fixture
def unused():
    return TestModel()  # unused

class TestMethods:
    @pytest.fixture
    def overridden(self):
        with agent.override(
            model=TestModel()  # fixture
        ):
            yield

    def test_fixture(self, overridden):
        assert agent.run_sync("Rome?").output == "Sunny."

def answer(messages, info):
    raise RuntimeError("no answer")

def make_model():
    return FunctionModel(answer)  # helper

def test_helper():
    agent.run_sync("Rome?", model=make_model())

def test_name():
    assert agent.run_sync("Rome?", model="test").output == "Sunny."  # name

def test_agent():
    assert Agent("test").run_sync("Rome?").output == "Sunny."  # agent

def test_global():
    assert tested.run_sync("Rome?").output == "Sunny."

def test_conftest(of_conftest):
    assert agent.run_sync("Rome?").output == "Sunny."

def test_other_calls():
    # No TestModel() is used.
    assert Client().run(prompt="test", model="other") == "TestModel()"

def test_a_used_reply():
    assert agent.run_sync("Rome?").output == "TestModel()"
    agent.run_sync("Rome?", model="test")
"""
OF_CONFTEST = """
import pytest
from pydantic_ai import models
from test_it import agent

@pytest.fixture
def of_conftest():
    with agent.override(model="test"):
        yield
"""


def test_a_failure_names_the_test_model_of_fixtures_and_helpers(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    pytester.makepyfile(test_it=USED_MODELS)
    pytester.makeconftest(OF_CONFTEST)
    result = pytester.runpytest("--tb=line", "-Wdefault", "-p", "no:randomly")
    result.assert_outcomes(failed=8)
    places = {}
    for number, line in enumerate(USED_MODELS.strip().splitlines(), start=1):
        places[line.rpartition("# ")[2]] = f" (test_it.py:{number})"
    answers = " answers instead of the provider's model, "
    shown = [line for line in result.stdout.lines if answers in line]
    assert [line.partition(answers)[0] for line in shown] == [
        f"TestModel of pydantic_ai{places['fixture']}",
        f"FunctionModel of pydantic_ai{places['helper']}",
        f"The model 'test' of pydantic_ai{places['name']}",
        f"The model 'test' of pydantic_ai{places['agent']}",
        "TestModel of pydantic_ai",
        "The model 'test' of pydantic_ai (conftest.py:7)",
    ]


FIXED_MODELS = """
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, models
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel

models.ALLOW_MODEL_REQUESTS = False


class Place(BaseModel):
    city: str


agent = Agent("openai-chat:gpt-5")
finder = Agent("anthropic:claude-opus-4-6", output_type=Place)
counter = Agent("openai-responses:gpt-5", output_type=list[int], tools=[print])
asked = []


@agent.tool_plain
def weather(city: str) -> str:
    asked.append(city)
    return f"{city}: sunny"


def rain(messages, info):
    return ModelResponse(parts=[TextPart("Rain.")])


def ask_first(messages, info):
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart("weather", {"city": "Bern"})])
    return ModelResponse(parts=[TextPart("Snow.")])


def test_text():
    asked.clear()
    with agent.override(model=TestModel(custom_output_text="Sunny.")):
        assert agent.run_sync("How is it?").output == "Sunny."
    assert len(asked) == 1


def test_no_tools():
    asked.clear()
    model = TestModel(custom_output_text="Sunny.", call_tools=[])
    assert agent.run_sync("How is it?", model=model).output == "Sunny."
    assert asked == []


def test_data():
    with finder.override(model=TestModel(custom_output_args={"city": "Rome"})):
        assert finder.run_sync("Where?").output == Place(city="Rome")


def test_list():
    with counter.override(model=TestModel(custom_output_args=[1, 2])):
        assert counter.run_sync("Count.").output == [1, 2]


def test_function():
    with agent.override(model=FunctionModel(rain)):
        assert agent.run_sync("How is it?").output == "Rain."


def test_steps():
    asked.clear()
    with agent.override(model=FunctionModel(ask_first)):
        assert agent.run_sync("How is it?").output == "Snow."
    assert asked == ["Bern"]


def test_stream():
    model = TestModel(custom_output_text="Sunny all day.")
    with agent.override(model=model):
        result = agent.run_stream_sync("How is it?")
        assert list(result.stream_text())[-1] == "Sunny all day."


def test_the_old_model():
    with agent.override(model=TestModel(custom_output_text="Sunny.")):
        assert agent.run_sync("How is it?").response.model_name == "test"
"""
REWRITTEN = (
    "test_text",
    "test_no_tools",
    "test_data",
    "test_list",
    "test_function",
    "test_steps",
    "test_stream",
)


def test_fixed_models_are_rewritten_and_the_new_tests_pass(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("libcst")
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    path = pytester.makepyfile(test_it=FIXED_MODELS)
    command = (sys.executable, "-m", "llm_mock", "migrate", "--write", "test_it.py")
    shown = pytester.run(*command).outlines
    verified = [line for line in shown if " verified: it passes" in line]
    assert [line.split(" verified")[0].split()[-1] for line in verified] == [*REWRITTEN]
    others = [line for line in shown if line not in verified]
    assert "test_the_old_model: the rewritten test fails: AssertionError" in others[0]
    assert others[1].startswith("Rewritten: 7 tests in 1 file, 1 left to you")
    new = path.read_text()
    assert [new.count(name) for name in ("TestModel(", "FunctionModel")] == [1, 0]
    # In a process of its own, because the file forbids requests for all of its process.
    pytester.runpytest_subprocess("-Wdefault").assert_outcomes(passed=8)
