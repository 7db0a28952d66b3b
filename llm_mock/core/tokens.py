"""Estimates of tokens, for replies without scripted usage."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llm_mock.core.request import Request
    from llm_mock.core.value_types import AttachmentLike, ToolCallLike

CHARACTERS_PER_TOKEN = 4
CHARACTERS_PER_ATTACHMENT = 765 * CHARACTERS_PER_TOKEN
"""The length of an attachment that is not text, in characters. GPT-4o counts the same number of
tokens for a picture of 1024 x 1024 pixels at high detail."""
TEXTS = ("text/", "application/json")
CACHED_INPUT = (
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "cacheWriteInputTokens",
    "cacheReadInputTokens",
)
"""The token counts that Anthropic and Bedrock do not include in their input tokens."""
CACHE_COUNTING_APIS = (None, "messages", "converse", "invoke_model")
"""The APIs with these counts; None for a call through `llm`."""


def estimate_tokens(characters: int) -> int:
    """Return the number of tokens, at least 1, for a number of characters."""
    # `//` rounds down, so the double negation rounds up.
    return -(-characters // CHARACTERS_PER_TOKEN) or 1


def count_input_tokens(request: Request) -> int:
    """Return the tokens of a request: conversation, attachments, schema and tools."""
    characters = request.characters()
    if not request.schema and not request.tools:
        return -(-characters // CHARACTERS_PER_TOKEN) or 1
    # A schema that is a tool is counted with the tools.
    if request.schema and not request.schema_is_a_tool:
        characters += measure_length(request.schema)
    for tool in request.tools:
        characters += len(getattr(tool, "name", None) or "")
        characters += len(getattr(tool, "description", None) or "")
        characters += measure_length(getattr(tool, "input_schema", None))
    return estimate_tokens(characters)


def add_cached_tokens(input_tokens: int | None, details: object, api: str | None) -> int | None:
    """Return the input tokens including cached ones.

    Args:
        input_tokens: the count of the provider.
        details: the further counts of the provider.
        api: the called API; None for a call through `llm`.
    """
    # Other APIs count cached tokens as input tokens, and may repeat them under these names.
    if input_tokens is None or not isinstance(details, Mapping) or api not in CACHE_COUNTING_APIS:
        return input_tokens
    cached = [details.get(name) for name in CACHED_INPUT]
    return input_tokens + sum(count for count in cached if isinstance(count, int))


def measure_length(value: object) -> int:
    """Return the approximate length of a JSON value; a text counts without quotes."""
    if isinstance(value, str):
        return len(value)
    # `repr` is about as long as the JSON, and much faster.
    return 0 if value is None else len(repr(value))


def measure_tool_call(call: ToolCallLike) -> int:
    """Return the length of the `name` and `arguments` of a tool call."""
    return len(call.name or "") + measure_length(call.arguments)


def measure_attachments(attachments: Iterable[AttachmentLike]) -> int:
    """Return the length of attachments: the length of a text, or a fixed number for others."""
    return sum(map(_measure_attachment, attachments))


def _measure_attachment(attachment: AttachmentLike) -> int:
    if (attachment.type or "").startswith(TEXTS):
        if attachment.content is not None:
            return len(attachment.content)
        if attachment.path and os.path.isfile(attachment.path):
            return os.path.getsize(attachment.path)
    return CHARACTERS_PER_ATTACHMENT
