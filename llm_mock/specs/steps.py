"""Does the steps of a test without a model: real calls of real tools, in order."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from llm_mock.errors import TimeIsUp, UnknownReference
from llm_mock.specs import explain
from llm_mock.specs.deadline import Deadline
from llm_mock.specs.models import Step, StepResult
from llm_mock.specs.references import name_in, references_in, resolved
from llm_mock.support.text import call_text

if TYPE_CHECKING:
    from llm_mock.agents.tools import ServerTool

Report = Callable[[StepResult | str], None]
"""Is told each result as it comes, and what else happens."""
HOLDS = {"assert_equals": "passed", "assert_true": "passed", "compare_values": "equal"}
"""The tools that succeed where something does not hold, and the field of their output that says whether it does."""
WITHIN = " › "  # noqa: RUF001 (where a step stands, as a path)


class Steps:
    """Makes the calls of steps. After one that failed, the rest is skipped.

    Args:
        tools: the tools by their names, at least those of the steps.
        saved: results by name; what is saved is added.
        deadline: when all must be over.
        report: is told each result.
        keep_going: do the rest also after a step that failed, as in a teardown.
    """

    def __init__(
        self,
        tools: Mapping[str, ServerTool],
        saved: dict[str, Any],
        deadline: Deadline,
        report: Report,
        keep_going: bool = False,
    ) -> None:
        self._tools = tools
        self._saved = saved
        self._deadline = deadline
        self._report = report
        self._keep_going = keep_going
        self.results: list[StepResult] = []
        """What came of each call, and of each step that was skipped."""

    @property
    def failed(self) -> StepResult | None:
        """The first step that failed; None where there is none."""
        return next((result for result in self.results if result.status == "fail"), None)

    def run(self, steps: Sequence[Step], within: str = "") -> None:
        """Do these steps.

        Args:
            steps: the steps.
            within: what their names begin with.

        Raises:
            TimeIsUp: the deadline passed; the step meanwhile is among the results as failed.
        """
        for name, step in named(steps, within):
            if self._over:
                self._add(name, "skip", explain.not_run(self._over.name))
                continue
            for numbered in _repeated(step, name):
                self._once(step, numbered)
                if self._over:
                    break

    @property
    def _over(self) -> StepResult | None:
        """The step after which no other is done."""
        return None if self._keep_going else self.failed

    def _once(self, step: Step, name: str) -> None:
        if step.is_nested():
            self.run(step.steps, name + WITHIN)
        elif not step.tool:
            self._add(name, "skip", explain.only_for_a_model())
        elif missing := self._missing(step):
            self._add(name, "skip", explain.not_saved(missing))
        else:
            self._call(step, name)

    def _missing(self, step: Step) -> list[str]:
        """What the step refers to and nobody saved: its step failed, or only a model could do it."""
        names = [name_in(reference) or reference for _, reference in references_in(step.args)]
        return [name for name in dict.fromkeys(names) if name not in self._saved]

    def _call(self, step: Step, name: str) -> None:
        try:
            arguments = resolved(step.args, self._saved)
        except UnknownReference as error:
            self._add(name, "fail", str(error))
            return
        called = call_text(step.tool, arguments)
        try:
            output, problem = self._attempt(step, arguments)
        except TimeIsUp as late:
            self._add(name, "fail", f"{called}: {late}")
            raise TimeIsUp(name) from None
        if problem is not None:
            self._add(name, "fail", f"{called}: {problem}", output)
            return
        if step.save_as:
            self._saved[step.save_as] = output
        self._add(name, "pass", called, output)

    def _attempt(self, step: Step, arguments: dict[str, Any]) -> tuple[Any, str | None]:
        """Call a tool until it succeeds, or as often as it may be called: the output, and what is wrong with it.

        Raises:
            TimeIsUp: the deadline passed; the message is what was wrong until then.
        """
        output, problem = None, None
        for attempt in range(1, step.retry + 2):
            if attempt > 1:
                time.sleep(min(step.retry_delay, self._deadline.left))
            left = self._deadline.left
            if left:
                answer = self._tools[step.tool].call(arguments, min(left, step.timeout or left))
                output = data_of(answer.text, answer.structured)
                problem = problem_of(step.tool, answer.text if answer.is_error else None, output)
            if problem is None and left:
                break
            if self._deadline.passed:
                raise TimeIsUp(problem or explain.no_time())
        return output, None if problem is None else explain.after_attempts(problem, step.retry + 1)

    def _add(self, name: str, status: Any, details: str, output: Any = None) -> None:
        result = StepResult(name=name, status=status, details=details, tool_output=output)
        self.results.append(result)
        self._report(result)


def calls_of(steps: Sequence[Step], within: str = "") -> Iterator[tuple[str, Step]]:
    """Every call that steps make, in order, with the name that its result has."""
    for name, step in named(steps, within):
        for numbered in _repeated(step, name):
            if step.tool:
                yield numbered, step
            yield from calls_of(step.steps, numbered + WITHIN)


def data_of(text: str, structured: Any) -> Any:
    """What a tool answered, as it is saved: its data where it gave some, else its text."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if structured is None:
        return parsed if isinstance(parsed, (dict, list)) else text
    # The SDK puts what is no object under the name `result`, and says it bare as text.
    wrapped = isinstance(structured, dict) and list(structured) == ["result"] and parsed != structured
    return structured["result"] if wrapped else structured


def problem_of(tool: str, error: str | None, output: Any) -> str | None:
    """What is wrong with the outcome of a call: its error, or what its assertion says; None for nothing."""
    if error is not None:
        return error
    if tool in HOLDS and not (isinstance(output, Mapping) and output.get(HOLDS[tool]) is True):
        return explain.does_not_hold(output)
    return None


def named(steps: Sequence[Step], within: str = "") -> Iterator[tuple[str, Step]]:
    """Steps with what they are called: their name, or their tool, or their number."""
    for number, step in enumerate(steps, start=1):
        yield within + (step.name or step.tool or f"step {number}"), step


def _repeated(step: Step, name: str) -> Iterator[str]:
    """The name of each time that a step is done."""
    for number in range(1, step.repeat + 1):
        yield f"{name} [{number}/{step.repeat}]" if step.repeat > 1 else name
