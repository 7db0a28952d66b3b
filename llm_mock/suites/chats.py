"""The chat before the prompt of a case: its system prompt and earlier messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from llm_mock.checks.base import StrictModel

if TYPE_CHECKING:
    import llm


class HistoryMessage(StrictModel):
    """A message before the prompt of a case."""

    role: Literal["user", "assistant"]
    content: str


def find_history_problem(roles: Sequence[object]) -> str | None:
    """Return the problem of the roles of a history, or None.

    A model is given pairs of messages: each of the user's was answered.
    """
    expected = ["user", "assistant"] * (len(roles) // 2)
    if list(roles) == expected:
        return None
    return "the messages must be of the user and of the assistant in turn, before the prompt"


def play_history(
    model: llm.Model, history: Sequence[HistoryMessage], system: str | None
) -> llm.Conversation:
    """Return an `llm` conversation in which the messages of a history were said.

    Args:
        model: a model that answers with the messages of the assistant, in order.
        history: the messages.
        system: the system prompt of the conversation.
    """
    conversation = model.conversation()
    for message in history:
        if message.role == "user":
            conversation.prompt(message.content, system=system).text()
    return conversation
