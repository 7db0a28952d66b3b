"""The order of agents in the comparison of a run, and its table."""

from __future__ import annotations

from typing import Any

from llm_mock.agents.leaderboard import rows, tables
from llm_mock.agents.summary import add


def totals(agent: str, passed: int, tests: int, cost: float | None, **counts: Any) -> Any:
    """Return the totals of an agent."""
    zeros = dict.fromkeys(("runs", "turns", "tool_calls", "input_tokens", "output_tokens"), 0)
    numbers = {"tests": tests, "passed": passed, "duration_s": 0.0, "cost_usd": cost}
    return {"agent": agent, "parts": {"model": agent}, **zeros, **numbers, **counts}


def test_the_best_agent_stands_first_and_of_equal_ones_the_cheapest() -> None:
    found = [
        totals("untried", 0, 0, 0.0),
        totals("bad", 0, 2, 0.1),
        totals("half", 1, 2, 9.0),
        totals("unknown", 2, 2, None),
        totals("dear", 2, 2, 1.0),
        totals("also dear", 1, 1, 1.0),
        totals("cheap", 4, 4, 0.5),
        totals("free", 1, 1, 0.0),
    ]
    ranked = rows({str(number): each for number, each in enumerate(found)})
    assert [(row["rank"], row["agent"]) for row in ranked] == [
        (1, "free"),
        (1, "cheap"),
        (1, "also dear"),
        (1, "dear"),
        (1, "unknown"),
        (6, "half"),
        (7, "bad"),
        (None, "untried"),
    ]


def test_the_table_has_a_row_for_each_agent() -> None:
    one = totals(
        "one",
        2,
        3,
        1.5,
        runs=1000,
        turns=2000,
        tool_calls=3000,
        input_tokens=4000,
        output_tokens=500,
        duration_s=2.5,
    )
    lines = tables({"1": one, "2": totals("two", 0, 0, None)}).splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "# agent passed rate runs turns tool calls tokens cost time",
        "1 one 2 of 3 67 % 1,000 2,000 3,000 4,500 $1.50 2.5 s",
        "- two 0 of 0 - 0 0 0 0 unknown 0 ms",
    ]


def test_totals_are_added_agent_by_agent() -> None:
    sums: dict[str, Any] = {}
    add(sums, {"1": totals("one", 1, 2, 0.5, runs=3, turns=4, tool_calls=5)})
    add(sums, {"1": totals("one", 6, 7, 0.25, input_tokens=8, output_tokens=9, duration_s=1.5)})
    add(sums, {"2": totals("two", 0, 0, None)})
    assert sums["1"] == totals(
        "one",
        7,
        9,
        0.75,
        runs=3,
        turns=4,
        tool_calls=5,
        input_tokens=8,
        output_tokens=9,
        duration_s=1.5,
    )
    assert sums["2"]["cost_usd"] is None
    add(sums, {"2": totals("two", 1, 1, 0.5)})
    assert (sums["2"]["cost_usd"], sums["2"]["tests"]) == (None, 1)
