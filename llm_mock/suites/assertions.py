"""Evaluation of assertions about outputs; a failure is a result, not an exception."""

from __future__ import annotations

import re
from collections.abc import Iterable

from llm_mock.suites.assertion_types.base import AssertionOutcome
from llm_mock.suites.assertion_types.base import RunContext as RunContext
from llm_mock.suites.assertion_types.text_assertion import (
    TextAssertion,
    TransformFailed,
    apply_transform,
)
from llm_mock.suites.results import AssertionResult
from llm_mock.suites.schema import Assertion
from llm_mock.suites.time_limit import CaseTimedOut

_SUBJECTS = {"output": "Output", "prompt": "Prompt", "system": "System prompt"}
"""The subjects of messages, by the text that an assertion checks."""
_NO_PROMPT = "the prompts of an application are known only in a dry run of a function or a command"


def evaluate_assertions(
    assertions: Iterable[Assertion],
    output: str,
    context: RunContext | None = None,
) -> list[AssertionResult]:
    """Evaluate several assertions about one output; see `evaluate_assertion`."""
    return [evaluate_assertion(assertion, output, context) for assertion in assertions]


def evaluate_assertion(
    assertion: Assertion,
    output: str,
    context: RunContext | None = None,
) -> AssertionResult:
    """Evaluate one assertion.

    Args:
        assertion: the requirement.
        output: the answer of the model; the `transform` of the assertion is applied to it.
        context: other facts about the run; by default none.

    Returns:
        The result: passed, failed, or skipped if it needs a real model or a run. An assertion that
        cannot be checked, as a function is missing or the judge gives no verdict, fails.
    """
    context = context or RunContext()
    mistake = assertion.find_mistake(context)
    # Reported even if the assertion would be skipped: a dry run is there to find mistakes.
    if mistake is not None:
        return AssertionResult(assertion, False, mistake)
    skip_reason = _get_skip_reason(assertion, context)
    if skip_reason is not None:
        return AssertionResult(assertion, None, skip_reason)
    try:
        text = _get_text(assertion, output, context)
        if text is None:
            return AssertionResult(assertion, None, f"Skipped: {_NO_PROMPT}")
        outcome = assertion.check(text, context)
    except TransformFailed as error:
        return AssertionResult(assertion, False, str(error))
    except CaseTimedOut as error:
        # A Python function may have given its own name already, which says more.
        error.during = error.during or f"the assertion {assertion.type}"
        raise
    return _make_result(assertion, outcome)


def _get_skip_reason(assertion: Assertion, context: RunContext) -> str | None:
    if context.dry_run and assertion.dry_run_skip is not None:
        return f"Skipped in a dry run: {assertion.type}, {assertion.dry_run_skip}"
    if context.cassette is not None:
        reason = assertion.get_cassette_skip(context.cassette)
        if reason is not None:
            return f"Skipped with a cassette: {assertion.type}, {reason}"
    if context.result is None and assertion.needs_run:
        return "Skipped: it needs a run, and only an output is given"
    return None


def _get_text(assertion: Assertion, output: str, context: RunContext) -> str | None:
    """Return the text that an assertion checks; None if it is unknown."""
    if not isinstance(assertion, TextAssertion):
        return output
    texts = {"output": output, "prompt": context.prompt, "system": context.system}
    text = texts[assertion.of]
    if text is None or assertion.transform is None:
        return text
    return apply_transform(assertion.transform, text, context)


def _make_result(assertion: Assertion, outcome: AssertionOutcome) -> AssertionResult:
    """Return the result of an assertion, with `not_` applied to the outcome."""
    # Neither an assertion nor its opposite passes if it could not be checked.
    passed = outcome.holds is not None and outcome.holds != assertion.is_negated
    message = outcome.message
    subject = _SUBJECTS[getattr(assertion, "of", "output")]
    if subject != "Output":
        message = re.sub("^Output", subject, message)
    if outcome.holds and assertion.is_negated:
        message += " (unexpected)"
    score = outcome.score
    if score is None:
        score = float(passed)
    elif assertion.is_negated:
        score = 1 - score
    return AssertionResult(
        assertion,
        passed,
        message,
        tokens=outcome.tokens,
        cost=outcome.cost,
        score=score,
        judge=outcome.judge,
    )
