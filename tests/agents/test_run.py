"""A run of an agent: the loop, its tools, what ends it, and what the result tells of it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from typing import Any

import llm
import pytest
from llm.models import ToolCall

from llm_mock import (
    BrokenToolCall,
    LLMMock,
    MockLLMModel,
    Reply,
    ResponseConfigurator,
    UnexpectedCall,
    agents,
)
from llm_mock.agents import (
    Agent,
    AgentSession,
    CLIServer,
    MCPServer,
    Provider,
    Skill,
    ToolCallRecord,
    aitest_run,
    aitest_run_sync,
)
from llm_mock.agents.pool import get_server_pool
from llm_mock.core.context import activate, set_passthrough
from llm_mock.errors import InvalidAgent, InvalidSession, ServerError
from tests.agents.runs import Run
from tests.conftest import RunPython

BALANCE = ToolCall("accounts", {})


def calls(*tool_calls: Any, text: str | None = None) -> Reply:
    return Reply(text, tool_calls=tool_calls)


def test_the_model_calls_real_tools_until_it_answers(
    run: Run, own_bank: MCPServer, echo: CLIServer, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.add("m", calls(BALANCE, text="I look."))
    mock_llm_responses.add("m", calls(ToolCall("echo_execute", {"args": "'well done'"})))
    mock_llm_responses.add(
        "m", lambda prompt: f"The tool said {prompt.tool_results[0].output.strip()}."
    )
    result = run(Agent("m", [own_bank], [echo]), "What is in the bank?")
    assert result
    assert result.final_response == "The tool said well done."
    assert [turn.text for turn in result.turns] == ["I look.", "", "The tool said well done."]
    first, second = result.all_tool_calls
    assert (first.name, first.arguments, first.error) == ("accounts", {}, None)
    assert first.structured["bob"] == 2050
    assert '"bob": 2050' in (first.result or "")
    assert (second.name, second.arguments, second.result) == (
        "echo_execute",
        {"args": "'well done'"},
        "well done\n",
    )
    assert first.duration > 0
    # No part of the run counts twice.
    parts = (*result.turns, first, second)
    assert result.duration >= sum(part.duration for part in parts)
    assert result.turns[0].tool_calls == (first,)


def test_the_model_is_told_the_tools_and_the_system_prompt(
    run: Run, own_bank: MCPServer, mock_llm_calls: LLMMock
) -> None:
    agent = Agent(
        Provider("m", {"temperature": 0.5}),
        [own_bank],
        skill=Skill("money", "Cents!"),
        system_prompt="Be brief",
    )
    run(agent, "Hello")
    (call,) = mock_llm_calls.calls
    assert call["kwargs"]["system"] == "Cents!\n\nBe brief"
    assert call["kwargs"]["tools"] == ["accounts", "transfer", "history", "balance_chart"]
    assert call["options"] == {"temperature": 0.5}


def test_a_run_without_tools_is_a_prompt(
    run: Run, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.add("m", "Hi")
    result = run(Agent("m"), "Hello")
    assert (result.final_response, result.tool_call_count(), len(result.turns)) == ("Hi", 0, 1)


def test_running_out_of_turns_is_a_failure_with_its_reason(
    run: Run, echo: CLIServer, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.set("m", calls(ToolCall("echo_execute", {"args": "again"})))
    result = run(Agent("m", cli_servers=[echo], max_turns=3), "Go on")
    assert not result
    assert (
        result.error == "max_turns=3 was reached, and the model still wanted to call echo_execute"
    )
    assert len(result.turns) == 3
    assert result.tool_call_count("echo_execute") == 2, "the calls of the last turn are not made"


def test_the_last_turn_may_be_the_answer(
    run: Run, echo: CLIServer, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.add("m", calls(ToolCall("echo_execute", {"args": "again"})))
    mock_llm_responses.add("m", "Done")
    assert run(Agent("m", cli_servers=[echo], max_turns=2), "Go on").success


@pytest.mark.parametrize("max_turns", [1, 5])
def test_an_answer_in_the_first_turn_is_a_success(max_turns: int, run: Run) -> None:
    assert run(Agent("m", max_turns=max_turns), "Go on").success


def test_what_is_wrong_with_a_tool_call_is_told_to_the_model_and_recorded(
    run: Run, own_bank: MCPServer, mock_llm_responses: ResponseConfigurator
) -> None:
    wrong = [
        BrokenToolCall("withdraw", {}),
        BrokenToolCall("transfer", {"source": "alice", "target": "bob", "cents": -5}),
        ToolCall("transfer", {"source": "alice", "target": "bob", "cents": 1_000_000}),
        ToolCall("history", {"account": "bob"}),
    ]
    mock_llm_responses.add("m", calls(*wrong))
    mock_llm_responses.add(
        "m", lambda prompt: "\n".join(result.output for result in prompt.tool_results)
    )
    result = run(Agent("m", [own_bank]), "Take it all")
    assert result, "a tool that fails does not end a run"
    unknown, invalid, refused, fine = result.all_tool_calls
    assert unknown.error == 'tool "withdraw" does not exist'
    assert "the arguments.cents: -5" in (invalid.error or "")
    assert "Insufficient funds" in (refused.error or "")
    assert (fine.error, fine.result is None) == (None, False)
    assert unknown.result is None
    assert "Insufficient funds" in result.final_response


def test_calling_only_what_is_no_tool_goes_on_or_says_so(
    run: Run, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.add("m", calls(BrokenToolCall("nothing", {})))
    mock_llm_responses.add("m", "I give up", optional=True)
    result = run(Agent("m"), "Try")
    assert result.all_tool_calls[0].error == 'tool "nothing" does not exist'
    if not result:  # llm before 0.32, asynchronously
        assert result.error == "the model called tools that do not exist: nothing"


def test_results_come_in_the_order_of_their_calls(
    run: Run, echo: CLIServer, mock_llm_responses: ResponseConfigurator
) -> None:
    words = [str(number) for number in range(8)]
    mock_llm_responses.add(
        "m", calls(*(ToolCall("echo_execute", {"args": word}) for word in words))
    )
    mock_llm_responses.add("m", "Done")
    result = run(Agent("m", cli_servers=[echo]), "Count")
    assert [call.arguments["args"] for call in result.all_tool_calls] == words
    assert [(call.result or "").strip() for call in result.all_tool_calls] == words


def test_images_reach_a_model_that_takes_them(
    run: Run, own_bank: MCPServer, mock_llm_calls: LLMMock, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.add("m", calls(ToolCall("balance_chart", {"account": "bob"})))
    mock_llm_responses.add("m", "A bar", attachments=["image/png"])
    result = run(Agent("m", [own_bank]), "Draw it")
    (call,) = result.all_tool_calls
    assert [attachment.type for attachment in call.attachments] == ["image/png"]
    told = mock_llm_calls.calls[1]["kwargs"]
    assert told["attachments"][0]["type"] == "image/png"
    assert told["tool_results"][0]["output"] == '[2050]\n{"account": "bob", "cents": [2050]}'


def test_a_model_that_takes_no_images_is_told_that_there_was_one(
    run: Run, own_bank: MCPServer, mock_llm_calls: LLMMock, mock_llm_responses: ResponseConfigurator
) -> None:
    for model in (mock_llm_calls.get_model("m"), mock_llm_calls.get_async_model("m")):
        model.attachment_types = frozenset()
    mock_llm_responses.add("m", calls(ToolCall("balance_chart", {"account": "bob"})))
    mock_llm_responses.add("m", "I cannot see it")
    result = run(Agent("m", [own_bank]), "Draw it")
    told = mock_llm_calls.calls[1]["kwargs"]
    assert "attachments" not in told
    assert "[image/png, " in told["tool_results"][0]["output"]
    assert len(result.all_tool_calls[0].attachments) == 1


def test_the_size_of_an_empty_image_is_left_out(
    run: Run, raw: Callable[..., MCPServer], mock_llm_calls: LLMMock
) -> None:
    for model in (mock_llm_calls.get_model("m"), mock_llm_calls.get_async_model("m")):
        model.attachment_types = frozenset()
    mock_llm_calls.configurator.add("m", calls(ToolCall("image", {})))
    mock_llm_calls.configurator.add("m", "I cannot see it")
    run(Agent("m", [raw(scope="test")]), "Draw it")
    get_server_pool().end_test()
    (result,) = mock_llm_calls.calls[1]["kwargs"]["tool_results"]
    assert result["output"] == "[image/png: left out, the model does not take it]"


def test_what_the_user_attaches_reaches_the_model(run: Run, mock_llm_calls: LLMMock) -> None:
    run(Agent("m"), "What is it?", attachments=[llm.Attachment(type="image/png", content=b"...")])
    assert mock_llm_calls.calls[0]["kwargs"]["attachments"] == [{"type": "image/png", "bytes": 3}]


def test_usage_and_cost_are_those_of_all_turns(
    run: Run, echo: CLIServer, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.set_price("m", 1, 10)
    usage = {"input_tokens": 1000, "output_tokens": 100}
    mock_llm_responses.add(
        "m", Reply(tool_calls=[ToolCall("echo_execute", {"args": "x"})], usage=usage)
    )
    mock_llm_responses.add("m", Reply("Done", usage=usage))
    result = run(Agent("m", cli_servers=[echo]), "Go")
    assert (result.usage.input, result.usage.output) == (2000, 200)
    assert f"{result.cost:f}" == "0.004"
    assert result.turns[0].usage.input == 1000


def test_an_error_of_the_provider_is_the_end_of_the_run_and_not_of_the_test(
    run: Run, echo: CLIServer, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.add("m", calls(ToolCall("echo_execute", {"args": "x"})))
    mock_llm_responses.add("m", ValueError("The context is too long"))
    result = run(Agent("m", cli_servers=[echo]), "Go")
    assert not result.success
    assert result.error == "ValueError: The context is too long"
    assert isinstance(result.exception, ValueError)
    assert result.tool_call_count() == 1


def test_a_run_that_takes_too_long_fails(
    run: Run, mock_llm_responses: ResponseConfigurator
) -> None:
    slow = CLIServer("slow", [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"])
    # On a busy machine the time may be over before the first call.
    mock_llm_responses.add("m", calls(ToolCall("slow_execute", {})), optional=True)
    mock_llm_responses.add("m", "Never said", optional=True)
    start = time.monotonic()
    result = run(Agent("m", cli_servers=[slow], timeout=0.3), "Go")
    assert time.monotonic() - start < 20
    assert result.error == "timeout=0.3 was reached: the run took longer than 0.3 seconds"
    assert (result.success, result.exception, result.final_response) == (False, None, "")


def test_a_run_within_its_time_succeeds(
    run: Run, echo: CLIServer, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.add("m", calls(ToolCall("echo_execute", {"args": "x"})))
    mock_llm_responses.add("m", "Done")
    assert run(Agent("m", cli_servers=[echo], timeout=60), "Go").final_response == "Done"


def test_an_assertion_in_the_script_of_a_test_is_raised(
    run: Run, mock_llm_responses: ResponseConfigurator
) -> None:
    def check(prompt: llm.Prompt) -> str:
        assert prompt.prompt == "Goodbye"
        return "Fine"

    mock_llm_responses.set("m", check)
    with pytest.raises(AssertionError, match="Goodbye"):
        run(Agent("m"), "Hello")


def test_a_call_that_nobody_expects_is_raised(run: Run) -> None:
    mock = LLMMock(at_boundary=True)
    mock.settings = mock.settings._replace(strict="error")
    previous = activate(mock)
    try:
        with pytest.raises(UnexpectedCall):
            run(Agent("m"), "Hello")
    finally:
        activate(previous)


def test_an_unknown_model_is_raised(run: Run, mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set_unknown("m")
    with pytest.raises(llm.UnknownModelError):
        run(Agent("m"), "Hello")


def test_two_servers_with_one_tool_name_are_an_error_before_the_first_turn(
    run: Run, mock_llm_calls: LLMMock
) -> None:
    twice = [CLIServer("a", "echo", tool_prefix="say"), CLIServer("b", "true", tool_prefix="say")]
    with pytest.raises(ServerError, match="Two servers have a tool 'say_execute'"):
        run(Agent("m", cli_servers=twice), "Hello")
    assert mock_llm_calls.calls == []


def test_a_model_without_tools_cannot_run_an_agent_that_has_some(
    run: Run, echo: CLIServer, mock_llm_calls: LLMMock
) -> None:
    for model in (mock_llm_calls.get_model("m"), mock_llm_calls.get_async_model("m")):
        model.supports_tools = False
    with pytest.raises(InvalidAgent, match="'m' does not support tools"):
        run(Agent("m", cli_servers=[echo]), "Hello")
    assert run(Agent("m"), "Hello")


class OnlySync(llm.Model):
    """A provider's model that has no asynchronous twin."""

    model_id = "only-sync"
    supports_tools = True

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Any:
        if prompt.tool_results:
            yield f"It said {prompt.tool_results[0].output.strip()}"
        else:
            response.add_tool_call(ToolCall("echo_execute", {"args": "hi"}, "call"))


