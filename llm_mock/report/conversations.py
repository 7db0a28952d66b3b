"""Which calls of a test belong to one conversation.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any


def find_conversations(calls: list[dict[str, Any]]) -> None:
    """Find the conversations: by their ids, and where a call goes on from the messages of an earlier one.

    Args:
        calls: the calls of the document. Their `conversation`, `messages` and `earlier_messages` are changed.
    """
    sent: dict[str, dict[str, Any]] = {}
    for call in calls:
        messages = call["messages"]
        hashes = list(_running_hashes(messages))
        earlier, cut = _continued(messages, hashes, sent)
        if earlier is not None:
            earlier["conversation"] = earlier["conversation"] or f"call {earlier['number']}"
            call["conversation"] = earlier["conversation"]
            call["messages"] = messages[cut:]
            call["earlier_messages"] = cut
        if hashes:
            sent[hashes[-1]] = call
    members = Counter(call["conversation"] for call in calls)
    for call in calls:
        if members[call["conversation"]] == 1:
            call["conversation"] = None


def _continued(
    messages: list[dict[str, Any]], hashes: list[str], sent: dict[str, dict[str, Any]]
) -> tuple[dict[str, Any] | None, int]:
    """The earlier call whose messages these begin with, and how many of these it was sent or answered."""
    for position in range(len(messages) - 1, 0, -1):
        earlier = sent.get(hashes[position - 1])
        if earlier is not None and messages[position]["role"] == "assistant":
            return earlier, position + int(_says(messages[position], earlier["response"]))
    return None, 0


def _says(message: dict[str, Any], response: dict[str, Any] | None) -> bool:
    """Whether a message is what a call answered, and not an edited version of it."""
    text = "".join(part["text"] for part in message["parts"] if part["type"] == "text")
    names = [part["name"] for part in message["parts"] if part["type"] == "tool_call"]
    answer = response or {}
    return text == answer.get("text", "") and names == [call["name"] for call in answer.get("tool_calls", ())]


def _running_hashes(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Of each message: a hash of all messages up to it."""
    running = hashlib.sha256()
    for message in messages:
        running.update(json.dumps(message, sort_keys=True, default=repr).encode())
        yield running.hexdigest()
