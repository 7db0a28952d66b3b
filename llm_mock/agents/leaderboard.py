"""Compares the agents of a run: all of them, and the models, prompts and skills that they have; the best first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from llm_mock.agents.summary import Sums, add
from llm_mock.support.text import columns, dollars, seconds, shorten_name

PARTS = ("model", "options", "prompt", "skill", "references", "servers", "max_turns")
"""What is said of agents that have one name, where it differs."""
COMPARED = ("model", "prompt", "skill")
"""What is compared by itself, where agents differ in it and in something else."""
NONE = "none"
SHOWN_PART = 40
SHOWN_NAME = 110
Row = dict[str, Any]


def rows(sums: Sums) -> list[Row]:
    """The sums of all agents, the best first: by the rate of passed tests, then by cost and name.

    Those with the same rate have the same `rank`; one whose tests were all skipped has none.
    """
    shown = [{**row, "parts": _shown_parts(row["parts"])} for row in _told_apart(list(sums.values()))]
    return _ranked(shown)


def rows_by_part(sums: Sums) -> dict[str, list[Row]]:
    """The same of models, prompts and skills: of each of these the sums of all agents that have it.

    A part is left out where the rows would be those of the agents: none differ in it, or they differ in nothing else.
    """
    compared = {}
    for part in COMPARED:
        added: Sums = {}
        for row in sums.values():
            value = row["parts"].get(part, NONE)
            add(added, {value: {**row, "agent": shorten_name(value, SHOWN_PART), "parts": {}}})
        if 1 < len(added) < len(sums):
            compared[part] = _ranked(_numbered(added.values()))
    return compared


def _ranked(found: Iterable[Row]) -> list[Row]:
    def order(row: Row) -> tuple[Any, ...]:
        rate = _rate(row)
        return (rate is None, -(rate or 0), row["cost_usd"] is None, row["cost_usd"] or 0, row["agent"])

    ordered = sorted(found, key=order)
    rates = [_rate(row) for row in ordered]
    return [
        {"rank": None if rate is None else rates.index(rate) + 1, **row}
        for rate, row in zip(rates, ordered, strict=True)
    ]


def _rate(row: Row) -> float | None:
    return row["passed"] / row["tests"] if row["tests"] else None


def _told_apart(found: Sequence[Row]) -> Iterator[Row]:
    """The sums; agents of one name are called by what differs, and numbered where no word does."""
    named = []
    for row in found:
        alike = [other["parts"] for other in found if other["agent"] == row["agent"]]
        names = [name for name in PARTS if len({parts.get(name) for parts in alike}) > 1]
        parts = _shown_parts(row["parts"])
        differing = "; ".join(f"{name}: {parts.get(name, NONE)}" for name in names)
        named.append({**row, "agent": f"{row['agent']} ({differing})" if differing else row["agent"]})
    return _numbered(named)


def _numbered(found: Iterable[Row]) -> Iterator[Row]:
    """The sums, of which no two have one name."""
    times: Counter[str] = Counter()
    for row in found:
        name = row["agent"]
        times[name] += 1
        yield {**row, "agent": name if times[name] == 1 else f"{name} #{times[name]}"}


def _shown_parts(parts: Mapping[str, str]) -> dict[str, str]:
    return {name: shorten_name(text, SHOWN_PART) for name, text in parts.items()}


def tables(sums: Sums) -> str:
    """The sums of all agents, a line for each; below them those of the parts that are compared."""
    compared = {"agent": rows(sums), **rows_by_part(sums)}
    return "\n\n".join(_table(name, found) for name, found in compared.items())


def _table(name: str, found: Sequence[Row]) -> str:
    head = ("#", name, "passed", "rate", "runs", "turns", "tool calls", "tokens", "cost", "time")
    return "\n".join(columns([head, *map(_cells, found)], leading=2))


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(row["rank"] or "-"),
        shorten_name(row["agent"], SHOWN_NAME),
        f"{row['passed']} of {row['tests']}",
        f"{100 * row['passed'] / row['tests']:.0f} %" if row["tests"] else "-",
        *(f"{row[name]:,}" for name in ("runs", "turns", "tool_calls")),
        f"{row['input_tokens'] + row['output_tokens']:,}",
        dollars(None if row["cost_usd"] is None else Decimal(str(row["cost_usd"]))),
        seconds(row["duration_s"]),
    )
