"""Assertions that measure how close the output is to a reference text."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from typing import Annotated, Literal

from pydantic import Field

from llm_mock.checks.base import AssertionOutcome, RunContext, Threshold, quote
from llm_mock.checks.scores import compare_score
from llm_mock.checks.text_assertion import TextAssertion
from llm_mock.errors import MissingExtra
from llm_mock.support.text import format_count
from llm_mock.support.validation import Text, Whole

_WORD = re.compile(r"\w+")


class LevenshteinAssertion(TextAssertion):
    """The output differs from a text by few edits: characters inserted, deleted or replaced."""

    type: Literal["levenshtein", "not_levenshtein"] = "levenshtein"
    value: Text
    max_distance: Annotated[Whole, Field(ge=0)] = 5
    """The largest number of edits."""

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Count the edits."""
        try:
            distance = _count_edits(output, self.value)
        except MissingExtra as error:
            return AssertionOutcome(None, str(error))
        holds = distance <= self.max_distance
        relation = "at most" if holds else "more than"
        edits = format_count(distance, "edit")
        message = f"Output is {edits} from {quote(self.value)}, {relation} {self.max_distance}"
        return AssertionOutcome(holds, message)


class _ScoredAssertion(TextAssertion):
    """An assertion with a score from 0 to 1 against one or several reference texts."""

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Compare the score with the threshold."""
        try:
            name, score, threshold = self._measure(output)
        except MissingExtra as error:
            return AssertionOutcome(None, str(error))
        holds, comparison = compare_score(score, threshold)
        return AssertionOutcome(holds, f"Output has {name} {comparison}", score=score)

    @abstractmethod
    def _measure(self, output: str) -> tuple[str, float, float]:
        """Return the name of the score, the score and the lowest one that passes.

        Raises:
            MissingExtra: the library that computes it is not installed.
        """


class RougeAssertion(_ScoredAssertion):
    """The output shares words, or sequences of `n` words, with a text: the F-score of ROUGE-N.

    A word consists of letters, digits and underscores; case is ignored.
    """

    type: Literal["rouge_n", "not_rouge_n"] = "rouge_n"
    value: Text
    n: Annotated[Whole, Field(ge=1)] = 1
    """The number of words in each sequence."""
    threshold: Threshold = 0.75
    """The lowest passing score."""

    def _measure(self, output: str) -> tuple[str, float, float]:
        return f"ROUGE-{self.n}", _compute_rouge(output, self.value, self.n), self.threshold


class BleuAssertion(_ScoredAssertion):
    """The output resembles a reference translation: its BLEU score, ignoring case."""

    type: Literal["bleu", "not_bleu"] = "bleu"
    value: Text | Annotated[tuple[Text, ...], Field(min_length=1)]
    """The reference, or several alternatives."""
    threshold: Threshold = 0.5
    """The lowest passing score."""

    def _measure(self, output: str) -> tuple[str, float, float]:
        references = (self.value,) if isinstance(self.value, str) else self.value
        return "BLEU", _compute_bleu(output, list(references)), self.threshold


def _count_edits(text: str, other: str) -> int:
    try:
        from rapidfuzz.distance import Levenshtein
    except ImportError:
        raise _describe_missing("levenshtein", "rapidfuzz") from None
    return Levenshtein.distance(text, other)


def _compute_rouge(text: str, reference: str, n: int) -> float:
    counts = _count_sequences(text, n)
    expected = _count_sequences(reference, n)
    shared = (counts & expected).total()
    if not shared:
        return 0.0
    # The harmonic mean of precision and recall.
    return 2 * shared / (counts.total() + expected.total())


def _count_sequences(text: str, n: int) -> Counter[tuple[str, ...]]:
    words = _WORD.findall(text.lower())
    counts: Counter[tuple[str, ...]] = Counter()
    for start in range(len(words) - n + 1):
        sequence = tuple(words[start : start + n])
        counts[sequence] += 1
    return counts


def _compute_bleu(text: str, references: list[str]) -> float:
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError:
        raise _describe_missing("bleu", "sacrebleu") from None
    # Short texts have no sequences of four words; effective_order leaves those out.
    bleu = BLEU(lowercase=True, effective_order=True)
    percent = bleu.sentence_score(text, references).score
    # Rounding errors can lead to more than 100.
    return min(percent / 100, 1.0)


def _describe_missing(check: str, library: str) -> MissingExtra:
    return MissingExtra(
        f"The check {check} needs {library}, which is not installed. "
        "Run: pip install 'pytest-llm-mock[text-scores]'"
    )
