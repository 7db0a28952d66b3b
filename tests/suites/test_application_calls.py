"""Checks of the calls of models that the application under test makes."""

from __future__ import annotations

import json
import sys
from typing import Any

import llm
import pytest

pytest.importorskip("mcp")

from llm_mock import BrokenToolCall, LLMMock, Reply
from llm_mock.suites import load_suite, run_suite
from llm_mock.suites.application_calls import ModelCallReader, create_result
from llm_mock.suites.results import SuiteResult, TurnResult
from tests.boundaries.http.test_forwarding import provider as provider
from tests.provider_server import KEY, ProviderServer
from tests.suites.conftest import Project
from tests.suites.recorded import Parrot
from tests.suites.recorded import parrot as parrot

HEAD = "apiVersion: llm-mock/v1\nkind: TestSuite\nmetadata: {name: app}\n"
LLM_APP = """
import sys
import llm

def lookup(order: int) -> str:
    return f"order {order}: sent"

def answer(prompt):
    kind = llm.get_model("gpt-4o-mini").prompt("Classify: " + prompt).text()
    chain = llm.get_model("gpt-4o").chain(prompt, system="Be kind", tools=[lookup])
    return f"{kind}: {chain.text()}"

def ask(prompt):
    return llm.get_model("parrot").prompt(prompt).text()

def ask_twice(prompt):
    return ask(prompt + "!") + ask(prompt)

def silent(prompt):
    return "Hello"

def embed(prompt):
    llm.get_embedding_model("3-small").embed("a")

def ask_or_embed(prompt):
    return embed(prompt) if prompt == "Embed" else ask(prompt)

def embed_and_catch(prompt):
    try:
        embed(prompt)
    except Exception:
        return "Hello"

if __name__ == "__main__":
    print(answer(sys.stdin.read()))
"""
SDK_APP = """
import json, sys
import openai

def answer(prompt):
    client = openai.OpenAI(max_retries=0)
    ask = client.chat.completions.create
    messages = [{"role": "user", "content": "Classify: " + prompt}]
    kind = ask(model="gpt-4o-mini", messages=messages).choices[0].message.content
    messages = [{"role": "system", "content": "Be kind"}, {"role": "user", "content": prompt}]
    tool = {"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}}
    while True:
        message = ask(model="gpt-4o", messages=messages, tools=[tool]).choices[0].message
        if not message.tool_calls:
            return f"{kind}: {message.content}"
        messages.append(message.model_dump(exclude_none=True))
        # Sent back in another order than they were asked for.
        for call in reversed(message.tool_calls):
            order = json.loads(call.function.arguments)["order"]
            result = f"order {order}: sent"
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

if __name__ == "__main__":
    print(answer(sys.stdin.read()))
"""
REPLIES = """
    replies:
      - {model: gpt-4o-mini, text: status, usage: {input: 30, output: 10}}
      - model: gpt-4o
        usage: {input: 200, output: 20}
        tool_calls: [{name: lookup, arguments: {order: 1}}, {name: lookup, arguments: {order: 2}}]
      - {model: gpt-4o, text: Both are sent., usage: {input: 300, output: 40}}
"""


def write(project: Project, target: str, case: str, app: str = LLM_APP) -> None:
    """Write an application and a suite of one case."""
    project.write("app.py", app)
    project.write("app.yaml", f"{HEAD}target: {{{target}}}\ncases:\n  - name: case\n{case}\n")


def run(project: Project, **how: Any) -> SuiteResult:
    """Run the suite."""
    return run_suite(None, load_suite(project.path / "app.yaml"), **how)


def messages(result: SuiteResult) -> list[tuple[bool | None, str]]:
    """Return the outcomes of the assertions of the one case."""
    case = result.case_results[0]
    assert case.error is None, case.error
    return [(each.passed, each.message) for each in case.assertion_results]


def turn(result: SuiteResult) -> TurnResult:
    """Return the one turn of the one case."""
    return result.case_results[0].attempts[0].turns[0]


FUNCTION = "function: 'app.py:answer'"
COMMAND = f"command: {json.dumps([sys.executable, 'app.py'])}"
KINDS = [(FUNCTION, LLM_APP), (FUNCTION, SDK_APP), (COMMAND, LLM_APP), (COMMAND, SDK_APP)]


