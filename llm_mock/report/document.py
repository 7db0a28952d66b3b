"""Build the document of a test run: metadata, tests with their calls, and totals by model.

The JSON of `--llm-mock-report` and the HTML page are renderings of it.
"""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from importlib.metadata import version
from typing import Any

from llm_mock.agents import leaderboard
from llm_mock.agents.summary import Sums
from llm_mock.cost.prices import has_provider_prices
from llm_mock.support.json_types import JSONObject
from llm_mock.support.redaction import redact
from llm_mock.support.text import escape_json_text

VERSION = 1
"""The version of the JSON format; new keys are added without a new version."""


def new_document(
    tests: Sequence[JSONObject],
    outside_tests: Sequence[JSONObject],
    agents: Sums,
    duration: float,
) -> JSONObject:
    """Return the document of a run as JSON values: see `docs/report.md`.

    Args:
        tests: the tests, made by `new_test`.
        outside_tests: the calls outside of tests, with the keys `during`, `worker` and `calls`.
        agents: the totals of `llm_mock.agents.summary`.
        duration: the seconds that the run took.
    """
    return {
        "version": VERSION,
        "generator": f"pytest-llm-mock {version('pytest-llm-mock')}",
        "created": datetime.now().astimezone().isoformat(timespec="seconds"),
        "duration_s": round(duration, 3),
        "python": platform.python_version(),
        "llm": version("llm"),
        "provider_prices": has_provider_prices(),
        # A Counter is a dict, so it is an object in JSON.
        "outcomes": Counter(test["outcome"] for test in tests),
        "models": _sum_by_model([*tests, *outside_tests]),
        # The calls are redacted where they are described, the sums of agents are not.
        "agents": redact(leaderboard.rows(agents)),
        "agents_by": redact(leaderboard.collect_rows(agents)),
        "tests": tests,
        "outside_tests": outside_tests,
    }


def new_test(name: str, **known: Any) -> JSONObject:
    """Return a test of the document.

    Args:
        name: its id, which begins with its file.
        known: the values that are known so far.
    """
    test: JSONObject = {
        "id": name,
        "file": name.split("::")[0],
        "outcome": "passed",
        "duration_s": 0.0,
        "message": None,
        "traceback": None,
        "worker": None,
        "calls": [],
    }
    return test | known


def _sum_by_model(groups: Iterable[JSONObject]) -> list[JSONObject]:
    """Return the totals of each model, sorted by its id; the cost is None without any price."""
    names = ("calls", "errors", "unconfigured", "unpriced")
    usage = ("input_tokens", "output_tokens")
    totals: dict[str, JSONObject] = {}
    for call in _iterate_calls(groups):
        model = call["model_id"]
        if model not in totals:
            zeros = dict.fromkeys((*names, *usage, "cost_usd"), 0)
            totals[model] = {"model_id": model, **zeros}
        row = totals[model]
        row["calls"] += 1
        # A boolean adds 0 or 1.
        row["errors"] += call["error"] is not None
        row["unconfigured"] += not call["configured"]
        row["unpriced"] += call["cost_usd"] is None
        for name in usage:
            row[name] += call["usage"][name] or 0
        row["cost_usd"] += call["cost_usd"] or 0
    for row in totals.values():
        # Without any price the cost is unknown; with some it is that of the others.
        if row["unpriced"] == row["calls"]:
            row["cost_usd"] = None
        else:
            row["cost_usd"] = round(row["cost_usd"], 10)
    return [totals[model] for model in sorted(totals)]


def _iterate_calls(groups: Iterable[JSONObject]) -> Iterator[JSONObject]:
    for group in groups:
        yield from group["calls"]


def render_json(document: JSONObject) -> bytes:
    """Render the document as JSON in UTF-8, with a line for each test."""
    lines = []
    for name, value in document.items():
        if isinstance(value, list) and value:
            # A line for each item keeps differences of two reports short.
            items = [f"    {_dump(item)}" for item in value]
            text = "[\n" + ",\n".join(items) + "\n  ]"
        else:
            text = _dump(value)
        lines.append(f'  "{name}": {text}')
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    # UTF-8 has no half of a surrogate pair, so its escape is written.
    return escape_json_text(text).encode(errors="backslashreplace")


def _dump(value: object) -> str:
    """Return a value as JSON; numbers that JSON does not have (inf, nan) become strings."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(value)
        finite = json.loads(text, parse_constant=lambda name: str(float(name)))
        return json.dumps(finite, ensure_ascii=False)
