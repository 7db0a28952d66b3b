"""Marks that replace a secret, or while a text is redacted, each character of a secret.

As long as a text keeps its length, it can be cut where the original was: into the pieces of a
stream, or into lines.
"""

from __future__ import annotations

REDACTED = "[redacted]"
"""In place of what has the form of a secret."""
REDACTED_SECRET = "[redacted secret]"
"""In place of a value that is secret only by the environment or the user's keys: another machine
may not know it."""

FORM, SECRET, REST = "\ufdd0", "\ufdd1", "\ufdd2"
"""The first character of a secret of either kind, and each further one; Unicode has no characters
there."""


def make_mark(text: str, first: str) -> str:
    """Return the replacement for a secret text."""
    if text:
        return first + REST * (len(text) - 1)
    return ""


def protect_marks(text: str) -> str:
    """Return a text with earlier marks covered, so that no part of them is taken for a secret."""
    if REDACTED[:-1] not in text:
        return text
    return text.replace(REDACTED_SECRET, make_mark(REDACTED_SECRET, SECRET)).replace(
        REDACTED, make_mark(REDACTED, FORM)
    )


def render_marks(text: str) -> str:
    """Return a text, or a piece of one, with one mark for each secret that begins in it."""
    if FORM in text or SECRET in text or REST in text:
        return text.replace(REST, "").replace(SECRET, REDACTED_SECRET).replace(FORM, REDACTED)
    return text
