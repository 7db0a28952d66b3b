"""Checks of the outputs of steps: made by us, in a dry run and after a model did the steps."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("mcp")
pytest.importorskip("jinja2")

from llm.models import ToolCall

from llm_mock import LLMMock, Reply, ResponseConfigurator
from llm_mock.checks import contains
from llm_mock.checks.base import RunContext
from llm_mock.checks.evaluation import AssertionResult
from llm_mock.core.judge_choice import JudgeChoice, choose_judge
from llm_mock.errors import InvalidFile, TimeIsUp
from llm_mock.specs import Verdict, load_spec, run_llm_test
from llm_mock.specs.drivers import Driver, DryRun
from llm_mock.specs.llm_driver import LLMDriver
from llm_mock.specs.models import Step
from llm_mock.specs.step_checks import check_output
from llm_mock.specs.steps import Deadline

from .local_tools import local_tools as local_tools
from .local_tools import tool_process as tool_process
from .projects import Project, statuses
from .projects import project as project

pytestmark = pytest.mark.usefixtures("local_tools")

APPLE = "  - {tool: shop_sell, args: {item: apple}, save_as: sale, checks: [%s]}\n"
HOLDS = "{type: json, path: item, value: apple}"
HOLDS_AT_ALL = "{type: contains, value: a}"
FAILS = "{type: contains, value: pear}"
JUDGED = "{type: judge, criteria: It is polite, model: strict}"


def steps(*checks: str, more: str = "") -> str:
    return "steps:\n" + APPLE % ", ".join(checks) + more


@pytest.mark.parametrize(
    ("check", "word"),
    [
        (HOLDS, "PASS"),
        ("{type: contains, value: '\"number\": 1'}", "PASS"),
        ("{type: not_contains, value: apple}", "FAIL"),
        (FAILS, "FAIL"),
        (f"{HOLDS}, {FAILS}", "FAIL"),
        ("{type: python, function: 'nowhere.py:f'}", "FAIL"),
    ],
)
def test_a_check_of_a_step_decides_a_dry_run(project: Project, check: str, word: str) -> None:
    verdict = project.run(steps(check))
    assert verdict.verdict == word
    assert statuses(verdict) == [("shop_sell", word.lower())]


@pytest.mark.parametrize("answer", ["True", "False"])
def test_a_function_beside_the_test_decides(
    project: Project, mock_llm_responses: ResponseConfigurator, answer: str
) -> None:
    function = f"def is_sold(output, context):\n    return {answer}\n"
    (project.tests / "judges.py").write_text(function)
    text = steps("{type: python, function: 'judges.py:is_sold'}")
    word = "PASS" if answer == "True" else "FAIL"
    assert project.run(text).verdict == word
    assert ask(project, mock_llm_responses, text, "PASS", "apple").verdict == word


def test_a_failed_check_says_why(project: Project) -> None:
    verdict = project.run(steps(FAILS, "{type: starts_with, value: x}"))
    assert verdict.reason == (
        "shop_sell: shop_sell(item=\"apple\"): Output does not contain 'pear'; "
        'Output does not start with \'x\', but with \'{"item": "apple", "…\''
    )


def test_a_check_that_needs_a_model_is_not_checked_in_a_dry_run(project: Project) -> None:
    verdict = project.run(steps(JUDGED))
    assert verdict.verdict == "UNCLEAR"
    assert verdict.steps[0].details == (
        'shop_sell(item="apple"); not checked: Skipped in a dry run: judge, it asks a model'
    )
    both = project.run(steps(JUDGED, HOLDS))
    assert both.verdict == "PASS"
    assert "Not judged: 1 expectation and the criteria." in both.reason
    setup = project.run(f"setup:\n{APPLE % JUDGED}{steps(HOLDS)}")
    assert setup.steps[0].details == verdict.steps[0].details


def test_a_check_refers_to_what_earlier_steps_saved(project: Project) -> None:
    again = (
        "  - {tool: shop_sell, args: {item: pear}, "
        "checks: [{type: not_contains, value: '${sale.item}'}, "
        "{type: json, path: number, value: '${sale.number}'}]}\n"
    )
    verdict = project.run(steps(HOLDS, more=again))
    assert verdict.reason == ('shop_sell: shop_sell(item="pear"): Output at number is 2, not 1')
    wrong = again.replace("value: '${sale.item}'", "value: '${sale.number}'")
    assert "invalid with the saved results" in project.run(steps(HOLDS, more=wrong)).reason


def test_a_step_is_retried_until_its_checks_hold(project: Project) -> None:
    retried = "  - {tool: shop_sell, args: {item: x}, retry: 3, retry_delay: 0, checks: [%s]}\n"
    number = "{type: json, path: number, value: 3}"
    assert project.run("steps:\n" + retried % number).verdict == "PASS"
    assert project.journal.count("sell x") == 3
    verdict = project.run("steps:\n" + retried % "{type: json, path: number, value: 9}")
    assert verdict.reason.endswith("Output at number is 4, not 9 (after 4 attempts)")


def test_a_check_of_the_setup_or_the_teardown_counts(project: Project) -> None:
    for part in ("setup", "teardown"):
        text = f"{part}:\n{APPLE % FAILS}{steps(HOLDS)}"
        verdict = project.run(text)
        assert verdict.verdict == "FAIL"
        assert "Output does not contain 'pear'" in verdict.reason


def test_a_check_ends_with_the_time_of_the_test(project: Project) -> None:
    call = f"tool: shop_sell, args: {{item: {'a' * 40}!}}"
    text = f"steps:\n  - {{{call}, checks: [{{type: regex, pattern: '(a+)+$'}}]}}\n"
    verdict = project.run(text, timeout=1)
    assert verdict.verdict == "FAIL"
    assert verdict.reason.startswith("Timed out after 1 s during shop_sell.")


def test_a_check_for_which_no_time_is_left_is_not_made() -> None:
    step = Step(tool="shop_sell", checks=[contains("apple")])
    with pytest.raises(TimeIsUp, match="the check contains"):
        check_output(step, "apple", {}, RunContext(), Deadline(0))


@pytest.mark.parametrize(("driver", "cost"), [(DryRun(), 0), (LLMDriver("gpt-4o-mini"), None)])
def test_the_cost_of_a_check_that_was_given_up_is_unknown_in_a_live_run(
    project: Project, driver: Driver, cost: int | None
) -> None:
    call = f"tool: shop_sell, args: {{item: {'a' * 40}!}}"
    text = f"setup:\n  - {{{call}, checks: [{HOLDS_AT_ALL}, {{type: regex, pattern: '(a+)+$'}}]}}\n"
    results: list[AssertionResult] = []
    project.run(text + steps(HOLDS), timeout=1, driver=driver, on_check=results.append)
    found = [(result.assertion.type, result.passed, result.cost) for result in results]
    assert found == [("contains", True, 0), ("regex", None, cost)]


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("{tool: shop_open, checks: [{type: max_cost, value: 1}]}", "max_cost checks the run of a"),
        (
            "{tool: shop_open, checks: [{type: contains, of: prompt, value: x}]}",
            "a step has no prompt, only the output of its tool",
        ),
        (
            "{expect: x, checks: [{type: contains, value: x}]}",
            "checks has no effect without a tool",
        ),
        ("{tool: shop_open, checks: [{type: contains, value: '${nobody}'}]}", "refers to 'nobody'"),
        ("{tool: shop_open, checks: [{type: contain, value: x}]}", "contain"),
    ],
)
def test_a_check_that_a_step_cannot_make_is_an_error_with_its_line(
    project: Project, step: str, problem: str
) -> None:
    with pytest.raises(InvalidFile, match=r"\.yaml:\d+: ") as raised:
        load_spec(project.write(f"steps:\n  - {step}\n"))
    assert problem in str(raised.value)


# --- After a model did the steps --------------------


def ask(
    project: Project, responses: ResponseConfigurator, text: str, word: str, *calls: str
) -> Verdict:
    """Run a test whose model sells these items and gives a verdict."""
    for item in calls:
        call = ToolCall("shop_refuse" if item == "refuse" else "shop_sell", {"item": item})
        responses.add("gpt-4o-mini", Reply(tool_calls=[call]))
    said = {"name": "shop_sell", "status": "pass", "details": "sold"}
    answer = {"verdict": word, "reason": "All is well", "steps": [said], "issues": []}
    responses.add("gpt-4o-mini", answer)
    path = project.write(text)
    return run_llm_test(load_spec(path), path, driver=LLMDriver("gpt-4o-mini"))


@pytest.mark.parametrize("word", ["PASS", "UNCLEAR", "FAIL"])
def test_a_failed_check_fails_the_test_whatever_the_model_says(
    project: Project, mock_llm_responses: ResponseConfigurator, word: str
) -> None:
    verdict = ask(project, mock_llm_responses, steps(FAILS), word, "apple")
    problem = "shop_sell: Output does not contain 'pear'"
    assert verdict.verdict == "FAIL"
    assert verdict.reason == f"{problem}. The model's reason: All is well"
    assert verdict.issues == [problem]
    assert statuses(verdict) == [("shop_sell", "fail")]


def test_a_check_that_holds_leaves_the_verdict(
    project: Project, mock_llm_responses: ResponseConfigurator
) -> None:
    verdict = ask(project, mock_llm_responses, steps(HOLDS), "PASS", "apple")
    assert (verdict.verdict, verdict.reason, verdict.issues) == ("PASS", "All is well", [])
    prompt = mock_llm_responses.get_model("gpt-4o-mini").call_history[0]["prompt"]
    assert "checks" not in prompt


def test_the_check_looks_at_the_call_of_the_step_and_at_no_other(
    project: Project, mock_llm_responses: ResponseConfigurator
) -> None:
    wanted = steps("{type: json, path: number, value: 2}")
    verdict = ask(project, mock_llm_responses, wanted, "PASS", "pear", "apple")
    assert verdict.verdict == "PASS"
    verdict = ask(project, mock_llm_responses, wanted, "PASS", "apple", "apple")
    assert verdict.reason.startswith("shop_sell: Output at number is 1, not 2")


def test_a_model_may_repeat_a_call_as_often_as_the_step_says(
    project: Project, mock_llm_responses: ResponseConfigurator
) -> None:
    wanted = steps("{type: json, path: number, value: 3}").replace("save_as", "retry: 1, save_as")
    verdict = ask(project, mock_llm_responses, wanted, "PASS", "pear", "apple", "apple")
    assert verdict.verdict == "PASS"
    verdict = ask(project, mock_llm_responses, wanted, "PASS", "apple", "apple", "apple")
    assert verdict.verdict == "FAIL"


@pytest.mark.parametrize(("word", "expected"), [("PASS", "UNCLEAR"), ("FAIL", "FAIL")])
def test_a_check_without_its_call_is_no_pass(
    project: Project, mock_llm_responses: ResponseConfigurator, word: str, expected: str
) -> None:
    verdict = ask(project, mock_llm_responses, steps(HOLDS), word, "pear")
    assert verdict.verdict == expected
    problem = "shop_sell: not checked: no call to shop_sell has the arguments of the step"
    assert verdict.issues == [problem]


def test_two_equal_steps_need_two_calls(
    project: Project, mock_llm_responses: ResponseConfigurator
) -> None:
    twice = steps(HOLDS, more=APPLE.replace("sale", "second") % HOLDS)
    assert ask(project, mock_llm_responses, twice, "PASS", "apple", "apple").verdict == "PASS"
    once = ask(project, mock_llm_responses, twice, "PASS", "apple")
    assert once.verdict == "UNCLEAR"
    (issue,) = once.issues
    assert issue.endswith("not checked: no call to shop_sell has the arguments of the step")


def test_a_step_without_checks_has_a_call_of_its_own(
    project: Project, mock_llm_responses: ResponseConfigurator
) -> None:
    second = APPLE.replace("sale", "second") % "{type: json, path: number, value: 2}"
    verdict = ask(project, mock_llm_responses, steps(more=second), "PASS", "apple", "apple")
    assert (verdict.verdict, verdict.issues) == ("PASS", [])


def test_a_value_that_no_step_saved_has_no_call(
    project: Project, mock_llm_responses: ResponseConfigurator
) -> None:
    text = steps(
        more="  - {tool: shop_sell, args: {item: '${sale.nothing}'}, checks: [" + HOLDS + "]}"
    )
    verdict = ask(project, mock_llm_responses, text, "PASS", "apple")
    assert verdict.verdict == "UNCLEAR"
    (issue,) = verdict.issues
    assert issue.endswith("not checked: no call to shop_sell has the arguments of the step")


def test_a_judge_is_asked_about_the_output_of_a_live_step(
    project: Project, mock_llm_responses: ResponseConfigurator
) -> None:
    for is_met in (True, False):
        answer: dict[str, Any] = {"reason": "So it is.", "met": is_met}
        mock_llm_responses.add("strict", answer)
        verdict = ask(project, mock_llm_responses, steps(JUDGED), "PASS", "apple")
        assert verdict.verdict == ("PASS" if is_met else "FAIL")
        history = mock_llm_responses.get_model("strict").call_history
        assert '"item": "apple"' in history[-1]["prompt"]


def test_a_skipped_check_is_noted(
    project: Project, mock_llm_responses: ResponseConfigurator
) -> None:
    noted = "{type: skipped, reason: No counterpart}"
    verdict = ask(project, mock_llm_responses, steps(noted, HOLDS), "PASS", "apple")
    assert (verdict.verdict, verdict.issues) == ("PASS", ["Skipped: No counterpart"])


# --- Models of checks that there are not --------------------

UNNAMED = "{type: judge, criteria: It is polite}"
SIMILAR = "{type: similar, value: apple, model: strict}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (steps(JUDGED), r"\.yaml:3: llm does not know the judge model 'strict'\."),
        (f"setup:\n{APPLE % JUDGED}{steps(HOLDS)}", r"\.yaml:3: llm does not know the judge model"),
        (
            f"teardown:\n{APPLE % JUDGED}{steps(HOLDS)}",
            r"\.yaml:3: llm does not know the judge model",
        ),
        (steps(HOLDS, SIMILAR), r"\.yaml:3: llm does not know the embedding model 'strict'"),
        (steps(UNNAMED), r"\.yaml:3: No judge model: set model: … in the assertion"),
    ],
)
def test_a_model_of_a_check_that_there_is_not_ends_a_live_test_before_a_step_is_run(
    project: Project, mock_llm_responses: LLMMock, text: str, problem: str
) -> None:
    mock_llm_responses.set_unknown("strict")
    with pytest.raises(InvalidFile, match=problem):
        project.run(text, driver=LLMDriver("gpt-4o-mini"))
    assert not mock_llm_responses.calls
    assert not project.journal


def test_the_judge_of_the_run_judges_steps(project: Project, mock_llm_responses: LLMMock) -> None:
    for name in ("j-1", "j-2"):
        mock_llm_responses.set(name, {"met": True, "reason": "It is"})
    mock_llm_responses.set_unknown("strict")
    for choice in (JudgeChoice(default="j-1"), JudgeChoice("j-2", "j-1")):
        with choose_judge(choice):
            verdict = ask(project, mock_llm_responses, steps(UNNAMED), "PASS", "apple")
        assert verdict.verdict == "PASS"
    with choose_judge(JudgeChoice("j-2")):
        assert ask(project, mock_llm_responses, steps(JUDGED), "PASS", "apple").verdict == "PASS"
    judges = [call["model_id"] for call in mock_llm_responses.calls]
    assert [name for name in judges if name != "gpt-4o-mini"] == ["j-1", "j-2", "j-2"]


def test_a_judge_may_be_a_saved_result(project: Project, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("apple", {"met": False, "reason": "It is not"})
    judged = JUDGED.replace("strict", "'${sale.item}'")
    again = f"  - {{tool: shop_sell, args: {{item: pear}}, checks: [{judged}]}}\n"
    mock_llm_responses.set_unknown("${sale.item}")
    text = steps(HOLDS, more=again)
    verdict = ask(project, mock_llm_responses, text, "PASS", "apple", "pear")
    assert verdict.verdict == "FAIL"
    assert "It is not" in verdict.reason


@pytest.mark.usefixtures("tool_process")
def test_the_output_of_a_step_is_checked_as_it_is_read(project: Project) -> None:
    text = steps('{type: contains, value: \'"item": "Äpfel"\'}').replace("apple", "Äpfel")
    assert project.run(text).verdict == "PASS"
