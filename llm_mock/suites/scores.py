"""Scores from 0 to 1: averages, comparison with thresholds, and their text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from llm_mock.support.text import shorten_name

# A weighted average of fractions may miss its threshold by a rounding error.
TOLERANCE = 1e-9


def compute_average(scores: Iterable[float | None]) -> float | None:
    """Return the average of the scores that are not None; None if there are none."""
    present = [score for score in scores if score is not None]
    if not present:
        return None
    return sum(present) / len(present)


def reaches(score: float | None, threshold: float | None) -> bool:
    """Return True if a score reaches its threshold, or one of them is None."""
    # Without a score nothing was checked, so nothing failed.
    if score is None or threshold is None:
        return True
    return score >= threshold - TOLERANCE


def compare_score(score: float, threshold: float) -> tuple[bool, str]:
    """Return True if a score reaches its threshold, and the comparison as text."""
    is_reached = reaches(score, threshold)
    relation = "at least" if is_reached else "less than"
    return is_reached, f"{score:.3f}, {relation} {threshold:g}"


def format_score_cell(score: float | None) -> str:
    """Return a score for a column of a table; empty for None."""
    return "" if score is None else f"{score:.3f}"


def format_score(score: float | None, threshold: float | None) -> str:
    """Return a score and its threshold as text: `score 0.667, less than 0.8`."""
    if score is None:
        return "no score"
    if threshold is None:
        return f"score {score:.3f}"
    _, comparison = compare_score(score, threshold)
    return f"score {comparison}"


def format_scores(
    score: float | None,
    threshold: float | None,
    metrics: Mapping[str, float],
) -> str:
    """Return the scores of a suite as text: `score 0.667; metrics: tone 0.900, facts 0.500`."""
    text = format_score(score, threshold)
    if not metrics:
        return text
    averages = [f"{shorten_name(name, 60)} {value:.3f}" for name, value in metrics.items()]
    return f"{text}; metrics: {', '.join(averages)}"
