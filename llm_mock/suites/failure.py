"""Why a case failed, for people: where it stands, what was asked, called and answered, and each assertion.

Nothing that a model or a tool said acts on a terminal, or can pass for something else: its lines are indented, and what
is not printable is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from llm_mock.suites.matrix import format_case_name
from llm_mock.suites.results import AssertionResult, Attempt, CaseResult
from llm_mock.suites.scores import score_text
from llm_mock.support.text import count, indented, shorten_name

SIGNS = {True: "✓", False: "✗", None: "–"}  # noqa: RUF001 (as wide as the others)
SHOWN_PROMPT = 300
SHOWN_CALLS = 10


def failed_case(
    result: CaseResult, path: Path | None, signs: Mapping[bool | None, str] = SIGNS, variant: str = ""
) -> str:
    """The whole of it, without secrets; the path is that of the suite, None for one made in Python."""
    return "\n".join(_lines(result, path, signs, variant))


def _lines(result: CaseResult, path: Path | None, signs: Mapping[bool | None, str], variant: str) -> Iterator[str]:
    attempt = result.shown
    failed = [each for each in attempt.assertions if each.passed is False and each.assertion.weight]
    reasons = [said(each, result) for each in failed[:1]]
    if attempt.misses_score:
        reasons.insert(0, score_text(attempt.score, attempt.min_score))
    problem = attempt.error if attempt.error is not None else ": ".join(reasons)
    place = "" if path is None else f"{path}:{result.case.line}: " if result.case.line else f"{path}: "
    yield f"{place}{format_case_name(shorten_name(result.case.name), shorten_name(variant))}: {shorten_name(problem)}"
    if len(result.attempts) > 1:
        number = sum(each.status == "failed" for each in result.attempts)
        yield f"  pass rate {result.rate}"
        yield f"  {number} of {len(result.attempts)} runs failed; the first of them:"
    wrong = sorted({each.turn for each in failed}) if attempt.error is None else [max(0, len(attempt.turns) - 1)]
    for position in wrong:
        yield from _turn(result, attempt, position)
    if attempt.error is not None:
        yield f"  {signs[False]} {indented(attempt.error, '    ')}"
    for assertion in attempt.assertions:
        yield f"  {signs[assertion.passed]} {indented(said(assertion, result), '    ')}"


def said(assertion: AssertionResult, result: CaseResult) -> str:
    """What came of an assertion, and in a conversation of which turn."""
    turn = f"turn {assertion.turn + 1}: " if len(result.case.all_turns) > 1 else ""
    return f"{turn}{assertion.message}{weight_text(assertion.assertion.weight)}"


def weight_text(weight: float) -> str:
    """How the message of an assertion goes on where it does not count as much as the others."""
    return "" if weight == 1 else f" (weight {weight:g})" if weight else " (weight 0: only measured)"


def _turn(result: CaseResult, attempt: Attempt, position: int) -> Iterator[str]:
    turns = result.case.all_turns
    number = f" {position + 1}" if len(turns) > 1 else ""
    yield f"  prompt{number}: {shorten_name(turns[position].prompt or '', SHOWN_PROMPT)}"
    if position >= len(attempt.turns):
        return
    turn = attempt.turns[position]
    for call in turn.tool_calls[:SHOWN_CALLS]:
        yield f"  called: {call}"
    for line in turn.asked[:SHOWN_CALLS]:
        yield f"  asked: {indented(line, '    ')}"
    if turn.output or attempt.error is None:
        yield f"  output{number}: {indented(turn.output or '(nothing)', '    ')}"
    if turn.transformed is not None:
        yield f"  checked{number}: {indented(turn.transformed or '(nothing)', '    ')}"


def cassette_text(replayed: int, recorded: int, without: int) -> str:
    """How many calls were answered by cassettes, how many were made and recorded, and how many runs made none."""
    none = f"; {count(without, 'run')} asked no model that could be recorded" if without else ""
    return f"Cassettes: {count(replayed, 'call')} replayed, {recorded:,} recorded{none}"
