"""References in texts: `${name}` is replaced by a value, and `$${name}` means `${name}`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from llm_mock.errors import LLMMockError

LARGEST_TEXT = 20_000_000
"""The maximum length of a text after its references are replaced."""
NAME = re.compile(r"[A-Za-z_]\w*")
DOTTED_NAME = re.compile(rf"{NAME.pattern}(?:\.\w+)*")
"""A name such as `user.name`."""
_REFERENCE = re.compile(r"\$(\$?)\{([^{}]*)\}")


def list_references(text: str) -> list[str]:
    """Return the names of all references in a text, in order."""
    matches = _REFERENCE.finditer(text)
    # An escaped reference has a first group.
    return [match[2] for match in matches if not match[1]]


def parse_whole_reference(text: str) -> str | None:
    """Return the name in a text that is a single reference; None for any other text."""
    match = _REFERENCE.fullmatch(text)
    if match and not match[1]:
        return match[2]
    return None


def interpolate(text: str, replacement: Callable[[str], str | None]) -> str:
    """Return a text with its references replaced.

    Args:
        text: the text.
        replacement: returns the value for a name, or None to keep the reference.


    Raises:
        LLMMockError: the result is longer than `LARGEST_TEXT`.
    """
    length = len(text)

    def replace(match: re.Match[str]) -> str:
        nonlocal length
        if match[1]:
            return match[0][1:]
        replaced = replacement(match[2])
        if replaced is None:
            return match[0]
        length += len(replaced)
        if length > LARGEST_TEXT:
            raise LLMMockError(
                f"with its references replaced, a text has more than {LARGEST_TEXT:,} characters"
            )
        return replaced

    return _REFERENCE.sub(replace, text)


def escape_references(text: str) -> str:
    """Return a text with its references escaped, so that `interpolate` restores it."""
    return _REFERENCE.sub(lambda match: f"${match[0]}", text)


def map_texts(value: object, change: Callable[[str], Any]) -> Any:
    """Return a copy of a JSON value with a function applied to each text except keys."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: map_texts(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [map_texts(item, change) for item in value]
    return value