CHECKS = """
    assertions:
      - type: tool_calls
        calls: [{name: lookup, arguments: {order: 1}}, {name: lookup, arguments: {order: 2}}]
      - {type: tool_calls, calls: [{name: lookup, arguments: {order: 3}}], mode: superset}
      - {type: tool_called, name: lookup, arguments: {order: 2}}
      - type: trajectory
        steps: [{model: gpt-4o-mini}, {model: "gpt-4*"}, lookup, lookup, {model: gpt-4o}]
      - {type: contains, value: Classify, of: prompt}
      - {type: equals, value: "Be kind\\nBe kind", of: system}
      - {type: max_cost, value: 0.01}
      - {type: max_cost, value: 0.00001}
      - {type: max_latency, value: 10}
      - {type: reasoning_budget, max_reasoning_tokens: 1}
      - {type: max_tokens, value: 600}
      - {type: max_tokens, value: 599}
"""


@pytest.mark.parametrize(("target", "app"), KINDS)
def test_the_calls_of_an_application_are_checked_in_a_dry_run(
    target: str, app: str, project: Project
) -> None:
    write(project, target, "    prompt: Where are 1 and 2?" + REPLIES + CHECKS, app)
    result = run(project, dry_run=True)
    outcomes = messages(result)
    assert outcomes[:4] == [
        (True, "The tool calls match (strict), as scripted"),
        (
            False,
            "Tool calls: lookup(order=3) was not called; called: lookup, lookup, as scripted",
        ),
        (True, "Tool calls: lookup(order=2) was called, as scripted"),
        (True, "Trajectory: the trajectory matches (strict), as scripted"),
    ]
    assert [passed for passed, _ in outcomes[4:-2]] == [True, True, True, False, None, None]
    assert outcomes[-4][1].startswith("Skipped in a dry run: max_latency")
    assert outcomes[-3][1].startswith("Skipped in a dry run: reasoning_budget")
    assert outcomes[-2:] == [
        (True, "Took 600 tokens, at most 600, as scripted"),
        (False, "Took 600 tokens, more than 599, as scripted"),
    ]
    calls = turn(result).model_calls
    assert [call.model for call in calls] == ["gpt-4o-mini", "gpt-4o", "gpt-4o"]
    assert [call.result for call in calls[1].tool_calls] == ["order 1: sent", "order 2: sent"]
    assert calls[2].output == "Both are sent."
    # A dry run spends nothing, whatever its replies would cost.
    assert (turn(result).cost, turn(result).input_tokens) == (0, 0)
    assert result.case_results[0].cost == 0
    assert [(call.input_tokens, call.output_tokens) for call in calls] == [
        (30, 10),
        (200, 20),
        (300, 40),
    ]


TRAJECTORIES = [
    ("steps: [{model: gpt-4o-mini}, {model: gpt-4o}, lookup, lookup, {model: gpt-4o}]", None),
    ("steps: [{model: gpt-4o-mini}, lookup], mode: in_order", None),
    ("steps: [lookup, {model: gpt-4o-mini}], mode: superset", None),
    ("steps: [{name: lookup, arguments: {order: 2}}, {model: 'gpt-4o'}], mode: in_order", None),
    ("max_steps: 5", None),
    ("steps: [lookup], mode: superset, max_steps: 5", None),
    ("max_steps: 4", "Trajectory: 5 steps, more than 4"),
    ("steps: [lookup], mode: superset, max_steps: 4", "Trajectory: 5 steps, more than 4"),
    (
        "steps: [{model: gpt-4o}], mode: subset",
        "Trajectory: the model gpt-4o-mini was not expected; steps: the model gpt-4o-mini, "
        "the model gpt-4o, lookup, lookup, the model gpt-4o",
    ),
    (
        "steps: [{model: gpt-4o}]",
        "Trajectory: the model gpt-4o was expected, not the model gpt-4o-mini; steps: the model "
        "gpt-4o-mini, the model gpt-4o, lookup, lookup, the model gpt-4o",
    ),
    (
        "steps: [lookup, {model: gpt-4o-mini}], mode: in_order",
        "Trajectory: the model gpt-4o-mini was not called in the expected order; steps: the model "
        "gpt-4o-mini, the model gpt-4o, lookup, lookup, the model gpt-4o",
    ),
    (
        "steps: [{model: 'claude*'}], mode: superset",
        "Trajectory: the model claude* was not called; steps: the model gpt-4o-mini, "
        "the model gpt-4o, lookup, lookup, the model gpt-4o",
    ),
]


