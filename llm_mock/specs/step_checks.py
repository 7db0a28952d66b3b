"""Run the checks of steps on the outputs of their tools."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple

import pydantic

from llm_mock.checks.base import RunContext
from llm_mock.checks.evaluation import AssertionResult, BaseAssertion, evaluate_assertion
from llm_mock.errors import LLMMockError, TimeIsUp, UnknownReference
from llm_mock.specs.models import Step
from llm_mock.specs.references import find_references, resolve_references
from llm_mock.support.deadline import Deadline
from llm_mock.support.json_types import JSONObject
from llm_mock.support.time_limit import CaseTimedOut, run_with_limit

Location = tuple[str | int, ...]


class CheckedOutput(NamedTuple):
    """The outcomes of the checks of a step."""

    passed: int = 0
    failed: tuple[str, ...] = ()
    """The reasons of the checks that failed."""
    skipped: tuple[str, ...] = ()
    """The reasons why checks could not run."""


def check_output(
    step: Step,
    output: object,
    saved: Mapping[str, object],
    context: RunContext,
    deadline: Deadline,
) -> CheckedOutput:
    """Run the checks of a step.

    Args:
        step: the step.
        output: the output of its tool; data is checked as JSON.
        saved: the saved results, which the checks may refer to.
        context: the judge, the folder of functions, and whether the run is dry.
        deadline: the end of the test.

    Raises:
        TimeIsUp: the deadline has passed.
    """
    if not step.checks:
        return CheckedOutput()
    text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    passed = 0
    failed = []
    skipped = []
    for check in step.checks:
        holds, message = _evaluate(check, text, saved, context, deadline)
        if holds is None:
            skipped.append(message)
        elif holds:
            passed += 1
        else:
            failed.append(message)
    return CheckedOutput(passed, tuple(failed), tuple(skipped))


def _evaluate(
    check: BaseAssertion,
    text: str,
    saved: Mapping[str, object],
    context: RunContext,
    deadline: Deadline,
) -> tuple[bool | None, str]:
    if not deadline.left:
        raise TimeIsUp(f"the check {check.type}")
    try:
        resolved = _resolve(check, saved)
    except LLMMockError as error:
        return False, f"{check.type}: {error}"
    try:
        result = run_with_limit(deadline.left, lambda: evaluate_assertion(resolved, text, context))
    except CaseTimedOut:
        # An abandoned judge may have responded, at an unknown cost.
        cost = Decimal(0) if context.dry_run else None
        _report(AssertionResult(resolved, None, "Timed out", cost=cost), context)
        raise TimeIsUp(f"the check {check.type}") from None
    _report(result, context)
    return result.passed, result.message


def _report(result: AssertionResult, context: RunContext) -> None:
    if context.on_check is not None:
        context.on_check(result)


def _resolve(check: BaseAssertion, saved: Mapping[str, object]) -> BaseAssertion:
    """Return a check with the saved results that it refers to."""
    fields = dump_check(check)
    if not any(find_references(fields)):
        return check
    resolved = resolve_references(fields, saved)
    try:
        return type(check).model_validate(resolved)
    except pydantic.ValidationError as error:
        problem = error.errors()[0]["msg"]
        raise UnknownReference(f"invalid with the saved results inserted: {problem}") from None


def dump_check(check: BaseAssertion) -> JSONObject:
    """Return the fields of a check as its file has them."""
    return check.model_dump(mode="json", by_alias=True, exclude_unset=True)


def find_check_problems(step: Step) -> Iterator[tuple[Location, str]]:
    """Yield the checks that are impossible in a step, with their locations."""
    for position, check in enumerate(step.checks):
        if check.needs_run:
            yield (
                ("checks", position),
                f"{check.type} checks the run of a model, but a step has only the output of its "
                f"tool; use {check.type} in a suite or in Python",
            )
        if getattr(check, "of", "output") != "output":
            yield ("checks", position, "of"), "a step has no prompt, only the output of its tool"
