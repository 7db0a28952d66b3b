"""Base class of assertions, and their evaluation; a failure is a result, not an exception."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, ClassVar, get_args

from pydantic import ConfigDict, Field

from llm_mock.agents.check_log import log_check
from llm_mock.agents.result import Finding
from llm_mock.checks.base import (
    MAX_QUOTED,
    AssertionOutcome,
    CassetteState,
    RunContext,
    ScriptedFact,
    StrictModel,
)
from llm_mock.checks.python_functions import ModelRefused
from llm_mock.checks.subjects import SHOWN_OUTPUT, read_subject
from llm_mock.checks.transforms import TransformFailed
from llm_mock.core.judge_choice import get_judge_choice
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import shorten_name
from llm_mock.support.time_limit import CaseTimedOut
from llm_mock.support.validation import Number, Text

if TYPE_CHECKING:
    from typing_extensions import Self

_SUBJECTS = {"output": "Output", "prompt": "Prompt", "system": "System prompt"}
"""The subjects of messages, by the text that an assertion checks."""
_NO_PROMPT = "the prompt of this run, or of the application's model calls, is unknown"


def _require_type(schema: JSONObject) -> None:
    """Make `type` required in the JSON Schema."""
    # The field has a default, so that Python code can leave it out. Files cannot.
    others = schema.get("required", ())
    schema["required"] = ["type", *others]


class BaseAssertion(StrictModel, ABC):
    """A requirement for an answer; negated if `type` begins with `not_`."""

    model_config = ConfigDict(json_schema_extra=_require_type)

    needs_run: ClassVar[bool] = False
    """True if it checks the run of the output; without a run it is skipped."""
    needs_calls: ClassVar[bool] = False
    """True if it checks the model calls; if they are unknown, it is skipped."""
    dry_run_skip: ClassVar[str | None] = None
    """The reason to skip it in a dry run; None to evaluate it."""
    scripted_fact: ClassVar[ScriptedFact | None] = None
    """The fact that it checks: in a dry run it is evaluated if the replies state it."""

    type: str
    weight: Annotated[Number, Field(ge=0)] = 1.0
    """The weight in the score of the case. Weight 0 only measures: the case does not fail."""
    metric: Text | None = None
    """The metric that its score belongs to; each metric has an average of its own."""

    @property
    def is_negated(self) -> bool:
        """Return True if the opposite is asserted."""
        return self.type.startswith("not_")

    def get_skip(self) -> str | None:
        """Return the reason to skip it in each run, or None to evaluate it."""
        return None

    def get_cassette_skip(self, cassette: CassetteState) -> str | None:
        """Return the reason to skip it with a cassette, or None to evaluate it."""
        return None

    def get_text(self, output: str, context: RunContext) -> str | None:
        """Return the text to check; None if it is unknown."""
        return output

    def find_mistake(self, context: RunContext) -> str | None:
        """Return the mistake in the assertion itself, independent of the output, or None."""
        return None

    def __call__(self, subject: object) -> Finding:
        """Check a text, data, an `AgentResult`, a response of `llm` or a `Call` of a mock.

        Returns:
            A value that is true if the check holds, and false, with the reason, if it does not hold
            or cannot run.

        Raises:
            TypeError: the subject has an unsupported type.
        """
        __tracebackhide__ = True
        output, context = read_subject(subject)
        run = context.result
        # As in a suite, nothing is checked if the run failed.
        if run is not None and not run.success:
            reason = f"the run failed: {shorten_name(run.error or '', SHOWN_OUTPUT)}"
            finding = Finding(None, reason)
        else:
            context = replace(context, judges=get_judge_choice())
            result = evaluate_assertion(self, output, context)
            finding = Finding(result.passed, result.message.removeprefix("Skipped: "))
        log_check(finding.outcome, f"{self.type}: {finding.reason}", run)
        return finding

    def __invert__(self) -> Self:
        """Return the opposite check.

        Raises:
            TypeError: the check has no opposite.
        """
        __tracebackhide__ = True
        opposite = self.type.removeprefix("not_") if self.is_negated else f"not_{self.type}"
        if opposite not in get_args(type(self).model_fields["type"].annotation):
            raise TypeError(f"{self.type} has no opposite.")
        return self.model_copy(update={"type": opposite})

    def __repr__(self) -> str:
        fields = self.model_dump(exclude_defaults=True, exclude={"type"}, by_alias=True)
        values = [
            f"{name}={shorten_name(repr(value), MAX_QUOTED)}" for name, value in fields.items()
        ]
        return f"{self.type}({', '.join(values)})"

    __str__ = __repr__

    @abstractmethod
    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Return the outcome without `not_`. Problems are outcomes; nothing is raised."""