@pytest.mark.parametrize(("check", "failure"), TRAJECTORIES)
@pytest.mark.parametrize("prefix", ["", "not_"])
def test_a_trajectory_is_compared_step_by_step(
    prefix: str, check: str, failure: str | None, project: Project
) -> None:
    assertions = f"    assertions: [{{type: {prefix}trajectory, {check}}}]"
    write(project, FUNCTION, "    prompt: Where?\n" + REPLIES + assertions)
    [(passed, message)] = messages(run(project, dry_run=True))
    assert passed is ((failure is None) != bool(prefix))
    if failure is not None:
        assert message == f"{failure}, as scripted"
    elif check == "max_steps: 5":
        suffix = " (unexpected)" if prefix else ""
        assert message == f"Trajectory: 5 steps, at most 5{suffix}, as scripted"


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        ("", "needs 'steps' or 'max_steps'"),
        ("steps: []", "needs 'steps' or 'max_steps'"),
        ("steps: [{}]", "needs either a 'model' or the 'name' of a tool"),
        ("steps: [{model: a, name: b}]", "needs either a 'model' or the 'name' of a tool"),
        ("steps: [{model: a, arguments: {b: 1}}]", "'arguments' need the 'name' of a tool"),
        ("steps: 3", "steps"),
        ("max_steps: 0", "max_steps"),
    ],
)
def test_a_trajectory_that_says_nothing_is_an_error_with_its_line(
    check: str, problem: str, project: Project
) -> None:
    comma = ", " if check else ""
    write(
        project, FUNCTION, f"    prompt: Hi\n    assertions: [{{type: trajectory{comma}{check}}}]"
    )
    ended = project.command("validate", "app.yaml")
    assert ended.exit_code == 1
    assert "app.yaml:8" in ended.output or "app.yaml:7" in ended.output
    assert problem in " ".join(ended.output.split())


CALL_CHECKS = """
    assertions:
      - {type: tool_calls, calls: []}
      - {type: not_tool_called, name: lookup}
      - {type: trajectory, max_steps: 9}
      - {type: max_tokens, value: 9999}
      - {type: max_cost, value: 9}
      - {type: reasoning_budget, max_reasoning_tokens: 9}
"""


