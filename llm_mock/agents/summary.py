"""The runs of a test, for the message of its failure; and what each agent did in the whole test run."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from llm_mock.support.text import columns, dollars, seconds, shorten_name

if TYPE_CHECKING:
    from llm_mock.agents.result import AgentResult

Sums = dict[str, dict[str, Any]]
"""Of each agent: `agent`, `tests`, `passed`, `runs`, `turns`, `tool_calls`, `input_tokens`, `output_tokens`,
`cost_usd` (None where unknown) and `duration_s`. Plain values, which an xdist worker can send."""

COUNTS = ("tests", "passed", "runs", "turns", "tool_calls", "input_tokens", "output_tokens", "duration_s")

_lock = threading.Lock()
_new: list[AgentResult] = []


def note(result: AgentResult) -> None:
    """An agent was run. It is kept where a test is running, until somebody asks for it."""
    if "PYTEST_CURRENT_TEST" in os.environ:
        with _lock:
            _new.append(result)


def taken() -> list[AgentResult]:
    """The runs since this was last asked."""
    with _lock:
        results = _new.copy()
        _new.clear()
    return results


class RunsOfTest:
    """What the agents did in one test so far."""

    def __init__(self) -> None:
        self.results: list[AgentResult] = []
        self._costs: list[Any] = []
        self._outcome = "passed"

    def take(self, report: Any, shown: bool = True) -> None:
        """Take in what was run in a phase of the test, and (if `shown`) show it where the phase failed.

        Args:
            report: the `pytest.TestReport` of the phase.
            shown: whether a failure gets a section with the runs.
        """
        new = taken()
        self.results += new
        self._costs += [result.cost for result in new]  # while the prices of the test hold
        if report.failed:
            self._outcome = "failed"
            if shown and self.results and report.when != "teardown":
                report.sections.append(("Agent runs", "\n\n".join(map(str, self.results))))
        elif report.skipped and self._outcome == "passed":
            self._outcome = "failed" if hasattr(report, "wasxfail") else "skipped"

    def add_to(self, sums: Sums) -> None:
        """Add what was done to the sums of the agents. A skipped test counts as neither passed nor failed."""
        for label in dict.fromkeys(result.agent for result in self.results):
            own = [pair for pair in zip(self.results, self._costs, strict=True) if pair[0].agent == label]
            counted = int(self._outcome != "skipped")
            tested = {"agent": label, "tests": counted, "passed": int(self._outcome == "passed")}
            add(sums, {label: {**tested, **_totals([result for result, _ in own], [cost for _, cost in own])}})


def _totals(results: Sequence[AgentResult], costs: Sequence[Any]) -> dict[str, Any]:
    return {
        "runs": len(results),
        "turns": sum(len(result.turns) for result in results),
        "tool_calls": sum(len(result.all_tool_calls) for result in results),
        "input_tokens": sum(result.usage.input or 0 for result in results),
        "output_tokens": sum(result.usage.output or 0 for result in results),
        "cost_usd": None if None in costs else float(sum(costs)),
        "duration_s": sum(result.duration for result in results),
    }


def add(sums: Sums, others: Mapping[str, Mapping[str, Any]]) -> None:
    """Add sums to sums, agent by agent."""
    for label, other in others.items():
        mine = sums.setdefault(label, {"agent": label, **dict.fromkeys(COUNTS, 0), "cost_usd": 0.0})
        for name in COUNTS:
            mine[name] += other[name]
        unknown = mine["cost_usd"] is None or other["cost_usd"] is None
        mine["cost_usd"] = None if unknown else mine["cost_usd"] + other["cost_usd"]


def rows(sums: Sums) -> list[dict[str, Any]]:
    """The sums of all agents, the best first: by rate of passed tests, then by name."""

    def order(row: dict[str, Any]) -> tuple[float, str]:
        return (-row["passed"] / row["tests"] if row["tests"] else 1.0, row["agent"])

    return sorted(sums.values(), key=order)


def table(sums: Sums) -> str:
    """The sums of all agents, a line for each."""
    head = ("agent", "passed", "rate", "runs", "turns", "tool calls", "tokens", "cost", "time")
    return "\n".join(columns([head, *map(_cells, rows(sums))], leading=1))


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        shorten_name(row["agent"], 60),
        f"{row['passed']} of {row['tests']}",
        f"{100 * row['passed'] / row['tests']:.0f} %" if row["tests"] else "-",
        *(f"{row[name]:,}" for name in ("runs", "turns", "tool_calls")),
        f"{row['input_tokens'] + row['output_tokens']:,}",
        dollars(None if row["cost_usd"] is None else Decimal(str(row["cost_usd"]))),
        seconds(row["duration_s"]),
    )
