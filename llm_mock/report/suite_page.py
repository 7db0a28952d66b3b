"""The document of suites as the page: each suite's cases are tests, each turn of a case a call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm_mock.agents import summary
from llm_mock.report import document, page
from llm_mock.report.suite_changes import changes, headline
from llm_mock.report.suite_document import (
    check_text,
    explaining_attempt,
    full_name,
    remark,
    repeats_text,
    replayed_text,
    suite_name,
    suite_scores,
)
from llm_mock.report.suite_grid import Grid, grids
from llm_mock.suites.scores import score_text

NOT_KNOWN: dict[str, Any] = {
    **{"timestamp": "", "resolved_model": None, "schema": None, "tools": (), "options": {}},
    **{"earlier_messages": 0, "configured": True},
}
"""What a suite does not tell of a call."""


def as_page(suites: dict[str, Any]) -> bytes:
    """The page of the document of `llm_mock.report.suite_document`."""
    tests = [_test(suite, case) for suite in suites["suites"] for case in suite["cases"]]
    duration = sum(suite["duration_s"] for suite in suites["suites"])
    run = document.new_document(tests, [], _agents(suites["suites"]), duration)
    side_by_side = [_grid(part) for part in grids(suites["suites"]) if isinstance(part, Grid)]
    scores = [f"{suite_name(suite)}: {suite_scores(suite)}" for suite in suites["suites"] if suite["scored"]]
    more = {"side_by_side": side_by_side, "scores": scores, "changes": _changes(suites)}
    return page.as_page(document.as_json({**run, **more}))


def _changes(suites: dict[str, Any]) -> dict[str, Any] | None:
    """What changed against the baseline; None where there is none."""
    if "baseline" not in suites:
        return None
    rows = [[change.kind, change.name, change.remark] for suite in suites["suites"] for change in changes(suite)]
    return {"file": suites["baseline"], "summaries": list(map(headline, suites["suites"])), "rows": rows}


def _grid(grid: Grid) -> dict[str, Any]:
    """A table of cases by variants, whose cells are the ids of tests."""
    rows = [
        [name, [case and _test_id(suite, case) for suite, case in zip(grid.suites, cases, strict=True)]]
        for name, cases in grid.rows()
    ]
    return {"suite": grid.suites[0]["suite"], "variants": grid.variants, "rows": rows, "sums": list(grid.sums())}


def _agents(suites: list[dict[str, Any]]) -> summary.Sums:
    sums: summary.Sums = {}
    for suite in suites:
        summary.add(sums, {repr((suite["role"], suite["model"], suite["variant"])): _agent(suite)})
    return sums


def _agent(suite: dict[str, Any]) -> dict[str, Any]:
    attempts = [attempt for case in suite["cases"] for attempt in case["attempts"]]
    turns = [turn for attempt in attempts for turn in attempt["turns"]]
    variant = suite["variant"] or {}
    parts = {"model": variant.get("model", suite["model"]), "prompt": variant.get("system_prompt")}
    return {
        "agent": suite["role"],
        "parts": {name: text for name, text in parts.items() if text},
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
    checks = explaining_attempt(case)["assertions"] if case["attempts"] else []
    asked = suite["model"] or suite["role"]
    return document.new_test(
        _test_id(suite, case),
        file=suite["file"] or suite["suite"],
        outcome="skipped" if case["status"] == "not run" else case["status"],
        duration_s=case["duration_s"],
        message=None if checks else remark(suite, case),
        checks=[{"status": check["status"], "message": check_text(check)} for check in checks],
        pass_rate=repeats_text(case),
        score=score_text(case["score"], case["min_score"]) if suite["scored"] and case["attempts"] else None,
        cassette=replayed_text([case]) if suite["cassette"] else None,
        calls=[{**call, "number": number} for number, call in enumerate(_calls(asked, case), start=1)],
    )


def _test_id(suite: dict[str, Any], case: dict[str, Any]) -> str:
    return "::".join(filter(None, (suite["file"] or suite["suite"], suite["suite"], full_name(suite, case))))


def _calls(model: str, case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for run, attempt in enumerate(case["attempts"], start=1):
        turns = attempt["turns"]
        for number, turn in enumerate(turns, start=1):
            error = attempt["error"] if number == len(turns) else None
            yield {
                **NOT_KNOWN,
                "model_id": model,
                "conversation": f"run {run}" if len(turns) > 1 else None,
                "turn": number,
                "messages": list(_messages(turn)),
                "usage": {name: turn[name] for name in ("input_tokens", "output_tokens")} | {"details": None},
                "cost_usd": turn["cost_usd"],
                "response": {
                    **{"text": turn["output"], "checked": turn["transformed"]},
                    "duration_ms": round(turn["duration_s"] * 1000, 3),
                },
                "error": None if error is None else {"type": None, "message": error},
            }


def _messages(turn: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What was said before the answer: the prompt, each tool call with its result, what a target asked models."""
    yield {"role": "user", "parts": [{"type": "text", "text": turn["prompt"]}]}
    for call in turn["tool_calls"]:
        asked = {name: call[name] for name in ("name", "arguments")}
        told = {"name": call["name"], "output": call["result"] or "", "exception": call["error"]}
        yield {"role": "assistant", "parts": [{"type": "tool_call", **asked}]}
        yield {"role": "tool", "parts": [{"type": "tool_result", **told}]}
    for line in turn["asked"]:
        yield {"role": "application", "parts": [{"type": "text", "text": line}]}
