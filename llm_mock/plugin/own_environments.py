"""Explain unused replies by Python processes in which the mock was not active."""

from __future__ import annotations

from collections.abc import Sequence

from llm_mock.support.text import join_names


def explain_own_environments(places: Sequence[str]) -> str:
    """Return where processes started with an environment without the mock; empty if nowhere.

    Args:
        places: the lines that started them.
    """
    if not places:
        return ""
    return (
        f"A Python process was started with its own environment ({join_names(places)}), which "
        "contains neither LLM_MOCK nor PFLOW_TESTING, so the mock was not active in the process. "
        "Write env={**os.environ, …}, or in a test env=mock_llm_calls.environment()."
    )
