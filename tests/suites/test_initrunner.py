"""Suites and roles in the forms of InitRunner's later versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tenacity")

from llm.models import Usage

from llm_mock.agents import AgentResult, ToolCallRecord, Turn
from llm_mock.commands.validate import describe_file
from llm_mock.errors import InvalidFile
from llm_mock.suites import load_suite, run_suite
from llm_mock.suites.assertions import RunContext, evaluate_assertion
from llm_mock.suites.role import load_role, resolve_model

SUITE = """\
apiVersion: initrunner/v1
kind: TestSuite
metadata:
  name: later-forms
cases:
  - name: search
    prompt: What is new?
    expected_output: Nothing.
    tags: [search]
    assertions:
      - {type: contains, value: nothing, case_insensitive: true}
      - {type: max_tokens, limit: 500}
      - {type: max_latency, limit_ms: 1500}
      - {type: tool_calls, expected: [web_search]}
      - {type: tool_calls, expected: [web_search, fetch], mode: superset}
      - {type: tool_calls, expected: [web_search], mode: exact}
      - {type: tool_order, sequence: [web_search, fetch]}
      - {type: tool_order, sequence: [web_search], strict: true}
      - {type: llm_judge, criteria: [It is short, It is polite], model: "openai:gpt-4o-mini"}
      - {type: reasoning_budget, max_reasoning_tokens: 100}
"""


def assertion(text: str, tmp_path: Path) -> Any:
    """Return the assertion that a line of a suite is read as."""
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE[: SUITE.index("      - {type: contains")] + f"      - {{{text}}}\n")
    return load_suite(path).cases[0].assertions[0]


def run_that_called(*names: str, details: dict[str, Any] | None = None) -> RunContext:
    calls = tuple(ToolCallRecord(name, {}, "ok") for name in names)
    return RunContext(
        AgentResult("a", "m", "p", (Turn("Done", calls, Usage(1, 1, details)),), True)
    )


def test_a_suite_of_later_forms_runs_dry_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE)
    (role := tmp_path / "role.yaml").write_text(ENVELOPE.format(model=""))
    result = run_suite(load_role(role), load_suite(path), dry_run=True)
    (case,) = result.case_results
    assert case.status == "passed", case
    assert [each.passed for each in case.decisive_attempt.assertions] == [True, *[None] * 9]


@pytest.mark.parametrize(
    ("text", "called", "passes"),
    [
        ("type: tool_calls, expected: [a, b]", "aabc", True),
        ("type: tool_calls, expected: [a, b], mode: subset", "a", False),
        ("type: tool_calls, expected: [a, b], mode: superset", "aa", True),
        ("type: tool_calls, expected: [a, b], mode: superset", "ac", False),
        ("type: tool_calls, expected: [a, b], mode: exact", "bab", True),
        ("type: tool_calls, expected: [a, b], mode: exact", "a", False),
        ("type: tool_order, sequence: [a, b]", "acb", True),
        ("type: tool_order, sequence: [a, b]", "ba", False),
        ("type: tool_order, sequence: [a, b], strict: true", "acb", False),
        (
            "type: tool_calls, calls: [a, b], mode: superset",
            "a",
            False,
        ),  # our form, which has our meaning
        ("type: tool_calls, calls: [a, b], mode: subset", "a", True),
    ],
)
def test_their_modes_have_their_meaning(
    text: str, called: str, passes: bool, tmp_path: Path
) -> None:
    assert (
        evaluate_assertion(assertion(text, tmp_path), "Done", run_that_called(*called)).passed
        is passes
    )


def test_values_have_our_units(tmp_path: Path) -> None:
    assert assertion("type: max_tokens, limit: 500", tmp_path).value == 500
    assert assertion("type: max_latency, limit_ms: 1500", tmp_path).value == 1.5
    judge = assertion(
        'type: llm_judge, criteria: [Short, Polite], model: "anthropic:claude"', tmp_path
    )
    assert (judge.criteria, judge.model) == ("Short\nPolite", "anthropic/claude")
    for model in ("openai:gpt-5", "gpt-5"):
        text = f'type: llm_judge, criteria: Short, model: "{model}"'
        assert assertion(text, tmp_path).model == "gpt-5"


@pytest.mark.parametrize(
    ("details", "passes"),
    [
        (None, True),
        ({"completion_tokens_details": {"reasoning_tokens": 101}}, False),
        ({"thoughtsTokenCount": 7}, True),
    ],
)
def test_a_reasoning_budget_is_of_what_the_model_tells(
    details: Any, passes: bool, tmp_path: Path
) -> None:
    budget = assertion("type: reasoning_budget, max_reasoning_tokens: 100", tmp_path)
    assert evaluate_assertion(budget, "Done", run_that_called(details=details)).passed is passes


@pytest.mark.parametrize(
    "text",
    [
        *(
            "type: max_tokens, limit: many",
            "type: max_latency, limit_ms: -5",
            "type: tool_calls, expected: 3",
        ),
        *(
            "type: tool_calls, expected: []",
            "type: tool_calls, expected: [a], mode: some",
            "type: llm_judge, criteria: [3]",
            "type: [a]",
        ),
    ],
)
def test_what_is_wrong_in_their_form_is_told_with_its_line(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match=r"suite\.yaml:11: "):
        assertion(text, tmp_path)


def test_their_forms_are_theirs_alone(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE.replace("initrunner/v1", "llm-mock/v1"))
    with pytest.raises(InvalidFile, match="limit"):
        load_suite(path)


ENVELOPE = """\
apiVersion: initrunner/v1
kind: Agent
metadata: {{name: helper}}
spec:
  role: You help.
{model}
"""


@pytest.mark.parametrize(
    ("model", "options"), [("", {}), ("  model: {temperature: 0.2}", {"temperature": 0.2})]
)
def test_a_role_without_a_model_runs_dry_and_says_live_what_is_missing(
    model: str, options: dict[str, Any], tmp_path: Path
) -> None:
    (path := tmp_path / "role.yaml").write_text(ENVELOPE.format(model=model))
    role = load_role(path)
    assert (role.agent.asks.options, role.warning) == (options, None)
    (suite := tmp_path / "suite.yaml").write_text(SUITE)
    assert run_suite(role, load_suite(suite), dry_run=True).case_results[0].status == "passed"
    with pytest.raises(InvalidFile, match=r"role\.yaml:\d: the role has no model: add model:"):
        resolve_model(role)


@pytest.mark.parametrize("kind", ["Flow", "Team", "Compose", "Pipeline", "Service"])
def test_kinds_without_a_counterpart_are_named(kind: str, tmp_path: Path) -> None:
    (path := tmp_path / "other.yaml").write_text(
        f"apiVersion: initrunner/v1\nkind: {kind}\nmetadata: {{name: n}}\n"
    )
    for read in (load_role, lambda path: describe_file(path, None)):
        with pytest.raises(
            InvalidFile, match=rf"other\.yaml:2: kind is '{kind}', a .* of InitRunner"
        ):
            read(path)


FLAT = """\
x-own: 1
name: helper
description: It helps.
spec_version: 3
model: anthropic:claude-sonnet
prompt: You help.
tools:
- datetime
- filesystem: {root: .}
- mcp:
    command: uvx notes
    timeout_seconds: 5
