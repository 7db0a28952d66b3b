"""Cases and suites that are made in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from llm_mock.agents import MCPServer
from llm_mock.suites import TestCase, TestSuiteDefinition

EXAMPLES = Path(__file__).parents[2] / "examples"
BANK = MCPServer(["python", "-m", "bank.server"], cwd=EXAMPLES, env={"FOR": "suites"}, name="bank")


def case(name: str = "c", prompt: str = "Hi", **fields: Any) -> TestCase:
    """Return a case; `contains` is what its output must contain."""
    wanted = fields.pop("contains", None)
    if wanted is not None:
        fields["assertions"] = [{"type": "contains", "value": wanted}]
    if "turns" not in fields:
        fields["prompt"] = prompt
    return TestCase.model_validate({"name": name, **fields})


def suite(*cases: TestCase) -> TestSuiteDefinition:
    """Return a suite of these cases."""
    head = {"apiVersion": "llm-mock/v1", "kind": "TestSuite", "metadata": {"name": "greetings"}}
    return TestSuiteDefinition.model_validate({**head, "cases": cases})
