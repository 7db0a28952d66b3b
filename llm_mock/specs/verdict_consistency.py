"""Check the verdict of a model against the calls that the model made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from llm_mock.agents.result import ToolCallRecord
from llm_mock.specs.models import MAX_SHOWN, Step, Verdict
from llm_mock.specs.steps import (
    SEPARATOR,
    find_problem,
    iterate_calls,
    parse_output,
    save_output,
)
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
        """Return whether a model means this step by a name, of which it may leave out a part."""
        _, _, inner_name = self.name.rpartition(SEPARATOR)
        names = (self.name, inner_name, self.step.name, self.step.tool)
        return name in names


def check_verdict(verdict: Verdict, task: Task, calls: Sequence[ToolCallRecord] | None) -> Verdict:
    """Return the verdict of a model, corrected by its calls, and report its steps.

    A PASS becomes UNCLEAR if a tool was called less often than the steps say, and FAIL if one of
    their `ASSERTIONS` does not hold. The `tool_output` of the steps becomes the real output. The
    results that steps save are added to the task.

    Args:
        verdict: the verdict.
        task: the task of the driver.
        calls: the calls that the model made; None if they are unknown, so that nothing is checked.
    """
    if calls is not None:
        steps = list(iterate_calls(task.spec.steps))
        # By order, as a model may name its steps in its own way.
        matched = list(_match_calls(steps, calls))
        for _, step, call in matched:
            if call.error is None:
                save_output(task.saved, step, call.arguments, _get_output(call))
        verdict = _correct_verdict(verdict, [step for _, step in steps], calls)
        _set_outputs(verdict, matched)
    for result in verdict.steps:
        task.report(result)
    return verdict


def _match_calls(
    steps: Sequence[tuple[str, Step]], calls: Sequence[ToolCallRecord]
) -> Iterator[_MatchedCall]:
    """Yield calls with their steps, matched by tool and order."""
    left = list(calls)
    for name, step in steps:
        for call in left:
            if call.name == step.tool:
                left.remove(call)
                yield _MatchedCall(name, step, call)
                break


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
        reason = f"The model said PASS without doing every step: {problem}. {quote}"
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
    """Return the problems of an assertion, unless as many calls of it hold as there are steps.

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
