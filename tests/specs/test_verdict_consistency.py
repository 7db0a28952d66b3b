"""The verdict of a model, corrected by the calls that it made."""

# ruff: noqa: RUF001 (the names of steps have other characters than ASCII)

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("mcp")

from llm_mock.agents.result import ToolCallRecord
from llm_mock.specs import LLMTestFailed, StepResult, Verdict, load_spec
from llm_mock.specs.drivers import Task
from llm_mock.specs.steps import Deadline
from llm_mock.specs.tools_server import RunningTools
from llm_mock.specs.verdict_consistency import check_verdict

from .projects import Project
from .projects import project as project

TWICE = "[{tool: b, save_as: one}, {tool: b, save_as: two}]"
CHECKED = "[{tool: b, save_as: one, checks: [{type: contains, value: good}]}]"


class Judged:
    """A verdict after its correction, with what was saved and reported."""

    def __init__(
        self,
        project: Project,
        steps: str,
        calls: list[ToolCallRecord] | None,
        verdict: Verdict | None = None,
    ) -> None:
        spec = load_spec(project.write(f"steps: {steps}"))
        tools: Any = RunningTools(servers=[], tools={})
        self.reported: list[Any] = []
        task = Task(spec, tools, Deadline(60), self.reported.append, project.root)
        self.verdict = check_verdict(verdict or PASS, task, calls)
        self.saved = task.saved

    @property
    def steps(self) -> list[tuple[str, str, str, Any]]:
        """The name, status, details and output of each reported step."""
        assert self.reported == self.verdict.steps
        return [(each.name, each.status, each.details, each.tool_output) for each in self.reported]


PASS = Verdict(verdict="PASS", reason="fine")


def called(name: str, result: str | None = "1", error: str | None = None) -> ToolCallRecord:
    return ToolCallRecord(name, {}, result, error)


def test_calls_of_one_tool_belong_to_its_steps_in_order(project: Project) -> None:
    judged = Judged(project, TWICE, [called("b", "1"), called("c"), called("b", "2")])
    assert judged.saved == {"one": "1", "two": "2"}
    assert judged.verdict == PASS


def test_steps_of_one_name_get_the_outputs_of_their_calls_in_order(project: Project) -> None:
    steps = [StepResult(name="b", status="pass") for _ in range(3)]
    said = Verdict(verdict="PASS", reason="fine", steps=steps)
    calls = [called("b", output) for output in ("1", "", None)]
    judged = Judged(project, "[{tool: b}, {tool: b}, {tool: b}]", calls, said)
    assert judged.steps == [("b", "pass", "", output) for output in ("1", "", "")]


@pytest.mark.parametrize(
    ("tools", "problem"),
    [
        ("", "b was called 0 of 2 times, c was called 0 of 1 times"),
        ("b", "b was called 1 of 2 times, c was called 0 of 1 times"),
        ("bb", "c was called 0 of 1 times"),
        ("bc", "b was called 1 of 2 times"),
        ("bbc", ""),
        ("bbbcc", ""),
    ],
)
def test_a_pass_without_all_calls_is_unclear(tools: str, problem: str, project: Project) -> None:
    steps = "[{tool: b}, {tool: b}, {tool: c}]"
    verdict = Judged(project, steps, [*map(called, tools)]).verdict
    if not problem:
        assert verdict == PASS
        return
    assert (verdict.verdict, verdict.issues) == ("UNCLEAR", [])
    expected = f"The model said PASS, but did not run every step: {problem}. Its reason: fine"
    assert verdict.reason == expected


@pytest.mark.parametrize("word", ["FAIL", "UNCLEAR"])
def test_another_verdict_needs_no_calls(word: Any, project: Project) -> None:
    said = Verdict(verdict=word, reason="broken")
    assert Judged(project, TWICE, [], said).verdict == said


def test_without_known_calls_nothing_is_compared(project: Project) -> None:
    assert Judged(project, TWICE, None).verdict == PASS


@pytest.mark.parametrize("tool", ["assert_equals", "assert_contains", "assert_true"])
def test_a_pass_although_an_assertion_does_not_hold_is_a_failure(
    tool: str, project: Project
) -> None:
    steps = f"[{{tool: {tool}, args: {{actual: 1, expected: 2, condition: false}}}}]"
    good = called(tool, '{"passed": true}')
    said = PASS.model_copy(update={"issues": ["slow"]})
    for bad, words in (
        (called(tool, None, "It broke"), "It broke"),
        (called(tool, '{"passed": false, "message": "1 is not 2"}'), "1 is not 2"),
        (called(tool, '{"passed": false}'), '{"passed": false}'),
        (called(tool, '{"passed": 1}'), '{"passed": 1}'),
        (called(tool, "passed"), "'passed'"),
    ):
        verdict = Judged(project, steps, [bad], said).verdict
        problem = f"{tool}: {words}"
        assert (verdict.verdict, verdict.issues) == ("FAIL", ["slow", problem])
        assert verdict.reason == f"The model said PASS, although {problem}. Its reason: fine"
        # A model may repeat a call.
        assert Judged(project, steps, [bad, good], said).verdict == said


def test_a_failed_check_fails_the_verdict_and_its_step(project: Project) -> None:
    said = PASS.model_copy(update={"steps": [StepResult(name="b", status="pass")]})
    judged = Judged(project, CHECKED, [called("b", "bad")], said)
    assert judged.verdict.verdict == "FAIL"
    assert [(name, status) for name, status, *_ in judged.steps] == [("b", "fail")]
    assert "good" in judged.steps[0][2]
    assert Judged(project, CHECKED, [called("b", "good")]).verdict == PASS


def test_a_step_whose_check_failed_is_added_if_the_model_left_it_out(project: Project) -> None:
    judged = Judged(project, CHECKED, [called("b", "bad")])
    assert [(name, status) for name, status, *_ in judged.steps] == [("b", "fail")]


def test_a_check_does_not_hold_for_a_failed_call(project: Project) -> None:
    steps = "[{tool: b, checks: [{type: not_contains, value: good}]}]"
    judged = Judged(project, steps, [called("b", None, "no route")])
    assert judged.verdict.verdict == "FAIL"
    assert judged.steps == [("b", "fail", "the call failed: no route", "no route")]


def test_a_check_needs_known_calls(project: Project) -> None:
    verdict = Judged(project, CHECKED, None).verdict
    assert verdict.verdict == "UNCLEAR"
    expected = "b: not checked: the calls of the model are unknown. The model's reason: fine"
    assert verdict.reason == expected


def test_a_step_has_its_line_without_the_names_of_the_outer_steps(project: Project) -> None:
    path = project.write("""\
        steps:
          - name: Buy
            repeat: 2
            steps:
              - {tool: b}
              - {tool: c}
          - name: Sell
            steps:
              - {tool: c}
    """)
    names = ["Buy [2/2] › b", "Buy", "b", "c", "Sell › c", "d"]
    steps = [StepResult(name=name, status="fail") for name in names]
    verdict = Verdict(verdict="FAIL", reason="broken", steps=steps)
    lines = str(LLMTestFailed(verdict, load_spec(path), path)).splitlines()
    assert lines == [
        f"{path}:6: broken",
        "  ✗ Buy [2/2] › b  (line 6)",
        "  ✗ Buy  (line 3)",
        "  ✗ b  (line 6)",
        # Two steps have this name.
        "  ✗ c",
        "  ✗ Sell › c  (line 10)",
        "  ✗ d",
    ]
