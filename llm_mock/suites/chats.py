"""The messages of a case: its system prompt, its history and its prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from llm_mock.checks.base import StrictModel

if TYPE_CHECKING:
    import llm

CHAT_FORM = (
    "it must be texts, one of the system if at all, then of the user and of the assistant in "
    "turn, the last one of the user"
)
"""The form of messages that a case can have."""


class HistoryMessage(StrictModel):
    """A message before the prompt of a case."""

    role: Literal["user", "assistant"]
    content: str


class Chat(NamedTuple):
    """The messages that a model is sent."""

    prompt: str
    system: str | None = None
    """The system prompt; None for that of the role."""
    history: tuple[HistoryMessage, ...] = ()


def parse_chat(messages: object) -> Chat | None:
    """Return the chat of a list of messages with `role` and `content`; see `CHAT_FORM`.

    Returns:
        The chat; None for other data.
    """
    pairs = _get_pairs(messages)
    system = None
    if pairs and pairs[0][0] in ("system", "developer"):
        system = pairs.pop(0)[1]
    roles = [role for role, _ in pairs]
    if roles[-1:] != ["user"] or find_history_problem(roles[:-1]) is not None:
        return None
    history = [
        HistoryMessage.model_validate({"role": role, "content": content})
        for role, content in pairs[:-1]
    ]
    return Chat(pairs[-1][1], system, tuple(history))


def _get_pairs(messages: object) -> list[tuple[object, str]]:
    """Return role and content of each message; empty if these are not messages of text."""
    if not isinstance(messages, list):
        return []
    pairs = []
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("content"), str):
            return []
        pairs.append((message.get("role"), message["content"]))
    return pairs


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
