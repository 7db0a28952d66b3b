"""Marks that replace a secret, or while a text is redacted, each character of a secret.

As long as a text keeps its length, it can be cut where the original was: into the pieces of a
stream, or into lines.
"""

from __future__ import annotations

REDACTED = "[redacted]"
"""The replacement of a secret that is known by its form."""
REDACTED_SECRET = "[redacted secret]"
"""The replacement of a value that only this machine knows as secret, by its environment or keys."""

FORM, SECRET, REST = "\ufdd0", "\ufdd1", "\ufdd2"
"""The first character of a secret of either kind, and each further one: three noncharacters."""


def make_mark(text: str, first: str) -> str:
    """Return the replacement for a secret text."""
    if text:
        return first + REST * (len(text) - 1)
    return ""


def protect_marks(text: str) -> str:
    """Return a text with earlier marks covered, so that no part of them is taken for a secret."""
    text = text.replace(REDACTED_SECRET, make_mark(REDACTED_SECRET, SECRET))
    return text.replace(REDACTED, make_mark(REDACTED, FORM))


def render_marks(text: str) -> str:
    """Return a text, or a piece of one, with one mark for each secret that begins in it."""
    is_marked = FORM in text or SECRET in text or REST in text
    if not is_marked:
        return text
    text = text.replace(REST, "")
    text = text.replace(SECRET, REDACTED_SECRET)
    return text.replace(FORM, REDACTED)
