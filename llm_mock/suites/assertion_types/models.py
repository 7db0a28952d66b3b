"""Assertions that ask a model: whether an output means the same as a text, or meets criteria."""

from __future__ import annotations

from typing import Literal

from llm_mock.agents.judge import NoSchemas, grade_output, judge_output
from llm_mock.suites.assertion_types.base import (
    CassetteState,
    Outcome,
    RunContext,
    Threshold,
    quoted,
    reported,
    reported_error,
)
from llm_mock.suites.assertion_types.text_assertion import TextAssertion
from llm_mock.suites.scores import against
from llm_mock.support.text import shorten_name
from llm_mock.support.validation import Text


class SimilarAssertion(TextAssertion):
    """The output means about the same as a text: cosine similarity of their embeddings."""

    skipped_dry = "it asks an embedding model"

    def skipped_with(self, cassette: CassetteState) -> str | None:
        return "it asks an embedding model, and a cassette holds no embeddings"

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
        holds, figure = against(similarity, self.threshold)
        message = f"Output is {'' if holds else 'not '}similar to {quoted(self.value, 80)}: {figure}"
        return Outcome(holds, message, score=min(max(similarity, 0.0), 1.0))


class LLMJudgeAssertion(TextAssertion):
    """A model finds that the output meets criteria."""

    skipped_dry = "it asks a model"

    type: Literal["llm_judge", "not_llm_judge"] = "llm_judge"
    criteria: Text
    threshold: Threshold | None = None
    """The least score, from 0 to 1, that the model must give; by default it says only whether the criteria are met."""
    model: Text | None = None
    """The model that judges; by default that of the suite, else the one of the role, which judges itself then."""

    def check(self, output: str, context: RunContext) -> Outcome:
        model = context.only_judge or self.model or context.judge
        if model is None:
            return Outcome(None, "No model judges: name one in the assertion, model: …, or in the defaults, judge: …")
        named = f"The model {shorten_name(model)!r}"
        try:
            found = self._judged(model, output)
        except NoSchemas:
            return Outcome(None, f"{named} cannot judge, as it supports no schemas: name another, model: …")
        except Exception as error:  # whatever a provider raises, the other cases go on
            return Outcome(None, f"{named} that judges failed: {reported_error(error)}")
        if found.holds is None:
            return found._replace(message=f"{named} that judges gave no verdict, but {found.message}")
        judges_itself = context.result is not None and model == context.result.model
        itself = " (the model under test judged itself)" if judges_itself else ""
        return found._replace(message=f"{found.message}{itself}", judge=model)

    def _judged(self, model: str, output: str) -> Outcome:
        """What a model finds; where it gives no verdict, the message is what it said."""
        criteria = f"the criteria {quoted(self.criteria, 80)}"
        if self.threshold is None:
            judgement = judge_output(model, output, self.criteria)
            if (verdict := judgement.given) is None:
                return Outcome(None, quoted(judgement.said), judgement.tokens, judgement.cost)
            message = f"Output {'meets' if verdict.met else 'does not meet'} {criteria}: {reported(verdict.reason)}"
            return Outcome(verdict.met, message, judgement.tokens, judgement.cost)
        graded = grade_output(model, output, {"": self.criteria})
        if graded.given is None:
            return Outcome(None, quoted(graded.said), graded.tokens, graded.cost)
        grade = graded.given[""]
        holds, figure = against(grade.score, self.threshold)
        message = f"Output meets {criteria} with {figure}: {reported(grade.reason)}"
        return Outcome(holds, message, graded.tokens, graded.cost, grade.score)
