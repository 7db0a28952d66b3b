"""Evaluates assertions about outputs. A failed one is a result, and nothing is raised."""

from __future__ import annotations

import re
from collections.abc import Iterable

from llm_mock.suites.assertion_types.base import AssertionOutcome
from llm_mock.suites.assertion_types.base import RunContext as RunContext
from llm_mock.suites.assertion_types.text_assertion import TextAssertion, TransformFailed, apply_transform
from llm_mock.suites.results import AssertionResult
from llm_mock.suites.schema import Assertion
from llm_mock.suites.time_limit import CaseTimedOut

_SUBJECTS = {"output": "Output", "prompt": "Prompt", "system": "System prompt"}
"""What the message calls that which an assertion looks at."""
_UNSEEN = "what an application asks its models is seen in a dry run of a function or a command alone"


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
    mistake = assertion.find_mistake(context)
    if mistake is not None:
        return AssertionResult(assertion, False, mistake)
    if context.dry_run and assertion.dry_run_skip is not None:
        return AssertionResult(assertion, None, f"Skipped in a dry run: {assertion.type}, {assertion.dry_run_skip}")
    if context.cassette is not None and (why := assertion.get_cassette_skip(context.cassette)):
        return AssertionResult(assertion, None, f"Skipped with a cassette: {assertion.type}, {why}")
    if context.result is None and assertion.needs_run:
        return AssertionResult(assertion, None, "Skipped: there is an output, but no run that gave it")
    try:
        text = _looked_at(assertion, output, context)
        found = None if text is None else assertion.check(text, context)
    except TransformFailed as error:
        return AssertionResult(assertion, False, str(error))
    except CaseTimedOut as error:
        error.during = error.during or f"the assertion {assertion.type}"
        raise
    return AssertionResult(assertion, None, f"Skipped: {_UNSEEN}") if found is None else _result(assertion, found)


def _looked_at(assertion: Assertion, output: str, context: RunContext) -> str | None:
    """The text that an assertion looks at; None where it is not known."""
    if not isinstance(assertion, TextAssertion):
        return output
    text: str | None = output if assertion.of == "output" else getattr(context, assertion.of)
    return text if text is None or assertion.transform is None else apply_transform(assertion.transform, text, context)


def _result(assertion: Assertion, found: AssertionOutcome) -> AssertionResult:
    """What was found, held against what is wanted."""
    passed = found.holds is not None and found.holds != assertion.is_negated
    unexpected = " (unexpected)" if found.holds and assertion.is_negated else ""
    subject = _SUBJECTS[getattr(assertion, "of", "output")]
    message = found.message if subject == "Output" else re.sub("^Output", subject, found.message)
    score = float(passed) if found.score is None else 1 - found.score if assertion.is_negated else found.score
    return AssertionResult(
        assertion,
        passed,
        f"{message}{unexpected}",
        tokens=found.tokens,
        cost=found.cost,
        score=score,
        judge=found.judge,
    )
