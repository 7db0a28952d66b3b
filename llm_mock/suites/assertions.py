"""Stand-in: the real module is written elsewhere, and replaces this one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llm_mock.agents.result import AgentResult
from llm_mock.suites.results import AssertionResult
from llm_mock.suites.schema import ContainsAssertion, ToolCallsAssertion


@dataclass(frozen=True)
class RunContext:
    """What assertions may look at besides the output."""

    result: AgentResult | None = None
    dry_run: bool = False
    offered: tuple[str, ...] | None = None
    judge: str | None = None
    folder: Path | None = None


def evaluate_assertion(assertion: Any, output: str, context: RunContext = RunContext()) -> AssertionResult:
    """Contains, and whether tools are offered."""
    if isinstance(assertion, ToolCallsAssertion):
        unknown = [call.name for call in assertion.calls if call.name not in (context.offered or ())]
        if unknown:
            return AssertionResult(assertion, False, f"No tool {unknown[0]!r} is offered")
        return AssertionResult(assertion, None if context.dry_run else True, "skipped")
    if isinstance(assertion, ContainsAssertion):
        found = assertion.value in output
        text = f"Output {'contains' if found else 'does not contain'} {assertion.value!r}"
        return AssertionResult(assertion, found is not assertion.negated, text)
    raise NotImplementedError(type(assertion).__name__)


def evaluate_assertions(
    assertions: Sequence[Any], output: str, context: RunContext = RunContext()
) -> list[AssertionResult]:
    """Each one."""
    return [evaluate_assertion(assertion, output, context) for assertion in assertions]
