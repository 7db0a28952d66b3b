"""References in texts: `${name}` is replaced by a value; `$${name}` stands for the text
`${name}`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from llm_mock.errors import LLMMockError

LARGEST_TEXT = 20_000_000
"""How many characters a text may have in which references are replaced."""
NAME = re.compile(r"[A-Za-z_]\w*")
_REFERENCE = re.compile(r"\$(\$?)\{([^{}]*)\}")


def references_in(text: str) -> list[str]:
    """What stands between the braces of each reference in a text, in order."""
    return [match[2] for match in _REFERENCE.finditer(text) if not match[1]]


def whole_reference(text: str) -> str | None:
    """What stands between the braces of a text that is one reference and nothing else; else
    None."""
    match = _REFERENCE.fullmatch(text)
    return match[2] if match and not match[1] else None


def interpolated(text: str, replacement: Callable[[str], str | None]) -> str:
    """A text with each reference replaced by what a function makes of its name; None leaves it as
    it is.

    Raises:
        LLMMockError: it would be longer than `LARGEST_TEXT`.
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
                f"with its references replaced a text has more than {LARGEST_TEXT:,} characters"
            )
        return replaced

    return _REFERENCE.sub(replace, text)


def literal(text: str) -> str:
    """The text that `interpolated` turns into this one, whatever is in it."""
    return _REFERENCE.sub(lambda match: f"${match[0]}", text)


def map_texts(value: Any, change: Callable[[str], Any]) -> Any:
    """A JSON value in which each text, but for the keys, is what a function makes of it."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: map_texts(item, change) for key, item in value.items()}
    return (
        [map_texts(item, change) for item in value] if isinstance(value, (list, tuple)) else value
    )
