"""Calls as properties of a test in pytest's own JUnit file.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

NAMES = ("llm_calls", "llm_input_tokens", "llm_output_tokens", "llm_cost_usd")


def junit_properties(calls: Sequence[dict[str, Any]]) -> list[tuple[str, Any]]:
    """How many calls a test made, and what they took; nothing for a test without calls.

    Args:
        calls: the calls, as `llm_mock.report.calls` describes them.

    Returns:
        `NAMES` with their values. The cost is left out where a price is unknown.
    """
    if not calls:
        return []
    tokens = (sum(call["usage"][name] or 0 for call in calls) for name in ("input_tokens", "output_tokens"))
    costs = [call["cost_usd"] for call in calls]
    values = [len(calls), *tokens, *([] if None in costs else [f"{sum(costs):f}"])]
    return list(zip(NAMES, values, strict=False))
