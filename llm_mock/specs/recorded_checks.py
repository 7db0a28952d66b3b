"""Run the checks of steps on the outputs of a model's recorded calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from llm_mock.agents.result import ToolCallRecord
from llm_mock.checks.base import RunContext
from llm_mock.errors import LLMMockError
from llm_mock.specs.models import Step
from llm_mock.specs.references import resolve_references
from llm_mock.specs.step_checks import CheckedOutput, check_output
from llm_mock.specs.steps import parse_output
from llm_mock.support.deadline import Deadline


@dataclass
class RecordedChecks:
    """The outcomes of the checks of steps, based on a model's recorded calls."""

    calls: Sequence[ToolCallRecord] | None
    """The calls; None if they are unknown."""
    context: RunContext
    deadline: Deadline
    failed: dict[str, str] = field(default_factory=dict)
    """The reasons of failed checks by the names of steps."""
    missing: dict[str, str] = field(default_factory=dict)
    """The reasons why checks could not run, by the names of steps."""
    skipped: list[str] = field(default_factory=list)
    """The messages of skipped checks."""
    _used: list[ToolCallRecord] = field(default_factory=list)

    def check(self, name: str, step: Step, saved: Mapping[str, object]) -> None:
        """Run the checks of a step on the output of its call.

        The call must have the arguments of the step, and may have others. A model may repeat a
        failed call up to `retry` times.
        """
        outcome: CheckedOutput | None = None
        for call in self._find_calls(step, saved)[: step.retry + 1]:
            self._used.append(call)
            outcome = self._check_call(step, call, saved)
            if not outcome.failed:
                break
        if not step.checks:
            # Its call is used all the same, so that no later step is checked by it.
            return
        if outcome is None:
            self.missing[name] = self._explain_missing(step)
            return
        if outcome.failed:
            self.failed[name] = "; ".join(outcome.failed)
        self.skipped += outcome.skipped

    def _check_call(
        self, step: Step, call: ToolCallRecord, saved: Mapping[str, object]
    ) -> CheckedOutput:
        if call.error is not None:
            # A negated check could hold for the text of an error.
            return CheckedOutput(failed=(f"the call failed: {call.error}",))
        output = parse_output(call.result or "", call.structured)
        return check_output(step, output, saved, self.context, self.deadline)

    def _find_calls(self, step: Step, saved: Mapping[str, object]) -> list[ToolCallRecord]:
        """Return the calls that may be those of a step, in order."""
        try:
            expected = resolve_references(step.args, saved)
        except LLMMockError:
            # The call that saves the value was not made as the step requires.
            return []
        found = []
        for call in self.calls or ():
            # By identity: a repeated call may be equal.
            if call.name != step.tool or any(call is used for used in self._used):
                continue
            if expected.items() <= call.arguments.items():
                found.append(call)
        return found

    def _explain_missing(self, step: Step) -> str:
        if self.calls is None:
            return "the calls of the model are unknown"
        return f"no call to {step.tool} has the arguments of the step"
