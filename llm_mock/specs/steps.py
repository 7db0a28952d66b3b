"""Does the steps of a test without a model: real calls of real tools, in order."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llm_mock.errors import LLMMockError, TimeIsUp
from llm_mock.specs.models import SHOWN_OUTPUT, Step, StepResult
from llm_mock.specs.references import STORED, name_in, references_in, resolved
from llm_mock.support.text import call_text, shorten, shorten_name

if TYPE_CHECKING:
    from llm_mock.agents.tools import ServerTool

Place = tuple[str | int, ...]
"""Keys and positions that lead to a part of a file."""
Report = Callable[[StepResult | str], None]
"""Is given each result as it comes, and texts about what else happens."""
HOLDS = {"assert_equals": "passed", "assert_contains": "passed", "assert_true": "passed", "compare_values": "equal"}
"""The tools that succeed where something does not hold, and the field of their output that says whether it does."""
STORE = "store_value"
"""The tool whose values `${stored.name}` stands for."""
WITHIN = " › "  # noqa: RUF001 (where a step stands, as a path)


class Deadline:
    """The moment, a number of seconds from now, at which something must be over."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until then; 0 once it has passed."""
        return max(0.0, self._end - time.monotonic())


@dataclass
class Steps:
    """Makes the calls of steps. After one that failed, the rest is skipped, unless it is to `keep_going`."""

    tools: Mapping[str, ServerTool]
    """The tools by their names, at least those of the steps."""
    saved: dict[str, Any]
    """Results by name; what is saved is added."""
    deadline: Deadline
    report: Report
    keep_going: bool = False
    results: list[StepResult] = field(default_factory=list)
    """The result of each call, and of each step that was skipped."""

    @property
    def failed(self) -> StepResult | None:
        """The first step that failed."""
        return next((result for result in self.results if result.status == "fail"), None)

    @property
    def problem(self) -> str | None:
        """The first step that failed, and why."""
        return f"{shorten_name(self.failed.name)}: {self.failed.details}" if self.failed else None

    def run(self, steps: Sequence[Step], within: str = "") -> None:
        """Do these steps, whose names begin with `within`. One that the deadline ends is among the failed results.

        Raises:
            TimeIsUp: the deadline passed.
        """
        for name, step in named(steps, within):
            if self._over:
                self._add(name, "skip", f"not run: {self._over.name} failed")
                continue
            for numbered in _repeated(step, name):
                self._once(step, numbered)
                if self._over:
                    break

    @property
    def _over(self) -> StepResult | None:
        """The step after which no other is done."""
        return None if self.keep_going else self.failed

    def _once(self, step: Step, name: str) -> None:
        if step.is_nested():
            self.run(step.steps, name + WITHIN)
        elif not step.tool:
            self._add(name, "skip", "only a model can judge it")
        else:
            # A step of which it was to be the result may have failed, or only a model can do it.
            references = [reference for _, reference in references_in(step.args)]
            names = dict.fromkeys(name_in(reference, self.saved) or reference for reference in references)
            if missing := [repr(saved) for saved in names if saved not in self.saved]:
                self._add(name, "skip", f"not run: nothing was saved as {', '.join(missing)}")
            else:
                self._call(step, name)

    def _call(self, step: Step, name: str) -> None:
        try:
            arguments = resolved(step.args, self.saved)
        except LLMMockError as error:
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
        keep(self.saved, step, arguments, output)
        self._add(name, "pass", called, output)

    def _attempt(self, step: Step, arguments: dict[str, Any]) -> tuple[Any, str | None]:
        """Call a tool until it succeeds, or as often as it may be called: the output, and what is wrong with it."""
        output, problem = None, None
        for attempt in range(step.retry + 1):
            if attempt:
                time.sleep(min(step.retry_delay, self.deadline.left))
            if left := self.deadline.left:
                answer = self.tools[step.tool].call(arguments, min(left, step.timeout or left))
                output = data_of(answer.text, answer.structured)
                problem = problem_of(step.tool, answer.text if answer.is_error else None, output)
                if problem is None:
                    return output, None
            if not self.deadline.left:
                raise TimeIsUp(problem or "the test's time was over")
        return output, f"{problem} (after {step.retry + 1} attempts)" if step.retry else problem

    def _add(self, name: str, status: Any, details: str, output: Any = None) -> None:
        result = StepResult(name=name, status=status, details=details, tool_output=output)
        self.results.append(result)
        self.report(result)


def keep(saved: dict[str, Any], step: Step, arguments: Mapping[str, Any], output: Any) -> None:
    """Add what later steps can refer to after a call that succeeded: its result, and the value that it stored."""
    if step.save_as:
        saved[step.save_as] = output
    if step.tool == STORE and "name" in arguments:
        saved[f"{STORED}{arguments['name']}"] = arguments.get("value")


def calls_of(steps: Sequence[Step], within: str = "") -> Iterator[tuple[str, Step]]:
    """Every call that steps make, in order, with the name that its result has."""
    for name, step in named(steps, within):
        for numbered in _repeated(step, name):
            if step.tool:
                yield numbered, step
            yield from calls_of(step.steps, numbered + WITHIN)


def data_of(text: str, structured: Any) -> Any:
    """The output of a tool as it is saved: its data if it has some, else its text."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if structured is None:
        return parsed if isinstance(parsed, (dict, list)) else text
    # Of what is not an object the SDK makes one with the key `result`, and gives it bare as text.
    wrapped = isinstance(structured, dict) and list(structured) == ["result"] and parsed != structured
    return structured["result"] if wrapped else structured


def problem_of(tool: str, error: str | None, output: Any) -> str | None:
    """What is wrong with the outcome of a call: its error, or the message of an assertion that does not hold."""
    if error is not None:
        return error
    if tool in HOLDS and not (isinstance(output, Mapping) and output.get(HOLDS[tool]) is True):
        message = output.get("message") if isinstance(output, Mapping) else None
        return str(message) if message else shorten(output, SHOWN_OUTPUT)
    return None


def named(steps: Sequence[Step], within: str = "") -> Iterator[tuple[str, Step]]:
    """Steps with their names, or else their tools, or else their numbers."""
    for number, step in enumerate(steps, start=1):
        yield within + (step.name or step.tool or f"step {number}"), step


def every_step(steps: Sequence[Step], place: Place, within: str = "") -> Iterator[tuple[Place, str, Step]]:
    """All steps with their places and their names, once each, in the order in which they begin."""
    for position, (name, step) in enumerate(named(steps, within)):
        yield (*place, position), name, step
        yield from every_step(step.steps, (*place, position, "steps"), name + WITHIN)


def _repeated(step: Step, name: str) -> Iterator[str]:
    """The name of each time that a step is done."""
    for number in range(1, step.repeat + 1):
        yield f"{name} [{number}/{step.repeat}]" if step.repeat > 1 else name
