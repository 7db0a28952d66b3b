"""Checks of a suite that depend on whether it has a target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llm_mock.suites.reply_checks import ReplyChecks
from llm_mock.suites.schema import CaseTurn, Target, TestCase, TestSuiteDefinition
from llm_mock.support.text import shorten_name

Place = tuple[str | int, ...]
"""The keys and positions that lead to a part of a suite file."""
Problem = tuple[Place, str]
"""A place, and the message about it."""


def find_target_problems(suite: TestSuiteDefinition) -> Iterator[Problem]:
    """Yield the problems with replies, and with messages that a target does not receive."""
    targets = _get_targets(suite)
    checks = ReplyChecks(suite, targets)
    for position, case in enumerate(suite.cases):
        case_place: Place = ("cases", position)
        turns: list[tuple[Place, CaseTurn]] = [(case_place, case)]
        for number, turn in enumerate(case.turns):
            turns.append(((*case_place, "turns", number), turn))
        problems: list[Problem] = []
        for place, turn in turns:
            for location, message in checks.find_problems(case, turn):
                problems.append(((*place, *location), message))
        if case.turns and case.replies:
            message = "add 'replies' to the turns, not to the case"
            problems.append(((*case_place, "replies"), message))
        if targets:
            problems += _find_chat_problems(case, case_place)
        for place, message in problems:
            yield place, f"case {shorten_name(case.name)!r}: {message}"


def _get_targets(suite: TestSuiteDefinition) -> Sequence[Target]:
    """Return the targets of a suite or of its matrix; empty if it tests agents."""
    if suite.matrix:
        return suite.matrix.targets
    return (suite.target,) if suite.target else ()


def _find_chat_problems(case: TestCase, place: Place) -> Iterator[Problem]:
    for key in ("system", "history"):
        if getattr(case, key) not in (None, ()):
            problem = "a target receives no system prompt and no scripted history"
            yield (*place, key), f"{key!r} needs a role: {problem}"
