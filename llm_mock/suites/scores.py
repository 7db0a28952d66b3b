"""Scores, from 0 to 1: their averages, what they must reach, and how that is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from llm_mock.support.text import shorten_name

ROUNDING = 1e-9
"""By how much a score may miss a threshold, as sums of fractions do."""


def average(scores: Iterable[float | None]) -> float | None:
    """The average of the scores that there are; None where there are none."""
    there = [score for score in scores if score is not None]
    return sum(there) / len(there) if there else None


def reaches(score: float | None, least: float | None) -> bool:
    """Whether a score is as high as it must be; also where there is none, as nothing was checked."""
    return score is None or least is None or score >= least - ROUNDING


def compare_score(score: float, least: float) -> tuple[bool, str]:
    """Whether a score reaches what it must, and how that is said."""
    reached = reaches(score, least)
    return reached, f"{score:.3f}, {'at least' if reached else 'less than'} {least:g}"


def score_of(score: float | None) -> str:
    """A score as a column wants it; nothing where there is none."""
    return "" if score is None else f"{score:.3f}"


def score_text(score: float | None, least: float | None) -> str:
    """A score, and what it must reach, if anything: `score 0.667, less than 0.8`."""
    if score is None:
        return "no score"
    return f"score {score:.3f}" if least is None else f"score {compare_score(score, least)[1]}"


def scores_text(score: float | None, least: float | None, metrics: Mapping[str, float]) -> str:
    """The score of a suite, with its metrics: `score 0.667, metrics: tone 0.900, facts 0.500`."""
    named = ", ".join(f"{shorten_name(name, 60)} {value:.3f}" for name, value in metrics.items())
    return f"{score_text(score, least)}{'; metrics: ' if named else ''}{named}"
