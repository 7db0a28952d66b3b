"""Checks what came of a turn: makes of the output what is looked at, and evaluates the assertions."""

from __future__ import annotations

from dataclasses import replace

from llm_mock.suites.assertion_types.text_assertion import apply_transform
from llm_mock.suites.assertions import RunContext, evaluate_assertions
from llm_mock.suites.results import AssertionResult, TurnResult
from llm_mock.suites.schema import CaseTurn


def checked_turn(
    turn: CaseTurn, number: int, result: TurnResult, context: RunContext
) -> tuple[TurnResult, list[AssertionResult]]:
    """The result of a turn, the `number`th from 0, with what was made of its output, and of its assertions.

    Raises:
        TransformFailed: nothing could be made of the output.
    """
    if turn.transform is not None:
        result = replace(result, transformed=apply_transform(turn.transform, result.output, context))
    results = evaluate_assertions(turn.assertions, result.checked, context)
    return result, [replace(each, turn=number) for each in results]
