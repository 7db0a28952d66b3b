"""Evaluates assertions about outputs. A failed one is a result, and nothing is raised."""

from __future__ import annotations

from collections.abc import Iterable

from llm_mock.suites.assertion_types.base import RunContext as RunContext
from llm_mock.suites.assertion_types.text_assertion import TextAssertion, TransformFailed, transformed
from llm_mock.suites.results import AssertionResult
from llm_mock.suites.schema import Assertion


def evaluate_assertions(
    assertions: Iterable[Assertion], output: str, context: RunContext | None = None
) -> list[AssertionResult]:
    """Evaluate several assertions about one output; see `evaluate_assertion`."""
    return [evaluate_assertion(assertion, output, context) for assertion in assertions]


def evaluate_assertion(assertion: Assertion, output: str, context: RunContext | None = None) -> AssertionResult:
    """Evaluate one assertion.

    Args:
        assertion: what the output must be like.
        output: what the model answered; the `transform` of the assertion makes of it what is looked at.
        context: what else is known; by default nothing.

    Returns:
        The result: passed, failed, or skipped where only a real model or a run could answer. What cannot be found out,
        as a function is missing or the judge gives no verdict, has failed.
    """
    context = context or RunContext()
    mistake = assertion.mistake(context)
    if mistake is not None:
        return AssertionResult(assertion, False, mistake)
    if context.dry_run and assertion.skipped_dry is not None:
        return AssertionResult(assertion, None, f"Skipped in a dry run: {assertion.type}, {assertion.skipped_dry}")
    if context.cassette is not None and (why := assertion.skipped_with(context.cassette)):
        return AssertionResult(assertion, None, f"Skipped with a cassette: {assertion.type}, {why}")
    if context.result is None and assertion.needs_run:
        return AssertionResult(assertion, None, "Skipped: there is an output, but no run that gave it")
    transform = assertion.transform if isinstance(assertion, TextAssertion) else None
    try:
        text = output if transform is None else transformed(transform, output, context)
    except TransformFailed as error:
        return AssertionResult(assertion, False, str(error))
    found = assertion.check(text, context)
    passed = found.holds is not None and found.holds != assertion.negated
    unexpected = " (unexpected)" if found.holds and assertion.negated else ""
    score = float(passed) if found.score is None else 1 - found.score if assertion.negated else found.score
    return AssertionResult(
        assertion,
        passed,
        f"{found.message}{unexpected}",
        tokens=found.tokens,
        cost=found.cost,
        score=score,
        judge=found.judge,
    )
