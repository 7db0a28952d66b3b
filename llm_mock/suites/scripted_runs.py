"""Select the scripted replies of one run by variant, model and run number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llm_mock.checks.base import ScriptedFact
from llm_mock.core.model_names import ANY_MODEL, is_glob
from llm_mock.suites.schema import CaseTurn, TestCase
from llm_mock.suites.suite_replies import SuiteReply


def select_replies(
    case: TestCase, run: int, variant: Mapping[str, str], model: str | None
) -> TestCase:
    """Return a case with the replies of one run; return a case without replies unchanged.

    Args:
        case: the case.
        run: the number of the run, from 1.
        variant: the names of the variant's entries by axis; empty without a matrix.
        model: the id of the model under test; None if an application calls its own models.
    """
    all_replies = [*case.replies]
    for turn in case.turns:
        all_replies += turn.replies
    if not all_replies:
        return case

    def select(turn: CaseTurn) -> tuple[SuiteReply, ...]:
        fitting = [reply for reply in turn.replies if reply.is_for(variant, run, model)]
        return _keep_most_specific(fitting, model)

    turns = [turn.model_copy(update={"replies": select(turn)}) for turn in case.turns]
    selected = case.model_copy(update={"replies": select(case), "turns": tuple(turns)})
    scripts_tools = any(reply.has_tool_call for reply in all_replies)
    selected.__dict__.update(is_scripted=True, scripts_tools=scripts_tools)
    return selected


def _keep_most_specific(replies: Sequence[SuiteReply], model: str | None) -> tuple[SuiteReply, ...]:
    """Drop each reply if a more specific reply to the same calls exists."""
    highest: dict[object, tuple[int, int]] = {}
    for reply in replies:
        calls = _describe_calls(reply, model)
        rank = _rank(reply, model)
        highest[calls] = max(rank, highest.get(calls, rank))
    return tuple(
        reply for reply in replies if _rank(reply, model) == highest[_describe_calls(reply, model)]
    )


def _rank(reply: SuiteReply, model: str | None) -> tuple[int, int]:
    """Return how specific a reply is: by variant and run, then by model."""
    scopes = bool(reply.variant) + bool(reply.run)
    if model is None or reply.model == ANY_MODEL:
        return scopes, 0
    return scopes, 1 if is_glob(reply.model) else 2


def _describe_calls(reply: SuiteReply, model: str | None) -> tuple[object, ...]:
    """Return a key that is equal for replies to the same calls."""
    # A single model does not distinguish calls. Neither does a tool result: the reply to it
    # belongs to the reply that called the tool.
    name = reply.model if model is None else model
    return (name, reply.schema_name, reply.prompt, reply.system)


def list_scripted_facts(case: TestCase, turn: CaseTurn) -> tuple[ScriptedFact, ...]:
    """Return the facts that the replies of a run state about a turn.

    A case without a scripted tool call states nothing about the tools that a model would call.
    """
    if not case.is_scripted:
        return ()
    facts: list[ScriptedFact] = []
    if case.scripts_tools:
        facts += ["tools", "steps"]
    # A reply that fails uses no tokens.
    successful = [reply for reply in turn.replies if reply.error is None]
    if successful and all(reply.usage is not None for reply in successful):
        facts.append("usage")
    return tuple(facts)
