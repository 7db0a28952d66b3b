"""Describe the runs of agents in a test of pytest, and the checks that it made."""

from __future__ import annotations

from collections.abc import Sequence

from llm_mock.agents.check_log import LoggedCheck
from llm_mock.agents.result import AgentResult, Outcome
from llm_mock.report.suite_document import describe_tool_call
from llm_mock.support.json_types import JSONObject


def describe_runs(
    results: Sequence[AgentResult], checks: Sequence[LoggedCheck]
) -> list[JSONObject]:
    """Return runs as JSON values.

    Args:
        results: the results of the runs.
        checks: the checks of the test, which may be about other subjects, too.
    """
    return [_describe_run(result, checks) for result in results]


def _describe_run(result: AgentResult, checks: Sequence[LoggedCheck]) -> JSONObject:
    return {
        "agent": result.agent,
        "model": result.model,
        "prompt": result.prompt,
        "output": result.final_response,
        "status": _get_status(result, checks),
        "error": result.error,
        "duration_s": round(result.duration, 6),
        "turns": len(result.turns),
        "tool_calls": [describe_tool_call(call) for call in result.all_tool_calls],
        "input_tokens": result.usage.input or 0,
        "output_tokens": result.usage.output or 0,
        "cost_usd": None if result.cost is None else float(result.cost),
    }


def _get_status(result: AgentResult, checks: Sequence[LoggedCheck]) -> Outcome:
    """Return the status of a run: not checked if no check was evaluated about it."""
    # By identity: two runs may be equal.
    statuses = [check.status for check in checks if check.run is result]
    if not result.success or "failed" in statuses:
        return "failed"
    return "passed" if "passed" in statuses else "not checked"


def describe_checks(
    checks: Sequence[LoggedCheck], results: Sequence[AgentResult]
) -> list[JSONObject]:
    """Return checks as JSON values; those of a run have its number, from 1."""
    described = []
    for check in checks:
        values: JSONObject = {"status": check.status, "message": check.message}
        for number, result in enumerate(results, start=1):
            if check.run is result:
                values["run"] = number
        described.append(values)
    return described