@dataclass(frozen=True)
class AssertionResult:
    """The result of one assertion."""

    assertion: BaseAssertion
    passed: bool | None
    """None if it was skipped: a dry run cannot check what only a real model can answer."""
    message: str
    """A sentence such as `Output contains 'Hello'`, or the reason why it was skipped."""
    turn: int = 0
    """The turn of the case that it belongs to, from 0."""
    tokens: int = 0
    """Tokens that the assertion itself used to call a model, input and output together."""
    cost: Decimal | None = Decimal(0)
    """US dollars that the assertion itself spent; None if a price is unknown."""
    score: float | None = None
    """The score from 0 to 1; by default 1 if it passed, otherwise 0. None if it was skipped."""
    judge: str | None = None
    """The id of the model that judged the output, if one did."""

    def __post_init__(self) -> None:
        if self.score is None and self.passed is not None:
            # The dataclass is frozen, which forbids an ordinary assignment.
            object.__setattr__(self, "score", float(self.passed))


def evaluate_assertions(
    assertions: Iterable[BaseAssertion],
    output: str,
    context: RunContext | None = None,
) -> list[AssertionResult]:
    """Evaluate several assertions about one output; see `evaluate_assertion`."""
    return [evaluate_assertion(assertion, output, context) for assertion in assertions]


def evaluate_assertion(
    assertion: BaseAssertion,
    output: str,
    context: RunContext | None = None,
) -> AssertionResult:
    """Evaluate one assertion.

    Args:
        assertion: the requirement.
        output: the answer of the model; the `transform` of the assertion is applied to it.
        context: other facts about the run; by default none.

    Returns:
        The result: passed, failed, or skipped if it needs a real model or a run. An assertion fails
        if it cannot be checked, for example if a function is missing or the judge returns no
        verdict.
    """
    context = context or RunContext()
    mistake = assertion.find_mistake(context)
    # Reported even if the assertion would be skipped: a dry run must find mistakes.
    if mistake is not None:
        return AssertionResult(assertion, False, mistake)
    skip_reason = _get_skip_reason(assertion, context)
    if skip_reason is not None:
        return AssertionResult(assertion, None, skip_reason)
    try:
        text = assertion.get_text(output, context)
        if text is None:
            return AssertionResult(assertion, None, f"Skipped: {_NO_PROMPT}")
        outcome = assertion.check(text, context)
    except TransformFailed as error:
        return AssertionResult(assertion, False, str(error))
    except ModelRefused as error:
        # A function that calls a model is skipped like any other judge.
        reason = format_refusal(assertion.type, error, context.dry_run)
        return AssertionResult(assertion, None, reason)
    except CaseTimedOut as error:
        # A Python function may have set its own name already, which says more.
        error.during = error.during or f"the assertion {assertion.type}"
        raise
    return _make_result(assertion, outcome, context)


def format_refusal(name: str, error: ModelRefused, dry_run: bool) -> str:
    """Return the reason to skip what needs a model or a connection that is not allowed."""
    when = " in a dry run" if dry_run else ""
    return f"Skipped{when}: {name}, {error}"


def _get_skip_reason(assertion: BaseAssertion, context: RunContext) -> str | None:
    reason = assertion.get_skip()
    if reason is not None:
        return f"Skipped: {reason}"
    if context.unknown_calls is not None and assertion.needs_calls:
        return f"Skipped: {assertion.type}, {context.unknown_calls}"
    if context.dry_run and _needs_real_model(assertion, context):
        return f"Skipped in a dry run: {assertion.type}, {assertion.dry_run_skip}"
    if context.cassette is not None:
        reason = assertion.get_cassette_skip(context.cassette)
        if reason is not None:
            return f"Skipped with a cassette: {assertion.type}, {reason}"
    if context.result is None and assertion.needs_run:
        return "Skipped: it checks a run, but only an output is available"
    return None


def _needs_real_model(assertion: BaseAssertion, context: RunContext) -> bool:
    if assertion.dry_run_skip is None:
        return False
    return assertion.scripted_fact not in context.scripted


def _make_result(
    assertion: BaseAssertion, outcome: AssertionOutcome, context: RunContext
) -> AssertionResult:
    """Return the result of an assertion, with `not_` applied to the outcome."""
    # Neither an assertion nor its opposite passes if it could not be checked.
    passed = outcome.holds is not None and outcome.holds != assertion.is_negated
    message = outcome.message
    subject = _SUBJECTS[getattr(assertion, "of", "output")]
    if subject != "Output":
        message = re.sub("^Output", subject, message)
    if outcome.holds and assertion.is_negated:
        message += " (unexpected)"
    if context.dry_run and assertion.scripted_fact is not None:
        # The reader must not take it for what a real model does.
        message += ", as scripted"
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
