"""The document of the suites that `llm-mock test` ran; its outputs (JSON, JUnit XML, Markdown, the page) render it.

It is `{"version": 1, "suites": [suite, …]}`; what is added later is added beside what there is. A null stands for
what is not known or not there; durations are seconds, costs US dollars.

- A suite: `suite` (its name), `file`, `role` (or the target), `target` (null of a role), `model`, `dry_run`,
  `total`, `passed`, `failed`, `skipped`, `stopped` (why cases were not run), `duration_s`, `cost_usd`,
  `pass_at_k` (of its repeated cases, the mean), `scored` (whether the scores say more than which cases passed), `score`
  and `min_score` (0 to 1), `metrics` (the average score of each), `cassette` (the record mode, null without cassettes),
  `cases`,
  `variant` (of what stands side by side the names of its `role`, `target`, `model`, `system_prompt`; else null).
- A case: `name`, `file`, `line`, `tags`, `status` (`passed`, `failed`, `skipped` or `not run`), `pass_rate` and
  `threshold` (0 to 1), `repeats` (null of one that was run once), `score` and `min_score`, `retried`,
  `duration_s`, `attempts`.
- Repeats: `runs`, `passed`, `interval_95` (Wilson's: the lower and the upper bound), `pass_at_k` (a value for each k).
- An attempt: `status`, `error`, `duration_s`, `tokens`, `cost_usd`, `score`, `replayed` and `recorded` (calls),
  `turns`, `assertions`.
- A turn: `prompt`, `output`, `transformed` (what a `transform` made of it), `tool_calls` (`name`, `arguments`,
  `result`, `error`, `duration_s`), `input_tokens`, `output_tokens`, `cost_usd`, `duration_s`, `asked` (what a target
  asked models in a dry run: lines for people).
- An assertion: `type`, `status`, `message`, `turn` (from 0), `score` (null where it was skipped), `judge` (the model
  that judged), `definition` (as the suite has it).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from llm_mock.suites.failure import cassette_text, weight_text
from llm_mock.suites.matrix import case_name, variant_name
from llm_mock.suites.pass_rates import PassRate
from llm_mock.suites.results import AssertionResult, Attempt, CaseResult, SuiteResult, TurnResult
from llm_mock.suites.schema import TestCase
from llm_mock.suites.scores import reaches, score_text, scores_text
from llm_mock.support.text import escaped_json

VERSION = 1
STATUS = {True: "passed", False: "failed", None: "skipped"}


@dataclass(frozen=True)
class FinishedSuite:
    """The result of a suite, and the file that it was read from."""

    result: SuiteResult
    path: Path | None = None


def new_document(suites: Iterable[FinishedSuite]) -> dict[str, Any]:
    """The results of suites as JSON values: see the description of the module."""
    return {"version": VERSION, "suites": [_suite(suite) for suite in suites]}


def as_json(document: dict[str, Any]) -> bytes:
    """The document as JSON, in UTF-8."""
    text = escaped_json(json.dumps(document, indent=2, ensure_ascii=False, default=str))
    return f"{text}\n".encode(errors="backslashreplace")


def _suite(suite: FinishedSuite) -> dict[str, Any]:
    result, file = suite.result, None if suite.path is None else str(suite.path)
    return {
        "suite": result.suite_name,
        "file": file,
        "role": result.agent,
        "target": result.target,
        "model": result.model,
        "dry_run": result.dry_run,
        "variant": dict(result.variant) or None,
        **{name: getattr(result, name) for name in ("total", "passed", "failed", "skipped", "stopped")},
        "duration_s": round(result.duration, 6),
        "cost_usd": _dollars(result.cost),
        "pass_at_k": _rounded(result.pass_at_k),
        "scored": result.is_scored,
        "score": _score(result.score),
        "min_score": result.min_score,
        "metrics": {name: _score(score) for name, score in result.metrics.items()},
        "cassette": result.cassette,
        "cases": [
            *(_case(file, case.case, case) for case in result.case_results),
            *(_case(file, case) for case in result.not_run),
        ],
    }


def _case(file: str | None, case: TestCase, result: CaseResult | None = None) -> dict[str, Any]:
    """A case; one that was not run has no result."""
    return {
        "name": case.name,
        "file": file,
        "line": case.line,
        "tags": list(case.tags),
        "status": result.status if result else "not run",
        "pass_rate": result.pass_rate if result else None,
        "threshold": result.threshold if result else case.threshold,
        "repeats": described_rate(result.rate) if result and len(result.attempts) > 1 else None,
        "score": _score(result.score) if result else None,
        "min_score": case.min_score,
        "retried": result.retried if result else 0,
        "duration_s": round(result.duration, 6) if result else 0.0,
        "attempts": [_attempt(attempt) for attempt in result.attempts] if result else [],
    }


def described_rate(rate: PassRate) -> dict[str, Any]:
    """What several runs of a case say, as JSON values."""
    return {
        "runs": rate.runs,
        "passed": rate.passed,
        "interval_95": [round(bound, 6) for bound in rate.interval],
        "pass_at_k": _rounded(rate.pass_at_k),
    }


def _rounded(values: dict[int, float]) -> dict[str, float]:
    return {str(k): round(value, 6) for k, value in values.items()}


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "status": attempt.status,
        "error": attempt.error,
        "duration_s": round(attempt.duration, 6),
        "tokens": attempt.tokens,
        "cost_usd": _dollars(attempt.cost),
        "score": _score(attempt.score),
        "replayed": attempt.replayed,
        "recorded": attempt.recorded,
        "turns": [_turn(turn) for turn in attempt.turns],
        "assertions": [_assertion(each) for each in attempt.assertions],
    }


def _turn(turn: TurnResult) -> dict[str, Any]:
    return {
        **{name: getattr(turn, name) for name in ("prompt", "output", "transformed", "input_tokens", "output_tokens")},
        "cost_usd": _dollars(turn.cost),
        "duration_s": round(turn.duration, 6),
        "asked": list(turn.asked),
        "tool_calls": [
            {
                **{name: getattr(call, name) for name in ("name", "arguments", "result", "error")},
                "duration_s": round(call.duration, 6),
            }
            for call in turn.tool_calls
        ],
    }


def _assertion(result: AssertionResult) -> dict[str, Any]:
    return {
        "type": result.assertion.type,
        "status": STATUS[result.passed],
        "message": result.message,
        "turn": result.turn,
        "score": _score(result.score),
        "judge": result.judge,
        "definition": {
            "type": result.assertion.type,
            **result.assertion.model_dump(mode="json", by_alias=True, exclude_unset=True),
        },
    }


def _score(score: float | None) -> float | None:
    return None if score is None else round(score, 6)


def _dollars(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)


# --- Reading it, for the renderings ----------------------------------------------------------------------------------


def suite_name(suite: dict[str, Any]) -> str:
    """What a suite is called, with its variant."""
    return case_name(suite["suite"], variant_name(suite["variant"]))


def full_name(suite: dict[str, Any], case: dict[str, Any]) -> str:
    """What a case is called, with its variant."""
    return case_name(case["name"], variant_name(suite["variant"]))


def cost_of_case(case: dict[str, Any]) -> float | None:
    """What all attempts of a case cost in US dollars; None where a price is not known."""
    costs = [attempt["cost_usd"] for attempt in case["attempts"]]
    return None if None in costs else round(sum(costs), 10)


def remark(suite: dict[str, Any], case: dict[str, Any]) -> str | None:
    """Why a case failed, was skipped or was not run, in one text; None of one that passed."""
    if case["status"] == "passed":
        return None
    if case["status"] == "not run":
        return f"not run: {suite['stopped'] or 'the run was interrupted'}"
    attempt = explaining_attempt(case)
    if attempt["error"] is not None:
        return str(attempt["error"])
    too_low = [] if reaches(attempt["score"], case["min_score"]) else [score_text(attempt["score"], case["min_score"])]
    found = [each for each in attempt["assertions"] if each["status"] == case["status"]]
    return "\n".join([*too_low, *map(check_text, found)])


def check_text(check: dict[str, Any]) -> str:
    """The message of an assertion, and what it counts where that is not as much as the others."""
    return f"{check['message']}{weight_text(check['definition'].get('weight', 1))}"


def suite_scores(suite: dict[str, Any]) -> str:
    """The score of a suite with its metrics."""
    return scores_text(suite["score"], suite["min_score"], suite["metrics"])


def is_good(suite: dict[str, Any]) -> bool:
    """Whether no case failed, or the score is as high as it must be."""
    return not suite["failed"] if suite["min_score"] is None else reaches(suite["score"], suite["min_score"])


def explanation(suite: dict[str, Any], case: dict[str, Any]) -> str:
    """The remark with what was said."""
    turns = explaining_attempt(case)["turns"] if case["attempts"] else []
    lines = (
        line
        for turn in turns
        for line in (
            f"prompt: {turn['prompt']}",
            *(f"asked: {each}" for each in turn["asked"]),
            f"output: {turn['output']}",
            *(f"checked: {text}" for text in [turn["transformed"]] if text is not None),
        )
    )
    return "\n".join(filter(None, (remark(suite, case), *lines)))


def repeats_text(case: dict[str, Any]) -> str | None:
    """How often a case passed that was run several times; None of another one."""
    repeats = case["repeats"]
    return None if repeats is None else str(PassRate(repeats["passed"], repeats["runs"]))


def replayed_text(cases: Sequence[dict[str, Any]]) -> str:
    """What the cassettes of cases answered, and what was recorded."""
    attempts = [attempt for case in cases for attempt in case["attempts"]]
    replayed, recorded = (sum(attempt[how] for attempt in attempts) for how in ("replayed", "recorded"))
    without = sum(not (attempt["replayed"] or attempt["recorded"]) for attempt in attempts)
    return cassette_text(replayed, recorded, without)


def explaining_attempt(case: dict[str, Any]) -> dict[str, Any]:
    """The attempt that explains the status of a case: the first that failed, else the last."""
    attempts: list[dict[str, Any]] = case["attempts"]
    return next((each for each in attempts if each["status"] == "failed"), attempts[-1])


def tokens(case: dict[str, Any]) -> int:
    """What all attempts of a case took."""
    return sum(attempt["tokens"] for attempt in case["attempts"])
