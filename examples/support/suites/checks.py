"""What no other assertion can say about the answers of the agent. Named by the suites: `checks.py:brief`."""

from __future__ import annotations

import re

from llm_mock.agents import AgentResult


def brief(output: str) -> tuple[bool, str]:
    """Two sentences at most."""
    sentences = len(re.findall(r"[.!?](?=\s|$)", output))
    return sentences <= 2, f"{sentences} sentences"


def names_what_was_refunded(output: str, result: AgentResult) -> None:
    """The amount that the customer is told is the one that was really given back; both $24.00 and 24,00 will do."""
    for call in result.tool_calls_for("refund"):
        if call.error is None:
            dollars, cents = divmod(call.arguments["cents"], 100)
            assert re.search(rf"\b{dollars}[.,]{cents:02}\b", output), f"{dollars}.{cents:02} is not told"
