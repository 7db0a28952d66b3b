"""Check of the result of a turn: the transform is applied, the assertions are evaluated."""

from __future__ import annotations

from dataclasses import replace

from llm_mock.suites.assertion_types.text_assertion import apply_transform
from llm_mock.suites.assertions import RunContext, evaluate_assertions
from llm_mock.suites.results import AssertionResult, TurnResult
from llm_mock.suites.schema import CaseTurn


def check_turn(
    turn: CaseTurn,
    number: int,
    result: TurnResult,
    context: RunContext,
) -> tuple[TurnResult, list[AssertionResult]]:
    """Return the result of a turn with its output transformed, and those of its assertions.

    Args:
        turn: the turn.
        number: its position in the conversation, from 0.
        result: its result so far.
        context: the facts for the assertions.

    Raises:
        TransformFailed: the transform of the turn failed.
    """
    if turn.transform is not None:
        # The output itself is kept, as reports show both.
        text = apply_transform(turn.transform, result.output, context)
        result = replace(result, transformed=text)
    results = evaluate_assertions(turn.assertions, result.checked_output, context)
    return result, [replace(each, turn=number) for each in results]
