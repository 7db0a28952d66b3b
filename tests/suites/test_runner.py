"""Running suites: with the mock, and with `llm`'s own models against a real HTTP server."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import llm
import pytest

pytest.importorskip("mcp")

from llm.default_plugins.openai_models import Chat

from llm_mock import LLMMock, MockLLMModel, Reply, ResponseConfigurator
from llm_mock.agents import Agent, CLIServer, MCPServer, Provider
from llm_mock.core.context import set_passthrough
from llm_mock.errors import InvalidBudget, InvalidFile
from llm_mock.suites import CaseResult, Role, TestCase, load_role, run_suite
from llm_mock.suites.runner import run_case
from llm_mock.suites.schema import Target
from tests.openai_server import OpenAIServer, openai_server
from tests.suites.cases import EXAMPLES, case, suite

AGENT = Agent("m", name="greeter")


# Live runs


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    with openai_server() as started:
        yield started


@pytest.fixture
def live(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """Register a model `loopback` that asks the server, and one that needs a key."""
    from llm.plugins import pm

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server.requests.clear()

    class Plugin:
        @staticmethod
        @llm.hookimpl
        def register_models(register: Any) -> None:
            register(Chat("loopback", key="none", api_base=server.url, supports_tools=True))
            register(Chat("keyless", api_base=server.url))

    pm.register(Plugin, "loopback")
    previous = set_passthrough(["loopback", "keyless", "nobody"])
    yield server
    set_passthrough(previous)
    pm.unregister(name="loopback")


LIVE = Agent(Provider("loopback", key="none"), system_prompt="Be brief")


def test_a_live_run_asks_the_model_and_not_what_is_expected(live: OpenAIServer) -> None:
    result = run_case(LIVE, case(expected_output="Nobody says this", contains="Answer 1 to: Hi"))
    assert result.status == "passed"
    (turn,) = result.decisive_attempt.turns
    assert (turn.prompt, turn.output, turn.requests, turn.tool_calls) == (
        "Hi",
        "Answer 1 to: Hi",
        1,
        (),
    )
    assert turn.input_tokens > 0
    assert result.decisive_attempt.tokens == turn.input_tokens + turn.output_tokens
    assert "Answer 1 to: Hi" in result.decisive_attempt.transcript


def test_the_turns_of_a_case_are_one_conversation(live: OpenAIServer) -> None:
    turns = [
        {"prompt": "Hi"},
        {"prompt": "Go on", "assertions": [{"type": "contains", "value": "Answer 2 to: Go on"}]},
    ]
    assert run_case(LIVE, case(turns=turns)).status == "passed"
    assert [message["role"] for message in live.requests[-1]["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]


HISTORY = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi there"}]


@pytest.mark.parametrize("timeout", [None, 60])
def test_a_case_has_a_system_prompt_and_a_history_of_its_own(
    live: OpenAIServer, timeout: float | None
) -> None:
    of_prompt = {"type": "equals", "of": "system", "value": "Be kind"}
    chat = case(system="Be kind", history=HISTORY, timeout=timeout, assertions=[of_prompt])
    result = run_case(LIVE, chat)
    assert result.status == "passed"
    # The messages before were not sent to be answered.
    (request,) = live.requests
    assert [(each["role"], each["content"]) for each in request["messages"]] == [
        ("system", "Be kind"),
        ("user", "Hello"),
        ("assistant", "Hi there"),
        ("user", "Hi"),
    ]
    (turn,) = result.decisive_attempt.turns
    assert (turn.prompt, turn.output) == ("Hi", "Answer 2 to: Hi")


def test_a_history_keeps_the_system_prompt_of_the_role(live: OpenAIServer) -> None:
    run_case(LIVE, case(history=HISTORY))
    roles = [(each["role"], each["content"]) for each in live.requests[-1]["messages"]]
    assert roles[:2] == [("system", "Be brief"), ("user", "Hello")]
    assert len(roles) == 4


def test_a_prompt_function_replaces_the_messages_that_it_writes(
    live: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.py").write_text(
        "def text(context):\n    return 'Hi'\n"
        "def chat(context):\n"
        "    said = [('user', 'One'), ('assistant', 'Two'), ('user', 'Three')]\n"
        "    return [{'role': role, 'content': content} for role, content in said]\n"
    )
    for function, expected in (
        ("p.py:text", ["Be kind", "Hello", "Hi there", "Hi"]),
        ("p.py:chat", ["Be kind", "One", "Two", "Three"]),
    ):
        fields = {"prompt": None, "prompt_function": function}
        result = run_case(LIVE, case(system="Be kind", history=HISTORY, **fields))
        assert result.status == "passed"
        assert [each["content"] for each in live.requests[-1]["messages"]] == expected


def test_a_dry_run_answers_the_prompt_after_a_history() -> None:
    chat = case(history=HISTORY, expected_output="Fine", contains="Fine")
    result = run_case(AGENT, chat, dry_run=True)
    assert result.status == "passed"
    assert [turn.output for turn in result.decisive_attempt.turns] == ["Fine"]


def test_tools_are_really_called(live: OpenAIServer, tmp_path: Path) -> None:
    tool = CLIServer("weather", ["sh", "-c", "echo sunny"])
    mock = MockLLMModel("scripted", mock=lambda: scripted)
    scripted = LLMMock()
    scripted.add("scripted", Reply(tool_calls=[llm.ToolCall("weather_execute", {"args": ""})]))
    scripted.add("scripted", "It is sunny")
    result = run_case(Agent("m", cli_servers=[tool]), case(contains="sunny"), model_override=mock)
    (turn,) = result.decisive_attempt.turns
    assert [(call.name, call.result) for call in turn.tool_calls] == [
        ("weather_execute", "sunny\n")
    ]
    assert turn.requests == 2


def test_a_turn_that_fails_ends_its_case_and_not_the_suite(live: OpenAIServer) -> None:
    agent = Agent(Provider("loopback", key="none", retries=0))
    turns = [
        {"prompt": "Hi", "assertions": [{"type": "contains", "value": "Hi"}]},
        {"prompt": "Fail"},
        {"prompt": "?"},
    ]
    result = run_suite(
        agent, suite(case("broken", turns=turns), case("whole", contains="Answer 1"))
    )
    broken, whole = result.case_results
    assert (broken.error or "").startswith("RateLimitError: ")
    assert broken.assertion_results == ()
    assert [turn.prompt for turn in broken.decisive_attempt.turns] == ["Hi", "Fail"]
    assert whole.status == "passed"


def test_a_missing_key_says_which_and_how_to_set_it(live: OpenAIServer) -> None:
    error = run_case(Agent("keyless"), case()).error
    assert error == (
        "No key found - add one using 'llm keys set openai' or set the OPENAI_API_KEY "
        "environment variable"
    )


def test_a_model_that_llm_does_not_know_fails_the_cases(
    mock_llm_responses: ResponseConfigurator,
) -> None:
    mock_llm_responses.set_unknown("nobody")
    error = run_case(Agent("nobody"), case()).error or ""
    assert error == (
        "Unknown model: nobody. Run `llm models` to list the known models, or `llm install` to "
        "add a plugin."
    )


def test_a_plugin_of_llm_that_cannot_register_its_models_fails_the_cases(
    live: OpenAIServer, request: pytest.FixtureRequest
) -> None:
    from llm.plugins import pm

    class Broken:
        @staticmethod
        @llm.hookimpl
        def register_models(register: object) -> None:
            raise OSError("no driver")

    pm.register(Broken, "broken")
    request.addfinalizer(lambda: pm.unregister(name="broken"))
    (result,) = run_suite(Agent("nobody"), suite(case())).case_results
    assert (result.status, result.error) == ("failed", "OSError: no driver")


@pytest.mark.parametrize(
    ("status", "not_run"), [(400, []), (401, ["b"]), (402, []), (403, ["b"]), (404, [])]
)
def test_a_key_that_is_refused_ends_the_run(
    status: int, not_run: list[str], mock_llm_responses: ResponseConfigurator
) -> None:
    error = Odd("no")
    error.status_code = status  # type: ignore[attr-defined]
    mock_llm_responses.set("m", error)
    result = run_suite(AGENT, suite(case("a"), case("b")))
    assert [each.name for each in result.not_run] == not_run


def test_a_role_whose_model_llm_does_not_know_is_an_error_before_the_first_case(
    mock_llm_responses: ResponseConfigurator,
) -> None:
    mock_llm_responses.set_unknown("*")
    role = Role("r", AGENT, Path("role.yaml"), model_ids=("m",), model_line=9)
    with pytest.raises(InvalidFile, match=r"role\.yaml:9: llm does not know the model 'm'"):
        run_suite(role, suite(case()))
    assert run_suite(role, suite(case()), dry_run=True).all_passed


def test_running_out_of_turns_is_told(mock_llm_responses: ResponseConfigurator) -> None:
    call = Reply(tool_calls=[llm.ToolCall("echo_execute", {"args": "x"})])
    mock_llm_responses.set("m", call)
    result = run_case(
        Agent("m", cli_servers=[CLIServer("echo", "echo")], max_turns=2), case(contains="x")
    )
    assert (
        result.error == "max_turns=2 was reached, and the model still wanted to call echo_execute"
    )
    assert result.assertion_results == ()


class Odd(Exception):
    """An error of no known kind."""


def test_whatever_a_model_raises_fails_one_case(
    mock_llm_responses: ResponseConfigurator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "abcdefgh12345678")
    mock_llm_responses.set("m", "Hello")
    mock_llm_responses.add("m", Odd("it broke with abcdefgh12345678"), optional=True)
    result = run_suite(AGENT, suite(case("a", contains="Hi"), case("b", contains="H")))
    first, second = result.case_results
    assert (first.status, second.status) == ("failed", "passed")
    assert first.error == "Odd: it broke with [redacted secret]"


def test_an_interrupt_is_no_failure_of_a_case(mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set("m", lambda prompt: os.kill(os.getpid(), signal.SIGINT) or "Hello")
    with pytest.raises(KeyboardInterrupt):
        run_suite(AGENT, suite(case()))


def test_a_secret_of_a_server_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAIN", "a-well-kept-secret")
    echo = CLIServer("echo", "echo", env={"API_KEY": "${PLAIN}"})
    model = LLMMock({"m": Odd("it broke with a-well-kept-secret")})("m")
    agent = Agent(Provider("m", retries=0), cli_servers=[echo])
    shown = run_case(agent, case(), model_override=model).decisive_attempt
    assert shown.error == "Odd: it broke with [redacted secret]"
    assert "a-well-kept-secret" not in shown.transcript


def test_a_variable_that_is_not_set_fails_the_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_SET", raising=False)
    server = MCPServer("server", env={"A": "${NOT_SET}"})
    error = run_case(Agent("m", [server]), case(), dry_run=True).error
    assert "the environment variable NOT_SET is not set" in (error or "")


# Repeated and retried


def outcomes(mock: ResponseConfigurator, words: str) -> None:
    """Have the model `m` say these words, one in each call."""
    for word in words.split():
        mock.add("m", word, optional=True)


@pytest.mark.parametrize(
    ("words", "settings", "status", "rate"),
    [
        ("yes yes no yes", {"repeat": 4}, "failed", 0.75),
        ("yes yes no yes", {"repeat": 4, "threshold": 0.75}, "passed", 0.75),
        ("yes no no yes", {"repeat": 4, "threshold": 0.75}, "failed", 0.5),
        ("yes", {}, "passed", 1.0),
    ],
)
def test_a_share_of_the_runs_must_pass(
    words: str, settings: Any, status: str, rate: float, mock_llm_responses: ResponseConfigurator
) -> None:
    outcomes(mock_llm_responses, words)
    by_argument = run_case(AGENT, case(contains="yes"), **settings)
    assert (by_argument.status, by_argument.pass_rate) == (status, rate)
    assert len(by_argument.attempts) == len(words.split())


def test_a_case_says_itself_how_often_it_is_run(mock_llm_responses: ResponseConfigurator) -> None:
    outcomes(mock_llm_responses, "no yes no yes yes yes")
    repeated = case(contains="yes", repeat=2, threshold=0.5)
    assert run_case(AGENT, repeated).pass_rate == 0.5
    assert run_case(AGENT, repeated, repeat=4, threshold=0.7).pass_rate == 0.75


@pytest.mark.parametrize(
    ("words", "retry", "status", "retried"),
    [
        ("no no yes", 2, "passed", 2),
        ("no no yes", 1, "failed", 1),
        ("yes", 2, "passed", 0),
        ("no", 0, "failed", 0),
    ],
)
def test_a_run_that_failed_is_run_again(
    words: str, retry: int, status: str, retried: int, mock_llm_responses: ResponseConfigurator
) -> None:
    outcomes(mock_llm_responses, words)
    mock_llm_responses.set_price("m", 1_000_000, 0)
    result = run_case(AGENT, case(contains="yes"), retry=retry)
    assert (result.status, result.retried, len(result.attempts)) == (status, retried, 1)
    assert result.cost == (retried + 1) * (result.decisive_attempt.cost or 0)
    assert result.decisive_attempt.tokens > 0
    assert result.tokens == (retried + 1) * result.decisive_attempt.tokens


@pytest.mark.parametrize(
    "wrong", [{"repeat": 0}, {"threshold": 1.5}, {"retry": -1}, {"jobs": 0}, {"jobs": True}]
)
def test_an_argument_that_makes_no_sense_is_refused(wrong: Any) -> None:
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name} is .*; it must be "):
        run_suite(AGENT, suite(case()), dry_run=True, **wrong)


@pytest.mark.parametrize(
    "wrong", [{"repeat": 0}, {"threshold": 0}, {"retry": -1}, {"timeout": 0}], ids=str
)
def test_a_number_that_makes_no_sense_for_a_single_case_is_refused(wrong: Any) -> None:
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name} is .*; it must be "):
        run_case(AGENT, case(contains="yes"), dry_run=True, **wrong)


# Many at once


def test_cases_run_at_once_and_their_results_keep_the_order(
    mock_llm_responses: ResponseConfigurator,
) -> None:
    meeting = threading.Barrier(3, timeout=30)

    def reply(prompt: Any) -> str:
        meeting.wait()
        return f"Hello {prompt.prompt}"

    mock_llm_responses.set("m", reply)
    cases = [case(f"c{number}", str(number), contains=f"Hello {number}") for number in range(6)]
    told: list[Any] = []

    def tell(what: Any) -> None:
        told.append((threading.current_thread() is threading.main_thread(), type(what)))

    result = run_suite(AGENT, suite(*cases), jobs=3, on_result=tell, on_start=tell)
    assert [found.case.name for found in result.case_results] == [
        f"c{number}" for number in range(6)
    ]
    assert result.all_passed
    assert sorted(told, key=str) == sorted([(True, TestCase), (True, CaseResult)] * 6, key=str)


def test_what_a_thread_cannot_handle_ends_the_run(mock_llm_responses: ResponseConfigurator) -> None:
    meeting = threading.Barrier(
        2, timeout=30
    )  # so that no thread asks a model when the test has ended

    def reply(prompt: Any) -> None:
        meeting.wait()
        pytest.fail("stop")

    mock_llm_responses.set("m", reply)
    with pytest.raises(pytest.fail.Exception):
        run_suite(AGENT, suite(case("a"), case("b")), jobs=2)


@pytest.mark.parametrize(
    ("first", "raised"), [(KeyboardInterrupt(), KeyboardInterrupt), (None, RuntimeError)]
)
def test_an_interrupt_while_a_thread_starts_is_one(
    first: BaseException | None, raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(thread: threading.Thread) -> None:
        # As Python's own does now and then.
        error = RuntimeError("release unlocked lock")
        error.__context__ = first
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        with pytest.raises(raised):
            run_suite(AGENT, suite(case("a"), case("b")), jobs=2)


INTERRUPTED = """
import os, threading
from llm_mock import LLMMock
from llm_mock.agents import Agent
from llm_mock.suites.runner import run_suite
from llm_mock.suites.schema import TestSuiteDefinition

