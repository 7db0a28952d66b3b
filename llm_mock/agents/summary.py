"""The runs of a test, for the message of its failure; and what each agent did in the whole test run."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llm_mock.agents.result import AgentResult

COUNTS = ("tests", "passed", "runs", "turns", "tool_calls", "input_tokens", "output_tokens", "duration_s")
Sums = dict[str, dict[str, Any]]
"""Of each agent, by what it is: `agent` (its name), `parts` (what it is, in words), `COUNTS`,
`cost_usd` (None where unknown). Plain values, which an xdist worker can send."""

_new: deque[AgentResult] = deque()


def note(result: AgentResult) -> None:
    """An agent was run. It is kept where a test is running, until somebody asks for it."""
    if "PYTEST_CURRENT_TEST" in os.environ:
        _new.append(result)


def taken() -> list[AgentResult]:
    """The runs since this was last asked."""
    return [_new.popleft() for _ in range(len(_new))]


class RunsOfTest:
    """What the agents did in one test so far."""

    def __init__(self) -> None:
        self._results: list[AgentResult] = []
        self._sums: Sums = {}
        self._outcome = "passed"

    def take(self, report: Any, shown: bool = True) -> None:
        """Take in what was run in a phase of the test, and (if `shown`) show it where the phase failed."""
        for result in taken():
            self._results.append(result)
            add(self._sums, {_key(result): _counted(result)})  # while the prices of the test hold
        if report.failed:
            self._outcome = "failed"
            if shown and self._results and report.when != "teardown":
                report.sections.append(("Agent runs", "\n\n".join(map(str, self._results))))
        elif report.skipped and self._outcome == "passed":
            self._outcome = "failed" if hasattr(report, "wasxfail") else "skipped"

    def add_to(self, sums: Sums) -> None:
        """Add what was done to the sums of the agents. A skipped test counts as neither passed nor failed."""
        tested = {"tests": int(self._outcome != "skipped"), "passed": int(self._outcome == "passed")}
        add(sums, {label: {**own, **tested} for label, own in self._sums.items()})


def _key(result: AgentResult) -> str:
    """What is the same for runs of one agent alone, in every process."""
    return hashlib.sha256(repr((result.agent, result.model, sorted(result.parts.items()))).encode()).hexdigest()


def _counted(result: AgentResult) -> dict[str, Any]:
    return {
        "agent": result.agent,
        "parts": {
            name: text for name, text in {"model": result.model, **result.parts}.items() if name != "configuration"
        },
        "tests": 0,
        "passed": 0,
        "runs": 1,
        "turns": len(result.turns),
        "tool_calls": len(result.all_tool_calls),
        "input_tokens": result.usage.input or 0,
        "output_tokens": result.usage.output or 0,
        "cost_usd": None if result.cost is None else float(result.cost),
        "duration_s": result.duration,
    }


def add(sums: Sums, others: Mapping[str, Mapping[str, Any]]) -> None:
    """Add sums to sums, agent by agent."""
    for key, other in others.items():
        nothing = {"agent": other["agent"], "parts": other["parts"], **dict.fromkeys(COUNTS, 0), "cost_usd": 0.0}
        mine = sums.setdefault(key, nothing)
        for name in COUNTS:
            mine[name] += other[name]
        unknown = mine["cost_usd"] is None or other["cost_usd"] is None
        mine["cost_usd"] = None if unknown else mine["cost_usd"] + other["cost_usd"]
