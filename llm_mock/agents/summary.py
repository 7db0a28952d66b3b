"""Collect the runs of each test, and sum up each agent over the whole test run."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from llm_mock.support.json_types import JSONObject

if TYPE_CHECKING:
    from llm_mock.agents.result import AgentResult

COUNTS = (
    "tests",
    "passed",
    "runs",
    "turns",
    "tool_calls",
    "input_tokens",
    "output_tokens",
    "duration_s",
)
Sums = dict[str, JSONObject]
"""The totals of each agent by a hash of its configuration.

The keys are `agent` (its name), `parts` (its configuration as texts), `COUNTS` and `cost_usd` (None
if unknown). Plain values, because a worker of pytest-xdist sends them.
"""

# Results since `take_results` was last called. A deque, because tests may run agents in threads.
_new: deque[AgentResult] = deque()


def note(result: AgentResult) -> None:
    """Record the result of a run if a test is running."""
    if "PYTEST_CURRENT_TEST" in os.environ:
        _new.append(result)


def take_results() -> list[AgentResult]:
    """Return the results since the last call."""
    return [_new.popleft() for _ in range(len(_new))]


class RunsOfTest:
    """The runs of agents in one test."""

    def __init__(self) -> None:
        self._results: list[AgentResult] = []
        self._sums: Sums = {}
        self._outcome = "passed"

    def take(self, report: Any, shown: bool = True) -> None:
        """Add the runs of a phase of the test.

        Args:
            report: the report of the phase.
            shown: whether to show the runs in the report if the phase failed.
        """
        for result in take_results():
            self._results.append(result)
            # Now, because the prices of the test are still in effect.
            add(self._sums, {_get_key(result): _count(result)})
        if report.failed:
            self._outcome = "failed"
            if shown and self._results and report.when != "teardown":
                transcripts = "\n\n".join(map(str, self._results))
                report.sections.append(("Agent runs", transcripts))
        elif report.skipped and self._outcome == "passed":
            # An expected failure is reported as skipped.
            self._outcome = "failed" if hasattr(report, "wasxfail") else "skipped"

    @property
    def results(self) -> list[AgentResult]:
        """The results of the runs so far."""
        return self._results

    def add_to(self, sums: Sums) -> None:
        """Add the runs to the totals of the agents; a skipped test does not count."""
        counts = {
            "tests": int(self._outcome != "skipped"),
            "passed": int(self._outcome == "passed"),
        }
        add(sums, {key: {**own, **counts} for key, own in self._sums.items()})


def _get_key(result: AgentResult) -> str:
    """Return a hash that identifies the agent of a run in every process."""
    configuration = (result.agent, result.model, sorted(result.parts.items()))
    return hashlib.sha256(repr(configuration).encode()).hexdigest()


def _count(result: AgentResult) -> JSONObject:
    parts = {"model": result.model, **result.parts}
    # It is long, and only needed to tell agents apart.
    parts.pop("configuration", None)
    return {
        "agent": result.agent,
        "parts": parts,
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
    """Add totals to totals, agent by agent."""
    for key, other in others.items():
        if key not in sums:
            zeros = dict.fromkeys(COUNTS, 0)
            sums[key] = {"agent": other["agent"], "parts": other["parts"], **zeros, "cost_usd": 0.0}
        total = sums[key]
        for name in COUNTS:
            total[name] += other[name]
        if total["cost_usd"] is None or other["cost_usd"] is None:
            total["cost_usd"] = None
        else:
            total["cost_usd"] += other["cost_usd"]
