"""Build the document of the suites that `llm-mock test` ran; its outputs render it.

The outputs are JSON, JUnit XML, Markdown and the page. The document is
`{"version": 1, "suites": [suite, …]}`, with `errors` (messages that belong to no case, such as that
of a wrong file) if there are any; new keys are added without a new version. Null is an
unknown or missing value; durations are in seconds, costs in US dollars.

- A suite: `suite` (its name), `file`, `role` (or the target), `target` (null for a role), `model`,
  `dry_run`, `total`, `passed`, `failed`, `not_checked` (cases of which all assertions were
  skipped), `stopped` (why cases were not run), `duration_s`, `cost_usd`, `pass_at_k` and
  `pass_hat_k` (pass@k and pass^k: the means over its repeated cases), `scored` (whether the scores
  say more than which cases passed), `score` and `min_score` (0 to 1), `metrics` (the average score
  of each), `cassette` (the record mode, null without cassettes), `cases`, `variant` (the names of
  its `role`, `target`, `model`, `system_prompt` if variants are compared).
- A case: `name`, `file`, `line`, `tags`, `status` (`passed`, `failed`, `not checked` or `not run`),
  `pass_rate` (null if nothing was checked) and `threshold` (0 to 1), `repeats` (null for a single
  run, and if nothing was checked), `score` and `min_score`, `retried`, `tokens` (of all
  runs, with those that were retried), `duration_s`, `attempts`.
- Repeats: `runs`, `passed`, `interval_95` (Wilson's: the lower and the upper bound), `pass_at_k`
  and `pass_hat_k` (a value for each k).
- An attempt: `status`, `error`, `duration_s`, `tokens` and `cost_usd`, `judge_tokens` and
  `judge_cost_usd` (the part of them that assertions took), `score`, `replayed` and `recorded`
  (numbers of calls), `turns`, `assertions`.
- A turn: `prompt`, `output`, `transformed` (the output after a `transform`), `tool_calls` (`name`,
  `arguments`, `result`, `error`, `duration_s`), `input_tokens`, `output_tokens`, `cost_usd`,
  `duration_s`, `model_calls` (those that a target made, as far as they are known: `model`,
  `system`, `prompt`, `output`, `tool_calls`, `input_tokens`, `output_tokens`, `usage_details`,
  `cost_usd`, `error`), `asked` (the same, each on a line for people).
- An assertion: `type`, `status`, `message`, `turn` (from 0), `score` (null if it was skipped),
  `judge` (the model that judged), `definition` (as in the suite).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from llm_mock.agents.result import ToolCallRecord
from llm_mock.checks.scores import reaches
from llm_mock.suites.application_calls import ModelCall
from llm_mock.suites.failure import format_cassette_usage, format_weight
from llm_mock.suites.matrix import format_case_name, format_variant_name
from llm_mock.suites.pass_rates import PassRate
from llm_mock.suites.results import AssertionResult, Attempt, CaseResult, SuiteResult, TurnResult
from llm_mock.suites.schema import TestCase
from llm_mock.suites.scores import format_score, format_scores
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import escape_json_text

VERSION = 1
NO_SCORE = "no check has a weight, so there is no score"
STATUS = {True: "passed", False: "failed", None: "skipped"}


@dataclass(frozen=True)
class FinishedSuite:
    """The result of a suite, and the file that it was read from."""

    result: SuiteResult
    path: Path | None = None


def new_document(suites: Iterable[FinishedSuite], errors: Iterable[str] = ()) -> JSONObject:
    """Return the results of suites as JSON values; see the module.

    Args:
        suites: the suites that were run.
        errors: the errors that belong to no case, such as that of a wrong file.
    """
    document: JSONObject = {"version": VERSION}
    messages = list(errors)
    if messages:
        document["errors"] = messages
    document["suites"] = [_describe_suite(suite) for suite in suites]
    return document


def render_json(document: JSONObject) -> bytes:
    """Render the document as JSON in UTF-8."""
    text = json.dumps(document, indent=2, ensure_ascii=False, default=str)
    # UTF-8 has no half of a surrogate pair, so its escape is written.
    return f"{escape_json_text(text)}\n".encode(errors="backslashreplace")


def _describe_suite(suite: FinishedSuite) -> JSONObject:
    result = suite.result
    if suite.path is None:
        file = None
    else:
        file = str(suite.path)
    cases = [_describe_case(file, case.case, case) for case in result.case_results]
    cases += [_describe_case(file, case) for case in result.not_run]
    return {
        "suite": result.suite_name,
        "file": file,
        "role": result.agent,
        "target": result.target,
        "model": result.model,
        "dry_run": result.dry_run,
        "variant": dict(result.variant) or None,
        "total": result.total,
        "passed": result.passed,
        "failed": result.failed,
        "not_checked": result.not_checked,
        "stopped": result.stopped,
        "duration_s": round(result.duration, 6),
        "cost_usd": _as_float(result.cost),
        "pass_at_k": _describe_pass_k(result.pass_at_k),
        "pass_hat_k": _describe_pass_k(result.pass_hat_k),
        "scored": result.is_scored,
        "score": _round(result.score),
        "min_score": result.min_score,
        "metrics": {name: _round(score) for name, score in result.metrics.items()},
        "cassette": result.cassette,
        "cases": cases,
    }


def _describe_case(
    file: str | None,
    case: TestCase,
    result: CaseResult | None = None,
) -> JSONObject:
    """Describe a case; one that was not run has no result."""
    described: JSONObject = {
        "name": case.name,
        "file": file,
        "line": case.line,
        "tags": list(case.tags),
        "status": "not run",
        "pass_rate": None,
        "threshold": case.threshold,
        "repeats": None,
        "score": None,
        "min_score": case.min_score,
        "retried": 0,
        "tokens": 0,
        "duration_s": 0.0,
        "attempts": [],
    }
    if result is None:
        return described
    described |= {
        "status": result.status,
        "pass_rate": result.pass_rate,
        "threshold": result.threshold,
        "score": _round(result.score),
        "retried": result.retried,
        "tokens": result.tokens,
        "duration_s": round(result.duration, 6),
        "attempts": [_describe_attempt(attempt) for attempt in result.attempts],
    }
    # A single run has no rate worth showing.
    if len(result.attempts) > 1 and result.rate is not None:
        described["repeats"] = describe_pass_rate(result.rate)
    return described


def describe_pass_rate(rate: PassRate) -> JSONObject:
    """Return the results of repeated runs of a case as JSON values."""
    return {
        "runs": rate.runs,
        "passed": rate.passed,
        "interval_95": [round(bound, 6) for bound in rate.interval],
        "pass_at_k": _describe_pass_k(rate.pass_at_k),
        "pass_hat_k": _describe_pass_k(rate.pass_hat_k),
    }


def _describe_pass_k(values: dict[int, float]) -> dict[str, float]:
    # The keys of a JSON object are strings.
    return {str(k): round(value, 6) for k, value in values.items()}


def _describe_attempt(attempt: Attempt) -> JSONObject:
    return {
        "status": attempt.status,
        "error": attempt.error,
        "duration_s": round(attempt.duration, 6),
        "tokens": attempt.tokens,
        "cost_usd": _as_float(attempt.cost),
        "judge_tokens": attempt.judge_tokens,
        "judge_cost_usd": _as_float(attempt.judge_cost),
        "score": _round(attempt.score),
        "replayed": attempt.replayed,
        "recorded": attempt.recorded,
        "turns": [_describe_turn(turn) for turn in attempt.turns],
        "assertions": [_describe_assertion(result) for result in attempt.assertions],
    }


def describe_tool_call(call: ToolCallRecord) -> JSONObject:
    """Return a call of a tool as JSON values."""
    return {
        "name": call.name,
        "arguments": call.arguments,
        "result": call.result,
        "error": call.error,
        "duration_s": round(call.duration, 6),
    }


def _describe_model_call(call: ModelCall) -> JSONObject:
    return {
        "model": call.model,
        "system": call.system,
        "prompt": call.prompt,
        "output": call.output,
        "tool_calls": [describe_tool_call(each) for each in call.tool_calls],
        "input_tokens": call.input_tokens,
        "output_tokens": call.output_tokens,
        "usage_details": call.details,
        "cost_usd": _as_float(call.cost),
        "error": call.error,
    }


def _describe_turn(turn: TurnResult) -> JSONObject:
    return {
        "prompt": turn.prompt,
        "output": turn.output,
        "transformed": turn.transformed,
        "input_tokens": turn.input_tokens,
        "output_tokens": turn.output_tokens,
        "cost_usd": _as_float(turn.cost),
        "duration_s": round(turn.duration, 6),
        "asked": [call.line for call in turn.model_calls],
        "model_calls": [_describe_model_call(call) for call in turn.model_calls],
        "tool_calls": [describe_tool_call(call) for call in turn.tool_calls],
    }


def _describe_assertion(result: AssertionResult) -> JSONObject:
    assertion = result.assertion
    # Only what the suite sets; its type is set by default in Python.
    definition = assertion.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return {
        "type": assertion.type,
        "status": STATUS[result.passed],
        "message": result.message,
        "turn": result.turn,
        "score": _round(result.score),
        "judge": result.judge,
        "definition": {"type": assertion.type, **definition},
    }


def _round(score: float | None) -> float | None:
    return None if score is None else round(score, 6)


def _as_float(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)


# The renderings read the document with the functions below.


def suite_name(suite: JSONObject) -> str:
    """Return the name of a suite with its variant."""
    return format_case_name(suite["suite"], format_variant_name(suite["variant"]))


def format_full_name(suite: JSONObject, case: JSONObject) -> str:
    """Return the name of a case with its variant."""
    return format_case_name(case["name"], format_variant_name(suite["variant"]))


def get_case_cost(case: JSONObject) -> float | None:
    """Return the cost of all attempts of a case in US dollars, or None if a price is unknown."""
    costs = [attempt["cost_usd"] for attempt in case["attempts"]]
    if None in costs:
        return None
    # Rounded, because sums of floats have digits that no amount has.
    total: float = round(sum(costs), 10)
    return total


def remark(suite: JSONObject, case: JSONObject) -> str | None:
    """Return why a case failed, was not checked or was not run; None if it passed."""
    status = case["status"]
    if status == "passed":
        return None
    if status == "not run":
        reason = suite["stopped"] or "the run was interrupted"
        return f"not run: {reason}"
    attempt = get_decisive_attempt(case)
    if attempt["error"] is not None:
        return str(attempt["error"])
    if status == "not checked":
        return f"not checked: {_join_messages(attempt, 'skipped') or NO_SCORE}"
    if reaches(attempt["score"], case["min_score"]):
        return _join_messages(attempt, status)
    score = format_score(attempt["score"], case["min_score"])
    return f"{score}\n{_join_messages(attempt, status)}".rstrip("\n")


def _join_messages(attempt: JSONObject, status: str) -> str:
    lines = []
    for assertion in attempt["assertions"]:
        if assertion["status"] == status:
            lines.append(check_text(assertion))
    return "\n".join(lines)


def check_text(check: JSONObject) -> str:
    """Return the message of an assertion, with its weight if it is not 1."""
    weight = check["definition"].get("weight", 1)
    return f"{check['message']}{format_weight(weight)}"


def format_suite_scores(suite: JSONObject) -> str:
    """Return the score of a suite with its metrics."""
    return format_scores(suite["score"], suite["min_score"], suite["metrics"])


def is_good(suite: JSONObject) -> bool:
    """Return whether the score is high enough, or without a minimum, whether no case failed.

    A suite of which nothing was checked is not good.
    """
    if not suite["passed"] and not suite["failed"]:
        return False
    if suite["min_score"] is None:
        return not suite["failed"]
    return suite["score"] is not None and reaches(suite["score"], suite["min_score"])


def explain_case(suite: JSONObject, case: JSONObject) -> str:
    """Return the remark on a case with its prompts and outputs."""
    lines = [remark(suite, case)]
    # A case that was not run has no attempts.
    if case["attempts"]:
        turns = get_decisive_attempt(case)["turns"]
    else:
        turns = []
    for turn in turns:
        lines.append(f"prompt: {turn['prompt']}")
        lines += [f"asked: {prompt}" for prompt in turn["asked"]]
        lines.append(f"output: {turn['output']}")
        if turn["transformed"] is not None:
            lines.append(f"checked: {turn['transformed']}")
    return "\n".join(filter(None, lines))


def repeats_text(case: JSONObject) -> str | None:
    """Return how often a repeated case passed, or None for a single run."""
    repeats = case["repeats"]
    if repeats is None:
        return None
    return str(PassRate(repeats["passed"], repeats["runs"]))


def format_replayed(cases: Sequence[JSONObject]) -> str:
    """Return how many calls the cassettes of cases replayed and recorded."""
    replayed = 0
    recorded = 0
    without_cassette = 0
    for case in cases:
        for attempt in case["attempts"]:
            replayed += attempt["replayed"]
            recorded += attempt["recorded"]
            without_cassette += not (attempt["replayed"] or attempt["recorded"])
    return format_cassette_usage(replayed, recorded, without_cassette)


def count_checks(case: JSONObject) -> tuple[int, int]:
    """Return the number of assertions that were evaluated, and the number of all."""
    assertions = get_decisive_attempt(case)["assertions"]
    skipped = sum(assertion["status"] == "skipped" for assertion in assertions)
    return len(assertions) - skipped, len(assertions)


def get_decisive_attempt(case: JSONObject) -> JSONObject:
    """Return the first attempt that failed, or else the last one."""
    attempts: list[JSONObject] = case["attempts"]
    for attempt in attempts:
        if attempt["status"] == "failed":
            return attempt
    return attempts[-1]


def get_answer(case: JSONObject) -> str | None:
    """Return the last checked output of the decisive attempt; None for a case without one."""
    if not case["attempts"]:
        return None
    turns = get_decisive_attempt(case)["turns"]
    if not turns:
        return None
    transformed = turns[-1]["transformed"]
    if transformed is None:
        return str(turns[-1]["output"])
    return str(transformed)
