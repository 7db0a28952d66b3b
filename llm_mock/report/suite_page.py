"""The results of suites as the page of the report: each case is a test, each turn a call."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from importlib.metadata import version
from typing import Any

from llm_mock.agents import summary
from llm_mock.report import suite_outputs as outputs
from llm_mock.report.page import page
from llm_mock.report.write import VERSION, as_bytes, totals


def as_page(data: dict[str, Any]) -> bytes:
    """The file of data of `outputs.as_data`: one page that loads nothing."""
    return page(as_bytes(as_report(data)))


def as_report(data: dict[str, Any]) -> dict[str, Any]:
    """The data in the format of the report of a test run: see `llm_mock.report`."""
    tests = [_test(suite, case) for suite in data["suites"] for case in suite["cases"]]
    return {
        "version": VERSION,
        "generator": f"pytest-llm-mock {version('pytest-llm-mock')}",
        "created": datetime.now().astimezone().isoformat(timespec="seconds"),
        "duration_s": round(sum(suite["duration_s"] for suite in data["suites"]), 3),
        "python": platform.python_version(),
        "llm": version("llm"),
        "outcomes": Counter(test["outcome"] for test in tests),
        "models": totals(call for test in tests for call in test["calls"]),
        "agents": _agents(data),
        "tests": tests,
        "outside_tests": [],
    }


def _agents(data: dict[str, Any]) -> list[dict[str, Any]]:
    sums: summary.Sums = {}
    for suite in data["suites"]:
        summary.add(sums, {suite["role"]: _agent(suite)})
    return summary.rows(sums)


def _agent(suite: dict[str, Any]) -> dict[str, Any]:
    attempts = [attempt for case in suite["cases"] for attempt in case["attempts"]]
    turns = [turn for attempt in attempts for turn in attempt["turns"]]
    return {
        "agent": suite["role"],
        "tests": suite["passed"] + suite["failed"],
        "passed": suite["passed"],
        "runs": len(attempts),
        "turns": len(turns),
        "tool_calls": sum(len(turn["tool_calls"]) for turn in turns),
        **{name: sum(turn[name] for turn in turns) for name in ("input_tokens", "output_tokens")},
        "cost_usd": suite["cost_usd"],
        "duration_s": sum(attempt["duration_s"] for attempt in attempts),
    }


def _test(suite: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    file = suite["file"] or suite["suite"]
    return {
        "id": "::".join(filter(None, (file, suite["suite"], case["name"]))),
        "file": file,
        "outcome": "skipped" if case["status"] == "not run" else case["status"],
        "duration_s": case["duration_s"],
        "message": outputs.remark(suite, case),
        "worker": None,
        "calls": [{**call, "number": number} for number, call in enumerate(_calls(suite["model"], case), start=1)],
    }


def _calls(model: str, case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for run, attempt in enumerate(case["attempts"], start=1):
        turns = attempt["turns"]
        together = f"run {run}" if len(turns) > 1 else None
        for number, turn in enumerate(turns, start=1):
            error = attempt["error"] if number == len(turns) else None
            yield _call(model, turn, error, number, together)


def _call(model: str, turn: dict[str, Any], error: str | None, number: int, together: str | None) -> dict[str, Any]:
    return {
        "timestamp": "",  # nobody noted it
        "model_id": model,
        "resolved_model": None,
        "conversation": together,
        "turn": number,
        "earlier_messages": 0,
        "messages": list(_messages(turn)),
        "schema": None,
        "tools": [],
        "options": {},
        "usage": {name: turn[name] for name in ("input_tokens", "output_tokens")} | {"details": None},
        "cost_usd": turn["cost_usd"],
        "configured": True,
        "response": {"text": turn["output"], "duration_ms": round(turn["duration_s"] * 1000, 3)},
        "error": None if error is None else {"type": None, "message": error},
    }


def _messages(turn: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What was said before the answer: the prompt, and each tool call with its result."""
    yield {"role": "user", "parts": [{"type": "text", "text": turn["prompt"]}]}
    for call in turn["tool_calls"]:
        asked = {name: call[name] for name in ("name", "arguments")}
        told = {"name": call["name"], "output": call["result"] or "", "exception": call["error"]}
        yield {"role": "assistant", "parts": [{"type": "tool_call", **asked}]}
        yield {"role": "tool", "parts": [{"type": "tool_result", **told}]}
