"""Fixed models of pydantic-ai's agents become replies; others stay, with the reason."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import FileResult, rewrite_file

START = """
import json

import pytest
import pydantic_ai
from app import agent, finder
from pydantic_ai import Agent, capture_run_messages, models
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import test
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel
from elsewhere import imported

TEXT = "Sunny."
DATA = {"city": "Rome"}
plain = Agent("openai:gpt-5", instructions="Be brief.")
tooled = Agent("openai:gpt-5")
given = Agent("openai:gpt-5")
listed = Agent("openai:gpt-5", tools=[print])
unknown = Agent(**DATA)
tested = Agent("test")
faked = Agent(model=TestModel())
nameless = Agent(instructions="Be brief.")
prepare(given)

@tooled.tool_plain
def weather(city: str) -> str:
    return f"{city}: sunny"

def answer(messages, info):
    \"\"\"Answer always the same.\"\"\"
    return ModelResponse(parts=[TextPart("Rain.")])

def answer_constant(messages, info):
    return ModelResponse([TextPart(content=TEXT)])

def call_first(messages, info):
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart("weather", {"city": "Rome"})])
    return ModelResponse(parts=[TextPart("Sunny.")])

async def call_first_else(messages, info):
    if len(messages) == 1:
        return ModelResponse(parts=[TextPart("Wait."), ToolCallPart("weather")])
    else:
        return ModelResponse(parts=[TextPart("Sunny.")])

def echo(messages, info):
    return ModelResponse(parts=[TextPart(messages[-1].parts[0].content)])

def store(messages, info):
    seen.append(messages)
    return ModelResponse(parts=[TextPart("Rain.")])

def branch(messages, info):
    if info.function_tools:
        return ModelResponse(parts=[TextPart("Tools.")])
    return ModelResponse(parts=[TextPart("Rain.")])

def branch_again(messages, info):
    if len(messages) == 1:
        return ModelResponse(parts=[TextPart("Wait.")])
    elif info.function_tools:
        return ModelResponse(parts=[TextPart("Tools.")])
    return ModelResponse(parts=[TextPart("Rain.")])

def answer_first_only(messages, info):
    if len(messages) == 1:
        return ModelResponse(parts=[TextPart("Rain.")])

def compute(messages, info):
    return ModelResponse(parts=[TextPart(imported())])

def think(messages, info):
    return ModelResponse(parts=[ThinkingPart("Hm."), TextPart("Rain.")])

def count_tokens(messages, info):
    return ModelResponse(parts=[TextPart("Rain.")], usage=imported)

def name_part(messages, info):
    return ModelResponse(parts=[TextPart("Rain.", "part-1")])

def spread(messages, info):
    return ModelResponse(**imported)

def make_parts(messages, info):
    return ModelResponse(parts=imported)

def return_nothing(messages, info):
    pass

@imported
def decorated(messages, info):
    return ModelResponse(parts=[TextPart("Rain.")])

def answer_local(messages, info):
    return ModelResponse(parts=[TextPart(local)])
