"""Comparison of scores from 0 to 1 with thresholds."""

from __future__ import annotations

# A weighted average of fractions may miss its threshold by a rounding error.
TOLERANCE = 1e-9


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
