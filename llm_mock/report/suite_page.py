"""Render the document of suites as the HTML page: a case is a test, a turn of it a call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm_mock.agents import summary
from llm_mock.report import document, page
from llm_mock.report.suite_changes import describe_changes
from llm_mock.report.suite_document import (
    check_text,
    format_full_name,
    format_replayed,
    format_suite_scores,
    get_answer,
    get_case_cost,
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
    tests += map(_describe_error, suites.get("errors", ()))
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
    if "baseline" in suites:
        run["changes"] = describe_changes(suites)
    return page.render_page(document.render_json(run))


def _describe_error(message: str) -> JSONObject:
    """Return an error of the run, such as a wrong file, as a test."""
    # A message about a file begins with the file.
    place = message.partition(": ")[0]
    return document.new_test(place, outcome="error", message=message)


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
        "different": list(grid.different()),
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
        # As the tokens, without those of judges and of runs that were retried.
        "cost_usd": _sum_costs(turns, "cost_usd"),
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
        judges=_sum_judges(case),
        **_describe_answers(suite, case),
    )


def _sum_judges(case: JSONObject) -> JSONObject | None:
    """Return tokens and cost of the models that judged a case; None if none did."""
    attempts = case["attempts"]
    tokens = sum(attempt["judge_tokens"] for attempt in attempts)
    cost = _sum_costs(attempts, "judge_cost_usd")
    if not tokens and cost == 0:
        return None
    return {"tokens": tokens, "cost_usd": cost}


def _sum_costs(owners: list[JSONObject], key: str) -> float | None:
    """Return the sum of costs in US dollars; None if one is unknown."""
    costs: list[float] = [owner[key] for owner in owners]
    if None in costs:
        return None
    return round(sum(costs), 10)


def _describe_answers(suite: JSONObject, case: JSONObject) -> JSONObject:
    """Return the turns of an application, and the answer for a comparison of variants."""
    if not case["attempts"]:
        return {}
    answers: JSONObject = {}
    turns = list(_describe_turns(case))
    if turns:
        answers["turns"] = turns
    if suite["variant"]:
        answers["answer"] = get_answer(case)
        answers["cost_usd"] = get_case_cost(case)
    return answers


def _describe_turns(case: JSONObject) -> Iterator[JSONObject]:
    """Yield prompt and output of each turn of an application whose calls are known."""
    decisive = get_decisive_attempt(case)
    for run, attempt in enumerate(case["attempts"], start=1):
        turns = attempt["turns"]
        if not any(turn["model_calls"] for turn in turns):
            continue
        for turn in turns:
            # The error of the decisive attempt is the message of the test.
            is_last = turn is turns[-1] and attempt is not decisive
            yield {
                "run": run,
                "prompt": turn["prompt"],
                "output": turn["output"],
                "checked": turn["transformed"],
                "error": attempt["error"] if is_last else None,
            }


def _get_test_id(suite: JSONObject, case: JSONObject) -> str:
    file = suite["file"] or suite["suite"]
    parts = (file, suite["suite"], format_full_name(suite, case))
    return "::".join(filter(None, parts))


def _describe_calls(model: str, case: JSONObject) -> Iterator[JSONObject]:
    number = 0
    for run, attempt in enumerate(case["attempts"], start=1):
        # Those of an application are the calls that it made; else each turn is a call.
        calls = list(_describe_model_calls(attempt)) or _describe_turn_calls(model, case, attempt)
        for call in calls:
            number += 1
            call["number"] = number
            if len(calls) > 1:
                call["conversation"] = f"run {run}"
            yield call


def _describe_turn_calls(
    model: str,
    case: JSONObject,
    attempt: JSONObject,
) -> list[JSONObject]:
    calls = []
    for position, turn in enumerate(attempt["turns"], start=1):
        call = _describe_call(model, turn)
        call["turn"] = position
        calls.append(call)
    # An error ends the attempt, so it is that of the last turn.
    if calls and attempt["error"] is not None:
        is_message = attempt is get_decisive_attempt(case)
        # The message of the test is not repeated.
        message = None if is_message else attempt["error"]
        calls[-1]["error"] = {"type": None, "message": message}
    return calls


def _describe_model_calls(attempt: JSONObject) -> Iterator[JSONObject]:
    for position, turn in enumerate(attempt["turns"], start=1):
        for call in turn["model_calls"]:
            yield {**_describe_model_call(call), "turn": position}


def _describe_model_call(call: JSONObject) -> JSONObject:
    messages = []
    if call["system"]:
        messages.append(_new_message("system", type="text", text=call["system"]))
    if call["prompt"]:
        messages.append(_new_message("user", type="text", text=call["prompt"]))
    error = call["error"]
    response: JSONObject | None = None
    if error is None:
        text = "" if call["tool_calls"] else call["output"]
        response = {"text": text, "tool_calls": call["tool_calls"]}
    return {
        **UNKNOWN_FIELDS,
        "model_id": call["model"],
        "conversation": None,
        "messages": messages,
        "usage": {
            "input_tokens": call["input_tokens"],
            "output_tokens": call["output_tokens"],
            "details": call["usage_details"],
        },
        "cost_usd": call["cost_usd"],
        "response": response,
        "error": None if error is None else {"type": None, "message": error},
    }


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
    """Yield the messages before the output: the prompt, and the tool calls."""
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


def _new_message(role: str, **part: Any) -> JSONObject:
    return {"role": role, "parts": [part]}
