"""Run the steps of a test without a model: call real tools in order."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llm_mock.checks.base import RunContext
from llm_mock.errors import LLMMockError, TimeIsUp
from llm_mock.specs.models import MAX_SHOWN, Step, StepResult
from llm_mock.specs.references import (
    STORED,
    find_references,
    get_saved_name,
    resolve_references,
)
from llm_mock.specs.step_checks import CheckedOutput, check_output
from llm_mock.support.deadline import Deadline
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import format_tool_call, shorten, shorten_name

if TYPE_CHECKING:
    from llm_mock.agents.tools import ServerTool

Location = tuple[str | int, ...]
"""The keys and positions that lead to a part of a file."""
Report = Callable[[StepResult | str], None]
"""A function that is called with each result, and with texts on other events."""
RESULT_FIELDS = {
    "assert_equals": "passed",
    "assert_contains": "passed",
    "assert_true": "passed",
    "compare_values": "equal",
}
"""The output field with the outcome of a comparison, by tool; a false one is not an error."""
STORE_TOOL = "store_value"
"""The tool that stores the values for `${stored.name}`."""
SEPARATOR = " › "  # noqa: RUF001 (the names of nested steps read as a path)


@dataclass
class StepRunner:
    """Calls the tools of steps in order; after a failed step, the remaining ones are skipped."""

    tools: Mapping[str, ServerTool]
    """The tools by name, at least those of the steps."""
    saved: JSONObject
    """Saved results by name; those of the steps are added."""
    deadline: Deadline
    report: Report
    context: RunContext = field(default_factory=RunContext)
    """The context of the checks."""
    keep_going: bool = False
    """Whether to run the remaining steps after a failed one."""
    results: list[StepResult] = field(default_factory=list)
    """The results of all calls and skipped steps."""
    checked: int = 0
    """The number of comparisons and checks that held."""
    unjudged: int = 0
    """The number of expectations and questions that only a model can judge."""

    @property
    def failed(self) -> StepResult | None:
        """The first step that failed."""
        for result in self.results:
            if result.status == "fail":
                return result
        return None

    @property
    def problem(self) -> str | None:
        """The first step that failed, with its reason."""
        failed = self.failed
        if failed is None:
            return None
        return f"{shorten_name(failed.name)}: {failed.details}"

    def run(self, steps: Sequence[Step], prefix: str = "") -> None:
        """Run steps; a step that the deadline interrupts has failed.

        Args:
            steps: the steps.
            prefix: the beginning of the names of their results.

        Raises:
            TimeIsUp: the deadline has passed.
        """
        for name, step in name_steps(steps, prefix):
            if self._failed_to_stop_at:
                details = f"not run: {self._failed_to_stop_at.name} failed"
                self._add_result(name, "skip", details)
                continue
            for numbered_name in _name_repetitions(step, name):
                self._run_once(step, numbered_name)
                if self._failed_to_stop_at:
                    break

    @property
    def _failed_to_stop_at(self) -> StepResult | None:
        return None if self.keep_going else self.failed

    def _run_once(self, step: Step, name: str) -> None:
        if step.is_nested():
            self.run(step.steps, name + SEPARATOR)
            return
        if not step.tool:
            self.unjudged += 1
            self._add_result(name, "skip", "only a model can judge it")
            return
        missing = self._find_missing_names(step)
        if missing:
            # The step that saves it may have failed, or only a model can do it.
            names = ", ".join(missing)
            self._add_result(name, "skip", f"not run: nothing was saved as {names}")
            return
        self._call(step, name)

    def _find_missing_names(self, step: Step) -> list[str]:
        """Return the names that a step refers to and that are not saved, in quotes."""
        names: dict[str, None] = {}  # for the order
        for _, reference in find_references(step.args):
            name = get_saved_name(reference, self.saved) or reference
            names[name] = None
        return [repr(name) for name in names if name not in self.saved]

    def _call(self, step: Step, name: str) -> None:
        try:
            arguments = resolve_references(step.args, self.saved)
        except LLMMockError as error:
            self._add_result(name, "fail", str(error))
            return
        call = format_tool_call(step.tool, arguments)
        try:
            output, checked, problem = self._call_until_success(step, arguments)
        except TimeIsUp as error:
            self._add_result(name, "fail", f"{call}: {error}")
            raise TimeIsUp(name) from None
        if problem is not None:
            self._add_result(name, "fail", f"{call}: {problem}", output)
            return
        save_output(self.saved, step, arguments, output)
        self._add_result(name, "pass", f"{call}{self._count_checks(step, checked)}", output)

    def _count_checks(self, step: Step, checked: CheckedOutput) -> str:
        """Count a successful step, and return a text about checks and expectations left open."""
        self.checked += checked.passed
        self.unjudged += len(checked.skipped)
        text = "".join(f"; not checked: {reason}" for reason in checked.skipped)
        if step.tool in RESULT_FIELDS:
            self.checked += 1
            return text
        texts = [shorten_name(text) for text in (step.expect, step.analyze) if text]
        if not texts:
            return text
        self.unjudged += 1
        return f"{text}; not judged: {'; '.join(texts)}"

    def _call_until_success(
        self, step: Step, arguments: JSONObject
    ) -> tuple[Any, CheckedOutput, str | None]:
        """Call a tool, with the retries of its step; return its output, checks and problem.

        Raises:
            TimeIsUp: the deadline has passed.
        """
        output, problem = None, None
        checked = CheckedOutput()
        for attempt in range(step.retry + 1):
            if attempt:
                time.sleep(min(step.retry_delay, self.deadline.left))
            left = self.deadline.left
            if left:
                output, checked, problem = self._call_once(step, arguments, left)
                if problem is None:
                    return output, checked, None
            # Checked again: a call that failed because time ran out is not a result.
            if not self.deadline.left:
                raise TimeIsUp(problem or "the test ran out of time")
        if step.retry:
            problem = f"{problem} (after {step.retry + 1} attempts)"
        return output, checked, problem

    def _call_once(
        self, step: Step, arguments: JSONObject, left: float
    ) -> tuple[Any, CheckedOutput, str | None]:
        """Call a tool and check its output; return its output, checks and problem."""
        timeout = min(left, step.timeout or left)
        answer = self.tools[step.tool].call(arguments, timeout)
        output = parse_output(answer.text, answer.structured)
        error = answer.text if answer.is_error else None
        problem = find_problem(step.tool, error, output)
        if problem is not None:
            return output, CheckedOutput(), problem
        checked = check_output(step, output, self.saved, self.context, self.deadline)
        return output, checked, "; ".join(checked.failed) or None

    def _add_result(self, name: str, status: Any, details: str, output: Any = None) -> None:
        result = StepResult(name=name, status=status, details=details, tool_output=output)
        self.results.append(result)
        self.report(result)


def save_output(
    saved: JSONObject, step: Step, arguments: Mapping[str, object], output: object
) -> None:
    """Save the output of a successful call, and the value that it stored, for later steps."""
    if step.save_as:
        saved[step.save_as] = output
    if step.tool == STORE_TOOL and "name" in arguments:
        name = arguments["name"]
        saved[f"{STORED}{name}"] = arguments.get("value")


def iterate_calls(steps: Sequence[Step], prefix: str = "") -> Iterator[tuple[str, Step]]:
    """Yield each call that steps make, in order, with the name of its result."""
    for name, step in name_steps(steps, prefix):
        for numbered_name in _name_repetitions(step, name):
            if step.tool:
                yield numbered_name, step
            yield from iterate_calls(step.steps, numbered_name + SEPARATOR)


def parse_output(text: str, structured: Any) -> Any:
    """Return the output of a tool as it is saved: data, or else text.

    Args:
        text: the text of the tool's result.
        structured: its structured content.
    """
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if structured is None:
        return parsed if isinstance(parsed, (dict, list)) else text
    # The MCP SDK wraps a value that is not an object in one with the key `result`; the text has
    # the bare value.
    has_result_only = isinstance(structured, dict) and list(structured) == ["result"]
    if has_result_only and parsed != structured:
        return structured["result"]
    return structured


def find_problem(tool: str, error: str | None, output: object) -> str | None:
    """Return the error of a call, or the message of an assertion that does not hold, or None."""
    if error is not None:
        return error
    if tool not in RESULT_FIELDS:
        return None
    if not isinstance(output, Mapping):
        return shorten(output, MAX_SHOWN)
    if output.get(RESULT_FIELDS[tool]) is True:
        return None
    message = output.get("message")
    return str(message) if message else shorten(output, MAX_SHOWN)


def name_steps(steps: Sequence[Step], prefix: str = "") -> Iterator[tuple[str, Step]]:
    """Yield steps with their names: the step's own, the tool's, or a number."""
    for number, step in enumerate(steps, start=1):
        name = step.name or step.tool or f"step {number}"
        yield prefix + name, step


def iterate_steps(
    steps: Sequence[Step], location: Location, prefix: str = ""
) -> Iterator[tuple[Location, str, Step]]:
    """Yield steps and nested steps, once each, with their locations and names."""
    for position, (name, step) in enumerate(name_steps(steps, prefix)):
        step_location = (*location, position)
        yield step_location, name, step
        yield from iterate_steps(step.steps, (*step_location, "steps"), name + SEPARATOR)


def _name_repetitions(step: Step, name: str) -> Iterator[str]:
    """Yield the name of each repetition of a step."""
    if step.repeat == 1:
        yield name
        return
    for number in range(1, step.repeat + 1):
        yield f"{name} [{number}/{step.repeat}]"
