"""Render the document of suites as the HTML page: a case is a test, a turn of it a call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm_mock.agents import summary
from llm_mock.report import document, page
from llm_mock.report.suite_changes import list_changes, summarize_changes
from llm_mock.report.suite_document import (
    check_text,
    format_full_name,
    format_replayed,
    format_suite_scores,
    get_decisive_attempt,
    remark,
    repeats_text,
    suite_name,
)
from llm_mock.report.suite_grid import Grid, group_variants
from llm_mock.suites.scores import format_score
from llm_mock.support.json_types import JSONObject

UNKNOWN_FIELDS: JSONObject = {
    "timestamp": "",
    "resolved_model": None,
    "schema": None,
    "tools": (),
    "options": {},
    "earlier_messages": 0,
    "configured": True,
}
"""The fields of a call that a suite does not have."""


def render_suite_page(suites: JSONObject) -> bytes:
    """Render a document of suites as the HTML page."""
    tests = []
    scores = []
    for suite in suites["suites"]:
        tests += [_describe_test(suite, case) for case in suite["cases"]]
        if suite["scored"]:
            scores.append(f"{suite_name(suite)}: {format_suite_scores(suite)}")
    duration = sum(suite["duration_s"] for suite in suites["suites"])
    agents = _sum_agents(suites["suites"])
    run = document.new_document(tests, [], agents, duration)
    parts = group_variants(suites["suites"])
    side_by_side = []
    for part in parts:
        if isinstance(part, Grid):
            side_by_side.append(_describe_grid(part))
    # The page has these beside the document of a test run.
    run["side_by_side"] = side_by_side
    run["scores"] = scores
    run["changes"] = _describe_changes(suites)
    return page.render_page(document.render_json(run))


def _describe_changes(suites: JSONObject) -> JSONObject | None:
    """Return the changes against the baseline, or None without one."""
    if "baseline" not in suites:
        return None
    rows = []
    for suite in suites["suites"]:
        rows += [[change.kind, change.name, change.remark] for change in list_changes(suite)]
    return {
        "file": suites["baseline"],
        "summaries": [summarize_changes(suite) for suite in suites["suites"]],
        "rows": rows,
    }


def _describe_grid(grid: Grid) -> JSONObject:
    """Return a table of cases by variants, whose cells are ids of tests."""
    rows = []
    for name, cases in grid.rows():
        pairs = zip(grid.suites, cases, strict=True)
        rows.append([name, [case and _get_test_id(suite, case) for suite, case in pairs]])
    return {
        "suite": grid.suites[0]["suite"],
        "variants": grid.variants,
        "rows": rows,
        "sums": list(grid.sums()),
    }


def _sum_agents(suites: list[JSONObject]) -> summary.Sums:
    sums: summary.Sums = {}
    for suite in suites:
        # Variants of one role are different agents.
        key = repr((suite["role"], suite["model"], suite["variant"]))
        summary.add(sums, {key: _describe_agent(suite)})
    return sums


def _describe_agent(suite: JSONObject) -> JSONObject:
    attempts = []
    for case in suite["cases"]:
        attempts += case["attempts"]
    turns = []
    for attempt in attempts:
        turns += attempt["turns"]
    variant = suite["variant"] or {}
    parts = {
        "model": variant.get("model", suite["model"]),
        "prompt": variant.get("system_prompt"),
    }
    return {
        "agent": suite["role"],
        "parts": {name: text for name, text in parts.items() if text},
        "tests": suite["passed"] + suite["failed"],
        "passed": suite["passed"],
        "runs": len(attempts),
        "turns": len(turns),
        "tool_calls": sum(len(turn["tool_calls"]) for turn in turns),
        "input_tokens": sum(turn["input_tokens"] for turn in turns),
        "output_tokens": sum(turn["output_tokens"] for turn in turns),
        "cost_usd": suite["cost_usd"],
        "duration_s": sum(attempt["duration_s"] for attempt in attempts),
    }


def _describe_test(suite: JSONObject, case: JSONObject) -> JSONObject:
    if case["attempts"]:
        assertions = get_decisive_attempt(case)["assertions"]
    else:
        assertions = []
    model = suite["model"] or suite["role"]
    score = None
    if suite["scored"] and case["attempts"]:
        score = format_score(case["score"], case["min_score"])
    checks = []
    for assertion in assertions:
        checks.append({"status": assertion["status"], "message": check_text(assertion)})
    return document.new_test(
        _get_test_id(suite, case),
        file=suite["file"] or suite["suite"],
        # The page has the outcomes of pytest.
        outcome="skipped" if case["status"] == "not run" else case["status"],
        duration_s=case["duration_s"],
        message=None if checks else remark(suite, case),
        checks=checks,
        pass_rate=repeats_text(case),
        score=score,
        cassette=format_replayed([case]) if suite["cassette"] else None,
        calls=list(_describe_calls(model, case)),
    )


def _get_test_id(suite: JSONObject, case: JSONObject) -> str:
    file = suite["file"] or suite["suite"]
    parts = (file, suite["suite"], format_full_name(suite, case))
    return "::".join(filter(None, parts))


def _describe_calls(model: str, case: JSONObject) -> Iterator[JSONObject]:
    number = 0
    for run, attempt in enumerate(case["attempts"], start=1):
        turns = attempt["turns"]
        for position, turn in enumerate(turns, start=1):
            number += 1
            call = _describe_call(model, turn)
            call["number"] = number
            call["turn"] = position
            if len(turns) > 1:
                call["conversation"] = f"run {run}"
            # An error ends the attempt, so it is that of the last turn.
            if position == len(turns) and attempt["error"] is not None:
                call["error"] = {"type": None, "message": attempt["error"]}
            yield call


def _describe_call(model: str, turn: JSONObject) -> JSONObject:
    return {
        **UNKNOWN_FIELDS,
        "model_id": model,
        "conversation": None,
        "messages": list(_describe_messages(turn)),
        "usage": {
            "input_tokens": turn["input_tokens"],
            "output_tokens": turn["output_tokens"],
            "details": None,
        },
        "cost_usd": turn["cost_usd"],
        "response": {
            "text": turn["output"],
            "checked": turn["transformed"],
            "duration_ms": round(turn["duration_s"] * 1000, 3),
        },
        "error": None,
    }


def _describe_messages(turn: JSONObject) -> Iterator[JSONObject]:
    """Yield the messages before the output: prompt, tool calls, and a target's own prompts."""
    yield _new_message("user", type="text", text=turn["prompt"])
    for call in turn["tool_calls"]:
        name = call["name"]
        yield _new_message("assistant", type="tool_call", name=name, arguments=call["arguments"])
        yield _new_message(
            "tool",
            type="tool_result",
            name=name,
            output=call["result"] or "",
            exception=call["error"],
        )
    for line in turn["asked"]:
        yield _new_message("application", type="text", text=line)


def _new_message(role: str, **part: Any) -> JSONObject:
    return {"role": role, "parts": [part]}
