"""The messages of a case: its system prompt, its history and its prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from llm_mock.checks.base import StrictModel

if TYPE_CHECKING:
    import llm

CHAT_FORM = (
    "the messages must be texts: optionally one system message, then user and assistant messages "
    "in turn, with a user message at the end"
)
"""The messages that a case can have, for error messages."""


class HistoryMessage(StrictModel):
    """A message before the prompt of a case."""

    role: Literal["user", "assistant"]
    content: str


class Chat(NamedTuple):
    """The messages to send to a model."""

    prompt: str
    system: str | None = None
    """The system prompt; None for the role's own."""
    history: tuple[HistoryMessage, ...] = ()


def parse_chat(messages: object) -> Chat | None:
    """Parse a list of messages with `role` and `content`; see `CHAT_FORM`.

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
    """Return the role and content of each message; empty if one is not a text message."""
    if not isinstance(messages, list):
        return []
    pairs = []
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("content"), str):
            return []
        pairs.append((message.get("role"), message["content"]))
    return pairs


def find_history_problem(roles: Sequence[object]) -> str | None:
    """Return the problem with the roles of a history, or None.

    A history has pairs of messages: the assistant has answered each message of the user.
    """
    expected = ["user", "assistant"] * (len(roles) // 2)
    if list(roles) == expected:
        return None
    return "the messages must alternate, beginning with the user and ending with the assistant"


def play_history(
    model: llm.Model, history: Sequence[HistoryMessage], system: str | None
) -> llm.Conversation:
    """Return an `llm` conversation that contains the messages of a history.

    Args:
        model: a model that replies with the messages of the assistant, in order.
        history: the messages.
        system: the system prompt of the conversation.
    """
    conversation = model.conversation()
    for message in history:
        if message.role == "user":
            conversation.prompt(message.content, system=system).text()
    return conversation
