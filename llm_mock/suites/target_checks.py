"""What is wrong with the target of a suite, and with the replies of its cases, beyond what its format says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from llm_mock.behaviour.scripted_replies import reply_of
from llm_mock.errors import LLMMockError
from llm_mock.suites.schema import CaseTurn, Target, TestSuiteDefinition
from llm_mock.support.text import shorten_name

OF_AGENTS = ("tool_calls", "not_tool_calls", "max_tokens", "max_cost")
"""The assertions about what only the agent of a role tells."""


def problems_with_target(suite: TestSuiteDefinition) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What is wrong with a suite that has a target, or replies without one: where it stands, and what."""
    defaults, targets = ("defaults",), _targets(suite)
    yield from _foreign_assertions(targets, defaults, suite.defaults)
    for position, case in enumerate(suite.cases):
        name = f"case {shorten_name(case.name)!r}"
        places: list[tuple[tuple[str | int, ...], CaseTurn]] = [(("cases", position), case)]
        places += [(("cases", position, "turns", number), turn) for number, turn in enumerate(case.turns)]
        for where, turn in places:
            for place, text in [
                *_bad_replies(targets, where, turn),
                *_foreign_assertions(targets, where, turn),
            ]:
                yield place, f"{name}: {text}"
        if case.turns and case.replies:
            yield (
                ("cases", position, "replies"),
                f"{name}: 'replies' belongs to each of the turns where there are 'turns'",
            )


def _targets(suite: TestSuiteDefinition) -> Sequence[Target]:
    """The target, or those that stand side by side; empty where the agents of roles answer."""
    return suite.matrix.targets if suite.matrix else (suite.target,) if suite.target else ()


def _bad_replies(targets: Sequence[Target], where: tuple[str | int, ...], turn: CaseTurn) -> Iterator[Any]:
    if not turn.replies:
        return
    here = (*where, "replies")
    if not targets:
        yield here, "replies are for the models of a 'target'; the model of a role answers 'expected_output'"
    elif any(target.url is not None for target in targets):
        yield (
            here,
            "replies cannot be handed to an application that runs elsewhere: start it with the environment that "
            "`llm-mock serve` needs, write them into the script of that, and leave them out here",
        )
    if turn.expected_output is not None or turn.expected_output_file is not None:
        yield here, "'replies' and 'expected_output' exclude each other: both say what the models answer"
    for number, scripted in enumerate(turn.replies):
        try:
            reply_of(scripted)
        except LLMMockError as error:
            yield (*here, number), f"reply {number + 1}: {error}"


def _foreign_assertions(targets: Sequence[Target], where: tuple[str | int, ...], owner: Any) -> Iterator[Any]:
    """The assertions of a turn, a case or the defaults that only the agent of a role could fulfil."""
    given = [(key, number) for key in ("assertions", "each_turn") for number in range(len(getattr(owner, key, ())))]
    for key, number in given if targets else ():
        kind = getattr(owner, key)[number].type
        if kind in OF_AGENTS:
            text = "is about what the agent of a role does: what a 'target' calls and takes is not seen"
            yield (*where, key, number), f"{kind} {text}"