def never(prompt):
    os.write(1, b"waiting\\n")  # at once, though two threads write
    threading.Event().wait()

mock = LLMMock({"m": never})
cases = [{"name": name, "prompt": "Hi"} for name in "abcd"]
head = {"apiVersion": "llm-mock/v1", "kind": "TestSuite", "metadata": {"name": "s"}}
suite = TestSuiteDefinition.model_validate({**head, "cases": cases})
try:
    run_suite(Agent("m"), suite, jobs=2, model_override=mock("m"))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_an_interrupted_process_does_not_wait_for_the_cases_under_way() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert [process.stdout.readline() for _ in range(2)] == ["waiting\n"] * 2
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=30)[0] == "interrupted\n"
        finally:
            process.kill()


# What it may cost


@pytest.mark.parametrize("jobs", [1, 2])
def test_no_case_is_started_when_the_money_is_spent(
    jobs: int, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.set("m", Reply("Hello", usage={"input_tokens": 1, "output_tokens": 1}))
    mock_llm_responses.set_price("m", 500_000, 500_000)
    cases = [case(name) for name in "abcdef"]
    result = run_suite(AGENT, suite(*cases), max_cost=2, jobs=jobs)
    done = 2 if jobs == 1 else 3
    assert [found.case.name for found in result.case_results] == list("abcdef")[
        : len(result.case_results)
    ]
    assert 2 <= len(result.case_results) <= done
    assert result.not_run == tuple(cases[len(result.case_results) :])
    assert result.stopped is not None
    assert "max_cost is $2" in result.stopped
    assert not result.all_passed
    assert result.cost == len(result.case_results)


def test_runs_that_are_run_again_cost_too(mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set("m", Reply("no", usage={"input_tokens": 1, "output_tokens": 0}))
    mock_llm_responses.set_price("m", 1_000_000, 0)
    result = run_suite(
        AGENT, suite(case("a", contains="yes"), case("b")), max_cost=Decimal(4), retry=3
    )
    assert (len(result.case_results), result.cost) == (1, 4)


def test_a_judge_before_an_error_costs_too(mock_llm_responses: ResponseConfigurator) -> None:
    usage = {"input_tokens": 1, "output_tokens": 2}
    judged = [{"type": "judge", "criteria": "Polite", "model": "j"}]
    mock_llm_responses.add("m", "Hello")
    mock_llm_responses.add("j", Reply(data={"met": True, "reason": "It is"}, usage=usage))
    mock_llm_responses.add("m", RuntimeError("overloaded"))
    mock_llm_responses.set_price("m", 0, 0)
    mock_llm_responses.set_price("j", 1_000_000, 1_000_000)
    result = run_case(
        AGENT, case(turns=[{"prompt": "Hi", "assertions": judged}, {"prompt": "And?"}])
    )
    (attempt,) = result.attempts
    assert (attempt.error, attempt.assertions) == ("RuntimeError: overloaded", ())
    assert (result.cost, attempt.judge_cost, attempt.judge_tokens) == (3, 3, 3)


def test_where_nothing_may_be_spent_nothing_is_run(
    mock_llm_responses: ResponseConfigurator,
) -> None:
    mock_llm_responses.set_price("m", 1, 1)
    result = run_suite(AGENT, suite(case()), max_cost=0)
    assert (len(result.case_results), len(result.not_run)) == (0, 1)
    assert result.stopped is not None


def test_a_limit_that_the_last_case_reaches_stops_nothing(
    mock_llm_responses: ResponseConfigurator,
) -> None:
    mock_llm_responses.set("m", Reply("Hello", usage={"input_tokens": 1, "output_tokens": 0}))
    mock_llm_responses.set_price("m", 1_000_000, 0)
    result = run_suite(AGENT, suite(case("a"), case("b")), max_cost=2)
    assert result.all_passed
    assert result.stopped is None


def test_a_limit_that_can_no_longer_be_checked_stops_the_run(
    mock_llm_responses: ResponseConfigurator,
) -> None:
    mock_llm_responses.set_price("m", 1, 1)
    mock_llm_responses.set("judge", {"reason": "It greets.", "met": True})
    judged = case(
        "judged", assertions=[{"type": "judge", "criteria": "It greets.", "model": "judge"}]
    )
    result = run_suite(AGENT, suite(judged, case("b")), max_cost=2)
    assert [found.case.name for found in result.case_results] == ["judged"]
    assert (
        result.stopped == "the cost of the case 'judged' is unknown, so max_cost cannot be checked"
    )


def test_a_limit_that_cannot_be_checked_is_refused() -> None:
    with pytest.raises(InvalidBudget, match="the price of the model 'm' is unknown"):
        run_suite(AGENT, suite(case()), max_cost=1)
    assert run_suite(AGENT, suite(case()), max_cost=1, dry_run=True).all_passed
    application = suite(case()).model_copy(update={"target": Target(function="app.py:answer")})
    problem = "max_cost cannot be checked: the cost of a target is unknown. Remove the limit."
    with pytest.raises(InvalidBudget, match=f"^{re.escape(problem)}$"):
        run_suite(None, application, max_cost=1)


@pytest.mark.parametrize("amount", [-1, float("nan"), "much"])
def test_a_limit_that_is_no_amount_is_refused(amount: Any) -> None:
    with pytest.raises(InvalidBudget, match="max_cost"):
        run_suite(AGENT, suite(case()), max_cost=amount)


# Roles


def test_a_role_runs_as_its_agent(tmp_path: Path, mock_llm_responses: ResponseConfigurator) -> None:
    path = tmp_path / "role.yaml"
    path.write_text(
        "{apiVersion: llm-mock/v1, kind: Agent, metadata: {name: banker}, "
        f"spec: {{role: You run a bank., model: m, tools: [{{type: mcp, command: python -m "
        "bank.server, "
        f"cwd: '{EXAMPLES}', env: {{FOR: roles}}}}]}}}}"
    )
    mock_llm_responses.add(
        "m", Reply(tool_calls=[llm.ToolCall("accounts", {})]), system="You run a bank."
    )
    mock_llm_responses.add("m", "Alice is rich")
    result = run_suite(load_role(path), suite(case(contains="Alice")))
    assert result.all_passed
    assert result.agent == "banker"
    (turn,) = result.case_results[0].decisive_attempt.turns
    assert [call.name for call in turn.tool_calls] == ["accounts"]