@pytest.fixture
def only_sync() -> Any:
    from llm.plugins import pm

    class Plugin:
        @staticmethod
        @llm.hookimpl
        def register_models(register: Any) -> None:
            register(OnlySync())

    pm.register(Plugin, "only-sync")
    previous = set_passthrough(["only-*"])
    yield
    set_passthrough(previous)
    pm.unregister(name="only-sync")


def test_a_model_without_an_asynchronous_twin_runs_in_a_thread(
    only_sync: None, run: Run, echo: CLIServer
) -> None:
    assert run(Agent("only-sync", cli_servers=[echo]), "Say hi").final_response == "It said hi"


@pytest.mark.parametrize("arguments", [[1], None, "abc"])
def test_arguments_that_are_no_object_are_a_failed_call_that_is_shown(
    only_sync: None, run: Run, echo: CLIServer, monkeypatch: pytest.MonkeyPatch, arguments: Any
) -> None:
    def execute(self: Any, prompt: Any, stream: bool, response: Any, conversation: Any) -> Any:
        if prompt.tool_results:
            yield "I gave up."
        else:
            response.add_tool_call(ToolCall("echo_execute", arguments, "call"))

    monkeypatch.setattr(OnlySync, "execute", execute)
    result = run(Agent("only-sync", cli_servers=[echo]), "Say hi")
    [call] = result.all_tool_calls
    assert call.arguments == {"_raw": arguments}
    assert call.error
    assert "echo_execute(_raw=" in str(result)
    assert not result.tool_was_called("echo_execute", args="hi")