"""


def rewrite(source: str) -> FileResult:
    path = Path("test_app.py")
    return rewrite_file(path, source.encode(), lambda name, target: (), lambda name: name)


def new_test(body: str, parameters: str = "", start: str = "def") -> str:
    return f"{start} test_it({parameters}):\n{indent(dedent(body).strip(), '    ')}\n"


def rewrite_body(body: str, start: str = "def") -> str:
    """Return the new body of a test."""
    result = rewrite(f"{START}\n\n{new_test(body, start=start)}")
    assert [str(change) for change in result.manual_changes] == []
    assert result.changed == ("test_it",)
    _, _, new = result.after.rpartition(f"\n{start} test_it(mock_llm_responses):\n")
    assert new, result.after
    return dedent(new).strip()


def find_reason(body: str) -> str:
    """Return the only reason, with its advice, why a test stays."""
    source = f"{START}\n\n{new_test(body)}"
    result = rewrite(source)
    assert (result.after, result.changed) == (source, ())
    [change] = result.manual_changes
    assert change.name == "test_it"
    return f"{change.reason}. {change.advice}"


RUN = 'assert agent.run_sync("How is Rome?").output'


@pytest.mark.parametrize(
    ("model", "reply"),
    [
        ('TestModel(custom_output_text="Sunny.")', 'call_every_tool("*", then="Sunny.")'),
        ("test.TestModel(custom_output_text=TEXT)", 'call_every_tool("*", then=TEXT)'),
        (
            'TestModel(call_tools="all", custom_output_text=TEXT, custom_output_args=None)',
            'call_every_tool("*", then=TEXT)',
        ),
        ('TestModel(call_tools=[], custom_output_text="Sunny.")', 'set("*", "Sunny.")'),
        (
            'TestModel(custom_output_args={"city": "Rome"})',
            'call_every_tool("*", then={"city": "Rome"}, skip=["final_result"])',
        ),
        ("TestModel(custom_output_args=DATA, call_tools=[])", 'set("*", DATA)'),
        # pydantic-ai wraps an output that is no object.
        ("TestModel(custom_output_args=[1], call_tools=[])", 'set("*", {"response": [1]})'),
        ("TestModel(custom_output_args=True, call_tools=[])", 'set("*", {"response": True})'),
        ("FunctionModel(answer)", 'set("*", "Rain.")'),
        ("FunctionModel(function=answer_constant)", 'set("*", TEXT)'),
        (
            "FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart(TEXT)]))",
            'set("*", TEXT)',
        ),
        (
            "FunctionModel(lambda _, info: pydantic_ai.ModelResponse(parts=[ToolCallPart("
            '"final_result", json.dumps(DATA), tool_call_id="1")]))',
            'set("*", Reply(tool_calls=[ToolCall("final_result", json.dumps(DATA), "1")]))',
        ),
        (
            "FunctionModel(call_first)",
            'add("*", Reply(tool_calls=[ToolCall("weather", {"city": "Rome"})]))\n'
            'mock_llm_responses.add("*", "Sunny.")',
        ),
        (
            "FunctionModel(call_first_else)",
            'add("*", Reply("Wait.", tool_calls=[ToolCall("weather", {})]))\n'
            'mock_llm_responses.add("*", "Sunny.")',
        ),
    ],
)
def test_a_model_of_fixed_replies_becomes_replies(model: str, reply: str) -> None:
    new = rewrite_body(f"with agent.override(model={model}):\n    {RUN}")
    assert new == f"mock_llm_responses.{reply}\n{RUN}"


@pytest.mark.parametrize(
    ("agent", "has_no_tools"),
    [
        ("plain", True),
        ("tooled", False),  # by a decorator
        ("given", False),  # perhaps by a function
        ("listed", False),  # by an argument
        ("unknown", False),  # perhaps by an argument
        ("app.agent", False),  # of another file
    ],
)
def test_tools_are_called_unless_the_file_shows_that_there_are_none(
    agent: str, has_no_tools: bool
) -> None:
    new = rewrite_body(f"{agent}.run_sync('Rome?', model=TestModel(custom_output_text=TEXT))")
    method = 'set("*", TEXT)' if has_no_tools else 'call_every_tool("*", then=TEXT)'
    assert new == f"mock_llm_responses.{method}\n{agent}.run_sync('Rome?')"


ANSWER = 'mock_llm_responses.call_every_tool("*", then="Sunny.")'
MODEL = 'TestModel(custom_output_text="Sunny.")'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            f"""
            "The weather."
            # Without a network.
            with agent.override(model={MODEL}):  # as is
                # The answer.
                result = agent.run_sync("Rome?")

                assert result.output  # not empty
                # The end.
            assert result
            """,
            f"""
            "The weather."
            # Without a network.
            # as is
            {ANSWER}
            # The answer.
            result = agent.run_sync("Rome?")

            assert result.output  # not empty
            # The end.
            assert result
            """,
        ),
        (
            f"""
            expected = "Sunny."
            # fixed
            test_model = TestModel(custom_output_text=expected)

            with agent.override(model=test_model):
                {RUN}
            with agent.override(model=test_model):
                {RUN}
            """,
            f"""
            expected = "Sunny."
            # fixed
            mock_llm_responses.call_every_tool("*", then=expected)
            {RUN}
            {RUN}
            """,
        ),
        (
            f"""
            with pytest.raises(ValueError), agent.override(model={MODEL}):
                {RUN}
            """,
            f"""
            {ANSWER}
            with pytest.raises(ValueError):
                {RUN}
            """,
        ),
        (
            f"""
            with (
                agent.override(model={MODEL}, deps=3),  # three
                finder.override(model={MODEL}),  # fixed
            ):
                {RUN}
            """,
            f"""
            # fixed
            {ANSWER}
            with (
                agent.override(deps=3),  # three
            ):
                {RUN}
            """,
        ),
        (
            f"""
            with (
                pytest.raises(ValueError),  # why
                finder.override(model={MODEL})
            ):
                {RUN}
            """,
            f"""
            {ANSWER}
            with (
                pytest.raises(ValueError)  # why
            ):
                {RUN}
            """,
        ),
        (
            f"""
            with pytest.raises(ValueError):
                with agent.override(model={MODEL}):
                    {RUN}
            """,
            f"""
            with pytest.raises(ValueError):
                {ANSWER}
                {RUN}
            """,
        ),
        (
            """
            for text in ("a", "b"):
                with agent.override(model=TestModel(custom_output_text=text)):
                    assert agent.run_sync("Rome?").output == text
            """,
            """
            for text in ("a", "b"):
                mock_llm_responses.call_every_tool("*", then=text)
                assert agent.run_sync("Rome?").output == text
            """,
        ),
        (
            f"""
            # The first.
            agent.run_sync(
                "Rome?",  # a town
                model={MODEL},  # fixed
            )
            agent.run_sync("Bern?", model={MODEL})
            agent.run_sync("Oslo?", model=TestModel(custom_output_text="Snow."))
            """,
            f"""
            # The first.
            # fixed
            {ANSWER}
            agent.run_sync(
                "Rome?",  # a town
            )
            agent.run_sync("Bern?")
            mock_llm_responses.call_every_tool("*", then="Snow.")
            agent.run_sync("Oslo?")
            """,
        ),
        (
            f"""
            from pydantic_ai.models.function import FunctionModel as Fake

            def fixed(messages, info):
                return ModelResponse(parts=[TextPart("Sunny.")])

            with agent.override(model=Fake(fixed)):
                {RUN}
            """,
            f"""
            mock_llm_responses.set("*", "Sunny.")
            {RUN}
            """,
        ),
        (
            f"""
            import app
            import pydantic_ai.models.test as fakes

            with agent.override(model=fakes.{MODEL}):
                {RUN}
            """,
            f"""
            import app

            {ANSWER}
            {RUN}
            """,
        ),
        # The reply lasts beyond a block that configures no other one.
        (
            f"""
            with agent.override(model={MODEL}):
                {RUN}
            for town in ("Rome", "Bern"):
                print(town)
            with agent.override(model={MODEL}):
                {RUN}
            """,
            f"""
            {ANSWER}
            {RUN}
            for town in ("Rome", "Bern"):
                print(town)
            {RUN}
            """,
        ),
        (
            f"""
            def ask():
                with agent.override(model={MODEL}):
                    return agent.run_sync("Rome?")
            ask()
            """,
            f"""
            def ask():
                {ANSWER}
                return agent.run_sync("Rome?")
            ask()
            """,
        ),
    ],
)
def test_the_body_moves_out_and_the_rest_stays(old: str, new: str) -> None:
    assert rewrite_body(old) == dedent(new).strip()


def test_asynchronous_runs_are_rewritten() -> None:
    new = rewrite_body(
        f"""
        async with agent.run_stream("Rome?", model={MODEL}) as result:
            print(await result.get_output())
        assert await agent.run("Rome?", model={MODEL})
        """,
        start="async def",
    )
    expected = f"""
        {ANSWER}
        async with agent.run_stream("Rome?") as result:
            print(await result.get_output())
        assert await agent.run("Rome?")
    """
    assert new == dedent(expected).strip()


def test_helpers_and_imports_that_only_the_old_models_needed_go() -> None:
    old = """
        from pydantic_ai import Agent, ModelResponse, TextPart
        from pydantic_ai.models.function import FunctionModel

        agent = Agent("openai:gpt-5")

        def answer(messages, info):
            return ModelResponse(parts=[TextPart("Rain.")])

        def test_it(tmp_path):
            with agent.override(model=FunctionModel(answer)):
                assert agent.run_sync("Rome?").output == "Rain."
    """
    new = """
        from pydantic_ai import Agent

        agent = Agent("openai:gpt-5")

        def test_it(tmp_path, mock_llm_responses):
            mock_llm_responses.set("*", "Rain.")
            assert agent.run_sync("Rome?").output == "Rain."
    """
    assert rewrite(dedent(old)).after == dedent(new)


def test_a_fixture_configures_the_reply_and_its_tests_stay() -> None:
    old = f"""{START}
