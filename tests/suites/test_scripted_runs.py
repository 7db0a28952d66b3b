"""Replies of a dry run that differ by variant, model, run and turn, with tool calls."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("mcp")

from llm_mock.agents import Agent
from llm_mock.suites import load_suite, run_suite
from llm_mock.suites.runner import run_case
from llm_mock.suites.variants import variants_of
from tests.suites.cases import BANK, case
from tests.suites.conftest import Project

AGENT = Agent("gpt-5")
HEAD = "apiVersion: llm-mock/v1\nkind: TestSuite\nmetadata: {name: varied}\n"
MODELS = "matrix: {models: [gpt-5, {model: gpt-4.1, name: cold}]}\n"
PROMPTS = (
    "matrix:\n  models: [gpt-5, gpt-4.1]\n"
    "  system_prompts: [{name: kind, text: Be kind.}, {name: short, text: Be short.}]\n"
)
TRANSFER = {"name": "transfer", "arguments": {"source": "alice", "target": "bob", "cents": 5}}


def run(replies: list[Any], agent: Agent = AGENT, **fields: Any) -> Any:
    """Return the result of a dry run of a case with replies."""
    return run_case(agent, case(replies=replies, **fields), dry_run=True)


def outputs(project: Project, matrix: str, fields: str) -> dict[str, list[str]]:
    """Return the outputs of the runs of a case in each variant."""
    project.write("s.yaml", f"{HEAD}{matrix}cases:\n  - name: c\n    prompt: Hi\n{fields}")
    found = {}
    for variant in variants_of(None, load_suite("s.yaml")):
        [result] = variant.run(dry_run=True).case_results
        found[variant.name] = [attempt.error or attempt.output for attempt in result.attempts]
    return found


@pytest.mark.parametrize(
    ("matrix", "replies", "expected"),
    [
        pytest.param(
            MODELS,
            "{model: gpt-5, text: nine}, {model: gpt-4.1, text: ten}",
            {"gpt-5": ["nine"], "cold": ["ten"]},
            id="each model",
        ),
        pytest.param(
            MODELS,
            "{text: nine}, {variant: cold, text: ten}",
            {"gpt-5": ["nine"], "cold": ["ten"]},
            id="an entry by its name",
        ),
        pytest.param(
            MODELS,
            "{model: 'gpt-*', text: nine}, {model: gpt-4.1, text: ten}, {text: eight}",
            {"gpt-5": ["nine"], "cold": ["ten"]},
            id="an id before a glob, and that before any model",
        ),
        pytest.param(
            PROMPTS,
            "{text: a}, {variant: 'gpt-5, short', text: b}, {variant: [kind], text: c}",
            {
                "gpt-5, kind": ["c"],
                "gpt-5, short": ["b"],
                "gpt-4.1, kind": ["c"],
                "gpt-4.1, short": ["a"],
            },
            id="a whole variant and an entry of another list",
        ),
    ],
)
def test_each_variant_has_the_replies_that_are_for_it(
    project: Project, matrix: str, replies: str, expected: dict[str, list[str]]
) -> None:
    assert outputs(project, matrix, f"    replies: [{replies}]\n") == expected


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ("{run: 1, text: a}, {run: [2, 3], text: b}", ["a", "b", "b"]),
        ("{text: a}, {run: 2, text: b}", ["a", "b", "a"]),
        ("{run: 2, text: b}, {text: a}", ["a", "b", "a"]),
        ("{run: 2, text: b}, {run: 2, variant: gpt-5, text: c}, {text: a}", ["a", "c", "a"]),
        ("{model: gpt-5, text: a}, {run: 3, text: b}", ["a", "a", "b"]),
    ],
)
def test_each_run_has_the_replies_that_are_for_it(
    project: Project, replies: str, expected: list[str]
) -> None:
    found = outputs(
        project, "matrix: {models: [gpt-5]}\n", f"    repeat: 3\n    replies: [{replies}]\n"
    )
    assert found == {"gpt-5": expected}


def test_a_pass_rate_can_be_between_none_and_all() -> None:
    replies = [{"text": "yes"}, {"run": [2, 5], "text": "no"}]
    result = run(replies, repeat=5, threshold=0.5, contains="yes")
    assert (result.status, result.pass_rate) == ("passed", 0.6)


def test_a_reply_to_other_conditions_stays_beside_that_of_a_run() -> None:
    result = run(
        [
            {"prompt": "Hi", "text": "general"},
            {"run": 1, "prompt": "H", "text": "of the run"},
        ]
    )
    assert "One queued reply was not used" in result.error
    assert "'of the run'" in result.error


def test_a_run_without_a_reply_fails_and_says_what_to_write() -> None:
    result = run([{"run": 1, "text": "a"}], repeat=2)
    assert [attempt.status for attempt in result.attempts] == ["passed", "failed"]
    assert "Replies for another model, variant or run do not count." in result.error


def test_a_model_without_a_reply_fails() -> None:
    result = run([{"model": "gpt-4.1", "text": "a"}])
    assert "Replies for another model, variant or run do not count." in result.error


@pytest.mark.parametrize(("optional", "status"), [(True, "passed"), (False, "failed")])
def test_only_an_optional_reply_of_a_role_may_stay_unused(optional: bool, status: str) -> None:
    result = run([{"text": "a"}, {"text": "b", "optional": optional}])
    assert result.status == status
    assert optional or "optional: true" in result.error


@pytest.mark.parametrize(("optional", "code"), [("true", 0), ("false", 1)])
def test_only_an_optional_reply_of_an_application_may_stay_unused(
    project: Project, optional: str, code: int
) -> None:
    project.write("app.py", "import llm\ndef ask(prompt):\n    return prompt\n")
    project.write(
        "s.yaml",
        f"{HEAD}target: {{function: 'app.py:ask'}}\ncases:\n"
        f"  - {{name: c, prompt: Hi, replies: [{{text: a, optional: {optional}}}]}}\n",
    )
    assert project.command("test", "-s", "s.yaml", "--dry-run").exit_code == code


def test_each_turn_of_a_role_has_its_own_replies() -> None:
    turns = [{"prompt": "Hi", "replies": [{"text": "one"}]}]
    turns.append({"prompt": "Ho", "replies": [{"text": "two"}, {"run": 2, "text": "three"}]})
    result = run_case(AGENT, case(turns=turns, repeat=2), dry_run=True)
    found = [[turn.output for turn in attempt.turns] for attempt in result.attempts]
    assert found == [["one", "two"], ["one", "three"]]


def test_a_failure_of_the_provider_can_be_scripted_for_a_role() -> None:
    result = run([{"error": "rate-limit"}, {"text": "at last"}])
    assert result.output == "at last"


def test_a_run_that_is_tried_again_has_the_same_replies() -> None:
    wanted = case(replies=[{"text": "no"}, {"run": 2, "text": "yes"}], repeat=2, contains="yes")
    result = run_case(AGENT, wanted, dry_run=True, retry=1)
    assert [attempt.output for attempt in result.attempts] == ["no", "yes"]
    assert result.retried == 1


CALLS = {"type": "tool_calls", "calls": ["transfer"]}
CALLED = {"type": "tool_called", "name": "transfer", "arguments": {"cents": 5}}
SCRIPT = [{"tool_calls": TRANSFER}, {"text": "Sent", "tool_result": "bob"}]


@pytest.mark.parametrize("call", [{"tool_calls": [TRANSFER]}, {"parts": ["Wait.", TRANSFER]}])
def test_a_scripted_call_of_a_tool_is_made_and_checked(call: dict[str, Any]) -> None:
    result = run([call, SCRIPT[1]], Agent("m", [BANK]), assertions=[CALLS, CALLED])
    assert result.status == "passed", result.error
    assert result.output == "Sent"
    [made] = result.decisive_attempt.turns[0].tool_calls
    assert made.error is None
    assert '"target":"bob"' in made.result.replace(" ", "")
    messages = [found.message for found in result.assertion_results]
    assert messages == [
        "The tool calls match (strict), as scripted",
        "Tool calls: transfer(cents=5) was called, as scripted",
    ]


def test_a_run_in_which_the_script_calls_no_tool_fails_the_check() -> None:
    result = run(
        [*SCRIPT, {"run": 2, "text": "No."}],
        Agent("m", [BANK]),
        repeat=2,
        threshold=0.5,
        assertions=[CALLS],
    )
    assert [attempt.status for attempt in result.attempts] == ["passed", "failed"]
    assert "called: no tool, as scripted" in result.assertion_results[0].message


def test_a_script_without_any_tool_says_nothing_of_tools() -> None:
    negated = {"type": "not_tool_calls", "calls": ["transfer"]}
    result = run([{"text": "Hi"}], Agent("m", [BANK]), assertions=[CALLS, negated])
    assert result.status == "not checked"


def test_arguments_that_the_real_tool_refuses_fail_the_run() -> None:
    call = {"name": "transfer", "arguments": {"sauce": "alice"}}
    result = run([{"tool_calls": call}], Agent("m", [BANK]))
    assert "'source' is a required property" in result.error


def test_a_tool_that_the_role_does_not_have_fails_the_run() -> None:
    result = run([{"tool_calls": {"name": "transfers"}}, {"text": "a"}], Agent("m", [BANK]))
    assert result.status == "failed"
    assert "transfers" in result.error


USAGE = {"input": 60, "output": 40}


@pytest.mark.parametrize(
    ("limit", "passed", "message"),
    [
        ({"type": "max_tokens", "value": 100}, True, "Took 100 tokens, at most 100, as scripted"),
        ({"type": "max_tokens", "value": 99}, False, "Took 100 tokens, more than 99, as scripted"),
        ({"type": "max_cost", "value": 0.000001}, False, "as scripted"),
    ],
)
def test_scripted_tokens_are_checked(limit: dict[str, Any], passed: bool, message: str) -> None:
    result = run([{"text": "Hi", "usage": USAGE}], Agent("gpt-4o"), assertions=[limit])
    [found] = result.assertion_results
    assert found.passed is passed
    assert message in found.message
    assert result.decisive_attempt.tokens == 0


def test_a_reply_without_tokens_leaves_their_check_undone() -> None:
    replies = [{"error": "overloaded"}, {"text": "Hi", "usage": USAGE}]
    limits = [{"type": "max_tokens", "value": 99}]
    assert run(replies, Agent("gpt-4o"), assertions=limits).status == "failed"
    replies.append({"text": "Ho", "optional": True})
    assert run(replies, Agent("gpt-4o"), assertions=limits).status == "not checked"


@pytest.mark.parametrize(
    ("head", "fields", "problem"),
    [
        (
            "",
            "replies: [{text: a, run: 2}]",
            "reply 1: run 2 does not exist: 'repeat' of the case is 1",
        ),
        (
            "defaults: {repeat: 3}",
            "replies: [{text: a}, {text: a, run: [3, 4]}]",
            "reply 2: run 4 does not exist: 'repeat' of the case is 3",
        ),
        (
            "defaults: {repeat: 9}",
            "repeat: 2, replies: [{text: a, run: 3}]",
            "run 3 does not exist: 'repeat' of the case is 2",
        ),
        ("", "replies: [{text: a, run: 0}]", "should be at least 1"),
        ("", "replies: [{text: a, run: true}]", "a whole number"),
        ("", "replies: [{text: a, runs: 1}]", "did you mean 'run'"),
        ("", "replies: [{text: a, optional: 3}]", "optional"),
        ("", "replies: [{text: a, usage: {input: 1}}]", "output"),
        ("", "replies: [{error: timeout, usage: {input: 1, output: 1}}]", "remove usage"),
        ("", "replies: [{text: a, variant: cold}]", "the suite has no 'matrix'"),
        (MODELS, "replies: [{text: a, variant: cald}]", "unknown variant 'cald'; did you mean 'co"),
        (MODELS, "replies: [{text: a, model: gpt-6}]", "no variant uses the model 'gpt-6'"),
        (MODELS, "expected_output: a, replies: [{text: a}]", "cannot be combined"),
        (
            "",
            "turns: [{prompt: a}], replies: [{text: a}]",
            "add 'replies' to the turns, not to the case",
        ),
        (
            "",
            "turns: [{prompt: a, replies: [{text: a, run: 5}]}]",
            "run 5 does not exist",
        ),
    ],
)
def test_a_reply_that_no_run_could_use_is_an_error_of_the_file(
    project: Project, head: str, fields: str, problem: str
) -> None:
    prompt = "" if "turns" in fields else "prompt: Hi, "
    project.write("t.yaml", f"{HEAD}{head}\ncases:\n  - {{name: c, {prompt}{fields}}}\n")
    ended = project.command("validate", "t.yaml")
    assert ended.exit_code == 1
    output = " ".join(ended.output.split()).lower()
    assert problem.lower() in output
    assert "t.yaml:" in output


def test_replies_beside_an_expected_output_are_an_error_at_their_line(project: Project) -> None:
    fields = "    prompt: Hi\n    expected_output: a\n    replies: [{text: a}]\n"
    project.write("t.yaml", f"{HEAD}\ncases:\n  - name: c\n{fields}")
    ended = project.command("validate", "t.yaml")
    line = f"{HEAD}\ncases:\n  - name: c\n{fields}".count("\n")
    assert f"t.yaml:{line}: " in ended.output


@pytest.mark.parametrize("model", ["gpt-5", "gpt-*", "'*'"])
def test_a_reply_for_a_model_of_the_matrix_is_no_error(project: Project, model: str) -> None:
    cases = f"cases:\n  - {{name: c, prompt: Hi, replies: [{{text: a, model: {model}}}]}}\n"
    project.write("t.yaml", f"{HEAD}{MODELS}{cases}")
    assert project.command("validate", "t.yaml").exit_code == 0


def test_variables_are_replaced_in_replies_of_a_run(project: Project) -> None:
    project.write(
        "s.yaml",
        f"{HEAD}cases:\n  - name: c\n    prompt: Hi\n    repeat: 2\n    variables: {{who: Ada}}\n"
        "    replies: [{text: 'Hi ${who}'}, {run: 2, text: 'Ho ${who}'}]\n",
    )
    result = run_suite(AGENT, load_suite("s.yaml"), dry_run=True)
    attempts = result.case_results[0].attempts
    assert [attempt.output for attempt in attempts] == ["Hi Ada", "Ho Ada"]


def test_in_pytest_each_variant_has_its_replies(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_suites = s.yaml\n")
    cases = "replies: [{text: nine}, {variant: cold, text: ten}]"
    check = "assertions: [{type: equals, value: nine}]"
    text = f"{HEAD}{MODELS}cases:\n  - {{name: c, prompt: Hi, {cases}, {check}}}\n"
    pytester.path.joinpath("s.yaml").write_text(text)
    ended = pytester.runpytest()
    ended.assert_outcomes(passed=1, failed=1)
    ended.stdout.fnmatch_lines(["*c?cold?*", "*output: ten*"])
