"""Checks for the suites that no built-in assertion covers, named as `checks.py:brief`."""

from __future__ import annotations

import re

from llm_mock.agents import AgentResult


def brief(output: str) -> tuple[bool, str]:
    """Two sentences at most."""
    sentences = len(re.findall(r"[.!?](?=\s|$)", output))
    return sentences <= 2, f"sentences: {sentences}"


def names_what_was_refunded(output: str, result: AgentResult) -> bool:
    """Return the customer is told what was really given back, as 24.00 or as 24,00."""
    amounts = [
        call.arguments["cents"] for call in result.tool_calls_for("refund") if call.error is None
    ]
    return all(re.search(rf"\b{cents // 100}[.,]{cents % 100:02}\b", output) for cents in amounts)