def test_what_servers_are_given_in_secret_is_not_shown_where_a_run_is(
    run: Run, mock_llm_responses: ResponseConfigurator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_DATABASE_PASSWORD", "from-the-environment")
    env = {"DB_PASSWORD": "written-literally", "OTHER": "${MY_DATABASE_PASSWORD}"}
    tool = CLIServer(
        "sh", ["sh", "-c", 'echo "$DB_PASSWORD $OTHER"; echo "$DB_PASSWORD" >&2; exit 3'], env=env
    )
    mock_llm_responses.add("m", calls(ToolCall("sh_execute", {"args": ""})))
    mock_llm_responses.add("m", lambda prompt: f"It said {prompt.tool_results[0].output}")
    result = run(Agent("m", cli_servers=[tool]), "Tell me the secret")
    assert "written-literally from-the-environment" in str(result.all_tool_calls[0].error)
    assert "[redacted secret] [redacted secret]" in str(result)
    for shown in (str(result), repr(result)):
        assert "written-literally" not in shown
        assert "from-the-environment" not in shown


def test_a_model_that_nobody_knows_is_no_reason_for_a_thread(
    mock_llm_responses: ResponseConfigurator,
) -> None:
    mock_llm_responses.set_unknown("m")
    with pytest.raises(llm.UnknownModelError, match="m"):
        asyncio.run(aitest_run(Agent("m"), "Hello"))


async def several(agent: Agent, prompts: list[str]) -> list[Any]:
    return await asyncio.gather(*(aitest_run(agent, prompt) for prompt in prompts))


def test_runs_may_go_on_at_once(echo: CLIServer, mock_llm_responses: ResponseConfigurator) -> None:
    def answer(prompt: llm.Prompt) -> Any:
        if prompt.tool_results:
            return prompt.tool_results[0].output.strip()
        return calls(ToolCall("echo_execute", {"args": prompt.prompt}))

    mock_llm_responses.set("m", answer)
    prompts = [f"word{number}" for number in range(5)]
    results = asyncio.run(several(Agent("m", cli_servers=[echo]), prompts))
    assert [result.final_response for result in results] == prompts
    assert [result.all_tool_calls[0].arguments["args"] for result in results] == prompts


@pytest.mark.parametrize("agent", [None, "m", Provider("m")])
def test_only_an_agent_or_a_session_can_be_run(agent: Any) -> None:
    with pytest.raises(TypeError, match="aitest_run_sync takes an Agent or an AgentSession"):
        aitest_run_sync(agent, "Hello")


def test_an_agent_after_the_prompt_is_told_its_place() -> None:
    wrong: Any = ("Hello", Agent(provider="m"))
    with pytest.raises(TypeError, match="aitest_run_sync takes the agent first, then"):
        aitest_run_sync(*wrong)
    with pytest.raises(TypeError, match="aitest_run takes the agent first, then"):
        asyncio.run(aitest_run(*wrong))


def test_the_prompt_is_a_text() -> None:
    with pytest.raises(TypeError, match="The prompt of a run must be a string"):
        aitest_run_sync(Agent("m"), None)  # type: ignore[arg-type]


# Sessions


def test_a_session_carries_its_conversation_on(
    run: Run, echo: CLIServer, mock_llm_calls: LLMMock, mock_llm_responses: ResponseConfigurator
) -> None:
    session = AgentSession(Agent("m", cli_servers=[echo], system_prompt="Be brief"))
    mock_llm_responses.add("m", calls(ToolCall("echo_execute", {"args": "one"})), turn=1)
    mock_llm_responses.add("m", "One", turn=2)
    mock_llm_responses.add("m", "Two", turn=3)
    assert run(session, "First").final_response == "One"
    second = run(session, "Second")
    assert (second.final_response, len(second.turns), second.tool_call_count()) == ("Two", 1, 0)
    assert [result.prompt for result in session.results] == ["First", "Second"]
    assert repr(session) == "<AgentSession of m: 2 runs>"


def test_a_run_that_fails_leaves_no_trace_in_the_session(
    run: Run, echo: CLIServer, mock_llm_calls: LLMMock, mock_llm_responses: ResponseConfigurator
) -> None:
    session = AgentSession(Agent("m", cli_servers=[echo], max_turns=1))
    mock_llm_responses.add("m", calls(ToolCall("echo_execute", {"args": "one"})))
    mock_llm_responses.set("m", "Hello")
    assert not run(session, "First")
    assert run(session, "Again")
    assert [call["turn"] for call in mock_llm_calls.calls] == [1, 1]
    assert run(session, "And then?")
    assert mock_llm_calls.calls[-1]["turn"] == 2


def test_a_session_is_continued_as_it_began() -> None:
    session = AgentSession(Agent("m"))
    assert aitest_run_sync(session, "Hello")
    with pytest.raises(InvalidSession, match="cannot use both aitest_run and"):
        asyncio.run(aitest_run(session, "Hello"))


def test_a_session_runs_once_at_a_time(mock_llm_responses: ResponseConfigurator) -> None:
    async def answer(prompt: llm.Prompt) -> str:
        await asyncio.sleep(0.01)
        return "Hi"

    async def twice(session: AgentSession) -> Any:
        return await asyncio.gather(
            aitest_run(session, "a"), aitest_run(session, "b"), return_exceptions=True
        )

    mock_llm_responses.set("m", answer)
    session = AgentSession(Agent("m"))
    first, second = asyncio.run(twice(session))
    assert first.success
    assert isinstance(second, InvalidSession)
    assert "already running" in str(second)
    assert asyncio.run(aitest_run(session, "c")), "the session can be used again"


# The package


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(
        AttributeError, match=r"module 'llm_mock\.agents' has no attribute 'Agents'"
    ):
        agents.Agents  # noqa: B018


def test_without_tenacity_the_extra_is_named(run_python: RunPython) -> None:
    code = (
        "import sys; sys.modules['tenacity'] = None; from llm_mock.agents import Agent, aitest_run"
    )
    message = (
        "MissingExtra: Running agents needs tenacity, which is not installed. Run: pip install"
    )
    assert f"{message} 'pytest-llm-mock[agents]'" in run_python(code).stderr


def test_another_model_can_be_asked_than_the_agents(
    run: Run, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.set_unknown("nobody/knows")
    override = MockLLMModel("other", "I stand in")
    result = run(Agent("nobody/knows", system_prompt="Be brief"), "Hello", model_override=override)
    assert (result.final_response, result.model) == ("I stand in", "other")
    assert override.call_history[0]["kwargs"]["system"] == "Be brief"


def test_each_call_of_a_tool_is_told_as_soon_as_it_was_made(
    run: Run, echo: CLIServer, own_bank: MCPServer, mock_llm_responses: ResponseConfigurator
) -> None:
    told: list[ToolCallRecord] = []
    hello, wrong = (
        ToolCall("echo_execute", {"args": "hello"}),
        BrokenToolCall("transfer", {"source": "alice"}),
    )
    mock_llm_responses.add("m", calls(hello, wrong))
    mock_llm_responses.add("m", lambda prompt: f"{len(told)} were told before")
    result = run(Agent("m", [own_bank], [echo]), "Go on", on_tool_call=told.append)
    assert result.final_response == "2 were told before"
    assert sorted(told, key=lambda call: call.name) == list(result.all_tool_calls)


def test_an_exception_of_who_is_told_ends_the_run(
    run: Run, echo: CLIServer, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.set("m", calls(ToolCall("echo_execute", {"args": "again"})))

    def stop(call: ToolCallRecord) -> None:
        raise ValueError("enough")

    result = run(Agent("m", cli_servers=[echo]), "Go on", on_tool_call=stop)
    assert (result.error, len(result.turns)) == ("ValueError: enough", 1)
