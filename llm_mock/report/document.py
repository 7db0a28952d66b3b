"""The document of a run: its envelope, the tests with their calls, and the sums of each model.

The JSON of `--llm-mock-report` and the HTML page are renderings of it.
"""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from importlib.metadata import version
from typing import Any

from llm_mock.agents import leaderboard
from llm_mock.agents.summary import Sums
from llm_mock.cost.prices import available
from llm_mock.support.redaction import redacted
from llm_mock.support.text import escaped_json

VERSION = 1
"""Of the format of the JSON. What is added later is added beside what there is."""


def new_document(
    tests: Sequence[dict[str, Any]],
    outside_tests: Sequence[dict[str, Any]],
    agents: Sums,
    duration: float,
) -> dict[str, Any]:
    """The document, as JSON values: see `docs/report.md`. It took `duration` seconds.

    Tests are as `new_test` makes them, calls outside tests have `during`, `worker` and `calls`, agents as
    `llm_mock.agents.summary` has their sums.
    """
    return {
        "version": VERSION,
        "generator": f"pytest-llm-mock {version('pytest-llm-mock')}",
        "created": datetime.now().astimezone().isoformat(timespec="seconds"),
        "duration_s": round(duration, 3),
        "python": platform.python_version(),
        "llm": version("llm"),
        "provider_prices": available(),
        "outcomes": Counter(test["outcome"] for test in tests),
        "models": _totals(call for group in (*tests, *outside_tests) for call in group["calls"]),
        "agents": redacted(leaderboard.rows(agents)),
        "agents_by": redacted(leaderboard.rows_by_part(agents)),
        "tests": tests,
        "outside_tests": outside_tests,
    }


def new_test(name: str, **known: Any) -> dict[str, Any]:
    """A test of the document, with what is known so far. Its id begins with its file."""
    nothing = {"outcome": "passed", "duration_s": 0.0, "message": None, "traceback": None, "worker": None}
    return {"id": name, "file": name.split("::")[0], **nothing, "calls": [], **known}


def _totals(calls: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The sums of each model, sorted by its id. The cost is None where no price is known."""
    names = ("calls", "errors", "unconfigured", "unpriced", "input_tokens", "output_tokens", "cost_usd")
    sums: dict[str, dict[str, Any]] = {}
    for call in calls:
        row = sums.setdefault(call["model_id"], {"model_id": call["model_id"], **dict.fromkeys(names, 0)})
        row["calls"] += 1
        row["errors"] += call["error"] is not None
        row["unconfigured"] += not call["configured"]
        row["unpriced"] += call["cost_usd"] is None
        for name in ("input_tokens", "output_tokens"):
            row[name] += call["usage"][name] or 0
        row["cost_usd"] += call["cost_usd"] or 0
    for row in sums.values():
        row["cost_usd"] = None if row["unpriced"] == row["calls"] else round(row["cost_usd"], 10)
    return [sums[model] for model in sorted(sums)]


def as_json(document: dict[str, Any]) -> bytes:
    """The document as JSON in UTF-8, each test and each group of calls outside tests on a line of its own."""
    lines = []
    for name, value in document.items():
        items = ",\n".join(f"    {_json(item)}" for item in value) if isinstance(value, list) else ""
        lines.append(f'  "{name}": [\n{items}\n  ]' if items else f'  "{name}": {_json(value)}')
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    return escaped_json(text).encode(
        errors="backslashreplace"
    )  # of half a surrogate pair, which UTF-8 does not have, the escape


def _json(value: Any) -> str:
    """A value as JSON, in which numbers that JSON does not have (inf, nan) are texts."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        finite = json.loads(json.dumps(value), parse_constant=lambda name: str(float(name)))
        return json.dumps(finite, ensure_ascii=False)
