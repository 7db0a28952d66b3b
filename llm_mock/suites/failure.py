"""Explain a failed case: its place, prompts, calls, outputs and assertions.

Texts from models and tools cannot control a terminal or imitate other lines: they are indented, and
unprintable characters are escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from llm_mock.suites.matrix import format_case_name
from llm_mock.suites.results import AssertionResult, Attempt, CaseResult
from llm_mock.suites.scores import format_score
from llm_mock.support.text import format_count, indent_text, shorten_name

SIGNS = {True: "✓", False: "✗", None: "–"}  # noqa: RUF001 (as wide as the others)
MAX_PROMPT = 300
MAX_CALLS = 10
_INDENT = "    "


def format_failed_case(
    result: CaseResult,
    path: Path | None,
    signs: Mapping[bool | None, str] = SIGNS,
    variant: str = "",
    has_assertions: bool = True,
) -> str:
    """Return the explanation of a failed case, without secrets.

    Args:
        result: the result of the case.
        path: the file of the suite; None for a suite made in Python.
        signs: the signs for passed, failed and skipped assertions.
        variant: the name of the variant; empty without a matrix.
        has_assertions: whether to show the error or the assertions, and the reason in the first
            line; False if they are shown elsewhere.
    """
    lines = _make_lines(result, path, signs, variant, has_assertions)
    return "\n".join(lines)


def _make_lines(
    result: CaseResult,
    path: Path | None,
    signs: Mapping[bool | None, str],
    variant: str,
    has_assertions: bool,
) -> Iterator[str]:
    attempt = result.decisive_attempt
    # Assertions with weight 0 cannot fail a case.
    failed = [each for each in attempt.assertions if each.passed is False and each.assertion.weight]
    place = _format_place(result, path)
    case = shorten_name(result.case.name)
    name = format_case_name(case, shorten_name(variant))
    if has_assertions:
        reason = _get_reason(result, attempt, failed)
    else:
        reason = _get_score_reason(attempt)
    yield f"{place}{name}: {shorten_name(reason)}".removesuffix(": ")
    if len(result.attempts) > 1:
        runs = len(result.attempts)
        failures = sum(each.status == "failed" for each in result.attempts)
        yield f"  pass rate {result.rate}"
        yield f"  {failures} of {runs} runs failed; the first failed run:"
    for position in _find_turns(attempt, failed):
        yield from _format_turn(result, attempt, position)
    if has_assertions:
        yield from _format_outcomes(result, attempt, signs)


def _format_outcomes(
    result: CaseResult,
    attempt: Attempt,
    signs: Mapping[bool | None, str],
) -> Iterator[str]:
    """Yield lines with the error and the assertions of a run."""
    if attempt.error is not None:
        yield f"  {signs[False]} {indent_text(attempt.error, _INDENT)}"
    for assertion in attempt.assertions:
        text = indent_text(format_assertion(assertion, result), _INDENT)
        yield f"  {signs[assertion.passed]} {text}"


def _find_turns(attempt: Attempt, failed: Sequence[AssertionResult]) -> list[int]:
    """Return the positions of the turns that failed."""
    if attempt.error is not None:
        # An error ends the conversation, so it belongs to the last turn.
        last = len(attempt.turns) - 1
        return [max(0, last)]
    return sorted({each.turn for each in failed})


def _get_reason(
    result: CaseResult,
    attempt: Attempt,
    failed: Sequence[AssertionResult],
) -> str:
    """Return the error, or else the score that is too low and the first failed assertion."""
    if attempt.error is not None:
        return attempt.error
    score = _get_score_reason(attempt)
    reasons = [score] if score else []
    if failed:
        reasons.append(format_assertion(failed[0], result))
    return ": ".join(reasons)


def _get_score_reason(attempt: Attempt) -> str:
    """Return the score if it is too low, as text; otherwise an empty text."""
    if attempt.error is not None or not attempt.misses_score:
        return ""
    return format_score(attempt.score, attempt.min_score)


def _format_place(result: CaseResult, path: Path | None) -> str:
    # As `path:line: `, which editors and terminals turn into a link.
    if path is None:
        return ""
    return f"{path}:{result.case.line}: "


def format_assertion(assertion: AssertionResult, result: CaseResult) -> str:
    """Return the message of an assertion, with its turn in a conversation and its weight."""
    turn = ""
    if result.case.has_turns:
        turn = f"turn {assertion.turn + 1}: "
    weight = format_weight(assertion.assertion.weight)
    return f"{turn}{assertion.message}{weight}"


def format_weight(weight: float) -> str:
    """Return the text after the message of an assertion with this weight; empty for 1."""
    if weight == 1:
        return ""
    if not weight:
        return " (weight 0: only measured)"
    return f" (weight {weight:g})"


def _format_turn(result: CaseResult, attempt: Attempt, position: int) -> Iterator[str]:
    """Yield lines with the prompt, the calls and the output of a turn."""
    number = f" {position + 1}" if result.case.has_turns else ""
    prompt = _get_prompt(result, attempt, position)
    yield f"  prompt{number}: {shorten_name(prompt, MAX_PROMPT)}"
    if position >= len(attempt.turns):
        # The run failed before its first turn.
        return
    turn = attempt.turns[position]
    for call in turn.tool_calls[:MAX_CALLS]:
        yield f"  called: {call}"
    for model_call in turn.model_calls[:MAX_CALLS]:
        text = indent_text(model_call.line, _INDENT)
        yield f"  asked: {text}"
    if turn.output or attempt.error is None:
        yield _format_output(f"output{number}", turn.output)
    if turn.transformed is not None:
        yield _format_output(f"checked{number}", turn.transformed)


def _get_prompt(result: CaseResult, attempt: Attempt, position: int) -> str:
    if position < len(attempt.turns):
        return attempt.turns[position].prompt
    # The turn did not run, so a simulated user has not written a prompt.
    all_turns = result.case.all_turns
    return (all_turns[position].prompt or "") if position < len(all_turns) else ""


def _format_output(label: str, output: str) -> str:
    text = indent_text(output or "(nothing)", _INDENT)
    return f"  {label}: {text}"


def format_cassette_usage(replayed: int, recorded: int, without: int) -> str:
    """Return a line about the cassettes of a suite.

    Args:
        replayed: the number of replayed calls.
        recorded: the number of recorded calls.
        without: the number of runs without such calls.
    """
    text = f"Cassettes: {format_count(replayed, 'call')} replayed, {recorded:,} recorded"
    if without:
        text += f"; {format_count(without, 'run')} made no call that could be recorded"
    return text
