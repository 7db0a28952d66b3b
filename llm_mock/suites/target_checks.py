"""Checks of a suite that depend on whether it has a target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llm_mock.behaviour.scripted_replies import build_reply
from llm_mock.errors import LLMMockError
from llm_mock.suites.schema import CaseTurn, Defaults, Target, TestSuiteDefinition
from llm_mock.support.text import shorten_name

Place = tuple[str | int, ...]
"""The keys and positions that lead to a part of a suite file."""
Problem = tuple[Place, str]
"""A place, and the message about it."""
AGENT_ASSERTIONS = ("tool_calls", "not_tool_calls", "max_tokens", "max_cost")
"""Assertions about the run of an agent; the calls and tokens of a target are not known."""


def find_target_problems(suite: TestSuiteDefinition) -> Iterator[Problem]:
    """Yield assertions that a target cannot fulfil, and replies that cannot be given."""
    targets = _get_targets(suite)
    yield from _find_agent_assertions(targets, ("defaults",), suite.defaults)
    for position, case in enumerate(suite.cases):
        case_place: Place = ("cases", position)
        turns: list[tuple[Place, CaseTurn]] = [(case_place, case)]
        for number, turn in enumerate(case.turns):
            turns.append(((*case_place, "turns", number), turn))
        problems: list[Problem] = []
        for place, turn in turns:
            problems += _find_reply_problems(targets, place, turn)
            problems += _find_agent_assertions(targets, place, turn)
        if case.turns and case.replies:
            message = "'replies' belongs to each of the turns where there are 'turns'"
            problems.append(((*case_place, "replies"), message))
        for place, message in problems:
            yield place, f"case {shorten_name(case.name)!r}: {message}"


def _get_targets(suite: TestSuiteDefinition) -> Sequence[Target]:
    """Return the targets of a suite or of its matrix; none if agents answer."""
    if suite.matrix:
        return suite.matrix.targets
    return (suite.target,) if suite.target else ()


def _find_reply_problems(
    targets: Sequence[Target],
    place: Place,
    turn: CaseTurn,
) -> Iterator[Problem]:
    if not turn.replies:
        return
    replies_place = (*place, "replies")
    if not targets:
        advice = "the model of a role answers 'expected_output'"
        yield replies_place, f"replies are for the models of a 'target'; {advice}"
    elif any(target.url is not None for target in targets):
        # The application was started before the suite, with an environment of its own.
        message = (
            "replies cannot be handed to an application that runs elsewhere: start it with the "
            "environment that `llm-mock serve` needs, write them into its script, "
            "and leave them out here"
        )
        yield replies_place, message
    if turn.expected_output is not None or turn.expected_output_file is not None:
        reason = "both say what the models answer"
        yield replies_place, f"'replies' and 'expected_output' exclude each other: {reason}"
    for number, scripted in enumerate(turn.replies):
        try:
            build_reply(scripted)
        except LLMMockError as error:
            yield (*replies_place, number), f"reply {number + 1}: {error}"


def _find_agent_assertions(
    targets: Sequence[Target],
    place: Place,
    owner: CaseTurn | Defaults,
) -> Iterator[Problem]:
    if not targets:
        return
    # A turn of a conversation has no `each_turn`; cases and defaults do.
    for key in ("assertions", "each_turn"):
        for number, assertion in enumerate(getattr(owner, key, ())):
            if assertion.type in AGENT_ASSERTIONS:
                message = (
                    f"{assertion.type} is about what the agent of a role does: "
                    "the calls and tokens of a 'target' are not known"
                )
                yield (*place, key, number), message
