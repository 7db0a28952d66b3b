"""The results of suites as files: JSON, JUnit XML, Markdown, and the page of the report.

The JSON is `{"version": 1, "suites": [suite, …]}`; what is added later is added beside what there is. A null stands for
what is not known or not there; durations are seconds, costs US dollars.

- A suite: `suite` (its name), `file`, `role`, `model`, `dry_run`, `total`, `passed`, `failed`, `skipped`, `stopped`
  (why cases were not run), `duration_s`, `cost_usd`, `cases`.
- A case: `name`, `file`, `line`, `tags`, `status` (`passed`, `failed`, `skipped` or `not run`), `pass_rate` and
  `threshold` (0 to 1), `retried`, `duration_s`, `attempts`.
- An attempt: `status`, `error`, `duration_s`, `tokens`, `cost_usd`, `turns`, `assertions`.
- A turn: `prompt`, `output`, `tool_calls` (`name`, `arguments`, `result`, `error`, `duration_s`), `input_tokens`,
  `output_tokens`, `cost_usd`, `duration_s`.
- An assertion: `type`, `status`, `message`, `turn` (from 0), `definition` (as the suite has it).
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from llm_mock.suites.results import AssertionResult, Attempt, CaseResult, SuiteResult, TurnResult
from llm_mock.suites.schema import TestCase
from llm_mock.support.files import write_atomically
from llm_mock.support.redaction import Redactor

VERSION = 1
FORMATS = {
    ".json": "suite_outputs:as_json",
    ".xml": "suite_junit:as_junit",
    ".md": "suite_markdown:as_markdown",
    ".html": "suite_page:as_page",
}
"""Of each suffix: the module of this package and its function, which makes the file of suites."""
STATUS = {True: "passed", False: "failed", None: "skipped"}


@dataclass(frozen=True)
class FinishedSuite:
    """The result of a suite, and the file that it was read from."""

    result: SuiteResult
    path: Path | None = None

    @property
    def file(self) -> str | None:
        """The file, as it was given."""
        return None if self.path is None else str(self.path)


def check_writable(path: Path) -> None:
    """Find out before a run whether its results can be written.

    Raises:
        OSError: they cannot.
    """
    if path.is_dir():
        raise IsADirectoryError("it is a folder")
    probe = path.with_name(f".{path.name[:60]}.probe")
    write_atomically(probe, "")
    probe.unlink()


def write(path: Path, suites: Sequence[FinishedSuite], redactor: Redactor) -> None:
    """Write the results of suites in the format that the suffix names.

    Args:
        path: a name that ends in one of `FORMATS`.
        suites: the suites.
        redactor: takes secrets out of every text.

    Raises:
        OSError: the file cannot be written.
    """
    module, function = FORMATS[path.suffix.lower()].split(":")
    make = getattr(importlib.import_module(f"llm_mock.report.{module}"), function)
    write_atomically(path, make(redactor.clean(as_data(suites))))


def as_json(data: dict[str, Any]) -> bytes:
    """The file of data of `as_data`, in UTF-8."""
    return f"{json.dumps(data, indent=2, ensure_ascii=False, default=str)}\n".encode(errors="backslashreplace")


def as_data(suites: Sequence[FinishedSuite]) -> dict[str, Any]:
    """The results as JSON values: see the description of the module."""
    return {"version": VERSION, "suites": [_suite(suite) for suite in suites]}


def _suite(suite: FinishedSuite) -> dict[str, Any]:
    result = suite.result
    return {
        "suite": result.suite_name,
        "file": suite.file,
        "role": result.agent,
        "model": result.model,
        "dry_run": result.dry_run,
        **{name: getattr(result, name) for name in ("total", "passed", "failed", "skipped", "stopped")},
        "duration_s": round(result.duration, 6),
        "cost_usd": _dollars(result.cost),
        "cases": [
            *(_case(suite, case) for case in result.case_results),
            *(_not_run(suite, case) for case in result.not_run),
        ],
    }


def _head(suite: FinishedSuite, case: TestCase) -> dict[str, Any]:
    return {"name": case.name, "file": suite.file, "line": case.line, "tags": list(case.tags)}


def _case(suite: FinishedSuite, result: CaseResult) -> dict[str, Any]:
    return {
        **_head(suite, result.case),
        "status": result.status,
        **{name: getattr(result, name) for name in ("pass_rate", "threshold", "retried")},
        "duration_s": round(result.duration, 6),
        "attempts": [_attempt(attempt) for attempt in result.attempts],
    }


def _not_run(suite: FinishedSuite, case: TestCase) -> dict[str, Any]:
    nothing = {"pass_rate": None, "threshold": case.threshold, "retried": 0, "duration_s": 0.0}
    return {**_head(suite, case), "status": "not run", **nothing, "attempts": []}


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "status": attempt.status,
        "error": attempt.error,
        "duration_s": round(attempt.duration, 6),
        "tokens": attempt.tokens,
        "cost_usd": _dollars(attempt.cost),
        "turns": [_turn(turn) for turn in attempt.turns],
        "assertions": [_assertion(each) for each in attempt.assertions],
    }


def _turn(turn: TurnResult) -> dict[str, Any]:
    return {
        **{name: getattr(turn, name) for name in ("prompt", "output", "input_tokens", "output_tokens")},
        "cost_usd": _dollars(turn.cost),
        "duration_s": round(turn.duration, 6),
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
        "definition": result.assertion.model_dump(mode="json", by_alias=True),
    }


def _dollars(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)


# --- Reading the data, for the other formats ------------------------------------------------------------------------


def shown(case: dict[str, Any]) -> dict[str, Any] | None:
    """The attempt that explains the status of a case: the first that failed, else the last; None of one not run."""
    attempts: list[dict[str, Any]] = case["attempts"]
    return next((each for each in attempts if each["status"] == "failed"), attempts[-1] if attempts else None)


def problems(case: dict[str, Any]) -> list[str]:
    """What is wrong with a case: its error, or the messages of the assertions that failed."""
    attempt = shown(case)
    if attempt is None:
        return []
    if attempt["error"] is not None:
        return [attempt["error"]]
    return [each["message"] for each in attempt["assertions"] if each["status"] == "failed"]


def remark(suite: dict[str, Any], case: dict[str, Any]) -> str | None:
    """Why a case did not pass, in one text: its problems, why it was skipped, or not run; None of one that passed."""
    if case["status"] == "failed":
        return "\n".join(problems(case))
    if case["status"] == "skipped":
        return "\n".join(each["message"] for each in case["attempts"][-1]["assertions"])
    return None if case["status"] == "passed" else f"not run: {suite['stopped'] or 'the run was interrupted'}"


def conversation(case: dict[str, Any]) -> str:
    """What was said in the attempt that explains the status."""
    attempt = shown(case)
    turns = attempt["turns"] if attempt else []
    return "\n".join(f"prompt: {turn['prompt']}\noutput: {turn['output']}" for turn in turns)


def tokens(case: dict[str, Any]) -> int:
    """What all attempts of a case took."""
    return sum(attempt["tokens"] for attempt in case["attempts"])


def cost(case: dict[str, Any]) -> float | None:
    """What all attempts of a case cost; None where a price is not known."""
    costs = [attempt["cost_usd"] for attempt in case["attempts"]]
    return None if None in costs else round(sum(costs), 10)
