"""Assertions that ask a model: whether an output means the same as a text, or meets criteria."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from llm_mock.agents.judging import NoSchemas, verdict_of
from llm_mock.suites.assertion_types.base import Outcome, RunContext, quoted, reported, reported_error
from llm_mock.suites.assertion_types.text_assertion import TextAssertion
from llm_mock.support.text import shorten_name
from llm_mock.support.validation import Number, Text

Threshold = Annotated[Number, Field(gt=0, le=1)]
"""A share, above 0, which everything reaches, and at most 1."""
_ROUNDING = 1e-9
"""By how much the similarity of a text with itself may be below 1."""


class SimilarAssertion(TextAssertion):
    """The output means about the same as a text: cosine similarity of their embeddings."""

    skipped_dry = "it asks an embedding model"

    type: Literal["similar", "not_similar"] = "similar"
    value: Text
    threshold: Threshold = 0.8
    """The least similarity; `not_similar` wants less."""
    model: Text | None = None
    """An embedding model of `llm`; by default the one that `llm` has as its default."""

    def check(self, output: str, context: RunContext) -> Outcome:
        import llm

        try:
            name = self.model or llm.get_default_embedding_model()  # type: ignore[no-untyped-call]
            if name is None:
                how = "name one in the assertion, model: …, or set one for all: llm embed-models default MODEL"
                return Outcome(None, f"No embedding model: {how}")
            one, other = llm.get_embedding_model(name).embed_multi([output, self.value])  # type: ignore[no-untyped-call]
            # a vector may have no direction, such as that of an empty text
            similarity = float(llm.cosine_similarity(one, other)) if any(one) and any(other) else 0.0  # type: ignore[no-untyped-call]
        except Exception as error:  # whatever a provider raises, the other cases go on
            named = f" {shorten_name(self.model)!r}" if self.model else ""
            return Outcome(None, f"The embedding model{named} failed: {reported_error(error)}")
        holds = similarity >= self.threshold - _ROUNDING
        figure = f"{similarity:.3f}, {'at least' if holds else 'less than'} {self.threshold:g}"
        return Outcome(holds, f"Output is {'' if holds else 'not '}similar to {quoted(self.value, 80)}: {figure}")


class LLMJudgeAssertion(TextAssertion):
    """A model finds that the output meets criteria."""

    skipped_dry = "it asks a model"

    type: Literal["llm_judge", "not_llm_judge"] = "llm_judge"
    criteria: Text
    model: Text | None = None
    """The model that judges; by default the one of the role."""

    def check(self, output: str, context: RunContext) -> Outcome:
        model = self.model or context.judge
        if model is None:
            return Outcome(None, "No model judges: name one in the assertion, model: …")
        named = f"The model {shorten_name(model)!r}"
        try:
            judgement = verdict_of(model, output, self.criteria)
        except NoSchemas:
            return Outcome(None, f"{named} cannot judge, as it supports no schemas: name another, model: …")
        except Exception as error:  # whatever a provider raises, the other cases go on
            return Outcome(None, f"{named} that judges failed: {reported_error(error)}")
        took, verdict = (judgement.tokens, judgement.cost), judgement.given
        if verdict is None:
            return Outcome(None, f"{named} that judges gave no verdict, but {quoted(judgement.said)}", *took)
        criteria = f"{'meets' if verdict.met else 'does not meet'} the criteria {quoted(self.criteria, 80)}"
        return Outcome(verdict.met, f"Output {criteria}: {reported(verdict.reason)}", *took)