@pytest.fixture
def sunny(tmp_path):
    with agent.override(model={MODEL}):
        yield

def test_it(sunny):
    {RUN}
"""
    result = rewrite(old)
    assert (result.changed, result.fixtures) == (("sunny",), {"sunny"})
    assert f"def sunny(tmp_path, mock_llm_responses):\n    {ANSWER}\n    yield\n" in result.after


def test_a_method_of_a_test_case_has_the_mock_as_an_attribute() -> None:
    old = f"""{START}
import unittest

class TestWeather(unittest.TestCase):
    def test_it(self):
        with agent.override(model={MODEL}):
            {RUN}
"""
    new = rewrite(old).after
    assert (
        f"    def test_it(self):\n        {ANSWER}\n".replace("mock_llm_responses", "self.llm_mock")
        in new
    )


def test_a_file_that_forbids_requests_allows_those_of_new_tests() -> None:
    start = f"{START}\nmodels.ALLOW_MODEL_REQUESTS = False\n\n"
    result = rewrite(start + new_test(f"'Docs.'\nwith agent.override(model={MODEL}):\n    {RUN}"))
    allowed = 'monkeypatch.setattr("pydantic_ai.models.ALLOW_MODEL_REQUESTS", True)'
    new = new_test(f"'Docs.'\n{allowed}\n{ANSWER}\n{RUN}", "mock_llm_responses, monkeypatch")
    assert result.after == start + new


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("TestModel()", "the TestModel generates its output, and llm_mock would generate"),
        ("TestModel(call_tools=[])", "the TestModel generates its output"),
        (
            'TestModel(custom_output_text="a", call_tools=["weather"])',
            "the TestModel calls only some tools: call_tools=['weather']".replace("'", '"'),
        ),
        (
            'TestModel(custom_output_text="a", seed=2)',
            "the argument seed of the TestModel is not supported",
        ),
        ("TestModel(**DATA)", "the arguments of the TestModel are not literal: TestModel(**DATA)"),
        ("TestModel(custom_output_args=imported)", "the output of the TestModel is not a literal"),
        ("FunctionModel(imported)", "the command cannot find the function of the FunctionModel"),
        (
            "FunctionModel(stream_function=answer)",
            "the command cannot find the function of the FunctionModel",
        ),
        (
            "FunctionModel(answer, model_name='m')",
            "the command cannot find the function of the FunctionModel",
        ),
        ("FunctionModel(echo)", "{}a response depends on messages: ModelResponse("),
        ("FunctionModel(store)", "{}it does more than return a response: seen.append"),
        ("FunctionModel(branch)", "{}it has a condition: info.function_tools"),
        ("FunctionModel(branch_again)", "{}it has a condition: info.function_tools"),
        ("FunctionModel(answer_first_only)", "{}it returns nothing: def answer_first_only("),
        ("FunctionModel(compute)", "{}a response is computed: ModelResponse("),
        (
            "FunctionModel(think)",
            '{}a part is neither a TextPart nor a ToolCallPart: ThinkingPart("Hm.")',
        ),
        (
            "FunctionModel(count_tokens)",
            "{}a response or part has arguments that a reply does not support: Model",
        ),
        (
            "FunctionModel(name_part)",
            "{}a response or part has arguments that a reply does not support: TextPart(",
        ),
        (
            "FunctionModel(spread)",
            "{}the arguments of a response or part are not literal: ModelResponse(**imported)",
        ),
        ("FunctionModel(make_parts)", "{}the parts of a response are not a literal list: Model"),
        ("FunctionModel(return_nothing)", "{}it does more than return a response: pass"),
        ("FunctionModel(decorated)", "{}it has a decorator: @imported"),
        ("FunctionModel(answer_local)", "{}a response depends on local: ModelResponse("),
        (
            "FunctionModel(lambda messages, info: imported)",
            "{}it does not return a ModelResponse: imported",
        ),
    ],
)
def test_a_model_whose_replies_are_not_fixed_stays(model: str, reason: str) -> None:
    shown = find_reason(f"local = 1\nwith agent.override(model={model}):\n    {RUN}")
    assert shown.startswith(
        reason.format("the function of the FunctionModel does not return fixed responses: ")
    )
    assert "mock_llm_responses." in shown or "run the command again" in shown


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            f"""
            fake = {MODEL}
            with agent.override(model=fake):
                {RUN}
            assert fake.last_model_request_parameters.function_tools
            """,
            "the test uses fake for something other than an agent's model",
        ),
        (
            f"""
            with capture_run_messages() as messages, agent.override(model={MODEL}):
                {RUN}
            """,
            "the test uses capture_run_messages",
        ),
        (
            f"""
            models.ALLOW_MODEL_REQUESTS = False
            with agent.override(model={MODEL}):
                {RUN}
            """,
            "the test uses ALLOW_MODEL_REQUESTS",
        ),
        (
            f"""
            with models.override_allow_model_requests(False), agent.override(model={MODEL}):
                {RUN}
            """,
            "the test uses override_allow_model_requests",
        ),
        (f"Agent({MODEL}).run_sync('a')", "the agent is created with a fake model"),
        (f"Agent(model={MODEL}).run_sync('a')", "the agent is created with a fake model"),
        (f"tested.run_sync('a', model={MODEL})", "the agent tested has no real model"),
        (f"faked.run_sync('a', model={MODEL})", "the agent faked has no real model"),
        (f"nameless.run_sync('a', model={MODEL})", "the agent nameless has no real model"),
        (
            f"made = Agent('gpt-5')\nmade.run_sync('a', model={MODEL})\n"
            f"made = Agent()\nmade.run_sync('a', model={MODEL})",
            "the agent made has no real model",
        ),
        (
            f"made = Agent('test')\nmade.run_sync('a', model={MODEL})",
            "the agent made has no real model",
        ),
        (
            f"""
            with agent.override(model={MODEL}):
                with finder.override(model=TestModel(custom_output_args={{}})):
                    {RUN}
            """,
            "several agents have fake models at the same time: with finder.override(model=",
        ),
        (
            f"print(agent.run_sync('a', model={MODEL}), agent.run_sync('b', model=FunctionModel("
            "answer)))",
            "several agents have fake models at the same time: print(",
        ),
        (
            """
            text = "a"
            fake = TestModel(custom_output_text=text)
            text = "b"
            agent.run_sync("a", model=fake)
            """,
            "the output of the TestModel may change",
        ),
        (
            "[agent.run_sync('a', model=TestModel(custom_output_text=text)) for text in 'ab']",
            "the output of the TestModel may change",
        ),
        (
            f"stack.enter_context(agent.override(model={MODEL}))",
            "TestModel replaces an agent's model",
        ),
        (
            f"with agent.override(model={MODEL}):\n    use({MODEL})",
            "TestModel replaces an agent's model",
        ),
        (f"if agent.run_sync('a', model={MODEL}): pass", "TestModel replaces an agent's model"),
        (f"agent.run_sync('a', deps={MODEL})", "TestModel replaces an agent's model"),
    ],
)
def test_a_test_that_needs_its_model_stays(body: str, reason: str) -> None:
    assert find_reason(body).startswith(reason)


@pytest.mark.parametrize(
    "decorator", ["pytest.fixture(autouse=True)", "pytest.fixture(scope='module')"]
)
def test_a_fixture_for_several_tests_stays(decorator: str) -> None:
    source = f"""{START}