guardrails:
  max_request_limit: 7
  timeout_seconds: 30
"""


def test_a_flat_agent_is_a_role(tmp_path: Path) -> None:
    (path := tmp_path / "flat.yaml").write_text(FLAT)
    assert describe_file(path, None) == "role 'helper'"
    role = load_role(path)
    agent, (server,) = role.agent, role.agent.mcp_servers
    assert (role.name, role.model_ids) == ("helper", ("anthropic/claude-sonnet", "claude-sonnet"))
    assert (agent.system_prompt, agent.max_turns, server.call_timeout) == ("You help.", 7, 5)
    assert role.warning == (
        f"{path}: not supported and ignored: guardrails.timeout_seconds (line 15), "
        "tools[0] of type datetime (line 8), tools[1] of type filesystem (line 9)."
    )
    path.write_text(FLAT[: FLAT.index("tools:")])
    (suite := tmp_path / "suite.yaml").write_text(SUITE)
    assert (
        run_suite(load_role(path), load_suite(suite), dry_run=True).case_results[0].status
        == "passed"
    )


@pytest.mark.parametrize("tool", ["a", "{a: }", "{a: {}}", "{a: {b: 1}}", "{type: a}"])
def test_each_form_of_a_tool_of_a_flat_agent_has_its_type(tool: str, tmp_path: Path) -> None:
    (path := tmp_path / "flat.yaml").write_text(f"name: helper\nprompt: Help.\ntools: [{tool}]\n")
    assert load_role(path).warning == (
        f"{path}: not supported and ignored: tools[0] of type a (line 3)."
    )


def test_what_only_describes_a_flat_agent_is_ignored_in_silence(tmp_path: Path) -> None:
    keys = "description tags author team version dependencies bundle spec_version"
    lines = "".join(f"{key}: [a]\n" for key in keys.split())
    (path := tmp_path / "flat.yaml").write_text(f"name: helper\nprompt: Help.\n{lines}")
    assert load_role(path).warning is None


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("apiVersion: initrunner/v1", "1: 'kind' is missing\n"),
        ("kind: Agent", "1: 'apiVersion' is missing\n"),
        ("spec: {role: a}", "1: 'apiVersion' is missing\n"),
        ("agents: {}", "1: this file has several agents"),
        ("kind: Robot\nagents: {}", "3: kind is 'Robot'; a role has kind: Agent"),
    ],
)
def test_a_file_with_keys_of_another_kind_is_no_flat_agent(
    key: str, problem: str, tmp_path: Path
) -> None:
    (path := tmp_path / "flat.yaml").write_text(f"name: helper\nprompt: Help.\n{key}\n")
    with pytest.raises(InvalidFile) as raised:
        load_role(path)
    assert str(raised.value).startswith(f"{path}:{problem}")


@pytest.mark.parametrize("key", ["name: helper", "agents: {}"])
def test_only_names_and_agents_together_are_a_team(key: str, tmp_path: Path) -> None:
    (path := tmp_path / "flat.yaml").write_text(f"{key}\n")
    missing = ("apiVersion", "kind", "metadata", "spec")
    lines = [f"{path}:1: {name!r} is missing" for name in missing]
    with pytest.raises(InvalidFile) as raised:
        load_role(path)
    assert str(raised.value).splitlines() == lines


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name: helper\nprompt: [1]\n", "2: prompt: should be text"),
        (
            "name: helper\nprompt: p\ntools: [{mcp: {args: [a]}}]\n",
            "3: a tool of type mcp needs a 'command'",
        ),
        (
            "name: helper\nagents: {a: {prompt: p}}\n",
            "1: this file has several agents, like a team or a flow of InitRunner: ",
        ),
        ("name: helper\nprompt: p\nskill: nowhere\n", "3: there is no skill at "),
    ],
)
def test_what_is_wrong_with_a_flat_agent_is_told_with_its_line(
    text: str, problem: str, tmp_path: Path
) -> None:
    (path := tmp_path / "flat.yaml").write_text(text)
    for read in (load_role, lambda path: describe_file(path, None)):
        with pytest.raises(InvalidFile) as raised:
            read(path)
        assert str(raised.value).startswith(f"{path}:{problem}")
