"""Compares what a model says that it did with the calls that it made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from llm_mock.agents.result import ToolCallRecord
from llm_mock.specs.models import SHOWN_OUTPUT, Step, Verdict
from llm_mock.specs.steps import WITHIN, calls_of, data_of, keep, problem_of
from llm_mock.support.text import shorten_name

if TYPE_CHECKING:
    from llm_mock.specs.drivers import Task

ASSERTIONS = ("assert_equals", "assert_contains", "assert_true")
"""Tools whose steps must hold; no model can decide otherwise."""
Matched = tuple[str, Step, ToolCallRecord]
"""The name of a step's result, the step, and the call that the model made for it."""


def checked(verdict: Verdict, task: Task, calls: Sequence[ToolCallRecord] | None) -> Verdict:
    """A model's verdict, corrected by what its calls show; its steps are reported.

    The `tool_output` of the steps is what the tools really said. What a step saves is saved in the task. A PASS becomes
    UNCLEAR where a tool was called less often than the steps say, and FAIL where one of the `ASSERTIONS` of the steps
    did not hold. Where the calls are not known (None), nothing is checked.
    """
    if calls is not None:
        steps = list(calls_of(task.spec.steps))
        matched = list(_matched(steps, calls))
        for _, step, call in matched:
            if call.error is None:
                keep(task.saved, step, call.arguments, _data(call))
        verdict = _justified(verdict, steps, calls)
        for result in verdict.steps:
            if found := next((each for each in matched if _means(result.name, each)), None):
                matched.remove(found)
                result.tool_output = _data(found[2])
    for result in verdict.steps:
        task.report(result)
    return verdict


def _justified(verdict: Verdict, steps: Sequence[tuple[str, Step]], calls: Sequence[ToolCallRecord]) -> Verdict:
    """The verdict, unless it is a PASS that the calls speak against."""
    if verdict.verdict != "PASS":
        return verdict
    wanted, made = Counter(step.tool for _, step in steps), Counter(call.name for call in calls)
    less = [tool for tool in wanted if made[tool] < wanted[tool]]
    said = f"Its reason: {shorten_name(verdict.reason, SHOWN_OUTPUT)}"
    if less:
        missing = ", ".join(f"{shorten_name(tool)} was called {made[tool]} of {wanted[tool]} times" for tool in less)
        reason = f"The model said PASS without doing every step: {missing}. {said}"
        return verdict.model_copy(update={"verdict": "UNCLEAR", "reason": reason})
    failed = [problem for tool in ASSERTIONS for problem in _failed(tool, wanted[tool], calls)]
    if failed:
        reason = f"The model said PASS, although {'; '.join(map(shorten_name, failed))}. {said}"
        return verdict.model_copy(update={"verdict": "FAIL", "reason": reason, "issues": [*verdict.issues, *failed]})
    return verdict


def _failed(tool: str, wanted: int, calls: Sequence[ToolCallRecord]) -> list[str]:
    """What did not hold of the calls of an assertion; nothing where as many held as there are steps of it."""
    problems = [problem_of(tool, call.error, _data(call)) for call in calls if call.name == tool]
    failed = [f"{tool}: {problem}" for problem in problems if problem is not None]
    return failed if len(problems) - len(failed) < wanted else []


def _matched(steps: Sequence[tuple[str, Step]], calls: Sequence[ToolCallRecord]) -> Iterator[Matched]:
    """The calls with the steps that they were made for, by tool and order."""
    left = list(calls)
    for name, step in steps:
        if call := next((call for call in left if call.name == step.tool), None):
            left.remove(call)
            yield name, step, call


def _means(said: str, matched: Matched) -> bool:
    """Whether a model, which may leave out a part of a name, means this step."""
    name, step, _ = matched
    return said in (name, name.rpartition(WITHIN)[2], step.name, step.tool)


def _data(call: ToolCallRecord) -> Any:
    return data_of(call.error or call.result or "", call.structured)