@{decorator}
def sunny():
    with agent.override(model={MODEL}):
        yield
"""
    result = rewrite(source)
    assert result.after == source
    [change] = result.manual_changes
    assert change.reason.startswith("the fixture replaces an agent's model, and several tests")


def test_a_fixture_of_a_class_stays() -> None:
    source = f"""{START}
class TestWeather:
    @pytest.fixture
    def sunny(self):
        with agent.override(model={MODEL}):
            yield
"""
    result = rewrite(source)
    assert result.after == source
    [change] = result.manual_changes
    assert change.reason == "it is a fixture of a class"


def test_a_helper_stays() -> None:
    source = f"{START}\ndef ask():\n    with agent.override(model={MODEL}):\n        {RUN}\n"
    result = rewrite(source)
    assert result.after == source
    [change] = result.manual_changes
    assert change.reason == "it is neither a test nor a fixture, so it cannot request fixtures"


@pytest.mark.parametrize(
    "body",
    [
        "with agent.override(deps=3):\n    pass",
        "agent.run_sync('a', model='openai:gpt-5')",
        "run(model=answer)",
    ],
)
def test_an_agent_with_another_model_is_left_alone(body: str) -> None:
    source = f"{START}\n\n{new_test(body)}"
    result = rewrite(source)
    assert (result.after, result.manual_changes) == (source, ())
