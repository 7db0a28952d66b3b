"""The checks that measure how near an output is to a text."""

from __future__ import annotations

import sys
from typing import Any

import pydantic
import pytest

pytest.importorskip("rapidfuzz")
pytest.importorskip("sacrebleu")

from llm_mock.checks import bleu, levenshtein, rouge_n
from llm_mock.checks.evaluation import BaseAssertion, evaluate_assertion

CAT = "the cat sat on the mat"


@pytest.mark.parametrize(
    ("check", "output", "passed", "message", "score"),
    [
        (
            levenshtein("kitten", max_distance=3),
            "sitting",
            True,
            "3 edits from 'kitten', at most 3",
            1,
        ),
        (
            levenshtein("kitten", max_distance=2),
            "sitting",
            False,
            "3 edits from 'kitten', more than 2",
            0,
        ),
        (levenshtein("Bonn", max_distance=0), "Bonn", True, "0 edits from 'Bonn', at most 0", 1),
        (levenshtein("Bonn"), "Bonn, yes", True, "5 edits from 'Bonn', at most 5", 1),
        (levenshtein("Bonn"), "Bonn, yes!", False, "6 edits from 'Bonn', more than 5", 0),
        (~levenshtein("Bonn"), "Bonn", False, "0 edits from 'Bonn', at most 5 (unexpected)", 0),
        # Precision 3/3, recall 3/6.
        (rouge_n(CAT), "The cat, sat!", False, "ROUGE-1 0.667, less than 0.75", 2 / 3),
        (rouge_n(CAT), "The cat sat on", True, "ROUGE-1 0.800, at least 0.75", 0.8),
        # "the" twice in one of them counts once.
        (rouge_n("the cat", threshold=0.5), "the the", True, "ROUGE-1 0.500, at least 0.5", 0.5),
        # Precision 2/2, recall 2/5.
        (rouge_n(CAT, n=2), "the cat sat", False, "ROUGE-2 0.571, less than 0.75", 4 / 7),
        (rouge_n(CAT, n=3), "the cat", False, "ROUGE-3 0.000, less than 0.75", 0),
        (rouge_n(CAT), "", False, "ROUGE-1 0.000, less than 0.75", 0),
        (~rouge_n(CAT), "dogs", True, "ROUGE-1 0.000, less than 0.75", 1),
        (bleu(CAT), "The cat sat on the mat", True, "BLEU 1.000, at least 0.5", 1),
        # All precisions are 1, and the brevity penalty is exp(1 - 6/3).
        (bleu(CAT), "the cat sat", False, "BLEU 0.368, less than 0.5", 0.36787944),
        (bleu(CAT, threshold=0.3), "the cat sat", True, "BLEU 0.368, at least 0.3", 0.36787944),
        (bleu(["dogs ran", "the cat sat"]), "the cat sat", True, "BLEU 1.000", 1),
        (bleu(CAT), "", False, "BLEU 0.000, less than 0.5", 0),
    ],
)
def test_a_score_is_compared_with_its_limit(
    check: BaseAssertion, output: str, passed: bool, message: str, score: float
) -> None:
    result = evaluate_assertion(check, output)
    assert (result.passed, message in result.message) == (passed, True), result.message
    assert result.score == pytest.approx(score)


@pytest.mark.parametrize(
    ("check", "library"),
    [(levenshtein("a"), "rapidfuzz"), (bleu("a"), "sacrebleu"), (~bleu("a"), "sacrebleu")],
)
def test_a_missing_library_is_named_with_what_installs_it(
    check: BaseAssertion, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    result = evaluate_assertion(check, "a")
    needs = f"The check {check.type.removeprefix('not_')} needs {library}, which is not installed. "
    advice = "Run: pip install 'pytest-llm-mock[text-scores]'"
    assert (result.passed, result.message) == (False, needs + advice)


@pytest.mark.parametrize(
    ("make", "fields"),
    [
        (levenshtein, {"value": " "}),
        (levenshtein, {"value": "a", "max_distance": -1}),
        (rouge_n, {"value": "a", "n": 0}),
        (rouge_n, {"value": "a", "threshold": 0}),
        (bleu, {"value": []}),
        (bleu, {"value": ["a", ""]}),
        (bleu, {"value": "a", "threshold": 2}),
    ],
)
def test_a_check_that_means_nothing_is_refused(make: Any, fields: dict[str, Any]) -> None:
    with pytest.raises(pydantic.ValidationError):
        make(**fields)
