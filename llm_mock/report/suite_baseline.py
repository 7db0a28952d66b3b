"""What changed in suites against an earlier result of `llm-mock test -o FILE.json`.

The document of suites is given more. `baseline`: the file. Of each suite `baseline`, null where there is no earlier
result: `variant` (its variant), `dry_run`, `gone` (names of cases that are not there any more), `compared` (how many
cases ran both times), and of these `cost_usd` and `duration_s`, each as `before` and `now`. Of each case `baseline`:
`change` (`broke`, `mended`, `new` or `same`), and what it was: `status`, `ran`, `duration_s`, `cost_usd`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import pydantic

from llm_mock.errors import InvalidFile
from llm_mock.report.suite_document import VERSION, cost_of_case
from llm_mock.support import yaml_files
from llm_mock.support.files import LARGEST_FILE

LARGEST_BASELINE = 10 * LARGEST_FILE
SHAPE = "a baseline is what an earlier `llm-mock test … -o FILE.json` wrote"
Part = dict[str, Any]


class _Attempt(pydantic.BaseModel):
    cost_usd: float | None


class _Case(pydantic.BaseModel):
    name: str
    status: Literal["passed", "failed", "skipped", "not run"]
    duration_s: float
    attempts: tuple[_Attempt, ...]


class _Suite(pydantic.BaseModel):
    suite: str
    file: str | None
    dry_run: bool
    variant: dict[str, str] | None = None
    cases: tuple[_Case, ...]


class _Results(pydantic.BaseModel):
    """What is needed of an earlier result."""

    version: Literal[VERSION]  # type: ignore[valid-type]
    suites: tuple[_Suite, ...]


def read_baseline(path: Path) -> list[Part]:
    """The suites of an earlier result.

    Raises:
        InvalidFile: it cannot be read, or is none; the message names the line.
    """
    __tracebackhide__ = True
    text = yaml_files.read(path, LARGEST_BASELINE)
    try:
        data = json.loads(text)
    except RecursionError:
        raise InvalidFile(f"{path}:1: is nested too deep; {SHAPE}") from None
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        raise InvalidFile(f"{path}:{line}: is not JSON: {getattr(error, 'msg', error)}; {SHAPE}") from None
    if not isinstance(data, dict) or "suites" not in data:
        other = "the report of a run of pytest" if isinstance(data, dict) and "tests" in data else "no result of suites"
        raise InvalidFile(f"{path}:1: is {other}; {SHAPE}")
    try:
        _Results.model_validate(data)
    except pydantic.ValidationError:
        yaml_files.parse(path, text).as_model(_Results)  # JSON is YAML, of which the lines are known
        raise InvalidFile(f"{path}:1: is no result of suites; {SHAPE}") from None
    suites: list[Part] = data["suites"]
    return suites


def compared(document: Part, file: Path, before: Sequence[Part], is_whole: bool) -> Part:
    """The document with what changed; see the description of the module.

    `is_whole` says whether all cases of the suites were run: where some were left out, none is gone.
    """
    suites = [_compared_suite(suite, _counterpart(suite, before), is_whole) for suite in document["suites"]]
    return {**document, "baseline": str(file), "suites": suites}


def is_worse(document: Part) -> bool:
    """Whether a case broke, a new one failed, or one was not run."""
    return any(
        case["status"] == "not run" or (case["status"] == "failed" and case["baseline"]["change"] in ("broke", "new"))
        for suite in document["suites"]
        for case in suite["cases"]
    )


def _counterpart(suite: Part, before: Sequence[Part]) -> Part | None:
    """The earlier result of a suite: that of the same variant, else the one without variants."""
    found = [earlier for earlier in before if earlier["suite"] == suite["suite"]]
    found = [earlier for earlier in found if earlier["file"] == suite["file"]] or found
    same = [earlier for earlier in found if earlier.get("variant") == suite["variant"]]
    return next(iter(same or [earlier for earlier in found if not earlier.get("variant")]), None)


def _compared_suite(suite: Part, earlier: Part | None, is_whole: bool) -> Part:
    old = {case["name"]: case for case in earlier["cases"]} if earlier else {}
    cases = [{**case, "baseline": _compared_case(case, old.get(case["name"]))} for case in suite["cases"]]
    if earlier is None:
        return {**suite, "cases": cases, "baseline": None}
    both = [(old[case["name"]], case) for case in cases if case["attempts"] and case["baseline"]["ran"]]
    there = {case["name"] for case in cases}
    return {
        **suite,
        "cases": cases,
        "baseline": {
            **{"variant": earlier.get("variant"), "dry_run": earlier["dry_run"]},
            "gone": [name for name in old if name not in there] if is_whole else [],
            "compared": len(both),
            "cost_usd": _before_and_now(both, cost_of_case),
            "duration_s": _before_and_now(both, lambda case: float(case["duration_s"])),
        },
    }


def _compared_case(case: Part, old: Part | None) -> Part:
    if old is None:
        return {"change": "new", "status": None, "ran": False, "duration_s": None, "cost_usd": None}
    failed, failed_before = (each["status"] == "failed" for each in (case, old))
    change = "broke" if failed and not failed_before else "same"
    if failed_before and case["status"] == "passed":
        change = "mended"
    ran = bool(old["attempts"])
    return {
        **{"change": change, "status": old["status"], "ran": ran, "duration_s": old["duration_s"] if ran else None},
        "cost_usd": cost_of_case(old) if ran else None,
    }


def _before_and_now(both: Sequence[tuple[Part, Part]], amount: Callable[[Part], float | None]) -> Part | None:
    """The sums over cases that ran both times; None where an amount is not known."""
    found = {"before": [amount(was) for was, _ in both], "now": [amount(case) for _, case in both]}
    if any(None in amounts for amounts in found.values()):
        return None
    return {when: round(sum(filter(None, amounts)), 10) for when, amounts in found.items()}
