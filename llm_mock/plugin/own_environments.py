"""Explain unused replies by Python processes in which the mock was not active."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llm_mock.core.diagnostics import find_unused_replies
from llm_mock.support.text import join_names

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.mock import Mock


def explain_own_environments(mock: Mock, calls: Sequence[Call]) -> str:
    """Return where processes started with an environment without the mock; empty if nowhere."""
    places = mock.own_environments
    if not places or not find_unused_replies(mock, calls):
        return ""
    return (
        f"A Python process was started with its own environment ({join_names(places)}), which "
        "contains neither LLM_MOCK nor PFLOW_TESTING, so the mock was not active in the process. "
        "Write env={**os.environ, …}, or in a test env=mock_llm_calls.environment()."
    )
