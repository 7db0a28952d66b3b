"""Lists of replies in YAML or JSON, for `llm-mock serve`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pydantic

from llm_mock.behaviour.scripted_replies import ScriptedReply, build_matchers, build_reply
from llm_mock.core.configurator import ResponseConfigurator
from llm_mock.core.matchers import Matchers
from llm_mock.core.reply import Reply
from llm_mock.core.script import UNLIMITED
from llm_mock.errors import LLMMockError


class ReplyList(pydantic.BaseModel):
    """A list of replies; the first one that fits a call answers it."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    replies: tuple[ScriptedReply, ...]


class UnusableReply(LLMMockError):
    """A reply in a list that is empty, contradicts itself or is never used.

    Args:
        position: its position in the list, from 0.
        problem: the problem.
    """

    def __init__(self, position: int, problem: str) -> None:
        super().__init__(problem)
        self.position = position


def configure_replies(
    responses: ResponseConfigurator,
    script: ReplyList,
    describe: Callable[[int], str],
) -> None:
    """Configure all replies of a list, or none if one of them is unusable.

    Args:
        responses: the configurator of a mock.
        script: the list.
        describe: returns a short description of the reply at a position, for messages.

    Raises:
        UnusableReply: a reply cannot be used.
    """
    replies = _build_replies(script, describe)
    unconditional = []
    for scripted, reply in zip(script.replies, replies, strict=True):
        if not scripted.is_conditional:
            unconditional.append((scripted, reply))
            continue
        matchers = build_matchers(scripted)
        if scripted.times is None:
            # Without `times`, the reply may answer any number of calls, including none.
            responses.add(scripted.model, reply, times=UNLIMITED, optional=True, **matchers)
        else:
            responses.add(
                scripted.model,
                reply,
                times=scripted.times,
                optional=scripted.optional,
                **matchers,
            )
    # Reversed: if two globs match, the one that is set last answers.
    for scripted, reply in reversed(unconditional):
        responses.set(scripted.model, reply, schema=scripted.schema_name)


def _build_replies(script: ReplyList, describe: Callable[[int], str]) -> list[Reply]:
    """Return the replies of a list.

    Raises:
        UnusableReply: a reply cannot be used.
    """
    replies = []
    # The positions of replies without a condition, by model and schema.
    unconditional: dict[tuple[Any, ...], int] = {}
    for position, scripted in enumerate(script.replies):
        try:
            reply = build_reply(scripted)
            # Checked before anything is configured, because a condition may match every call.
            _check_conditions(scripted)
        except LLMMockError as error:
            raise UnusableReply(position, str(error)) from None
        replies.append(reply)
        if scripted.is_conditional:
            continue
        key = scripted.model, scripted.schema_name
        earlier = unconditional.setdefault(key, position)
        if earlier != position:
            raise UnusableReply(
                position,
                f"is never used, because {describe(earlier)} answers the same calls. Set prompt, "
                "system, tool_result or times for one of them.",
            )
    return replies


def _check_conditions(scripted: ScriptedReply) -> None:
    """Raise an InvalidReply if the conditions of a reply match every call or no call."""
    conditions = build_matchers(scripted)
    del conditions["schema"]
    Matchers(**conditions)
