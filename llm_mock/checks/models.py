"""Assertions that ask a model: similarity to a text, or criteria that a judge checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from llm_mock.agents.judge import NoSchemas, grade_output, judge_output
from llm_mock.checks.base import (
    AssertionOutcome,
    CassetteState,
    RunContext,
    Threshold,
    format_error,
    format_external_text,
    quote,
)
from llm_mock.checks.scores import compare_score
from llm_mock.checks.text_assertion import TextAssertion
from llm_mock.support.text import shorten_name
from llm_mock.support.validation import Text

NO_JUDGE = (
    "No judge model: set model: … in the assertion, judge: … in the defaults of the suite, "
    "or ini llm_mock_judge for the project"
)
"""The problem of a check without a judge."""


class SimilarAssertion(TextAssertion):
    """The output is similar in meaning to a text, by cosine similarity of embeddings."""

    dry_run_skip = "it asks an embedding model"

    def get_cassette_skip(self, cassette: CassetteState) -> str | None:
        """Skip the check with every cassette."""
        return "it asks an embedding model, and a cassette holds no embeddings"

    type: Literal["similar", "not_similar"] = "similar"
    value: Text
    threshold: Threshold = 0.8
    """The lowest similarity; `not_similar` requires a lower one."""
    model: Text | None = None
    """An embedding model of `llm`; by default the default model of `llm`."""

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Compare the embeddings of the output and the text."""
        import llm

        try:
            name = self.model or llm.get_default_embedding_model()  # type: ignore[no-untyped-call]
            if name is None:
                return AssertionOutcome(
                    None,
                    "No embedding model: set model: … in the assertion, "
                    "or set a default: llm embed-models default MODEL",
                )
            model = llm.get_embedding_model(name)  # type: ignore[no-untyped-call]
            vectors = list(model.embed_multi([output, self.value]))
            similarity = _compute_similarity(*vectors)
        except Exception as error:  # The other cases go on, whatever a provider raises.
            if self.model:
                named = f" {shorten_name(self.model)!r}"
            else:
                named = ""
            message = f"The embedding model{named} failed: {format_error(error)}"
            return AssertionOutcome(None, message)
        holds, comparison = compare_score(similarity, self.threshold)
        similar = "similar" if holds else "not similar"
        message = f"Output is {similar} to {quote(self.value)}: {comparison}"
        return AssertionOutcome(holds, message, score=min(max(similarity, 0.0), 1.0))


def _compute_similarity(one: Sequence[float], other: Sequence[float]) -> float:
    import llm

    # The vector of an empty text may be all zeros, for which llm divides by zero.
    if not any(one) or not any(other):
        return 0.0
    return float(llm.cosine_similarity(one, other))  # type: ignore[no-untyped-call]


class LLMJudgeAssertion(TextAssertion):
    """The output meets criteria, according to a judge model."""

    dry_run_skip = "it asks a model"

    type: Literal["judge", "not_judge"] = "judge"
    criteria: Text
    threshold: Threshold | None = None
    """The lowest passing score, from 0 to 1; by default the judge gives a yes or no."""
    model: Text | None = None
    """The judge model; by default that of the suite, else the model under test itself."""

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Ask the judge model about the output."""
        model = context.judges.resolve(self.model)
        if model is None:
            return AssertionOutcome(None, NO_JUDGE)
        named = f"The judge model {shorten_name(model)!r}"
        try:
            outcome = self._judge(model, output)
        except NoSchemas:
            message = f"{named} does not support schemas: set another one with model: …"
            return AssertionOutcome(None, message)
        except Exception as error:  # The other cases go on, whatever a provider raises.
            return AssertionOutcome(None, f"{named} failed: {format_error(error)}")
        if outcome.holds is None:
            message = f"{named} returned no verdict, but {outcome.message}"
            return outcome._replace(message=message)
        itself = ""
        if context.result is not None and model == context.result.model:
            itself = " (the model under test judged itself)"
        return outcome._replace(message=f"{outcome.message}{itself}", judge=model)

    def _judge(self, model: str, output: str) -> AssertionOutcome:
        """Return the verdict of a model; without a verdict, the message is the model's reply."""
        if self.threshold is None:
            return self._get_verdict(model, output)
        return self._get_grade(model, output, self.threshold)

    def _get_verdict(self, model: str, output: str) -> AssertionOutcome:
        judgement = judge_output(model, output, self.criteria)
        verdict = judgement.given
        tokens = judgement.tokens
        cost = judgement.cost
        if verdict is None:
            return AssertionOutcome(None, quote(judgement.said), tokens, cost)
        meets = "meets" if verdict.met else "does not meet"
        criteria = quote(self.criteria)
        reason = format_external_text(verdict.reason)
        message = f"Output {meets} the criteria {criteria}: {reason}"
        return AssertionOutcome(verdict.met, message, tokens, cost)

    def _get_grade(self, model: str, output: str, threshold: float) -> AssertionOutcome:
        # A single criterion has the empty name, so that the judge need not repeat one.
        judgement = grade_output(model, output, {"": self.criteria})
        tokens = judgement.tokens
        cost = judgement.cost
        if judgement.given is None:
            return AssertionOutcome(None, quote(judgement.said), tokens, cost)
        grade = judgement.given[""]
        holds, comparison = compare_score(grade.score, threshold)
        criteria = quote(self.criteria)
        reason = format_external_text(grade.reason)
        message = f"Output scored {comparison}, on the criteria {criteria}: {reason}"
        return AssertionOutcome(holds, message, tokens, cost, grade.score)
