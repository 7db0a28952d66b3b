"""Compare the agents of a run, and their models, prompts and skills; the best comes first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from llm_mock.agents.summary import Sums, add
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import format_columns, format_dollars, format_seconds, shorten_name

PARTS = ("model", "options", "prompt", "skill", "references", "servers", "max_turns")
"""The parts that are shown for agents with the same name, if they differ."""
COMPARED = ("model", "prompt", "skill")
"""The parts that have their own table."""
NONE = "none"
SHOWN_PART = 40
SHOWN_NAME = 110
Row = JSONObject


def rows(sums: Sums) -> list[Row]:
    """Return the totals of all agents, sorted by pass rate, cost and name.

    Agents with the same rate have the same `rank`. An agent whose tests were all skipped has none.
    """
    described = []
    for row in _distinguish(list(sums.values())):
        described.append({**row, "parts": _shorten_parts(row["parts"])})
    return _rank(described)


def collect_rows(sums: Sums) -> dict[str, list[Row]]:
    """Return the totals of the agents by model, by prompt and by skill.

    A part is left out if all agents share it, or if each agent has a different one.
    """
    compared = {}
    for part in COMPARED:
        totals: Sums = {}
        for row in sums.values():
            value = row["parts"].get(part, NONE)
            named = {**row, "agent": shorten_name(value, SHOWN_PART), "parts": {}}
            add(totals, {value: named})
        if 1 < len(totals) < len(sums):
            compared[part] = _rank(_number_agents(totals.values()))
    return compared


def _rank(found: Iterable[Row]) -> list[Row]:
    ordered = sorted(found, key=_get_order)
    rates = [_get_rate(row) for row in ordered]
    ranked = []
    for row, rate in zip(ordered, rates, strict=True):
        if rate is None:
            rank = None
        else:
            rank = rates.index(rate) + 1
        ranked.append({"rank": rank, **row})
    return ranked


def _get_order(row: Row) -> tuple[Any, ...]:
    rate = _get_rate(row)
    cost = row["cost_usd"]
    # Unknown rates and costs come last.
    return rate is None, -(rate or 0), cost is None, cost or 0, row["agent"]


def _get_rate(row: Row) -> float | None:
    return row["passed"] / row["tests"] if row["tests"] else None


def _distinguish(found: Sequence[Row]) -> Iterator[Row]:
    """Add the differing parts, or else a number, to names that several agents have."""
    named = []
    for row in found:
        name = row["agent"]
        same_name = [other["parts"] for other in found if other["agent"] == name]
        parts = _shorten_parts(row["parts"])
        differences = []
        for part in PARTS:
            if len({others.get(part) for others in same_name}) > 1:
                differences.append(f"{part}: {parts.get(part, NONE)}")
        if differences:
            name = f"{name} ({'; '.join(differences)})"
        named.append({**row, "agent": name})
    return _number_agents(named)


def _number_agents(found: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows, with a number for agents that still have the same name."""
    uses: Counter[str] = Counter()
    for row in found:
        name = row["agent"]
        uses[name] += 1
        if uses[name] > 1:
            yield {**row, "agent": f"{name} #{uses[name]}"}
        else:
            yield {**row}


def _shorten_parts(parts: Mapping[str, str]) -> dict[str, str]:
    return {name: shorten_name(text, SHOWN_PART) for name, text in parts.items()}


def tables(sums: Sums) -> str:
    """Return a table of all agents, and one for each part that is compared."""
    compared = {"agent": rows(sums), **collect_rows(sums)}
    return "\n\n".join(_format_table(name, found) for name, found in compared.items())


def _format_table(name: str, found: Sequence[Row]) -> str:
    header = (
        "#",
        name,
        "passed",
        "rate",
        "runs",
        "turns",
        "tool calls",
        "tokens",
        "cost",
        "time",
    )
    return "\n".join(format_columns([header, *map(_format_cells, found)], leading=2))


def _format_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    if row["tests"]:
        rate = f"{100 * row['passed'] / row['tests']:.0f} %"
    else:
        rate = "-"
    cost = row["cost_usd"]
    return (
        str(row["rank"] or "-"),
        shorten_name(row["agent"], SHOWN_NAME),
        f"{row['passed']} of {row['tests']}",
        rate,
        f"{row['runs']:,}",
        f"{row['turns']:,}",
        f"{row['tool_calls']:,}",
        f"{row['input_tokens'] + row['output_tokens']:,}",
        format_dollars(None if cost is None else Decimal(str(cost))),
        format_seconds(row["duration_s"]),
    )