@pytest.mark.parametrize(
    ("target", "case", "reason"),
    [
        ("function: 'app.py:silent'", "", "no model call was observed"),
        (
            "url: 'http://127.0.0.1:9', mocked: true",
            "",
            "the model calls of a url target are unknown: another process makes them",
        ),
        (FUNCTION, "    expected_output: Hello\n", "only a real model "),
    ],
)
def test_calls_that_are_not_known_are_not_checked_and_never_pass(
    target: str,
    case: str,
    reason: str,
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("llm_mock.suites.target_runner.send_request", lambda *_: "Hello")
    write(project, target, f"    prompt: Hi\n{case}" + CALL_CHECKS)
    result = run(project, dry_run=True)
    outcomes = messages(result)
    assert len(outcomes) == 6
    assert all(passed is None and reason in message for passed, message in outcomes)
    assert result.case_results[0].status == "not checked"


def test_the_prompt_of_an_application_without_calls_is_not_checked(project: Project) -> None:
    checks = "    assertions: [{type: not_contains, value: secret, of: prompt}]"
    write(project, "function: 'app.py:silent'", f"    prompt: One\n{checks}")
    [(passed, message)] = messages(run(project, dry_run=True))
    assert (passed, "the prompt of this run, or of the application's" in message) == (None, True)


def test_a_call_of_an_earlier_turn_is_not_one_of_the_next(project: Project) -> None:
    turns = """
    turns:
      - prompt: Where?
        replies: [{text: a}, {text: b}]
        assertions: [{type: trajectory, max_steps: 2}]
      - prompt: When?
        replies: [{text: c}, {text: d}]
        assertions:
          - {type: trajectory, steps: [{model: gpt-4o-mini}, {model: gpt-4o}]}
          - {type: contains, of: prompt, value: When}
          - {type: not_contains, of: prompt, value: Where}
"""
    write(project, FUNCTION, turns)
    assert [passed for passed, _ in messages(run(project, dry_run=True))] == [True] * 4


LIVE_CHECKS = """
    assertions:
      - {type: trajectory, steps: [{model: parrot}, {model: parrot}]}
      - {type: max_tokens, value: 10}
      - {type: max_tokens, value: 9}
      - {type: tool_calls, calls: [history]}
      - {type: equals, of: prompt, value: "One!\\nOne"}
"""


@pytest.mark.parametrize("how", [{}, {"jobs": 2}, {"cassette": "new_episodes"}])
def test_the_calls_of_a_live_run_are_observed_while_they_pass_through(
    how: dict[str, Any], project: Project, parrot: Parrot
) -> None:
    write(project, "function: 'app.py:ask_twice'", "    prompt: One" + LIVE_CHECKS)
    result = run(project, **how)
    assert parrot.asked == ["One!", "One"]
    outcomes = messages(result)
    assert [passed for passed, _ in outcomes] == [True, True, False, False, True]
    assert outcomes[2][1] == "Took 10 tokens, more than 9"
    assert turn(result).output == "Answer 1 to One!Answer 2 to One"
    assert (turn(result).input_tokens, turn(result).output_tokens) == (6, 4)
    assert [call.output for call in turn(result).model_calls] == [
        "Answer 1 to One!",
        "Answer 2 to One",
    ]
    # Nothing but a cassette writes a file.
    assert (project.path / "cassettes").exists() is ("cassette" in how)
    if how.get("cassette"):
        again = run(project, cassette="none")
        assert messages(again) == outcomes
        assert len(parrot.asked) == 2


def test_the_model_asks_for_a_tool_in_a_live_run(project: Project, parrot: Parrot) -> None:
    call = "{name: history, arguments: {account: alice}}"
    checks = f"    assertions: [{{type: tool_calls, calls: [{call}]}}]"
    write(project, "function: 'app.py:ask'", f"    prompt: Call history\n{checks}")
    result = run(project)
    assert messages(result) == [(True, "The tool calls match (strict)")]
    assert turn(result).tool_calls[0].result is None


def test_a_live_run_without_such_a_check_is_left_alone(
    project: Project, parrot: Parrot, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        project,
        "function: 'app.py:ask'",
        "    prompt: One\n    assertions: [{type: contains, value: One}]",
    )
    monkeypatch.setitem(sys.modules, "llm_mock.suites.live_calls", None)
    with monkeypatch.context() as context:
        context.setattr("llm_mock.core.context._State.mock", None)
        result = run(project)
    assert result.all_passed
    assert turn(result).model_calls == ()
    assert turn(result).cost is None


@pytest.mark.parametrize("jobs", [1, 2])
def test_cases_without_such_a_check_are_left_alone_beside_one_with_it(
    project: Project, parrot: Parrot, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write(
        project,
        "function: 'app.py:ask_or_embed'",
        "    prompt: One\n    assertions: [{type: trajectory, steps: [{model: parrot}]}]\n"
        "  - {name: unobserved, prompt: Two, assertions: [{type: contains, value: Two}]}\n"
        "  - {name: embedding, prompt: Embed}",
    )
    observed, unobserved, embedding = run(project, jobs=jobs).case_results
    assert (observed.passed, unobserved.passed) == (True, True)
    assert len(observed.attempts[0].turns[0].model_calls) == 1
    assert unobserved.attempts[0].turns[0].model_calls == ()
    # The real embedding model was asked.
    assert "NeedsKeyException" in str(embedding.error)


def test_the_calls_of_a_command_in_a_live_run_come_through_a_server(
    project: Project, provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = """
import sys, openai
client = openai.OpenAI(max_retries=0)
messages = [{"role": "user", "content": sys.argv[1]}]
print(client.chat.completions.create(model="gpt-4o", messages=messages).choices[0].message.content)
"""
    command = json.dumps([sys.executable, "app.py", "{prompt}"])
    trajectory = "{type: trajectory, steps: [{model: gpt-4o}]}"
    checks = f"    assertions: [{trajectory}, {{type: max_tokens, value: 1}}]"
    write(project, f"command: {command}", f"    prompt: One\n{checks}", app)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    result = run(project)
    outcomes = messages(result)
    assert [passed for passed, _ in outcomes] == [True, False]
    assert len(provider.requests) == 1
    # A command that has a base URL of its own runs all the same, and is not observed.
    monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
    result = run(project)
    assert [passed for passed, _ in messages(result)] == [None, None]
    assert (
        "OPENAI_BASE_URL sends the model calls of the command to another server"
        in messages(result)[0][1]
    )
    assert len(provider.requests) == 2


def test_nothing_is_checked_if_a_call_could_not_be_observed(
    project: Project, parrot: Parrot
) -> None:
    checks = "    assertions: [{type: max_cost, value: 1}]"
    write(project, "function: 'app.py:embed_and_catch'", f"    prompt: One\n{checks}")
    [(passed, message)] = messages(run(project))
    assert passed is None
    assert "The embedding model 'text-embedding-3-small' was called" in message


def test_nothing_is_checked_if_a_call_went_to_a_server_that_is_left_alone(
    project: Project, provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
    checks = "    assertions: [{type: max_tokens, value: 1}]"
    write(project, FUNCTION, f"    prompt: One\n{checks}", SDK_APP)
    [(passed, message)] = messages(run(project))
    assert passed is None
    server = provider.url.removeprefix("http://")
    assert message == (
        "Skipped: max_tokens, a call could not be read: POST "
        f"{provider.url}/v1/chat/completions. Add {server} to ini llm_mock_hosts."
    )


def test_a_call_that_cannot_be_observed_is_no_call(project: Project, parrot: Parrot) -> None:
    write(
        project,
        "function: 'app.py:embed'",
        "    prompt: One\n    assertions: [{type: max_cost, value: 1}]",
    )
    error = run(project).case_results[0].error
    assert error is not None
    assert "The embedding model" in error
    assert "Remove the checks of model calls" in error


def test_the_document_has_the_calls_without_secrets(project: Project) -> None:
    secret = "sk-proj-" + "a1B2" * 12
    case = (
        "    prompt: Where?\n"
        f"    replies: [{{text: a}}, {{text: 'the key is {secret}'}}]\n"
        "    assertions: [{type: trajectory, max_steps: 2}]"
    )
    write(project, FUNCTION, case)
    ended = project.command("test", "-s", "app.yaml", "--dry-run", "-o", "out.json")
    assert ended.exit_code == 0, ended.output
    text = (project.path / "out.json").read_text()
    assert secret not in text
    [turn] = json.loads(text)["suites"][0]["cases"][0]["attempts"][0]["turns"]
    first = turn["model_calls"][0]
    assert (first["model"], first["prompt"], first["output"]) == (
        "gpt-4o-mini",
        "Classify: Where?",
        "a",
    )
    assert first["tool_calls"] == []
    assert first["error"] is None


def test_the_calls_of_a_live_case_in_pytest_are_observed(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import llm, llm.plugins
        from tests.suites.recorded import Plugin

        llm.plugins.load_plugins()
        llm.plugins.pm.register(Plugin(), name="parrots")

        def pytest_unconfigure():
            llm.plugins.pm.unregister(name="parrots")
        """
    )
    (pytester.path / "app.py").write_text(LLM_APP)
    case = "    prompt: One\n    assertions: [{type: max_tokens, value: 5}]\n"
    other = "  - name: other\n    prompt: One\n    assertions: [{type: max_tokens, value: 4}]\n"
    target = "target: {function: 'app.py:ask'}\ncases:\n  - name: case\n"
    (pytester.path / "app.yaml").write_text(f"{HEAD}{target}{case}{other}")
    pytester.makeini("[pytest]\nllm_mock_suites = app.yaml\n")
    result = pytester.runpytest_inprocess("--llm-mock-live", "app.yaml")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*other: Took 5 tokens, more than 4"])


def test_a_call_is_read_with_its_data_its_tools_and_its_error() -> None:
    mock = LLMMock()
    mock("m").prompt("Before").text()
    reader = ModelCallReader(mock)
    mock.add("m", {"fruit": "Äpfel"})
    mock.add("m", Reply("", tool_calls=[BrokenToolCall("weigh", {"fruit": "plum"})]))
    mock.add("other", ValueError("no"))
    reader.begin_turn()
    mock("m").prompt("One", system="Be kind").text()
    mock("m").prompt("Two").text()
    with pytest.raises(ValueError, match="no"):
        mock("other").prompt("Three").text()
    first, second, failed = reader.read()
    assert (first.prompt, first.system, first.output) == ("One", "Be kind", '{"fruit": "Äpfel"}')
    assert [(each.name, each.arguments) for each in second.tool_calls] == [
        ("weigh", {"fruit": "plum"})
    ]
    assert (failed.model, failed.output, failed.error) == ("other", "", "no")
    assert (first.cost, failed.cost, failed.input_tokens) == (None, 0, None)


def test_a_result_without_an_id_is_that_of_the_first_call_to_its_tool() -> None:
    mock = LLMMock()
    reader = ModelCallReader(mock)
    names = ["weigh", "count", "count"]
    mock.add("m", Reply("", tool_calls=[BrokenToolCall(name, {}) for name in names]))
    mock.add("m", "Done")
    mock("m").prompt("One").text()
    results = [llm.ToolResult(name=name, output="3") for name in ("count", "unknown")]
    mock("m").prompt("Two", tool_results=results).text()
    first, _ = reader.read()
    found = [(each.name, each.result) for each in first.tool_calls]
    assert found == [("weigh", None), ("count", "3"), ("count", None)]


def test_an_application_without_calls_has_one_turn_with_its_output() -> None:
    found = create_result("app", "Hi", "Hello", 1.5, ())
    (turn,) = found.turns
    assert (turn.text, turn.tool_calls, turn.duration) == ("Hello", (), 1.5)
    assert (turn.usage.input, turn.usage.output) == (0, 0)
    assert (found.agent, found.model, found.prompt, found.output) == ("app", "", "Hi", "Hello")
    assert (found.success, found.duration) == (True, 1.5)
