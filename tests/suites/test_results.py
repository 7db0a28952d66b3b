"""Sums and verdicts of results: of an attempt, of a case, of a suite."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from llm_mock.suites import AssertionResult, Attempt, CaseResult, SuiteResult, TurnResult
from tests.suites.cases import case

CASE = case(assertions=[{"type": "contains", "value": "a"}])
(CHECK,) = CASE.assertions
HEAVY = CHECK.model_copy(update={"weight": 3.0, "metric": "tone"})
UNWEIGHTED = CHECK.model_copy(update={"weight": 0.0})


def attempt(*passed: bool | None, **fields: Any) -> Attempt:
    """Return an attempt with assertions that had these outcomes."""
    results = tuple(AssertionResult(CHECK, each, "") for each in passed)
    return Attempt(fields.pop("turns", ()), results, **fields)


def suite_result(*cases: CaseResult, **fields: Any) -> SuiteResult:
    return SuiteResult("s", "a", fields.pop("model", "m"), cases, **fields)


FIRST = attempt(
    turns=(
        TurnResult("p", "one", input_tokens=1, output_tokens=2, cost=Decimal(4)),
        TurnResult("p", "two", input_tokens=8, output_tokens=16, cost=Decimal(32)),
    ),
    duration=1.5,
    recorded=3,
    replayed=5,
    judge_tokens=64,
    judge_cost=Decimal(128),
)
REPLAYED = attempt(
    turns=(TurnResult("p", "three", cost=Decimal(256)),),
    duration=2.0,
    replayed=7,
)


def test_an_attempt_adds_up_its_turns_and_its_judges() -> None:
    assert (FIRST.tokens, FIRST.cost, FIRST.spent) == (91, 164, 164)
    assert FIRST.output == "two"
    assert (REPLAYED.cost, REPLAYED.spent) == (256, 0)
    assert attempt().output == ""
    assert (attempt().cost, attempt().spent, attempt().tokens) == (0, 0, 0)


def test_a_case_and_a_suite_add_up_attempts_and_those_that_were_retried() -> None:
    one = CaseResult(CASE, (FIRST, REPLAYED), 1.0, 1, Decimal(512), 1024)
    other = CaseResult(CASE, (attempt(),))
    assert (one.cost, one.spent, one.tokens, one.duration) == (932, 676, 1115, 3.5)
    both = suite_result(one, other, not_run=(CASE,))
    assert (both.cost, both.total, both.calls) == (932, 3, (12, 3, 1))


def test_an_unknown_cost_makes_every_sum_unknown() -> None:
    unknown = attempt(turns=(TurnResult("p", "o", cost=None),))
    assert (unknown.cost, CaseResult(CASE, (FIRST, unknown)).cost) == (None, None)
    assert CaseResult(CASE, (FIRST,), retried_cost=None).cost is None
    assert suite_result(CaseResult(CASE, (FIRST,), retried_cost=None)).cost is None
    assert attempt(judge_cost=None).cost is None


@pytest.mark.parametrize(
    ("found", "status", "score"),
    [
        (attempt(), "passed", 1.0),
        (attempt(error="no"), "failed", 0.0),
        (attempt(True, error="no"), "failed", 0.0),
        (attempt(True, True), "passed", 1.0),
        (attempt(True, False), "failed", 0.5),
        (attempt(None, None), "not checked", None),
        (attempt(None, True), "passed", 1.0),
        (attempt(None, False), "failed", 0.0),
        (attempt(True, False, min_score=0.5), "passed", 0.5),
        (attempt(True, False, min_score=0.6), "failed", 0.5),
        (attempt(None, min_score=0.5), "not checked", None),
    ],
)
def test_the_status_and_the_score_of_an_attempt_come_from_its_assertions(
    found: Attempt, status: str, score: float | None
) -> None:
    assert (found.status, found.score) == (status, score)


def test_an_assertion_counts_by_its_weight() -> None:
    results = (
        AssertionResult(HEAVY, True, ""),
        AssertionResult(CHECK, False, ""),
        AssertionResult(UNWEIGHTED, False, ""),
    )
    assert Attempt((), results).score == 0.75
    assert Attempt((), results[::2]).status == "passed"
    assert Attempt((), results[2:]).score is None


def test_the_first_failed_attempt_explains_a_case() -> None:
    failed, later = attempt(False, error="first"), attempt(error="second")
    result = CaseResult(CASE, (attempt(True), failed, later, attempt(True)), 0.5)
    assert result.decisive_attempt is failed
    assert (result.error, result.pass_rate, result.status) == ("first", 0.5, "passed")
    passed = CaseResult(CASE, (attempt(True), attempt(True, None)))
    assert (passed.decisive_attempt, passed.checks) == (passed.attempts[-1], (1, 2))


@pytest.mark.parametrize(
    ("results", "fields", "facts"),
    [
        ([attempt(True), attempt(True)], {}, (True, True, True)),
        ([attempt(True), attempt(None)], {}, (True, True, False)),
        ([attempt(None)], {}, (True, False, False)),
        ([attempt(False), attempt(True)], {}, (False, True, False)),
        ([attempt(False), attempt(True)], {"min_score": 0.5}, (True, True, True)),
        ([attempt(False), attempt(True)], {"min_score": 0.6}, (False, True, False)),
        ([attempt(None)], {"min_score": 0.5}, (True, False, False)),
        ([attempt(True)], {"not_run": (CASE,)}, (False, True, False)),
    ],
)
def test_a_suite_succeeds_if_all_cases_ran_and_none_failed_or_the_score_is_reached(
    results: list[Attempt], fields: dict[str, Any], facts: tuple[bool, bool, bool]
) -> None:
    cases = [CaseResult(CASE, (each,)) for each in results]
    found = suite_result(*cases, **fields)
    assert (found.succeeded, found.is_checked, found.all_passed) == facts


def test_a_suite_has_averages_of_metrics_and_counts_who_judged_itself() -> None:
    judged = AssertionResult(HEAVY, True, "", judge="m")
    missed = AssertionResult(HEAVY, False, "", judge="other")
    skipped = AssertionResult(HEAVY.model_copy(update={"metric": "wit"}), None, "")
    cases = CaseResult(CASE, (Attempt((), (judged, missed)), Attempt((), (judged, skipped))))
    found = suite_result(cases)
    assert found.metrics == {"tone": pytest.approx(2 / 3)}
    assert found.judged_itself == 2
    assert suite_result(cases, model=None).judged_itself == 0
    assert found.is_scored


@pytest.mark.parametrize(
    ("results", "is_scored"),
    [
        ([AssertionResult(CHECK, True, "")], False),
        ([AssertionResult(CHECK, None, "")], False),
        ([AssertionResult(UNWEIGHTED, True, "")], True),
        ([AssertionResult(CHECK.model_copy(update={"metric": "tone"}), True, "")], True),
    ],
)
def test_a_score_is_shown_where_it_says_more_than_the_assertions(
    results: list[AssertionResult], is_scored: bool
) -> None:
    result = CaseResult(CASE, (Attempt((), tuple(results)),))
    assert result.is_scored is is_scored
    assert suite_result(result).is_scored is is_scored
    assert suite_result(result, min_score=0.5).is_scored
    scored = CaseResult(case(min_score=0.5), result.attempts)
    assert scored.is_scored


def test_two_results_are_equal_though_they_took_other_times() -> None:
    turn = TurnResult("p", "o")
    assert turn == TurnResult("p", "o", duration=1.5)
    assert turn != TurnResult("p", "o", requests=1)
    assert attempt(True) == attempt(True, duration=1.5)
    assert attempt(True) != attempt(True, recorded=1)
    assert suite_result() == suite_result(duration=1.5)
    assert suite_result() != suite_result(cassette="once")
    assert (turn.duration, attempt().duration, suite_result().duration) == (0.0, 0.0, 0.0)
