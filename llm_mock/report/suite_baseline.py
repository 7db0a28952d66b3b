"""Compare suites with an earlier result of `llm-mock test -o FILE.json`.

The comparison adds to the document of suites:

- `baseline`: the file.
- To each suite `baseline`, null without an earlier result: `variant` (of the earlier result),
  `dry_run`, `gone` (names of cases that no longer exist), `compared` (the number of cases that ran
  both times), and of these `cost_usd` and `duration_s`, each as `before` and `now`.
- To each case `baseline`: `change` (`broke`, `fell` (its pass rate or its score, by more than
  chance explains), `unchecked`, `mended`, `lower` (a fall that may be chance), `new` or `same`),
  `fall` (the two values of `fell` and `lower` in words, else null), and the earlier `status`,
  `ran`, `duration_s` and `cost_usd`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from llm_mock.checks.scores import TOLERANCE
from llm_mock.errors import InvalidFile
from llm_mock.report.suite_document import VERSION, get_case_cost
from llm_mock.suites.pass_rates import PassRate
from llm_mock.suites.scores import has_fallen
from llm_mock.support import yaml_files
from llm_mock.support.files import LARGEST_FILE
from llm_mock.support.json_types import JSONObject

# A result has the prompts and the outputs of all cases, so it is larger than a suite.
LARGEST_BASELINE = 10 * LARGEST_FILE
EXPECTED = "a baseline is written by `llm-mock test … -o FILE.json`"
Part = JSONObject
WORSE = ("broke", "fell", "unchecked")
"""The changes of a case that make it worse than in the baseline."""


class _Attempt(pydantic.BaseModel):
    cost_usd: float | None
    score: float | None = None


class _Repeats(pydantic.BaseModel):
    runs: Annotated[int, Field(ge=1)]
    passed: Annotated[int, Field(ge=0)]


class _Case(pydantic.BaseModel):
    name: str
    status: Literal["passed", "failed", "not checked", "not run"]
    duration_s: float
    repeats: _Repeats | None = None
    attempts: tuple[_Attempt, ...]


class _Suite(pydantic.BaseModel):
    suite: str
    file: str | None
    dry_run: bool
    variant: dict[str, str] | None = None
    cases: tuple[_Case, ...]


class _Results(pydantic.BaseModel):
    """The parts of an earlier result that are compared."""

    version: Literal[VERSION]  # type: ignore[valid-type]
    suites: tuple[_Suite, ...]


def read_baseline(path: Path) -> list[Part]:
    """Return the suites of an earlier result.

    Raises:
        InvalidFile: the file cannot be read or is not a result; the message names the line.
    """
    text = yaml_files.read(path, LARGEST_BASELINE)
    data = parse_baseline(path, text, EXPECTED)
    if not isinstance(data, dict) or "suites" not in data:
        is_run = isinstance(data, dict) and "tests" in data
        kind = "is the report of a run of pytest" if is_run else "is not a result of suites"
        raise InvalidFile(f"{path}:1: the file {kind}; {EXPECTED}")
    try:
        _Results.model_validate(data)
    except pydantic.ValidationError:
        # JSON is YAML, whose parser knows the lines.
        yaml_files.parse(path, text).as_model(_Results)
        raise InvalidFile(f"{path}:1: the file is not a result of suites; {EXPECTED}") from None
    suites: list[Part] = data["suites"]
    return suites


def parse_baseline(path: Path, text: str, expected: str) -> Any:
    """Return the data of a JSON file.

    Args:
        path: the file.
        text: its text.
        expected: what the file must be, for messages.

    Raises:
        InvalidFile: the text is not JSON; the message names the line.
    """
    __tracebackhide__ = True
    try:
        return json.loads(text)
    except RecursionError:
        raise InvalidFile(f"{path}:1: the JSON is nested too deep; {expected}") from None
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        problem = getattr(error, "msg", error)
        raise InvalidFile(f"{path}:{line}: invalid JSON: {problem}; {expected}") from None


def compare_with_baseline(
    document: Part,
    file: Path,
    before: Sequence[Part],
    is_whole: bool,
) -> Part:
    """Return the document with the changes against a baseline; see the module.

    Args:
        document: the document of suites.
        file: the path of the baseline.
        before: the suites of the baseline.
        is_whole: whether all cases were run; otherwise no missing case counts as gone.
    """
    suites = []
    for suite in document["suites"]:
        earlier = _find_earlier_suite(suite, before)
        suites.append(_compare_suite(suite, earlier, is_whole))
    return {**document, "baseline": str(file), "suites": suites}


def is_worse(document: Part) -> bool:
    """Return whether a case is worse (see `WORSE`), was not run, or is new and failed."""
    for suite in document["suites"]:
        for case in suite["cases"]:
            if case["status"] == "failed" and case["baseline"]["change"] == "new":
                return True
            if case["status"] == "not run" or case["baseline"]["change"] in WORSE:
                return True
    return False


def is_checked(document: Part) -> bool:
    """Return whether a case passed or failed; otherwise there is nothing to compare."""
    return any(suite["passed"] or suite["failed"] for suite in document["suites"])


def _find_earlier_suite(suite: Part, before: Sequence[Part]) -> Part | None:
    """Return the earlier result of the same variant, or else the one without variants."""
    candidates = [earlier for earlier in before if earlier["suite"] == suite["suite"]]
    # The file may have been moved, so its path only decides between suites of one name.
    in_file = [earlier for earlier in candidates if earlier["file"] == suite["file"]]
    candidates = in_file or candidates
    for earlier in candidates:
        if earlier.get("variant") == suite["variant"]:
            return earlier
    for earlier in candidates:
        if not earlier.get("variant"):
            return earlier
    return None


def _compare_suite(suite: Part, earlier: Part | None, is_whole: bool) -> Part:
    old_cases = {}
    for case in earlier["cases"] if earlier else ():
        old_cases[case["name"]] = case
    cases = []
    for case in suite["cases"]:
        old = old_cases.get(case["name"])
        cases.append({**case, "baseline": _compare_case(case, old)})
    baseline = None
    if earlier is not None:
        ran_twice = _pair_cases(old_cases, cases)
        baseline = {
            "variant": earlier.get("variant"),
            "dry_run": earlier["dry_run"],
            # Cases that were only left out of this run are not gone.
            "gone": _find_gone(old_cases, cases) if is_whole else [],
            "compared": len(ran_twice),
            "cost_usd": _sum_before_and_now(ran_twice, get_case_cost),
            "duration_s": _sum_before_and_now(ran_twice, lambda case: float(case["duration_s"])),
        }
    return {**suite, "cases": cases, "baseline": baseline}


def _pair_cases(old_cases: dict[str, Part], cases: Sequence[Part]) -> list[tuple[Part, Part]]:
    """Return the earlier and the present result of each case that ran both times."""
    pairs = []
    for case in cases:
        old = old_cases.get(case["name"])
        if old is not None and old["attempts"] and case["attempts"]:
            pairs.append((old, case))
    return pairs


def _find_gone(old_cases: dict[str, Part], cases: Sequence[Part]) -> list[str]:
    names = {case["name"] for case in cases}
    return [name for name in old_cases if name not in names]


def _compare_case(case: Part, old: Part | None) -> Part:
    compared: Part = {
        "change": "new",
        "fall": None,
        "status": None,
        "ran": False,
        "duration_s": None,
        "cost_usd": None,
    }
    if old is None:
        return compared
    compared["change"] = _classify_change(old["status"], case["status"])
    if compared["change"] == "same":
        compared |= _find_fall(old, case)
    compared["status"] = old["status"]
    if old["attempts"]:
        compared["ran"] = True
        compared["duration_s"] = old["duration_s"]
        compared["cost_usd"] = get_case_cost(old)
    return compared


def _find_fall(old: Part, case: Part) -> Part:
    """Return the change of a case with the same status, if its pass rate or score is lower."""
    falls = [*_compare_rates(old, case), *_compare_scores(old, case)]
    # One that chance explains says less, whatever it is of.
    falls.sort(key=lambda fall: fall["change"] != "fell")
    return falls[0] if falls else {}


def _compare_rates(old: Part, case: Part) -> Iterator[Part]:
    before = _get_rate(old)
    now = _get_rate(case)
    if before is None or now is None or now.share >= before.share:
        return
    yield {
        "change": "fell" if before.get_lead(now) > 0 else "lower",
        "fall": f"{before.passed}/{before.runs} before, {now.passed}/{now.runs} now",
    }


def _compare_scores(old: Part, case: Part) -> Iterator[Part]:
    before = _get_scores(old)
    now = _get_scores(case)
    if not before or not now or fmean(now) > fmean(before) - TOLERANCE:
        return
    # Scores that only say which runs passed were compared as pass rates.
    if len(before) + len(now) > 2 and set(before + now) <= {0, 1}:
        return
    yield {
        "change": "fell" if has_fallen(before, now) else "lower",
        "fall": f"score {fmean(before):.3f} before, {fmean(now):.3f} now",
    }


def _get_rate(case: Part) -> PassRate | None:
    """Return the pass rate of a case; None if it was not checked."""
    repeats = case.get("repeats")
    if repeats is not None:
        return PassRate(repeats["passed"], repeats["runs"])
    if case["status"] not in ("passed", "failed"):
        return None
    return PassRate(int(case["status"] == "passed"), 1)


def _get_scores(case: Part) -> list[float]:
    scores = [attempt.get("score") for attempt in case["attempts"]]
    return [score for score in scores if score is not None]


def _classify_change(before: str, now: str) -> str:
    if now == "failed" and before != "failed":
        return "broke"
    # Whether it still passes is not known.
    if now == "not checked" and before in ("passed", "failed"):
        return "unchecked"
    if now == "passed" and before == "failed":
        return "mended"
    return "same"


def _sum_before_and_now(
    pairs: Sequence[tuple[Part, Part]],
    get_amount: Callable[[Part], float | None],
) -> Part | None:
    """Return the sums over cases that ran both times, or None if an amount is unknown."""
    before = _sum_amounts([get_amount(old) for old, _ in pairs])
    now = _sum_amounts([get_amount(case) for _, case in pairs])
    if before is None or now is None:
        return None
    return {"before": before, "now": now}


def _sum_amounts(amounts: Sequence[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    if len(known) < len(amounts):
        return None
    # Rounded, because sums of floats have digits that no amount has.
    return round(sum(known), 10)
