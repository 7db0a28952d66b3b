"""How many tokens a call takes, where its reply does not say so: an estimate of what is really
sent."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llm_mock.core.request import Request

CHARACTERS_PER_TOKEN = 4
CHARACTERS_PER_ATTACHMENT = 765 * CHARACTERS_PER_TOKEN
"""For one that is no text: as many tokens as OpenAI counts for a picture of 1024 x 1024 pixels."""
TEXTS = ("text/", "application/json")


def estimate_tokens(characters: int) -> int:
    """A plausible, deterministic number of tokens for a text of that many characters; at least
    1."""
    return -(-characters // CHARACTERS_PER_TOKEN) or 1


def input_tokens(request: Request) -> int:
    """The tokens of all that is sent: the conversation with its tool calls and results,
    attachments, schema, tools."""
    characters = request.characters()
    if request.schema and not request.schema_is_a_tool:
        characters += length_of(request.schema)
    for tool in request.tools:
        characters += len(getattr(tool, "name", None) or "") + len(
            getattr(tool, "description", None) or ""
        )
        characters += length_of(getattr(tool, "input_schema", None))
    return estimate_tokens(characters)


def length_of(value: Any) -> int:
    """About how long a JSON value is as JSON; a text counts as it is. Nothing is serialised for
    it."""
    if isinstance(value, str):
        return len(value)
    return 0 if value is None else len(repr(value))


def length_of_call(call: Any) -> int:
    """How long a tool call is: its `name` and `arguments`."""
    return len(call.name or "") + length_of(call.arguments)


def length_of_attachments(attachments: Iterable[Any]) -> int:
    """How many characters attachments count for: those of a text, and for any other a fixed
    number."""
    return sum(map(_length_of_attachment, attachments))


def _length_of_attachment(attachment: Any) -> int:
    if (attachment.type or "").startswith(TEXTS):
        if attachment.content is not None:
            return len(attachment.content)
        if attachment.path and os.path.isfile(attachment.path):
            return os.path.getsize(attachment.path)
    return CHARACTERS_PER_ATTACHMENT
