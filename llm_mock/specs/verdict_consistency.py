"""Check the verdict of a model against the calls that the model made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from llm_mock.agents.result import ToolCallRecord
from llm_mock.specs.models import MAX_SHOWN, Step, StepResult, Verdict
from llm_mock.specs.recorded_checks import RecordedChecks
from llm_mock.specs.steps import (
    SEPARATOR,
    find_problem,
    iterate_calls,
    parse_output,
    save_output,
)
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import shorten_name

if TYPE_CHECKING:
    from llm_mock.specs.drivers import Task

ASSERTIONS = ("assert_equals", "assert_contains", "assert_true")
"""The tools whose steps must hold, whatever the model says."""


class _MatchedCall(NamedTuple):
    """A call of a model with the step that it was made for.

    Attributes:
        name: the name of the step's result.
        step: the step.
        call: the call.
    """

    name: str
    step: Step
    call: ToolCallRecord

    def is_named(self, name: str) -> bool:
        """Return whether a name from a model, possibly incomplete, means this step."""
        _, _, inner_name = self.name.rpartition(SEPARATOR)
        names = (self.name, inner_name, self.step.name, self.step.tool)
        return name in names


def check_verdict(verdict: Verdict, task: Task, calls: Sequence[ToolCallRecord] | None) -> Verdict:
    """Return the verdict of a model, corrected by its calls, and report its steps.

    A PASS becomes UNCLEAR if a tool was called less often than the steps require or a check of a
    step could not run, and FAIL if one of their `ASSERTIONS` does not hold. A failed check makes
    every verdict a FAIL. The `tool_output` of the steps is replaced by the real output. The results
    that steps save are added to the task.

    Args:
        verdict: the verdict.
        task: the task of the driver.
        calls: the calls that the model made; None if they are unknown, so that nothing is checked.
    """
    steps = list(iterate_calls(task.spec.steps))
    checks = RecordedChecks(calls, task.context, task.deadline)
    # By order, as a model may name its steps in its own way.
    found = list(_match_calls(steps, calls or ()))
    matched = []
    for name, step, call in found:
        checks.check(name, step, task.saved)
        if call is None:
            continue
        matched.append(_MatchedCall(name, step, call))
        if call.error is None:
            save_output(task.saved, step, call.arguments, _get_output(call))
    if calls is not None:
        verdict = _correct_verdict(verdict, [step for _, step in steps], calls)
    verdict = _apply_checks(verdict, checks)
    _set_outputs(verdict, matched)
    for result in verdict.steps:
        task.report(result)
    return verdict


def _match_calls(
    steps: Sequence[tuple[str, Step]], calls: Sequence[ToolCallRecord]
) -> Iterator[tuple[str, Step, ToolCallRecord | None]]:
    """Yield steps with their names and calls, matched by tool and order; None without a call."""
    left = list(calls)
    for name, step in steps:
        found = None
        for call in left:
            if call.name == step.tool:
                found = call
                left.remove(call)
                break
        yield name, step, found


def _apply_checks(verdict: Verdict, checks: RecordedChecks) -> Verdict:
    """Return the verdict with the outcomes of the checks of steps."""
    failed = [f"{name}: {reason}" for name, reason in checks.failed.items()]
    missing = [f"{name}: not checked: {reason}" for name, reason in checks.missing.items()]
    issues = [*verdict.issues, *failed, *missing, *checks.skipped]
    results = list(verdict.steps)
    for name, reason in checks.failed.items():
        _mark_failed(results, name, reason)
    changes: JSONObject = {"issues": issues, "steps": results}
    said = f"The model's reason: {shorten_name(verdict.reason, MAX_SHOWN)}"
    if failed:
        problem = "; ".join(map(shorten_name, failed))
        changes |= {"verdict": "FAIL", "reason": f"{problem}. {said}"}
    elif missing and verdict.verdict == "PASS":
        problem = "; ".join(map(shorten_name, missing))
        changes |= {"verdict": "UNCLEAR", "reason": f"{problem}. {said}"}
    return verdict.model_copy(update=changes)


def _mark_failed(results: list[StepResult], name: str, reason: str) -> None:
    """Make the result of a step a failed one; add it if the model has left it out."""
    _, _, inner_name = name.rpartition(SEPARATOR)
    for result in results:
        if result.name in (name, inner_name):
            result.status = "fail"
            result.details = reason
            return
    results.append(StepResult(name=name, status="fail", details=reason))


def _set_outputs(verdict: Verdict, matched: list[_MatchedCall]) -> None:
    """Set the real outputs of tools in the steps of a verdict."""
    for result in verdict.steps:
        for candidate in matched:
            if candidate.is_named(result.name):
                # Each call once: repeated steps may have the same name.
                matched.remove(candidate)
                result.tool_output = _get_output(candidate.call)
                break


def _correct_verdict(
    verdict: Verdict, steps: Sequence[Step], calls: Sequence[ToolCallRecord]
) -> Verdict:
    """Return the verdict, or another one if it is a PASS that the calls contradict."""
    if verdict.verdict != "PASS":
        return verdict
    expected = Counter(step.tool for step in steps)
    made = Counter(call.name for call in calls)
    # Fewer calls prove that steps were left out; more may be retries.
    missing = []
    for tool, number in expected.items():
        if made[tool] < number:
            name = shorten_name(tool)
            missing.append(f"{name} was called {made[tool]} of {number} times")
    quote = f"Its reason: {shorten_name(verdict.reason, MAX_SHOWN)}"
    if missing:
        problem = ", ".join(missing)
        reason = f"The model said PASS, but did not run every step: {problem}. {quote}"
        return verdict.model_copy(update={"verdict": "UNCLEAR", "reason": reason})
    failed = []
    for tool in ASSERTIONS:
        failed += _find_failed_assertions(tool, expected[tool], calls)
    if failed:
        problem = "; ".join(map(shorten_name, failed))
        reason = f"The model said PASS, although {problem}. {quote}"
        issues = [*verdict.issues, *failed]
        return verdict.model_copy(update={"verdict": "FAIL", "reason": reason, "issues": issues})
    return verdict


def _find_failed_assertions(tool: str, expected: int, calls: Sequence[ToolCallRecord]) -> list[str]:
    """Return the failed calls to an assertion, unless enough calls hold for all its steps.

    A model may repeat a call that failed, for example with a corrected argument.
    """
    failed = []
    held = 0
    for call in calls:
        if call.name != tool:
            continue
        problem = find_problem(tool, call.error, _get_output(call))
        if problem is None:
            held += 1
        else:
            failed.append(f"{tool}: {problem}")
    return failed if held < expected else []


def _get_output(call: ToolCallRecord) -> Any:
    return parse_output(call.error or call.result or "", call.structured)
