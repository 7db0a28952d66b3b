"""Scores from 0 to 1: averages, comparison of runs, and their text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, variance

from llm_mock.checks.scores import TOLERANCE, compare_score
from llm_mock.suites.pass_rates import Z95
from llm_mock.support.text import shorten_name


def compute_average(scores: Iterable[float | None]) -> float | None:
    """Return the average of the scores that are not None; None if there are none."""
    present = [score for score in scores if score is not None]
    if not present:
        return None
    return sum(present) / len(present)


def has_fallen(before: Sequence[float], now: Sequence[float]) -> bool:
    """Return whether the mean of scores fell by more than chance explains.

    For single runs every difference counts. Otherwise the means must differ by more than the
    quantile of 95 % of the standard error of their difference: B. L. Welch, "The Generalization of
    'Student's' Problem when Several Different Population Variances are Involved", Biometrika 34
    (1947), with the normal distribution.
    """
    difference = fmean(before) - fmean(now)
    variances = [variance(scores) for scores in (before, now) if len(scores) > 1]
    if not variances:
        return difference > TOLERANCE
    # A single score has no variance, so the variance of the other scores is used.
    before_variance, now_variance = variances[0], variances[-1]
    squared_error = before_variance / len(before) + now_variance / len(now)
    return difference > max(Z95 * math.sqrt(squared_error), TOLERANCE)


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
    averages = [f"{shorten_name(name)} {value:.3f}" for name, value in metrics.items()]
    return f"{text}; metrics: {', '.join(averages)}"
